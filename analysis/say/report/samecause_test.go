package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// request is one of a server of net/http: the goroutine of its connection, and the one that reads from the
// peer meanwhile.
func request(id int, state string, frames ...string) string {
	return goroutineText(id, state, "net/http.(*Server).Serve in goroutine 1", append(frames, fmt.Sprintf("net/http.(*conn).serve(0xc0001%05x)", 16*id))...) +
		goroutineText(5000+id, "IO wait", fmt.Sprintf("net/http.(*connReader).startBackgroundRead in goroutine %d", id), "internal/poll.runtime_pollWait(0x7f0000000000, 0x72)", fmt.Sprintf("net/http.(*connReader).backgroundRead(0xc0002%05x)", 16*id))
}

// piling are dumps of a server in which request i waits in the frames that of says, n of them in each.
func piling(sizes []int, more string, of func(i int) (state string, frames []string)) (out []map[string]string) {
	for _, n := range sizes {
		text := goroutineText(1, "IO wait", "runtime.main", "main.main()") + more
		for i := range n {
			state, frames := of(i)
			text += request(100+i, state, frames...)
		}
		out = append(out, map[string]string{"app/goroutine.txt": text})
	}
	return out
}

// However many dumps are there, the connections of requests that wait for something are its consequence.
func TestTheCauseIsTheSameForAnyNumberOfDumps(t *testing.T) {
	lock := func(i int) (string, []string) {
		if i%9 == 5 {
			return "sync.Mutex.Lock", atLock("0xc000010008", "main.(*Seats).Refresh(0xc000010000)", "main.handle()")
		}
		return "sync.Mutex.Lock", atLock("0xc000010008", "main.(*Seats).Get(0xc000010000)", "main.handle()")
	}
	holder := request(50, "IO wait", "internal/poll.runtime_pollWait(0x7f0000000000, 0x72)", "net.(*conn).Read(0xc000020000)", "main.(*Seats).Refresh(0xc000010000)", "main.handle()")
	pool := func(i int) (string, []string) {
		if i%9 == 5 {
			return "select", []string{"database/sql.(*DB).conn(0xc000010000)", "database/sql.(*DB).Query(0xc000010000)", "main.accountExists()"}
		}
		return "select", []string{"database/sql.(*DB).conn(0xc000010000)", "database/sql.(*DB).Query(0xc000010000)", "main.balance()"}
	}
	opener := goroutineText(9, "select", "database/sql.OpenDB", "database/sql.(*DB).connectionOpener(0xc000010000)")
	for _, test := range []struct {
		name, more   string
		of           func(i int) (string, []string)
		sentence, do string
	}{
		{"a lock under which the network is read", holder, lock,
			"requests in main.(*Seats).Get in app wait for one lock; its likely holder waits for the network or a pipe in main.(*Seats).Refresh.",
			"Set a deadline for the I/O at main.go:10 in main.(*Seats).Refresh, and do no I/O under the lock: goroutine 50 likely holds it."},
		{"a pool of database connections", opener, pool,
			"app keeps 70 requests waiting for a database connection in main.balance (62) and main.accountExists (8), and none ended",
			"End each Tx (defer Rollback) and close all Rows on every way out: check main.balance and main.accountExists, where they wait, and each other user of this pool. A larger pool (SetMaxOpenConns) gains time only."},
	} {
		for _, sizes := range [][]int{{30, 70}, {10, 30, 50, 70}} {
			d := every(t, piling(sizes, test.more, test.of)).Diagnosis
			if !strings.Contains(d.Sentence, test.sentence) || d.Next == nil || d.Next.Text != test.do {
				t.Errorf("%s, %d dumps: %s\n%+v", test.name, len(sizes), d.Sentence, d.Next)
			}
		}
	}
}

func TestOneDumpTellsThoseWhoWaitAtAPool(t *testing.T) {
	for name, test := range map[string]struct {
		n              int
		sentence, step string
	}{
		"many": {70, "One dump of app: 141 goroutines, 70 requests wait for a database connection in main.balance.",
			"If they stay: end each Tx (defer Rollback) and close all Rows on every way out: check main.balance, where they wait, and each other user of this pool. A larger pool (SetMaxOpenConns) gains time only."},
		"few": {7, "One dump of app: 15 goroutines, of these 7 HTTP server connections with 2 goroutines each.", "Take five captures over two minutes:"},
	} {
		d := every(t, piling([]int{test.n}, "", func(int) (string, []string) {
			return "select", []string{"database/sql.(*DB).conn(0xc000010000)", "main.balance()"}
		})).Diagnosis
		if d.Sentence != test.sentence || d.Next == nil || d.Next.Text != test.step {
			t.Errorf("%s: %s\n%+v", name, d.Sentence, d.Steps)
		}
	}
}
