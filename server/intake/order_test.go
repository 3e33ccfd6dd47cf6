package intake

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/store"
)

// TestSendersTakeTurnsAndSmallUploadsGoFirst works off a queue in the order that it chooses.
func TestSendersTakeTurnsAndSmallUploadsGoFirst(t *testing.T) {
	const large, small = 50 << 20, 1000
	type upload struct {
		sender string
		size   int64
	}
	for _, tt := range []struct {
		name  string
		quick bool
		queue []upload
		want  string
	}{
		{"one sender, large ones by age", false, []upload{{"a", large}, {"a", 2 * large}, {"a", large}}, "0 1 2"},
		{"one sender, a small one among large ones", false, []upload{{"a", large}, {"a", large}, {"a", small}}, "2 0 1"},
		{"small ones by age", false, []upload{{"a", 3 * small}, {"a", small}, {"a", 2 * small}}, "0 1 2"},
		{"a large one waits until its own bytes have passed", false, []upload{{"a", 2 << 20}, {"a", 1 << 20}, {"a", 1<<20 - 1}, {"a", small}, {"a", small}}, "1 2 3 0 4"},
		{"one that just fits waits no longer", false, []upload{{"a", 2 << 20}, {"a", 1 << 20}, {"a", 1 << 20}, {"a", small}}, "1 2 0 3"},
		{"what another sender sends passes nobody", false, []upload{{"a", 2 << 20}, {"b", 1 << 20}, {"a", 1 << 20}, {"b", 1 << 20}, {"a", small}}, "1 2 3 4 0"},
		{"another sender behind many", false, []upload{{"a", large}, {"a", large}, {"a", large}, {"b", large}}, "0 3 1 2"},
		{"three senders", false, []upload{{"a", large}, {"a", large}, {"b", large}, {"b", large}, {"c", large}}, "0 2 4 1 3"},
		{"large ones are none of the quick worker", true, []upload{{"a", large}, {"a", small}, {"b", large}}, "1"},
		{"one that took long is none either", true, []upload{{"long", small}, {"a", small}}, "1"},
		{"one without a sender takes turns like others", false, []upload{{"", large}, {"", large}, {"b", large}}, "0 2 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := NewQueue(nil)
			var queued []store.QueuedJob
			for i, u := range tt.queue {
				id := fmt.Sprint(i)
				queued = append(queued, store.QueuedJob{ID: id, BundleID: id, Size: u.size})
				q.from(id, u.sender)
				if u.sender == "long" {
					q.tookLong(id)
				}
			}
			var got []string
			for len(queued) > 0 {
				at := q.choose(tt.quick, queued)
				if at < 0 {
					break
				}
				got = append(got, queued[at].ID)
				queued = append(queued[:at:at], queued[at+1:]...)
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("read in the order %s, want %s", got, tt.want)
			}
		})
	}
}

func TestASenderWithARunningBundleWaitsForOneWithout(t *testing.T) {
	q := NewQueue(nil)
	q.from("running", "a")
	q.begin(store.Job{BundleID: "running"}, func(error) {})
	q.from("first", "a")
	q.from("second", "b")
	queued := []store.QueuedJob{{ID: "1", BundleID: "first", Size: 1}, {ID: "2", BundleID: "second", Size: 50 << 20}}
	if at := q.choose(false, queued); at != 1 {
		t.Errorf("the upload %d is read first", at)
	}
	q.end("running")
	q.choose(false, nil)
	if n := q.waitingOf("a") + len(q.order.served); n != 0 {
		t.Errorf("%d senders are remembered that have nothing to be read", n)
	}
}
