// Package main takes the place of the kernels' own main: it runs one kernel again
// and again inside one process, as a service would run into its bug, and writes
// plain debug=2 dumps in between; at the end it writes the runtime's leak profile,
// whose "(leaked)" marks are the truth.
//
//	prog NAME DIR ROUNDS PER
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"
)

// The kernels ask for these.
const yieldCount = 10

var cmds = map[string]func(){}

func register(name string, f func()) { cmds[name] = f }

func registerInit(name string, f func()) {
	if len(os.Args) >= 2 && os.Args[1] == name {
		f()
	}
}

func main() {
	kernel := cmds[os.Args[1]]
	if kernel == nil {
		fmt.Fprintln(os.Stderr, "unknown kernel:", os.Args[1])
		os.Exit(2)
	}
	dir := os.Args[2]
	rounds, _ := strconv.Atoi(os.Args[3])
	per, _ := strconv.Atoi(os.Args[4])
	// Each kernel prints a profile of its own, which nobody reads here.
	os.Stdout, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	dump(dir, 0)
	for round := 1; round <= rounds; round++ {
		for range per {
			go kernel()
		}
		time.Sleep(250 * time.Millisecond)
		dump(dir, round)
	}
	runtime.Gosched()
	write(filepath.Join(dir, "truth.txt"), "goroutineleak")
}

func dump(dir string, round int) {
	write(filepath.Join(dir, fmt.Sprintf("t%d.txt", round)), "goroutine")
}

func write(name, profile string) {
	out, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	defer out.Close()
	if err := pprof.Lookup(profile).WriteTo(out, 2); err != nil {
		panic(err)
	}
}
