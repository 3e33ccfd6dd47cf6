package view

import (
	"math"
	"time"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// FleetHeat is by how much the first things grew, by host and day.
type FleetHeat struct {
	Days   []time.Time
	Things []HeatThing
}

// HeatThing is a thing on the hosts where it grew most. More counts the others.
type HeatThing struct {
	Words, URL string
	Hosts      []HeatHost
	More       int
}

// HeatHost is a host with the growth of each day. Host is empty for captures that name none.
type HeatHost struct {
	Host   string
	Growth []int
}

// Total adds up the days.
func (h *HeatHost) Total() int {
	n := 0
	for _, x := range h.Growth {
		n += x
	}
	return n
}

// section is the table of hosts and days, or nothing without growth.
func (h *FleetHeat) section() document.Blocks {
	if len(h.Things) == 0 {
		return nil
	}
	table := document.Table{Look: "data heat", Label: "Table of hosts and days", Caption: "Growth of what grew most, by host and day", Numeric: 1, Head: []document.Cell{{Words: "Host"}}}
	for _, day := range h.Days {
		table.Head = append(table.Head, document.Cell{Words: day.Format("2 Jan"), Title: day.Format(time.DateOnly), Look: document.Figured})
	}
	most := 1
	for _, x := range h.Things {
		for _, host := range x.Hosts {
			for _, n := range host.Growth {
				most = max(most, n)
			}
		}
	}
	for _, x := range h.Things {
		name := document.Text{document.LinkTo(x.URL, Visible(x.Words))}
		if x.More > 0 {
			name = append(name, document.Plain(" "), document.Marked("sub", "and on "+wording.Plain(x.More, "other host", "other hosts")))
		}
		part := document.Part{Rows: []document.Row{{Look: "plain", Cells: []document.Cell{{Group: true, Span: 1 + len(h.Days), Text: name}}}}}
		for i := range x.Hosts {
			part.Rows = append(part.Rows, x.Hosts[i].row(most))
		}
		table.Parts = append(table.Parts, part)
	}
	return document.Blocks{document.NewSection("heat", "Hosts by day", "On each day that was captured, against the captured day before.", table)}
}

func (h *HeatHost) row(most int) document.Row {
	name := Visible(h.Host)
	if name == "" {
		name = "no host name"
	}
	row := document.Row{Cells: []document.Cell{{Header: true, Words: name}}}
	for _, n := range h.Growth {
		cell := document.Cell{Look: "num", Text: document.Text{document.Marked(document.Muted, "0")}}
		if n > 0 {
			cell = document.Cell{Look: document.Look("num heat-" + string(rune('1'+heat(n, most)))), Words: wording.Signed(n)}
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// heats is the number of shades.
const heats = 4

// heat is the shade of a growth of which the largest is most, by its digits: 0 to 3.
func heat(n, most int) int {
	return int(math.Round((heats - 1) * math.Log1p(float64(n)) / math.Log1p(float64(most))))
}
