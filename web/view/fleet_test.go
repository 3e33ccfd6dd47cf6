package view

import (
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
)

func TestTheTextsOfTheFleetKeepWordsApart(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 47, 0, 0, time.UTC)
	list := NewFleet(FleetInput{
		Choice: FleetChoice{Days: 30, Page: 1}, Title: "x grew most", Fresh: "1 family is new since yesterday.", Total: 1272, New: 1,
		Families: 2, Things: []FleetThing{
			{Words: "Inotify instances", Called: true, Growth: 86, First: at, Last: at, Families: []FleetFamily{{Title: "inotify instance with no watch", Growth: 42}, {Title: "inotify instance with one watch", Growth: 44}}},
			{Words: "Descriptors", Families: []FleetFamily{{Title: "ESTABLISHED", Kind: analysis.KindDescriptor}}, Hosts: 5, Unnamed: 1, Series: 6, New: true, First: at, Last: at},
		},
		Heat: FleetHeat{Days: []time.Time{at, at.AddDate(0, 0, 1)}, Things: []HeatThing{{Words: "Inotify instances", More: 2, Hosts: []HeatHost{{Host: "node-a", Growth: []int{86, 0}}, {Growth: []int{0, 3}}}}}},
	})
	one := NewFleetFamily(FleetFamilyInput{Choice: FleetChoice{Days: 30, Page: 1}, Hosts: []FleetHost{{Host: "node-a", Process: "srvprog", First: at, Last: at}, {Host: "node-b", Verdict: "leaking", Recovered: true}, {Host: "node-c", Verdict: "leaking"}}})
	text := list.Body.Markdown() + list.Body.Jira() + one.Body.Markdown()
	for _, want := range []string{"| 5 +1 unnamed |", "new, descriptors |", "| Inotify instances inotify instance with no watch +42, inotify instance with one watch +44 |", "Inotify instances and on 2 other hosts", "node-a | +86 | 0 |", "| no host name | 0 | +3 |", "02:47Z since 2026", "node-a srvprog |", "| leaking, its cause went away |", "| leaking |", "|5 \\+1 unnamed|", "1 to 2 of 1272"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Show them") {
		t.Errorf("a link that a text cannot have is named:\n%s", text)
	}
}

func TestGroupsThatDidNotGrowAreFoldedWhereNobodySearches(t *testing.T) {
	in := FleetInput{Choice: FleetChoice{Days: 30}, Things: []FleetThing{{Growth: 3, Families: make([]FleetFamily, 1)}, {Families: make([]FleetFamily, 1)}, {Growth: -1, Families: make([]FleetFamily, 1)}}}
	if got := in.tables(); len(got) != 2 || got[1].(document.Fold).Summary[0].Text != "2\u00a0groups that did not grow" {
		t.Errorf("want one table and one fold: %+v", got)
	}
	for name, change := range map[string]func(*FleetInput){
		"words are searched for": func(in *FleetInput) { in.Choice.Text = "pool" },
		"hosts order the list":   func(in *FleetInput) { in.Choice.Sort = "hosts" },
		"none grew":              func(in *FleetInput) { in.Things = in.Things[1:] },
		"all grew":               func(in *FleetInput) { in.Things = in.Things[:1] },
	} {
		other := in
		if change(&other); len(other.tables()) != 1 {
			t.Errorf("%s: want one table", name)
		}
	}
}
