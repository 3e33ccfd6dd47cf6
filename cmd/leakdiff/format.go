package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// write prints a case in a format. Markdown, Jira markup and HTML are those of the page
// of a case in the web app.
func (r *reportCommand) write(ctx context.Context, w io.Writer, c report.Case) error {
	switch r.Format {
	case "json":
		return report.JSON(w, *c.Listed())
	case "csv":
		return report.CSV(w, *c.Listed())
	case "md", "jira":
		d := r.page(c).Document()
		d.Note(fmt.Sprintf("leakdiff %s, fingerprint g%d", c.Report.Engine.Version, c.Report.Engine.Fingerprint))
		text := d.Markdown()
		if r.Format == "jira" {
			text = d.Jira()
		}
		_, err := io.WriteString(w, text)
		return err
	case "html":
		v := r.page(c)
		engine := fmt.Sprintf("leakdiff %s · engine %d · fingerprint g%d", version, ingest.Engine, family.Version)
		v.Shell = view.Shell{Title: v.Title, Engine: engine, Standalone: true, Seal: &view.Seal{Name: "Report", Engine: engine, Redaction: "not redacted"}}
		return page.Case(v).Render(page.Alone(ctx), w)
	}
	return report.Text(w, c, report.Wide)
}

// page is the case as the web app shows it, without forms and links.
func (r *reportCommand) page(c report.Case) view.Case {
	names := make([]string, len(r.Paths))
	bundles := make([]view.BundleLine, len(r.Paths))
	for i, p := range r.Paths {
		names[i] = filepath.Base(p)
		if p == "-" {
			names[i] = "standard input"
		}
		bundles[i] = view.BundleLine{Name: names[i], Status: "done"}
	}
	return view.NewCase(view.CaseInput{Title: strings.Join(names, ", "), Report: c.Report, Bundles: bundles, More: view.MoreOf(c), Query: url.Values{"q": {r.Filter}}, Frozen: true})
}
