package main

import (
	"math"
	"time"
)

// level is a load that rises and falls between 5 and 35 with a period of 12 s.
func level() int { return 20 + int(15*math.Sin(2*math.Pi*time.Since(begun).Seconds()/12)) }

var begun = time.Now()

func setup() {}

// trigger serves requests that take 1 to 3 s.
func trigger() {
	for i := range level() / 5 {
		go time.Sleep(time.Duration(1000+500*i) * time.Millisecond)
	}
}
