package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/analysis"
	"leakdiff/analysis/say/profile"
	"leakdiff/analysis/say/report"
	"leakdiff/web"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

const (
	htmlType = "text/html; charset=utf-8"
	jsonType = "application/json; charset=utf-8"
)

// suffixes are those of the twins of pages; ids hold no dot.
var suffixes = [...]string{".json", ".md", ".txt", ".jira", ".csv", ".html", ".svg", ".folded", ".pb.gz"}

// twin splits the suffix of a page's twin off an id.
func twin(id string) (string, string) {
	for _, suffix := range suffixes {
		if bare, ok := strings.CutSuffix(id, suffix); ok {
			return bare, suffix
		}
	}
	return id, ""
}

// exported is what the twins of a page are written from, other than JSON.
type exported struct {
	page view.Page
	// alone is the page without forms and live links, in a frame of the caller's.
	alone func(view.Shell) templ.Component
	// shell is the frame of the file.
	shell view.Shell
	csv   func(io.Writer) error
	// stacks are the snapshots of the page, one or A and B, nil where it is of none.
	stacks []*analysis.Snapshot
	// note stands at the end of texts, name is for files.
	note, name string
}

// twinOf writes a twin of a page.
func (s *Server) twinOf(r *http.Request, suffix string, e exported) (written, error) {
	switch suffix {
	case ".md", ".txt", ".jira":
		return textOf(suffix, e), nil
	case ".html":
		return aloneOf(r.Context(), e)
	case ".svg":
		return pictureOf(e, r.URL.Query().Get("chart"))
	case ".csv":
		var b bytes.Buffer
		err := e.csv(&b)
		return written{kind: "text/csv; charset=utf-8; header=present", body: b.Bytes(), file: saveName(e.name, suffix), saved: true}, err
	}
	if e.stacks == nil {
		return written{}, refuse("not_found", "this page has no twin "+suffix, "", "only snapshots and comparisons have stacks", "open one of them and take its "+suffix)
	}
	return stacksOf(suffix, r.URL.Query().Get("kind"), e)
}

// textOf is the page in words.
func textOf(suffix string, e exported) written {
	d := e.page.Document()
	d.Note(e.note)
	return wordsOf(suffix, d)
}

func wordsOf(suffix string, d view.Document) written {
	switch suffix {
	case ".txt":
		return written{kind: "text/plain; charset=utf-8", body: []byte(d.Text())}
	case ".jira":
		return written{kind: "text/plain; charset=utf-8", body: []byte(d.Jira())}
	}
	return written{kind: "text/markdown; charset=utf-8", body: []byte(d.Markdown())}
}

// aloneOf is the page as one file, which asks for nothing and runs nothing; its policy
// is in the file as well, for when it is opened from a disk.
func aloneOf(ctx context.Context, e exported) (written, error) {
	shell := e.shell
	shell.Standalone = true
	made, err := pageOf(page.Alone(ctx), e.alone(shell))
	made.policy, made.file = page.StandalonePolicy()+"; frame-ancestors 'none'; sandbox", saveName(e.name, ".html")
	return made, err
}

// picturePolicy lets a drawing have its own style and nothing else.
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

func pictureOf(e exported, chart string) (written, error) {
	file, names := view.ChartFile(e.page, chart, web.DrawingStyle())
	if file == nil {
		why := "this page has no chart"
		if len(names) > 0 {
			why = "its charts are " + strings.Join(names[:min(len(names), 12)], ", ")
		}
		return written{}, refuse("not_found", "there is no such chart on this page", chart, why, "open the page and follow SVG beside the chart")
	}
	return written{kind: "image/svg+xml", body: file, policy: picturePolicy, file: saveName(e.name+" "+chart, ".svg")}, nil
}

// stacksOf writes the stacks of one snapshot, or of a pair, for other tools.
func stacksOf(suffix, kind string, e exported) (written, error) {
	k, err := stackKind(kind, e.stacks)
	if err != nil {
		return written{}, err
	}
	var b bytes.Buffer
	out := written{kind: "text/plain; charset=utf-8", file: saveName(e.name, suffix), saved: true}
	a, z := e.stacks[0], e.stacks[len(e.stacks)-1]
	switch {
	case suffix == ".folded" && len(e.stacks) == 1:
		err = profile.Folded(&b, z, k)
	case suffix == ".folded":
		err = profile.FoldedPair(&b, a, z, k)
	case len(e.stacks) == 1:
		err = profile.Write(&b, z, k)
	default:
		err = profile.WritePair(&b, a, z, k)
	}
	if suffix == ".pb.gz" {
		out.kind = "application/vnd.google.protobuf+gzip"
	}
	out.body = b.Bytes()
	return out, err
}

// stackKind is the kind that was asked for, or the first with stacks that every one of
// the snapshots holds.
func stackKind(wanted string, snapshots []*analysis.Snapshot) (analysis.Kind, error) {
	for _, k := range profile.Kinds(snapshots[0]) {
		if wanted != "" && string(k) != wanted || snapshots[len(snapshots)-1].Totals.Of(k) == nil {
			continue
		}
		return k, nil
	}
	return "", refuse("not_found", "there are no stacks to show", wanted, "neither goroutines nor threads were captured here", "take a goroutine or thread dump with the next capture")
}

// saveName is a name for a file that every system takes: "kubelet t6" and ".csv" give
// "leakdiff-kubelet-t6.csv".
func saveName(name, suffix string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	for strings.Contains(plain, "--") {
		plain = strings.ReplaceAll(plain, "--", "-")
	}
	plain = strings.Trim(plain[:min(len(plain), 80)], "-.")
	return strings.Trim("leakdiff-"+plain, "-") + suffix
}

// copied is the frame of a live page in a file: it says what it is.
func (s *Server) copied(shell view.Shell) view.Shell {
	return view.Shell{Title: shell.Title, Description: "", Engine: s.engine(), Seal: &view.Seal{Name: "Copy of a page", Engine: s.engine(), Redaction: "not redacted"}}
}

// aloneCase, aloneDiff, aloneCompare, aloneFamily and aloneSnapshot put a page into another frame.
func aloneCase(v view.Case) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Case(v) }
}

func aloneDiff(v view.Diff) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Diff(v) }
}

func aloneCompare(v view.Compare) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Compare(v) }
}

func aloneFamily(v view.Family) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Family(v) }
}

func aloneFlame(v view.Flame) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Flame(v) }
}

// flameCSV is the table beside a flame graph.
func flameCSV(v view.Flame) func(io.Writer) error {
	return func(w io.Writer) error {
		if v.Chart == nil {
			return report.TableCSV(w, []string{"Function"}, nil)
		}
		return report.TableCSV(w, v.Chart.Twin.Head, v.Chart.Twin.Rows)
	}
}

func aloneSnapshot(v view.Snapshot) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Snapshot(v) }
}
