package ingest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// virtualThreads counts the virtual threads of one dump by what they were started in, and those that
// hold the thread that carries them while they wait.
type virtualThreads struct {
	count      int
	containers map[string]int
	pinned     int
	// first is the first of the pinned, at is where it waits.
	first, at string
}

// Of this many virtual threads on the container with most of them is named, if half of all are in it.
const manyVirtual = 100

func (v *virtualThreads) add(t *analysis.Thread) {
	if t.Sort != analysis.VirtualThread {
		return
	}
	v.count++
	if v.containers == nil {
		v.containers = map[string]int{}
	}
	if _, known := v.containers[t.Container]; t.Container != "" && t.Container != "<root>" && (known || len(v.containers) < mostMonitors) {
		v.containers[t.Container]++
	}
	if !holdsCarrier(t) {
		return
	}
	if v.pinned++; v.pinned == 1 {
		v.first, v.at = t.Name, withoutHidden(ownFrame(t.Stack).Func)
		if v.first == "" {
			v.first = "#" + strconv.FormatInt(t.ID, 10)
		}
	}
}

// holdsCarrier reports a virtual thread that waits and is mounted. Its frames show it where it
// parks, and before JDK 24 nothing else does.
func holdsCarrier(t *analysis.Thread) bool {
	waits := slices.Contains([]string{"WAITING", "TIMED_WAITING", "BLOCKED"}, t.State)
	if waits && t.Carrier > 0 {
		return true
	}
	const parks = 3 // below Unsafe.park, above what the program called
	return t.Stack != nil && slices.ContainsFunc(t.Stack.Frames[:min(len(t.Stack.Frames), parks)], func(f analysis.Frame) bool {
		return f.Func == "java.lang.VirtualThread.parkOnCarrierThread"
	})
}

// virtualThreads states which virtual threads are pinned, and in what most of many are.
func (b *builder) virtualThreads(p *part) {
	v := &p.threads.virtual
	if v.pinned > 0 {
		which := strconv.Quote(clip(v.first, 60)) + " waits in " + v.at
		if v.pinned > 1 {
			which = fmt.Sprintf("The first of them, %s", which)
		}
		b.s.Statements = append(b.s.Statements, analysis.Statement{
			Key:   "pinned",
			Title: fmt.Sprintf("%s while %s", wording.Plural(v.pinned, "virtual thread holds its carrier", "virtual threads hold their carriers"), wording.Fit(v.pinned, "it waits", "they wait")),
			Text: which + ". A virtual thread that waits in native code, while a class is loaded or initialised, or before JDK 24 inside synchronized, keeps the thread that carries it. " +
				"Once all carriers are kept, no other virtual thread runs.",
			Path: p.path,
		})
	}
	most := ""
	for name, n := range v.containers {
		if n > v.containers[most] || n == v.containers[most] && name < most {
			most = name
		}
	}
	if n := v.containers[most]; v.count >= manyVirtual && 2*n >= v.count {
		class, _, _ := strings.Cut(most[strings.LastIndexByte(most, '/')+1:], "@")
		b.s.Statements = append(b.s.Statements, analysis.Statement{
			Key:   "container " + class,
			Title: fmt.Sprintf("%d of %d virtual threads are in one %s", n, v.count, class[strings.LastIndexByte(class, '.')+1:]),
			Text:  fmt.Sprintf("%s lists them in %s. Where tasks should have ended, look at who submits to it and what their tasks wait for.", path.Base(p.path), clip(most, 200)),
			Path:  p.path,
		})
	}
}
