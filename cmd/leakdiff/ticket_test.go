package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
)

// cases are the paths of every series of the corpus.
func cases(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join(corpus.Path(t), "series")
	series, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range series {
		out[s.Name()] = filepath.Join(root, s.Name())
	}
	return out
}

// singles are dumps, listings and bundles of the corpus that are read alone.
func singles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"goroutine/public/*", "goroutine/signals/*", "threads/public/*", "descriptors/realworld/*.txt", "bundles/nomad", "bundles/promtool", "bundles/public/*"} {
		paths, err := filepath.Glob(filepath.Join(corpus.Path(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			out[filepath.ToSlash(strings.TrimPrefix(p, corpus.Path(t)))] = p
		}
	}
	return out
}

// frame is a line of a stack in a ticket.
var frame = regexp.MustCompile("(?s)```\n(.*)```\n|\\{noformat\\}\n(.*)\\{noformat\\}\n")

func TestATicketOfEachCaseIsAComment(t *testing.T) {
	for name, path := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(t, nil, "report", "--format", "json", path)
			var r report.Report
			if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
				t.Fatal(err)
			}
			for _, form := range []string{"ticket", "ticket-jira"} {
				text := execute(t, nil, "report", "--format", form, path).stdout
				stack := frame.FindString(text)
				lines := strings.Count(strings.ReplaceAll(strings.Replace(text, stack, "", 1), "\n\n", "\n"), "\n")
				least, want := 8, []string{"Proof: ", "Since: ", "Limit: ", "Cause: ", "Do: ", "Seen in: ", "Growing: "}
				if r.Diagnosis.Verdict == analysis.Saturated { // nothing grows, and the sentence is the cause
					least, want = 6, []string{"Proof: ", "Since: ", "Limit: ", "Do: ", "Seen in: "}
				}
				if lines < least || lines > 12 {
					t.Errorf("%s has %d lines, want %d to 12:\n%s", form, lines, least, text)
				}
				if n := strings.Count(stack, "\n"); n > 2+6 {
					t.Errorf("the stack of %s has %d lines, want at most 6:\n%s", form, n-2, stack)
				}
				if n := utf8.RuneCountInString(text); n >= 3000 {
					t.Errorf("%s has %d characters, want less than 3,000", form, n)
				}
				if at := 0; !inOrder(text, want, &at) {
					t.Errorf("%s lacks %q, or not in this order:\n%s", form, want[at], text)
				}
			}
			if text := execute(t, nil, "report", "--format", "ticket-jira", path).stdout; !strings.HasPrefix(text, "*"+r.Diagnosis.Sentence) {
				t.Errorf("the ticket begins with another sentence than %q:\n%s", r.Diagnosis.Sentence, text)
			}
		})
	}
}

// inOrder reports that text has the parts one behind the other; at is the first that it lacks.
func inOrder(text string, parts []string, at *int) bool {
	for i, p := range parts {
		_, rest, ok := strings.Cut(text, p)
		if !ok {
			*at = i
			return false
		}
		text = rest
	}
	return true
}

func TestATicketIsRedactedAsTheReportIs(t *testing.T) {
	t.Run("a series", func(t *testing.T) {
		path := filepath.Join(corpus.Path(t), "series", "node-agent-leak")
		if text := execute(t, nil, "report", "--format", "ticket", path).stdout; !strings.Contains(text, "127.0.0.1:42635") {
			t.Fatalf("the ticket does not name the address:\n%s", text)
		}
	})
	t.Run("a bundle", func(t *testing.T) {
		nomad := corpus.Path(t, "bundles", "public", "hotsos-kubernetes-sos-subset.tar.xz")
		open, hidden := execute(t, nil, "report", "--format", "ticket", nomad).stdout, execute(t, nil, "report", "--redact", "--format", "ticket", nomad).stdout
		if !strings.Contains(open, "10.6.1.60") || strings.Contains(hidden, "10.6.1.60") {
			t.Errorf("open:\n%s\nredacted:\n%s", open, hidden)
		}
	})
}

// dropped are wordings that say nothing to a reader, or say it in words of the program.
var dropped = []string{
	"of these at", "rise with it", "rises with it", "rises in step", "lockstep", "costs no", "culprit", "set aside", "accused", "drained backlog", "backlog that drains",
	"nothing else depends on it", "members", "survivors", "cohort", "instance of evidence", "piece of evidence", "follows from this one", "judged on what came before", "beside the proof",
	"in circulation", "hints and no proof", "every day", "growing famil", "families", "discriminating", "plumbing", "p = ", "95 %", "proven by identities", "beats the catalogue",
	"would look the same", "a single step fits", "it has 0 bytes", "there is no a ", "per snapshot", "an unnamed process", "objects objects", "/h)", " 1 goroutines",
}

func TestTheFirstScreenSpeaksPlainly(t *testing.T) {
	paths := singles(t)
	for name, path := range cases(t) {
		paths[name] = path
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r struct {
				Diagnosis json.RawMessage `json:"diagnosis"`
			}
			if err := json.Unmarshal([]byte(execute(t, nil, "report", "--format", "json", path).stdout), &r); err != nil {
				t.Fatal(err)
			}
			for what, text := range map[string]string{"diagnosis": string(r.Diagnosis), "ticket": execute(t, nil, "report", "--format", "ticket", path).stdout} {
				for _, words := range dropped {
					if strings.Contains(text, words) {
						t.Errorf("the %s says %q:\n%s", what, words, text)
					}
				}
			}
		})
	}
}
