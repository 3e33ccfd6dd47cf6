package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
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

// site is what is written: files by their paths, and its cases in order.
type site struct {
	files map[string][]byte
	cases []exported
}

// exported is a case of a site: its directory, its answer, and whether it is drawn.
type exported struct {
	name, sentence string
	drawn          bool
}

func (c *exportCommand) Run(ctx context.Context, m *Main) error {
	switch present, err := os.ReadDir(c.Dir); {
	case err == nil && len(present) > 0:
		return &analysis.Fault{Code: "usage", What: "the directory of the site is not empty", Where: c.Dir, Why: "files of another site would stay between those of this one", Hint: "name a new directory, or empty it"}
	case err != nil && !os.IsNotExist(err):
		return err
	}
	known, problems, err := knowledgeIn(c.Knowledge)
	if err != nil {
		return err
	}
	out := site{files: map[string][]byte{}}
	for _, path := range c.Paths {
		if err := c.add(ctx, m, &out, path, known, problems); err != nil {
			return err
		}
	}
	redaction := map[bool]string{true: "redacted", false: "not redacted"}[c.Redact]
	var index bytes.Buffer
	if err := writePage(ctx, &index, out.index(), redaction); err != nil {
		return err
	}
	out.files["index.html"] = index.Bytes()
	for name, content := range out.files {
		name = filepath.Join(c.Dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, content, 0o644)); err != nil {
			return err
		}
	}
	fmt.Fprintf(m.Stdout, "%s in %s\n", wording.Plural(len(out.cases), "case", "cases"), filepath.Join(c.Dir, "index.html"))
	return nil
}

// nameOf is the directory of a case: the name of its path, told apart from those before it. A name may
// be that of a host, so that redacted cases are numbered.
func (c *exportCommand) nameOf(path string, before []exported) string {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	base = strings.Trim(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, base), "-")
	if base == "" || c.Redact {
		base = "case"
	}
	name := base
	for n := 2; slices.ContainsFunc(before, func(e exported) bool { return e.name == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// add reads a case and makes its files.
func (c *exportCommand) add(ctx context.Context, m *Main, to *site, path string, known *knowledge.Catalogue, problems []analysis.Problem) error {
	inputs, err := inputsOf(m, []string{path})
	if err != nil {
		return err
	}
	result, err := read(ctx, m, inputs, "reading "+filepath.Base(path))
	if err != nil {
		return err
	}
	if len(result.Snapshots) == 0 {
		return nothingRead("no dump was found in "+path, "leakdiff report says what each file is")
	}
	nameUpload(result.Snapshots, []string{path})
	built := report.Build(result.Snapshots, append(result.Problems, problems...), report.Options{Version: version, Knowledge: known})
	r := &reportCommand{Paths: []string{path}, Redact: c.Redact}
	var hide *redact.Redactor
	if c.Redact {
		names := r.names(built)
		if names.Said, err = known.OwnTexts(); err != nil {
			return err
		}
		hide = redact.New(names)
	}
	name := c.nameOf(path, to.cases)
	for file, format := range map[string]string{"index.html": "html", "report.md": "md", "ticket.md": "ticket", "report.json": "json"} {
		var content bytes.Buffer
		r.Format = format
		if err := r.write(ctx, &content, built, hide); err != nil {
			return err
		}
		to.files[name+"/"+file] = content.Bytes()
	}
	said, err := redact.Copy(hide, built.Report)
	if err != nil {
		return err
	}
	shown, err := hidden(hide, r.page(built).Page())
	if err != nil {
		return err
	}
	drawn, _ := view.ChartFile(shown, "lanes", web.DrawingStyle())
	if drawn != nil {
		to.files[name+"/lanes.svg"] = drawn
	}
	if c.Redact {
		writeReceipt(m.Stderr, hide.Receipt())
	}
	to.cases = append(to.cases, exported{name, said.Diagnosis.Sentence, drawn != nil})
	return nil
}

// index lists the cases of a site.
func (s *site) index() view.Page {
	v := view.Page{Shell: view.Shell{Here: "Cases"}}
	v.Body.Heading(1, "Cases")
	list := document.List{}
	for _, e := range s.cases {
		twins := document.Text{
			document.Plain(e.name + ": "), document.LinkTo(e.name+"/ticket.md", "for the ticket"), document.Plain(", "),
			document.LinkTo(e.name+"/report.md", "Markdown"), document.Plain(", "), document.LinkTo(e.name+"/report.json", "JSON"),
		}
		if e.drawn {
			twins = append(twins, document.Plain(", "), document.LinkTo(e.name+"/lanes.svg", "drawing"))
		}
		list.Items = append(list.Items, document.Item{Blocks: document.Blocks{
			document.Paragraph{Text: document.Text{document.LinkTo(e.name+"/index.html", view.Visible(e.sentence))}},
			document.Paragraph{Look: "note", Text: twins},
		}})
	}
	v.Body.Add(list)
	return v
}
