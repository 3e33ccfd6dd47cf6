package casepage

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/loader"
	"leakdiff/web/view"
)

// Kind is a sort of page that can be frozen. A record names its kind.
type Kind struct {
	Name string
	// at begins the addresses of its pages, below follows the id in them.
	at, below string
	// load loads the page at an address.
	load func(s *Service, r *http.Request, id string, why purpose) (*loaded, error)
	// unfolds says that the page leaves out rows which it shows when they are asked for.
	unfolds bool
	// data returns a value to decode its data into.
	data func() any
	// Counts describes a page without any name, for previews in chats.
	Counts func(*loader.Loaded) string
	// Title is a title with kind and counts and without any name.
	Title func(data []byte, counts string) string
}

// Data decodes the data of a record.
func (k *Kind) Data(text []byte) (any, error) {
	out := k.data()
	return out, json.Unmarshal(text, out)
}

// CSV writes the table of a kept page with its data.
func CSV(w io.Writer, body document.Document, data any) error {
	switch d := data.(type) {
	case report.Report:
		return report.CSV(w, d)
	case *report.Report:
		return report.CSV(w, *d)
	case *OneSnapshot:
		return d.csv(w)
	case *report.Comparison:
		return d.CSV(w)
	case *report.Several:
		return d.CSV(w)
	case *report.Membership:
		return d.CSV(w)
	case *report.ObjectMembership:
		return d.CSV(w)
	case *report.Following:
		return d.CSV(w)
	}
	return flameCSV(w, body)
}

// kinds are all pages that can be frozen. A page at a longer address stands before those
// of which it is a part.
func kinds() []Kind {
	stacks := Kind{Name: "flame", below: "/" + flamePath, data: of[FlameGraph], Counts: always("The merged stacks of a process."), Title: titled("Frozen stacks of a process")}
	ofOne, ofPair := stacks, stacks
	ofOne.at, ofOne.load = "snapshots", (*Service).loadFlame
	ofPair.at, ofPair.load = "diff", (*Service).loadFlameBetween
	return []Kind{
		{Name: "case", at: "cases", load: (*Service).loadCase, data: of[report.Report], Counts: caseCounts, Title: caseTitle},
		ofOne, ofPair,
		{Name: "diff", at: "diff", unfolds: true, load: (*Service).loadDiff, data: of[report.Comparison], Counts: fromCase("Two snapshots compared"), Title: titled("Frozen comparison: 2 snapshots")},
		{Name: "compare", at: "compare", unfolds: true, load: (*Service).loadSeveral, data: of[report.Several], Counts: fromCase("Several snapshots compared"), Title: compareTitle},
		{Name: "family", at: "families", load: (*Service).loadFamily, data: of[report.Membership], Counts: fromCase("One family over time"), Title: familyTitle},
		{Name: "objects", at: "objects", load: (*Service).loadObjects, data: of[report.ObjectMembership], Counts: fromCase("One kind of objects over time"), Title: titled("Frozen objects")},
		{Name: "member", at: "members", load: (*Service).loadMember, data: of[report.Following], Counts: fromCase("One member of a process over time"), Title: titled("Frozen member of a process")},
		{Name: "snapshot", at: "snapshots", load: (*Service).loadSnapshot, data: of[OneSnapshot], Counts: always("One snapshot of a process."), Title: titled("Frozen snapshot of a process")},
	}
}

func of[Data any]() any { return new(Data) }

// KindNamed returns the kind of a record.
func KindNamed(name string) (Kind, error) {
	for _, k := range kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("a frozen record has the unknown kind %q", name)
}

// kindAt returns the kind of the page at a path, with the id in it.
func kindAt(path string) (k Kind, id string, ok bool) {
	at, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for _, k := range kinds() {
		if id, fits := strings.CutSuffix(rest, k.below); fits && k.at == at && !strings.Contains(id, "/") {
			return k, id, true
		}
	}
	return Kind{}, "", false
}

func always(text string) func(*loader.Loaded) string {
	return func(*loader.Loaded) string { return text }
}

func fromCase(what string) func(*loader.Loaded) string {
	return func(l *loader.Loaded) string { return what + ", from a case with the verdict " + verdictOf(l) + "." }
}

func caseCounts(l *loader.Loaded) string {
	return fmt.Sprintf("%s of %s, verdict %s.", wording.PagePlural(int64(len(l.Built.Report.Snapshots)), "snapshot", "snapshots"), wording.PagePlural(int64(len(l.Built.Report.Series)), "process", "processes"), verdictOf(l))
}

func verdictOf(l *loader.Loaded) string {
	return strings.ReplaceAll(string(l.Built.Summary().Verdict), "_", " ")
}

func titled(text string) func([]byte, string) string {
	return func([]byte, string) string { return text }
}

// caseTitle takes the counts of caseCounts: "Frozen case: 9 snapshots of 2 processes".
func caseTitle(_ []byte, counts string) string {
	if counts, _, ok := strings.Cut(counts, ", verdict "); ok {
		return "Frozen case: " + counts
	}
	return "Frozen case"
}

func compareTitle(data []byte, _ string) string {
	var d struct{ Snapshots []json.RawMessage }
	if err := json.Unmarshal(data, &d); err != nil || len(d.Snapshots) == 0 {
		return "Frozen comparison"
	}
	return "Frozen comparison: " + wording.PagePlural(int64(len(d.Snapshots)), "snapshot", "snapshots")
}

func familyTitle(data []byte, _ string) string {
	var d struct{ Counts []json.RawMessage }
	if err := json.Unmarshal(data, &d); err != nil || len(d.Counts) == 0 {
		return "Frozen family"
	}
	return "Frozen family: over " + wording.PagePlural(int64(len(d.Counts)), "snapshot", "snapshots")
}

// flameCSV writes the table beside a flame graph.
func flameCSV(w io.Writer, body document.Document) error {
	head, rows := view.FlameTable(body)
	return report.TableCSV(w, head, rows)
}
