package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// A memoryFollower moves the runtime's memory limit with the heap. A dump on its way
// into the store is kept near a fixed limit; what lives honestly beside it or beyond it,
// the cases of pages for one, would make the collector run without end below a limit
// that does not leave it room.
type memoryFollower struct {
	// least is the limit in bytes while little is alive.
	least int64
	set   int64
	// percent is by how much the heap may grow where there is no limit, in percent; 0 where
	// it is not ours to say.
	percent int
	// ended says that no further cycle is followed.
	ended   atomic.Bool
	samples [5]metrics.Sample
}

// followMemory sets the limit after each cycle of the collector so that it leaves room
// above what that cycle found alive, and to least where that is little. GOMEMLIMIT
// overrules it. Below a limit the heap may grow up to it, and else by percent, which GOGC
// overrules.
func followMemory(least int64, percent int) {
	if os.Getenv("GOGC") != "" {
		percent = 0
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		newMemoryFollower(least, percent).follow()
	}
}

// freely is the percentage below a limit: a small heap that grows is not collected at
// every megabyte.
const freely = 400

func newMemoryFollower(least int64, percent int) *memoryFollower {
	f := &memoryFollower{least: least, percent: percent}
	for i, name := range []string{
		"/gc/heap/live:bytes", "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/objects:bytes",
	} {
		f.samples[i].Name = name
	}
	f.limit(least)
	return f
}

// cycle is garbage as soon as it is made, so that its finalizer runs after each cycle
// of the collector. It holds a pointer: tiny objects without are freed in blocks.
type cycle struct{ *memoryFollower }

func (f *memoryFollower) follow() {
	runtime.SetFinalizer(&cycle{f}, func(c *cycle) {
		if c.ended.Load() {
			return
		}
		c.limit(c.next())
		c.follow()
	})
}

// next is the limit for what is alive now.
func (f *memoryFollower) next() int64 {
	metrics.Read(f.samples[:])
	of := func(i int) int64 { return int64(f.samples[i].Value.Uint64()) }
	// What the limit counts beside objects: stacks, spans, gaps between objects.
	beside := of(1) - of(2) - of(3) - of(4)
	return limitFor(f.least, of(0), beside)
}

// limitFor leaves room for a fifth more than is alive. Where more than twice the least
// limit is alive, as the cases of pages are, the percentage decides when to collect.
func limitFor(least, live, beside int64) int64 {
	if live > 2*least {
		return math.MaxInt64
	}
	return max(least, live+live/5+beside)
}

// limit tells the runtime, which stops the world for that: not of small changes.
func (f *memoryFollower) limit(bytes int64) {
	if bytes == f.set || bytes > f.least && bytes < math.MaxInt64 && max(bytes-f.set, f.set-bytes) < f.least/32 {
		return
	}
	if f.percent > 0 && (f.set == 0 || (bytes == math.MaxInt64) != (f.set == math.MaxInt64)) {
		percent := f.percent
		if bytes < math.MaxInt64 {
			percent = freely
		}
		debug.SetGCPercent(percent)
	}
	f.set = bytes
	debug.SetMemoryLimit(bytes)
}
