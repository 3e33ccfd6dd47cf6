package ingest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoroutinesBeyondTheStacksThatAreKeptStayWithAllButTheirStack(t *testing.T) {
	const most, beyond = 10_000, 25
	file := filepath.Join(t.TempDir(), "goroutine.txt")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for i := range most + beyond {
		fmt.Fprintf(w, "goroutine %d [select, %d minutes]:\nmain.call%d(0x1)\n\t/src/f.go:%d +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1\n\n", 10+i, i%90, i, i+1)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	s := only(t, file)
	if got := *s.Totals.Goroutines; got != most+beyond || len(s.Groups) != most+1 {
		t.Fatalf("%d goroutines in %d families, want %d in %d", got, len(s.Groups), most+beyond, most+1)
	}
	for _, g := range s.Groups {
		if g.Count == 1 {
			continue
		}
		if g.Family.Title != "others: too many distinct stacks" || g.Count != beyond || g.States["select"] != beyond {
			t.Errorf("%s has %d members in %v, want the %d others", g.Family.Title, g.Count, g.States, beyond)
		}
		for i := range g.Members.Len() {
			m := g.Members.At(i)
			if nth := most + i; m.Identity.ID != int64(10+nth) || m.Wait != nth%90 || m.Parent != 1 || m.Place.Length == 0 {
				t.Errorf("member %d of the others is %+v", i, m)
			}
		}
	}
	if len(s.Problems) != 1 {
		t.Errorf("got problems %v, want one that says how many stacks were not kept", s.Problems)
	}
}

func TestGoroutinesOfThousandsOfStacksAreCountedByTheirOwn(t *testing.T) {
	const stacks, rounds = 2500, 3
	var dump strings.Builder
	for i := range stacks * rounds {
		// 1,031 and 2,500 have no divisor in common: each round has every stack once.
		at := i * 1031 % stacks
		fmt.Fprintf(&dump, "goroutine %d [select]:\nmain.call%d(0x1)\n\t/src/f.go:%d +0x1d\n\n", stacks+at*rounds+i/stacks, at, at+1)
	}
	file := filepath.Join(t.TempDir(), "goroutine.txt")
	if err := os.WriteFile(file, []byte(dump.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := only(t, file)
	if len(s.Groups) != stacks {
		t.Fatalf("got %d families, want %d", len(s.Groups), stacks)
	}
	for _, g := range s.Groups {
		var at int
		if _, err := fmt.Sscanf(g.Family.Loose[0], "main.call%d", &at); err != nil || g.Members.Len() != rounds {
			t.Fatalf("%v has %d members, want %d (%v)", g.Family.Loose, g.Members.Len(), rounds, err)
		}
		for i := range rounds {
			if got, want := g.Members.At(i).Identity.ID, int64(stacks+at*rounds+i); got != want {
				t.Errorf("member %d of main.call%d is goroutine %d, want %d", i, at, got, want)
			}
		}
	}
}
