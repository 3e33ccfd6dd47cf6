// Package identity applies people's edits to a case's snapshots: whose evidence they
// are, when they were taken, in which order, which of them count, which events happened
// and how high the load of a program was. It takes snapshots as they were recognised
// and the edits of a case. It returns corrected copies with the effect of each edit. It
// does not know storage, pages or how anything was recognised. An edit names evidence
// and never a derived name, so that it still applies when a newer engine reads the same
// bytes again.
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
	// Time is RFC 3339, or empty if no time is known.
	Time Kind = "time"
	// Zone is the IANA name or the offset ("+02:00") of times that were read without a
	// zone. It applies to the whole case.
	Zone Kind = "zone"
	// Order moves a snapshot without a time: "before:KEY" or "after:KEY".
	Order Kind = "order"
	// LeaveOut removes snapshots from series and verdicts, Keep returns them.
	LeaveOut Kind = "leave_out"
	Keep     Kind = "keep"
	// Series moves snapshots into another series: "into:KEY:HOST/NAME" for the series
	// of a snapshot, or "host/process" for one by name.
	Series Kind = "series"
	// Happened is an event of the whole case, see EventValue. Several events may exist.
	Happened Kind = "event"
	// Counts says what the numbers of a series are of: a value of Countable.
	Counts Kind = "counts"
	// Ours says that the program of a series is the reader's own, whose code can be changed. It has
	// no value.
	Ours Kind = "ours"
	// Load is a demand on a series, see LoadValue. Of two loads with one name the later
	// one applies.
	Load Kind = "load"
)

// Alertmanager is By of the events that Alertmanager sent. They do not count for the limit of
// those that people enter.
const Alertmanager = "alertmanager"

// Edit is one correction that a person entered. Edits are applied in the order of their
// ids. Of two edits of one value the later one applies.
type Edit struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// By is a role, never a person's name: "owner" or "upload", or Alertmanager.
	By   string `json:"by"`
	Kind Kind   `json:"kind"`
	// Target is WholeCase or a reference to snapshots by the evidence key of one: the
	// key for that snapshot, "from:KEY" for it and those after it in its series,
	// "series:KEY:HOST/NAME" for its whole series. The name is used if the snapshot
	// itself is gone.
	Target string `json:"target"`
	Value  string `json:"value"`
	Note   string `json:"note,omitempty"`
	Undone bool   `json:"undone"`
}

// Outcome is a case after its edits.
type Outcome struct {
	// Snapshots are those that count.
	Snapshots []analysis.Snapshot
	// LeftOut are the other snapshots, without their groups.
	LeftOut []analysis.Snapshot
	// Problems name the edits that no longer match anything.
	Problems []analysis.Problem
	// Effects are by Edit.ID, for every edit that is not undone.
	Effects map[int64]Effect
	// Keys are the evidence keys of all snapshots, by snapshot id.
	Keys map[string]string
	// Hosts are all host names of the case, as found and as entered.
	Hosts []string
	// Zone applies to times without one. It is UTC unless an edit changes it.
	Zone *time.Location
	// Events are the entered events in time order.
	Events []Event
	// Loads are the entered demands, by name and snapshot id. A snapshot whose demand
	// is unknown is missing.
	Loads map[string]map[string]float64
}

// Effect is the result of an edit.
type Effect struct {
	// Snapshots are the ids of the changed snapshots.
	Snapshots []string
	// Was is the earlier value of the first of them, empty if unknown.
	Was string
	// Why is the reason why the edit changed nothing, or empty. Harmless reports that
	// nothing is wrong, because something else applies instead.
	Why      string
	Harmless bool
}
