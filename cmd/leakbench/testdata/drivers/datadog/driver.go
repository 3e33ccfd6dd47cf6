package main

import "github.com/DataDog/datadog-go/statsd"

func setup() {}

// trigger is a client that sends one metric and ends.
func trigger() {
	c, err := statsd.New("127.0.0.1:8125")
	if err != nil {
		panic(err)
	}
	_ = c.Incr("requests", nil, 1)
	_ = c.Close()
}
