package progress

import (
	"strings"

	"leakdiff/analysis"
)

// Wait is what a thread waits for that is no work to come.
type Wait string

// The waits. An idle thread waits for work, or the dump does not tell.
const (
	Idle        Wait = ""
	ForLock     Wait = "lock"
	ForSocket   Wait = "socket"
	ForAnother  Wait = "another thread"
	ForPermit   Wait = "permit"
	ForChild    Wait = "child process"
	ForConnect  Wait = "connection"
	ForReceiver Wait = "receiver"
)

// waits are the methods of the library in which a thread waits for something that was begun. Queues,
// selectors, accept, timers, sleep and conditions are how threads wait for work and are left out.
var waits = map[string]Wait{
	"socket read":    ForSocket,
	"socket connect": ForConnect,
	"socket write":   ForReceiver,

	"java.util.concurrent.locks.ReentrantLock.lock":                    ForLock,
	"java.util.concurrent.locks.ReentrantLock.lockInterruptibly":       ForLock,
	"java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock":  ForLock,
	"java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock": ForLock,
	"java.util.concurrent.locks.StampedLock.readLock":                  ForLock,
	"java.util.concurrent.locks.StampedLock.writeLock":                 ForLock,
	"java.util.concurrent.FutureTask.get":                              ForAnother,
	"java.util.concurrent.CompletableFuture.get":                       ForAnother,
	"java.util.concurrent.CompletableFuture.join":                      ForAnother,
	"java.util.concurrent.ForkJoinTask.get":                            ForAnother,
	"java.util.concurrent.ForkJoinTask.join":                           ForAnother,
	"java.util.concurrent.CountDownLatch.await":                        ForAnother,
	"java.util.concurrent.CyclicBarrier.await":                         ForAnother,
	"java.util.concurrent.AbstractExecutorService.invokeAll":           ForAnother,
	"java.util.concurrent.Semaphore.acquire":                           ForPermit,
	"java.util.concurrent.Semaphore.acquireUninterruptibly":            ForPermit,
	"java.lang.ProcessImpl.waitFor":                                    ForChild,
	"java.lang.UNIXProcess.waitFor":                                    ForChild,
}

// waitOf is what the threads of a family wait for. Whom only the library's own code runs is idle:
// a worker of a pool, an acceptor, a timer. The thread that runs main waits for others until the
// program ends.
func waitOf(f *analysis.Family) Wait {
	if f.Attributes["sort"] == string(analysis.VMThread) || len(f.Loose) == 0 {
		return Idle
	}
	wait := Idle
	if f.Attributes["state"] == "blocked" {
		wait = ForLock
	}
	for _, name := range f.Loose {
		if wait == Idle {
			wait = waits[name]
		}
		if !ofLibrary(name) {
			if wait == ForAnother && strings.HasSuffix(f.Loose[len(f.Loose)-1], ".main") {
				return Idle
			}
			return wait
		}
	}
	return Idle
}

// ofLibrary reports a method of the JDK. A folded leaf, "socket read", has a blank.
func ofLibrary(name string) bool {
	if strings.Contains(name, " ") {
		return true
	}
	for _, prefix := range [...]string{"java.", "javax.", "jdk.", "sun.", "com.sun."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
