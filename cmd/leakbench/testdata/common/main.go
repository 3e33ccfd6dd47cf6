package main

import (
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"sync/atomic"
	"time"
)

// healthy starts what every case has and what does not leak: four workers on a queue and
// a ticker.
func healthy() {
	q := make(chan int)
	for range 4 {
		go func() {
			for range q {
				time.Sleep(time.Millisecond)
			}
		}()
	}
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			q <- 1
		}
	}()
}

func main() {
	var triggers atomic.Int64
	http.HandleFunc("/triggers", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, triggers.Load()) })
	healthy()
	setup()
	go func() { panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)) }()
	time.Sleep(time.Second)
	for {
		for range 2 {
			trigger()
			triggers.Add(1)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
