package goroutine

import (
	"math"
	"strconv"

	"github.com/google/pprof/profile"

	"leakdiff/analysis"
)

// The labels of debug=3, with which the runtime says of a sample which goroutine it is. They
// are numbers but the state, which is as in the header of debug=2.
const (
	runtimeLabel = "go::"
	labelID      = "go::goroutine"
	labelCreator = "go::goroutine_created_by"
	labelState   = "go::goroutine_state"
	labelWait    = "go::goroutine_wait_minutes"
)

// identified reports a profile with one sample for each goroutine. It reports a profile of
// which only some samples have an id of their own, and such is read by its counts.
func (p *protoParser) identified(decoded *profile.Profile, value int) bool {
	seen := make(map[int64]bool)
	for _, sample := range decoded.Sample {
		id, ok := labelNumber(sample, labelID)
		if ok && id > 0 && sample.Value[value] == 1 {
			seen[id] = true
		}
	}
	if len(seen) == 0 {
		return false
	}
	if len(seen) == len(decoded.Sample) {
		return true
	}
	p.problems.add(analysis.Problem{
		Offset: -1, Severity: analysis.Warning,
		What: "the ids of the goroutines are not used: " + strconv.Itoa(len(seen)) + " of " + strconv.Itoa(len(decoded.Sample)) + " samples are of a goroutine of their own",
		Why:  "in a profile of debug=3 each sample counts one goroutine and has its id in the label " + labelID,
		Hint: "the stacks are counted; upload the profile as the program wrote it, not merged or filtered",
	})
	return false
}

// goroutineOf reads the labels of debug=3. The minutes are absent for a wait below one.
func goroutineOf(sample *profile.Sample, found *keptStack) *Goroutine {
	g := &Goroutine{Wait: -1, Stack: found.stack, StackNumber: found.number}
	g.Labels = printed(analysis.LabelsOf(labelsOf(sample)).List())
	g.ID, _ = labelNumber(sample, labelID)
	g.Parent, _ = labelNumber(sample, labelCreator)
	g.Parent = max(0, g.Parent)
	if minutes, ok := labelNumber(sample, labelWait); ok && minutes > 0 {
		g.Wait = int(min(minutes, math.MaxInt32))
	}
	if states := sample.Label[labelState]; len(states) > 0 {
		var h headerReader
		h.status([]byte(states[0]), g)
	}
	return g
}

// labelNumber is a label as a number, in whichever of the two forms it is written.
func labelNumber(sample *profile.Sample, label string) (n int64, ok bool) {
	if values := sample.NumLabel[label]; len(values) > 0 {
		return values[0], true
	}
	if texts := sample.Label[label]; len(texts) > 0 {
		n, err := strconv.ParseInt(texts[0], 10, 64)
		return n, err == nil
	}
	return 0, false
}
