package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"leakdiff/analysis/family"
	"leakdiff/analysis/ingest"
	"leakdiff/analysis/report"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// write prints a case in a format. Jira markup and HTML are those of the page of a
// case in the web app.
func (r *reportCommand) write(ctx context.Context, w io.Writer, c report.Case) error {
	switch r.Format {
	case "json":
		return report.JSON(w, *c.Listed())
	case "csv":
		return report.CSV(w, *c.Listed())
	case "md":
		return report.Markdown(w, c)
	case "jira":
		_, err := io.WriteString(w, r.page(c).Jira())
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
	for i, p := range r.Paths {
		names[i] = filepath.Base(p)
		if p == "-" {
			names[i] = "standard input"
		}
	}
	return view.NewCase(view.CaseInput{Title: strings.Join(names, ", "), Report: c.Report, More: view.MoreOf(c), Query: url.Values{"q": {r.Filter}}, Frozen: true})
}
