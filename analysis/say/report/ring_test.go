package report_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

// The dumps are of real programs (go1.26.8), optimised and not. Truth is in their sources: abba
// locks Account then Ledger and the other way, abbaone two Accounts in both orders, rwreentry
// reads twice around a writer, oncerec enters its Once in the function of the Once. hcontend and
// hrw are under contention and go on. # stands for the id that the dump gives the holder.
func TestOneDumpNamesTheDeadlocksOfRealProgramsAndNoContention(t *testing.T) {
	type program struct {
		sentence string
		ids      [2]string // optimised and not
	}
	for name, want := range map[string]program{
		"abba":      {"Possible deadlock in abba: goroutines # wait for each other.", [2]string{"19 and 20", "7 and 8"}},
		"abbaone":   {"Possible deadlock in abbaone: goroutines # wait for each other.", [2]string{"5 and 6", "7 and 8"}},
		"rwreentry": {"6 goroutines in rwreentry wait for one lock in main.(*Catalog): goroutine # likely holds it and waits for it itself.", [2]string{"20", "5"}},
		"oncerec":   {"4 goroutines in oncerec wait for one sync.Once in main.(*Config).Get: goroutine # likely runs its function, which calls Do of it again.", [2]string{"7", "19"}},
		"hcontend":  {},
		"hrw":       {},
	} {
		for i, compiled := range []string{"opt", "noopt"} {
			path := filepath.Join("testdata", "deadlock", name+"-"+compiled+".txt")
			d := built(t, []bundle.Input{{Name: name + ".txt", Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }}}).Report.Diagnosis
			sentence := strings.Replace(want.sentence, "#", want.ids[i], 1)
			if (d.State == "deadlock") != (sentence != "") || sentence != "" && d.Sentence != sentence {
				t.Errorf("%s, %s: %s\ngot  %s\nwant %s", name, compiled, d.State, d.Sentence, sentence)
			}
		}
	}
}

// A deadlock is no matter of growth: the lines below it do not say what rise would have been seen.
func TestTheScreenOfADeadlockSaysNothingOfGrowth(t *testing.T) {
	for name, want := range map[string]bool{"abbaone-opt": false, "rwreentry-opt": false, "hrw-opt": true} {
		var inputs []bundle.Input
		for i := range 4 {
			path := filepath.Join("testdata", "deadlock", name+".txt")
			inputs = append(inputs, bundle.Input{Name: "app/t" + string(rune('0'+i)) + "/goroutines.txt", Size: -1, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
		}
		c := built(t, inputs)
		if out := printed(t, c, report.Terminal{}); strings.Contains(out, "a rise of") != want {
			t.Errorf("%s: the screen speaks of growth %v, want %v:\n%s", name, !want, want, out)
		}
	}
}

// likelyRecursive reports whether the first lock of a dump likely is held by a goroutine that waits
// for it itself.
func likelyRecursive(t *testing.T, dump []string) bool {
	t.Helper()
	locks := locksOf(t, strings.Join(dump, ""))
	if locks == nil || len(locks.List) == 0 {
		t.Fatalf("no lock in %s", dump)
	}
	holders := locks.List[0].Holders
	return len(holders) > 0 && holders[0].Recursive && holders[0].Certainty != "possible"
}

func TestAHolderIsAtMost128IdsYoungerThanTheFirstWaiter(t *testing.T) {
	const store, lock = "0xc000010000", "0xc000010008"
	for _, test := range []struct {
		name  string
		wait  string
		id    int
		named bool
	}{
		{"128 ids younger", "", 138, true},
		{"129 ids younger", "", 139, false},
		{"one id younger, where minutes are printed", ", 2 minutes", 11, false},
		{"one id older, where minutes are printed", ", 2 minutes", 9, true},
	} {
		text := goroutineText(test.id, "chan send", "main.serve", "main.send(...)", "main.(*Store).Load("+store+")")
		for _, id := range []int{10, 200, 201} {
			text += goroutineText(id, "sync.Mutex.Lock"+test.wait, "main.serve", atLock(lock, "main.(*Store).Get("+store+")")...)
		}
		holders := locksOf(t, text).List[0].Holders
		if got := len(holders) == 1 && holders[0].ID == int64(test.id); got != test.named {
			t.Errorf("%s: %+v, want it named %v", test.name, holders, test.named)
		}
	}
}

func TestAReadLockIsTakenTwiceWhereAWriterWaitsAndNobodyElseIsInside(t *testing.T) {
	const store, other, lock = "0xc000010000", "0xc000090000", "0xc000010008"
	reader := func(id int, state string, above ...string) string {
		return goroutineText(id, state, "main.serve", append([]string{"sync.runtime_SemacquireRWMutexR(0x0?, 0x0?, 0x0?)", "sync.(*RWMutex).RLock(" + lock + ")", "main.(*Store).Get(" + store + ")"}, above...)...)
	}
	writer := goroutineText(8, "sync.RWMutex.Lock", "main.serve", "sync.runtime_SemacquireRWMutex(0x0?, 0x0?, 0x0?)", "sync.(*RWMutex).Lock("+lock+")", "main.(*Store).Set("+store+")")
	const waits, sum = "sync.RWMutex.RLock", "main.(*Store).Sum(" + store + ")"
	for _, test := range []struct {
		name   string
		dump   []string
		likely bool
	}{
		{"a writer waits", []string{reader(7, waits, sum), writer, reader(9, waits)}, true},
		{"only readers wait", []string{reader(7, waits, sum), reader(8, waits), reader(9, waits)}, false},
		{"the outer method is of another object", []string{reader(7, waits, "main.(*Store).Sum("+other+")"), writer, reader(9, waits)}, false},
		{"no outer method", []string{reader(7, waits), writer, reader(9, waits)}, false},
		{"the reader was just woken", []string{reader(7, "runnable", sum), writer, reader(9, waits)}, false},
		{"a much younger one is inside", []string{goroutineText(5000, "runnable", "main.serve", "main.(*Store).Size("+store+")"), reader(7, waits, sum), writer, reader(9, waits)}, false},
		{"a much younger one is inside another object", []string{goroutineText(5000, "runnable", "main.serve", "main.(*Store).Size("+other+")"), reader(7, waits, sum), writer, reader(9, waits)}, true},
	} {
		if got := likelyRecursive(t, test.dump); got != test.likely {
			t.Errorf("%s: likely %v, want %v", test.name, got, test.likely)
		}
	}
}

func TestAOnceIsEnteredAgainWhereNobodyElseRunsTheFunctionOfOne(t *testing.T) {
	const do = "sync.(*Once).doSlow(0x0?, 0xc000070000)"
	waits := func(id int, state string, above ...string) string {
		return goroutineText(id, state, "main.serve", append(atLock("0xc000010008", do, "sync.(*Once).Do(...)", "main.(*Config).Get(...)"), above...)...)
	}
	const lock = "sync.Mutex.Lock"
	again := []string{"main.(*Config).load(...)", do, "sync.(*Once).Do(...)", "main.(*Config).Get(...)"}
	plain := []string{"main.load(...)", do, "sync.(*Once).Do(...)", "main.get(...)"}
	for _, test := range []struct {
		name   string
		dump   []string
		likely bool
	}{
		{"a method", []string{waits(7, lock, again...), waits(8, lock), waits(9, lock)}, true},
		{"a function", []string{waits(7, lock, plain...), waits(8, lock), waits(9, lock)}, true},
		{"nobody runs the function", []string{waits(7, lock), waits(8, lock), waits(9, lock)}, false},
		{"another runs the function of a Once", []string{waits(7, lock, again...), waits(8, lock), waits(9, lock), goroutineText(20, "IO wait", "main.serve", "main.(*Child).load(...)", do)}, false},
		{"another runs the function of a Once and waits for a lock", []string{waits(7, lock, again...), waits(8, lock), waits(9, lock), goroutineText(20, lock, "main.serve", atLock("0xc000020000", "main.(*Child).load(...)", do)...)}, false},
		{"two wait within the function of a Once", []string{waits(7, lock, again...), waits(8, lock, again...), waits(9, lock)}, false},
		{"it was just woken", []string{waits(7, "runnable", again...), waits(8, lock), waits(9, lock)}, false},
		{"the dump hides a stack", []string{waits(7, lock, again...), waits(8, lock), waits(9, lock), "goroutine 20 [running]:\n\tgoroutine running on other thread; stack unavailable\ncreated by main.serve\n\t/src/main.go:9 +0x2a\n\n"}, false},
	} {
		if got := likelyRecursive(t, test.dump); got != test.likely {
			t.Errorf("%s: likely %v, want %v", test.name, got, test.likely)
		}
	}
}
