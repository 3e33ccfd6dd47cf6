package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// SeriesJudgement is all that is said of one series by itself: nothing in it depends on another
// series of the case. It needs no snapshot and can be stored.
type SeriesJudgement struct {
	Series    Series
	More      SeriesReport
	Snapshots []Snapshot
	// Growths are in the order of Series.Findings.
	Growths []Growth
	// Exposures are the epochs for a bisection, by family. Absent are those of a family
	// that the series never shows, by kind. They are empty where Options.Versions is false
	// for the program.
	Exposures map[string][]trend.Exposure        `json:",omitempty"`
	Absent    map[analysis.Kind][]trend.Exposure `json:",omitempty"`
	// Suspected are the findings on families that a person suspects, by fingerprint.
	Suspected map[string]Finding `json:",omitempty"`
	// NothingElse is said where all that grows was set aside.
	NothingElse string `json:",omitempty"`
	Course      Course
	// Connections are those of the process. Namespaces are the network namespaces of the
	// process in each snapshot, 0 where one is not known; nil where none is.
	Connections edge.Packed
	Namespaces  []uint64 `json:",omitempty"`
	// Owner identifies the user of the process, empty where that is not known.
	Owner string `json:",omitempty"`
	// LeftOut is how many families are not judged because the series has too many.
	LeftOut int `json:",omitempty"`
}

// Growth is what another process must know of a finding that rises.
type Growth struct {
	// Calling and Serving report a family whose members all wait for another process, or
	// all work for one.
	Calling, Serving bool
	// Unary reports a family whose members all wait for the answer to one call.
	Unary bool `json:",omitempty"`
	// Streams reports a family whose members all work for, or wait for, streams of a
	// transport that carries many over one connection.
	Streams bool `json:",omitempty"`
	// Connections index the connections of the process that goroutines of the finding wait
	// for, in ascending order, where captures have pairs.
	Connections []int `json:",omitempty"`
	// Wait is what the members wait for that work for another process.
	Wait edge.Wait `json:",omitempty"`
	// Lead is the first family of the finding, Kind its kind.
	Lead string
	Kind analysis.Kind
}

// Course is the leading total of a series.
type Course struct {
	Spark           []int
	Lower           []bool
	Lowest, Highest int
}

// JudgeSeries says all that one group of Group shows by itself. It changes the group.
func JudgeSeries(group *JudgedSeries, o Options) *SeriesJudgement {
	o.complete()
	group.judge(o)
	group.consult(o.Knowledge, o.matcher)
	out := group.judgement(o)
	out.More = group.report(&out.Series)
	if n := len(group.Snapshots); n > 1 && n <= mostDrawnPoints {
		out.More.Drawn = group.Drawn(&out.Series)
	}
	return &out
}

// judgement leaves out More, which not every caller needs.
func (j *JudgedSeries) judgement(o Options) SeriesJudgement {
	out := SeriesJudgement{Snapshots: j.summaries(), Series: j.contract(), Course: j.course(), Connections: edge.Pack(j.Snapshots), LeftOut: j.Trend.LeftOut, Owner: j.Snapshots[len(j.Snapshots)-1].Owner()}
	for i, s := range j.Snapshots {
		if inode := s.Figures[analysis.NetworkNamespace]; inode > 0 {
			if out.Namespaces == nil {
				out.Namespaces = make([]uint64, len(j.Snapshots))
			}
			out.Namespaces[i] = uint64(inode)
		}
	}
	out.Growths = make([]Growth, len(out.Series.Findings))
	waited := j.waitedConnections()
	for i := range out.Series.Findings {
		f := &out.Series.Findings[i]
		if !f.rises() {
			continue
		}
		out.Growths[i] = Growth{
			Calling: j.everyStack(f, func(s *analysis.Stack) bool { return within(s, calling) }),
			Serving: j.everyStack(f, func(s *analysis.Stack) bool { return within(s, serving) }),
			Unary:   j.everyStack(f, func(s *analysis.Stack) bool { return within(s, unary) }),
			Streams: j.everyStack(f, func(s *analysis.Stack) bool { return within(s, sharing) }),
			Wait:    j.waits(f),

			Connections: waited.of(j, f, out.Series.object(f.Object)),
		}
		if g := j.largest(f.Families[0]); g != nil {
			out.Growths[i].Lead, out.Growths[i].Kind = g.Family.Fingerprint, g.Family.Kind
		}
	}
	if o.Versions[out.Series.Process] {
		out.Exposures, out.Absent = map[string][]trend.Exposure{}, map[analysis.Kind][]trend.Exposure{}
		for _, f := range j.Trend.Families {
			out.Exposures[f.Fingerprint] = j.Trend.Exposures(f)
		}
		for _, kind := range analysis.Kinds() {
			out.Absent[kind] = j.Trend.Exposures(&analysis.Family{Kind: kind})
		}
	}
	for i := range out.Series.Families {
		f := out.Series.Families[i]
		mark, ok := o.Triage[Sorted{out.Series.Process, f.Fingerprint}]
		if !ok || mark.Empty() {
			continue
		}
		out.NothingElse = cmp.Or(out.NothingElse, j.nothingElse())
		if f.Triage = &mark; mark.State == analysis.MarkedSuspect {
			found := suspicion(&f)
			j.locate(&found)
			if out.Suspected == nil {
				out.Suspected = map[string]Finding{}
			}
			out.Suspected[f.Fingerprint] = found
		}
	}
	return out
}

// exposures are those of a family that leads a growth of this or another series.
func (s *SeriesJudgement) exposures(g Growth) []trend.Exposure {
	if found, ok := s.Exposures[g.Lead]; ok {
		return found
	}
	return s.Absent[g.Kind]
}

func (j *JudgedSeries) course() (out Course) {
	kind, counts := leadingKind(*j)
	known := false
	for i, n := range counts {
		if !n.Known() {
			continue
		}
		if len(out.Spark) == 0 || n.N < out.Lowest {
			out.Lowest = n.N
		}
		out.Highest = max(out.Highest, n.N)
		lower := j.Snapshots[i].Bounded(kind)
		out.Spark, out.Lower, known = append(out.Spark, n.N), append(out.Lower, lower), known || lower
	}
	if !known {
		out.Lower = nil
	}
	return out
}

// Join makes the report of a case from what is said of its series, which are in the order of
// Group. It changes them.
func Join(series []SeriesJudgement, problems []analysis.Problem, o Options) *CaseReport {
	o.complete()
	out := &CaseReport{
		Report: Report{
			Schema: Schema, Engine: Engine{Version: o.Version, Fingerprint: family.Version},
			Problems: append([]analysis.Problem{}, problems...), Snapshots: []Snapshot{}, Series: []Series{},
		},
		Series: make([]SeriesReport, 0, len(series)),
	}
	points := 0
	for i := range series {
		out.Report.Snapshots = append(out.Report.Snapshots, series[i].Snapshots...)
		if n := len(series[i].Series.Snapshots); n > 1 {
			points += n
		}
	}
	names := processNames(len(series), func(i int) *Series { return &series[i].Series })
	out.Report.Edges, out.Report.Order = between(series, names)
	versions(series)
	shareBounds(series, names)
	for i := range series {
		if n := series[i].LeftOut; n > 0 {
			out.Report.Problems = append(out.Report.Problems, analysis.Problem{Offset: -1, Severity: analysis.Warning,
				What: wording.Plural(n, "family", "families") + " of " + names[i] + " were not followed over time",
				Why:  "the series has too many different ones; those that rise most were followed", Hint: "open its snapshots, which show them all, or make cases of fewer captures"})
		}
	}
	for i := range series {
		if all := len(series[i].Series.Captures); all > 0 {
			out.Report.Problems = append(out.Report.Problems, analysis.Problem{Offset: -1, Severity: analysis.Note,
				What: wording.JudgedOf(len(series[i].Series.Snapshots), all, names[i]), Why: wording.JudgedRule, Hint: wording.JudgedHint})
		}
	}
	for i := range series {
		holdersFirst(series[i].Series.Findings)
	}
	for i := range series {
		out.Report.Series = append(out.Report.Series, series[i].Series)
		out.Series = append(out.Series, series[i].More)
		if points > mostDrawnPoints {
			out.Series[i].Drawn = nil
		}
	}
	handles(out.Report.Series)
	out.Report.Knowledge = used(o.Knowledge, out.Report.Series)
	for i := range series {
		triage(&out.Report.Series[i], &series[i], o.Triage)
	}
	out.Report.acquitAged()
	out.Report.refer(names)
	out.Report.entitle(o.Nouns)
	out.Report.Diagnosis = out.Report.Diagnose(o.Nouns)
	out.Summary = out.Report.summary(func(i int) Course { return series[i].Course })
	return out
}

// Encode writes what is said of a series for the store; DecodeJudgement reads it.
func (s *SeriesJudgement) Encode() ([]byte, error) { return jsonv2.Marshal(s, storedJSON) }

// DecodeJudgement undoes Encode.
func DecodeJudgement(text []byte) (*SeriesJudgement, error) {
	out := &SeriesJudgement{}
	if err := jsonv2.Unmarshal(text, out, storedJSON); err != nil {
		return nil, fmt.Errorf("a stored judgement: %w", err)
	}
	if n := len(out.Series.Snapshots); n == 0 || slices.ContainsFunc(out.Series.Families, func(f Family) bool { return len(f.Counts) != n }) {
		return nil, errors.New("a stored judgement: its families do not fit its snapshots")
	}
	return out, nil
}
