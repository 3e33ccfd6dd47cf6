package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestTheMemoryLimitLeavesRoomAboveWhatIsAlive(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name               string
		live, beside, want int64
	}{
		{"nothing is alive", 0, 2 * mb, 32 * mb},
		{"half of the limit is alive", 16 * mb, 8 * mb, 32 * mb},
		{"what lies beside fills the limit", 20 * mb, 12 * mb, 36 * mb},
		{"most of the limit is alive", 30 * mb, 8 * mb, 44 * mb},
		{"more than the limit is alive", 35 * mb, 8 * mb, 50 * mb},
		{"twice the limit is alive", 60 * mb, 8 * mb, 80 * mb},
		{"more than twice the limit is alive", 65 * mb, 8 * mb, math.MaxInt64},
		{"far more is alive", 500 * mb, 8 * mb, math.MaxInt64},
	} {
		if got := limitFor(32*mb, c.live, c.beside); got != c.want {
			t.Errorf("%s: limit %d, want %d", c.name, got, c.want)
		}
	}
}

// sink keeps allocations from being left out.
var sink []byte

func TestACaseThatIsBiggerThanTheMemoryLimitDoesNotMakeTheCollectorRunWithoutEnd(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	percent := debug.SetGCPercent(servePercent)
	defer func() {
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(percent)
	}()
	const least = 32 << 20
	f := newMemoryFollower(least, servePercent)
	f.follow()
	defer f.ended.Store(true)

	var alive [][]byte
	for range 100 {
		alive = append(alive, make([]byte, 1<<20))
	}
	runtime.GC()
	until(t, "the limit does not follow the heap up", func() bool { return debug.SetMemoryLimit(-1) > 128<<20 })
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	cycles := stats.NumGC
	for range 8_000 {
		sink = make([]byte, 64<<10) // 500 MB: a cycle for every 40
	}
	runtime.ReadMemStats(&stats)
	if n := stats.NumGC - cycles; n > 50 {
		t.Errorf("%d cycles of the collector for 500 MB beside 100 MB that are alive, want about 13", n)
	}
	runtime.KeepAlive(alive)

	alive = nil
	until(t, "the limit does not come down again", func() bool { return debug.SetMemoryLimit(-1) == least })
}

// until collects garbage until a condition holds: the limit is set beside the program.
func until(t *testing.T, otherwise string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal(otherwise)
		}
		runtime.GC()
	}
}
