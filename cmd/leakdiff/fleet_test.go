package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFleetPrintsWhatAServerRanks pushes the three dumps of dumpsDir from a named host, with
// 4, 8 and 12 goroutines in main.leak.
func TestFleetPrintsWhatAServerRanks(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--no-samples")
	dir := dumpsDir(t)
	for i, name := range []string{"t0", "t1", "t2"} {
		at := time.Now().UTC().Add(time.Duration(i-4) * time.Hour).Format(time.RFC3339)
		for file, text := range map[string]string{"captured_at": at, "hostname": "node-17"} {
			if err := os.WriteFile(filepath.Join(dir, name, file), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := execute(t, nil, "push", "--server", s.url, dir); got.status != 0 {
		t.Fatalf("%+v", got)
	}
	got := execute(t, nil, "fleet", "--server", s.url+"/", "--format", "json")
	var answer struct {
		Families []struct{ Fingerprint, Title string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &answer); err != nil || len(answer.Families) == 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	leak := answer.Families[0].Fingerprint
	for _, c := range []struct {
		name        string
		args        []string
		want, never []string
		status      int
	}{
		{"families by growth", nil, []string{"grew most: +8 on 1 host.", "GROWTH", leak}, nil, 0},
		{"families by hosts", []string{"--sort", "hosts"}, []string{"are on most hosts: 1."}, nil, 0},
		{"new ones", []string{"--new"}, []string{"1 group is new since yesterday", leak}, nil, 0},
		{"words of nothing", []string{"--find", "nowhere"}, []string{"No group fits"}, []string{leak, "GROWTH"}, 0},
		{"one family", []string{leak}, []string{"grew by 8 on 1 host", "node-17", "+8"}, []string{"differs"}, 0},
		{"a family of nobody", []string{"g1:none"}, []string{"no host shows this family", "--days 365"}, nil, 2},
		{"types of objects, of which the dumps have none", []string{"--kind", "object"}, []string{"No object type fits", "No object type is new"}, []string{leak, "GROWTH"}, 0},
		{"a kind that there is not", []string{"--kind", "socket"}, []string{"there is no such kind"}, nil, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := execute(t, nil, append([]string{"fleet", "--server", s.url}, c.args...)...)
			if got.status != c.status {
				t.Errorf("status %d", got.status)
			}
			text := got.stdout + got.stderr
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in\n%s", want, text)
				}
			}
			for _, never := range c.never {
				if strings.Contains(text, never) {
					t.Errorf("%q is in\n%s", never, text)
				}
			}
		})
	}
	if got := execute(t, nil, "fleet", "--server", "127.0.0.1"); got.status != 2 || !strings.Contains(got.stderr, "no address of a server") {
		t.Errorf("%+v", got)
	}
}
