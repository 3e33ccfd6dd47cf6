package family

import (
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// javaFrame is what the rules make of one frame.
type javaFrame struct {
	loose string
	// dropped frames are not compared.
	dropped bool
}

// stackReading is the stack of a thread under the rules of families.
type stackReading struct {
	frames      []javaFrame
	kept        []int
	unavailable string
}

func readJava(s *analysis.Stack) stackReading {
	r := stackReading{frames: make([]javaFrame, len(s.Frames)), unavailable: s.Unavailable}
	for i, f := range s.Frames {
		r.frames[i].loose = javaName(f.Func)
	}
	r.foldLeaf()
	for i := range r.frames {
		if isPlumbing(r.frames[i].loose) {
			r.frames[i].dropped = true
		}
	}
	r.foldRecursion()
	if len(r.kept) == 0 && len(r.frames) > 0 {
		// Nothing else is on the stack.
		r.frames[len(r.frames)-1].dropped = false
		r.kept = append(r.kept, len(r.frames)-1)
	}
	return r
}

func (r *stackReading) loose() []string {
	out := make([]string, len(r.kept))
	for i, k := range r.kept {
		out[i] = r.frames[k].loose
	}
	return out
}

// classRule takes out of a class or method what a compiler, a library or one run
// of a JVM numbers.
type classRule struct {
	find    *expression.Expression
	replace string
}

var classRules = []classRule{
	{expression.Lazy(`\$\$Lambda(?:\$\d+)?(?:/(?:0x[0-9a-f]+|\d+))?`), "$$$$Lambda"}, // number of the lambda class
	{expression.Lazy(`\blambda\$(.*)\$\d+$`), "lambda$$$1"},                          // number of the lambda
	{expression.Lazy(`[/+]0x[0-9a-f]+|/\d+`), ""},                                    // id of the hidden class
	{expression.Lazy(`\$Proxy\d+`), "$$Proxy"},                                       // number of the proxy
	{expression.Lazy(`(Generated\w*Accessor)\d+`), "$1"},                             // number of the accessor
	{expression.Lazy(`(LambdaForm\$\w*?)\d+`), "$1"},                                 // number of the method handle's form
	{expression.Lazy(`\$\$(\w+?)\$\$[0-9a-f]+`), "$$$$$1"},                           // id of the generated class
	{expression.Lazy(`\d{6,}`), "N"},                                                 // number of the script
}

// javaName returns one class and method as it is compared. Modules, which the parsers
// keep before the file, are cut if a name still has one.
//
//	"okhttp3.ConnectionPool$$Lambda$33/0x00007f335c00ebf8.run" = "okhttp3.ConnectionPool$$Lambda.run"
func javaName(printed string) string {
	loose := printed
	if at := strings.LastIndexByte(printed, '/'); at >= 0 && at+1 < len(printed) && (printed[at+1] < '0' || printed[at+1] > '9') {
		loose = printed[at+1:]
	}
	if !strings.ContainsAny(loose, "$/+0123456789") {
		return loose
	}
	for _, r := range classRules {
		loose = r.find.ReplaceAllString(loose, r.replace)
	}
	return loose
}

// isPlumbing reports whether a frame is not compared: some forms and releases leave it
// out, or it changes while the thread does the same.
func isPlumbing(loose string) bool {
	switch loose {
	case "java.lang.Thread.runWith":
		return true // left out by thread MX beans and dump_to_file
	case "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode.block",
		"java.util.concurrent.ForkJoinPool.unmanagedBlock", "java.util.concurrent.ForkJoinPool.managedBlock":
		return true // inside of await, since JDK 17 only
	}
	switch class := classOf(loose); {
	case strings.HasSuffix(class, "$$Lambda"):
		return true // hidden class, left out by dump_to_file
	case strings.HasPrefix(class, "java.lang.invoke.LambdaForm$"), strings.HasPrefix(class, "java.lang.invoke.") && strings.HasSuffix(class, "$Holder"):
		return true // inside of a method handle
	case (strings.HasPrefix(class, "sun.reflect.") || strings.HasPrefix(class, "jdk.internal.reflect.")) && strings.Contains(class, "Accessor"):
		return true // inside of reflection, changes after some calls
	}
	return false
}

// classOf is the class of a loose name.
//
//	"java.lang.Thread.run" = "java.lang.Thread"
func classOf(loose string) string { return loose[:max(strings.LastIndexByte(loose, '.'), 0)] }

// foldLeaf folds innermost frames that one and the same wait passes through: a
// thread that reads from a socket is found in Net.poll, in SocketDispatcher.read0
// or on the way between them.
//
//	sun.nio.ch.Net.poll, sun.nio.ch.NioSocketImpl.park, ..., java.net.Socket$SocketInputStream.read = socket read
func (r *stackReading) foldLeaf() {
	end, kind := 0, ""
	for end < len(r.frames) {
		k := leafKind(classOf(r.frames[end].loose))
		if k == "" || kind != "" && k != kind {
			break
		}
		kind = k
		end++
	}
	if end == 0 {
		r.foldWait()
		return
	}
	name := kind
	if kind == "socket" {
		operation := r.operation(end)
		if operation == "" {
			return
		}
		name += " " + operation
	}
	for i := range end - 1 {
		r.frames[i].dropped = true
	}
	r.frames[end-1].loose = name
}

// operation names what the folded frames do, by the outermost frame whose method names
// it.
func (r *stackReading) operation(end int) string {
	for i := end - 1; i >= 0; i-- {
		method := strings.ToLower(lastPart(r.frames[i].loose))
		for _, word := range [...]string{"accept", "connect", "read", "write", "receive", "send"} {
			if strings.Contains(method, word) {
				return word
			}
		}
	}
	return ""
}

// leafKind is what an innermost class waits for, empty if it is none of those
// that are folded.
func leafKind(class string) string {
	class, _, _ = strings.Cut(class, "$")
	switch class {
	case "sun.nio.ch.EPoll", "sun.nio.ch.EPollArrayWrapper", "sun.nio.ch.EPollSelectorImpl", "sun.nio.ch.KQueue",
		"sun.nio.ch.KQueueArrayWrapper", "sun.nio.ch.KQueueSelectorImpl", "sun.nio.ch.WEPoll", "sun.nio.ch.WEPollSelectorImpl",
		"sun.nio.ch.WindowsSelectorImpl", "sun.nio.ch.PollSelectorImpl", "sun.nio.ch.PollArrayWrapper",
		"sun.nio.ch.DevPollArrayWrapper", "sun.nio.ch.DevPollSelectorImpl", "sun.nio.ch.SelectorImpl":
		return "selector wait"
	case "sun.nio.ch.Net", "sun.nio.ch.SocketDispatcher", "sun.nio.ch.UnixDispatcher", "sun.nio.ch.NioSocketImpl", "sun.nio.ch.IOUtil",
		"sun.nio.ch.SocketChannelImpl", "sun.nio.ch.ServerSocketChannelImpl", "sun.nio.ch.SocketAdaptor", "sun.nio.ch.ServerSocketAdaptor",
		"java.net.SocketInputStream", "java.net.SocketOutputStream", "java.net.Socket", "java.net.ServerSocket",
		"java.net.PlainSocketImpl", "java.net.AbstractPlainSocketImpl", "java.net.SocksSocketImpl", "java.net.DualStackPlainSocketImpl",
		"java.net.TwoStacksPlainSocketImpl":
		return "socket"
	}
	return ""
}

// foldWait replaces the innermost frames of waiting by one spelling for all releases.
func (r *stackReading) foldWait() {
	for i := range r.frames {
		f := &r.frames[i]
		name := ""
		switch f.loose {
		case "java.lang.Object.wait0", "java.lang.Object.wait":
			name = "java.lang.Object.wait"
		case "java.lang.Thread.sleep0", "java.lang.Thread.sleepNanos", "java.lang.Thread.sleepNanos0", "java.lang.Thread.sleep":
			name = "java.lang.Thread.sleep"
		case "sun.misc.Unsafe.park", "jdk.internal.misc.Unsafe.park":
			name = "jdk.internal.misc.Unsafe.park"
		default:
			return
		}
		f.loose = name
	}
}

// carries reports whether a virtual thread runs on top of the stack.
func (r *stackReading) carries() bool {
	return len(r.kept) > 0 && r.frames[r.kept[0]].loose == "jdk.internal.vm.Continuation.run"
}

// waits reports whether the innermost frame is one of those that wait.
func (r *stackReading) waits() bool {
	if len(r.kept) == 0 {
		return false
	}
	switch r.frames[r.kept[0]].loose {
	case "java.lang.Object.wait", "java.lang.Thread.sleep", "jdk.internal.misc.Unsafe.park", "java.lang.VirtualThread.park", "java.lang.VirtualThread.parkNanos":
		return true
	}
	return false
}

// foldRecursion keeps one of several equal runs of up to longestCycle frames, so
// that depth makes no families.
func (r *stackReading) foldRecursion() {
	for i := range r.frames {
		if r.frames[i].dropped {
			continue
		}
		r.kept = append(r.kept, i)
		r.foldCycle()
	}
}

func (r *stackReading) foldCycle() {
	cycle := repeatedCycle(r.kept, func(frame int) string { return r.frames[frame].loose })
	start := len(r.kept) - cycle
	for _, k := range r.kept[start:] {
		r.frames[k].dropped = true
	}
	r.kept = r.kept[:start]
}

// LooseMethod returns a Java class and method as families compare them: without
// module, hidden class and generated numbers.
//
//	"okhttp3.ConnectionPool$$Lambda$33/0x00007f335c00ebf8.run" = "okhttp3.ConnectionPool$$Lambda.run"
func LooseMethod(printed string) string { return javaName(printed) }
