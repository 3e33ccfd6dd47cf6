package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web"
	"leakdiff/web/view"
)

type exportCommand struct {
	Dir       string   `arg:"" name:"dir" help:"The directory of the site, which is new or empty."`
	Paths     []string `arg:"" name:"path" help:"Files, directories and archives, each of them a case."`
	Redact    bool     `help:"Replace names of hosts, users and pods, addresses, paths, secrets and the like by pseudonyms, and say on standard error what was replaced."`
	Knowledge string   `help:"Directory with own knowledge files, *.json, that add to the catalogue or replace its entries." type:"path"`
}

// Help stands below the flags in the help of the command.
func (*exportCommand) Help() string {
	return `Writes a site that needs no server: index.html lists the cases, and each has a page, its drawing (lanes.svg), and the twins report.md, ticket.md and report.json. Open index.html, or copy the directory to where files are served.

Exit status: 0 done, 2 error, or a case holds no dump.

Examples:
  leakdiff export site monday.tar.gz tuesday.tar.gz
  leakdiff export --redact public incident/`
}

// exported is a case of a site: its directory and its answer.
type exported struct{ name, sentence string }

func (c *exportCommand) Run(ctx context.Context, m *Main) error {
	switch present, err := os.ReadDir(c.Dir); {
	case err == nil && len(present) > 0:
		return &analysis.Fault{Code: "usage", What: "the directory of the site is not empty", Where: c.Dir, Why: "files of another site would stay between those of this one", Hint: "name a new directory, or empty it"}
	case err != nil && !os.IsNotExist(err):
		return err
	}
	var all []exported
	taken := map[string]bool{"index.html": true}
	for _, path := range c.Paths {
		name := siteName(path, taken)
		sentence, err := c.one(ctx, m, path, filepath.Join(c.Dir, name))
		if err != nil {
			return err
		}
		all = append(all, exported{name, sentence})
	}
	if err := writeFile(filepath.Join(c.Dir, "index.html"), func(w *bytes.Buffer) error { return writePage(ctx, w, siteIndex(all), c.redaction(nil)) }); err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "%s in %s\n", wording.Plural(len(all), "case", "cases"), filepath.Join(c.Dir, "index.html"))
	return nil
}

// siteName is the directory of a case: the name of its path, told apart from those before it.
func siteName(path string, taken map[string]bool) string {
	base := filepath.Base(path)
	base, _, _ = strings.Cut(base, ".")
	base = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, base)
	base = strings.Trim(base, "-")
	if base == "" {
		base = "case"
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[name] = true
	return name
}

func (c *exportCommand) redaction(hide *redact.Redactor) string {
	switch {
	case hide != nil:
		return redact.Sum(hide.Receipt())
	case c.Redact:
		return "redacted"
	}
	return "not redacted"
}

// one writes the files of a case, and returns its answer.
func (c *exportCommand) one(ctx context.Context, m *Main, path, dir string) (string, error) {
	inputs, err := inputsOf(m, []string{path})
	if err != nil {
		return "", err
	}
	known, problems, err := knowledgeIn(c.Knowledge)
	if err != nil {
		return "", err
	}
	result, err := read(ctx, m, inputs, "reading "+filepath.Base(path))
	if err != nil {
		return "", err
	}
	if len(result.Snapshots) == 0 {
		return "", nothingRead("no dump was found in "+path, "leakdiff report says what each file is")
	}
	nameUpload(result.Snapshots, []string{path})
	built := report.Build(result.Snapshots, append(result.Problems, problems...), report.Options{Version: version, Knowledge: known})
	r := &reportCommand{Paths: []string{path}, Redact: c.Redact}
	var hide *redact.Redactor
	if c.Redact {
		names := r.names(built)
		if names.Said, err = known.OwnTexts(); err != nil {
			return "", err
		}
		hide = redact.New(names)
	}
	for name, format := range map[string]string{"index.html": "html", "report.md": "md", "ticket.md": "ticket", "report.json": "json"} {
		r.Format = format
		if err := writeFile(filepath.Join(dir, name), func(w *bytes.Buffer) error { return r.write(ctx, w, built, hide) }); err != nil {
			return "", err
		}
	}
	said, err := redact.Copy(hide, built.Report)
	if err != nil {
		return "", err
	}
	shown, err := hidden(hide, r.page(built).Page())
	if err != nil {
		return "", err
	}
	if drawn, _ := view.ChartFile(shown, "lanes", web.DrawingStyle()); drawn != nil {
		if err := os.WriteFile(filepath.Join(dir, "lanes.svg"), drawn, 0o644); err != nil {
			return "", err
		}
	}
	if c.Redact {
		writeReceipt(m.Stderr, hide.Receipt())
	}
	return said.Diagnosis.Sentence, nil
}

// siteIndex lists the cases of a site.
func siteIndex(all []exported) view.Page {
	v := view.Page{Shell: view.Shell{Here: "Cases"}}
	v.Body.Heading(1, "Cases")
	list := document.List{}
	for _, e := range all {
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{
			document.Paragraph{Text: document.Text{document.LinkTo(e.name+"/index.html", view.Visible(e.sentence))}},
			document.Paragraph{Look: "note", Text: document.Text{
				document.Plain(e.name + ": "), document.LinkTo(e.name+"/ticket.md", "for the ticket"), document.Plain(", "),
				document.LinkTo(e.name+"/report.md", "Markdown"), document.Plain(", "), document.LinkTo(e.name+"/report.json", "JSON"), document.Plain(", "),
				document.LinkTo(e.name+"/lanes.svg", "drawing"),
			}},
		}})
	}
	v.Body.Add(list)
	return v
}

// writeFile writes what fill makes into a file, whose directory it makes.
func writeFile(name string, fill func(*bytes.Buffer) error) error {
	var out bytes.Buffer
	if err := fill(&out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}
