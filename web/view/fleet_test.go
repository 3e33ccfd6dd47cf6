package view

import (
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestTheTextsOfTheFleetKeepWordsApart(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 47, 0, 0, time.UTC)
	list := NewFleet(FleetInput{
		Choice: FleetChoice{Days: 30, Page: 1}, Title: "x grew most", Fresh: "1 family is new since yesterday.", Total: 1272, New: 1,
		Families: []FleetFamily{{Title: "ESTABLISHED", Kind: analysis.KindDescriptor, Hosts: 5, Unnamed: 1, Series: 6, New: true, First: at, Last: at}, {Title: "ESTABLISHED", Kind: analysis.KindDescriptor, First: at, Last: at}},
	})
	one := NewFleetFamily(FleetFamilyInput{Choice: FleetChoice{Days: 30, Page: 1}, Hosts: []FleetHost{{Host: "node-a", Process: "srvprog", First: at, Last: at}, {Host: "node-b", Verdict: "leaking", Recovered: true}, {Host: "node-c", Verdict: "leaking"}}})
	text := list.Body.Markdown() + list.Body.Jira() + one.Body.Markdown()
	for _, want := range []string{"| 5 +1 unnamed |", "new, descriptors |", "ESTABLISHED descriptors", "02:47Z since 2026", "node-a srvprog |", "| leaking, its cause went away |", "| leaking |", "|5 \\+1 unnamed|", "1 to 2 of 1272"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Show them") {
		t.Errorf("a link that a text cannot have is named:\n%s", text)
	}
}
