package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/template"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/store"
)

// Template writes the body of a delivery from the fields of the usual one.
type Template struct{ parsed *template.Template }

// mostTemplate bounds the file of a template in bytes.
const mostTemplate = 64 << 10

// ReadTemplate reads a template of text/template. Its data are the fields of the usual body
// under their names there; its function json writes a value as JSON, slack and jira escape a
// text for their markup. It is tried on alerts whose names hold quotes and line ends: what begins
// like JSON must be JSON then.
func ReadTemplate(path string) (*Template, error) {
	text, err := readTemplate(path)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New("alert").Option("missingkey=error").Funcs(functions).Parse(string(text))
	if err != nil {
		return nil, templateFault(path, err.Error(), "write it like docs/monitoring/slack.tmpl", err)
	}
	t := &Template{parsed}
	said := false
	for _, sample := range samples() {
		body, err := t.body(sample)
		if err != nil {
			return nil, templateFault(path, err.Error(), "the fields are those of the usual body, see docs/api.md", err)
		}
		said = said || len(body) > 0
		if len(body) > 0 && (body[0] == '{' || body[0] == '[') && !json.Valid(body) {
			return nil, templateFault(path, "what it makes of an alert whose names hold quotes is no JSON", `write each value with the function json and without quotes around it: {"text": {{json .text}}}`, nil)
		}
	}
	if !said {
		return nil, templateFault(path, "it makes nothing of any alert", "write it like docs/monitoring/slack.tmpl", nil)
	}
	return t, nil
}

// readTemplate reads the file of a template. It opens no device and no pipe, which may have no end.
func readTemplate(path string) (text []byte, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, templateFault(path, "it is no regular file", "name a file of text/template", nil)
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err == nil {
		defer file.Close()
		text, err = io.ReadAll(io.LimitReader(file, mostTemplate+1))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, templateFault(path, "there is no such file", "name a file of text/template", err)
	case err != nil:
		return nil, templateFault(path, "it cannot be read", "name a file of text/template", err)
	case len(text) > mostTemplate:
		return nil, templateFault(path, fmt.Sprintf("it is too long, the limit is %d bytes", mostTemplate), "shorten it", nil)
	}
	return text, nil
}

func templateFault(path, why, hint string, err error) error {
	return &analysis.Fault{Code: "usage", What: "the template of alerts cannot be used", Where: "--alert-template " + path, Why: why, Hint: hint, Err: err}
}

// functions make text of what a receiver would read as markup, and JSON of a value.
var functions = template.FuncMap{"json": writeJSON, "slack": slackText.Replace, "jira": document.JiraText}

// slackText escapes what Slack reads as links, mentions and entities.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func writeJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// body returns what a template makes of the usual body, without space around it.
func (t *Template) body(usual message) ([]byte, error) {
	text, err := json.Marshal(usual)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.parsed.Execute(&out, fields); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// samples are two messages to try a template on: an alert begins, with names as a hostile dump may
// have them; and it ends when no capture shows its family any more.
func samples() []message {
	at := time.Date(2026, 11, 25, 21, 10, 38, 0, time.UTC)
	began := store.Alert{
		ID: "dsample", Started: true, Fingerprint: "g1:2ec9fdcf9986297b97a1efc87069efaa", Title: "quote\" and\nline\\end", Kind: analysis.KindGoroutine,
		Hosts: 2, Named: []string{"node-\"a", "node\\b"}, At: at, Since: at,
	}
	ended := store.Alert{ID: "dsample", Fingerprint: "g1:2ec9fdcf9986297b97a1efc87069efaa", At: at.Add(time.Hour), Since: at}
	var out []message
	for base, of := range map[string]store.Alert{"https://leaks.example.org": began, "": ended} {
		out = append(out, (&Alerts{cfg: Config{BaseURL: base, Hosts: 1, Version: "1"}}).usual(of))
	}
	return out
}
