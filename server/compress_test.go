package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"leakdiff/samples"
)

// TestPagesAreSentCompressed asks as a browser does, for the largest case of the samples.
func TestPagesAreSentCompressed(t *testing.T) {
	s := newSite(t)
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	var link string
	for _, x := range all {
		if x.Name == "kubelet-probe-leak" {
			link = s.put("kubelet-probe-leak.tar.gz", x.Archive).Link
		}
	}
	if link == "" {
		t.Fatal("there is no sample of a kubelet")
	}
	for path, most := range map[string]int{link: 60 << 10, link + ".json": 62 << 10, link + ".md": 30 << 10, "/help": 30 << 10} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "127.0.0.1"
		request.Header.Set("Accept-Encoding", "gzip")
		answer, err := (&http.Transport{DisableCompression: true}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if answer.Header.Get("Content-Encoding") != "gzip" || len(wire) > most {
			t.Errorf("%s: %q, %d bytes over the wire, at most %d", path, answer.Header.Get("Content-Encoding"), len(wire), most)
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(string(wire)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if plain := s.do("GET", path, nil, "Accept-Encoding", "identity", "Host", "127.0.0.1"); err != nil || string(text) != plain.body || plain.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: what is sent compressed is not the page: %v", path, err)
		}
	}
}
