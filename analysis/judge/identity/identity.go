// Package identity applies what people said about a case's snapshots: whose
// evidence they are, when they were taken, in which order, which of them count,
// what happened meanwhile and how much was asked of a program. It takes snapshots as they were recognised and the edits of a case, and
// gives corrected copies with what became of each edit. It refuses to know
// storage, pages and how anything was recognised; an edit names evidence, never a
// derived name, so that it holds when a newer engine reads the same bytes again.
package identity

import (
	"time"

	"leakdiff/analysis"
)

// Kind says what an edit changes.
type Kind string

// The kinds of edits, with what their Value is.
const (
	// Host, Process, PID and Version are names, a decimal pid and the version of the
	// program.
	Host    Kind = "host"
	Process Kind = "process"
	PID     Kind = "pid"
	Version Kind = "version"
	// Time is RFC 3339, or empty where no time is known.
	Time Kind = "time"
	// Zone is the IANA name or the offset ("+02:00") of times that were read
	// without a zone. It is of the whole case.
	Zone Kind = "zone"
	// Order moves a snapshot without a time: "before:KEY" or "after:KEY".
	Order Kind = "order"
	// LeaveOut takes snapshots out of series and verdicts, Keep takes them back.
	LeaveOut Kind = "leave_out"
	Keep     Kind = "keep"
	// Series moves snapshots into another series: "into:KEY:HOST/NAME" for that of a
	// snapshot, or "host/process" for one by name.
	Series Kind = "series"
	// Happened is an event of the whole case, see EventValue. Events stand side by
	// side.
	Happened Kind = "event"
	// Load is a demand on a series, see LoadValue. Of two with one name the later
	// one holds.
	Load Kind = "load"
)

// Edit is one thing that a person said about a case. Edits are applied in the
// order of their ids; of two about one value the later one holds.
type Edit struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// By is a role, never a person's name: "owner" or "upload".
	By   string `json:"by"`
	Kind Kind   `json:"kind"`
	// Target is WholeCase or a reference to snapshots by the evidence key of one: the
	// key for that snapshot, "from:KEY" for it and those after it in its series,
	// "series:KEY:HOST/NAME" for all of its series, which is looked for by name where
	// the snapshot itself is gone.
	Target string `json:"target"`
	Value  string `json:"value"`
	Note   string `json:"note,omitempty"`
	Undone bool   `json:"undone"`
}

// Outcome is a case after its edits.
type Outcome struct {
	// Snapshots are those that count.
	Snapshots []analysis.Snapshot
	// LeftOut are the others, without their groups.
	LeftOut []analysis.Snapshot
	// Problems name the edits that match nothing any more.
	Problems []analysis.Problem
	// Effects are by Edit.ID, for every edit that is not undone.
	Effects map[int64]Effect
	// Keys are the evidence keys of all snapshots, by snapshot id.
	Keys map[string]string
	// Hosts are all host names of the case, as found and as entered.
	Hosts []string
	// Zone is that of times without one, UTC unless an edit says otherwise.
	Zone *time.Location
	// Events are what people say happened, in time order.
	Events []Event
	// Loads are the demands that people gave, by name and snapshot id; a snapshot
	// whose demand is not known is missing.
	Loads map[string]map[string]float64
}

// Effect is what became of an edit.
type Effect struct {
	// Snapshots are the ids of those it was applied to.
	Snapshots []string
	// Was is the value that the first of them had before, empty where unknown.
	Was string
	// Why says why it changed nothing, empty where it did. Harmless says that this
	// is as it should be, because something else holds instead.
	Why      string
	Harmless bool
}
