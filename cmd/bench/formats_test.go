package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlainImplementationsCountWhatIsThere(t *testing.T) {
	rows, err := plainListing(strings.NewReader(listing(114)))
	if err != nil {
		t.Fatal(err)
	}
	// 109 of the 114 rows have a number in the FD column; cwd, rtd, txt and twice mem
	// have none.
	if rows.sum() != 109 {
		t.Errorf("%d descriptors: %v", rows.sum(), rows)
	}
	if passing, err := passingListing(strings.NewReader(listing(114))); err != nil || !maps.Equal(passing, rows) {
		t.Errorf("without keeping rows %v, %v; want %v", passing, err, rows)
	}
	archive, err := directory(40)
	if err != nil {
		t.Fatal(err)
	}
	infos, err := plainDirectory(bytes.NewReader(archive))
	if err != nil || infos["descriptors"] != 40 || infos["watches"] != 40 {
		t.Errorf("%v, %v; want 40 descriptors, and 4 watches in every fourth", infos, err)
	}
	text := threads(62)
	all, err := plainThreads(strings.NewReader(text))
	if err != nil || all["threads"] != 62 || all["frames"] != strings.Count(text, "\tat ") {
		t.Errorf("%v, %v; want 62 threads with %d frames", all, err, strings.Count(text, "\tat "))
	}
	for _, word := range threadStates {
		if n := len(regexp.MustCompile("State: "+word+`\b`).FindAllString(text, -1)); all["state "+word] != n {
			t.Errorf("%d threads are %s, want %d", all["state "+word], word, n)
		}
	}
	// Each of the 31 real threads is there twice.
	if all["groups of 2"] != 31 {
		t.Errorf("%v; want 31 groups of 2 threads", all)
	}
	if passing, err := passingThreads(strings.NewReader(text)); err != nil || !maps.Equal(passing, all) {
		t.Errorf("without keeping threads %v, %v; want %v", passing, err, all)
	}
}

func TestThreadsWhoseNamesDifferInANumberAreOneGroup(t *testing.T) {
	text := strings.Replace(threads(62), "[#1]", "[#77]", 1)
	for name, read := range map[string]func(io.Reader) (families, error){"ours": parsedThreads, "plain": plainThreads, "passing": passingThreads} {
		if got, err := read(strings.NewReader(text)); err != nil || got["groups of 2"] != 31 {
			t.Errorf("%s: %v, %v; want 31 groups of 2 threads", name, got, err)
		}
	}
}

func TestOneThreadOrRowReadOtherwiseIsNoticed(t *testing.T) {
	type reader func(io.Reader) (families, error)
	for _, tt := range []struct {
		name, text, from, to string
		ours                 reader
		plain                []reader
	}{
		{"state", threads(62), "State: BLOCKED", "State: WAITING", parsedThreads, []reader{plainThreads, passingThreads}},
		{"no state", threads(62), "State: TIMED_WAITING", "State: UNKNOWN", parsedThreads, []reader{plainThreads, passingThreads}},
		{"frame", threads(62), "\tat java.lang.Object.wait", "\tto java.lang.Object.wait", parsedThreads, []reader{plainThreads, passingThreads}},
		{"name", threads(62), `"VM Thread"`, `"VM Threads"`, parsedThreads, []reader{plainThreads, passingThreads}},
		{"function", threads(62), "\tat OkHttpLeak.main", "\tat OkHttpLeak.other", parsedThreads, []reader{plainThreads, passingThreads}},
		{"type", listing(114), " FIFO ", " sock ", parsedListing, []reader{plainListing, passingListing}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := strings.Replace(tt.text, tt.from, tt.to, 1)
			if other == tt.text {
				t.Fatalf("the text has no %q", tt.from)
			}
			for _, plain := range tt.plain {
				for _, text := range []struct {
					read   string
					differ bool
				}{{tt.text, false}, {other, true}} {
					s := &suite{size: size{rounds: 1}, out: new(bytes.Buffer)}
					err := compare(s, "x", 1, 0, func() (families, error) { return tt.ours(strings.NewReader(tt.text)) },
						func() (families, error) { return plain(strings.NewReader(text.read)) })
					if (err != nil) != text.differ {
						t.Errorf("%v; that the sides read different texts is %v", err, text.differ)
					}
				}
			}
		})
	}
}

func TestTheFormatsCountLikeThePlainImplementations(t *testing.T) {
	s := &suite{size: size{rounds: 1, rows: 500, files: 40, threads: 100}, out: new(bytes.Buffer)}
	for _, p := range parts {
		if !p.chosen("formats") {
			continue
		}
		if err := p.measure(s); err != nil {
			t.Error(err)
		}
	}
	if len(s.rows) != 7 {
		t.Errorf("%d rows, want 7: fdinfo is parsed, and ingested, the others against two plain programs, threads under names of their own, too", len(s.rows))
	}
}

func TestATableStatesWhetherTargetsAreMet(t *testing.T) {
	s := &suite{size: size{name: "test"}, out: new(bytes.Buffer)}
	s.add(row{what: "fast", ours: "2 GB/s", peer: "1 GB/s"}.judged(2, atLeast(1.5)))
	s.add(row{what: "slow"}.judged(2, atLeast(3)))
	s.add(row2("small", "5 MiB", 5, below(64, " MiB")))
	s.add(row2("large", "70 MiB", 70, below(64, " MiB")))
	s.add(row2("untold", "1", 1, target{}))
	var out strings.Builder
	s.markdown(&out)
	for _, want := range []string{
		"| fast   | 2 GB/s | 1 GB/s |       | 2×    | ≥ 1.5×   | yes |",
		"| slow   |        |        |       | 2×    | ≥ 3×     | no  |",
		"| small  | 5 MiB  |        |       |       | ≤ 64 MiB | yes |",
		"| large  | 70 MiB |        |       |       | ≤ 64 MiB | no  |",
		"| untold | 1      |        |       |       |          |     |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks\n%s\nin\n%s", want, out.String())
		}
	}
}

func TestQuantilesAndRatiosAreThoseOfTheRounds(t *testing.T) {
	var a, b series
	for i := range 100 {
		a = append(a, time.Duration(i+1)*time.Millisecond)
		b = append(b, time.Duration(i+1)*2*time.Millisecond)
	}
	slices.Reverse(a)
	slices.Reverse(b)
	got := fmt.Sprint(a.median(), a.quantile(0.99), ratio(b, a))
	if want := "51ms 100ms 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
