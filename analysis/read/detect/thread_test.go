package detect_test

import (
	"strings"
	"testing"

	"leakdiff/analysis/read/detect"
)

func TestThreadsAreNamedByTheirLines(t *testing.T) {
	header := `"main" #1 prio=5 os_prio=0 tid=0x1 nid=0x2 runnable [0x3]` + "\n   java.lang.Thread.State: RUNNABLE\n"
	for _, test := range []struct {
		name, text string
		want       detect.Kind
	}{
		{"a version line is enough", "x\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n", detect.ThreadDump},
		{"a version line behind a log prefix", "10:00 INFO Full thread dump Java HotSpot(TM) 64-Bit Server VM (25.1 mixed mode):\n", detect.ThreadDump},
		{"talk about a dump is none", "please send us a Full thread dump of the process\nthank you\n", detect.Text},
		{"two headers without a version line", header + "\n" + header, detect.ThreadDump},
		{"one header with its state", header, detect.ThreadDump},
		{"one header without its state", strings.SplitAfter(header, "\n")[0], detect.Text},
		{"one header in a string of source code", "static final String ONE = \"\"\"\n" + header + "\"\"\";\n", detect.Text},
		{"one header with a decimal address", strings.Replace(header, "tid=0x1", "tid=1524264960", 1), detect.ThreadDump},
		{"headers in source code", "/*\n * Copyright\n */\npackage shop.cart;\n\nfinal class DumpTest {\n\tString dump = \"\"\"\n" + header + "\n" + header + "\"\"\";\n}\n", detect.Text},
		{"goroutines in source code", "// Copyright\n\npackage trace\n\nconst dump = `" + strings.Repeat("goroutine 7 [IO wait]:\nmain.run()\n\t/srv/shop/main.go:7 +0x1d\n\n", 4) + "`\n", detect.Text},
		{"indented headers", "  " + header + "  " + header, detect.ThreadDump},
		{"a carrier has no nid", strings.Repeat("\"ForkJoinPool-1-worker-1\" #42 [11535] daemon prio=5 os_prio=0 cpu=0.66ms elapsed=3.83s tid=0x00007fc80417d310  [0x00007fc7dc7fd000]\n   Carrying virtual thread #41\n", 2), detect.ThreadDump},
		{"names with quotes in dump_to_file", "11429\n2026-11-21T02:54:16.1Z\n21\n\n#1 \"odd \"quoted\" name\"\n      a.B.c(B.java:1)\n\n#2 \"\" virtual\n", detect.ThreadDump},
		{"JavaMelody's list in Jenkins", "\"A\" daemon prio=5 RUNNABLE\n\tjava.net.SocketInputStream.socketRead0(Native Method)\n", detect.ThreadDump},
		{"a sentence about a priority is no thread", "the thread \"A\" has prio=5 RUNNABLE\n", detect.Text},
		{"JConsole's details", "Name: main\nState: WAITING on java.lang.Object@1b2c\nTotal blocked: 1  Total waited: 1,234\n\nStack trace: \n java.lang.Object.wait(Native Method)\n", detect.ThreadDump},
		{"a javacore", "0SECTION       TITLE subcomponent dump routine\n1TISIGINFO     Dump Event \"user\" (00004000) received\n3XMTHREADINFO      \"main\" J9VMThread:0x01, j9thread_t:0x02\n", detect.Javacore},
		{"a javacore that stops before its threads", "0SECTION       TITLE subcomponent dump routine\nNULL           ====\n", detect.Javacore},
		{"a javacore of 1.4, which announces its threads", "NULL\n2XMFULLTHDDUMP Full thread dump Classic VM (J2RE 1.4.2 IBM Windows 32 build x, native threads):\n3XMTHREADINFO      \"main\" (TID:0x1, sys_thread_t:0x2, state:R, native ID:0x3) prio=5\n", detect.Javacore},
		{"jstack of JDK 5", "Attaching to process ID 7, please wait...\nThread t@60675: (state = BLOCKED)\n", detect.ThreadDump},
		{"hot threads of OpenSearch without their node", strings.Repeat("   0.1% (455.5micros out of 500ms) cpu usage by thread 'a'\n", 2), detect.HotThreads},
		{"hot threads of Elasticsearch 1", "::: [node-1][abc][host][inet[/127.0.0.1:9300]]\n", detect.HotThreads},
		{"hot threads", "::: {node-1}{abc}{127.0.0.1}\n   0.0% cpu usage by thread\n", detect.HotThreads},
		{"the thread list of GoCD", "Thread information\n==================\n\nAll thread stacktraces\n----------------------\n1, main, RUNNABLE\n", detect.ThreadForeign},
		{"events of the flight recorder", "jdk.ThreadDump {\n  startTime = 10:00\n  result = \"2026-11-21 02:54:14\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n", detect.ThreadForeign},
		{"a client summary", "Active K8s Clients\n----------\n", detect.ClientSummary},
		{"open files of support-core", "core file size (blocks, -c) 0\nOpen File Descriptor Count: 2\nAll open files\n==============\n/dev/null\nsocket:[1]\n", detect.FDTargets},
		{"pollers list no threads", "12579:\nMaster I/O poller:\nsun.nio.ch.EPollPoller@1 [registered = 3, owner = Thread[#105,MasterPoller,9,InnocuousThreadGroup]]\n", detect.Text},
		{"the scheduler lists no threads", "12579:\njava.util.concurrent.ForkJoinPool@78e03bb5[Running, parallelism = 2, size = 2]\n", detect.Text},
	} {
		got := detect.Sniff(detect.Head{Bytes: []byte(test.text), Whole: true, Path: "x.txt", Size: int64(len(test.text))})
		if got.Kind != test.want {
			t.Errorf("%s: got %s because %q, want %s", test.name, got.Kind, got.Reason, test.want)
		}
	}
}
