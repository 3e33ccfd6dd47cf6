package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// TestAddressesOfLocksAndOfWhatTheirWaitersCameThroughAreKept has a queue for one lock
// whose goroutines call from two lines, who may hold it, and one with other objects.
func TestAddressesOfLocksAndOfWhatTheirWaitersCameThroughAreKept(t *testing.T) {
	var text strings.Builder
	var waiters []int64
	for i := range 40 {
		id := 100 - i
		fmt.Fprintf(&text, "goroutine %d [sync.Mutex.Lock]:\ninternal/sync.(*Mutex).lockSlow(0xc000010000)\n\t/go/mutex.go:149 +0x1d\n"+
			"main.(*Pool).Get(0xc000020000, 0x1)\n\t/src/pool.go:%d +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1\n\n", id, 5+i%2)
		waiters = append(waiters, int64(61+i))
	}
	text.WriteString("goroutine 7 [chan send]:\nmain.(*Pool).Put(0xc000020000)\n\t/src/pool.go:30 +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:10 +0x1\n\n" +
		"goroutine 8 [select]:\nmain.(*Other).Run(0xc000030000)\n\t/src/other.go:3 +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:11 +0x1\n\n")
	s := run(t, map[string]string{"goroutine.txt": text.String()}).Snapshots[0]
	got := map[string][]analysis.Object{}
	for _, g := range s.Groups {
		if all := s.Objects[g.Family.Fingerprint]; all != nil {
			got[g.Family.Loose[0]] = all
		}
	}
	pool := analysis.Object{Address: 0xc000020000, Func: "main.(*Pool).Get", Count: 40, Members: waiters[:32]}
	lock := analysis.Object{Address: 0xc000010000, Func: "internal/sync.(*Mutex).lockSlow", Lock: true, Count: 40, Members: waiters[:32]}
	put := analysis.Object{Address: 0xc000020000, Func: "main.(*Pool).Put", Count: 1, Members: []int64{7}}
	want := map[string][]analysis.Object{"internal/sync.(*Mutex).lockSlow": {lock, pool}, "main.(*Pool).Put": {put}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALockOfGoBefore113IsTheReceiverOfItsMethod(t *testing.T) {
	s := run(t, map[string]string{"goroutine.txt": "goroutine 82238 [semacquire, 19 minutes]:\nsync.runtime_Semacquire(0xc820354f54)\n\t/usr/lib/go1.6/src/runtime/sema.go:47 +0x26\n" +
		"sync.(*Mutex).Lock(0xc820354f50)\n\t/usr/lib/go1.6/src/sync/mutex.go:83 +0x1c4\nmain.(*State).IsRunning(0xc820354f50)\n\t/src/state.go:159 +0x28\n"}).Snapshots[0]
	locks := 0
	for _, all := range s.Objects {
		for _, o := range all {
			if o.Lock {
				locks++
				if o.Address != 0xc820354f50 || o.Func != "sync.(*Mutex).Lock" {
					t.Errorf("%+v", o)
				}
			}
		}
	}
	if locks != 1 {
		t.Errorf("%d locks in %+v", locks, s.Objects)
	}
}

// TestEveryWaiterOfALockIsCountedHoweverTheDumpIsWritten has blocks longer than what is
// brought into a parser's buffer at once.
func TestEveryWaiterOfALockIsCountedHoweverTheDumpIsWritten(t *testing.T) {
	var frames, plain strings.Builder
	for i := range 90 {
		fmt.Fprintf(&frames, "example.org/deep/nested/package.(*Walker).step%d(0xc000030000, 0x%d)\n\t/srv/example.org/deep/nested/package/walker.go:%d +0x1d\n", i, i, 10+i)
	}
	const waiters = 700
	for i := range waiters {
		fmt.Fprintf(&plain, "goroutine %d [sync.Mutex.Lock, 3 minutes]:\ninternal/sync.(*Mutex).lockSlow(0xc000010000)\n\t/go/mutex.go:149 +0x1d\n%screated by main.main in goroutine 1\n\t/src/main.go:9 +0x1\n\n", 10+i, frames.String())
	}
	for name, line := range map[string]func(string) string{
		"plain":    func(line string) string { return line + "\n" },
		"CRLF":     func(line string) string { return line + "\r\n" },
		"indented": func(line string) string { return "    " + line + "\n" },
		"blanks":   func(line string) string { return strings.ReplaceAll(line, "\t", "        ") + "\n" },
		"no tabs":  func(line string) string { return strings.TrimPrefix(line, "\t") + "\n" },
		"CRI":      func(line string) string { return "2026-11-21T02:58:36.123456789Z stderr F " + line + "\n" },
		"docker": func(line string) string {
			return `{"log":"` + strings.ReplaceAll(line, "\t", `\t`) + `\n","stream":"stderr","time":"2026-11-21T02:58:36.1Z"}` + "\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for l := range strings.Lines(plain.String()) {
				text.WriteString(line(strings.TrimSuffix(l, "\n")))
			}
			s := run(t, map[string]string{"goroutine.txt": text.String()}).Snapshots[0]
			locks := 0
			for _, all := range s.Objects {
				for _, o := range all {
					if o.Lock {
						locks += o.Count
					}
				}
			}
			if locks != waiters {
				t.Errorf("%d goroutines wait for the lock, want %d", locks, waiters)
			}
		})
	}
}

// TestAWaiterBeforeALongLogIsCounted has more log lines after a goroutine than a buffer
// holds.
func TestAWaiterBeforeALongLogIsCounted(t *testing.T) {
	for _, lines := range []int{0, 600, 1600, 3000} {
		dump := "goroutine 7 [select]:\nmain.other()\n\t/src/x.go:1 +0x1\n\n"
		for i := range 3 {
			dump += fmt.Sprintf("goroutine %d [sync.Mutex.Lock, 3 minutes]:\ninternal/sync.(*Mutex).lockSlow(0xc000010000)\n\t/go/mutex.go:149 +0x1d\nmain.(*Walker).step(0xc000030000, 0x1)\n\t/srv/walker.go:10 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1\n\n", 10+i)
		}
		dump += strings.Repeat("I1121 02:58:36.123456    1234 kubelet.go:12] hello once more, and again\n", lines) + "goroutine 1 [select]:\nmain.main()\n\t/src/x.go:9 +0x1\n"
		waiting := 0
		for _, s := range run(t, map[string]string{"goroutine.txt": dump}).Snapshots {
			for _, all := range s.Objects {
				for _, o := range all {
					if o.Lock {
						waiting += o.Count
					}
				}
			}
		}
		if waiting != 3 {
			t.Errorf("before %d lines of log %d goroutines wait for the lock, want 3", lines, waiting)
		}
	}
}

func TestOnlyAWholeAddressIsTheFirstArgument(t *testing.T) {
	for line, want := range map[string]uint64{
		"sync.(*Mutex).lockSlow(0xc000012345)":    0xc000012345,
		"main.(*Pool).Get(0xC00001fFaB, 0x1, 0x2": 0xc00001ffab,
		"main.f(0xffffffffffffffff)":              1<<64 - 1,
		"main.f(0x0000000000000000c000012345)":    0xc000012345,
		"main.f(0x10000000000000000)":             0,
		"main.f(0xfff)":                           0,
		"main.f(0xc000012345?, 0x1)":              0,
		"main.f(0xc00001_2345)":                   0,
		"main.f({0xc000012345, 0x1})":             0,
		"main.f(0xc000012345":                     0,
		"main.f(0x)":                              0,
		"main.f()":                                0,
	} {
		if got, ok := firstArgument([]byte(line)); ok != (want > 0) || ok && got != want {
			t.Errorf("%s: %#x, %v, want %#x", line, got, ok, want)
		}
	}
}
