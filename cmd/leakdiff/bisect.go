package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// Exit statuses of report --bisect, as git bisect run reads them: 125 skips a commit, and
// 128 and more end the bisection. 1 to 124 are bad, so that no error may end with them.
const (
	exitGood  = 0
	exitBad   = 1
	exitSkip  = 125
	exitAbort = 129
)

// statusError ends the program with a status of its own. What it wraps is printed like
// other errors, nil is not.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %v", e.status, e.err) }
func (e *statusError) Unwrap() error { return e.err }

// bisects reports a command line whose status git bisect reads, also one that cannot be
// parsed.
func bisects(args []string) bool {
	set, _ := strconv.ParseBool(os.Getenv("LEAKDIFF_BISECT"))
	return len(args) > 0 && args[0] == "report" && (set || slices.ContainsFunc(args, func(a string) bool {
		return a == "--bisect" || strings.HasPrefix(a, "--bisect=") && a != "--bisect=false"
	}))
}

// aborting turns an error, and the end by a fault of the program, into a status that no
// commit is judged by: a commit of which nothing could be read is skipped, and an error that
// would be the same for each ends the bisection.
func aborting(run func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &statusError{exitAbort, fmt.Errorf("the program failed: %v\n%s", fault, debug.Stack())}
		}
	}()
	err = run()
	var has *statusError
	var fault *analysis.Fault
	switch {
	case err == nil, errors.As(err, &has):
		return err
	case errors.As(err, &fault) && (fault.Code == "empty" || fault.Code == "not_found" || fault.Code == "unreadable"):
		return &statusError{exitSkip, err}
	}
	return &statusError{exitAbort, err}
}

// checkBisect refuses flags of a bisection that cannot answer. The pace is per hour.
func (r *reportCommand) checkBisect() (perHour float64, err error) {
	if r.Pace != "" {
		if perHour, err = parsePace(r.Pace); err != nil {
			return 0, err
		}
	}
	switch {
	case !r.Bisect && r.Pace != "":
		return 0, &analysis.Fault{Code: "usage", What: "--pace is for --bisect", Hint: "add --bisect"}
	case r.Bisect && r.Redact:
		return 0, &analysis.Fault{Code: "usage", What: "--bisect and --redact do not go together", Hint: "its answer on standard error has names; redact another report"}
	case r.Bisect && (r.Pace == "") == (len(r.Before) == 0):
		return 0, &analysis.Fault{Code: "usage", What: "--bisect needs the leak that it looks for", Hint: "name captures of a bad version with --before, or its pace with --pace 24/5m, and not both"}
	}
	return perHour, nil
}

// parsePace reads members per time: "24/5m" is 288 an hour, "3/h" 3.
func parsePace(text string) (perHour float64, err error) {
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	if unit != "" && (unit[0] < '0' || unit[0] > '9') {
		unit = "1" + unit
	}
	days := false
	if days = strings.HasSuffix(unit, "d"); days {
		unit = strings.TrimSuffix(unit, "d") + "h"
	}
	d, errUnit := time.ParseDuration(unit)
	if days {
		d *= 24
	}
	perHour = n / d.Hours()
	if err != nil || errUnit != nil || !(perHour > 0) || d <= 0 || perHour > 1e12 {
		return 0, &analysis.Fault{Code: "usage", What: "the pace is not understood", Where: fmt.Sprintf("--pace %q", text), Hint: "write how many in what time: 24/5m, 3/h, 1/d"}
	}
	return perHour, nil
}

// bisected is the answer for git bisect, as the error with its status; nil is good.
func (r *reportCommand) bisected(m *Main, c *report.Case, before []analysis.Snapshot, perHour float64, reached bool, o report.Options) error {
	accused := r.accused()
	var answer report.Tested
	if len(r.Before) > 0 {
		answer = c.TestedAgainst(before, accused, o)
	} else {
		answer = c.TestedAt(perHour, reached)
	}
	if answer.NoLeak {
		return &statusError{exitAbort, &analysis.Fault{Code: "usage", What: answer.Text, Hint: "capture a bad version until `leakdiff report` says that it leaks"}}
	}
	word, status := "cannot tell", exitSkip
	switch {
	case answer.Good():
		word, status = "good", exitGood
	case answer.Bad():
		word, status = "bad", exitBad
	}
	fmt.Fprintf(m.Stderr, "leakdiff: %s: %s\n", word, answer.Text)
	if status == exitGood {
		return nil
	}
	return &statusError{status, nil}
}

// accused are the verdicts that count as bad.
func (r *reportCommand) accused() []analysis.Verdict {
	return failsOn[r.failsOn()]
}

// failsOn is the word of --fail-on; of a bisection leaking is the least.
func (r *reportCommand) failsOn() string {
	switch {
	case r.Bisect && (r.FailOn == "auto" || r.FailOn == "never"):
		return "leaking"
	case r.FailOn == "auto" && r.Baseline != "":
		return "grew"
	}
	return r.FailOn
}

// readBefore reads the captures from before a change.
func (r *reportCommand) readBefore(ctx context.Context, m *Main) ([]analysis.Snapshot, []analysis.Problem, error) {
	if len(r.Before) == 0 {
		return nil, nil, nil
	}
	inputs, err := inputsOf(m, r.Before)
	if err != nil {
		return nil, nil, beforeFault(err)
	}
	result, err := read(ctx, m, inputs, "reading what was before")
	if err == nil && len(result.Snapshots) == 0 {
		err = nothingRead("no dump was found in what --before names", "name captures of the same program from before the change")
	}
	if err != nil {
		return nil, nil, beforeFault(err)
	}
	nameUpload(result.Snapshots, r.Before)
	return result.Snapshots, result.Problems, nil
}

// beforeFault is an error in what --before names: it is the same for each tested commit.
func beforeFault(err error) error {
	var fault *analysis.Fault
	if errors.As(err, &fault) {
		own := *fault
		own.Code = "usage"
		return &own
	}
	return err
}
