package report_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// TestNestedLocksInOneOrderAreNoDeadlock reads dumps of programs that take locks within locks. In the
// chains somebody at the end sleeps and goes on, in the last of them the function of another Once. In
// the others each waits for the next one, or for itself: with six more behind one of two crossed locks,
// for goroutines that need the lock, for a second read lock behind a writer, for its own Once.
func TestNestedLocksInOneOrderAreNoDeadlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		cycles int
		want   string
	}{
		{"chain-of-one-type", 0, ""}, {"chain-held-elsewhere", 0, ""}, {"chain-of-two-types", 0, ""}, {"chain-of-three-types", 0, ""},
		{"chain-with-waiters", 0, "One dump of bank: 8 goroutines, 3 of them wait for one lock; its likely holder waits for another lock."},
		{"once-of-another", 0, "One dump of bank: 11 goroutines, 7 of them wait for one lock; its likely holder waits for another lock."},
		{"crossed", 1, "Possible deadlock in bank: goroutines 25 and 26 wait for each other."},
		{"crossed-with-waiters", 1, "Possible deadlock in bank: goroutines 24 and 25 wait for each other."},
		{"crossed-in-a-function", 1, "Possible deadlock in bank: goroutines 9 and 10 wait for each other."},
		{"crossed-onces", 1, "Possible deadlock in bank: goroutines 9 and 10 wait for each other."},
		{"wait-group-within-a-lock", 0, "5 goroutines in bank wait for one lock in main.(*Session): goroutine 8 likely holds it and waits for them, in main.init.1.func10.1 called from (*Session).Each."},
		{"read-twice-around-a-writer", 0, "1 goroutine in bank waits for one lock in main.(*Registry): goroutine 21 likely holds it and waits for it itself."},
		{"read-twice-beside-a-closure", 0, "One dump of bank: 5 goroutines."},
		{"locked-again", 0, "Possible deadlock in bank: goroutine 9 waits for a lock that it may hold itself, in (*Account).flush called from (*Account).Close."},
		{"once-again", 0, "Goroutine 8 in bank waits for a sync.Once in main.(*Config).Load: it likely runs its function, which calls Do of it again."},
		{"ring-of-three", 1, "Possible deadlock in bank: goroutines 9, 10 and 11 wait for each other."},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", "nested", c.name+".txt")
			r := built(t, []bundle.Input{{Name: "bank/goroutines.txt", Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }}}).Report
			cycles := 0
			if l := r.Series[0].Locks; l != nil {
				cycles = len(l.Cycles)
			}
			if stuck := c.cycles > 0 || strings.Contains(c.want, "likely holds it") || strings.Contains(c.want, "likely runs") || strings.Contains(c.want, "may hold itself"); stuck != (r.Diagnosis.State == "deadlock") {
				t.Errorf("the state is %s", r.Diagnosis.State)
			}
			if cycles != c.cycles || c.want != "" && r.Diagnosis.Sentence != c.want {
				t.Errorf("%d cycles, %q", cycles, r.Diagnosis.Sentence)
			}
		})
	}
}

// TestTheTypeOfALibraryNamesNoLeak: each goroutine reads its own connection, by an address of net.netFD.
func TestTheTypeOfALibraryNamesNoLeak(t *testing.T) {
	var captures []map[string]string
	for k := range 5 {
		text := "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:9 +0x1d\n"
		for i := range 4 + 6*k {
			text += fmt.Sprintf("\ngoroutine %d [IO wait]:\ninternal/poll.runtime_pollWait(0x7f00%04x, 0x72)\n\t/usr/local/go/src/runtime/netpoll.go:351 +0x85\nnet.(*netFD).Read(0xc000%04x00, {0xc000%04x40, 0x10, 0x10})\n\t/usr/local/go/src/net/fd_posix.go:68 +0x25\nmain.probe()\n\t/src/main.go:52 +0x1d\ncreated by main.check in goroutine 1\n\t/src/main.go:61 +0x5a\n", 100+i, i, i, i)
		}
		captures = append(captures, map[string]string{"app/goroutine.txt": text})
	}
	if d := every(t, captures).Diagnosis; d.Sentence != "app started 24 goroutines in main.probe and none ended." {
		t.Error(d.Sentence)
	}
}
