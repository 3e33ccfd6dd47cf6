package main

import (
	"time"
)

func setup() {}

// trigger calls a service that is down for six seconds of twelve; callers try again with a
// pause that doubles.
func trigger() {
	go func() {
		for pause := 50 * time.Millisecond; time.Now().Unix()%12 < 6; pause = min(2*pause, 2*time.Second) {
			time.Sleep(pause)
		}
	}()
}
