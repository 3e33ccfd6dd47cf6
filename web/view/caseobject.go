package view

import (
	"fmt"

	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// CaseObjects are the kinds of objects of one process.
type CaseObjects struct {
	Process string
	Rows    []CaseObject
	// MoreRows are folded behind the first. Note counts those that are not listed.
	MoreRows []CaseObject `json:",omitempty"`
	Note     string       `json:",omitempty"`
}

// CaseObject is one kind of objects.
type CaseObject struct {
	Name Func
	// Aside tells the kind from a namesake: the function of its first part.
	Aside string `json:",omitempty"`
	// URL is the page of the kind, empty on frozen pages.
	URL string
	// Each is "12 goroutines + 1 descriptor", Course "2 to 60".
	Each, Course string
	Spark        *chart.SparkData
	Born, Ended  string
	HeldBy       string
	Verdict      string
}

const (
	// maxCaseObjects is how many kinds of a process stand open, maxMoreObjects how many
	// are folded, maxObjectProcesses of how many processes.
	maxCaseObjects     = 12
	maxMoreObjects     = 48
	maxObjectProcesses = 12
)

// objects lists the kinds of objects of each process that rose, or that have several
// goroutines each.
func (m *caseMaker) objects(c *Case) {
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		group := CaseObjects{Process: named(s)}
		names := map[string]int{}
		for k := range s.Objects {
			names[s.Objects[k].Name]++
		}
		left := 0
		for k := range s.Objects {
			o := &s.Objects[k]
			if !o.Matters() {
				continue
			}
			row := m.object(s, o, fmt.Sprintf("ob-%d-%d", i, k))
			if names[o.Name] > 1 && len(o.Each) > 0 && len(o.Each[0].Roles) > 0 {
				row.Aside = "in " + Visible(o.Each[0].Roles[0].Tail())
			}
			switch {
			case len(group.Rows) < maxCaseObjects:
				group.Rows = append(group.Rows, row)
			case len(group.MoreRows) < maxMoreObjects:
				group.MoreRows = append(group.MoreRows, row)
			default:
				left++
			}
		}
		if left > 0 {
			group.Note = wording.PagePlural(int64(left), "more kind is", "more kinds are") + " in the JSON."
		}
		if len(group.Rows) > 0 && len(c.Objects) < maxObjectProcesses {
			c.Objects = append(c.Objects, group)
		}
	}
}

// objectName is the type or function that the objects are named for. One that no dump of
// goroutines shows has a name in words.
func objectName(o *report.Object) Func {
	name := Func{Name: Visible(o.Name)}
	if o.Parts() > 0 {
		name = shortFunc(o.Name)
	}
	name.Full = Visible(o.Type)
	return name
}

func (m *caseMaker) object(s *report.Series, o *report.Object, id string) CaseObject {
	row := CaseObject{
		Name: objectName(o), URL: m.live(ObjectURL(o.ID, m.in.ID, seriesKeyOf(s))), Each: Visible(o.Shape()),
		Course: report.Rises(o.Counts, m.epochs(s)), Born: "–", Ended: "–", Verdict: string(o.Verdict),
	}
	if len(o.Counts) == 1 {
		row.Verdict = "" // one dump shows what is there, not what grows
	} else {
		row.Spark = &chart.SparkData{ID: id, Labels: m.labels(s), Values: o.Counts, A: -1, B: -1, Epochs: m.restarts(s), Calm: unaccused(row.Verdict)}
	}
	if n, known := o.BornTotal(); known {
		row.Born = wording.Number(int64(n))
	}
	if n, known := o.EndedTotal(); known {
		row.Ended = wording.Number(int64(n))
	}
	if len(o.Holders) > 0 {
		row.HeldBy = Visible(o.Holders[0].Text())
	}
	return row
}

// epochs returns those of the snapshots of a series; one that the report lacks is of the epoch
// before it.
func (m *caseMaker) epochs(s *report.Series) []int {
	out := make([]int, len(s.Snapshots))
	epoch := 0
	for i, snap := range m.known(s).snapshots {
		if snap != nil {
			epoch = snap.Epoch
		}
		out[i] = epoch
	}
	return out
}

// objectLink is the page of the objects that a finding is about, nil for none.
func (m *caseMaker) objectLink(s *report.Series, f *report.Finding) *Link {
	for i := range s.Objects {
		if o := &s.Objects[i]; f.Object != "" && o.ID == f.Object {
			return &Link{Text: Visible(o.Name), URL: m.live(ObjectURL(o.ID, m.in.ID, seriesKeyOf(s)))}
		}
	}
	return nil
}
