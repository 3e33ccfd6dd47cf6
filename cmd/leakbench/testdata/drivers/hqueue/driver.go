package main

import (
	"time"
)

var slots = make(chan bool, 8)

func setup() {}

// trigger gets 20 jobs every fourth second; eight run at a time, the others wait.
func trigger() {
	if n++; n%32 != 0 {
		return
	}
	for range 20 {
		go func() {
			slots <- true
			time.Sleep(time.Second)
			<-slots
		}()
	}
}

var n int
