package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadySaysWhetherAServerTakesUploads(t *testing.T) {
	running := serve(t, filepath.Join(t.TempDir(), "data"), "--no-samples")
	answering := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("it asked %s", r.URL)
			}
			w.WriteHeader(status)
			w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, c := range []struct {
		name, server string
		status       int
		want         string
	}{
		{"a server that runs", running.url, 0, "ready\n"},
		{"damaged uploads", answering(200, `{"status":"degraded","checks":[{"name":"uploads","why":"2 are damaged"}]}`), 0, "degraded\nuploads: 2 are damaged\n"},
		{"a full disk", answering(503, `{"status":"not ready","checks":[{"name":"database","ok":true},{"name":"disk","why":"uploads are refused"}]}`), 2, "takes no uploads (disk: uploads are refused)"},
		{"another program", answering(200, "hello"), 2, "not a leakdiff server"},
		{"the fault of a proxy", answering(502, `{"error":"bad gateway"}`), 2, "502 Bad Gateway"},
		{"nobody", "http://127.0.0.1:1", 2, "does not answer"},
		{"no address", "127.0.0.1", 2, "no address of a server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := execute(t, nil, "ready", "--server", c.server)
			if got.status != c.status || !strings.Contains(got.stdout+got.stderr, c.want) {
				t.Errorf("%+v, want status %d and %q", got, c.status, c.want)
			}
		})
	}
}
