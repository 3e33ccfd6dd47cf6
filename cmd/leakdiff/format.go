package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/gate"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// write prints a case in a format. If hide is not nil, it replaces the names that hide
// knows. Markdown, Jira markup and HTML are those of the page of a case in the web app.
func (r *reportCommand) write(ctx context.Context, w io.Writer, c report.Case, hide *redact.Redactor) error {
	switch r.Format {
	case "json", "csv":
		listed, err := redact.Copy(hide, *c.Listed())
		if err != nil {
			return err
		}
		if r.Format == "csv" {
			return report.CSV(w, listed)
		}
		return report.IndentedJSON(w, listed)
	case "sarif", "junit":
		all, err := redact.Copy(hide, c.Report)
		if err != nil {
			return err
		}
		if r.Format == "sarif" {
			return gate.SARIF(w, all.Gate, version, r.places(), r.accused())
		}
		return gate.JUnit(w, all.Gate, &all, r.pipelineVerdicts())
	case "md", "jira", "html":
		v, err := hidden(hide, r.page(c).Page())
		if err != nil {
			return err
		}
		redaction := "not redacted"
		if hide != nil {
			redaction = redact.Sum(hide.Receipt())
		}
		if r.Format == "html" {
			held, err := r.held(c, hide)
			if err != nil {
				return err
			}
			if held != nil {
				v.Body.Blocks = append(document.Blocks{document.Group{Look: "waits", Blocks: gate.Document(held, r.accused()).Blocks}}, v.Body.Blocks...)
			}
			return writePage(ctx, w, v, redaction)
		}
		if err := r.writeGate(w, c, hide); err != nil {
			return err
		}
		return r.writeWords(w, v, redaction)
	case "ticket", "ticket-jira":
		t, err := redact.Copy(hide, report.NewTicket(&c.Report))
		if err == nil {
			err = r.writeGate(w, c, hide)
		}
		if err != nil {
			return err
		}
		text := t.Markdown("")
		if r.Format == "ticket-jira" {
			text = t.Jira("")
		}
		_, err = io.WriteString(w, text)
		return err
	}
	redacted, err := c.Redacted(hide)
	if err == nil {
		err = r.writeGate(w, c, hide)
	}
	if err != nil {
		return err
	}
	how := report.Terminal{Top: r.Top, Color: r.color}
	if !r.Verbose {
		return report.Text(w, redacted, how)
	}
	v, err := hidden(hide, r.page(c).Page())
	if err != nil {
		return err
	}
	v.Body.Add(redacted.Report.Starts(r.source)...)
	_, err = fmt.Fprintf(w, "%s\n\n%s", report.StateLine(&redacted.Report, how), v.Body.Text())
	return err
}

// held is what the report was held against, nil for nothing.
func (r *reportCommand) held(c report.Case, hide *redact.Redactor) (*report.Gate, error) {
	if c.Report.Gate == nil {
		return nil, nil
	}
	out, err := redact.Copy(hide, *c.Report.Gate)
	return &out, err
}

// writeGate prints what counts in front of the answer, if the report is held against anything.
func (r *reportCommand) writeGate(w io.Writer, c report.Case, hide *redact.Redactor) error {
	held, err := r.held(c, hide)
	if held == nil || err != nil {
		return err
	}
	d := gate.Document(held, r.accused())
	text := ""
	switch r.Format {
	case "md", "ticket":
		text = d.Markdown()
	case "jira", "ticket-jira":
		text = d.Jira()
	default:
		text = gate.Text(held, r.accused())
	}
	if text != "" {
		_, err = io.WriteString(w, text+"\n")
	}
	return err
}

// pipelineVerdicts are what fails in a report of tests: those of --fail-on, or what accuses.
func (r *reportCommand) pipelineVerdicts() []analysis.Verdict {
	if verdicts := r.accused(); verdicts != nil {
		return verdicts
	}
	return failsOn["suspicious"]
}

// hidden is a page in which a redactor has replaced secrets, and the page itself without one.
func hidden(r *redact.Redactor, v view.Page) (view.Page, error) {
	if r == nil {
		return v, nil
	}
	text, err := page.Keep(v.Body)
	if err == nil {
		v.Body, err = page.Kept(text)
	}
	r.Value(&v.Body)
	v.Shell.Here = r.Text(v.Shell.Here)
	return v, err
}

// writePage prints the page as one file.
func writePage(ctx context.Context, w io.Writer, v view.Page, redaction string) error {
	engine := fmt.Sprintf("leakdiff %s · engine %d · fingerprint g%d", version, ingest.Engine, family.Version)
	v.Shell = view.Shell{Title: v.Shell.Here, Engine: engine, Standalone: true, Seal: &view.Seal{Name: "Report", Engine: engine, Redaction: redaction}}
	return page.HTML(v).Render(page.Alone(ctx), w)
}

// writeWords prints the page as Markdown or Jira markup.
func (r *reportCommand) writeWords(w io.Writer, v view.Page, redaction string) error {
	d := v.Body
	note := fmt.Sprintf("leakdiff %s, fingerprint g%d", version, family.Version)
	if r.Redact {
		note += ", " + redaction
	}
	d.Note(note)
	text := d.Markdown()
	if r.Format == "jira" {
		text = d.Jira()
	}
	_, err := io.WriteString(w, text)
	return err
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
	return view.NewCase(view.CaseInput{Title: wording.Commas(names, len(names)), Report: c.Report, Bundles: bundles, More: view.MoreOf(c.Said(), c.Members), Query: url.Values{"q": {r.Filter}}, Frozen: true})
}
