package main

import (
	"math"
	"time"
)

// level is a load that rises and falls between 5 and 35 with a period of 12 s.
func level() int { return 20 + int(15*math.Sin(2*math.Pi*time.Since(begun).Seconds()/12)) }

var begun = time.Now()

var stop = make(chan bool)
var workers int

func setup() {}

// trigger gives the pool as many workers as the load needs.
func trigger() {
	for ; workers < level(); workers++ {
		go func() { <-stop }()
	}
	for ; workers > level(); workers-- {
		stop <- true
	}
}
