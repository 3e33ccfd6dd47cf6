package detect_test

import (
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis/read/detect"
)

// each puts a prefix before each line.
func each(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

// records makes a JSON string of each line, with something between them.
func records(text, between string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strconv.Quote(lines[i])
	}
	return strings.Join(lines, between)
}

func TestAWrappedDumpIsNamedByItsWrapping(t *testing.T) {
	three := "goroutine 1 [running]:" + stack + "goroutine 2 [select]:" + stack + "goroutine 3 [select]:" + stack
	four := three + "goroutine 4 [select]:" + stack
	excerpt := "goroutine 1 [select]:" + stack + "goroutine 2 [select]:" + stack + "goroutine 3 [select]:" + stack
	trace := "goroutine 9 [running]:\nmain.f()\n\t/a.go:1 +0x1\n"
	escaped := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(three)
	log := "I1121 02:58:36.123456    1234 kubelet.go:12] hello\n"
	threads := "2026-11-21 02:46:53\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15 mixed mode):\n\n\"main\" #1 prio=5 os_prio=0 tid=0x1 nid=0x1 runnable\n\tat a.b(c.java:1)\n\nJNI global refs: 1\n"
	for name, c := range map[string]struct {
		content string
		want    detect.Kind
		reason  string
	}{
		"journald":                    {each("Nov 21 03:05:00 node-1 kubelet[1234]: ", three), detect.Wrapped, "journald lines of kubelet[1234] with 3 goroutine headers"},
		"CRI":                         {each("2026-11-21T02:58:36Z stderr F ", three), detect.Wrapped, "CRI lines with 3 goroutine headers"},
		"stern":                       {each("web-0 app ", three), detect.Wrapped, "stern lines of app with 3 goroutine headers"},
		"a log field":                 {`time="2026-11-21T02:58:36Z" msg="` + escaped + `"`, detect.Wrapped, "a text escaped in a log field, with 3 goroutine headers"},
		"a log field in journald":     {`Nov 21 03:05:00 node-1 containerd[7]: time="2026-11-21T02:58:36Z" msg="` + escaped + `"`, detect.Wrapped, "journald lines with a text escaped in a log field of containerd[7] with 3 goroutine headers"},
		"a JSON string":               {`{"response":{"status":200,"body":"` + escaped + `"}}`, detect.Wrapped, "escaped in a JSON string"},
		"a fence":                     {"Look:\n```\ngoroutine 2 [select]:" + stack + "```\n", detect.Wrapped, "a code block with 1 goroutine header"},
		"a wait in a mail":            {"Look:\n\ngoroutine 2 [select, 5 minutes]:" + stack + "\nBye\n", detect.Wrapped, "a text around a part of a dump with 1 goroutine header"},
		"a mention in a fence":        {"Look:\n```\ngoroutine 2 [select]:\n```\n", detect.Text, "1 goroutine header in it makes no dump"},
		"a list by Delve":             {"  Goroutine 109 - User: /src/put.go:284 main.work (0x7ff6) [select]\n", detect.Text, "1 line of a list by Delve"},
		"an id that was replaced":     {"```\ngoroutine NNN [chan send, 49 minutes]:\nmain.f()\n```\n", detect.Text, "1 line with a goroutine header whose id somebody replaced"},
		"a page":                      {"<html>\n<pre>\n" + three + "</pre></html>", detect.Wrapped, "a page of HTML with 3 goroutine headers"},
		"a page without its head":     {"<h2>Dump of today</h2>\n<pre>" + three + "</pre>\n", detect.Wrapped, "a page of HTML with 3 goroutine headers"},
		"a block pasted below a text": {"The dump:\n<pre class=\"x\">" + three + "</pre>\n", detect.Wrapped, "a page of HTML"},
		"a date above a dump":         {"2026-11-21 03:00:00\n" + three, detect.GoroutineDebug2, "the first line is a goroutine header; 2 more follow"},
		"a loop of date and curl":     {strings.Repeat("2026-11-21T03:00:00+01:00\n"+three, 2), detect.GoroutineDebug2, "the first line is a goroutine header; 5 more follow"},
		"a clock in a frame":          {"--- 03:05:00 ---\n" + three, detect.GoroutineDebug2, "the first line is a goroutine header; 2 more follow"},
		"records of Google's logs":    {`[{"textPayload":` + records(three, `,"timestamp":"2026-11-21T03:00:00Z","resource":{"labels":{"container_name":"app"}}},{"textPayload":`) + `,"timestamp":1}]`, detect.Wrapped, "Google Cloud Logging JSON lines of app with 3 goroutine headers"},
		"the answer of Loki":          {`{"data":{"result":[{"stream":{"pod":"web-0"},"values":[["1795230000000000000",` + records(three, `],["1795230000000000000",`) + `]]}]}}`, detect.Wrapped, "Loki JSON lines with 3 goroutine headers"},
		"the output of logcli":        {each(`2026-11-21T03:00:00Z {container="app"} `, three), detect.Wrapped, "logcli lines of app with 3 goroutine headers"},
		"a dump in a log":             {log + three + log, detect.Wrapped, "log lines around a dump with 3 goroutine headers"},
		"threads in a log":            {each("2026-11-21T02:58:36Z stdout F ", threads), detect.Wrapped, "CRI lines with 1 thread header"},
		"threads as they are":         {"hello\n" + threads, detect.ThreadDump, "Full thread dump"},
		"a journal for export":        {strings.ReplaceAll(each("__REALTIME_TIMESTAMP=1795229916250000\nMESSAGE\n\x16\x00\x00\x00\x00\x00\x00\x00", strings.Repeat("goroutine 1 [select]:\n", 1)), "__REAL", "__CURSOR=a\n__REAL"), detect.Text, "no known form"},
		"a prefix on the first line":  {log[:45] + four, detect.Wrapped, "klog lines with 4 goroutine headers"},
		"a prefix below a text":       {"Hello,\nhere it is.\n2026/11/21 02:58:36 " + four, detect.Wrapped, "time stamps lines with 4 goroutine headers"},
		"one message of many lines":   {"Nov 21 03:05:00 node-1 kubelet[1234]: " + each(strings.Repeat(" ", 38), four)[38:], detect.Wrapped, "journald lines of kubelet[1234] with 4 goroutine headers"},
		"a prompt on the first line":  {"$ " + four, detect.Wrapped, "constant prefix lines with 4 goroutine headers"},
		"a header in a sentence":      {"He saw goroutine 9 [running]:\n" + three, detect.GoroutineDebug2, "3 lines are goroutine headers"},
		"a sentence above an excerpt": {"He saw goroutine 9 [running]:\n" + excerpt, detect.GoroutineDebug2, "3 lines are goroutine headers"},
		"a header of an excerpt":      {"dump.txt:1:goroutine 9 [select]:" + stack + excerpt, detect.GoroutineDebug2, "3 lines are goroutine headers"},
		"a trace that comes again":    {log[:45] + "goroutine 2 [running]:" + stack + excerpt, detect.GoroutineDebug2, "3 lines are goroutine headers"},
		"a trace behind a prefix":     {log[:45] + trace + "\n" + three, detect.GoroutineDebug2, "3 lines are goroutine headers"},
		"a trace and a crash":         {log[:45] + trace + "\npanic: boom\n\n" + three, detect.GoroutineCrash, "panic: boom"},
		"traces of crashes":           {strings.Repeat(log[:40]+trace+log, 2), detect.Log, "make no dump"},
		"a crash that shows all":      {log + "panic: boom\n\n" + three, detect.GoroutineCrash, "panic: boom"},
		"a crash at the end of a log": {strings.Repeat(log, 5) + "SIGQUIT: quit\nPC=0x1 m=0 sigcode=0\n\n" + three, detect.GoroutineCrash, "SIGQUIT: quit"},
		"dump_to_file with a marker":  {`{"threadDump":{"threads":["Full thread dump VM\n\"a\" #1"]}}`, detect.ThreadJSON, "dump_to_file"},
	} {
		got := detect.Sniff(whole("x", c.content))
		if got.Kind != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %s because %q, want %s because %q", name, got.Kind, got.Reason, c.want, c.reason)
		}
	}
}
