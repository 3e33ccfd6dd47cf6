// Package report holds the one value that says what leakdiff found: the pages,
// the Markdown, the JSON of the command line and the frozen permalinks are all
// written from it. It takes snapshots in any order, forms the series, has the
// families judged and numbers the findings. It knows neither files nor storage,
// and draws nothing.
package report

import (
	"time"

	"leakdiff/analysis"
)

// Schema names the public JSON contract of Report; additions keep the name.
const Schema = "leakdiff.report/1"

// Report is what is known about one case.
type Report struct {
	Schema    string             `json:"schema"`
	Engine    Engine             `json:"engine"`
	Snapshots []Snapshot         `json:"snapshots"`
	Series    []Series           `json:"series"`
	Problems  []analysis.Problem `json:"problems"`
}

// Engine says what computed the report.
type Engine struct {
	Version     string `json:"version"`
	Fingerprint int    `json:"fingerprint"`
}

// Snapshot is the summary of one snapshot.
type Snapshot struct {
	ID         string          `json:"id"`
	Label      string          `json:"label"`
	Host       *string         `json:"host"`
	Process    string          `json:"process"`
	PID        *int            `json:"pid"`
	CapturedAt *time.Time      `json:"captured_at"`
	TimeSource string          `json:"time_source"`
	Epoch      int             `json:"epoch"`
	Truncated  bool            `json:"truncated"`
	LowerBound bool            `json:"lower_bound,omitempty"`
	Totals     analysis.Totals `json:"totals"`
	Artifacts  []Artifact      `json:"artifacts"`
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
	Process string  `json:"process"`
	Host    *string `json:"host"`
	// PID is given where several processes of this name live at the same time.
	PID *int `json:"pid,omitempty"`
	// Snapshots are ids in time order; every counts list has one entry for each.
	Snapshots []string  `json:"snapshots"`
	Families  []Family  `json:"families"`
	Units     []Unit    `json:"units"`
	Findings  []Finding `json:"findings"`
	// Limits say in words what the verdicts of the findings cannot exclude.
	Limits []string `json:"verdict_limits,omitempty"`
	// Quiet says in words how small a growth would have been seen where no family
	// grows; empty otherwise.
	Quiet string `json:"quiet,omitempty"`
}

// Mark is the finding's verdict in one word, or "fact".
func (f Finding) Mark() string {
	if f.Kind == FactFinding {
		return FactFinding
	}
	return string(f.Verdict)
}

// FactFinding is a finding without a family: a deadlock, a saturated client.
const FactFinding = "fact"

// Family is one family over all snapshots of its series.
type Family struct {
	Fingerprint string        `json:"fingerprint"`
	Kind        analysis.Kind `json:"kind"`
	Title       string        `json:"title"`
	// Frames are exact names, leaf first, of the most frequent variant.
	Frames      []string            `json:"frames"`
	CreatedBy   string              `json:"created_by"`
	Variants    []Variant           `json:"variants,omitempty"`
	Attributes  map[string]string   `json:"attributes"`
	States      map[string]int      `json:"states"`
	Counts      []*int              `json:"counts"`
	Verdict     analysis.Verdict    `json:"verdict"`
	RecoveredAt *string             `json:"recovered_at"`
	Evidence    []analysis.Evidence `json:"evidence"`
	Survivors   *int                `json:"survivors"`
	OldestWait  *int                `json:"oldest_wait_minutes"`
	Rise        int                 `json:"rise"`
	Unit        *string             `json:"unit"`
	Classes     []string            `json:"classes"`
	Known       []string            `json:"known"`
}

// Variant is another exact stack of a family.
type Variant struct {
	Fingerprint string   `json:"fingerprint"`
	Frames      []string `json:"frames"`
	Count       int      `json:"count"`
}

// Unit is a set of families that rise together at a constant ratio.
type Unit struct {
	ID     string             `json:"id"`
	Ratio  map[string]float64 `json:"ratio"`
	Counts []int              `json:"counts"`
}

// Finding is a sentence with figures about what grows.
type Finding struct {
	Rank int `json:"rank"`
	// Kind is FactFinding for what single snapshots prove, empty for what the
	// series shows.
	Kind     string           `json:"kind,omitempty"`
	Verdict  analysis.Verdict `json:"verdict"`
	Title    string           `json:"title"`
	Text     string           `json:"text"`
	Next     string           `json:"next,omitempty"`
	Families []string         `json:"families"`
}
