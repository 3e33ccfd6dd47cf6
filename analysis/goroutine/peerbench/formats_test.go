package main

import (
	"bytes"
	"fmt"
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
	if len(s.rows) != 4 {
		t.Errorf("%d rows, want 4: fdinfo is parsed, and ingested", len(s.rows))
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
