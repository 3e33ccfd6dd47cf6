package simulation

import (
	"bytes"
	"fmt"
	"strings"
)

// classOf makes the name of a class from that of a Go function.
func classOf(function string) string {
	name := function[strings.LastIndexByte(function, '/')+1:]
	return strings.NewReplacer(".(*", "_", ").", "_", ".", "_").Replace(name)
}

// numbered gives every present member its descriptor: the smallest that was free when it
// was opened.
func (w *world) numbered() map[*member]int {
	numbers := make(map[*member]int, len(w.members))
	var ends []float64
	for k := range w.members { // in the order of birth
		m := &w.members[k]
		fd := 0
		for fd < len(ends) && ends[fd] > m.born {
			fd++
		}
		if fd == len(ends) {
			ends = append(ends, 0)
		}
		ends[fd], numbers[m] = m.ends, 3+fd
	}
	return numbers
}

// lsof is a listing as of `lsof -nP -p PID`.
func (w *world) lsof(at float64) []byte {
	var b bytes.Buffer
	_, epoch := w.startOf(at)
	b.WriteString("COMMAND   PID USER   FD      TYPE DEVICE SIZE/OFF     NODE NAME\n")
	row := func(fd, kind, device, size, node, name string) {
		fmt.Fprintf(&b, "%-9.9s %d app  %5s %8s %6s %8s %8s %s\n", w.program, w.pid(epoch), fd, kind, device, size, node, name)
	}
	row("cwd", "DIR", "254,0", "4096", "1036538", "/srv/app")
	row("txt", "REG", "254,0", "9248765", "1006230", "/srv/app/"+w.program)
	row("0r", "CHR", "1,3", "0t0", "5", "/dev/null")
	row("1w", "FIFO", "0,15", "0t0", "264539", "pipe")
	row("2w", "FIFO", "0,15", "0t0", "264539", "pipe")
	for _, m := range w.present(at) {
		row(fmt.Sprintf("%du", w.descriptors[m]), "IPv4", fmt.Sprint(260000+m.id), "0t0", "TCP",
			fmt.Sprintf("10.0.0.5:%d->%s (%s)", 32768+m.id%28000, m.stack.remote, "ESTABLISHED"))
	}
	return b.Bytes()
}

// fdinfo is a copy of /proc/PID/fdinfo with the listing of /proc/PID/fd.
func (w *world) fdinfo(at float64) []file {
	var list bytes.Buffer
	list.WriteString("total 0\n")
	var files []file
	link := func(fd int, target string) {
		fmt.Fprintf(&list, "lrwx------ 1 app app 64 %s %d -> %s\n", w.clock(at).Format("Jan _2 15:04"), fd, target)
	}
	for fd := range 3 {
		link(fd, "/dev/null")
	}
	for _, m := range w.present(at) {
		fd := w.descriptors[m]
		if m.stack.status != "inotify" {
			link(fd, fmt.Sprintf("socket:[%d]", 260000+m.id))
			files = append(files, file{fmt.Sprintf("fdinfo/%d", fd), []byte("pos:\t0\nflags:\t02004002\nmnt_id:\t10\nino:\t" + fmt.Sprint(260000+m.id) + "\n")})
			continue
		}
		link(fd, "anon_inode:inotify")
		var b bytes.Buffer
		b.WriteString("pos:\t0\nflags:\t02000000\nmnt_id:\t17\nino:\t1038\n")
		for wd := range 1 + m.id%3 {
			fmt.Fprintf(&b, "inotify wd:%d ino:%x sdev:fe00000 mask:fc6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:%08x%08x\n", wd+1, 10000+m.id*4+wd, m.id*4+wd, 7)
		}
		files = append(files, file{fmt.Sprintf("fdinfo/%d", fd), b.Bytes()})
	}
	return append([]file{{"fd.txt", list.Bytes()}}, files...)
}

// nodeReport is a diagnostic report of Node.js, with the handles of libuv. A handle has an address that
// is used again after it.
func (w *world) nodeReport(at float64) []byte {
	start, epoch := w.startOf(at)
	taken := w.clock(at)
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"header": {"reportVersion": 5, "event": "JavaScript API", "trigger": "API", "filename": "report.json", "dumpEventTime": %q, "dumpEventTimeStamp": "%d", "processId": %d, "threadId": 0,
 "cwd": "/srv/app", "commandLine": ["node", "/srv/app/%s.js"], "nodejsVersion": "v22.23.3", "wordSize": 64, "host": "web-1"},
"javascriptStack": {"message": "Error [ERR_SYNTHETIC]: JavaScript Callstack", "stack": ["at Object.writeReport (node:internal/process/report:51:13)"]},
"resourceUsage": {"rss": %d, "userCpuSeconds": %.3f},
"libuv": [{"type": "async", "is_active": true, "is_referenced": false, "address": "0x000000002e081ea0"}`,
		taken.Format("2006-01-02T15:04:05Z"), taken.UnixMilli(), w.pid(epoch), w.program, 90_000_000, 0.01*(at-start))
	for _, m := range w.present(at) {
		fd := w.descriptors[m]
		host, port, _ := strings.Cut(m.stack.remote, ":")
		fmt.Fprintf(&b, ",\n"+`{"type": "tcp", "is_active": true, "is_referenced": true, "address": "0x%016x", "localEndpoint": {"host": "10.0.0.5", "ip4": "10.0.0.5", "port": %d}, "remoteEndpoint": {"host": %q, "ip4": %q, "port": %s}, "sendBufferSize": 0, "recvBufferSize": 0, "fd": %d, "writeQueueSize": 0, "readable": true, "writable": true}`,
			0x3f000000+fd*0x200, 32768+m.id%28000, host, host, port, fd)
	}
	b.WriteString(",\n{\"type\": \"loop\", \"is_active\": true, \"address\": \"0x0000000006b3a8a0\", \"loopIdleTimeSeconds\": 12.5}],\n\"workers\": [], \"environmentVariables\": {}, \"userLimits\": {}, \"sharedObjects\": []}\n")
	return b.Bytes()
}

// status is a part of /proc/PID/status.
func (w *world) status(at float64) []byte {
	_, epoch := w.startOf(at)
	return fmt.Appendf(nil, "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t1\nThreads:\t12\n", w.program, w.pid(epoch), w.pid(epoch))
}

func (w *world) pid(epoch int) int { return 4242 + 317*epoch }

// metrics is a page in the format of Prometheus.
func (w *world) metrics(at float64) []byte {
	var b bytes.Buffer
	start, epoch := w.startOf(at)
	fmt.Fprintf(&b, "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.2f\n", float64(w.clock(start).UnixMilli())/1000)
	fmt.Fprintf(&b, "# TYPE go_goroutines gauge\ngo_goroutines %d\n", len(w.present(at))+2)
	if len(w.versions) > 0 {
		fmt.Fprintf(&b, "# TYPE %s_build_info gauge\n%s_build_info{version=\"%s\"} 1\n", w.program, w.program, w.versions[min(epoch, len(w.versions)-1)])
	}
	for _, name := range sortedKeys(w.loads) {
		load := w.loads[name]
		value, kind := load(at), "gauge"
		if w.counters[name] {
			kind, value = "counter", 0
			const steps = 200 // the sum since the start
			for k := range steps {
				value += load(start+(float64(k)+0.5)/steps*(at-start)) * (at - start) / steps
			}
		}
		if strings.HasSuffix(name, "_seconds_count") {
			fmt.Fprintf(&b, "# TYPE %s histogram\n", strings.TrimSuffix(name, "_count"))
		} else {
			fmt.Fprintf(&b, "# TYPE %s %s\n", name, kind)
		}
		fmt.Fprintf(&b, "%s{code=\"200\"} %.0f\n", name, value)
	}
	return b.Bytes()
}
