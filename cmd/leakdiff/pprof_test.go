package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPprofTakesDumpsOfAnAddressAndSaysWhatLeaks asks a server whose every dump has ten goroutines more.
func TestPprofTakesDumpsOfAnAddressAndSaysWhatLeaks(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/pprof/goroutine" {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("debug") == "1" {
			fmt.Fprintf(w, "goroutine profile: total %d\n1 @ 0x1\n#\t0x1\tmain.main+0x1\t/src/app/main.go:10\n", 11+10*asked)
			return
		}
		if r.URL.Query().Get("debug") != "2" {
			http.NotFound(w, r)
			return
		}
		asked++
		fmt.Fprint(w, "goroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n\n")
		for k := range 10 * asked {
			fmt.Fprintf(w, "goroutine %d [select]:\nmain.(*Job).run(0xc000200000)\n\t/src/app/job.go:51 +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/job.go:22 +0x5a\n\n", 100+k)
		}
	}))
	defer server.Close()
	var stdout, stderr bytes.Buffer
	m := &Main{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}
	if status := m.Run(t.Context(), []string{"pprof", "--every", "1s", "--count", "4", server.URL}); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if asked != 4 || !strings.Contains(stdout.String(), "30 of 30 started since t0 are still there at t3") || strings.Contains(stderr.String(), "pprof.tar.gz") {
		t.Errorf("%d dumps; %s; %s", asked, &stdout, &stderr)
	}
	for _, args := range [][]string{{"pprof", "--count", "1", server.URL}, {"pprof", "http://127.0.0.1:1"}} {
		if status := m.Run(t.Context(), args); status != exitError {
			t.Errorf("%q gave status %d", args, status)
		}
	}
}
