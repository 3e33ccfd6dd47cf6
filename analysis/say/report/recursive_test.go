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

// The dumps are of a real program (go1.26.8) whose methods lock twice. In "mutex" goroutine 7
// is in Get, called by List, and 6 others wait in each. In "lookups" all others wait in Get. In
// "rwmutex" goroutine 22 reads, 23 waits to write, and 12 readers wait behind it. In
// "released" main holds the lock, and all wait in Get, called by Each, which takes no lock.
func TestAWaiterWhoseOwnStackHoldsTheLockIsItsLikelyHolder(t *testing.T) {
	for name, want := range map[string]struct{ state, sentence, holder, next string }{
		"mutex.txt": {"deadlock", "12 goroutines in store wait for one lock in main.(*Store): goroutine 7 likely holds it and waits for it itself, in (*Store).Get called from (*Store).List.",
			"likely holder: goroutine 7 in main.(*Store).Get, called by main.(*Store).List, which waits for this lock itself: its own stack is inside the object twice, others wait for the lock in (*Store).List too, and nobody else is seen inside",
			"Do not lock again: split (*Store).Get into a part that expects the lock held, and call that part in (*Store).List, or unlock before the call."},
		"rwmutex.txt": {"deadlock", "13 goroutines in store wait for one lock in main.(*Index): goroutine 22 likely holds it and waits for it itself, in (*Index).Size called from (*Index).Sum.",
			"likely holder: goroutine 22 in main.(*Index).Size, called by main.(*Index).Sum, which waits for this lock itself: its own stack is inside the object twice, others wait for the lock in (*Index).Sum too, and nobody else is seen inside",
			"Do not lock again: split (*Index).Size into a part that expects the lock held, and call that part in (*Index).Sum, or unlock before the call."},
		"lookups.txt": {"deadlock", "12 goroutines in store wait for one lock in main.(*Store): goroutine 5 may hold it and waits for it itself, in (*Store).Get called from (*Store).List.",
			"possible holder: goroutine 5 in main.(*Store).Get, called by main.(*Store).List, which waits for this lock itself: its own stack is inside the object twice, and nobody else is in its package who may hold it",
			"Do not lock again: split (*Store).Get into a part that expects the lock held, and call that part in (*Store).List, or unlock before the call."},
		"released.txt": {"one dump", "", "", ""},
	} {
		path := filepath.Join("testdata", "recursive", name)
		r := built(t, []bundle.Input{{Name: "recursive/" + name, Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }}}).Report
		d, locks := r.Diagnosis, r.Series[0].Locks
		if d.State != want.state || want.sentence != "" && d.Sentence != want.sentence {
			t.Errorf("%s: got %s, %s\nwant %s, %s", name, d.State, d.Sentence, want.state, want.sentence)
		}
		if want.next != "" && (d.Next == nil || d.Next.Text != want.next) {
			t.Errorf("%s: next is %+v", name, d.Next)
		}
		switch {
		case locks == nil || len(locks.List) != 1:
			t.Errorf("%s: %+v, want one lock", name, locks)
		case want.holder == "" && len(locks.List[0].Holders) > 0:
			t.Errorf("%s: %s, want no holder", name, locks.List[0].Text)
		case want.holder != "" && (len(locks.List[0].Holders) != 1 || locks.List[0].Holders[0].Text != want.holder || !locks.List[0].Holders[0].Recursive):
			t.Errorf("%s: %s\nwant %s", name, locks.List[0].Text, want.holder)
		}
	}
}

func TestARecursiveLockIsNamedOnlyWhereNobodyElseMayHoldIt(t *testing.T) {
	const store, other, lock = "0xc000010000", "0xc000090000", "0xc000010008"
	get := func(id int, wait string, above ...string) string {
		return goroutineText(id, "sync.Mutex.Lock"+wait, "main.serve", append(atLock(lock, "main.(*Store).Get("+store+", 0x1)"), above...)...)
	}
	list := func(id int, wait string) string {
		return goroutineText(id, "sync.Mutex.Lock"+wait, "main.serve", atLock(lock, "main.(*Store).List("+store+")")...)
	}
	inList := "main.(*Store).List(" + store + ")"
	for _, test := range []struct {
		name   string
		dump   []string
		likely bool
	}{
		{"others wait in the outer method", []string{get(7, "", inList), list(8, ""), list(9, "")}, true},
		{"the one that waits longest", []string{get(7, ", 9 minutes", inList), get(8, ", 4 minutes"), get(9, "")}, true},
		{"another waits longer", []string{get(7, ", 4 minutes", inList), get(8, ", 9 minutes"), get(9, "")}, false},
		{"no wait is known", []string{get(7, "", inList), get(8, ""), get(9, "")}, false},
		{"two of them", []string{get(7, "", inList), get(8, "", inList), list(9, "")}, false},
		{"the outer method is of another object", []string{get(7, "", "main.(*Store).List("+other+")"), list(8, ""), list(9, "")}, false},
		{"the object of the outer method may be stale", []string{get(7, "", "main.(*Store).List("+store+"?)"), list(8, ""), list(9, "")}, false},
		{"the outer method is of another type", []string{get(7, "", "main.(*Server).List("+store+")"), list(8, ""), list(9, "")}, false},
		{"another goroutine is inside", []string{goroutineText(5, "chan receive", "main.serve", "main.(*Store).Load("+store+")"), get(7, "", inList), list(8, ""), list(9, "")}, false},
	} {
		locks := locksOf(t, strings.Join(test.dump, ""))
		if locks == nil || len(locks.List) != 1 {
			t.Errorf("%s: %+v, want one lock", test.name, locks)
			continue
		}
		got := len(locks.List[0].Holders) > 0 && locks.List[0].Holders[0].Recursive && locks.List[0].Holders[0].Certainty != "possible"
		if got != test.likely {
			t.Errorf("%s: %s, want likely %v", test.name, locks.List[0].Text, test.likely)
		}
	}
}

// Five dumps in which ever more goroutines wait for a lock that one of them holds itself.
func TestARecursiveLockLeadsWhatGrowsBehindIt(t *testing.T) {
	const store, lock = "0xc000010000", "0xc000010008"
	var inputs []bundle.Input
	for i := range 5 {
		text := goroutineText(17, "sync.Mutex.Lock, 9 minutes", "main.main", atLock(lock, "main.(*Store).Get("+store+", 0x1)", "main.(*Store).List("+store+")")...)
		for k := range 22 * (i + 1) {
			text += goroutineText(100+k, "sync.Mutex.Lock, 2 minutes", "main.serve", atLock(lock, "main.(*Store).List("+store+")")...)
		}
		inputs = append(inputs, bundle.Input{Name: "app/t" + string(rune('0'+i)) + "/goroutines.txt", Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	r := built(t, inputs).Report
	const want = "110 goroutines wait for one lock in main.(*Store): goroutine 17 likely holds it and waits for it itself, in (*Store).Get called from (*Store).List."
	if got := strings.ReplaceAll(r.Diagnosis.Sentence, " in app wait", " wait"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The watchers of six dumps, 50 more in each, lie in 64 blocks of 64 MiB: some of the blocks
// have one watcher alone.
func TestAllObjectsOfALargeHeapAreInTheSentence(t *testing.T) {
	var inputs []bundle.Input
	for i := range 6 {
		var text strings.Builder
		for k := range 50 * (i + 1) {
			block, at := k*37%64, k*0x4140
			if k >= 64 {
				block = k % 32 // half of the blocks get no second one
			}
			text.WriteString(goroutineText(100+k, "select", "main.start in goroutine 1", "main.(*Watcher).run("+fmt.Sprintf("0x%x", 0xc000000000+block<<26+at)+")"))
		}
		inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("app/t%d/goroutines.txt", i), Size: int64(text.Len()), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.String())), nil }})
	}
	const want = "250 goroutines in main.(*Watcher).run were started and none ended."
	if got := built(t, inputs).Report.Diagnosis.Sentence; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
