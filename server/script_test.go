package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestTheScriptThatCapturesIsServedAsItIs(t *testing.T) {
	const script = "#!/bin/sh\necho capture\n"
	s := startSite(t, openStore(t), Config{Script: []byte(script)})
	got := s.get("/collect.sh")
	if got.status != http.StatusOK || got.body != script {
		t.Fatalf("status %d, body %q", got.status, got.body)
	}
	for name, want := range map[string]string{"Content-Type": "text/x-shellscript; charset=utf-8", "X-Content-Type-Options": "nosniff"} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
		}
	}
	tag := got.header.Get("ETag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		t.Fatalf("ETag %q is not strong", tag)
	}
	if again := s.do("GET", "/collect.sh", nil, "If-None-Match", tag); again.status != http.StatusNotModified || again.body != "" {
		t.Errorf("with its ETag: status %d, %d bytes", again.status, len(again.body))
	}
	if none := newSite(t).get("/collect.sh"); none.status != http.StatusNotFound {
		t.Errorf("without a script: status %d", none.status)
	}
}
