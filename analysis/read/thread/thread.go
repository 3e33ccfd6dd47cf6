// Package thread reads what a JVM prints about its threads: the text of jstack, jcmd
// and kill -3 in the spelling of every release, the forms of thread MX beans (Jenkins,
// VisualVM, ThreadInfo), Thread.dump_to_file, the actuator's JSON, the javacores of IBM's
// machines and OpenJ9, and hot threads of Elasticsearch. It also reads the
// client summary and the descriptor targets that Jenkins prints. It takes readers and
// hands each thread to a visitor with the ordinal of its dump, since one log may hold
// many; equal stacks are shared. It does not know which process a dump belongs to, how
// threads group into families, or whether anything leaks.
package thread

import (
	"time"

	"leakdiff/analysis"
)

// The forms of a dump.
const (
	// FormHotSpot is jstack, kill -3, jcmd Thread.print, and exports that copy it.
	FormHotSpot = "hotspot"
	// FormSupportCore is nodes/*/thread-dump.txt of Jenkins support-core.
	FormSupportCore = "support-core"
	// FormJenkins is the page /threadDump, which has "Group=".
	FormJenkins = "jenkins"
	// FormThreadInfo is ThreadInfo.toString, which stops after eight frames, and
	// other programs' print of the same bean.
	FormThreadInfo = "threadinfo"
	// FormStackTraces is Thread.toString over Thread.getAllStackTraces.
	FormStackTraces = "stacktraces"
	// FormVisualVM is "Thread t@12", which the actuator's text has as well.
	FormVisualVM = "visualvm"
	// FormJConsole is the paste of one thread's details in JConsole.
	FormJConsole = "jconsole"
	// FormJavaMelody is the text of JavaMelody, also as the monitoring plugin of Jenkins.
	FormJavaMelody = "javamelody"
	// FormJstackF is jstack -F, which has no names.
	FormJstackF = "jstack-f"
	FormJRockit = "jrockit"
	// FormHPUX is HotSpot text with lwp_id=.
	FormHPUX = "hp-ux"
	// FormJavacore is what IBM's virtual machines and OpenJ9 write.
	FormJavacore = "javacore"
	// FormHotThreads is the answer of /_nodes/hot_threads of Elasticsearch and OpenSearch.
	FormHotThreads = "hot-threads"
	// FormDumpToFile and FormDumpToFileJSON are jcmd Thread.dump_to_file.
	FormDumpToFile     = "dump-to-file"
	FormDumpToFileJSON = "dump-to-file-json"
	// FormActuator is /actuator/threaddump of Spring Boot as JSON.
	FormActuator = "actuator"
)

// Config bounds what a parser keeps. The zero value means the defaults.
type Config struct {
	// Path goes into every problem.
	Path string
	// MaxStacks is how many distinct stacks are kept, 20,000 by default. All
	// further threads get one shared stack that is Unavailable.
	MaxStacks int
	// MaxProblems is the number of problems that are listed, 100 by default, before one
	// summary.
	MaxProblems int
}

func (c Config) withDefaults() Config {
	if c.MaxStacks <= 0 {
		c.MaxStacks = 20_000
	}
	if c.MaxProblems <= 0 {
		c.MaxProblems = 100
	}
	return c
}

// Dump is one dump as a whole.
type Dump struct {
	// Ordinal counts the dumps of a file from 0.
	Ordinal int
	Form    string
	// PID is 0 if it was not printed.
	PID int
	// Time is zero if none was printed. Zoneless is true if it has no zone and was read
	// as UTC: the JVM prints its local time.
	Time     time.Time
	Zoneless bool
	// Node is the heading of a support-core dump, "Master" or an agent's name, or the node
	// of hot threads.
	Node string
	// Version is as printed: "OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode)".
	Version string
	// MainElapsed is the age of "main" in seconds, about the uptime; -1 unknown.
	MainElapsed float64
	// Threads counts those given to the visitor. Declared is the length of the
	// JVM's own list of Java threads (SMR info), 0 unknown; it leaves out the
	// threads of the virtual machine.
	Threads, Declared int
	// Refused counts what begins like a thread and was not understood: Threads is then
	// a lower bound.
	Refused   int
	Deadlocks []Deadlock
	// Unresponsive is the *WARNING* line of support-core.
	Unresponsive string
	// Containers counts the containers of dump_to_file by executor class; nil in
	// other forms.
	Containers map[string]int
	// Truncated is true if the text stops before the dump's end; TruncatedWhy is the
	// sign of it.
	Truncated    bool
	TruncatedWhy string
	// Excerpt reports a part of a javacore below another one, without the title that names its process.
	Excerpt bool
	// Line counts from 1, Offset is in bytes: where the dump begins, its date line
	// included.
	Line, Offset int64
}

// Deadlock is a cycle of threads that wait for each other.
type Deadlock struct {
	Threads []DeadlockLink
	// Derived is true if no JVM reported it: it follows from the owner of what each
	// thread waits for.
	Derived bool
}

// DeadlockLink is one thread of a deadlock.
type DeadlockLink struct {
	Name string
	// Waits is the class and, in parentheses, the address or hash of what it waits
	// for: "java.lang.Object (0x00000000f8000280)".
	Waits string
	// HeldBy is the name of the thread that holds it.
	HeldBy string
}

// Bounds that keep memory flat whatever is uploaded.
const (
	// maxFrames is how many frames of one thread are kept. HotSpot keeps 1,024 for
	// exceptions and prints no more than the stack holds.
	maxFrames = 4096
	maxLocks  = 4096
	// maxDumps bounds the dumps of one file; the rest is counted only.
	maxDumps = 1000
	// maxJoined is how many lines and bytes a name with line feeds may span.
	maxJoinedLines, maxJoinedBytes = 16, 8 << 10
	maxDeadlocks                   = 256
	maxLinks                       = 4096
	// maxOwners bounds what is remembered of one dump to find cycles of owners.
	maxOwners     = 100_000
	maxContainers = 4096
)

func newThread() analysis.Thread {
	return analysis.Thread{ID: -1, Carrying: -1, Elapsed: -1, CPU: -1, Sort: analysis.JavaThread}
}
