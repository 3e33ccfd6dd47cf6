package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNoFormatPrintsWhatATerminalObeys(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)
	for i := range 6 {
		var b strings.Builder
		for id := range 20 * (i + 1) {
			fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\nmain.\x1b[31mwait()\n\t/src/\x1b[31mm\u202e.go:5 +0x1\ncreated by main.\x9bserve\n\t/src/\x1b]0;x\x07made.go:9 +0x2\n\n", id+10, 5*i+1)
		}
		name := filepath.Join(dir, "shop\x1b[31m-"+start.Add(time.Duration(i)*5*time.Minute).Format("2006-01-02T15-04-05Z")+".txt")
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"text", "md", "json", "html", "csv", "jira", "ticket", "ticket-jira", "sarif", "junit"} {
		t.Run(format, func(t *testing.T) {
			got := execute(t, nil, "report", "--format", format, dir)
			places := format != "csv" && format != "sarif" && format != "junit" // the others have no files
			if got.status != exitDone || !strings.Contains(got.stdout, "wait") || !strings.Contains(got.stdout, "made.go") && places {
				t.Errorf("status %d: %.2000s%s", got.status, got.stdout, got.stderr)
			}
			for _, raw := range []string{"\x1b", "\x07", "\u202e", "\x9b[", "\u009b"} {
				if raw == "\u202e" && format == "json" {
					continue // a value for programs, which escape nothing twice
				}
				if at := strings.Index(got.stdout+got.stderr, raw); at >= 0 {
					all := got.stdout + got.stderr
					t.Errorf("%q: %q", raw, all[max(0, at-200):min(len(all), at+100)])
				}
			}
		})
	}
}
