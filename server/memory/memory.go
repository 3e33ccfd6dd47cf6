// Package memory admits work that holds much of it: reading a bundle, judging a case,
// answering a request with the members of a case. Work asks with an estimate before it
// reads, and gives back when nothing of it is held any more.
package memory

import (
	"context"

	"golang.org/x/sync/semaphore"
)

const (
	// Reading is what the reading of a bundle takes at most.
	Reading = 64 << 20
	// rest is that of the program, of values that are kept between requests and of small work.
	rest = 80 << 20
	// smallWork does not wait for large work. smallRoom is for all of it, which is part of rest.
	smallWork, smallRoom = 4 << 20, 16 << 20
	// leastWork is the estimate of work that holds next to nothing.
	leastWork = 256 << 10
)

// Gate lets work in while its estimates fit, in the order of arrival. Small work has room of
// its own. The nil Gate lets everything in.
type Gate struct {
	small, large *semaphore.Weighted
	room         int64
}

// New returns the gate of a server that stays within a number of bytes.
func New(bytes int64) *Gate {
	room := max(bytes-rest, Reading)
	return &Gate{small: semaphore.NewWeighted(smallRoom), large: semaphore.NewWeighted(room), room: room}
}

// Readings is how many bundles can be read at once, at least 1.
func (g *Gate) Readings() int { return int(g.room / Reading) }

// Enter waits until an estimate of bytes fits. Work that is estimated at more than all room
// is let in alone. leave gives the room back; it is not nil. The error is that of ctx.
func (g *Gate) Enter(ctx context.Context, bytes int64) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	room, bytes := g.of(bytes)
	if err := room.Acquire(ctx, bytes); err != nil {
		return func() {}, err
	}
	return func() { room.Release(bytes) }, nil
}

// EnterAlso is Enter for work that is inside already and needs more: it does not wait, because
// others who wait for it to leave may hold what it waits for. What does not fit is not counted.
func (g *Gate) EnterAlso(bytes int64) (leave func(), fits bool) {
	if g == nil {
		return func() {}, true
	}
	room, bytes := g.of(bytes)
	if !room.TryAcquire(bytes) {
		return func() {}, false
	}
	return func() { room.Release(bytes) }, true
}

func (g *Gate) of(bytes int64) (*semaphore.Weighted, int64) {
	if bytes <= smallWork {
		return g.small, max(bytes, leastWork)
	}
	return g.large, min(bytes, g.room)
}
