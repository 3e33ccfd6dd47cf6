package family

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis"
)

// Threads gives threads their families: it remembers names and stacks that came before.
// The zero value is ready; it is of use to one goroutine at a time.
type Threads struct {
	names    map[string]*nameReading
	read     map[string]*nameReading // by normalised name
	stacks   map[*analysis.Stack]*stackReading
	families map[threadKey]*analysis.Family
}

const (
	// maxRemembered bounds each memory of Threads but that of printed names.
	maxRemembered = 100_000
	// maxPrinted bounds how many names are remembered as they were printed: to read one
	// again costs little more than to remember it, and in a leaking pool each is new.
	maxPrinted = 1 << 12
)

// threadKey is what makes two threads one family, before it is written out.
type threadKey struct {
	sort   analysis.ThreadSort
	name   *nameReading
	class  string
	stack  *analysis.Stack
	capped bool
}

// nameReading is a normalised name and the pool that it says.
type nameReading struct{ name, pool string }

// OfThread returns the family of a thread by the key of threads.md section 6: who
// made it, its normalised name, its normalised stack and the class of its state.
// Threads of the virtual machine have no stack, and what they do at the moment of
// the dump makes no family. A stack that its form cut off is compared with others
// that were cut off only. Equal families are the same pointer mostly.
func (c *Threads) OfThread(t *analysis.Thread) *analysis.Family {
	n := c.name(t.Name)
	r := c.stack(t.Stack)
	k := threadKey{sort: t.Sort, name: n, class: threadClass(t, r), stack: t.Stack, capped: t.Capped}
	if f := c.families[k]; f != nil {
		return f
	}
	f := familyOf(k, r)
	if c.families == nil {
		c.families = map[threadKey]*analysis.Family{}
	}
	if len(c.families) < maxRemembered {
		c.families[k] = f
	}
	return f
}

func (c *Threads) name(printed string) *nameReading {
	if n := c.names[printed]; n != nil {
		return n
	}
	name := ThreadName(printed)
	if c.names == nil {
		c.names, c.read = map[string]*nameReading{}, map[string]*nameReading{}
	}
	n := c.read[name]
	if n == nil {
		n = &nameReading{name: name, pool: poolOf(name)}
		if len(c.read) < maxRemembered {
			c.read[name] = n
		}
	}
	if len(c.names) < maxPrinted {
		c.names[printed] = n
	}
	return n
}

func (c *Threads) stack(s *analysis.Stack) *stackReading {
	if s == nil {
		return &stackReading{}
	}
	if r := c.stacks[s]; r != nil {
		return r
	}
	r := readJava(s)
	if c.stacks == nil {
		c.stacks = map[*analysis.Stack]*stackReading{}
	}
	if len(c.stacks) < maxRemembered {
		c.stacks[s] = &r
	}
	return &r
}

func familyOf(k threadKey, r *stackReading) *analysis.Family {
	name, pool := k.name.name, k.name.pool
	f := &analysis.Family{
		Fingerprint: digest("t", canonicalThread(k, r)),
		Kind:        analysis.KindThread,
		Title:       threadTitle(k, r),
		Loose:       r.loose(),
		Entry:       pool,
		Attributes:  map[string]string{"name": name, "pool": pool, "sort": string(k.sort)},
	}
	if k.class != "" {
		f.Attributes["state"] = k.class
	}
	if k.capped {
		f.Attributes["stack"] = "cut off by its form"
	}
	return f
}

func canonicalThread(k threadKey, r *stackReading) string {
	var b strings.Builder
	// Names can hold line feeds.
	b.WriteString(key("t", string(k.sort), strconv.Quote(k.name.name), k.class))
	if k.capped {
		b.WriteString("cut off\n")
	}
	loose := r.loose()
	for i := len(loose) - 1; i >= 0; i-- {
		b.WriteString(loose[i] + "\n")
	}
	if r.unavailable != "" {
		b.WriteString("unavailable " + r.unavailable + "\n")
	}
	return b.String()
}

// ExactThread returns the fingerprint of one stack of one build: "e1:" and 32 hex
// digits over classes, methods, file bases and lines, without modules and without
// the numbers that one run of a JVM gives to hidden classes.
func ExactThread(s *analysis.Stack) string {
	var b strings.Builder
	b.WriteString(prefix("e"))
	for i := len(s.Frames) - 1; i >= 0; i-- {
		f := &s.Frames[i]
		b.WriteString(javaName(f.Func) + " " + base(f.File) + ":" + strconv.Itoa(f.Line) + "\n")
	}
	if s.Elided != 0 {
		b.WriteString("elided " + strconv.Itoa(s.Elided) + "\n")
	}
	if s.Unavailable != "" {
		b.WriteString("unavailable " + s.Unavailable + "\n")
	}
	return digest("e", b.String())
}

// The classes of thread states.
const (
	classRunning = "running"
	classWaiting = "waiting"
	classBlocked = "blocked"
)

// threadClass is the class of a thread's state. Forms that print none, and jstack
// -F, whose BLOCKED is everything that waits, leave it to the innermost frame,
// which cannot tell a thread that waits for a monitor.
func threadClass(t *analysis.Thread, r *stackReading) string {
	if t.Sort == analysis.VMThread {
		return ""
	}
	if t.Carrying >= 0 || r.carries() {
		// Forms print the state of the virtual thread for its carrier, or none.
		return classRunning
	}
	switch t.State {
	case "RUNNABLE":
		return classRunning
	case "WAITING", "TIMED_WAITING":
		return classWaiting
	case "BLOCKED":
		return classBlocked
	case "NEW", "TERMINATED":
		return strings.ToLower(t.State)
	}
	switch {
	case strings.HasPrefix(t.State, "waiting for monitor entry"), strings.Contains(t.State, "blocked"):
		return classBlocked
	case r.waits():
		return classWaiting
	case len(r.frames) > 0 || t.State == "" || strings.HasPrefix(t.State, "runnable"):
		return classRunning
	case strings.Contains(t.State, "wait"), strings.Contains(t.State, "sleeping"), strings.Contains(t.State, "parked"):
		return classWaiting
	}
	return classRunning
}

// nameRule replaces what differs between the threads of one sort. The rule is
// tried on names that may hold such a text only: in a leaking pool each name is new,
// and most have a minus or a dot.
type nameRule struct {
	may     func(name string) bool
	find    *regexp.Regexp
	replace string
}

var nameRules = []nameRule{
	{mayHoldUUID, regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`), "<uuid>"},
	{mayHoldAddress, regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+\b)?`), "<addr>"},
	{mayHoldAddress6, regexp.MustCompile(`\[(?:[0-9a-fA-F]*:){2,7}[0-9a-fA-F.]*\](?::\d+\b)?`), "<addr>"},
	{func(name string) bool { return strings.Contains(name, "0x") }, regexp.MustCompile(`\b0x[0-9a-fA-F]+`), "<hex>"},
	{func(name string) bool { return strings.Contains(name, "@") }, regexp.MustCompile(`@[0-9a-f]{5,16}\b`), "@<hex>"},
}

func holdsDigit(name string) bool {
	for i := range len(name) {
		if isDigit(name[i]) {
			return true
		}
	}
	return false
}

func mayHoldUUID(name string) bool { return len(name) >= 36 && strings.Count(name, "-") >= 4 }

// mayHoldAddress reports whether a dot has digits on both sides.
func mayHoldAddress(name string) bool {
	for i := 1; i < len(name)-1; i++ {
		if name[i] == '.' && isDigit(name[i-1]) && isDigit(name[i+1]) {
			return true
		}
	}
	return false
}

func mayHoldAddress6(name string) bool {
	return strings.Contains(name, "[") && strings.Count(name, ":") >= 2
}

// ThreadName returns the name of a thread without what changes from one thread of
// a pool to the next: UUIDs, addresses, hashes and numbers. Host names stay, and
// ends that say what the thread does at the moment are cut.
//
//	"OkHttp WebSocket http://localhost:43177/..."      = "OkHttp WebSocket http://localhost:N/..."
//	"-2073792911-pool-734325-thread-1"                 = "N-pool-N-thread-N"
//	"Executor #1 for master : executing job #18"       = "Executor #N for master"
//	"Handling GET /job/x from 10.0.0.1 : qtp42-17 ..." = "Handling GET /job/x"
func ThreadName(printed string) string {
	name := cutVolatile(printed)
	if !holdsDigit(name) && !strings.ContainsAny(name, "@:") {
		return name
	}
	for _, r := range nameRules {
		if r.may(name) {
			name = r.find.ReplaceAllString(name, r.replace)
		}
	}
	return cutNumbers(name)
}

// cutNumbers replaces every run of digits. A minus before it is part of the
// number unless it joins it to a word.
//
//	"-12-pool-7" = "N-pool-N"
func cutNumbers(name string) string {
	var out []byte
	from := 0 // what stands before is in out
	for i := 0; i < len(name); i++ {
		if !isDigit(name[i]) {
			continue
		}
		begin := i
		if i > from && name[i-1] == '-' {
			if before, size := utf8.DecodeLastRuneInString(name[:i-1]); size == 0 || !joins(before) {
				begin--
			}
		}
		if out == nil {
			out = make([]byte, 0, len(name)+1)
		}
		out = append(append(out, name[from:begin]...), 'N')
		for i < len(name) && isDigit(name[i]) {
			i++
		}
		from = i
	}
	if out == nil {
		return name
	}
	return string(append(out, name[from:]...))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// joins reports whether a minus behind c joins a number to a word.
func joins(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune(")]>-", c)
}

// cutVolatile cuts what a thread says of the work it does at the moment.
func cutVolatile(name string) string {
	if at := strings.Index(name, " : executing"); at > 0 {
		name = name[:at]
	}
	if strings.HasPrefix(name, "Handling ") {
		if at := strings.Index(name, " from "); at > 0 {
			name = name[:at]
		}
	}
	return name
}

// counted is the counter of a thread within its pool, in a normalised name; after
// a slash or a colon a number is part of an address.
var (
	counted = regexp.MustCompile(`(?:-thread-N|\s*\[#N\]|-N|\s*#N)$|([\pL)])\s?N$`)
)

func poolOf(name string) string {
	pool := counted.ReplaceAllString(name, "$1")
	if pool == "" {
		return name
	}
	return pool
}

// javaFrame is what the rules make of one frame.
type javaFrame struct {
	loose string
	// dropped frames are not compared.
	dropped bool
}

// stackReading is the stack of a thread under the rules of threads.md section 6.
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
	find    *regexp.Regexp
	replace string
}

var classRules = []classRule{
	{regexp.MustCompile(`\$\$Lambda(?:\$\d+)?(?:/(?:0x[0-9a-f]+|\d+))?`), "$$$$Lambda"}, // number of the lambda class
	{regexp.MustCompile(`\blambda\$(.*)\$\d+$`), "lambda$$$1"},                          // number of the lambda
	{regexp.MustCompile(`[/+]0x[0-9a-f]+|/\d+`), ""},                                    // id of the hidden class
	{regexp.MustCompile(`\$Proxy\d+`), "$$Proxy"},                                       // number of the proxy
	{regexp.MustCompile(`(Generated\w*Accessor)\d+`), "$1"},                             // number of the accessor
	{regexp.MustCompile(`(LambdaForm\$\w*?)\d+`), "$1"},                                 // number of the method handle's form
	{regexp.MustCompile(`\$\$(\w+?)\$\$[0-9a-f]+`), "$$$$$1"},                           // id of the generated class
	{regexp.MustCompile(`\d{6,}`), "N"},                                                 // number of the script
}

// javaName returns one class and method as it is compared. Modules, which the parsers
// keep before the file, are cut where a name still has one.
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

// operation is what the folded frames do, told by the outermost that says it.
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

// leafKind is what an innermost class waits for, empty where it is none of those
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

// foldWait gives the innermost frames of waiting one spelling for all releases.
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
	for cycle := 1; cycle <= longestCycle && 2*cycle <= len(r.kept); cycle++ {
		start := len(r.kept) - cycle
		equal := true
		for k := start; k < len(r.kept) && equal; k++ {
			equal = r.frames[r.kept[k]].loose == r.frames[r.kept[k-cycle]].loose
		}
		if !equal {
			continue
		}
		for _, k := range r.kept[start:] {
			r.frames[k].dropped = true
		}
		r.kept = r.kept[:start]
		return
	}
}

// maxTitleName is how much of a name a title shows, in bytes.
const maxTitleName = 120

// threadTitle is the name and the frame that tells most.
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
	if telling := r.telling(); telling != "" {
		title += " · " + shortJava(telling)
	}
	if k.class == classBlocked {
		title += " (blocked)"
	}
	return title
}

// telling is the frame nearest the leaf of somebody's own code, else of a library
// that carries calls, else of the JDK outside its waiting, else the leaf.
func (r *stackReading) telling() string {
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

// carrier reports whether a library frame only carries somebody's call.
func carrier(loose string) bool {
	return hasPrefix(loose, "okio.", "io.netty.", "kotlin.", "kotlinx.", "scala.", "groovy.lang.", "org.codehaus.groovy.", "org.springframework.aop.", "com.google.common.util.concurrent.")
}

func waitMachinery(loose string) bool {
	if hasPrefix(loose, "java.util.concurrent.locks.", "jdk.internal.misc.Unsafe.", "jdk.internal.vm.") {
		return true
	}
	switch classOf(loose) {
	case "java.lang.Object", "java.lang.Thread", "java.lang.VirtualThread":
		return true
	}
	return false
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

// LooseMethod returns a Java class and method as families compare them: without
// module, hidden class and generated numbers.
//
//	"okhttp3.ConnectionPool$$Lambda$33/0x00007f335c00ebf8.run" = "okhttp3.ConnectionPool$$Lambda.run"
func LooseMethod(printed string) string { return javaName(printed) }
