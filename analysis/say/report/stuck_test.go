package report_test

import (
	"strings"
	"testing"
)

// stuckIn is the state of one dump and its sentence.
func stuckIn(t *testing.T, dump ...string) (stuck bool, sentence string) {
	t.Helper()
	d := every(t, []map[string]string{{"app/goroutine.txt": strings.Join(dump, "")}}).Diagnosis
	return d.State == "deadlock", d.Sentence
}

func TestAHolderIsStuckWhereAllThatItStartedWaitForItsLock(t *testing.T) {
	const lock, store = "0xc000010008", "0xc000010000"
	holder := goroutineText(7, "sync.WaitGroup.Wait", "main.main", "sync.runtime_SemacquireWaitGroup(0xc000030000)", "sync.(*WaitGroup).Wait(0xc000030000)", "main.each()", "main.(*Store).Each("+store+")")
	child := func(id int, state, at string) string {
		return goroutineText(id, state, "main.each in goroutine 7", atLock(at, "main.(*Store).Drop("+store+")")...)
	}
	const waits = "sync.Mutex.Lock"
	for _, test := range []struct {
		name string
		dump []string
		want string
	}{
		{"all wait", []string{holder, child(20, waits, lock), child(21, waits, lock)}, "2 goroutines in app wait for one lock in main.(*Store): goroutine 7 likely holds it and waits for them, in main.each called from (*Store).Each."},
		{"the only one waits", []string{holder, child(20, waits, lock)}, "1 goroutine in app waits for one lock in main.(*Store): goroutine 7 likely holds it and waits for that goroutine, in main.each called from (*Store).Each."},
		{"one of them was just woken", []string{holder, child(20, waits, lock), child(21, "runnable", lock)}, ""},
		{"one of them does something else", []string{holder, child(20, waits, lock), goroutineText(21, "IO wait", "main.each in goroutine 7", "main.fetch()")}, ""},
		{"one of them waits for another lock", []string{holder, child(20, waits, lock), child(21, waits, "0xc000090008")}, ""},
		{"those who wait were started by another", []string{holder, strings.ReplaceAll(child(20, waits, lock)+child(21, waits, lock), "in goroutine 7", "in goroutine 8")}, ""},
		{"a closure of the package sleeps", []string{holder, child(20, waits, lock), child(21, waits, lock), goroutineText(9, "sleep", "main.main", "time.Sleep(0x1)", "main.main.func1()")}, ""},
		{"it waits for no group", []string{strings.Replace(holder, "sync.WaitGroup.Wait", "IO wait", 1), child(20, waits, lock), child(21, waits, lock)}, ""},
		{"another one is inside the object", []string{holder, child(20, waits, lock), child(21, waits, lock), goroutineText(9, "IO wait", "main.main", "main.(*Store).Load("+store+")")}, ""},
	} {
		if stuck, got := stuckIn(t, test.dump...); stuck != (test.want != "") || stuck && got != test.want {
			t.Errorf("%s: %v, %s\nwant %s", test.name, stuck, got, test.want)
		}
	}
}

func TestAStackThatShowsItsOwnDeadlockNeedsNoQueue(t *testing.T) {
	const store, lock = "0xc000010000", "0xc000010008"
	reader := goroutineText(7, "sync.RWMutex.RLock", "main.serve", "sync.runtime_SemacquireRWMutexR(0x0?, 0x0?, 0x0?)", "sync.(*RWMutex).RLock("+lock+")", "main.(*Store).Get("+store+")", "main.(*Store).Sum("+store+")")
	writer := goroutineText(8, "sync.RWMutex.Lock", "main.serve", "sync.runtime_SemacquireRWMutex(0x0?, 0x0?, 0x0?)", "sync.(*RWMutex).Lock("+lock+")", "main.(*Store).Set("+store+")")
	nested := func(id int, wait string) string {
		return goroutineText(id, "sync.Mutex.Lock"+wait, "main.serve", atLock(lock, "main.(*Store).Get("+store+")", "main.(*Store).List("+store+")")...)
	}
	list := func(id int) string {
		return goroutineText(id, "sync.Mutex.Lock", "main.serve", atLock(lock, "main.(*Store).List("+store+")")...)
	}
	const do = "sync.(*Once).doSlow(0x0?, 0xc000070000)"
	once := func(id int, state string) string {
		return goroutineText(id, state, "main.serve", atLock("0xc000010008", do, "sync.(*Once).Do(...)", "main.(*Config).Get(...)", "main.(*Config).load(...)", do, "sync.(*Once).Do(...)", "main.(*Config).Get(...)")...)
	}
	for _, test := range []struct {
		name  string
		dump  []string
		stuck bool
	}{
		{"a reader twice, and the writer", []string{reader, writer}, true},
		{"a reader twice, and no writer", []string{reader}, false},
		{"a reader twice, minutes ago", []string{strings.ReplaceAll(reader+writer, "Lock]", "Lock, 9 minutes]")}, true},
		{"a Once again", []string{once(7, "sync.Mutex.Lock")}, true},
		{"a Once again, just woken", []string{once(7, "runnable")}, false},
		{"a Once again, and another runs the function of one", []string{once(7, "sync.Mutex.Lock"), goroutineText(9, "IO wait", "main.serve", "main.(*Child).load(...)", do)}, false},
		{"two methods of an object, and one more waits in the outer one", []string{nested(7, ""), list(8)}, true},
		{"two methods of an object, and two more wait in the outer one", []string{nested(7, ""), list(8), list(9)}, true},
		{"two methods of an object, and nobody else", []string{nested(7, "")}, true},
		{"two methods of an object, and a closure of the package sleeps", []string{nested(7, ""), goroutineText(9, "sleep", "main.main", "time.Sleep(0x1)", "main.main.func1()")}, false},
		{"a reader twice, and a closure of the package sleeps", []string{reader, writer, goroutineText(9, "sleep", "main.main", "time.Sleep(0x1)", "main.main.func1()")}, false},
	} {
		if stuck, sentence := stuckIn(t, test.dump...); stuck != test.stuck {
			t.Errorf("%s: %v, %s", test.name, stuck, sentence)
		}
	}
}

// The dump prints the object of neither method.
func TestALockTakenAgainIsNamedWhereNobodyElseOfItsPackageMayHoldIt(t *testing.T) {
	const lock, account = "0xc000010008", "0xc000010000"
	again := func(id int, state string) string {
		return goroutineText(id, state, "main.main", atLock(lock, "main.(*Account).flush(0x0?)", "main.(*Account).Close(0x0?)")...)
	}
	add := func(id int) string {
		return goroutineText(id, "sync.Mutex.Lock", "main.main", atLock(lock, "main.(*Account).Add(0x0?)", "main.serve.func1()")...)
	}
	const waits = "sync.Mutex.Lock"
	beside := func(state string, frames ...string) []string {
		return []string{again(7, waits), goroutineText(9, state, "main.main", frames...)}
	}
	for _, test := range []struct {
		name  string
		dump  []string
		stuck bool
	}{
		{"nobody else", []string{again(7, waits)}, true},
		{"others wait for the lock", []string{again(7, waits), add(20), add(21)}, true},
		{"it was just woken", []string{again(7, "runnable")}, false},
		{"two of them", []string{again(7, waits), again(8, waits)}, false},
		{"a function at the root sleeps", beside("sleep", "time.Sleep(0x1)", "main.main()"), true},
		{"a function at the root receives", beside("chan receive", "main.idle()"), true},
		{"a function at the root reads", beside("IO wait", "net.(*conn).Read(0x1)", "main.fetch()"), false},
		{"a function at the root runs", beside("runnable", "main.fetch()"), false},
		{"a function at the root was given the object", beside("sleep", "time.Sleep(0x1)", "main.audit("+account+")"), false},
		{"a function that another one called sleeps", beside("sleep", "time.Sleep(0x1)", "main.slow()", "main.audit()"), false},
		{"a method of another type sleeps", beside("sleep", "time.Sleep(0x1)", "main.(*Bank).audit(0xc000090000)"), false},
		{"a closure sleeps", beside("sleep", "time.Sleep(0x1)", "main.main.func1()"), false},
		{"a method of another package sleeps", beside("sleep", "time.Sleep(0x1)", "example.org/bank.(*Bank).audit(0xc000090000)"), true},
		{"a stack is hidden", []string{again(7, waits), "goroutine 9 [running]:\n\tgoroutine running on other thread; stack unavailable\ncreated by main.serve\n\t/src/main.go:9 +0x2a\n\n"}, false},
		{"the outer method is of another object", []string{goroutineText(7, waits, "main.main", atLock(lock, "main.(*Account).flush(0x0?)", "main.(*Account).Close(0xc000090000)")...)}, false},
		{"the outer method is of another type", []string{goroutineText(7, waits, "main.main", atLock(lock, "main.(*Account).flush(0x0?)", "main.(*Bank).Close(0x0?)")...)}, false},
		{"there is no outer method", []string{add(7)}, false},
	} {
		if stuck, sentence := stuckIn(t, test.dump...); stuck != test.stuck {
			t.Errorf("%s: %v, %s", test.name, stuck, sentence)
		}
	}
	const want = "Possible deadlock in app: goroutine 7 waits for a lock that it may hold itself, in (*Account).flush called from (*Account).Close."
	if _, got := stuckIn(t, again(7, waits)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestTwoOncesAreCrossedWhereNobodyElseRunsTheFunctionOfOne(t *testing.T) {
	const do = "sync.(*Once).doSlow(0x0?, 0xc000070000)"
	waits := func(id int, state, lock, function string) string {
		return goroutineText(id, state, "main.serve", atLock(lock, do, "sync.(*Once).Do(...)", function, do)...)
	}
	const lock, one, two = "sync.Mutex.Lock", "0xc000010008", "0xc000020008"
	first, second := waits(7, lock, one, "main.open.func1()"), waits(8, lock, two, "main.load.func1()")
	for _, test := range []struct {
		name string
		dump []string
		want bool
	}{
		{"each waits for the other one", []string{first, second}, true},
		{"both wait for one", []string{first, waits(8, lock, one, "main.load.func1()")}, false},
		{"one of them was just woken", []string{first, waits(8, "runnable", two, "main.load.func1()")}, false},
		{"a third runs the function of one", []string{first, second, goroutineText(9, "sleep", "main.serve", "time.Sleep(0x1)", "main.fetch.func1()", do)}, false},
		{"a third waits within the function of one", []string{first, second, waits(9, lock, two, "main.fetch.func1()")}, false},
		{"a third hides frames", []string{first, second, strings.Replace(goroutineText(9, "sleep", "main.serve", "main.fetch()"), "created by", "...7 frames elided...\ncreated by", 1)}, false},
	} {
		if got, sentence := stuckIn(t, test.dump...); got != test.want {
			t.Errorf("%s: %v, %s", test.name, got, sentence)
		}
	}
}

// A loop waits for its next message for ever and holds nothing. Who has got beyond the line on which
// the others wait is in no loop.
func TestAHolderThatWaitsInTheFunctionOfTheWaitersIsBeyondTheirLine(t *testing.T) {
	const lock, store = "0xc000010008", "0xc000010000"
	at := func(text string, line string) string {
		return strings.ReplaceAll(text, "main.go:10 ", "main.go:"+line+" ")
	}
	waiter := func(id int) string {
		return at(goroutineText(id, "sync.Mutex.Lock", "main.main", atLock(lock, "main.(*Store).Run("+store+")")...), "20")
	}
	for line, want := range map[string]string{"21": "likely", "20": "possible", "19": "possible"} {
		holder := at(goroutineText(7, "chan receive", "main.main", "main.(*Store).Run("+store+")"), line)
		locks := locksOf(t, holder+waiter(20)+waiter(21))
		if locks == nil || len(locks.List) != 1 || len(locks.List[0].Holders) != 1 || string(locks.List[0].Holders[0].Certainty) != want {
			t.Errorf("line %s: %+v, want %s", line, locks, want)
		}
	}
}

// Small objects lie close to each other: an address that the dump prints tells whose lock it is.
func TestAReceiverBesideTheObjectOfALockIsAnotherObject(t *testing.T) {
	waits := func(id int, lock, receiver, argument string) string {
		return goroutineText(id, "sync.Mutex.Lock", "main.main", atLock(lock, "main.(*Account).Add(0x0?)", "main.(*Account).Move("+receiver+", "+argument+")")...)
	}
	// 7 holds a and waits for b, 8 holds b and waits for c, which nobody of the dump holds.
	const a, b, c = "0xc000010000", "0xc000010010", "0xc000010020"
	locks := locksOf(t, waits(7, b+", 1", a, b)+waits(8, c, b, c)+goroutineText(20, "sync.Mutex.Lock", "main.main", atLock(a, "main.(*Account).Add(0x0?)")...)+goroutineText(21, "sync.Mutex.Lock", "main.main", atLock(a, "main.(*Account).Add(0x0?)")...))
	held := map[int64]string{}
	for _, l := range locks.List {
		for _, h := range l.Holders {
			held[h.ID] += l.ID
		}
	}
	if len(locks.Cycles) > 0 || len(held) != 2 || held[7] != "lock 1" || held[8] != locks.List[0].Holders[0].Lock {
		t.Errorf("%v, %+v", held, locks.Cycles)
	}
}
