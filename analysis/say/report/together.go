package report

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// together makes the first answer that of all processes whose use one limit counts together,
// where they take it up alike: none of them keeps more than half, and each opened some and
// closed none. It returns their findings, nil where the process of the first answer stands alone.
func (d *diagnosing) together(leads []answer) []FindingRef {
	l := &leads[0]
	b := d.r.Series[l.series].bound(l.subject.many)
	if b == nil || len(b.Shares) < 2 || b.state() == LimitFar || b.Used < b.Peak || 2*b.Shares[0].Used > b.Used {
		return nil
	}
	var of []FindingRef
	sum := *l
	sum.subject.came, sum.subject.counts, sum.subject.each, sum.life = 0, slices.Clone(l.subject.counts), "", nil
	least, most, used := b.Used, 0.0, 0.0
	for i := range leads {
		o := &leads[i]
		at := slices.IndexFunc(b.Shares, func(x BoundShare) bool { return x.Series == o.series })
		if at < 0 || slices.ContainsFunc(of, func(f FindingRef) bool { return f.Series == o.series }) || o.subject.many != l.subject.many || !d.opensAlike(l, o) {
			continue
		}
		of = append(of, FindingRef{Process: d.r.Series[o.series].Process, Series: o.series, Rank: o.finding.Rank})
		least, most, used = min(least, b.Shares[at].Used), max(most, b.Shares[at].Used), used+b.Shares[at].Used
		sum.subject.came += o.claims.Came
		for k := range sum.subject.counts {
			if i > 0 && o.subject.counts[k].Known() {
				sum.subject.counts[k].N += o.subject.counts[k].N
			}
		}
	}
	if len(of) < 2 || most > 2*least || 2*used <= b.Used {
		return nil
	}
	sum.sharers = of
	sum.claims = d.claim(&sum)
	*l = sum
	return of
}

// opensAlike reports two answers of the same state in the same captures, with members that are
// followed and of which none ended.
func (d *diagnosing) opensAlike(a, b *answer) bool {
	labels := func(l *answer) (out []string) {
		s := &d.r.Series[l.series]
		for i := range s.Snapshots {
			out = append(out, d.label(s, i))
		}
		return out
	}
	kept := func(l *answer) bool {
		return l.claims.Followed && l.claims.Came > 0 && l.claims.Ended == 0 && l.claims.steady() && !slices.ContainsFunc(l.subject.counts, func(n analysis.Count) bool { return !n.Known() })
	}
	return a.claims.State == b.claims.State && kept(a) && kept(b) && slices.Equal(labels(a), labels(b))
}

// sharedWords say of processes that share a limit how much of it all of them hold.
func (d *diagnosing) sharedWords(l answer) []string {
	s, x := &d.r.Series[l.series], &l.subject
	b := s.bound(x.many)
	names := make([]string, len(l.sharers))
	for i, f := range l.sharers {
		names[i] = d.r.Series[f.Series].Process
	}
	text := fmt.Sprintf("%s %s hold %s of %s %s", wording.Plural(len(b.Shares), "process", "processes"), b.whose(), wording.Decimal(b.Used), wording.Decimal(b.Bound), x.many)
	news := fmt.Sprintf("%s %d and %s", x.began, l.claims.Came, x.endedNone())
	if slices.Contains(names, "") {
		return []string{text + ": they " + news, text}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return []string{text + ": " + wording.List(names, 3) + " " + news, text + ": they " + news, text}
}
