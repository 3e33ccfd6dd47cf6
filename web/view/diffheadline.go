package view

import (
	"fmt"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/wording"
)

// change begins the title of the page: by how much the family grew that grew most, or
// else the total, and on which host. What is frozen has its title from elsewhere, which
// says no more than its preview may.
//
//	"Δ +412 prober.(*worker).run · node-a · "
func (m *diffMaker) change(d *Diff, kind analysis.Kind) string {
	if !d.HasTotal {
		return ""
	}
	text := "Δ " + wording.Signed(d.Total) + " " + d.Unit
	if m.in.Frozen {
		return text + ", "
	}
	var most *diff.Row
	for i := range m.in.Result.Rows {
		r := &m.in.Result.Rows[i]
		if r.Family != nil && r.Family.Kind == kind && r.Delta > 0 && (most == nil || r.Delta > most.Delta) {
			most = r
		}
	}
	if most != nil {
		f := most.Family
		name := newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes).Title
		text = "Δ " + wording.Signed(most.Delta) + " " + name.Path + name.Name
	}
	if host := m.in.Series.Host; host != nil && *host != "" {
		text += " · " + Visible(*host)
	}
	return text + " · "
}

// cut are the sides whose figures of a kind are lower bounds.
func (m *diffMaker) cut(kind analysis.Kind) []*analysis.Snapshot {
	var out []*analysis.Snapshot
	for _, s := range []*analysis.Snapshot{m.in.Result.A, m.in.Result.B} {
		if s.Bounded(kind) && s.Totals.Of(kind) != nil {
			out = append(out, s)
		}
	}
	return out
}

// cutWords says which sides are cut: "t5 is cut (at least 255 goroutines)".
func (m *diffMaker) cutWords(kind analysis.Kind) string {
	var out []string
	for _, s := range m.cut(kind) {
		how := "is cut"
		if s.Refused > 0 {
			how = "was not understood as a whole"
		}
		out = append(out, fmt.Sprintf("%s %s (at least %s)", Visible(s.Label), how, many(kind, *s.Totals.Of(kind))))
	}
	return wording.List(out, len(out))
}

// headline says the change: "kubelet grew by 128 goroutines in 7 min 20 s: 131
// were born, 3 ended."
func (m *diffMaker) headline(kind analysis.Kind) string {
	r := m.in.Result
	who := printable(r.B.Process.Name.Value)
	if r.A.Process.Key() != r.B.Process.Key() {
		return fmt.Sprintf("A is %s and B is %s: two processes, %s and %s.", printable(r.A.Process.Name.Value), who, m.count(r.TotalA, kind), m.count(r.TotalB, kind))
	}
	a, b := r.TotalA.Of(kind), r.TotalB.Of(kind)
	switch {
	case a == nil && b == nil:
		return fmt.Sprintf("%s: no %s were captured in A or B.", who, kindWord(kind, 2))
	case a == nil:
		return fmt.Sprintf("%s has %s in B; none were captured in A, so nothing can be compared.", who, many(kind, *b))
	case b == nil:
		return fmt.Sprintf("%s has %s in A; none were captured in B, so nothing can be compared.", who, many(kind, *a))
	}
	if cut := m.cutWords(kind); cut != "" {
		return fmt.Sprintf("%s: %s and %s cannot be compared: %s.", who, Visible(r.A.Label), Visible(r.B.Label), cut)
	}
	if !r.Followed && m.in.OtherID != "" {
		return fmt.Sprintf("%s of two cases: %s in A, %s in B; members are not followed.", who, many(kind, *a), wording.Number(int64(*b)))
	}
	if !r.Followed {
		return fmt.Sprintf("%s was restarted between A and B: %s before, %s after.", who, many(kind, *a), wording.Number(int64(*b)))
	}
	var text string
	if back := r.A.CapturedAt.Sub(r.B.CapturedAt); back > 0 && !r.B.CapturedAt.IsZero() {
		return m.backwards(who, kind, *a, *b, back)
	}
	switch delta := *b - *a; {
	case delta > 0:
		text = fmt.Sprintf("%s grew by %s", who, many(kind, delta))
	case delta < 0:
		text = fmt.Sprintf("%s shrank by %s", who, many(kind, -delta))
	default:
		text = fmt.Sprintf("%s has %s in both", who, many(kind, *a))
	}
	if !r.A.CapturedAt.IsZero() && !r.B.CapturedAt.IsZero() && !r.A.CapturedAt.Equal(r.B.CapturedAt) {
		text += " in " + wording.PageDuration(r.B.CapturedAt.Sub(r.A.CapturedAt).Abs())
		text = strings.Replace(text, " in both in ", " in both, ", 1)
		if strings.Contains(text, " in both, ") {
			text += " apart"
		}
	}
	born, ok := r.Born[kind]
	if !ok {
		return text + "."
	}
	was := "were"
	if born == 1 {
		was = "was"
	}
	return fmt.Sprintf("%s: %s %s born, %s ended.", text, wording.Number(int64(born)), was, wording.Number(int64(r.Ended[kind])))
}

// backwards is the headline where B is the earlier snapshot: nothing was born or ended on
// the way back.
func (m *diffMaker) backwards(who string, kind analysis.Kind, a, b int, back time.Duration) string {
	text := fmt.Sprintf("%s, backwards: %s in A, %s in B, which is %s earlier", who, many(kind, a), wording.Number(int64(b)), wording.PageDuration(back))
	if only, ok := m.in.Result.Ended[kind]; ok {
		text += fmt.Sprintf("; %s only in A, %s only in B", wording.Number(int64(only)), wording.Number(int64(m.in.Result.Born[kind])))
	}
	return text + "."
}

func (m *diffMaker) count(t analysis.Totals, kind analysis.Kind) string {
	if v := t.Of(kind); v != nil {
		return many(kind, *v)
	}
	return "no " + kindWord(kind, 2)
}
