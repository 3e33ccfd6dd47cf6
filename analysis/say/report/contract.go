package report

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/evidence"
)

// summaries are those of all captures. One that is not judged has the epoch of the judged one
// before it.
func (j *JudgedSeries) summaries() []Snapshot {
	out := make([]Snapshot, len(j.Captures()))
	judged := 0
	for i, s := range j.Captures() {
		if judged < len(j.Snapshots) && j.Snapshots[judged].ID == s.ID {
			s = j.Snapshots[judged] // what it shows may have been restricted
			judged++
		}
		out[i] = Snapshot{
			ID: s.ID, Label: s.Label, Host: textOrNil(s.Process.Host.Value), Process: s.Process.Name.Value,
			TimeSource: s.TimeFact.Source, TimeUnsure: s.TimeFact.Confidence == analysis.Low, Epoch: j.Trend.Epochs[judged-1], Truncated: s.Truncated, LowerBound: s.LowerBound, Refused: s.Refused, Inexact: s.Exactnesses(),
			Totals: s.Totals, Artifacts: []Artifact{}, Contention: ContentionOf(s),
		}
		out[i].Declared = int(s.Figures[analysis.DeclaredGoroutines])
		out[i].Traced, out[i].Signal = tracedOf(s), s.Signal
		out[i].Records = int(s.Figures[analysis.UndeclaredRecords])
		if pid, err := strconv.Atoi(s.Process.PID.Value); err == nil {
			out[i].PID = &pid
		}
		if !s.CapturedAt.IsZero() {
			at := s.CapturedAt.UTC()
			out[i].CapturedAt = &at
		}
		for _, a := range s.Artifacts {
			out[i].Artifacts = append(out[i].Artifacts, Artifact{Path: a.Path, Kind: a.Kind, Members: a.Members, Watches: a.Watches, Rows: a.Rows, Files: a.Files, Problems: a.Problems})
		}
	}
	return out
}

func (j *JudgedSeries) contract() Series {
	first := j.Snapshots[0]
	s := Series{
		PID: j.pid(), Process: first.Process.Name.Value, Host: textOrNil(first.Process.Host.Value),
		Snapshots: make([]string, len(j.Snapshots)), Families: []Family{}, Units: []Unit{}, Findings: []Finding{},
	}
	for i, x := range j.Snapshots {
		s.Snapshots[i] = x.ID
		s.Called = cmp.Or(x.Process.Called.Value, s.Called)
	}
	for _, x := range j.all {
		s.Captures = append(s.Captures, x.ID)
	}
	s.Unowned = j.unowned()
	roles := j.Trend.Roles()
	for _, f := range j.Trend.Families {
		out := j.family(f)
		out.Role = string(roles[f.Fingerprint])
		s.Families = append(s.Families, out)
	}
	sort.SliceStable(s.Families, func(i, j int) bool {
		a, b := &s.Families[i], &s.Families[j]
		if x, y := a.Verdict.Rank(), b.Verdict.Rank(); x != y {
			return x < y
		}
		if a.Rise != b.Rise {
			return a.Rise > b.Rise
		}
		return a.Fingerprint < b.Fingerprint
	})
	s.Units = j.units()
	s.Bounds = j.bounds()
	s.Objects = j.objects()
	s.Findings = j.findings(s.Families, s.Objects)
	s.Locks = j.LocksAt(s.lastGrown())
	s.Died = j.died()
	s.Limits = append(limits(s.Families, s.Findings), j.limits...)
	s.Signals, s.Gauges, s.Pools, s.Logged, s.Packages = j.signals(), j.gauges(), j.workPools(), j.logFacts(), j.versionsListed()
	s.PoolWait, s.Transactions = j.poolWait(s.Families), j.transactions(s.Families)
	s.Project, s.Alike = projectOf(j.catalogue, j.Snapshots), j.alike()
	s.Top = j.topStack(&s)
	s.Thresholds = j.thresholds(s.Findings)
	s.Healthy = j.healthy()
	grown := slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Key != nil })
	if !grown && !slices.ContainsFunc(s.Families, func(f Family) bool { return f.Verdict.Rose() }) {
		if len(j.aside) == 0 { // otherwise the rise is known
			s.TotalsRisen = j.totalsRisen()
		}
		s.Quiet = j.quiet(s.TotalsRisen)
		if len(s.TotalsRisen) == 0 {
			s.Seen = j.wouldBeSeen()
		}
		if counts := s.unwaited(); counts != nil && len(s.TotalsRisen) == 0 && s.Seen == "" {
			s.Quiet = s.unwaitedText(counts) + "."
		}
	}
	s.Heap = j.heap()
	s.Memory = j.memoryRisen(s.heapGrew())
	s.Busy, s.Still = j.progress()
	return s
}

// memoryRisen is the resident memory at the first and the last snapshot of the last run that have it,
// nil where it did not rise beyond noise. A heap that grew proves the rise.
func (j *JudgedSeries) memoryRisen(heapGrew bool) *[2]float64 {
	var seen []float64
	for i, s := range j.Snapshots {
		if i < len(j.Trend.Epochs) && j.Trend.Epochs[i] != j.Trend.Epochs[len(j.Trend.Epochs)-1] {
			continue
		}
		if v := cmp.Or(s.Figures["resident_memory_bytes"], s.Figures["process_resident_memory_bytes"]); v > 0 {
			seen = append(seen, v)
		}
	}
	if len(seen) < 2 {
		return nil
	}
	first, last := seen[0], seen[len(seen)-1]
	if last < leastMemoryShare*first || last-first < leastMemory || !heapGrew && !beyondNoise(seen) {
		return nil
	}
	return &[2]float64{first, last}
}

// beyondNoise reports resident memory that rose by more than healthy programs take while they are
// captured, and of fewestMemoryRises intervals or more in more than half: a collector lets memory rise up
// to twice what is in use, and fall. What doubled is told anyway.
func beyondNoise(seen []float64) bool {
	first, last, rises := seen[0], seen[len(seen)-1], 0
	for i := 1; i < len(seen); i++ {
		if seen[i] > seen[i-1] {
			rises++
		}
	}
	steady := len(seen) <= fewestMemoryRises || 2*rises > len(seen)-1
	return last-first >= leastMemoryNoise && (steady || last >= 2*first)
}

// pid is set for a series that is one of several of its name.
func (j *JudgedSeries) pid() *int {
	if strings.Count(j.Key, "\x00") < 2 {
		return nil
	}
	pid, err := strconv.Atoi(j.Snapshots[0].Process.PID.Value)
	if err != nil {
		return nil
	}
	return &pid
}

// family converts one family. States, frames and waits are those of the last snapshot
// with the family, because a reader can still examine that one.
func (j *JudgedSeries) family(f *analysis.Family) Family {
	judgement := j.Judged[f.Fingerprint]
	out := Family{
		Fingerprint: f.Fingerprint, Kind: f.Kind, Title: j.Titles[f.Fingerprint], Frames: []string{},
		Attributes: f.Attributes, States: map[string]int{}, Counts: j.Trend.Counts(f.Fingerprint),
		Verdict: judgement.Verdict, Evidence: j.Evidence(f), Rise: judgement.Rise, Life: judgement.Life, DecidesIn: judgement.DecidesIn, Classes: []string{}, Known: []string{},
	}
	if out.Title == "" {
		out.Title = f.Title
	}
	out.Name, out.Starter = j.names[f.Fingerprint].Function, j.names[f.Fingerprint].Creator
	if out.Attributes == nil {
		out.Attributes = map[string]string{}
	}
	if judgement.RecoveredAt >= 0 && judgement.RecoveredAt < len(j.Snapshots) {
		id := j.Snapshots[judgement.RecoveredAt].ID // its address would keep all snapshots
		out.RecoveredAt = &id
	}
	if judgement.Survivors >= 0 {
		out.Survivors = &judgement.Survivors
	}
	if unit := j.Trend.UnitOf(f.Fingerprint); unit != "" {
		out.Unit = &unit
	}
	if rising(judgement.Verdict) {
		out.Onset = j.familyOnset(f.Fingerprint)
	}
	j.explain(&out)
	if s := j.lastWith(f.Fingerprint); s != nil {
		out.Watched, out.Labels = s.Watched[f.Fingerprint], s.Labels[f.Fingerprint]
	}
	if out.Ancestries, out.StartedFor = j.started(f.Fingerprint); f.Kind == analysis.KindDescriptor {
		out.OpenedAt = j.openedAt(out.Ancestries, j.last(f.Fingerprint))
	}
	if g := j.last(f.Fingerprint); g != nil {
		out.Executors, out.OneExecutor = executorsOf(g), oneExecutor(j.Trend.Groups(f.Fingerprint))
		for state, n := range g.States {
			out.States[state] = n
		}
		if g.OldestWait >= 0 {
			oldest := g.OldestWait
			out.OldestWait = &oldest
		}
		for i, v := range g.Variants {
			names := frameNames(v.Stack)
			if i == 0 {
				out.Frames, out.CreatedBy = names, v.Stack.CreatedBy.Func
				continue
			}
			out.Variants = append(out.Variants, Variant{Fingerprint: v.Fingerprint, Frames: names, Count: v.Count})
		}
		if out.CreatedBy == "" || watchesCommand(out.Frames) || !family.OfStandardLibrary(out.CreatedBy) {
			out.StartedIn = j.startedIn(g, out.CreatedBy)
		}
	}
	return out
}

// last is the family in the last snapshot that has it.
func (j *JudgedSeries) last(fingerprint string) *analysis.Group {
	groups := j.Trend.Groups(fingerprint)
	for i := len(groups) - 1; i >= 0; i-- {
		if groups[i] != nil {
			return groups[i]
		}
	}
	return nil
}

// GroupOf returns a family in a snapshot, or nil. It searches all groups. Use
// Series.Groups for every family.
func GroupOf(s *analysis.Snapshot, fingerprint string) *analysis.Group {
	for i := range s.Groups {
		if s.Groups[i].Family.Fingerprint == fingerprint {
			return &s.Groups[i]
		}
	}
	return nil
}

func frameNames(s *analysis.Stack) []string {
	out := make([]string, len(s.Frames))
	for i, f := range s.Frames {
		out[i] = f.Func
	}
	return out
}

// quiet words how reliable "nothing grows" is.
func (j *JudgedSeries) quiet(risen []TotalRise) string {
	if len(risen) > 0 {
		words := make([]string, len(risen))
		for i, t := range risen {
			words[i] = t.text()
		}
		return strings.Join(words, " ")
	}
	if len(j.aside) > 0 && len(j.Snapshots) > 1 {
		return "What grows is known, and no leak."
	}
	if len(j.Snapshots) < 2 && j.died() != nil {
		return "The process has ended: captures of its next run show what grows."
	}
	if len(j.Snapshots) < 2 {
		return "One snapshot shows what is there, not what grows. Add a second one, taken some minutes later."
	}
	if seen := j.wouldBeSeen(); seen != "" {
		return seen
	}
	return sentence(j.nothing())
}

// wouldBeSeen words how small a growth the series would have shown, "" where nothing can be compared.
func (j *JudgedSeries) wouldBeSeen() string {
	if visible, ok := j.Trend.SmallestVisible(); ok && len(j.Snapshots) > 1 {
		return evidence.Visible(visible) + "."
	}
	return ""
}

// nothingElse is quiet if the growing families were set aside.
func (j *JudgedSeries) nothingElse() string {
	if seen := j.wouldBeSeen(); seen != "" {
		return "Nothing else grows. " + seen
	}
	return j.quiet(nil)
}

// nothing words why a series with several snapshots cannot show growth.
func (j *JudgedSeries) nothing() string {
	cut, refused := 0, 0
	for _, s := range j.Snapshots {
		if s.LowerBound || s.Refused > 0 {
			cut++
		}
		if s.Refused > 0 {
			refused++
		}
	}
	return nothingSaid(cut, refused, len(j.Snapshots))
}

func nothingSaid(cut, refused, all int) string {
	if cut > 0 {
		how := "are cut"
		if refused > 0 {
			how = "are cut or were not understood as a whole"
		}
		return fmt.Sprintf("nothing can be said about growth: %d of %d snapshots %s; no two others can be compared", cut, all, how)
	}
	return fmt.Sprintf("nothing can be said about growth: of %d snapshots no two are complete and of one process start", all)
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
