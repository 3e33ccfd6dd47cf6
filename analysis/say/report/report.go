// Package report holds the one value with all results of leakdiff. The pages, the
// Markdown, the JSON of the command line and the frozen permalinks are written from it.
// It takes snapshots in any order, forms the series, has the families judged and
// numbers the findings. It knows neither files nor storage, and draws nothing.
package report

import (
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// Schema names the public JSON contract of Report. Additions keep the name.
const Schema = "leakdiff.report/1"

// Report is all results of one case.
type Report struct {
	Schema    string     `json:"schema"`
	Engine    Engine     `json:"engine"`
	Snapshots []Snapshot `json:"snapshots"`
	Series    []Series   `json:"series"`
	// Edges are the connections between the processes of the case, within one, and to ends
	// outside. Order says which process holds growths of others, where something proves it.
	Edges    []Edge             `json:"edges,omitempty"`
	Order    []Order            `json:"order,omitempty"`
	Problems []analysis.Problem `json:"problems"`
	// Diagnosis is the case in one sentence.
	Diagnosis Diagnosis `json:"diagnosis"`
	// Knowledge is the catalogue's knowledge of the classes that findings name.
	Knowledge *Knowledge `json:"knowledge,omitempty"`
	// Filter describes which families the series list, nil for all.
	Filter *Filtered `json:"filter,omitempty"`
	// Gate is what counts in a pipeline, nil where the report was not held against anything.
	Gate *Gate `json:"gate,omitempty"`
}

// Page returns the report with one page of its series and their snapshots, and whether more
// follow. Indexes of series in the report stay those of the whole: series i is the entry
// i-(page-1)*limit.
func (r Report) Page(page, limit int) (Report, bool) {
	from := min((page-1)*limit, len(r.Series))
	to := min(from+limit, len(r.Series))
	more := to < len(r.Series)
	r.Series = r.Series[from:to]
	listed := map[string]bool{}
	for i := range r.Series {
		for _, id := range slices.Concat(r.Series[i].Snapshots, r.Series[i].Captures) {
			listed[id] = true
		}
	}
	snapshots := []Snapshot{}
	for i := range r.Snapshots {
		if listed[r.Snapshots[i].ID] {
			snapshots = append(snapshots, r.Snapshots[i])
		}
	}
	r.Snapshots = snapshots
	return r, more
}

// Engine identifies what computed the report.
type Engine struct {
	Version     string `json:"version"`
	Fingerprint int    `json:"fingerprint"`
}

// Snapshot is the summary of one snapshot.
type Snapshot struct {
	ID         string     `json:"id"`
	Label      string     `json:"label"`
	Host       *string    `json:"host"`
	Process    string     `json:"process"`
	PID        *int       `json:"pid"`
	CapturedAt *time.Time `json:"captured_at"`
	TimeSource string     `json:"time_source"`
	// TimeUnsure reports a time that is not of the capture for certain, such as that of a file.
	TimeUnsure bool `json:"time_unsure,omitempty"`
	Epoch      int  `json:"epoch"`
	Truncated  bool `json:"truncated"`
	LowerBound bool `json:"lower_bound,omitempty"`
	// Refused counts members that were seen and not understood.
	Refused int `json:"refused,omitempty"`
	// Inexact has the kinds whose counts are lower bounds or not comparable: "lower_bound",
	// "not_comparable". See Exactness.
	Inexact analysis.Inexact `json:"inexact,omitempty"`
	// Declared is the number of goroutines that an incomplete profile declares.
	Declared int `json:"declared_goroutines,omitempty"`
	// Records is the number of records of a profile that declares no number of goroutines.
	Records   int             `json:"undeclared_records,omitempty"`
	Totals    analysis.Totals `json:"totals"`
	Artifacts []Artifact      `json:"artifacts"`
	// Signal is what ended the process with its dump: "SIGQUIT", "SIGABRT". It is empty for one that
	// lives, or that failed.
	Signal analysis.Signal `json:"signal,omitempty"`
	// Traced is what a tracer saw, where no listing shows the descriptors.
	Traced *Traced `json:"traced,omitempty"`
	// Contention has its mutex and block profiles.
	Contention []Contention `json:"contention,omitempty"`
	// Families are those of this snapshot, in the report of a single one.
	Families []SnapshotFamily `json:"families,omitempty"`
}

// Artifact is one file, or one directory of descriptor files, of a snapshot.
type Artifact struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Members  int    `json:"members"`
	Watches  int    `json:"watches,omitempty"`
	Rows     int    `json:"rows,omitempty"`
	Files    int    `json:"files,omitempty"`
	Problems int    `json:"problems"`
}

// Series is one program on one host over time.
type Series struct {
	Process string `json:"process"`
	// Called is the name by which a person knows the process, if that is another: the main
	// class or jar of a JVM, the script of Node.js.
	Called string  `json:"called,omitempty"`
	Host   *string `json:"host"`
	// PID is set if several processes of this name run at the same time.
	PID *int `json:"pid,omitempty"`
	// Unowned reports that it is no process: a socket table lists its sockets and does not name
	// their owner.
	Unowned bool `json:"owner_not_known,omitempty"`
	// Snapshots are the ids of the captures that are judged, in time order. Every list of
	// counts has one entry for each.
	Snapshots []string `json:"snapshots"`
	// Captures are the ids of all captures in time order, where not all are judged. See
	// trend.Select. Their totals are in the report's snapshots.
	Captures []string `json:"captures,omitempty"`
	Families []Family `json:"families"`
	Units    []Unit   `json:"units"`
	// Objects are the things of the program that goroutine dumps prove by identity.
	Objects []Object `json:"objects,omitempty"`
	// Locks are those of the last snapshot that goroutines or threads wait for.
	Locks *Locks `json:"locks,omitempty"`
	// Died is why the process ended, nil unless the last snapshot shows it dying.
	Died *Death `json:"died,omitempty"`
	// Bounds are the known limits of the process and its user.
	Bounds   []Bound   `json:"limits"`
	Findings []Finding `json:"findings"`
	// SetAside are the findings whose families a person called benign.
	SetAside []Finding `json:"set_aside,omitempty"`
	// Signals are quantities beside the growth that are above a threshold at the end.
	Signals []Signal `json:"signals,omitempty"`
	// Logged is what logs of the process say: limits that were met, what was not closed.
	Logged []LogFact `json:"facts,omitempty"`
	// Packages are versions of lists of packages beside the process.
	Packages []Package `json:"packages,omitempty"`
	// Project is that of a program whose users do not change its code, by the catalogue.
	Project string `json:"project,omitempty"`
	// Alike is what the catalogue knows of what makes up most of a single dump.
	Alike *Likeness `json:"alike,omitempty"`
	// Top is where the holder of the lock stands that most of a single dump wait for, else its largest
	// group. It is nil without a stack.
	Top *MemberStack `json:"largest_stack,omitempty"`
	// Gauges are quantities beside what was captured, such as memory and pods of its node.
	Gauges []Gauge `json:"gauges,omitempty"`
	// PoolWait are those that wait for a connection and do not go on, nil without any.
	PoolWait *PoolWait `json:"pool_wait,omitempty"`
	// Transactions are those of database/sql that are open in the last two captures, or in the only one.
	Transactions int `json:"transactions,omitempty"`
	// Pools are its pools and dispatchers, where metrics or a summary of clients tell them.
	Pools []Pool `json:"pools,omitempty"`
	// Limits name in words what the verdicts of the findings cannot exclude.
	Limits []string `json:"verdict_limits,omitempty"`
	// Thresholds are those that circulate for the classes of the findings.
	Thresholds []Threshold `json:"thresholds,omitempty"`
	// Busy are threads of a JVM that use much of the processor, Still those that stand at one place
	// without using it, most first.
	Busy  []BusyThreads  `json:"busy_threads,omitempty"`
	Still []StillThreads `json:"still_threads,omitempty"`
	// Healthy counts the normal stacks of the last snapshot.
	Healthy *Healthy `json:"healthy,omitempty"`
	// TotalsRisen are totals whose rise no family explains. It is set only if no family
	// rose.
	TotalsRisen []TotalRise `json:"totals_risen,omitempty"`
	// Seen words how small a growth would have been seen, where nothing rose.
	Seen string `json:"would_be_seen,omitempty"`
	// Memory is the resident memory in bytes at both ends, set where it rose so much that a
	// reader must know it beside "nothing grew".
	Memory *[2]float64 `json:"memory_risen,omitempty"`
	// Heap is what the heap holds, nil where no capture shows it.
	Heap *Heap `json:"heap,omitempty"`
	// Quiet words how small a growth would have been seen, if no family rose except
	// those that a person called benign. It is empty otherwise.
	Quiet string `json:"quiet,omitempty"`
}

// The kinds of findings without a verdict: a fact that one snapshot proves alone, a
// possible holder, an effect, what the capture itself adds, and a limit that is nearly
// reached.
const (
	FactFinding     = "fact"
	HolderFinding   = "may_hold"
	FollowFinding   = "follows"
	ObserverFinding = "observer_effect"
	LimitFinding    = "limit"
	// SaturatedFinding is a pool that is full while others wait for it.
	SaturatedFinding = "saturated"
	// SuspectFinding is a family that a person suspects and no rule accuses.
	SuspectFinding = "marked_suspicious"
	// NoLeakFinding grows, and an entry of the catalogue knows that it is no leak.
	NoLeakFinding = "no_leak"
)

// KindMarks are the marks of findings without a verdict.
func KindMarks() []string {
	var out []string
	for _, kind := range []string{FactFinding, HolderFinding, FollowFinding, ObserverFinding, LimitFinding, SuspectFinding, NoLeakFinding} {
		out = append(out, Finding{Kind: kind}.Mark())
	}
	return out
}

// Mark is the finding's verdict in a word or two, or its kind.
func (f Finding) Mark() string {
	switch f.Kind {
	case "":
		return string(f.Verdict)
	case HolderFinding:
		return "possible culprit"
	case FollowFinding:
		return "follows"
	}
	return strings.ReplaceAll(f.Kind, "_", " ")
}

// Family is one family over all snapshots of its series.
type Family struct {
	Fingerprint string        `json:"fingerprint"`
	Kind        analysis.Kind `json:"kind"`
	Title       string        `json:"title"`
	// Name is Title without what started the goroutines, which Starter is, and of watches
	// where they are. Both are empty for other kinds.
	Name    string `json:"name,omitempty"`
	Starter string `json:"starter,omitempty"`
	// Handle is a short name for talk about this report, such as "g-3". See handles.
	Handle string `json:"handle"`
	// Frames are exact names, leaf first, of the most frequent variant.
	Frames     []string          `json:"frames"`
	CreatedBy  string            `json:"created_by"`
	Variants   []Variant         `json:"variants,omitempty"`
	Attributes map[string]string `json:"attributes"`
	// Executors counts the pools in which its threads are, by the names that the JDK gives threads
	// of executors, 0 for other names. It is that of the last snapshot with the family.
	Executors int `json:"executors,omitempty"`
	// OneExecutor reports that those of them that came are of one pool, see oneExecutor.
	OneExecutor bool             `json:"one_executor,omitempty"`
	States      map[string]int   `json:"states"`
	Counts      analysis.Counts  `json:"counts"`
	Verdict     analysis.Verdict `json:"verdict"`
	RecoveredAt *string          `json:"recovered_at"`
	Evidence    []Evidence       `json:"evidence"`
	Survivors   *int             `json:"survivors"`
	// Life counts its members by identity, nil without identities.
	Life *analysis.Life `json:"life,omitempty"`
	// DecidesIn is how many hours after the last snapshot more of them decide.
	DecidesIn  float64 `json:"decides_in_hours,omitempty"`
	OldestWait *int    `json:"oldest_wait_minutes"`
	Rise       int     `json:"rise"`
	Unit       *string `json:"unit"`
	// Role is victim, possible_culprit or observer_effect. It is never a verdict.
	Role  string `json:"role,omitempty"`
	Onset *Onset `json:"onset,omitempty"`
	// Classes are keys of the catalogue's classes. Known are the ids of known leaks
	// that state and growth confirm.
	Classes []string `json:"classes"`
	Known   []string `json:"known"`
	// ClassNotes are what the evidence adds to a class.
	ClassNotes map[string]ClassNote `json:"class_notes,omitempty"`
	// Triage is a person's decision about the family, or nil.
	Triage *analysis.Triage `json:"triage,omitempty"`
	// KnownLeaks are all entries whose signature the family has, those in Known first.
	KnownLeaks []KnownLeak `json:"known_leaks,omitempty"`
	// Normal is the normal stack of the family.
	Normal *Normal `json:"normal,omitempty"`
	// SetAside reports that the catalogue knows the growth to be no leak. It is nil
	// otherwise.
	SetAside *SetAside `json:"set_aside,omitempty"`
	// Watched are the targets of the watches of the last snapshot.
	Watched []analysis.Target `json:"watched,omitempty"`
	// Labels are the pprof labels of the goroutines of the last snapshot with the family, the
	// most frequent first.
	Labels []analysis.LabelCount `json:"labels,omitempty"`
	// Ancestries are who started its goroutines, and who started those, or what opened its
	// descriptors, in the last snapshot that shows it, the most frequent first. StartedFor is the
	// first own code of the most frequent one.
	Ancestries []analysis.Ancestry `json:"ancestries,omitempty"`
	StartedFor *Origin             `json:"started_for,omitempty"`
	// StartedIn is where the goroutine stands that started most of them, where the dump has its id
	// and no creator; else the function that it began with, where the creator is no server of the
	// standard library.
	StartedIn *Origin `json:"started_in,omitempty"`
	// OpenedAt is the code that opened most of its descriptors, where a tracer saw them opened.
	OpenedAt *Origin `json:"opened_at,omitempty"`
}

// Variant is another exact stack of a family.
type Variant struct {
	Fingerprint string   `json:"fingerprint"`
	Frames      []string `json:"frames"`
	Count       int      `json:"count"`
}

// Unit is a set of families that rise together at a constant ratio.
type Unit struct {
	ID string `json:"id"`
	// Ratio is members per instance, by fingerprint.
	Ratio map[string]float64 `json:"ratio"`
	// Counts are the instances since the first snapshot. Members are the members of all
	// its families. Both are null if a family of the unit has no evidence.
	Counts  analysis.Counts  `json:"counts"`
	Members analysis.Counts  `json:"members"`
	Verdict analysis.Verdict `json:"verdict"`
	// Each is one instance by kind, "1 goroutine, 6 watches". It is empty if instances
	// cannot be counted.
	Each  string `json:"each,omitempty"`
	Onset *Onset `json:"onset,omitempty"`
	// Text is the unit in words: "7 families rise together, ...".
	Text string `json:"text"`
	// Evidence is about the summed counts of all its families.
	Evidence []Evidence `json:"evidence"`
}

// Bound is a limit of the system, how much of it is used, and how long it lasts.
type Bound struct {
	What string `json:"what"`
	// Bytes reports that it is counted in bytes.
	Bytes bool    `json:"bytes,omitempty"`
	Bound float64 `json:"bound"`
	Used  float64 `json:"used"`
	// AtLeast reports that Used and Peak are lower bounds: the captures list a part of what the
	// bound counts, such as sockets among open files.
	AtLeast bool `json:"at_least,omitempty"`
	// PerHour is the rate with its 95 % interval. HoursLeft is the time until it is
	// full, with the ends of that interval. Both are null if the snapshots show no rate
	// or the use does not rise.
	PerHour   *[3]float64 `json:"per_hour"`
	HoursLeft *[3]float64 `json:"hours_left"`
	// Level reports that the rate is known and the use does not rise.
	Level bool   `json:"level,omitempty"`
	Text  string `json:"text"`
	// Counts are the uses, one per snapshot.
	Counts []*float64 `json:"counts"`
	// Peak is the highest use, of one of the snapshots: after a recovery the last use says
	// nothing about how near the limit was.
	Peak float64 `json:"peak"`
	// Scope is whose use the kernel counts: process, user or host.
	Scope trend.Scope `json:"scope,omitempty"`
	// Shares are the uses of the captured processes that a bound of a user or a host counts
	// together, those with most first. Used, Peak, PerHour and HoursLeft are then those of all
	// of them, which is a lower bound: others may not have been captured.
	Shares []BoundShare `json:"shares,omitempty"`
}

// BoundShare is what one process uses of a bound that it shares with others.
type BoundShare struct {
	Process string  `json:"process"`
	Series  int     `json:"series"`
	Used    float64 `json:"used"`
}

// Onset is when a growth began: windows between neighbouring snapshots, by their ids,
// that together hold 95 % of the probability.
type Onset struct {
	From    *time.Time `json:"from"`
	To      *time.Time `json:"to"`
	Windows []Window   `json:"windows"`
	// Before reports that it may have begun before the first snapshot.
	Before bool   `json:"before,omitempty"`
	Text   string `json:"text"`
}

// Window is the time between two neighbouring snapshots.
type Window struct {
	From   string   `json:"from"`
	To     string   `json:"to"`
	Share  float64  `json:"share"`
	Events []string `json:"events,omitempty"`
}

// FindingRef names a finding of a report: its process, the index of the series, and its rank.
type FindingRef struct {
	Process string `json:"process"`
	Series  int    `json:"series"`
	Rank    int    `json:"rank"`
}

// FindingKey is a property that families share: the function that created their goroutines, what the
// states of one population share (a pool of threads, the ends of sockets, the mount of watches), a
// path with any name for one of its directories, their package, or only their kind.
type FindingKey struct {
	By   trend.KeyKind `json:"by"`
	Kind analysis.Kind `json:"kind,omitempty"`
	Name string        `json:"name"`
	// Families counts those that have it.
	Families  int            `json:"families"`
	Life      *analysis.Life `json:"life,omitempty"`
	DecidesIn float64        `json:"decides_in_hours,omitempty"`
	// Moving reports that members move between the families.
	Moving bool `json:"moving,omitempty"`
}

// Finding is one finding in words and figures.
type Finding struct {
	Rank int `json:"rank"`
	// Kind is empty for a finding with a verdict. See Mark.
	Kind    string           `json:"kind,omitempty"`
	Verdict analysis.Verdict `json:"verdict,omitempty"`
	Title   string           `json:"title"`
	Text    string           `json:"text"`
	Next    string           `json:"next,omitempty"`
	// Stated is the key of the statement of a dump that a fact repeats, Threads are those that it is about.
	Stated  string   `json:"stated,omitempty"`
	Threads []string `json:"threads,omitempty"`
	// OfCode reports that Next changes the code of the program, or stands for what would where that is
	// not the reader's.
	OfCode bool `json:"of_code,omitempty"`
	// Proof is the line that proves a growth, "n of n" where identities are known.
	Proof string `json:"proof,omitempty"`
	// Families are fingerprints. The one to examine first is in front.
	Families []string `json:"families"`
	// Unit is the id of the unit that the finding is about.
	Unit string `json:"unit,omitempty"`
	// Key is what its families share, where they grow by it and none by itself.
	Key *FindingKey `json:"key,omitempty"`
	// Limit is what is nearly used up, in a finding on a limit.
	Limit string `json:"limit,omitempty"`
	// Object is the id of the kind of objects that the finding is about.
	Object string `json:"object,omitempty"`
	// Behind reports that a finding of another process holds it and comes first. Two counts
	// that rise together prove no direction: see Report.Order.
	Behind bool `json:"behind,omitempty"`
	// BehindOf is the finding that holds it, nil where that was set aside.
	BehindOf *FindingRef `json:"behind_of,omitempty"`
	holder   *holderRef
	// EndedWith is the process that dialled connections of this one and ended in the interval
	// in which the members ended, nil where none is known to.
	EndedWith *Peer `json:"ended_with,omitempty"`
	// Counts are the members of all its families. Evidence is about them.
	Counts   analysis.Counts `json:"counts,omitempty"`
	Evidence []Evidence      `json:"evidence,omitempty"`
	// Classes and Known are those of its families. Signs count the forms of a class:
	// "43 watches on mounts that are gone".
	Classes []string `json:"classes,omitempty"`
	Signs   []string `json:"signs,omitempty"`
	// SignsOf are the classes of the signs, one for each. ClassNotes are what the
	// evidence adds to a class.
	SignsOf    []string             `json:"signs_of,omitempty"`
	ClassNotes map[string]ClassNote `json:"class_notes,omitempty"`
	Known      []KnownLeak          `json:"known,omitempty"`
	// Advisories are the CVE, GHSA and GO ids of the known leaks that match.
	Advisories []string `json:"advisories,omitempty"`
	// RuledOut are entries that match stack, state and growth of its families, but that
	// the seen version rules out.
	RuledOut []KnownLeak `json:"ruled_out,omitempty"`
	// Similar are the ids of published leaks whose stack is of libraries that every
	// program uses. They accuse nobody.
	Similar []string `json:"similar,omitempty"`
	// Versions compares the versions of the program that the case has, nil for one.
	Versions *Bisected `json:"versions,omitempty"`
	// Stack is the stack of one member, leaf first. It is empty if no family has one.
	// StackOf identifies its members. StackNote explains why nothing in it is marked as
	// own code.
	Stack     []StackFrame `json:"stack"`
	StackOf   *StackOf     `json:"stack_of,omitempty"`
	StackNote string       `json:"stack_note,omitempty"`
	// Ahead are those that went on where its members wait, nil without any.
	Ahead *Ahead `json:"ahead,omitempty"`
}
