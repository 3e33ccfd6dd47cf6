// Command mutation asks whether the tests of a package notice when one of its rules changes.
// It reads the source of the package, makes one test binary in which every number and every
// condition of the named functions can be changed from outside, and runs the tests once for
// each change. A change that no test notices survives and is printed. It changes no file of
// the checkout.
//
//	go run ./cmd/lab/mutation [-conditions verdicts,suspects,accuses] [-match FILE] DIR
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	conditions := flag.String("conditions", "verdicts,suspects,accuses", "functions whose rows, cases and operands are switched off")
	match := flag.String("match", "", "only changes whose place matches this expression, such as 'age.go'")
	limit := flag.Duration("limit", 60*time.Second, "time for the tests of one change")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "mutation: name one directory of a package")
		os.Exit(2)
	}
	alive, all, err := run(flag.Arg(0), strings.Split(*conditions, ","), *match, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(2)
	}
	fmt.Printf("%d changes of %s, %d noticed, %d survive\n", all, flag.Arg(0), all-len(alive), len(alive))
	for _, c := range alive {
		fmt.Println("survives:", c)
	}
}

// run returns the changes that no test notices, and how many there are in all.
func run(dir string, conditions []string, match string, limit time.Duration) (alive []change, all int, err error) {
	asked, err := regexp.Compile(match)
	if err != nil {
		return nil, 0, err
	}
	temp, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	source, err := instrument(dir, conditions)
	if err != nil {
		return nil, 0, err
	}
	binary, err := source.build(dir, temp)
	if err != nil {
		return nil, 0, err
	}
	if !passes(binary, dir, "", limit) {
		return nil, 0, fmt.Errorf("the tests of %s fail without a change", dir)
	}
	var todo []change
	for _, c := range source.changes {
		if asked.MatchString(c.String()) {
			todo = append(todo, c)
		}
	}
	alive = survive(todo, func(c change) bool { return passes(binary, dir, c.setting(), limit) })
	return alive, len(todo), nil
}

// survive returns the changes that no test notices, by place.
func survive(todo []change, passes func(change) bool) []change {
	var mu sync.Mutex
	var alive []change
	var wait sync.WaitGroup
	next := make(chan change)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for c := range next {
				if passes(c) {
					mu.Lock()
					alive = append(alive, c)
					mu.Unlock()
				}
			}
		})
	}
	for _, c := range todo {
		next <- c
	}
	close(next)
	wait.Wait()
	slices.SortFunc(alive, func(a, b change) int {
		return cmp.Or(strings.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line), strings.Compare(a.setting(), b.setting()))
	})
	return alive
}

// passes runs the tests with one change.
func passes(binary, dir, setting string, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tests := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast")
	tests.Dir = dir
	tests.Env = append(os.Environ(), "MUTANT="+setting)
	return tests.Run() == nil
}

// build makes the test binary from the changed source, which lies over the checkout.
func (s *source) build(dir, temp string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	var rows []string
	for name, text := range s.files {
		over := filepath.Join(temp, name)
		if err := os.WriteFile(over, []byte(text), 0o644); err != nil {
			return "", err
		}
		rows = append(rows, fmt.Sprintf("%q: %q", filepath.Join(absolute, name), over))
	}
	overlay := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(overlay, []byte(`{"Replace": {`+strings.Join(rows, ",\n")+"}}"), 0o644); err != nil {
		return "", err
	}
	binary := filepath.Join(temp, "tests")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the changed source does not build: %w\n%.3000s", err, out)
	}
	return binary, nil
}
