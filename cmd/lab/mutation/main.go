// Command mutation asks whether the tests of a package notice when one of its rules changes.
// It reads the source of the package, makes one test binary in which every number and every
// condition of the named functions can be changed from outside, and runs the tests once for
// each change. A change that no test notices survives and is printed, unless a list allows it
// with a reason. It changes no file of the checkout.
//
//	go run ./cmd/lab/mutation [-allowed FILE] [-match FILE] [-args ARGS] DIR
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

// decide are the functions whose rows, cases and operands are switched off, unless others are
// named: those that decide a verdict.
const decide = "verdicts,suspects,accuses,level,unlikely,perhaps,few,goesOn,outweighs,showsBalance,identifies," +
	"measureOnce,movedOnce,measurePassing,measureAcquittal,keepers,returned,warmed,findPopulations,judgePopulations,measureBatches,stopped,recovered,staysLow,growsAgain,sameLeft,keepsTurningOver," +
	"emptied,emptiedAt,judge,steady,oldOnes,risesOften,pooled,endedBy,idsDeny"

// question is what is asked of a package.
type question struct {
	dir string
	// conditions are the functions whose rows, cases and operands are switched off.
	conditions []string
	// match keeps the changes whose place matches this expression.
	match string
	// args are arguments for the test binary.
	args []string
	// limit is the time for the tests of one change.
	limit time.Duration
}

func main() {
	conditions := flag.String("conditions", decide, "functions whose rows, cases and operands are switched off")
	match := flag.String("match", "", "only changes whose place matches this expression, such as 'age.go'")
	list := flag.String("allowed", "", "file of changes that may survive, each below its reason")
	args := flag.String("args", "", "arguments for the tests")
	limit := flag.Duration("limit", 60*time.Second, "time for the tests of one change")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "mutation: name one directory of a package")
		os.Exit(2)
	}
	wrong, err := report(question{flag.Arg(0), strings.Split(*conditions, ","), *match, strings.Fields(*args), *limit}, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(2)
	}
	if wrong {
		os.Exit(1)
	}
}

// report prints what survives although nothing allows it, and what is allowed for no reason.
func report(q question, list string) (wrong bool, err error) {
	var permitted map[string]bool
	if list != "" {
		if permitted, err = allowed(list); err != nil {
			return false, err
		}
	}
	alive, all, err := q.run()
	if err != nil {
		return false, err
	}
	more, fewer := compare(alive, permitted)
	fmt.Printf("%d changes of %s, %d noticed, %d survive, %d of them allowed\n", all, q.dir, all-len(alive), len(alive), len(alive)-len(more))
	for _, c := range more {
		fmt.Printf("survives: %s\n\t%s\n", c, c.name)
	}
	if q.match != "" {
		return len(more) > 0, nil
	}
	for _, name := range fewer {
		fmt.Println("allowed, but noticed or unknown:", name)
	}
	return len(more)+len(fewer) > 0, nil
}

// allowed reads the names of changes that may survive. Each stands below a line with # that
// says why.
func allowed(list string) (map[string]bool, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	out, reason := map[string]bool{}, false
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
			reason = false
		case line[0] == '#':
			reason = true
		case !reason:
			return nil, fmt.Errorf("%s: no reason above %q", list, line)
		case out[line]:
			return nil, fmt.Errorf("%s: %q stands there twice", list, line)
		default:
			out[line] = true
		}
	}
	return out, nil
}

// compare returns the survivors that are not permitted and the names that permit none of them.
func compare(alive []change, permitted map[string]bool) (more []change, fewer []string) {
	used := map[string]bool{}
	for _, c := range alive {
		if used[c.name] = true; !permitted[c.name] {
			more = append(more, c)
		}
	}
	for name := range permitted {
		if !used[name] {
			fewer = append(fewer, name)
		}
	}
	slices.Sort(fewer)
	return more, fewer
}

// run returns the changes that no test notices, and how many there are in all.
func (q question) run() (alive []change, all int, err error) {
	asked, err := regexp.Compile(q.match)
	if err != nil {
		return nil, 0, err
	}
	temp, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(temp)
	source, err := instrument(q.dir, q.conditions)
	if err != nil {
		return nil, 0, err
	}
	binary, err := source.build(q.dir, temp)
	if err != nil {
		return nil, 0, err
	}
	if !q.passes(binary, "") {
		return nil, 0, fmt.Errorf("the tests of %s fail without a change", q.dir)
	}
	var todo []change
	for _, c := range source.changes {
		if asked.MatchString(c.String()) {
			todo = append(todo, c)
		}
	}
	alive = survive(todo, func(c change) bool { return q.passes(binary, c.setting()) })
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

// passes runs the tests with one change. Those of real captures take too long for each change:
// other tests must notice it.
func (q question) passes(binary, setting string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), q.limit)
	defer cancel()
	tests := exec.CommandContext(ctx, binary, append([]string{"-test.short", "-test.failfast"}, q.args...)...)
	tests.Dir = q.dir
	tests.Env = append(os.Environ(), "MUTANT="+setting, "LEAKDIFF_CORPUS=none", "LEAKDIFF_LEFT_OUT=")
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
