package main

import (
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// level is a load that rises and falls between 5 and 35 with a period of 12 s.
func level() int { return 20 + int(15*math.Sin(2*math.Pi*time.Since(begun).Seconds()/12)) }

var begun = time.Now()

var address string
var inFlight atomic.Int64

// setup starts a server whose answers take half a second.
func setup() {
	address = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { time.Sleep(500 * time.Millisecond) })).URL
}

func trigger() {
	for inFlight.Load() < int64(level()/3) {
		inFlight.Add(1)
		go func() {
			defer inFlight.Add(-1)
			if answer, err := http.Get(address); err == nil {
				answer.Body.Close()
			}
		}()
	}
}
