package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/judge/object"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
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
	// LoadMetrics are metrics that are loads of every process that has them.
	LoadMetrics []string
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
	Key    string
	Trend  *trend.Series
	Judged map[string]analysis.Judgement
	Titles map[string]string
	names  map[string]family.Name
	// Snapshots are the captures that are judged, all until Select chose.
	Snapshots []*analysis.Snapshot
	// all are the captures of the series where not all are judged, nil otherwise.
	all []*analysis.Snapshot
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
	listed  Report
	options Options
}

// Build forms the series of a case, judges every family and numbers the findings.
// Snapshots may come from several bundles in any order. problems are those of the
// bundles. Equal input returns an equal report. Versions that names state are set in
// snapshots.
func Build(snapshots []analysis.Snapshot, problems []analysis.Problem, o Options) Case {
	o.complete()
	identity.NameVersions(snapshots)
	judged := Group(snapshots)
	Select(judged, o)
	o.Versions = Versions(judged)
	all := make([]SeriesJudgement, len(judged))
	for i := range judged {
		judged[i].judge(o)
		judged[i].consult(o.Knowledge, o.matcher)
		all[i] = judged[i].judgement(o)
	}
	c := Case{Report: Join(all, problems, o).Report, Series: judged, options: o}
	c.sortOut()
	return c
}

// Part is Build for callers that have the report of the same groups, after Select: the series
// of read are judged, with objects or without, the others are not.
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
	c := Case{Report: said.Report, Series: groups, options: o}
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
					s.Labels, s.Ancestries, s.Births = maps.Clone(s.Labels), maps.Clone(s.Ancestries), maps.Clone(s.Births)
				}
				rename(s.Labels, g.Family.Fingerprint, claimed[0])
				rename(s.Ancestries, g.Family.Fingerprint, claimed[0])
				rename(s.Births, g.Family.Fingerprint, claimed[0])
				s.Groups[i].Family = byPrint[claimed[0]]
			}
		}
	}
	return j.hiddenBy(shared)
}

// rename gives what is known of a family to the one that it is assigned to.
func rename[V any](of map[string]V, from, to string) {
	if v, known := of[from]; known {
		delete(of, from)
		of[to] = v
	}
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
	j.countTotals()
	notShown := j.adopt()
	j.levelForms(notShown)
	in := trend.Input{Snapshots: j.Snapshots, NotShown: notShown, Observer: observers(j.Snapshots), Objects: make([]map[string][]trend.Object, len(j.Snapshots)), Elapsed: make([]map[string][]float64, len(j.Snapshots))}
	for i, s := range j.Snapshots {
		in.Objects[i] = s.Objects
		in.Elapsed[i] = agesOf(s)
	}
	in.Events, in.Loads, in.LoadMetrics = o.Events, j.loads(o.Loads), j.loadMetrics(&o)
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

// loadMetrics are the metrics of the process that somebody said are loads.
func (j *JudgedSeries) loadMetrics(o *Options) []string {
	out := o.LoadMetrics
	if o.Knowledge != nil && len(j.Snapshots) > 0 {
		for _, x := range o.Knowledge.Loads() {
			if x.Program == j.Snapshots[0].Process.Name.Value {
				out = append(out[:len(out):len(out)], x.Metric)
			}
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

// The least rise of memory that is told: a fifth, and 5 MB. Of resident memory without a heap that grew
// it is leastMemoryNoise: three times the most that 18 healthy Go programs rose by, 4.3 to 5.3 MiB from
// 8 MiB in 12 s and 4 captures, each of which takes memory itself.
const (
	leastMemoryShare  = 1.2
	leastMemory       = 5e6
	leastMemoryNoise  = 16 << 20
	fewestMemoryRises = 3
)

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
