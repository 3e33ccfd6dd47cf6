package main

import (
	"context"
)

var end context.CancelFunc = func() {}
var n int

func setup() { trigger() }

// trigger loads a configuration every second: 10 to 20 watchers end and others begin.
func trigger() {
	if n++; n%8 != 1 {
		return
	}
	end()
	ctx, cancel := context.WithCancel(context.Background())
	end = cancel
	for range 10 + n/8%11 {
		go func() { <-ctx.Done() }()
	}
}
