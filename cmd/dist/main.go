// Command dist makes what is released of leakdiff: archives with the static program for each
// system, packages for Debian and Red Hat, a bill of materials for each program, and their
// hashes. Two runs on one commit and one version of Go give the same bytes. It is a module of
// its own, so that the program does not depend on what makes packages.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	root := flag.String("root", ".", "checkout of leakdiff")
	out := flag.String("out", ".build/dist", "directory for what is made; it is emptied before")
	targets := flag.String("targets", strings.Join(Everything, ","), "systems, separated by commas")
	flag.Parse()
	made, err := Release{Root: *root, Out: *out, Targets: strings.Split(*targets, ",")}.Make()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
	for _, file := range made {
		info, err := os.Stat(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "dist:", err)
			os.Exit(1)
		}
		fmt.Printf("%6.1f MB  %s\n", float64(info.Size())/1e6, file)
	}
}
