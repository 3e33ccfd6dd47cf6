package response

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/profile"
	"leakdiff/analysis/say/report"
	"leakdiff/web"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

const (
	HTMLType = "text/html; charset=utf-8"
	JSONType = "application/json; charset=utf-8"
)

// Suffixes are those of the twins of pages. Ids hold no dot.
var Suffixes = [...]string{".ticket.md", ".ticket.jira", ".json", ".md", ".txt", ".jira", ".csv", ".html", ".svg", ".folded", ".pb.gz"}

// Twin splits the suffix of a twin off an id.
func Twin(id string) (string, string) {
	for _, suffix := range Suffixes {
		if bare, ok := strings.CutSuffix(id, suffix); ok {
			return bare, suffix
		}
	}
	return id, ""
}

// Export is what the twins of a page are made from, except JSON.
type Export struct {
	Page view.Page
	// Kept is the page without forms and live links, nil where that is the page itself.
	Kept *view.Page
	// Shell is the frame of the file.
	Shell view.Shell
	CSV   func(io.Writer) error
	// Report is that of a case, which has a ticket, nil for other pages. Link is the address of
	// the page that the ticket names.
	Report *report.Report
	Link   string
	// Stacks are the snapshots of the page, one or A and B, nil for none.
	Stacks []*analysis.Snapshot
	// Note ends the texts. Name is for file names.
	Note, Name string
}

// TwinOf writes a twin of a page.
func (s *Responder) TwinOf(r *http.Request, suffix string, e Export) (Content, error) {
	switch suffix {
	case ".ticket.md", ".ticket.jira":
		return ticketOf(suffix, e)
	case ".md", ".txt", ".jira":
		return textOf(suffix, e), nil
	case ".html":
		return aloneOf(r.Context(), e)
	case ".svg":
		return pictureOf(e, r.URL.Query().Get("chart"))
	case ".csv":
		var b bytes.Buffer
		err := e.CSV(&b)
		return Content{Kind: "text/csv; charset=utf-8; header=present", Body: b.Bytes(), file: saveName(e.Name, suffix), saved: true}, err
	}
	if e.Stacks == nil {
		return Content{}, Refuse("not_found", "this page has no twin "+suffix, "", "only snapshots and comparisons have stacks", "open one of them and take its "+suffix)
	}
	return stacksOf(suffix, r.URL.Query().Get("kind"), e)
}

// Alone is the page without forms and live links, in another frame.
func (e *Export) Alone(shell view.Shell) templ.Component {
	v := e.Page
	if e.Kept != nil {
		v = *e.Kept
	}
	shell.Scripts, shell.Captured = v.Shell.Scripts, v.Shell.Captured
	v.Shell = shell
	return page.HTML(v)
}

// ticketOf is the answer of the page in the lines of a comment.
func ticketOf(suffix string, e Export) (Content, error) {
	if !e.HasTicket() {
		return Content{}, Refuse("not_found", "this page has no ticket", "", "only a case has an answer", "take its Markdown, "+".md")
	}
	t := report.NewTicket(e.Report)
	if suffix == ".ticket.jira" {
		return Content{Kind: "text/plain; charset=utf-8", Body: []byte(t.Jira(e.Link))}, nil
	}
	return Content{Kind: "text/markdown; charset=utf-8", Body: []byte(t.Markdown(e.Link))}, nil
}

// HasTicket reports a page with an answer. A case in which nothing was read has none.
func (e *Export) HasTicket() bool { return e.Report != nil && e.Report.Diagnosis.Sentence != "" }

// textOf is the page as text.
func textOf(suffix string, e Export) Content {
	d := e.Page.Body
	d.Blocks = slices.Clone(d.Blocks)
	d.Note(e.Note)
	return WordsOf(suffix, d)
}

// WordsOf writes a document in the form of a suffix.
func WordsOf(suffix string, d document.Document) Content {
	switch suffix {
	case ".txt":
		return Content{Kind: "text/plain; charset=utf-8", Body: []byte(d.Text())}
	case ".jira":
		return Content{Kind: "text/plain; charset=utf-8", Body: []byte(d.Jira())}
	}
	return Content{Kind: "text/markdown; charset=utf-8", Body: []byte(d.Markdown())}
}

// aloneOf is the page as one HTML file that loads and runs nothing. Its policy is in the
// file as well, for when it is opened from a disk.
func aloneOf(ctx context.Context, e Export) (Content, error) {
	shell := e.Shell
	shell.Standalone = true
	made, err := PageOf(page.Alone(ctx), e.Alone(shell))
	made.policy, made.file = page.StandalonePolicy()+"; frame-ancestors 'none'; sandbox", saveName(e.Name, ".html")
	return made, err
}

// PicturePolicy allows a drawing its own style and nothing else.
const PicturePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

func pictureOf(e Export, chart string) (Content, error) {
	file, names := view.ChartFile(e.Page, chart, web.DrawingStyle())
	if file == nil {
		why := "this page has no chart"
		if len(names) > 0 {
			why = "its charts are " + strings.Join(names[:min(len(names), 12)], ", ")
		}
		return Content{}, Refuse("not_found", "there is no such chart on this page", chart, why, "open the page and follow SVG beside the chart")
	}
	return Content{Kind: "image/svg+xml", Body: file, policy: PicturePolicy, file: saveName(e.Name+" "+chart, ".svg")}, nil
}

// stacksOf writes the stacks of one snapshot or of a pair for other tools.
func stacksOf(suffix, kind string, e Export) (Content, error) {
	k, err := StackKind(kind, e.Stacks)
	if err != nil {
		return Content{}, err
	}
	var b bytes.Buffer
	out := Content{Kind: "text/plain; charset=utf-8", file: saveName(e.Name, suffix), saved: true}
	a, z := e.Stacks[0], e.Stacks[len(e.Stacks)-1]
	switch {
	case suffix == ".folded" && len(e.Stacks) == 1:
		err = profile.Folded(&b, z, k)
	case suffix == ".folded":
		err = profile.FoldedPair(&b, a, z, k)
	case len(e.Stacks) == 1:
		err = profile.Write(&b, z, k)
	default:
		err = profile.WritePair(&b, a, z, k)
	}
	if suffix == ".pb.gz" {
		out.Kind = "application/vnd.google.protobuf+gzip"
	}
	out.Body = b.Bytes()
	return out, err
}

// StackKind is the wanted kind, or the first kind with stacks that all snapshots hold.
func StackKind(wanted string, snapshots []*analysis.Snapshot) (analysis.Kind, error) {
	for _, k := range profile.Kinds(snapshots[0]) {
		if wanted != "" && string(k) != wanted || snapshots[len(snapshots)-1].Totals.Of(k) == nil {
			continue
		}
		return k, nil
	}
	return "", Refuse("not_found", "there are no stacks to show", wanted, "neither goroutines nor threads were captured here", "take a goroutine or thread dump with the next capture")
}

// saveName is a file name that every system accepts: "kubelet t6" and ".csv" become
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

// Copied is the frame of a live page in a file, marked as a copy.
func (s *Responder) Copied(shell view.Shell) view.Shell {
	return view.Shell{Title: shell.Title, Description: "", Engine: s.Engine(), Seal: &view.Seal{Name: "Copy of a page", Engine: s.Engine(), Redaction: "not redacted"}}
}
