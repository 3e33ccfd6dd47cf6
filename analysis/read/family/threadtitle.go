package family

import (
	"strings"
)

// maxTitleName is how much of a name a title shows, in bytes.
const maxTitleName = 120

// machineNames are parts of names of threads of a JVM itself whose digit is no counter.
var machineNames = strings.NewReplacer("GN Conc", "G1 Conc", "GN Refine", "G1 Refine", "GN Main", "G1 Main", "GN Service", "G1 Service", "GN Young", "G1 Young", "GN Parallel", "G1 Parallel",
	"CN CompilerThread", "C1 or C2 CompilerThread")

// threadTitle is the name and the discriminating frame.
//
//	"OkHttp ConnectionPool · ConnectionPool.lambda$new"
func threadTitle(k threadKey, r *stackReading) string {
	title := strings.Join(strings.Fields(k.name.name), " ")
	if len(title) > maxTitleName {
		title = strings.ToValidUTF8(title[:maxTitleName], "") + "…"
	}
	if title == "" {
		title = "thread without a name"
	}
	if len(r.frames) == 0 {
		title = machineNames.Replace(title)
	}
	if frame := r.discriminating(); frame != "" {
		title += " · " + shortJava(frame)
	}
	if k.class == classBlocked {
		title += " (blocked)"
	}
	return title
}

// discriminating is the frame nearest the leaf that belongs to neither the JDK nor a
// carrier of calls; else that outside the JDK; else that of the JDK outside its
// waiting; else the leaf.
func (r *stackReading) discriminating() string {
	loose := r.loose()
	for _, wanted := range []func(string) bool{
		func(s string) bool { return !ofJDK(s) && !carrier(s) },
		func(s string) bool { return !ofJDK(s) },
		func(s string) bool { return !waitMachinery(s) },
	} {
		for _, s := range loose {
			if wanted(s) {
				return s
			}
		}
	}
	if len(loose) > 0 {
		return loose[0]
	}
	return ""
}

func ofJDK(loose string) bool {
	if strings.Contains(loose, " ") { // "socket read"
		return true
	}
	return hasPrefix(loose, "java.", "javax.", "jdk.", "sun.", "com.sun.", "jrockit.")
}

// carrier reports whether a library frame only carries the call of other code.
func carrier(loose string) bool {
	return hasPrefix(loose, "okio.", "io.netty.", "kotlin.", "kotlinx.", "scala.", "groovy.lang.", "org.codehaus.groovy.", "org.springframework.aop.", "com.google.common.util.concurrent.")
}

// OfWait reports a method of a JVM through which a wait passes, whatever is waited for: a park, the
// queue of a lock, what joins them.
func OfWait(method string) bool { return waitMachinery(method) || isPlumbing(method) }

func waitMachinery(loose string) bool {
	if hasPrefix(loose, "java.util.concurrent.locks.", "jdk.internal.misc.Unsafe.", "jdk.internal.vm.") {
		return true
	}
	switch classOf(loose) {
	case "java.lang.Object", "java.lang.Thread", "java.lang.VirtualThread",
		"java.util.concurrent.SynchronousQueue$TransferStack", "java.util.concurrent.SynchronousQueue$TransferQueue",
		"java.util.concurrent.LinkedTransferQueue$DualNode", "java.util.concurrent.SynchronousQueue$Transferer": // since JDK 22
		return true
	}
	return loose == "java.util.concurrent.SynchronousQueue.xfer"
}

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// shortJava is a frame for people: class and method without the package.
//
//	"okhttp3.internal.ws.WebSocketReader.readHeader" = "WebSocketReader.readHeader"
func shortJava(loose string) string {
	if strings.Contains(loose, " ") {
		return loose
	}
	method := strings.LastIndexByte(loose, '.')
	return loose[strings.LastIndexByte(loose[:max(method, 0)], '.')+1:]
}
