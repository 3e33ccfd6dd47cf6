package main

import (
	"time"
)

var begun = time.Now()
var workers int

func setup() {}

// trigger has 20 standing workers, and 40 from the tenth second on.
func trigger() {
	want := 20
	if time.Since(begun) > 10*time.Second {
		want = 40
	}
	for ; workers < want; workers++ {
		go func() { select {} }()
	}
}
