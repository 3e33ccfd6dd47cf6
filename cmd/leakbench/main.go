// Command leakbench measures leakdiff on leaks of real libraries. A case is a small driver
// around a release that leaks and one that does not. It builds both, captures them with
// leakdiff collect, keeps the captures under testdata, judges them at 2, 3, 4 and 6 captures
// and writes one table. Judging needs no network; building takes modules from a registry, and
// packages of Node.js, which also bring the jars of cases of the JVM. It knows nothing of
// leakdiff but its command line, its archive, its JSON and the file of its catalogue.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "inside" {
		exit(inside(os.Args[2:]))
		return
	}
	binary := flag.String("leakdiff", os.Getenv("LEAKDIFF_BINARY"), "program to measure")
	capture := flag.Bool("capture", false, "build and capture the cases whose captures are not kept yet")
	again := flag.Bool("again", false, "with -capture: those that are kept, too")
	only := flag.String("only", "", "names of cases, separated by commas")
	work := flag.String("work", "/tmp/leakbench", "directory to build in")
	flag.Parse()
	cases, err := readCases(*only)
	if err == nil && *binary == "" {
		err = fmt.Errorf("leakbench: -leakdiff or LEAKDIFF_BINARY is missing; make leakbench sets it")
	}
	if err != nil {
		exit(err)
	}
	if *capture {
		exit(captureAll(cases, captureConfig{binary: *binary, work: *work, again: *again}))
		return
	}
	results, err := judgeAll(cases, *binary)
	if err == nil && *only == "" {
		err = writeResults(results)
	}
	printTable(os.Stdout, results)
	exit(err)
}

// exit ends the program if there is an error.
func exit(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "leakbench:", strings.TrimPrefix(err.Error(), "leakbench: "))
	if ended, ok := err.(*exec.ExitError); ok {
		fmt.Fprintln(os.Stderr, string(ended.Stderr))
	}
	os.Exit(1)
}
