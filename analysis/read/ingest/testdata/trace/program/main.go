// Shop is the program of the dumps and traces beside it. It opens sessions and never closes
// them (/open?n=12), starts workers of a pool (/grow?n=6), and does jobs that end (/jobs?n=20).
package main

import (
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"strconv"
	"sync"

	"example.com/shop/lib"
)

var tasks = make(chan func())

func main() {
	http.HandleFunc("/open", func(w http.ResponseWriter, r *http.Request) { times(r, syncCustomer) })
	http.HandleFunc("/grow", func(w http.ResponseWriter, r *http.Request) { times(r, grow) })
	http.HandleFunc("/jobs", jobs)
	fmt.Println(http.ListenAndServe(os.Args[1], nil))
}

func times(r *http.Request, f func()) {
	n, _ := strconv.Atoi(r.FormValue("n"))
	for range n {
		f()
	}
}

//go:noinline
func syncCustomer() { lib.Dial() }

func grow() { go worker() }

func worker() {
	for f := range tasks {
		f()
	}
}

func jobs(w http.ResponseWriter, r *http.Request) {
	var all sync.WaitGroup
	times(r, func() {
		all.Add(1)
		go job(&all)
	})
	all.Wait()
}

func job(all *sync.WaitGroup) { all.Done() }
