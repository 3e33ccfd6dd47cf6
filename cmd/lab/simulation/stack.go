package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// stack is where members wait: frames leaf first, the function that started them, and the
// state in the header. The name of own is in no other stack of the program.
type stack struct {
	state   string
	above   []frame // what the standard library puts on top of the own frame
	own     frame
	below   []frame
	creator frame
	// lock is the address that all members wait for, or 0.
	lock uint64
	// remote is the other end of a socket, device and mask those of a watch.
	remote, status string
	// pool is the name of a thread, with %d for its number.
	pool string
}

type frame struct {
	function, file string
	line           int
}

var (
	programs = []string{"billing", "checkout", "gateway", "ingester", "scheduler", "ledger", "notifier", "catalog", "router", "syncer"}
	owners   = []string{"acme", "northwind", "contoso", "initech", "umbrella", "globex"}
	packages = []string{"session", "stream", "tenant", "queue", "worker", "cache", "watcher", "relay", "tracker", "pubsub", "broker", "index", "replica", "quota", "audit", "lease", "upload", "export", "feed", "mailer", "webhook", "cursor", "shard", "probe", "pipeline", "archive", "search", "token", "invoice", "cart"}
	types    = []string{"Manager", "Reader", "Writer", "Client", "Server", "Loop", "Pump", "Monitor", "Reconciler", "Dispatcher", "Consumer", "Publisher", "Poller", "Refresher", "Collector", "Subscriber", "Handler", "Store", "Batcher", "Flusher"}
	methods  = []string{"run", "loop", "serve", "wait", "pump", "poll", "drain", "refresh", "listen", "process", "watch", "flush", "dispatch", "receive", "keepAlive", "await", "monitor", "consume"}
	makers   = []string{"New", "Start", "Open", "Run", "Watch", "Subscribe", "Dial", "Launch", "Spawn", "Begin"}
	syllable = []string{"al", "ber", "cor", "dan", "el", "far", "gim", "hol", "il", "jen", "kor", "lum", "mar", "nor", "ol", "pra", "qui", "ros", "sil", "tor", "ul", "ver", "wen", "xan", "yor", "zel"}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// word is a made-up name of three syllables, such as "Bernorsil".
func (w *world) word() string {
	for {
		s := pick(w.r, syllable) + pick(w.r, syllable) + pick(w.r, syllable)
		if !w.used[s] {
			w.used[s] = true
			return strings.ToUpper(s[:1]) + s[1:]
		}
	}
}

// waits are the states in which goroutines are found, with what stands above own code.
func waits() map[string][]frame {
	return map[string][]frame{
		"select":       nil,
		"chan receive": nil,
		"chan send":    nil,
		"IO wait": {
			{"internal/poll.runtime_pollWait", "/usr/local/go/src/runtime/netpoll.go", 351},
			{"internal/poll.(*pollDesc).wait", "/usr/local/go/src/internal/poll/fd_poll_runtime.go", 84},
			{"internal/poll.(*FD).Read", "/usr/local/go/src/internal/poll/fd_unix.go", 165},
			{"net.(*netFD).Read", "/usr/local/go/src/net/fd_posix.go", 55},
			{"net.(*conn).Read", "/usr/local/go/src/net/net.go", 194},
		},
		"sync.Cond.Wait": {
			{"sync.runtime_notifyListWait", "/usr/local/go/src/runtime/sema.go", 597},
			{"sync.(*Cond).Wait", "/usr/local/go/src/sync/cond.go", 71},
		},
		"sync.Mutex.Lock": {
			{"internal/sync.runtime_SemacquireMutex", "/usr/local/go/src/runtime/sema.go", 95},
			{"internal/sync.(*Mutex).lockSlow", "/usr/local/go/src/internal/sync/mutex.go", 149},
			{"internal/sync.(*Mutex).Lock", "/usr/local/go/src/internal/sync/mutex.go", 70},
			{"sync.(*Mutex).Lock", "/usr/local/go/src/sync/mutex.go", 46},
		},
		"sleep": {{"time.Sleep", "/usr/local/go/src/runtime/time.go", 338}},
	}
}

// subject is a stack of own code that the class is about.
func (w *world) subject() *stack {
	s := w.newStack(pick(w.r, []string{"select", "chan receive", "chan send", "IO wait", "sync.Cond.Wait"}))
	w.marks = append(w.marks, s.own.function)
	return s
}

// newStack is a stack of own code with names that no other one has.
func (w *world) newStack(state string) *stack {
	for {
		pkg, typ, method := pick(w.r, packages), pick(w.r, types), pick(w.r, methods)
		if w.r.IntN(3) == 0 {
			typ = w.word() + typ
		}
		function := fmt.Sprintf("%s/internal/%s.(*%s).%s", w.module, pkg, typ, method)
		if !w.used[function] {
			w.used[function] = true
			return w.stackOf(state, pkg, function, fmt.Sprintf("%s/internal/%s.%s%s", w.module, pkg, pick(w.r, makers), typ))
		}
	}
}

func (w *world) stackOf(state, pkg, function, creator string) *stack {
	file := fmt.Sprintf("/src/%s/internal/%s/%s.go", w.program, pkg, pkg)
	s := &stack{state: state, above: waits()[state], own: frame{function, file, w.whole(40, 400)}, creator: frame{creator, file, w.whole(20, 300)}}
	for range w.r.IntN(3) {
		s.below = append(s.below, frame{fmt.Sprintf("%s/internal/%s.call%s", w.module, pkg, w.word()), file, w.whole(40, 400)})
	}
	s.remote = fmt.Sprintf("10.%d.%d.%d:%d", w.whole(20, 90), w.whole(0, 250), w.whole(2, 250), pick(w.r, []int{443, 5432, 6379, 8443, 9092}))
	s.status = "ESTABLISHED"
	s.pool = strings.ToLower(w.word()) + "-worker-%d"
	return s
}

// familiar are stacks that most servers have, with the largest number of each.
func familiar() []struct {
	state, function, file, creator string
	most                           int
} {
	const src = "/usr/local/go/src/"
	return []struct {
		state, function, file, creator string
		most                           int
	}{
		{"IO wait", "net/http.(*Server).Serve", src + "net/http/server.go", "main.serve", 2},
		{"select", "database/sql.(*DB).connectionOpener", src + "database/sql/sql.go", "database/sql.OpenDB", 2},
		{"chan receive", "k8s.io/klog/v2.(*flushDaemon).run.func1", "/go/pkg/mod/k8s.io/klog/v2/klog.go", "k8s.io/klog/v2.(*flushDaemon).run", 1},
		{"select", "go.opencensus.io/stats/view.(*worker).start", "/go/pkg/mod/go.opencensus.io/stats/view/worker.go", "go.opencensus.io/stats/view.init.0", 1},
		{"syscall", "os/signal.signal_recv", src + "runtime/sigqueue.go", "os/signal.Notify.func1.1", 1},
		{"select", "google.golang.org/grpc.(*ccBalancerWrapper).watcher", "/go/pkg/mod/google.golang.org/grpc/balancer_wrapper.go", "google.golang.org/grpc.newCCBalancerWrapper", 4},
		{"select", "k8s.io/apimachinery/pkg/util/wait.BackoffUntil", "/go/pkg/mod/k8s.io/apimachinery/pkg/util/wait/backoff.go", "k8s.io/client-go/informers.(*sharedInformerFactory).Start", 12},
		{"select", "github.com/patrickmn/go-cache.(*janitor).Run", "/go/pkg/mod/github.com/patrickmn/go-cache/cache.go", "github.com/patrickmn/go-cache.runJanitor", 3},
	}
}

// background adds what every program has beside the subject: stacks that stay, workers
// that wake, and requests that come and go. All of them are innocent.
func (w *world) background(f form) {
	subjects := len(w.members)
	for _, start := range w.starts {
		w.static(start)
	}
	if f == debug2 || f == debug1 {
		for _, known := range familiar() {
			s := &stack{state: known.state, above: waits()[known.state], own: frame{known.function, known.file, w.whole(50, 900)}, creator: frame{known.creator, known.file, w.whole(50, 900)}}
			for range 1 + w.r.IntN(known.most) {
				for _, start := range w.starts {
					w.add(s, start+w.between(0, 1e-4)*w.span, never)
				}
			}
		}
	}
	for range w.whole(3, 6) {
		life := w.between(0.05, 30) / 3600 // requests live for seconds
		w.churn(w.newStack(pick(w.r, []string{"IO wait", "select", "chan receive"})), flat(w.about(1, 15)), min(life, 0.02*w.span))
	}
	for range w.whole(0, 2) { // connections that are kept for a while
		w.churn(w.newStack("IO wait"), flat(w.about(2, 12)), w.between(0.03, 0.2)*w.span)
	}
	for k := subjects; k < len(w.members); k++ {
		w.members[k].subject = false
	}
}

// statics are the stacks of the background, the same after every start.
func (w *world) static(start float64) {
	r := rand.New(rand.NewPCG(uint64(len(w.program)), hash(w.module)))
	kept := w.r
	w.r = r
	used := w.used
	w.used = map[string]bool{}
	for _, mark := range w.marks {
		w.used[mark] = true
	}
	defer func() { w.r, w.used = kept, used }()
	for range 20 + r.IntN(25) {
		s := w.newStack(pick(r, []string{"select", "chan receive", "IO wait", "sync.Cond.Wait", "sleep"}))
		used[s.own.function] = true
		wakes := r.IntN(2) == 0
		for range 1 + r.IntN(6) {
			w.add(s, start+w.between(0, 1e-3)*w.span, never).wakes = wakes
		}
	}
}
