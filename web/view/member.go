package view

import (
	"net/url"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// MemberInput is the input of the page of a member through its captures.
type MemberInput struct {
	CaseID, CaseTitle string
	// SeriesKey names the series in addresses, "" for all; Name is as of report.ParseWanted.
	SeriesKey, Name string
	Following       report.Following
	Engine          string
	Frozen          bool
}

// MemberURL is the address of a member of a series, "" for one without a number.
func MemberURL(kind analysis.Kind, id analysis.Identity, caseID, series string) string {
	name := report.NameOf(kind, id)
	if name == "" {
		return ""
	}
	return "/members/" + url.PathEscape(name) + familyQuery(caseID, series)
}

// NewMember makes the page of a member through its captures: where it was, what it waited for, who
// started it and whom it started.
func NewMember(in MemberInput) Page {
	first := &in.Following.Tracks[0]
	title := Visible(first.Title())
	out := Page{Shell: Shell{Title: title, Description: title + ": " + Visible(first.Course()), Section: "cases", Engine: in.Engine}}
	out.Shell.Crumbs = []Link{{"Cases", "/"}, {Visible(in.CaseTitle), caseURL(in.CaseID)}}
	out.Shell.Here = Visible(string(first.Kind) + " " + first.Number)
	if !in.Frozen {
		out.Shell.Offer("/members/"+url.PathEscape(in.Name), familyQuery(in.CaseID, in.SeriesKey), WithoutStacks)
	}
	out.Body.Title(title)
	for i := range in.Following.Tracks {
		out.Body.Add(in.track(i)...)
	}
	return out
}

// track is where a member was in each capture of a run, and its relatives.
func (in *MemberInput) track(i int) document.Blocks {
	t := &in.Following.Tracks[i]
	id := document.ID("h-track-" + strconv.Itoa(i))
	heading := "Captures"
	if i > 0 {
		heading = Visible(t.Title()) + ", another run"
	}
	timed, waits, labelled := false, false, false
	for k := range t.Places {
		timed = timed || t.Places[k].At != nil
		waits = waits || t.Places[k].Wait != nil
		labelled = labelled || len(t.Places[k].Labels) > 0
	}
	columns := []string{"Capture"}
	if timed {
		columns = append(columns, "Time (UTC)")
	}
	columns = append(columns, "Where", "State")
	if waits {
		columns = append(columns, "Waits*")
	}
	if labelled {
		columns = append(columns, "Labels")
	}
	table := document.Table{Look: "data members", Label: "Captures", Caption: Visible(t.Title()), Head: heads(columns...), Parts: []document.Part{{}}}
	for k := range t.Places {
		table.Parts[0].Rows = append(table.Parts[0].Rows, in.place(&t.Places[k], timed, waits, labelled))
	}
	out := document.Blocks{document.NewSection(id, heading, Visible(wording.Capital(t.Course()))+".", table)}
	if t.StartedAt != nil || len(t.Parents) > 0 {
		list := document.List{Ordered: true}
		for k := range t.Parents {
			list.Items = append(list.Items, in.relative(&t.Parents[k]))
		}
		by := document.NewSection(id+"-by", "Who started it", Visible(t.Statement()))
		if len(list.Items) > 0 {
			by.Add(list)
		}
		out.Add(by)
	}
	if t.StartedTotal > 0 {
		list, note := document.List{}, ""
		for k := range t.Started {
			list.Items = append(list.Items, in.relative(&t.Started[k]))
		}
		if more := t.StartedTotal - len(t.Started); more > 0 {
			note = "The first " + strconv.Itoa(len(t.Started)) + " of " + wording.Number(int64(t.StartedTotal)) + "."
		}
		out.Add(document.NewSection(id+"-made", "It started", note, list))
	}
	return out
}

func (in *MemberInput) place(p *report.Place, timed, waits, labelled bool) document.Row {
	at, name := "", document.Plain(Visible(p.Snapshot))
	if p.At != nil {
		at = wording.Time(*p.At)
	}
	if !in.Frozen {
		name = document.LinkTo(snapshotURL(p.SnapshotID, in.CaseID), Visible(p.Snapshot))
	}
	row := document.Row{Cells: []document.Cell{{Header: true, Text: document.Text{name}}}}
	if timed {
		row.Cells = append(row.Cells, document.Cell{Name: "Time", Text: document.Words(at)})
	}
	where := document.Cell{Look: "wrap", Name: "Where", Text: document.Text{document.Marked(document.Muted, "not there")}}
	state, wait, labels := document.Cell{Name: "State"}, document.Cell{Look: "num", Name: "Waits"}, document.Cell{Look: "wrap", Name: "Labels"}
	if p.There {
		words := document.Marked(document.Literal, Visible(p.Where()))
		if !in.Frozen {
			words.URL = "/families/" + url.PathEscape(p.Fingerprint) + familyQuery(in.CaseID, in.SeriesKey)
		}
		where.Text = document.Text{words}
		state.Text = document.Words(Visible(p.State))
		if p.Wait != nil {
			wait.Text = document.Words(wording.Wait(*p.Wait))
		}
		for i, l := range p.Labels {
			if i > 0 {
				labels.Text = append(labels.Text, document.Plain(", "))
			}
			labels.Text = append(labels.Text, document.Marked(document.Literal, Visible(l.Key+"="+l.Value)))
		}
	}
	row.Cells = append(row.Cells, where, state)
	if waits {
		row.Cells = append(row.Cells, wait)
	}
	if labelled {
		row.Cells = append(row.Cells, labels)
	}
	return row
}

// relative is a goroutine with its family, which leads to its own page where a capture shows it.
func (in *MemberInput) relative(r *report.Relative) document.Item {
	name := document.Plain("goroutine " + itoa(r.ID))
	if r.Fingerprint == "" {
		return document.Item{Blocks: document.Blocks{document.Text{name, document.Marked(document.Muted, ", which no capture shows with it")}}}
	}
	if !in.Frozen {
		name = document.LinkTo(MemberURL(analysis.KindGoroutine, analysis.Identity{ID: r.ID}, in.CaseID, in.SeriesKey), name.Text)
	}
	return document.Item{Blocks: document.Blocks{document.Text{name, document.Plain(" "), document.Marked(document.Literal, Visible(r.Family)), document.Plain(" at " + Visible(r.Snapshot))}}}
}
