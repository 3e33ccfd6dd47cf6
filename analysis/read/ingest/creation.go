package ingest

import (
	"maps"
	"path"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/say/wording"
)

// window is what an execution trace shows of the time in which it was taken.
type window struct {
	births map[goroutine.Origin]analysis.Births
	// started are those that started in it and live at its end, by id.
	started map[int64]start
	texts   map[string]string
	// partial is set if the trace has no stack of more than one of ten goroutines.
	partial bool
}

// start is how a goroutine started: ancestors are for goroutine.ParseAncestors.
type start struct {
	parent    int64
	ancestors string
}

const (
	// mostStarted bounds window.started, to about 10 MB.
	mostStarted = 1 << 17
	// mostTraces bounds the traces of a bundle to which each dump is held.
	mostTraces = 8
)

func newWindow() *window {
	return &window{started: map[int64]start{}, texts: map[string]string{}}
}

func (w *window) add(g *goroutine.Goroutine) {
	if len(g.Ancestors) == 0 || g.System || len(w.started) >= mostStarted {
		return
	}
	text, known := w.texts[string(g.Ancestors)]
	if !known {
		text = string(g.Ancestors)
		w.texts[text] = text
	}
	w.started[g.ID] = start{g.Parent, text}
}

// lendCreations gives the dumps of a process what execution traces of it show: the stacks of
// the go statements of goroutines that started in a trace, and how many started and ended.
func (r *reader) lendCreations(snapshots []analysis.Snapshot, all []*group, formed []packedGroups) {
	type traced struct {
		*part
		of *analysis.Process
	}
	var traces []traced
	for i, g := range all {
		if p := g.form(detect.ExecutionTrace); p != nil && p.window != nil {
			traces = append(traces, traced{p, &snapshots[i].Process})
		}
	}
	traces = traces[max(0, len(traces)-mostTraces):]
	if len(traces) == 0 {
		return
	}
	for i, g := range all {
		s := &snapshots[i]
		dump := g.form(detect.GoroutineDebug2, detect.GoroutineCrash, detect.GoroutineDebug3)
		if dump == nil {
			if p := g.form(detect.ExecutionTrace); p != nil && p.window != nil {
				s.Births = p.window.bornTo(r.table.unpack(formed[i]))
			}
			continue
		}
		groups, counts := r.table.unpack(formed[i]), map[string]map[string]int{}
		for _, t := range traces {
			if !oneProcess(t.of, &s.Process) {
				continue
			}
			same, other := t.window.held(groups, counts)
			switch {
			case 10*other > same+other:
				r.problem(ofAnother(t.part, dump, other))
			case same > 0:
				s.Births = t.window.bornTo(groups)
			}
		}
		if lent := ancestries(counts); len(lent) > 0 {
			maps.Copy(lent, s.Ancestries) // the program's own reach further
			s.Ancestries = lent
		}
	}
	for _, t := range traces {
		t.window = nil
	}
}

// oneProcess reports that nothing says that two snapshots are of different processes.
func oneProcess(p, q *analysis.Process) bool {
	return p.Key() == q.Key() && (p.PID.Value == "" || q.PID.Value == "" || p.PID.Value == q.PID.Value)
}

// held adds the goroutines of a dump that started in the window to counts, by family and
// ancestors. It adds none if more than one of ten has another creator or parent in the dump,
// which then is of another process that gave the same ids.
func (w *window) held(groups []analysis.Group, counts map[string]map[string]int) (same, other int) {
	found := map[string]map[string]int{}
	creators := map[string]string{}
	for i := range groups {
		g := &groups[i]
		if g.Family.Kind != analysis.KindGoroutine {
			continue
		}
		for m := range g.Members.All() {
			began, started := w.started[m.Identity.ID]
			if !started || m.Variant < 0 || g.Variants[m.Variant].Stack == nil {
				continue
			}
			creator, known := creators[began.ancestors]
			if !known {
				creator = goroutine.CreatorOf(began.ancestors)
				creators[began.ancestors] = creator
			}
			if creator != goroutine.OriginOf(g.Variants[m.Variant].Stack).Creator || began.parent > 0 && m.Parent > 0 && began.parent != m.Parent {
				other++
				continue
			}
			same++
			if found[g.Family.Fingerprint] == nil {
				found[g.Family.Fingerprint] = map[string]int{}
			}
			found[g.Family.Fingerprint][began.ancestors]++
		}
	}
	if 10*other > same+other {
		return same, other
	}
	for print, of := range found {
		if counts[print] == nil {
			counts[print] = map[string]int{}
		}
		for text, n := range of {
			counts[print][text] += n
		}
	}
	return same, other
}

// ofAnother reports a trace whose goroutines are not those of a dump.
func ofAnother(trace, dump *part, n int) analysis.Problem {
	return analysis.Problem{Path: trace.path, Offset: -1, Severity: analysis.Warning,
		What: "what the trace shows is not joined to " + path.Base(dump.path),
		Why:  wording.Plural(n, "goroutine that started in the trace was", "goroutines that started in the trace were") + " started by others in the dump: it is of another process or of another start",
		Hint: "take the trace and the dumps of one process, without a restart between them"}
}

// bornTo are the births of the families that are the only ones of their origin. There are none
// if the origin of some that started is not known. Those that ended may be older than the trace.
func (w *window) bornTo(groups []analysis.Group) map[string]analysis.Births {
	unknown := w.births[goroutine.Origin{}]
	if unknown.Started > 0 {
		return nil
	}
	byEntry := map[string][]goroutine.Origin{}
	for o := range w.births {
		byEntry[o.Entry] = append(byEntry[o.Entry], o)
	}
	only := map[goroutine.Origin]string{}
	for i := range groups {
		g := &groups[i]
		for _, v := range g.Variants {
			if g.Family.Kind != analysis.KindGoroutine || v.Stack == nil {
				continue
			}
			o := goroutine.OriginOf(v.Stack)
			if print, known := only[o]; known && print != g.Family.Fingerprint {
				only[o] = ""
			} else {
				only[o] = g.Family.Fingerprint
			}
		}
	}
	out := map[string]analysis.Births{}
	for o, print := range only {
		before := w.births[goroutine.Origin{Entry: o.Entry}]
		if print == "" || o.Entry == "" || o.Creator != "" && before.Started > 0 {
			continue // some that started have no creator
		}
		for _, born := range byEntry[o.Entry] {
			if o.Creator != "" && born.Creator != "" && born.Creator != o.Creator {
				continue
			}
			n, sum := w.births[born], out[print]
			out[print] = analysis.Births{Window: n.Window, Started: sum.Started + n.Started, Ended: sum.Ended + n.Ended, Untold: unknown.Ended}
		}
	}
	return out
}
