package ingest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
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
