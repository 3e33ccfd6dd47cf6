package casepage

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// Kind is a sort of page that can be frozen. A record names its kind; everything that a
// record is opened and described with stands in the kind.
type Kind struct {
	Name string
	// at begins the addresses of its pages, below follows the id in them.
	at, below string
	// freeze makes the page at an address: its model, its data and its sentence.
	freeze func(s *Service, r *http.Request, id string) (View, *loader.Loaded, error)
	// Open decodes a record to the page with its twins.
	Open func(model, data []byte) (response.Export, error)
	// Empty returns values to decode a record into.
	Empty func() (model, data any)
	// Counts describes a page without any name, for previews in chats.
	Counts func(*loader.Loaded) string
	// Title is a title with kind and counts and without any name.
	Title func(data []byte, counts string) string
}

// frozen completes a kind by the types of its record. They are stored: a field of theirs
// keeps its name for ever.
func frozen[Page view.Page, Data any](k Kind, export func(Page, Data) response.Export) Kind {
	k.Empty = func() (model, data any) { return new(Page), new(Data) }
	k.Open = func(model, data []byte) (response.Export, error) {
		var v Page
		var d Data
		err := json.Unmarshal(model, &v)
		if err == nil {
			err = json.Unmarshal(data, &d)
		}
		e := export(v, d)
		e.Page = v
		return e, err
	}
	return k
}

// kinds are all pages that can be frozen. A page at a longer address stands before those
// of which it is a part.
func kinds() []Kind {
	flame := func(w view.Flame, _ FlameGraph) response.Export {
		return response.Export{Alone: AloneFlame(w), CSV: FlameCSV(w)}
	}
	stacks := Kind{Name: "flame", below: "/" + flamePath, Counts: always("The merged stacks of a process."), Title: titled("Frozen stacks of a process")}
	ofOne, ofPair := stacks, stacks
	ofOne.at, ofOne.freeze = "snapshots", (*Service).freezeFlame
	ofPair.at, ofPair.freeze = "diff", (*Service).freezeFlameBetween
	return []Kind{
		frozen(Kind{Name: "case", at: "cases", freeze: (*Service).freezeCase, Counts: caseCounts, Title: caseTitle},
			func(v view.Case, r report.Report) response.Export {
				return response.Export{Alone: AloneCase(v), CSV: func(w io.Writer) error { return report.CSV(w, r) }, Report: &r}
			}),
		frozen(ofOne, flame),
		frozen(ofPair, flame),
		frozen(Kind{Name: "diff", at: "diff", freeze: (*Service).freezeDiff, Counts: fromCase("Two snapshots compared"), Title: titled("Frozen comparison: 2 snapshots")},
			func(v view.Diff, c report.Comparison) response.Export {
				return response.Export{Alone: AloneDiff(v), CSV: c.CSV}
			}),
		frozen(Kind{Name: "compare", at: "compare", freeze: (*Service).freezeSeveral, Counts: fromCase("Several snapshots compared"), Title: compareTitle},
			func(v view.Compare, c report.Several) response.Export {
				return response.Export{Alone: AloneCompare(v), CSV: c.CSV}
			}),
		frozen(Kind{Name: "family", at: "families", freeze: (*Service).freezeFamily, Counts: fromCase("One family over time"), Title: familyTitle},
			func(v view.Family, m report.Membership) response.Export {
				return response.Export{Alone: AloneFamily(v), CSV: m.CSV}
			}),
		frozen(Kind{Name: "objects", at: "objects", freeze: (*Service).freezeObjects, Counts: fromCase("One kind of objects over time"), Title: titled("Frozen objects")},
			func(v view.Object, m report.ObjectMembership) response.Export {
				return response.Export{Alone: AloneObject(v), CSV: m.CSV}
			}),
		frozen(Kind{Name: "snapshot", at: "snapshots", freeze: (*Service).freezeSnapshot, Counts: always("One snapshot of a process."), Title: titled("Frozen snapshot of a process")},
			func(v view.Snapshot, r report.Report) response.Export {
				return response.Export{Alone: AloneSnapshot(v), CSV: func(w io.Writer) error {
					id := ""
					if len(r.Snapshots) > 0 {
						id = r.Snapshots[0].ID
					}
					return report.SnapshotCSV(w, r, id)
				}}
			}),
	}
}

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
		if id, fits := strings.CutSuffix(rest, k.below); fits && k.at == at {
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

// AloneCase renders the page in another frame.
func AloneCase(v view.Case) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Case(v) }
}

// AloneDiff renders the page in another frame.
func AloneDiff(v view.Diff) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Written(v.Written()) }
}

// AloneCompare renders the page in another frame.
func AloneCompare(v view.Compare) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Written(v.Written()) }
}

// AloneFamily renders the page in another frame.
func AloneFamily(v view.Family) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Family(v) }
}

// AloneFlame renders the page in another frame.
func AloneFlame(v view.Flame) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Flame(v) }
}

// FlameCSV writes the table beside a flame graph.
func FlameCSV(v view.Flame) func(io.Writer) error {
	return func(w io.Writer) error {
		if v.Chart == nil {
			return report.TableCSV(w, []string{"Function"}, nil)
		}
		return report.TableCSV(w, v.Chart.Twin.Head, v.Chart.Twin.Rows)
	}
}

// AloneSnapshot renders the page in another frame.
func AloneSnapshot(v view.Snapshot) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Written(v.Written()) }
}

// AloneObject renders the page in another frame.
func AloneObject(v view.Object) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Object(v) }
}
