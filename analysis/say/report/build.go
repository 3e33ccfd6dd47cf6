package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// Options are inputs of Build beside the snapshots.
type Options struct {
	// Version is the program's version.
	Version string
	// Events are entered events: deploys, upgrades, outages.
	Events []trend.Event
	// Loads are entered demands from outside, by name and snapshot id.
	Loads map[string]map[string]float64
	// Triage is what people decided about families.
	Triage map[Sorted]analysis.Triage
	// Knowledge is the catalogue to consult, nil for the built-in one.
	Knowledge *knowledge.Catalogue
	// Nouns are the words for things, nil for those of the catalogue and of the program.
	Nouns noun.List
	// Versions are the programs of which the case has several versions. Build finds them.
	Versions map[string]bool
	matcher  *knowledge.Matcher
}

// NounsOf returns the words for things: those of the program, and before them those of a file
// nouns.json that stands beside the knowledge files.
func NounsOf(c *knowledge.Catalogue) (noun.List, []analysis.Problem) {
	list, err := noun.With(c.Nouns())
	if err != nil {
		return list, []analysis.Problem{{Path: noun.File, Offset: -1, Severity: analysis.Error, What: "the file of nouns was not read; those of the program are used", Why: err.Error(), Hint: "write it like analysis/say/noun/nouns.json: a list of entries"}}
	}
	return list, nil
}

// complete sets what the caller left out.
func (o *Options) complete() {
	if o.Knowledge == nil {
		o.Knowledge = knowledge.Builtin()
	}
	if o.Nouns == nil {
		o.Nouns, _ = NounsOf(o.Knowledge)
	}
	if o.matcher == nil {
		o.matcher = o.Knowledge.NewMatcher()
	}
}

// JudgedSeries is one series with all computed results. Pages draw from it what the
// JSON contract leaves out.
type JudgedSeries struct {
	Key       string
	Trend     *trend.Series
	Judged    map[string]analysis.Judgement
	Titles    map[string]string
	names     map[string]family.Name
	Snapshots []*analysis.Snapshot
	// kinds are those of its objects, orphans the descriptors that nothing holds.
	kinds   []object.Kind
	orphans []object.Orphans
	// snapshotLabels are those of the snapshots.
	snapshotLabels []string
	// limits name the snapshots that show less than others of the series.
	limits []string
	// known is the catalogue's result for each family, by fingerprint.
	known map[string]knowledge.Result
	// triage is what people decided about families, by fingerprint.
	triage map[string]analysis.Triage
	// weighed are the families whose verdict the catalogue changed.
	weighed map[string]bool
	// aside are the accusations that an entry sets aside.
	aside     map[string]aside
	catalogue *knowledge.Catalogue
	// files are file names with module versions, by epoch.
	files map[int][]string
	// sightings are the last ones of each family. own recognises own code. Both are
	// computed for the first finding.
	sightings map[string]sighting
	own       *family.Own
}

// Case is a report with its working material.
type Case struct {
	Report Report
	// Series are in the order of Report.Series.
	Series []JudgedSeries
	// listed is the report with the families that pass a filter.
	listed Report
}

// Build forms the series of a case, judges every family and numbers the findings.
// Snapshots may come from several bundles in any order. problems are those of the
// bundles. Equal input returns an equal report. Versions that names state are set in
// snapshots.
func Build(snapshots []analysis.Snapshot, problems []analysis.Problem, o Options) Case {
	o.complete()
	identity.NameVersions(snapshots)
	judged := Group(snapshots)
	o.Versions = Versions(judged)
	all := make([]SeriesJudgement, len(judged))
	for i := range judged {
		judged[i].judge(o)
		judged[i].consult(o.Knowledge, o.matcher)
		all[i] = judged[i].judgement(o)
	}
	c := Case{Report: Join(all, problems, o).Report, Series: judged}
	c.sortOut()
	return c
}

// Part is Build for callers that have the report of the same groups: the series of read are
// judged, with objects or without, the others are not.
func Part(groups []JudgedSeries, read []int, objects bool, said *CaseReport, o Options) Case {
	o.complete()
	for _, i := range read {
		if objects {
			groups[i].judge(o)
		} else {
			groups[i].judgeFamilies(o)
		}
		groups[i].consult(o.Knowledge, o.matcher)
	}
	c := Case{Report: said.Report, Series: groups}
	c.sortOut()
	return c
}

// sortOut gives the series what people decided about their families.
func (c *Case) sortOut() {
	for i := range c.Series {
		c.Series[i].triage = map[string]analysis.Triage{}
		for k := range c.Report.Series[i].Families {
			if f := &c.Report.Series[i].Families[k]; f.Triage != nil {
				c.Series[i].triage[f.Fingerprint] = *f.Triage
			}
		}
	}
}

// adopt assigns the families of snapshots without creators (debug=1, proto, execution
// traces) to the families that a dump with creators named in the same series. Frames that
// several creators share show none of their families there, and their own family is not
// shown where the dump tells the creators apart: it returns these snapshots by fingerprint.
func (j *JudgedSeries) adopt() (notShown map[string][]bool) {
	var named []*analysis.Family
	byPrint := map[string]*analysis.Family{}
	identified := map[*analysis.Family]bool{} // snapshots share their families
	for _, s := range j.Snapshots {
		if !hasCreators(s) {
			continue
		}
		for i := range s.Groups {
			g := &s.Groups[i]
			if f := g.Family; !identified[f] && g.Members.Identified() {
				identified[f] = true
				if byPrint[f.Fingerprint] == nil {
					byPrint[f.Fingerprint] = f
					named = append(named, f)
				}
			}
		}
	}
	claimants := family.Claimants(named)
	shared := map[string][]string{} // families whose frames several creators share, with those that claim them
	for _, s := range j.Snapshots {
		own, creators := false, hasCreators(s)
		for i := range s.Groups {
			g := &s.Groups[i]
			if creators && g.Members.Identified() {
				continue
			}
			claimed := claimants[g.Family.Fingerprint]
			if len(claimed) > 1 {
				shared[g.Family.Fingerprint] = claimed
				continue
			}
			if len(claimed) == 1 && GroupOf(s, claimed[0]) == nil {
				if !own {
					// The caller's snapshots must not change.
					s.Groups, own = slices.Clone(s.Groups), true
				}
				s.Groups[i].Family = byPrint[claimed[0]]
			}
		}
	}
	return j.hiddenBy(shared)
}

// hiddenBy are the snapshots that do not show a family although its members may be in them, by
// fingerprint. shared has families without a creator, with those that share their frames.
func (j *JudgedSeries) hiddenBy(shared map[string][]string) map[string][]bool {
	out := map[string][]bool{}
	hide := func(i int, print string) {
		if GroupOf(j.Snapshots[i], print) == nil {
			if out[print] == nil {
				out[print] = make([]bool, len(j.Snapshots))
			}
			out[print][i] = true
		}
	}
	for orphan, claimed := range shared {
		for i, s := range j.Snapshots {
			for _, print := range claimed {
				if GroupOf(s, orphan) != nil {
					hide(i, print)
				}
				if GroupOf(s, print) != nil {
					hide(i, orphan)
				}
			}
		}
	}
	return out
}

// hasCreators reports whether the evidence names who started the goroutines.
func hasCreators(s *analysis.Snapshot) bool {
	for i := range s.Groups {
		for _, v := range s.Groups[i].Variants {
			if v.Stack != nil && v.Stack.CreatedBy.Func != "" {
				return true
			}
		}
	}
	return false
}

func (j *JudgedSeries) judge(o Options) {
	j.judgeFamilies(o)
	j.kinds = object.Follow(j.Snapshots, j.Trend.Epochs)
	j.orphans = object.FindOrphans(j.Snapshots, j.Trend.Epochs)
}

func (j *JudgedSeries) judgeFamilies(o Options) {
	notShown := j.adopt()
	j.levelForms(notShown)
	in := trend.Input{Snapshots: j.Snapshots, NotShown: notShown, Observer: observers(j.Snapshots), Objects: make([]map[string][]trend.Object, len(j.Snapshots)), Elapsed: make([]map[string][]float64, len(j.Snapshots))}
	for i, s := range j.Snapshots {
		in.Objects[i] = s.Objects
		in.Elapsed[i] = agesOf(s)
	}
	in.Events, in.Loads = o.Events, j.loads(o.Loads)
	j.Trend = trend.NewSeries(in)
	j.Judged = j.Trend.JudgeAll()
	j.snapshotLabels = make([]string, len(j.Snapshots))
	for i, s := range j.Snapshots {
		j.snapshotLabels[i] = s.Label
	}
	stacks := map[string][]*analysis.Stack{}
	enough := map[*analysis.Family]bool{}
	for _, s := range j.Snapshots {
		for i := range s.Groups {
			f := s.Groups[i].Family
			if enough[f] {
				continue
			}
			for _, v := range s.Groups[i].Variants {
				if have := stacks[f.Fingerprint]; len(have) < mostTitled {
					stacks[f.Fingerprint] = append(have, v.Stack)
				}
			}
			enough[f] = len(stacks[f.Fingerprint]) >= mostTitled
		}
	}
	variants := func(fingerprint string) []*analysis.Stack { return stacks[fingerprint] }
	j.Titles, j.names = family.Titles(j.Trend.Families, variants), map[string]family.Name{}
	for _, f := range j.Trend.Families {
		j.names[f.Fingerprint] = family.NameOf(f, variants)
	}
}

// mostTitled is the number of stacks of a family from which its title is made.
const mostTitled = 4

// loads returns the entered values for snapshots of this series, NaN for snapshots
// without one.
func (j *JudgedSeries) loads(given map[string]map[string]float64) map[string][]float64 {
	out := map[string][]float64{}
	for name, values := range given {
		row, known := make([]float64, len(j.Snapshots)), false
		for i, s := range j.Snapshots {
			v, ok := values[s.ID]
			if known = known || ok; !ok {
				v = math.NaN()
			}
			row[i] = v
		}
		if known {
			out[name] = row
		}
	}
	return out
}

// agesOf returns the ages of members in hours, if the dump prints them.
func agesOf(s *analysis.Snapshot) map[string][]float64 {
	var out map[string][]float64
	for i := range s.Groups {
		ages := s.Groups[i].Members.Ages()
		if len(ages) == 0 {
			continue
		}
		hours := make([]float64, len(ages))
		for k, seconds := range ages {
			hours[k] = float64(seconds) / 3600
		}
		if out == nil {
			out = map[string][]float64{}
		}
		out[s.Groups[i].Family.Fingerprint] = hours
	}
	return out
}

func (j *JudgedSeries) summaries() []Snapshot {
	out := make([]Snapshot, len(j.Snapshots))
	for i, s := range j.Snapshots {
		out[i] = Snapshot{
			ID: s.ID, Label: s.Label, Host: textOrNil(s.Process.Host.Value), Process: s.Process.Name.Value,
			TimeSource: s.TimeFact.Source, Epoch: j.Trend.Epochs[i], Truncated: s.Truncated, LowerBound: s.LowerBound, Refused: s.Refused, Inexact: s.Exactnesses(),
			Totals: s.Totals, Artifacts: []Artifact{}, Contention: ContentionOf(s),
		}
		out[i].Declared = int(s.Figures[analysis.DeclaredGoroutines])
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
	s.Died = j.deathOf(j.Snapshots[len(j.Snapshots)-1])
	s.Limits = append(limits(s.Families, s.Findings), j.limits...)
	s.Thresholds = j.thresholds(s.Findings)
	s.Healthy = j.healthy()
	grown := slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Key != nil })
	if !grown && !slices.ContainsFunc(s.Families, func(f Family) bool { return f.Verdict.Rose() }) {
		if len(j.aside) == 0 { // otherwise the rise is known
			s.TotalsRisen = j.totalsRisen()
		}
		s.Quiet = j.quiet(s.TotalsRisen)
		s.Memory = j.memoryRisen()
		if len(s.TotalsRisen) == 0 {
			s.Seen = j.wouldBeSeen()
		}
	}
	return s
}

// The least rise of the resident memory that is told: a fifth, and 5 MB.
const (
	leastMemoryShare = 1.2
	leastMemory      = 5e6
)

// memoryRisen is the resident memory at the first and the last snapshot that have it, nil where
// it did not rise by much.
func (j *JudgedSeries) memoryRisen() *[2]float64 {
	var seen []float64
	for _, s := range j.Snapshots {
		if v, known := s.Figures["resident_memory_bytes"]; known && v > 0 {
			seen = append(seen, v)
		}
	}
	if len(seen) < 2 {
		return nil
	}
	first, last := seen[0], seen[len(seen)-1]
	if last < leastMemoryShare*first || last-first < leastMemory {
		return nil
	}
	return &[2]float64{first, last}
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
	out.Watched = j.watched(f.Fingerprint)
	if g := j.last(f.Fingerprint); g != nil {
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

// unowned reports sockets of tables that do not name their owner.
func (j *JudgedSeries) unowned() bool {
	return !slices.ContainsFunc(j.Snapshots, func(s *analysis.Snapshot) bool {
		return s.Process.PID.Known() || s.Forms[analysis.KindDescriptor] != analysis.FormSockets
	})
}

func plainProcess(j *JudgedSeries) string {
	name := j.Snapshots[0].Process.Name.Value
	for _, s := range j.Snapshots {
		name = cmp.Or(s.Process.Called.Value, name)
	}
	if name != "" {
		if pid := j.pid(); pid != nil {
			name += fmt.Sprintf(", pid %d", *pid)
		}
		return name
	}
	if j.unowned() {
		return "owner not known"
	}
	return "an unnamed process"
}

func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	if first, _, _ := strings.Cut(s, " "); strings.ContainsAny(strings.TrimRight(first, ".,:;"), "_.(*/") {
		return s + "." // a name of the program changes its meaning with a capital
	}
	return wording.Capital(s) + "."
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
