package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// fullSemaphore are captures of a semaphore that is full: more wait for a slot each time, and three have
// one. With come, those three are others each time.
func fullSemaphore(come bool) (out []map[string]string) {
	for k, n := range []int{5, 15, 25, 35} {
		text := "goroutine 1 [running]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n"
		for i := range n {
			text += fmt.Sprintf("\ngoroutine %d [chan send, %d minutes]:\nmain.acquire()\n\t/src/app/work.go:10 +0x1d\nmain.render()\n\t/src/app/work.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:12 +0x5a\n", 100+i, 60*(k-(i+5)/10)+1)
		}
		for i := range 3 {
			id := 10 + i
			if come {
				id += 10 * k
			}
			text += fmt.Sprintf("\ngoroutine %d [IO wait]:\nnet.(*conn).Read(0x1)\n\t/usr/local/go/src/net/net.go:189 +0x45\nmain.fetch()\n\t/src/app/work.go:40 +0x1d\nmain.render()\n\t/src/app/work.go:22 +0x1d\ncreated by main.main in goroutine 1\n\t/src/app/main.go:12 +0x5a\n", id)
		}
		out = append(out, map[string]string{"app/goroutine.txt": text})
	}
	return out
}

func TestAFullSemaphoreIsTheMatterOfThoseThatHaveItsSlots(t *testing.T) {
	d := every(t, fullSemaphore(false)).Diagnosis
	if want := "They likely wait for 3 goroutines in main.fetch. The peer sends nothing at work.go:40: set a deadline there, or close the connection when ctx ends."; d.Next == nil || d.Next.Text != want {
		t.Errorf("%s: %+v, want %s", d.Sentence, d.Next, want)
	}
	if d.Cause == nil || d.Cause.Word != "likely" || d.Cause.Reason != "3 goroutines stay further on in main.render" {
		t.Errorf("the cause is %+v", d.Cause)
	}
	if len(d.Chain) != 2 || d.Chain[0].Figure != "3" || d.Chain[0].Noun != "goroutines in main.fetch" || d.Chain[0].Text != "further on in main.render" {
		t.Errorf("the chain is %+v", d.Chain)
	}
	d = every(t, fullSemaphore(true)).Diagnosis
	if want := "Nobody receives from the channel at work.go:10: buffer it, or select on ctx.Done()."; d.Next == nil || d.Next.Text != want {
		t.Errorf("those further on come and go: %+v, want %s", d.Next, want)
	}
}

// A unit of several groups has several states. What to do is by that of the stack that is shown.
func TestTheRemedyOfAUnitIsThatOfTheStackThatIsShown(t *testing.T) {
	var captures []map[string]string
	for k, n := range []int{5, 15, 25, 35} {
		text := "goroutine 1 [running]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n"
		for i := range n {
			minutes := 60*(k-(i+5)/10) + 1
			text += fmt.Sprintf("\ngoroutine %d [chan receive, %d minutes]:\nmain.(*uploads).ServeHTTP(0x1)\n\t/src/app/work.go:84 +0x1d\nnet/http.(*conn).serve(0x1)\n\t/usr/local/go/src/net/http/server.go:2067 +0x1d\ncreated by net/http.(*Server).Serve in goroutine 1\n\t/usr/local/go/src/net/http/server.go:3464 +0x5a\n", 100+2*i, minutes)
			text += fmt.Sprintf("\ngoroutine %d [IO wait, %d minutes]:\nnet.(*conn).Read(0x1)\n\t/usr/local/go/src/net/net.go:189 +0x45\nnet/http.(*connReader).backgroundRead(0x1)\n\t/usr/local/go/src/net/http/server.go:702 +0x1d\ncreated by net/http.(*connReader).startBackgroundRead in goroutine %d\n\t/usr/local/go/src/net/http/server.go:698 +0x5a\n", 101+2*i, minutes, 100+2*i)
		}
		captures = append(captures, map[string]string{"app/goroutine.txt": text})
	}
	d := every(t, captures).Diagnosis
	if want := "Nobody sends to the channel at work.go:84, nor closes it: close it where its sender ends (if it is ctx.Done(), call its cancel), or select on ctx.Done() too."; d.Next == nil || d.Next.Text != want || !strings.Contains(d.Sentence, "HTTP server connections") {
		t.Errorf("%s: %+v, want %s", d.Sentence, d.Next, want)
	}
}
