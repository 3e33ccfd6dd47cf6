package report_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Each state of a wait has its own remedy, with the line of the reader's own code.
func TestEachStateHasItsRemedy(t *testing.T) {
	const group = "sync.runtime_Semacquire(0x1)\n\t/usr/local/go/src/runtime/sema.go:71 +0x25\nsync.(*WaitGroup).Wait(0x1)\n\t/usr/local/go/src/sync/waitgroup.go:118 +0x48\n"
	for state, want := range map[string]struct{ above, text string }{
		"chan send":               {"", "Nobody receives from the channel at work.go:21: buffer it, or select on ctx.Done()."},
		"chan receive":            {"", "Nobody sends to the channel at work.go:21, nor closes it: close it where its sender ends (if it is ctx.Done(), call its cancel), or select on ctx.Done() too."},
		"chan send (nil chan)":    {"", "The channel at work.go:21 is nil: make it before it is used."},
		"chan receive (nil chan)": {"", "The channel at work.go:21 is nil: make it before it is used."},
		"select":                  {"", "No case of the select at work.go:21 comes: let one end it, such as ctx.Done(), and reach it."},
		"select (no cases)":       {"", "The select at work.go:21 has no cases and never ends: receive from ctx.Done() instead."},
		"sleep":                   {"", "The loop that sleeps at work.go:21 does not end: select on a timer and ctx.Done() instead."},
		"IO wait":                 {"", "The peer sends nothing at work.go:21: set a deadline there, or close the connection when ctx ends."},
		"sync.Mutex.Lock":         {"", "The lock at work.go:21 is held and not released: find who holds it, and defer Unlock there."},
		"sync.RWMutex.RLock":      {"", "The lock at work.go:21 is held and not released: find who holds it, and defer Unlock there."},
		"sync.WaitGroup.Wait":     {"", "Not everyone calls Done for the Wait at work.go:21: defer it as the first statement of each."},
		"sync.Cond.Wait":          {"", "Nobody signals at work.go:21: call Broadcast where the condition changes, and where the program ends."},
		"semacquire":              {group, "Not everyone calls Done for the Wait at work.go:21: defer it as the first statement of each."},
		"syscall":                 {"", "Each is started at main.go:12, in main.main: give it a way to end there, or start fewer."},
	} {
		d := every(t, waitingIn(state, want.above, "main.work")).Diagnosis
		if d.State != "leaking" || d.Next == nil || d.Next.Text != want.text {
			t.Errorf("%s: %s, %+v", state, d.State, d.Next)
		}
	}
}

// A select of a library stands in no line of the reader: its call there does not return.
func TestACallIntoALibraryThatWaitsIsToldAsACall(t *testing.T) {
	const (
		http    = "net/http.(*persistConn).roundTrip(0x1)\n\t/usr/local/go/src/net/http/transport.go:2799 +0x25\nnet/http.(*Client).Do(0x1)\n\t/usr/local/go/src/net/http/client.go:590 +0x25\n"
		group   = "sync.runtime_SemacquireWaitGroup(0x1)\n\t/usr/local/go/src/runtime/sema.go:110 +0x25\nsync.(*WaitGroup).Wait(0x1)\n\t/usr/local/go/src/sync/waitgroup.go:118 +0x48\ngolang.org/x/sync/errgroup.(*Group).Wait(0x1)\n\t/go/pkg/mod/golang.org/x/sync@v0.9.0/errgroup/errgroup.go:56 +0x48\n"
		network = "internal/poll.runtime_pollWait(0x1)\n\t/usr/local/go/src/runtime/netpoll.go:351 +0x85\nnet.(*conn).Read(0x1)\n\t/usr/local/go/src/net/net.go:189 +0x45\nbufio.(*Reader).ReadLine(0x1)\n\t/usr/local/go/src/bufio/bufio.go:410 +0x45\n"
	)
	for name, c := range map[string]struct{ state, above, want string }{
		"a request":                         {"select", http, "http.(*Client).Do does not return at work.go:21: give the call a deadline, or end what it waits for."},
		"a group of goroutines":             {"sync.WaitGroup.Wait", group, "errgroup.(*Group).Wait does not return at work.go:21: give the call a deadline, or end what it waits for."},
		"a read of the standard library":    {"IO wait", network, "The peer sends nothing at work.go:21: set a deadline there, or close the connection when ctx ends."},
		"a select of the reader's own line": {"select", "", "No case of the select at work.go:21 comes: let one end it, such as ctx.Done(), and reach it."},
	} {
		t.Run(name, func(t *testing.T) {
			if d := every(t, waitingIn(c.state, c.above, "main.work")).Diagnosis; d.Next == nil || d.Next.Text != c.want {
				t.Errorf("%s: %+v, want %q", d.Sentence, d.Next, c.want)
			}
		})
	}
}

// What ends the select of a method is kept in its object, so the object is told.
func TestASelectOfAnObjectIsEndedByTheObject(t *testing.T) {
	const each = "Nothing ends what selects at work.go:21: call the cancel of each main.Session (or its Close or Stop) where it ends."
	const one = "No case of the select at work.go:21 comes: let one end it, such as ctx.Done(), and reach it."
	for name, tt := range map[string]struct{ state, function, want string }{
		"a method of the object":           {"select", "main.(*Session).watch", each},
		"a closure, which names no object": {"select", "main.(*Session).watch.func1", one},
		"a function that was given it":     {"select", "main.watch", one},
		"another wait of the object":       {"chan send", "main.(*Session).watch", "Nobody receives from the channel at work.go:21: buffer it, or select on ctx.Done()."},
	} {
		captures := waitingIn(tt.state, "", tt.function)
		for _, files := range captures {
			address := 0
			files["app/goroutine.txt"] = regexp.MustCompile(`(watch(\.func1)?)\(\)`).ReplaceAllStringFunc(files["app/goroutine.txt"], func(call string) string {
				address++
				return strings.TrimSuffix(call, ")") + fmt.Sprintf("0xc000%06x, {0x78c8a0, 0xc100%06x})", 0x100*address, 0x100*address)
			})
		}
		if d := every(t, captures).Diagnosis; d.Next == nil || d.Next.Text != tt.want {
			t.Errorf("%s: %s %+v\nwant %s", name, d.Sentence, d.Next, tt.want)
		}
	}
}

// Code that is not the reader's own is not to be changed by the reader.
func TestAWaitInALibraryIsToBeReported(t *testing.T) {
	captures := waitingIn("chan receive", "", "example.com/mcp.(*Stdio).readLoop")
	for _, files := range captures {
		files["app/goroutine.txt"] = strings.NewReplacer("created by main.main", "created by example.com/mcp.(*Stdio).Start",
			"/src/app/work.go", "/go/pkg/mod/example.com/mcp@v1.2.3/stdio.go", "/src/app/main.go:12", "/go/pkg/mod/example.com/mcp@v1.2.3/stdio.go:40").Replace(files["app/goroutine.txt"])
	}
	d := every(t, captures).Diagnosis
	if want := "Look for what calls mcp.(*Stdio).Start and does not end it; if that code is not yours, report it with this stack."; d.Next == nil || d.Next.Text != want {
		t.Errorf("%s: %+v", d.Sentence, d.Next)
	}
}

// What a Close started is not ended by another Close: what it waits for is.
func TestAWaitInACloseOfALibraryIsLookedAt(t *testing.T) {
	captures := waitingIn("chan receive", "", "example.com/mux.(*Session).drain")
	for _, files := range captures {
		files["app/goroutine.txt"] = strings.NewReplacer("created by main.main", "created by example.com/mux.(*Session).Close",
			"/src/app/work.go", "/go/pkg/mod/example.com/mux@v1.2.3/session.go", "/src/app/main.go:12", "/go/pkg/mod/example.com/mux@v1.2.3/session.go:40").Replace(files["app/goroutine.txt"])
	}
	d := every(t, captures).Diagnosis
	if want := "Look at what mux.(*Session).Close started and what that waits for; if that code is not yours, report it with this stack."; d.Next == nil || d.Next.Text != want {
		t.Errorf("%s: %+v", d.Sentence, d.Next)
	}
}

// A growth that only profiles show has a next step too: they name neither state nor creator.
func TestAGrowthInProfilesHasANextStep(t *testing.T) {
	var captures []map[string]string
	for _, n := range []int{5, 15, 25, 35, 45} {
		captures = append(captures, map[string]string{"app/goroutine.txt": fmt.Sprintf("goroutine profile: total %d\n%d @ 0x1\n#\t0x1\tmain.work+0x1\t/src/app/work.go:21\n\n", n, n)})
	}
	d := every(t, captures).Diagnosis
	if d.Next == nil || d.Next.Text == "" {
		t.Errorf("%s, %s: %+v", d.State, d.Sentence, d.Next)
	}
}

// waitingIn are five dumps of 5 to 45 goroutines that wait in a function.
func waitingIn(state, above, function string) (out []map[string]string) {
	for k, n := range []int{5, 15, 25, 35, 45} {
		text := "goroutine 1 [running]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n"
		for i := range n {
			minutes := 60*(k-(i+5)/10) + 1 // since the capture that has it first
			text += fmt.Sprintf("\ngoroutine %d [%s, %d minutes]:\n%s%s()\n\t/src/app/work.go:21 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:12 +0x5a\n", 100+i, state, minutes, above, function)
		}
		out = append(out, map[string]string{"app/goroutine.txt": text})
	}
	return out
}

func TestOfWhatWakesAllTheTimeNobodySaysThatNothingComes(t *testing.T) {
	for name, tc := range map[string]struct{ minutes, want string }{
		"each waits since it came":        {"", "Nobody sends to the channel at work.go:21, nor closes it: close it where its sender ends (if it is ctx.Done(), call its cancel), or select on ctx.Done() too."},
		"none waits for a minute":         {"[chan receive]", "What waits at work.go:21 goes on and waits again: its loop does not end. End it by ctx.Done(), or where its owner is closed."},
		"none waits for half of the time": {"[chan receive, 119 minutes]", "What waits at work.go:21 goes on and waits again: its loop does not end. End it by ctx.Done(), or where its owner is closed."},
		"some wait for half of the time":  {"[chan receive, 120 minutes]", "Nobody sends to the channel at work.go:21, nor closes it: close it where its sender ends (if it is ctx.Done(), call its cancel), or select on ctx.Done() too."},
	} {
		captures := waitingIn("chan receive", "", "main.work")
		for _, files := range captures {
			if tc.minutes != "" {
				files["app/goroutine.txt"] = regexp.MustCompile(`\[chan receive, \d+ minutes\]`).ReplaceAllString(files["app/goroutine.txt"], tc.minutes)
			}
		}
		if d := every(t, captures).Diagnosis; d.Next == nil || d.Next.Text != tc.want {
			t.Errorf("%s: %s %+v", name, d.Sentence, d.Next)
		}
	}
}

func TestOneDumpSaysWhatEndsALongWaitThatIsNoIdling(t *testing.T) {
	const captures = "Take five captures over two minutes:"
	for _, test := range []struct{ state, minutes, want string }{
		{"sync.Mutex.Lock", "5 minutes", "The lock at work.go:21 is held and not released: find who holds it, and defer Unlock there."},
		{"sync.Mutex.Lock", "4 minutes", captures},
		{"chan send", "5 minutes", "Nobody receives from the channel at work.go:21: buffer it, or select on ctx.Done()."},
		{"chan receive", "500 minutes", captures},
		{"select", "500 minutes", captures},
		{"IO wait", "500 minutes", captures},
	} {
		t.Run(test.state+" for "+test.minutes, func(t *testing.T) {
			one := waitingIn(test.state, "", "main.work")[0]
			text := strings.ReplaceAll(one["app/goroutine.txt"], "1 minutes", test.minutes)
			// One that idles for longer does not hide it.
			one["app/goroutine.txt"] = text + "\ngoroutine 9 [chan receive, 9000 minutes]:\nmain.idle()\n\t/src/app/idle.go:3 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:11 +0x5a\n"
			d := every(t, []map[string]string{one}).Diagnosis
			if len(d.Steps) == 0 || d.Steps[0].Text != test.want || d.Capture() == nil || d.Capture().Command == "" {
				t.Errorf("%+v, want %q first and captures at the end", d.Steps, test.want)
			}
		})
	}
}

func TestADumpBySIGQUITTellsWhatManyWaitForAndAsksForTheNextRun(t *testing.T) {
	for name, test := range map[string]struct {
		n     int
		head  string
		first string
		last  string
	}{
		"many of a process that ended": {60, "SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\n", "Not everyone calls Done for the Wait at main.go:10: defer it as the first statement of each.", "The process ended with this dump. Take five captures of its next run:"},
		"many of one that goes on":     {60, "", "Not everyone calls Done for the Wait at main.go:10: defer it as the first statement of each.", "Take five captures over two minutes:"},
		"few of one that goes on":      {20, "", "Take five captures over two minutes:", "Take five captures over two minutes:"},
	} {
		text := test.head + goroutineText(1, "sleep", "runtime.main", "main.main()")
		for i := range test.n {
			text += goroutineText(100+i, "sync.WaitGroup.Wait", "main.main", "sync.runtime_SemacquireWaitGroup(0xc000010000)", "sync.(*WaitGroup).Wait(0xc000010000)", "main.stitch(0x1)")
		}
		d := every(t, []map[string]string{{"app/goroutine.txt": text}}).Diagnosis
		if len(d.Steps) == 0 || d.Steps[0].Text != test.first || d.Steps[len(d.Steps)-1].Text != test.last {
			t.Errorf("%s: %+v", name, d.Steps)
		}
	}
}

func TestAWaitInAnExcerptAsksForTheWholeDump(t *testing.T) {
	const captures = "Take five captures over two minutes:"
	whole := func(wait string) string {
		return "Upload the whole dump (debug=2): this excerpt does not show all that could end the wait of " + strings.ReplaceAll(wait, " ", "\u00a0") + "."
	}
	for _, test := range []struct{ name, head, below, want string }{
		{"a lock for five minutes", "semacquire, 5 minutes", "", whole("5 min")},
		{"a lock for four minutes", "semacquire, 4 minutes", "", captures},
		{"a send", "chan send, 265 minutes", "", whole("4 h 25 min")},
		{"a receive may idle", "chan receive, 265 minutes", "", captures},
		{"a whole dump", "semacquire, 5 minutes", "\ngoroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n", captures},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "goroutine 7 [" + test.head + "]:\nsync.runtime_Semacquire(0xc0000a)\n\t/usr/local/go/src/runtime/sema.go:71 +0x25\nsync.(*WaitGroup).Wait(0xc0000a)\n\t/usr/local/go/src/sync/waitgroup.go:118 +0x48\n" +
				"main.work()\n\t/src/app/work.go:21 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:12 +0x5a\n" + test.below
			d := every(t, []map[string]string{{"app/goroutine.txt": text}}).Diagnosis
			if len(d.Steps) == 0 || d.Steps[len(d.Steps)-1].Text != test.want {
				t.Errorf("%+v, want %q last", d.Steps, test.want)
			}
		})
	}
}

// The evidence beside it names goroutine 6: the steps do not send the reader to look for it.
func TestAnExcerptWithTheLikelyHolderDoesNotSayThatItIsUnknown(t *testing.T) {
	d := every(t, []map[string]string{{"app/goroutine.txt": "goroutine 7 [semacquire, 19 minutes]:\nsync.runtime_SemacquireMutex(0xc000010004, 0x0, 0x1)\n\t/usr/local/go/src/runtime/sema.go:77 +0x25\n" +
		"sync.(*Mutex).lockSlow(0xc000010000)\n\t/usr/local/go/src/sync/mutex.go:171 +0x15d\nsync.(*Mutex).Lock(...)\n\t/usr/local/go/src/sync/mutex.go:90\nmain.(*Pool).Get(0xc000010000)\n\t/src/pool.go:5 +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1\n\n" +
		"goroutine 6 [IO wait, 20 minutes]:\ninternal/poll.runtime_pollWait(0x1, 0x72)\n\t/usr/local/go/src/runtime/netpoll.go:343 +0x85\nmain.(*Pool).dial(0xc000010000)\n\t/src/pool.go:30 +0x1\nmain.(*Pool).Put(0xc000010000)\n\t/src/pool.go:20 +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:8 +0x1\n"}}).Diagnosis
	if len(d.Steps) != 1 || !strings.HasPrefix(d.Steps[0].Text, "Upload the whole dump (debug=2): this excerpt does not show all") {
		t.Errorf("%+v", d.Steps)
	}
}

// A few that do something else, or that ended, do not hide what all others wait for; a receive of
// which no minute is seen may be that of a ticker.
func TestTheRemedyIsThatOfNearlyAll(t *testing.T) {
	young := regexp.MustCompile(`, \d+ minutes]`)
	sleeps := func(text string) string { return strings.Replace(text, "[chan send", "[sleep", 1) }
	for name, c := range map[string]struct {
		state string
		edit  func(i int, text string) string
		want  string
	}{
		"one of all sleeps": {"chan send", func(_ int, text string) string { return sleeps(text) }, "44 of 45 wait so: nobody receives from the channel at work.go:21: buffer it, or select on ctx.Done()."},
		"a third sleeps": {"chan send", func(_ int, text string) string {
			for range 15 {
				text = sleeps(text)
			}
			return text
		}, "30 of 45 wait so: nobody receives from the channel at work.go:21: buffer it, or select on ctx.Done()."},
		"two thirds sleep": {"chan send", func(_ int, text string) string {
			for range 30 {
				text = sleeps(text)
			}
			return text
		}, "30 of 45 wait so: the loop that sleeps at work.go:21 does not end: select on a timer and ctx.Done() instead."},
		"no receive shows a minute in hours": {"chan receive", func(_ int, text string) string { return young.ReplaceAllString(text, "]") }, "What waits at work.go:21 goes on and waits again: its loop does not end. End it by ctx.Done(), or where its owner is closed."},
		"no receive shows a minute, all are new": {"chan receive", func(i int, text string) string {
			if i == 0 {
				text, _, _ = strings.Cut(text, "\ngoroutine 100 ")
			}
			return young.ReplaceAllString(text, "]")
		}, "What receives at work.go:21 does not end: if it is ctx.Done(), call its cancel; else close the channel where its sender ends (a ticker never does), or select on ctx.Done() too."},
		"no select shows a minute, all are new": {"select", func(i int, text string) string {
			if i == 0 {
				text, _, _ = strings.Cut(text, "\ngoroutine 100 ")
			}
			return young.ReplaceAllString(text, "]")
		}, "Nothing ends what selects at work.go:21: close its channel or cancel its context on each way out; if no case waits for that, add one (ctx.Done())."},
		"one of those that came ended": {"chan send", func(i int, text string) string {
			if i > 2 {
				text = without(text, 112)
			}
			return text
		}, "39 of 40 that came stay: nobody receives from the channel at work.go:21: buffer it, or select on ctx.Done()."},
		"a third of them ended": {"chan send", func(i int, text string) string {
			for id := 110; i > 2 && id < 120; id++ {
				text = without(text, id)
			}
			return text
		}, "Who receives what is sent at work.go:21 is slower than those who send: receive faster, or start fewer at a time."},
	} {
		captures := waitingIn(c.state, "", "main.work")
		for i, files := range captures {
			files["app/goroutine.txt"] = c.edit(i, files["app/goroutine.txt"])
		}
		d := every(t, captures).Diagnosis
		if d.Next == nil || d.Next.Text != c.want {
			t.Errorf("%s: %s\n%+v\nwant %s", name, d.Sentence, d.Next, c.want)
		}
	}
}

// without is a dump without the goroutine with an id.
func without(dump string, id int) string {
	from := strings.Index(dump, fmt.Sprintf("\ngoroutine %d ", id))
	if from < 0 {
		return dump
	}
	if to := strings.Index(dump[from+1:], "\ngoroutine "); to >= 0 {
		return dump[:from] + dump[from+1+to:]
	}
	return dump[:from]
}

// The first writer waits for the readers that have the lock, the others for the first.
func TestAWriterThatWaitsForReadersAccusesAReader(t *testing.T) {
	for first, want := range map[string]string{
		"sync.RWMutex.Lock": "A reader holds the lock at main.go:10 and does not release it: check each return behind an RLock of it, and defer RUnlock.",
		"sync.Mutex.Lock":   "The lock at main.go:10 is held and not released: find who holds it, and defer Unlock there.",
	} {
		var captures []map[string]string
		for k := range 4 {
			text := goroutineText(1, "sleep", "runtime.main", "main.main()") + goroutineText(50, first+", 180 minutes", "main.main", "sync.(*RWMutex).Lock(0xc000010000)", "main.set(0x1)")
			for i := range 10 + 15*k {
				text += goroutineText(100+i, "sync.Mutex.Lock, 170 minutes", "main.main", "sync.(*Mutex).Lock(0xc000010000)", "sync.(*RWMutex).Lock(0xc000010000)", "main.set(0x1)")
			}
			captures = append(captures, map[string]string{"app/goroutine.txt": text})
		}
		if d := every(t, captures).Diagnosis; d.Next == nil || d.Next.Text != want {
			t.Errorf("the first in %s: %s\n%+v", first, d.Sentence, d.Next)
		}
	}
}
