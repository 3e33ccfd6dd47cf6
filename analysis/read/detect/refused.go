package detect

import (
	"bytes"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// What to capture instead, for several kinds.
const (
	helpUnpack  = "unpack or decrypt it, and upload the files inside"
	helpPicture = "paste the text that it shows into a file, or upload the file that the text is from: a picture is not read"
	helpPaper   = "copy the text out of it into a file, or upload the file that the text is from"
	helpJVM     = "upload the threads of the process: jcmd PID Thread.print, or jstack -l PID, and lsof -nP -p PID for what it holds open"
	helpOpen    = "upload what the process holds open: lsof -nP -p PID, or ls -l /proc/PID/fd as root; stacks of this language are not read"
	helpErlang  = "read its Slogan, and the console output of that start: the process is gone; crashdump_viewer of Erlang shows the rest"
	helpEnded   = "the process that wrote it is gone: read the message above its stacks, and the log before it; stacks of this language are not read"
	helpNet     = "see where its threads wait with dotnet-stack report -p PID; for what it holds open upload lsof -nP -p PID, or ls -l /proc/PID/fd as root: stacks of .NET are not read"
	helpDumped  = "see its threads with dotnet-dump analyze FILE (clrstack -all); for what a process holds open upload lsof -nP -p PID of one that runs"
	helpCore    = "upload stacks taken of it: jhsdb jstack --exe JAVA --core FILE for a JVM; for Go take a dump with debug=2, or kill -QUIT, before the next core"
	helpSystem  = "it shows how busy the system is, and not what a process holds: upload lsof -nP -p PID, a dump of its goroutines (debug=2) or of its threads (jstack)"
	helpCluster = "it lists what runs, and not what it holds: upload kubectl exec POD -- ls -l /proc/1/fd, or a dump of the program's goroutines or threads"
	helpSockets = "upload the sockets themselves, with all their columns: ss -tunap as root"
	helpNode    = "write a diagnostic report and upload it: process.report.writeReport(), or kill -USR2 with --report-on-signal"
	helpTrace   = "upload two listings some minutes apart instead: ls -l /proc/PID/fd, or lsof -nP -p PID"
	helpProfile = "fetch /debug/pprof/goroutine?debug=2 and upload it"
	helpHandles = "upload the sockets with their owners, netstat -ano, and a dump of the program's goroutines (debug=2) or threads (jstack): handles of Windows are not read"
	helpAnswer  = "ask the program itself where it runs: kubectl exec POD -- curl -s 'http://localhost:PORT/debug/pprof/goroutine?debug=2'; ss -tlnp shows whether it listens"
	helpFailed  = "nothing was captured: mend what the message says, and run the command again as root, while the process lives"
	helpCounted = "upload the listing itself, without the part behind the bar: a count does not say what grew"
	helpPicked  = "upload what it prints, and not the script"
)

// magics are the first bytes of files that hold no evidence, or that the unpacking had to
// leave packed.
var magics = []struct {
	magic      string
	kind       Kind
	what, help string
}{
	{"\x89PNG\r\n\x1a\n", Image, "a PNG image", helpPicture},
	{"\xff\xd8\xff", Image, "a JPEG image", helpPicture},
	{"GIF8", Image, "a GIF image", helpPicture},
	{"BM", Image, "a BMP image", helpPicture},
	{"RIFF", Image, "a WebP image or another file of RIFF", helpPicture},
	{"%PDF-", Binary, "a PDF document", helpPaper},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Binary, "a document of an office program", helpPaper},
	{"\x7fELF", Binary, "a program or library (ELF)", ""},
	{"MZ", Binary, "a program or library of Windows", ""},
	{"\xcf\xfa\xed\xfe", Binary, "a program or library of macOS", ""},
	{"MDMP", Binary, "a minidump of Windows or .NET", helpDumped},
	{"Nettrace", Binary, "a trace of .NET (dotnet-trace, dotnet-gcdump)", helpOpen},
	{"\xca\xfe\xba\xbe", Binary, "a Java class file", helpJVM},
	{"JAVA PROFILE 1.0", Binary, "a heap dump of a JVM", helpJVM},
	{"FLR\x00", Binary, "a recording of the JDK flight recorder", helpJVM},
	{"PERFILE2", Binary, "a recording of perf", helpSystem},
	{"\xd4\xc3\xb2\xa1", Binary, "a capture of packets", helpSockets},
	{"\xa1\xb2\xc3\xd4", Binary, "a capture of packets", helpSockets},
	{"\x0a\x0d\x0d\x0a", Binary, "a capture of packets", helpSockets},
	{"SQLite format 3\x00", Binary, "an SQLite database", ""},
	{"7z\xbc\xaf\x27\x1c", Binary, "a 7-Zip archive that was not opened", helpUnpack},
	{"Rar!\x1a\x07", Binary, "a RAR archive that was not opened", helpUnpack},
	{"D1ag", Binary, "an encrypted TiDB diag archive", helpUnpack},
	{"Salted__", Binary, "a file encrypted with openssl", helpUnpack},
	{"age-encryption.org/", Binary, "a file encrypted with age", helpUnpack},
	{"-----BEGIN AGE ENCRYPTED FILE-----", Binary, "a file encrypted with age", helpUnpack},
	{"-----BEGIN PGP MESSAGE-----", Binary, "a file encrypted with gpg", helpUnpack},
	{"PK\x03\x04", Binary, "a zip archive that was not opened", helpUnpack},
	{"PK\x05\x06", Binary, "an empty zip archive", ""},
	{"\x1f\x8b\x08", Binary, "gzip data that was not unpacked", helpUnpack},
	{"\x28\xb5\x2f\xfd", Binary, "zstd data that was not unpacked", helpUnpack},
	{"\xfd7zXZ\x00", Binary, "xz data that was not unpacked", helpUnpack},
	{"BZh", Binary, "bzip2 data that was not unpacked", helpUnpack},
	{"\x04\x22\x4d\x18", Binary, "lz4 data that was not unpacked", helpUnpack},
	{"\x02\x21\x4c\x18", Binary, "lz4 data that was not unpacked", helpUnpack},
}

// The place of the type of an ELF file, two bytes in either order, and that of a core.
const typeOfELF, coreOfELF = 16, 4

func (v *view) magic() (Result, bool) {
	for _, m := range magics {
		if !bytes.HasPrefix(v.Bytes, []byte(m.magic)) {
			continue
		}
		if len(m.magic) < 3 || m.magic == "RIFF" || m.magic == "MDMP" {
			// Letters that a text may begin with.
			if !bytes.Contains(v.Bytes[:min(len(v.Bytes), 64)], []byte{0}) {
				continue
			}
		}
		r, ok := high(m.kind, m.what)
		r.Help = m.help
		if len(v.Bytes) > typeOfELF+1 && m.magic == "\x7fELF" && v.Bytes[typeOfELF]|v.Bytes[typeOfELF+1] == coreOfELF {
			r.Reason, r.Help = "a core file (ELF)", helpCore
		}
		return r, ok
	}
	if len(v.Bytes) >= 262 && string(v.Bytes[257:262]) == "ustar" {
		r, ok := high(Binary, "a tar archive that was not opened")
		r.Help = helpUnpack
		return r, ok
	}
	return no()
}

// beginning is how many lines of a text are looked at for a title: a prompt and a time may
// stand above it.
const beginning = 6

// stacks are the helps of stacks of languages that are not read.
var stacks = []string{helpOpen, helpErlang, helpEnded, helpNet}

// mostSlogan bounds the line in which a crash dump of Erlang says why it ended.
const mostSlogan = 200

// refusals are texts that are recognised and not read: by a line at their beginning, or by
// lines of which there must be enough.
var refusals = []struct {
	line *expression.Expression
	// enough is 0 for a title.
	enough     int
	what, help string
}{
	// Stacks of other languages and debuggers.
	{expression.Lazy(`^\s*Thread \(0x[0-9A-Fa-f]+\):\s*$`), 1, "stacks of .NET (dotnet-stack)", helpNet},
	{expression.Lazy(`^(OS Thread Id: 0x[0-9a-f]+|\s*Child SP\s+IP Call Site)`), 1, "stacks of .NET (clrstack of dotnet-dump)", helpNet},
	{expression.Lazy(`^\[createdump\] `), 1, "the messages of createdump of .NET, which wrote a dump elsewhere", helpDumped},
	{expression.Lazy(`^Thread \S+ \((idle|active)[^)]*\)(: ".*")?$`), 1, "stacks of Python (py-spy)", helpOpen},
	{expression.Lazy(`^(Current t|T)hread 0x[0-9a-f]+ .*\(most recent call first\):`), 1, "stacks of Python (faulthandler)", helpOpen},
	{expression.Lazy(`^=(erl_crash_dump|proc|port|ets|fun|node):`), 0, "a crash dump of Erlang", helpErlang},
	{expression.Lazy(`^(Thread \d+ \((Thread 0x[0-9a-f]+ \()?LWP \d+|TID \d+:$|#\d+ +0x[0-9a-f]{6,} +(in )?\S)`), 2, "stacks of a debugger (gdb, pstack, eu-stack)", helpOpen},
	{expression.Lazy(`^-- (Control frame|Ruby level backtrace|C level backtrace|Threading|Machine register context|Other runtime) information -`), 1, "a crash of Ruby", helpEnded},
	{expression.Lazy(`^\s*(Thread )?#<Thread:0x[0-9a-f]+`), 1, "threads of Ruby", helpOpen},
	{expression.Lazy(`^(?i:task) \d+:( (Idle|Running|Scheduled|Completed))?$|^\s*╼ \S`), 1, "tasks of tokio (Rust)", helpOpen},
	{expression.Lazy(`^\S+ pid: \d+ \S|^(Nt)?[Hh]andle v[\d.]+ - Handle viewer`), 0, "handles of Windows (handle.exe)", helpHandles},
	{expression.Lazy(`^\[<[0-9a-f]+>\] \S+\+0x[0-9a-f]+/0x`), 1, "a stack of the kernel (/proc/PID/stack)", helpOpen},
	// JVM and Node.
	{expression.Lazy(`^\s*\d+\) Thread\[id=\d+, name=.*, state=\w+, group=`), 1, "threads that a test of Lucene or Elasticsearch left behind (ThreadLeakError)", helpJVM},
	{expression.Lazy(`ThreadLeakError: \d+ threads? leaked from `), 1, "threads that a test of Lucene or Elasticsearch left behind (ThreadLeakError)", helpJVM},
	{expression.Lazy(`^\d+ (sun\.tools\.jps\.|jdk\.jcmd/sun\.tools\.jps\.)?Jps( |$)`), 1, "a list of JVMs (jps)", helpJVM},
	{expression.Lazy(`^\[[\d.]+s\](\[\w+ *\])?\[gc\b`), 2, "a log of the garbage collector of a JVM", helpJVM},
	{expression.Lazy(`^\[[R-][A-][I-]\]\s+\w+\s+0x[0-9a-f]+`), 1, "a list of libuv handles, which does not say where they lead", helpNode},
	{expression.Lazy(`^There (are|is) \d+ handles?\(s\) keeping the process running|^\[WTF Node\?\] open handles:`), 0, "a list of handles that keep Node running", helpNode},
	{expression.Lazy(`^\{"snapshot":\s*\{"meta":`), 0, "a heap snapshot of V8", helpNode},
	{expression.Lazy(`"callFrame":\s*\{`), 0, "a profile of V8 (.cpuprofile)", helpNode},
	// Go.
	{expression.Lazy(`^\s*flat\s+flat%\s+sum%\s+cum\s+cum%`), 1, "text of pprof about something else than goroutines", helpProfile},
	{expression.Lazy(`^(Benchmark\S+\s+\d+\s+[\d.]+ ns/op|goos: )`), 1, "the output of a benchmark of Go", helpProfile},
	// What the system does.
	{expression.Lazy(`^top - \d\d:\d\d:\d\d up `), 0, "the output of top", helpSystem},
	{expression.Lazy(`^procs -+memory|^ *r +b +swpd +free `), 0, "the output of vmstat", helpSystem},
	{expression.Lazy(`^\s+total\s+used\s+free\b`), 0, "the output of free", helpSystem},
	{expression.Lazy(`^(avg-cpu: |Linux \d\S* \(.*\(\d+ CPU\))`), 0, "the output of iostat, mpstat or sar", helpSystem},
	{expression.Lazy(`^ ?\d\d:\d\d:\d\d up .*load average: `), 0, "the output of uptime", helpSystem},
	{expression.Lazy(`^Filesystem\s+(\d*K-blocks|1024-blocks|Size|Type|Inodes|512-blocks)\b`), 0, "the output of df", helpSystem},
	{expression.Lazy(`^(F S\s+UID|USER\s+PID|UID\s+PID|\s*PID\s+(TTY|USER|COMMAND|PPID)|F\s+UID\s+PID)\b`), 0, "a table of processes (ps)", helpSystem},
	{expression.Lazy(`^MemTotal:\s+\d+ kB`), 0, "the memory of the system (/proc/meminfo)", helpSystem},
	{expression.Lazy(`^cpu  \d+ `), 0, "the processor times of /proc/stat", helpSystem},
	{expression.Lazy(`^[0-9a-f]{8,16}-[0-9a-f]{8,16} [r-][w-][x-][ps] [0-9a-f]{8} `), 1, "the memory map of a process (/proc/PID/maps or smaps)", helpSystem},
	{expression.Lazy(`^(<\d+>)?\[ *\d+\.\d{6}\] |^\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\] |^\w{3} +\d+ [\d:]{8} \S+ kernel: `), 2, "a log of the kernel (dmesg)", helpSystem},
	{expression.Lazy(`^(strace: Process \d+ attached|(\[pid +\d+\] |\d+ +)?([\d:]{8}(\.\d+)? |\d+\.\d{6} )?[a-z_0-9]{2,20}\(.*(\) += (-?\d|0x|\?)| <unfinished \.\.\.>))`), 2, "the calls of a process to the kernel (strace)", helpTrace},
	{expression.Lazy(`^% time +seconds +usecs/call`), 0, "a summary of strace, which lists no descriptor", helpTrace},
	// Sockets.
	{expression.Lazy(`^(Netid|State|Proto)\s.*\b(Local|Peer|Foreign)\b`), 0, "a table of sockets (ss or netstat) without the columns that are needed", helpSockets},
	{expression.Lazy(`^\[?[\w.:*%-]+\]?:(\d+|\*)\s+\[?[\w.:*%-]+\]?:(\d+|\*)\s*$`), 2, "pairs of addresses of a table of sockets, without state and owner", helpSockets},
	{expression.Lazy(`^(ipv[46]\s+\d+ )?(tcp|udp)\s+\d+ \d+ .*\bsrc=\S+ dst=`), 1, "connections that the kernel tracks for all hosts (conntrack)", helpSockets},
	{expression.Lazy(`^\S*[$#] (.*\W)?(lsof|lsfd|ls|find|ss|netstat|ps)\b.*\|\s*(wc -l|grep -c)`), 0, "a count of the rows of a listing, which names none of them", helpCounted},
	// Answers and errors.
	{expression.Lazy(`(?i)<(title|h1)>\s*[45]\d\d\b`), 0, "an error page of a server or proxy", helpAnswer},
	{expression.Lazy(`(?i)<title>[^<]*\b(sign.?in|log.?in)\b`), 0, "a page to sign in", helpAnswer},
	{expression.Lazy(`^\s*\{?\s*"kind":\s*"Status"|^\s*"status":\s*"Failure"`), 0, "a refusal of the API of Kubernetes (Status)", helpFailed},
	{expression.Lazy(`^(Error from server|Unable to connect to the server|error: (unable|You must be|lost|timed out)|Error response from daemon)\b`), 0, "an error of kubectl or docker", helpFailed},
	{expression.Lazy(`^\d+: (Unable to open socket file|No such process|Operation not permitted|well-known file)`), 0, "an error of jstack or jcmd", helpFailed},
	{expression.Lazy(`^(curl: \(\d+\)|wget:) `), 0, "an error of curl or wget: the endpoint gave nothing", helpAnswer},
	{expression.Lazy(`(?i)^(404 page not found|403 Forbidden|Unauthorized|Internal Server Error|upstream connect error|no healthy upstream)`), 0, "the answer of a server that refused", helpAnswer},
	{expression.Lazy(`^(lsof|lsfd|netstat|ss|bash|sh|cat|ls|grep|find|awk|xargs|readlink|stat|tail|ssh|sudo|nsenter|crictl): `), 0, "the error output of a command", helpFailed},
	// Clusters and containers.
	{expression.Lazy(`^(NAMESPACE\s+)?NAME\s+(READY|STATUS|TYPE|DESIRED|CPU\(cores\)|ROLES|AGE|UP-TO-DATE|CLASS|COMPLETIONS|SCHEDULE|DATA|SHORTNAMES|CAPACITY|REFERENCE)\b`), 0, "a table of kubectl", helpCluster},
	{expression.Lazy(`^(NAMESPACE\s+)?LAST SEEN\s+TYPE\s+REASON`), 0, "events of kubectl", helpCluster},
	{expression.Lazy(`^Name: +\S+$`), 0, "the output of kubectl describe", helpCluster},
	{expression.Lazy(`^(apiVersion|kind): `), 0, "a Kubernetes object in YAML", helpCluster},
	{expression.Lazy(`^\s*"apiVersion": |^\{("kind":"\w+",)?"apiVersion":`), 0, "Kubernetes objects in JSON", helpCluster},
	{expression.Lazy(`^CONTAINER( ID)?\s+(IMAGE|NAME|CPU)`), 0, "a table of containers", helpCluster},
	{expression.Lazy(`^#! ?/`), 0, "a script", helpPicked},
}

// refused names a text that is recognised and not read.
func (v *view) refused() (Result, bool) {
	for _, f := range refusals {
		lines, enough := v.lines, f.enough
		if enough == 0 {
			lines, enough = lines[:min(len(lines), beginning)], 1
		}
		at, n := slices.IndexFunc(lines, f.line.MatchString), 0
		if at < 0 {
			continue
		}
		for _, l := range lines[at:] {
			if f.line.MatchString(l) {
				n++
			}
		}
		if n >= enough {
			out := Result{Kind: Text, Reason: f.what + ": " + quote(printable(lines[at])) + v.loneHeader(), Confidence: analysis.Medium, Help: f.help}
			if slices.Contains(stacks, f.help) {
				out.Unread = f.what
			}
			if s := slices.IndexFunc(v.lines[:min(len(v.lines), beginning)], func(l string) bool { return strings.HasPrefix(l, "Slogan: ") }); f.help == helpErlang && s >= 0 {
				out.Reason += "; " + printable(v.lines[s][:min(len(v.lines[s]), mostSlogan)])
			}
			return out, true
		}
	}
	return no()
}
