package object_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/object"
)

// open are descriptors of one family: from number First on, with an inode each.
type open struct {
	attributes map[string]string
	first, n   int
	// shared is how many descriptors in a row have one inode, 0 for 1.
	shared int
	// waited is how many of them, the first ones, a goroutine waits for.
	waited int
}

// opened is a snapshot with descriptors, and with goroutines that wait for some of them.
// calls are goroutines in a system call, unpaired those that wait for a descriptor nobody
// knows.
func opened(i, calls, unpaired int, pairs bool, all ...open) *analysis.Snapshot {
	s := &analysis.Snapshot{ID: fmt.Sprint("s", i), Label: fmt.Sprint("t", i), CapturedAt: time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC)}
	waiting := unpaired
	for k, o := range all {
		g := analysis.Group{Family: &analysis.Family{Fingerprint: fmt.Sprint("d1:", k), Kind: analysis.KindDescriptor, Attributes: o.attributes}, Count: o.n, OldestWait: -1}
		for n := range o.n {
			g.Members.Fill().ID = append(g.Members.Fill().ID, int64(o.first+n))
			g.Members.Fill().Sub = append(g.Members.Fill().Sub, int64(1_000_000*k+(o.first+n)/max(1, o.shared)))
			if n < o.waited {
				waiting++
				if pairs {
					s.Pairs = append(s.Pairs, analysis.Pair{Goroutine: int64(100 + waiting), FD: o.first + n})
				}
			}
		}
		if o.n > 0 {
			s.Groups = append(s.Groups, g)
		}
	}
	s.Groups = append(s.Groups, analysis.Group{
		Family: &analysis.Family{Fingerprint: "g1:1", Kind: analysis.KindGoroutine}, Count: waiting + calls, OldestWait: -1,
		States: map[string]int{"IO wait": waiting, "syscall": calls},
	})
	return s
}

func TestDescriptorsThatNobodyHoldsAndThatGrow(t *testing.T) {
	fifo, pipe, file := map[string]string{"type": "FIFO"}, map[string]string{"type": "pipe"}, map[string]string{"type": "file"}
	tcp, listener := map[string]string{"protocol": "TCP", "role": "client"}, open{map[string]string{"type": "listener"}, 3, 1, 0, 1}
	inotify, epoll := map[string]string{"type": "anon_inode", "name": "inotify"}, map[string]string{"type": "anon_inode", "name": "eventpoll"}
	for _, tt := range []struct {
		name string
		// of are the descriptors beside a listener, for n things.
		of func(n int) []open
		// calls are goroutines in a system call, unpaired those without a pair.
		calls, unpaired func(n int) int
		noPairs         bool
		want            []string
	}{
		{"FIFOs that nobody reads", func(n int) []open { return []open{{fifo, 1000, n, 0, 0}} }, nil, nil, false, []string{"FIFO 10 20 30 40 50, 40 born, 0 ended"}},
		{"connections of which the first are read", func(n int) []open { return []open{{tcp, 1000, n, 0, 8}} }, nil, nil, false, []string{"TCP connection 2 12 22 32 42, 40 born, 0 ended"}},
		{"inotify instances", func(n int) []open { return []open{{inotify, 1000, n, 0, 0}} }, nil, nil, false, []string{"inotify instance 10 20 30 40 50, 40 born, 0 ended"}},
		{"no pairs", func(n int) []open { return []open{{fifo, 1000, n, 0, 0}} }, nil, nil, true, nil},
		{"FIFOs that goroutines read", func(n int) []open { return []open{{fifo, 1000, n, 0, n}} }, nil, nil, false, nil},
		{"both ends of pipes of which one is read", func(n int) []open {
			return []open{{pipe, 1000, 2 * n, 2, 0}, {pipe, 90000, 0, 0, 0}}
		}, nil, nil, false, []string{"end of a pipe 20 40 60 80 100, 80 born, 0 ended"}},
		{"as many all the time", func(int) []open { return []open{{fifo, 1000, 500, 0, 0}} }, nil, nil, false, nil},
		{"files and what nobody waits for", func(n int) []open { return []open{{file, 1000, n, 0, 0}, {epoll, 5000, n, 0, 0}} }, nil, nil, false, nil},
		{"standard streams", func(n int) []open { return []open{{fifo, 0, 3, 0, 0}} }, nil, nil, false, nil},
		{"goroutines in a system call can read them", func(n int) []open { return []open{{inotify, 1000, n, 0, 0}} }, func(n int) int { return n }, nil, false, nil},
		{"goroutines of which the descriptors are not known", func(n int) []open { return []open{{tcp, 1000, n, 0, 0}} }, nil, func(n int) int { return n }, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []*analysis.Snapshot
			for i, n := range []int{10, 20, 30, 40, 50} {
				calls, unpaired := 0, 0
				if tt.calls != nil {
					calls = tt.calls(n)
				}
				if tt.unpaired != nil {
					unpaired = tt.unpaired(n)
				}
				all = append(all, opened(i, calls, unpaired, !tt.noPairs, append(tt.of(n), listener)...))
			}
			var got []string
			for _, o := range object.FindOrphans(all, make([]int, len(all))) {
				text := o.Sort.One
				for _, n := range o.Counts {
					text += fmt.Sprint(" ", n.N)
				}
				born, ended := 0, 0
				for i := 1; i < len(all); i++ {
					born, ended = born+o.Born[i].N, ended+o.Ended[i].N
				}
				got = append(got, fmt.Sprintf("%s, %d born, %d ended", text, born, ended))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTheOtherEndOfAPipeThatIsReadIsHeld has a reader for one end of each pipe.
func TestTheOtherEndOfAPipeThatIsReadIsHeld(t *testing.T) {
	var all []*analysis.Snapshot
	for i, n := range []int{10, 20, 30, 40, 50} {
		s := opened(i, 0, 0, true, open{map[string]string{"type": "pipe"}, 1000, 2 * n, 2, 0})
		for k := range n {
			s.Pairs = append(s.Pairs, analysis.Pair{Goroutine: int64(k), FD: 1000 + 2*k})
		}
		all = append(all, s)
	}
	if got := object.FindOrphans(all, make([]int, len(all))); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}
