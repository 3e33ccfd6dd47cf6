package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

// testdata/dropped.txt lists wordings that no output has any more. What was frozen before
// keeps them.
func TestDroppedWordsAreSaidNowhere(t *testing.T) {
	text, err := os.ReadFile("testdata/dropped.txt")
	if err != nil {
		t.Fatal(err)
	}
	dropped := strings.Split(strings.ToLower(strings.TrimSpace(string(text))), "\n")
	var targets []string
	for _, name := range []string{"kubelet-probe-leak", "inotify-leak", "two-dumps"} {
		_, file := sampleReport(t, name)
		targets = append(targets, file)
	}
	for _, name := range []string{"clientgo-informer-recreate", "node-agent-leak", "okhttp-leak", "prometheus-hanging-targets", "restart"} {
		targets = append(targets, corpus.Path(t, "series", name))
	}
	for _, target := range targets {
		for _, arguments := range [][]string{{"--verbose"}, {"--format", "md"}, {"--format", "html"}, {"--format", "json"}, {"--format", "ticket"}} {
			var out bytes.Buffer
			m := &Main{Stdout: &out, Stderr: &out}
			if status := m.Run(t.Context(), append(append([]string{"report"}, arguments...), target)); status != exitDone {
				t.Fatalf("%s: status %d: %s", target, status, out.String())
			}
			said := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(out.String(), "\\", "")), " "))
			for _, words := range dropped {
				if at := strings.Index(said, words); at >= 0 {
					t.Errorf("%s %s says %q: …%s…", target, strings.Join(arguments, " "), words, said[max(0, at-60):min(len(said), at+80)])
				}
			}
		}
	}
}
