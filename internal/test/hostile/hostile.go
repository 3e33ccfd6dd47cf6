// Package hostile is for tests alone: it writes inputs that cost readers and pages much
// memory or work for their size. Each has all its members different where bounds on equal
// ones do not help.
package hostile

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"time"
)

// Input is one kind of hostile upload.
type Input struct {
	Name string
	// File is the name that it is uploaded under.
	File string
	// N is how many members it has at its full size.
	N int
	// Write writes an input of n members.
	Write func(w io.Writer, n int) error
}

// All are the inputs.
func All() []Input {
	return []Input{
		{"threads without anything in common", "jstack.txt", 20_000, text(differentThreads)},
		{"threads with deep stacks", "jstack.txt", 1_000, text(deepThreads)},
		{"a chain of locks", "jstack.txt", 50_000, text(lockChain)},
		{"deadlocks", "jstack.txt", 50_000, text(deadlocks)},
		{"a lock with many waiters", "jstack.txt", 50_000, text(crowdedLock)},
		{"tiny dumps of a JVM", "jstack.txt", 50_000, text(tinyThreadDumps)},
		{"a javacore", "javacore.20261121.030000.4711.0001.txt", 50_000, text(javacore)},
		{"rows of lsof of one process", "lsof.txt", 250_000, text(differentRows)},
		{"rows of lsof of as many processes", "lsof.txt", 250_000, text(differentProcesses)},
		{"fields of lsof of as many processes", "lsof.txt", 250_000, text(fieldProcesses)},
		{"listings of lsof one after the other", "lsof.txt", 50_000, text(manyListings)},
		{"stacks of debug=2", "goroutine.txt", 100_000, text(differentStacks)},
		{"stacks of debug=1", "goroutine.txt", 300_000, text(differentRecords)},
		{"tiny dumps of goroutines", "goroutine.txt", 300_000, text(tinyDumps)},
		{"states of goroutines", "goroutine.txt", 300_000, text(differentStates)},
		{"labels of goroutines", "goroutine.txt", 100_000, text(differentLabels)},
		{"labels of Prometheus", "metrics.txt", 1_000_000, text(metricLabels)},
		{"names of Prometheus", "metrics.txt", 1_000_000, text(metricNames)},
		{"handles of Node.js", "report.json", 500_000, text(nodeHandles)},
		{"deep JSON", "deep.json", 5_000_000, text(deepJSON)},
		{"JSON of many keys", "keys.json", 1_000_000, text(manyKeys)},
		{"mounts", "mountinfo", 200_000, text(mounts)},
		{"one long line", "long.txt", 64 << 20, text(longLine)},
		{"long lines of a dump", "goroutine.txt", 200, text(longFrames)},
		{"a prefix for each line", "app.log", 300_000, text(prefixedLines)},
		{"fences of Markdown", "ticket.md", 300_000, text(fences)},
		{"dumps in fences", "ticket.md", 100_000, text(fencedDumps)},
		{"sockets of ss", "ss.txt", 300_000, text(sockets)},
		{"empty files in a tar", "empty.tar.gz", 400_000, packed(emptyFiles)},
		{"small files in a tar", "small.tar.gz", 200_000, packed(smallFiles)},
		{"dumps in a tar", "dumps.tar.gz", 50_000, packed(dumpFiles)},
		{"directories of descriptors in a tar", "fdinfo.tar.gz", 200_000, packed(fdinfo)},
		{"watches of inotify in a tar", "watches.tar.gz", 1_000_000, packed(watches)},
		{"links in a tar", "links.tar.gz", 200_000, packed(links)},
		{"deep directories in a tar", "deep.tar.gz", 20_000, packed(deepDirectories)},
		{"empty files in a zip", "empty.zip", 200_000, emptyZip},
		{"a bomb of zeros", "zeros.gz", 2 << 30, zeros},
		{"a bomb of a dump", "goroutine.txt.gz", 20_000_000, bomb},
	}
}

func text(write func(w *bufio.Writer, n int)) func(io.Writer, int) error {
	return func(w io.Writer, n int) error {
		out := bufio.NewWriterSize(w, 1<<16)
		write(out, n)
		return out.Flush()
	}
}

func threadHead(w *bufio.Writer) {
	fmt.Fprint(w, "2026-11-21 03:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n")
}

func differentThreads(w *bufio.Writer, n int) {
	threadHead(w)
	for i := range n {
		fmt.Fprintf(w, "\"worker-%s\" #%d prio=5 os_prio=0 cpu=1.00ms elapsed=10.00s tid=0x%016x nid=0x%x waiting for monitor entry  [0x%016x]\n   java.lang.Thread.State: BLOCKED (on object monitor)\n", word(i), i+1, 0x7f0000000000+i*0x800, i+1, 0x7f1000000000+i*0x1000)
		fmt.Fprintf(w, "\tat com.example.%s.Task%s.run(Task%d.java:%d)\n\t- waiting to lock <0x%016x> (a com.example.Lock%s)\n\t- locked <0x%016x> (a com.example.Held%s)\n\n", word(i), word(i), i, i+1, 0x700000000+i*16, word(i), 0x800000000+i*16, word(i))
	}
}

func deepThreads(w *bufio.Writer, n int) {
	threadHead(w)
	for i := range n {
		fmt.Fprintf(w, "\"deep-%s\" #%d prio=5 os_prio=0 tid=0x%016x nid=0x%x runnable  [0x%016x]\n   java.lang.Thread.State: RUNNABLE\n", word(i), i+1, 0x7f0000000000+i*0x800, i+1, 0x7f1000000000+i*0x1000)
		for f := range 1000 {
			fmt.Fprintf(w, "\tat com.example.p%d.C%s.m%d(C.java:%d)\n", f, word(i), f, f)
		}
		w.WriteByte('\n')
	}
}

func thread(w *bufio.Writer, i int, lines string) {
	fmt.Fprintf(w, "\"t%d\" #%d prio=5 os_prio=0 tid=0x%016x nid=0x%x waiting for monitor entry  [0x%016x]\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat com.example.Task.run(Task.java:1)\n%s\n", i, i+1, 0x7f0000000000+i*0x800, i+1, 0x7f1000000000+i*0x1000, lines)
}

func lockChain(w *bufio.Writer, n int) {
	threadHead(w)
	for i := range n {
		thread(w, i, fmt.Sprintf("\t- waiting to lock <0x%016x> (a com.example.Lock)\n\t- locked <0x%016x> (a com.example.Lock)\n", 0x700000000+(i+1)*16, 0x700000000+i*16))
	}
}

func deadlocks(w *bufio.Writer, n int) {
	threadHead(w)
	for i := range n {
		thread(w, i, fmt.Sprintf("\t- waiting to lock <0x%016x> (a com.example.Lock)\n\t- locked <0x%016x> (a com.example.Lock)\n", 0x700000000+(i^1)*16, 0x700000000+i*16))
	}
	for i := 0; i < n; i += 2 {
		fmt.Fprintf(w, "Found one Java-level deadlock:\n=============================\n\"t%d\":\n  waiting to lock monitor 0x%016x (object 0x%016x, a com.example.Lock),\n  which is held by \"t%d\"\n\"t%d\":\n  waiting to lock monitor 0x%016x (object 0x%016x, a com.example.Lock),\n  which is held by \"t%d\"\n\n",
			i, i, 0x700000000+(i^1)*16, i^1, i^1, i, 0x700000000+i*16, i)
	}
}

func crowdedLock(w *bufio.Writer, n int) {
	threadHead(w)
	for i := range n {
		thread(w, i, "\t- waiting to lock <0x0000000700000000> (a com.example.Lock)\n")
	}
}

func tinyThreadDumps(w *bufio.Writer, n int) {
	for i := range n {
		threadHead(w)
		thread(w, i, "")
	}
}

func javacore(w *bufio.Writer, n int) {
	fmt.Fprint(w, "0SECTION       TITLE subcomponent dump routine\nNULL           ===============================\n1TISIGINFO     Dump Event \"user\" (00004000) received\n1TIDATETIME    Date: 2026/11/21 at 03:00:00:123\nNULL           ------------------------------------------------------------------------\n0SECTION       THREADS subcomponent dump routine\nNULL           =================================\n1XMTHDINFO     Thread Details\nNULL\n")
	for i := range n {
		fmt.Fprintf(w, "3XMTHREADINFO      \"worker-%s\" J9VMThread:0x%016X, omrthread_t:0x%016X, java/lang/Thread:0x%016X, state:B, prio=5\n3XMJAVALTHREAD            (java/lang/Thread getId:0x%X, isDaemon:true)\n3XMTHREADBLOCK     Blocked on: com/example/Lock%s@0x%016X Owned by: \"worker-%s\" (J9VMThread:0x%016X, java/lang/Thread:0x%016X)\n3XMTHREADINFO3           Java callstack:\n4XESTACKTRACE                at com/example/%s/Task%s.run(Task.java:%d)\n5XESTACKTRACE                   (entered lock: com/example/Held%s@0x%016X, entry count: 1)\nNULL\n",
			word(i), i, i, i, i+1, word(i), 0x700000000+i*16, word(i+1), i+1, i+1, word(i), word(i), i+1, word(i), 0x800000000+i*16)
	}
}

const lsofHeader = "COMMAND     PID USER   FD      TYPE             DEVICE SIZE/OFF     NODE NAME\n"

func differentRows(w *bufio.Writer, n int) {
	fmt.Fprint(w, lsofHeader)
	for i := range n {
		if i%2 == 0 {
			fmt.Fprintf(w, "leaky      4711 root %6du  IPv4 %18d      0t0      TCP 10.%d.%d.%d:%d->%d.%d.%d.7:443 (ESTABLISHED)\n", i, 340_000+i, i>>16&255, i>>8&255, i&255, 1024+i%60000, 11+i>>16&127, i>>8&255, i&255)
			continue
		}
		fmt.Fprintf(w, "leaky      4711 root %6du   REG              253,%d    %5d %8d /var/%s/%s/file-%s.log\n", i, i%997, i, 100_000+i, word(i), word(i/7), word(i))
	}
}

func differentProcesses(w *bufio.Writer, n int) {
	fmt.Fprint(w, lsofHeader)
	for i := range n {
		fmt.Fprintf(w, "p%-8x %6d u%d %6du   REG              253,1    %5d %8d /var/lib/%s/data\n", i, i+1, i%1000, 3, i, 100_000+i, word(i))
	}
}

func fieldProcesses(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, "p%d\ncp%x\nu0\nLroot\nf3\nau\ntREG\nD0xfd01\ni%d\nn/var/lib/%s/data\n", i+1, i, 100_000+i, word(i))
	}
}

func manyListings(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprint(w, lsofHeader)
		fmt.Fprintf(w, "leaky      4711 root      3u   REG              253,1    %5d %8d /var/lib/%s/data\n", i, 100_000+i, word(i))
	}
}

func differentStacks(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, "goroutine %d [chan receive, %d minutes]:\n", i+1, i%90)
		for f := range 3 {
			fmt.Fprintf(w, "example.com/app/%s.(*T%s).m%d(0xc%09x, 0x%x)\n\t/src/app/%s/file%d.go:%d +0x%x\n", word(i), word(i), f, i*64, i, word(i), f, i+1, i&0xfff)
		}
		fmt.Fprintf(w, "created by example.com/app/%s.Start in goroutine 1\n\t/src/app/%s/start.go:%d +0x1d\n\n", word(i), word(i), i+1)
	}
}

func differentRecords(w *bufio.Writer, n int) {
	fmt.Fprintf(w, "goroutine profile: total %d\n", n)
	for i := range n {
		fmt.Fprintf(w, "1 @ 0x%x 0x%x\n#\t0x%x\texample.com/app/%s.(*T%s).wait+0x1d\t/src/app/%s/file.go:%d\n#\t0x%x\texample.com/app/%s.run+0x2e\t/src/app/%s/run.go:%d\n\n", 0x400000+i, 0x800000+i, 0x400000+i, word(i), word(i), word(i), i+1, 0x800000+i, word(i), word(i), i+1)
	}
}

func tinyDumps(w *bufio.Writer, n int) {
	for range n {
		fmt.Fprint(w, "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:2 +0x1d\n\n")
	}
}

func differentStates(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, "goroutine %d [state %s]:\nmain.main()\n\t/src/main.go:2 +0x1d\n\n", i+1, word(i))
	}
}

func differentLabels(w *bufio.Writer, n int) {
	fmt.Fprintf(w, "goroutine profile: total %d\n", n)
	for i := range n {
		fmt.Fprintf(w, "1 @ 0x4000 0x8000\n# labels: {\"request\":\"%s\", \"user-%s\":\"%s\"}\n#\t0x4000\tmain.wait+0x1d\t/src/main.go:2\n\n", word(i), word(i), word(i*3))
	}
}

func metricLabels(w *bufio.Writer, n int) {
	fmt.Fprint(w, "# HELP go_goroutines Number of goroutines that currently exist.\n# TYPE go_goroutines gauge\ngo_goroutines 42\nprocess_open_fds 7\n# TYPE http_requests_total counter\n")
	for i := range n {
		fmt.Fprintf(w, "http_requests_total{path=\"/%s\",user=\"%s\"} %d\n", word(i), word(i*7), i)
	}
}

func metricNames(w *bufio.Writer, n int) {
	fmt.Fprint(w, "# TYPE go_goroutines gauge\ngo_goroutines 42\nprocess_open_fds 7\n")
	for i := range n {
		fmt.Fprintf(w, "# TYPE app_%s_total counter\napp_%s_requests_total %d\n", word(i), word(i), i)
	}
}

func nodeHandles(w *bufio.Writer, n int) {
	fmt.Fprint(w, `{"header":{"reportVersion":3,"event":"JavaScript API","trigger":"GetReport","filename":null,"dumpEventTime":"2026-11-21T03:00:00Z","dumpEventTimeStamp":"1795230000000","processId":4711,"cwd":"/app","commandLine":["node","app.js"],"nodejsVersion":"v20.0.0","wordSize":64,"arch":"x64","platform":"linux"},"javascriptStack":{"message":"x","stack":[]},"libuv":[`)
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		fmt.Fprintf(w, `{"type":"tcp","is_active":true,"is_referenced":true,"address":"0x%016x","localEndpoint":{"host":"host-%s","ip4":"10.0.0.1","port":%d},"remoteEndpoint":{"host":"peer-%s","ip4":"10.%d.%d.%d","port":%d},"sendBufferSize":1,"recvBufferSize":1,"fd":%d,"writeQueueSize":0,"readable":true,"writable":true}`, 0x5500000000+i*16, word(i), 1024+i%60000, word(i*3), i>>16&255, i>>8&255, i&255, i%60000, i)
	}
	fmt.Fprint(w, `]}`)
}

func deepJSON(w *bufio.Writer, n int) {
	for range n {
		w.WriteByte('[')
	}
}

func manyKeys(w *bufio.Writer, n int) {
	w.WriteByte('{')
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		fmt.Fprintf(w, "%q:{%q:%q}", word(i), word(i*3), word(i*5))
	}
	w.WriteByte('}')
}

func mounts(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, "%d 1 0:%d / /var/lib/kubelet/pods/%s/volumes/%s rw,relatime shared:%d - tmpfs tmpfs-%s rw,size=%dk\n", i+20, i+20, word(i), word(i*3), i, word(i), i)
	}
}

func longLine(w *bufio.Writer, n int) {
	const piece = "goroutine 1 [running]: main.main() \"worker\" #1 prio=5 tid=0x1 nid=0x1 "
	for left := n; left > 0; left -= len(piece) {
		w.WriteString(piece)
	}
}

func longFrames(w *bufio.Writer, n int) {
	long := strings.Repeat("abcdefgh/", 20_000)
	for i := range n {
		fmt.Fprintf(w, "goroutine %d [chan receive]:\nexample.com/%s%s.wait(0x1)\n\t/src/%s/x.go:1 +0x1d\n\n", i+1, long, word(i), long)
	}
}

func prefixedLines(w *bufio.Writer, n int) {
	for i := range n {
		for _, l := range [...]string{"goroutine 1 [running]:", "main.main()", "\t/src/main.go:2 +0x1d", ""} {
			fmt.Fprintf(w, "2026-11-21T03:00:00.%06dZ host-%s app[%d]: %s\n", i%1_000_000, word(i), i, l)
		}
	}
}

func fences(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, "```%s\n> text %d\n~~~~\n", strings.Repeat("`", i%50), i)
	}
}

func fencedDumps(w *bufio.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, "## Ticket %d\n\n```\ngoroutine %d [chan receive, 5 minutes]:\nmain.%s()\n\t/src/main.go:2 +0x1d\n```\n\n", i, i+1, word(i))
	}
}

func sockets(w *bufio.Writer, n int) {
	fmt.Fprint(w, "Netid State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n")
	for i := range n {
		fmt.Fprintf(w, "tcp   ESTAB  0      0      10.%d.%d.%d:%d 10.0.0.%d:443 users:((\"app-%s\",pid=%d,fd=%d))\n", i>>16&255, i>>8&255, i&255, 1024+i%60000, i%250, word(i), i+1, i%1000)
	}
}

// packed writes a tar archive through gzip.
func packed(write func(w *tar.Writer, n int) error) func(io.Writer, int) error {
	return func(w io.Writer, n int) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		t := tar.NewWriter(z)
		if err := write(t, n); err != nil {
			return err
		}
		if err := t.Close(); err != nil {
			return err
		}
		return z.Close()
	}
}

var modified = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func entry(w *tar.Writer, name, content string) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: modified}); err != nil {
		return err
	}
	_, err := io.WriteString(w, content)
	return err
}

func emptyFiles(w *tar.Writer, n int) error {
	for i := range n {
		if err := entry(w, fmt.Sprintf("bundle/%s/empty-%d.txt", word(i), i), ""); err != nil {
			return err
		}
	}
	return nil
}

func smallFiles(w *tar.Writer, n int) error {
	for i := range n {
		if err := entry(w, fmt.Sprintf("bundle/%s/note-%d.txt", word(i), i), "note "+word(i)); err != nil {
			return err
		}
	}
	return nil
}

func dumpFiles(w *tar.Writer, n int) error {
	for i := range n {
		dump := fmt.Sprintf("goroutine 7 [chan receive]:\nmain.%s()\n\t/src/main.go:2 +0x1d\n\n", word(i))
		if err := entry(w, fmt.Sprintf("bundle/%s/goroutine-%d.txt", word(i), i), dump); err != nil {
			return err
		}
	}
	return nil
}

func fdinfo(w *tar.Writer, n int) error {
	for i := range n {
		if err := entry(w, fmt.Sprintf("t0/app-%d/fdinfo/%d", i/5000, i%5000), fmt.Sprintf("pos:\t%d\nflags:\t0100002\nmnt_id:\t%d\nino:\t%d\n", i, i, 1000+i)); err != nil {
			return err
		}
	}
	return nil
}

func watches(w *tar.Writer, n int) error {
	const each = 100_000
	for first := 0; first < n; first += each {
		var b strings.Builder
		b.WriteString("pos:\t0\nflags:\t00\nmnt_id:\t15\nino:\t1060\n")
		for i := first; i < min(n, first+each); i++ {
			fmt.Fprintf(&b, "inotify wd:%x ino:%x sdev:%x mask:%x ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:%016x\n", i+1, 0x1000+i, 0x20+i%4096, i%0xfff+1, i)
		}
		if err := entry(w, fmt.Sprintf("t0/app/fdinfo/%d", 3+first/each), b.String()); err != nil {
			return err
		}
	}
	return nil
}

func links(w *tar.Writer, n int) error {
	for i := range n {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: fmt.Sprintf("t0/app/fd/%d", i), Linkname: "/var/lib/" + word(i) + "/data", ModTime: modified}); err != nil {
			return err
		}
	}
	return nil
}

func deepDirectories(w *tar.Writer, n int) error {
	deep := strings.Repeat("d/", 1000)
	for i := range n {
		if err := entry(w, deep+word(i)+"/x.txt", "x"); err != nil {
			return err
		}
	}
	return nil
}

func emptyZip(w io.Writer, n int) error {
	z := zip.NewWriter(w)
	for i := range n {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("bundle/%s/empty-%d.txt", word(i), i), Method: zip.Store}); err != nil {
			return err
		}
	}
	return z.Close()
}

func zeros(w io.Writer, n int) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for left := n; left > 0; left -= len(block) {
		if _, err := z.Write(block[:min(left, len(block))]); err != nil {
			return err
		}
	}
	return z.Close()
}

func bomb(w io.Writer, n int) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	const per = 1000
	block := strings.Repeat("goroutine 7 [chan receive]:\nmain.wait()\n\t/src/main.go:2 +0x1d\n\n", per)
	for left := n; left > 0; left -= per {
		if _, err := io.WriteString(z, block); err != nil {
			return err
		}
	}
	return z.Close()
}

// word is a word that no other number has, without digits: rules that leave numbers out of
// names do not make two of them equal.
//
//	0 = "qa", 1 = "qb", 26 = "qba"
func word(i int) string {
	var b [16]byte
	at := len(b)
	for {
		at--
		b[at] = byte('a' + i%26)
		if i /= 26; i == 0 {
			break
		}
	}
	at--
	b[at] = 'q'
	return string(b[at:])
}
