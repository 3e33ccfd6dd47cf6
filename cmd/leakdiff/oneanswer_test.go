package main

import (
	"encoding/json"
	"html"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"leakdiff/analysis/say/report"
)

// plainWords is a text in one line without the escapes of Markdown and Jira and without hard spaces.
func plainWords(text string) string {
	text = html.UnescapeString(strings.NewReplacer(`\`, "", "\u00a0", " ", "\u202f", " ").Replace(text))
	return strings.Join(strings.Fields(text), " ")
}

// tells reports that a form has the words of a diagnosis, or as much of them as its lines have room
// for, followed by an ellipsis.
func tells(form, words string) bool {
	if strings.Contains(form, words) {
		return true
	}
	const least = 60
	for n := len(words) - 1; n >= least; n-- {
		if utf8.RuneStart(words[n]) && (strings.Contains(form, words[:n]+"…") || strings.Contains(form, words[:n]+" …")) {
			return true
		}
	}
	return false
}

// TestEveryFormTellsTheAnswerInTheSameWords takes the words from the JSON of each case: whatever
// a word is changed to in one place, all forms must say.
func TestEveryFormTellsTheAnswerInTheSameWords(t *testing.T) {
	session, _, dir := agent(t)
	all := cases(t)
	delete(all, "okhttp-leak-supportcore") // large, and as okhttp-leak
	for _, name := range []string{"inotify-leak", "two-dumps"} {
		all["sample "+name] = filepath.Join(dir, name+".tar.gz")
	}
	for name, path := range all {
		t.Run(name, func(t *testing.T) {
			var r report.Report
			if err := json.Unmarshal([]byte(execute(t, nil, "report", "--format", "json", path).stdout), &r); err != nil {
				t.Fatal(err)
			}
			d := &r.Diagnosis
			var asked struct{ Diagnosis json.RawMessage }
			callTool(t, session, "diagnose", map[string]any{"paths": []string{path}}, &asked)
			var words []string
			collectTexts(t, asked.Diagnosis, &words)
			forms := map[string]string{"MCP": plainWords(strings.Join(words, "\n"))}
			for _, arguments := range [][]string{{"--format", "text"}, {"--verbose"}, {"--format", "ticket"}, {"--format", "ticket-jira"}, {"--format", "md"}, {"--format", "jira"}} {
				forms[strings.Join(arguments, " ")] = plainWords(execute(t, nil, append([]string{"report", path}, arguments...)...).stdout)
			}
			want := map[string]string{"sentence": d.Sentence, "proof": d.Proof, "since": d.Since, "limit": d.Limit}
			if d.Growth != nil {
				want["growing"] = d.Growth.Reason
			}
			if d.Cause != nil && d.State != "no leak" {
				want["cause"] = d.Cause.Reason
			}
			if d.Next != nil {
				want["do"] = d.Next.Text
			}
			if d.Sentence == "" || len(forms) != 7 {
				t.Fatalf("no sentence, or %d forms", len(forms))
			}
			for what, words := range want {
				words = strings.TrimSuffix(plainWords(words), ".")
				for form, text := range forms {
					if what == "limit" && form == "--format text" && strings.HasPrefix(words, "none is known") {
						continue // the screen has no line for it
					}
					if !tells(text, words) {
						t.Errorf("%s does not tell the %s %q:\n%s", form, what, words, text)
					}
				}
			}
		})
	}
}

// collectTexts adds the texts within JSON.
func collectTexts(t *testing.T, doc []byte, out *[]string) {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			*out = append(*out, v)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
}
