package detect_test

import (
	"os"
	"strings"
	"testing"

	"leakdiff/analysis/read/detect"
	"leakdiff/samples/corpus"
)

func TestWhatIsNotReadIsNamedByWhatItIs(t *testing.T) {
	for name, c := range map[string]struct{ content, what, help string }{
		"a PNG":                                  {"\x89PNG\r\n\x1a\n\x00\x00", "a PNG image", "paste the text"},
		"a JPEG":                                 {"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG image", "paste the text"},
		"a PDF":                                  {"%PDF-1.7\n%\xe2\xe3", "a PDF document", "copy the text"},
		"a heap dump":                            {"JAVA PROFILE 1.0.2\x00\x00", "a heap dump of a JVM", "jcmd PID Thread.print"},
		"a core file":                            {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x3e\x00", "a core file", "jhsdb jstack"},
		"a program":                              {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00", "a program or library", ""},
		"a minidump":                             {"MDMP\x93\xa7\x00\x00", "a minidump", "lsof"},
		"a text that begins with BM":             {"BM25 is a ranking function\n", "no known form", ""},
		"a kernel log":                           {"[    0.000000] Linux version 6.1\n[    1.234567] VFS: file-max limit 1024 reached\n", "a log of the kernel", "lsof"},
		"a kernel log of syslog":                 {"Nov 21 03:00:00 web kernel: TCP: out of memory\nNov 21 03:00:01 web kernel: VFS: file-max\n", "a log of the kernel", "lsof"},
		"strace":                                 {"read(3, \"\", 4096) = 0\nwrite(4, \"a\", 1) = 1\n", "(strace)", "ls -l /proc/PID/fd"},
		"strace with pids and times":             {"[pid   50] 03:00:00.123456 epoll_wait(4,  <unfinished ...>\n51 03:00:01 futex(0xc0, FUTEX_WAIT, 0, NULL) = -1 EAGAIN (x)\n51 read(3, \"\", 1) = 0\n", "(strace)", "ls -l /proc/PID/fd"},
		"top":                                    {"top - 03:00:00 up 3 days,  1:02,  1 user,  load average: 0.1, 0.2, 0.3\nTasks: 100 total\n", "the output of top", "lsof"},
		"vmstat":                                 {"procs -----------memory---------- ---swap-- -----io----\n r  b   swpd   free   buff\n", "the output of vmstat", "lsof"},
		"free":                                   {"               total        used        free      shared\nMem:   1 2 3\n", "the output of free", "lsof"},
		"free below a prompt":                    {"root@web:~# free -m\n               total        used        free      shared\nMem:   1 2 3\n", "the output of free", "lsof"},
		"kubectl get deployments":                {"NAME    READY   UP-TO-DATE   AVAILABLE   AGE\nweb-1   1/1     1            1           3d\n", "a table of kubectl", "kubectl exec"},
		"kubectl get pods -o custom-columns":     {"NAMESPACE   NAME    READY   STATUS\nshop   web-1   1/1     Running\n", "a table of kubectl", "kubectl exec"},
		"docker ps":                              {"CONTAINER ID   IMAGE     COMMAND\nabc  nginx  x\n", "a table of containers", "kubectl exec"},
		"dotnet-stack":                           {"Thread (0x1A2B):\n  [Native Frames]\n  System.Private.CoreLib!System.Threading.Monitor.Wait(class System.Object,int32)\n", "stacks of .NET", "lsof"},
		"clrstack":                               {"OS Thread Id: 0x1dc1 (0)\n        Child SP               IP Call Site\n00007F 00007E [HelperMethodFrame: 0] System.Threading.Monitor.ReliableEnter\n", "stacks of .NET", "lsof"},
		"createdump":                             {"[createdump] Gathering state for process 1 dotnet\n[createdump] Writing full dump to file /tmp/core\n", "createdump", "lsof"},
		"libuv handles":                          {"[RA-] tcp      0x55d0c8e0\n[R--] timer    0x55d0c8f0\n", "a list of libuv handles", "process.report.writeReport()"},
		"handles of why-is-node-running":         {"There are 5 handle(s) keeping the process running\n\n# TCPSERVERWRAP\n", "handles that keep Node running", "process.report.writeReport()"},
		"threads that a test of Lucene left":     {"com.carrotsearch.randomizedtesting.ThreadLeakError: 1 thread leaked from SUITE scope at org.apache.lucene.TestX:\n   1) Thread[id=21, name=pool-1-thread-1, state=WAITING, group=TGRP-TestX]\n        at sun.misc.Unsafe.park(Native Method)\n", "Lucene", "jstack"},
		"a socket table without its columns":     {"State   Local Address:Port   Peer Address:Port\nESTAB   10.0.0.1:80   10.0.0.2:4000\n", "without the columns", "ss -tunap"},
		"the addresses of sockets alone":         {"10.0.0.1:80 10.0.0.2:4000\n10.0.0.1:80 10.0.0.3:4001\n", "pairs of addresses", "ss -tunap"},
		"counts of ss -s":                        {"Total: 54\nTCP:   70 (estab 7, closed 60)\n", "counts of ss -s", "ss -tunap"},
		"gdb":                                    {"Thread 2 (Thread 0x7f01 (LWP 51) \"app\"):\n#0  0x00007f0012345678 in poll () from /lib/libc.so.6\n", "stacks of a debugger", "lsof"},
		"pprof -top of a heap":                   {"Type: inuse_space\nShowing nodes\n      flat  flat%   sum%        cum   cum%\n  512kB   100%   100%  512kB   100%  main.big\n", "text of pprof", "debug=2"},
		"a heap snapshot of V8":                  {`{"snapshot":{"meta":{"node_fields":["type"]}}}`, "a heap snapshot of V8", "process.report.writeReport()"},
		"an error page of a proxy":               {"<!doctype html><html><title>504 Gateway Time-out</title><body><h1>504</h1></body></html>", "an error page", "localhost:PORT"},
		"an error page over several lines":       {"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n", "an error page", "localhost:PORT"},
		"a page to sign in":                      {"<!DOCTYPE html>\n<html><head>\n<title>Log in | Dex</title>\n", "a page to sign in", "localhost:PORT"},
		"another page":                           {"<html><head><title>5040 bolts</title></head><body></body></html>", "it begins with", ""},
		"a refusal of Kubernetes":                {`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods is forbidden","reason":"Forbidden","code":403}`, "a refusal of the API of Kubernetes", "nothing was captured"},
		"a refusal of Kubernetes, indented":      {"{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"status\": \"Failure\"\n}\n", "a refusal of the API of Kubernetes", "nothing was captured"},
		"a pod in JSON":                          {`{"kind":"Pod","apiVersion":"v1","status":{"phase":"Running"}}`, "Kubernetes objects in JSON", "kubectl exec"},
		"JSON with a kind":                       {`{"kind":"Statusbar"}`, "JSON without anything", ""},
		"an error of curl":                       {"curl: (7) Failed to connect to localhost port 6060: Connection refused\n", "an error of curl", "ss -tlnp"},
		"an error of kubectl":                    {"Error from server (Forbidden): pods \"web-0\" is forbidden\n", "an error of kubectl", "nothing was captured"},
		"an error of jstack":                     {"4711: Unable to open socket file /proc/4711/root/tmp/.java_pid4711: target process 4711 doesn't respond\n", "an error of jstack", "nothing was captured"},
		"an error of grep":                       {"grep: /proc/1/fdinfo/5: Permission denied\n", "the error output of a command", "as root"},
		"a letter about curl":                    {"curl did not work, and grep neither\n", "no known form", ""},
		"pstack of one thread":                   {"Thread 1 (LWP 50):\n#0  0x00007f in poll ()\n", "stacks of a debugger", "lsof"},
		"a letter about a thread":                {"Thread 1 is stuck.\n#1 on the list\n", "no known form", ""},
		"a crash of Ruby":                        {"-- Control frame information -----------------------------------------------\nc:0003 p:0010 s:0011 e:000010 BLOCK x.rb:3 [FINISH]\n", "a crash of Ruby", "the process that wrote it is gone"},
		"threads of Ruby":                        {"#<Thread:0x00007f run>\n/app/x.rb:3:in `sleep'\n", "threads of Ruby", "lsof"},
		"handle.exe":                             {"app.exe pid: 4711 HOST\\user\n   4C: File  (RW-)   C:\\x\n", "handles of Windows", "netstat -ano"},
		"jps":                                    {"4711 Main\n4712 Jps\n", "a list of JVMs", "jcmd PID Thread.print"},
		"numbers with names":                     {"4711 Main\n4712 Other\n", "no known form", ""},
		"tasks of tokio":                         {"task 1: Idle\ntask 2: Running\n", "tasks of tokio", "lsof"},
		"tasks of somebody":                      {"task 1: buy milk\n", "no known form", ""},
		"a profile of V8":                        {`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"startTime":1,"endTime":2}`, "a profile of V8", "process.report.writeReport()"},
		"a program of Windows":                   {"MZ\x90\x00\x03\x00\x00\x00", "a program or library of Windows", ""},
		"a text that begins with MZ":             {"MZ is a prefix\n", "no known form", ""},
		"a count of descriptors":                 {"$ lsof | wc -l\n12345\n", "a count of the rows of a listing", "upload the listing itself"},
		"a count of descriptors of a process":    {"root@web:~# ls /proc/50/fd | wc -l\n123\n", "a count of the rows of a listing", "upload the listing itself"},
		"a letter about counts":                  {"We counted lsof | wc -l and it was 12345.\n", "no known form", ""},
		"two calls":                              {"epoll_wait(4, [], 128, 0) = 0\nopenat(AT_FDCWD, \"/x\", O_RDONLY) = -1 EMFILE (Too many open files)\n", "(strace)", "ls -l /proc/PID/fd"},
		"one call":                               {"x(1) = 2\nand that is all\n", "no known form", ""},
		"processes of Erlang":                    {"=proc:<0.1.0>\nState: Waiting\nName: init\n", "a crash dump of Erlang", "crashdump_viewer"},
		"a crash dump of Erlang with its reason": {"=erl_crash_dump:0.2\nTue Mar 18 16:13:22 2014\nSlogan: init terminating in do_boot ()\n", "; Slogan: init terminating in do_boot ()", "crashdump_viewer"},
		"a letter that mentions top and vmstat":  {"Hello,\nwe ran top and vmstat, and free shows nothing.\nName: Bob Smith\n", "no known form", ""},
	} {
		got := detect.Sniff(whole("x", c.content))
		if !strings.Contains(got.Reason, c.what) || !strings.Contains(got.Help, c.help) || c.help == "" && got.Help != "" {
			t.Errorf("%s is %s because %q, help %q; want %q, %q", name, got.Kind, got.Reason, got.Help, c.what, c.help)
		}
	}
}

func TestFilesOfOtherPeopleAreNamedByWhatTheyAre(t *testing.T) {
	for path, want := range map[string]string{
		"wild3/other/bencan1a+calendarBot/pyspy.txt":                          "stacks of Python (py-spy)",
		"wild3/other/bencan1a+calendarBot/pyspy-afterfix.txt":                 "stacks of Python (py-spy)",
		"wild3/other/AntidoteDB+antidote/erl_crash.dump":                      "a crash dump of Erlang",
		"wild3/other/dotnet+diagnostics/documentation__tutorial__hung_app.md": "stacks of .NET",
		"wild/nothing/lsof-org+lsof/support__install-lsof":                    "a script",
		"wild/nothing/felixge+fgprof/BenchmarkProfilerGoroutines.txt":         "the output of a benchmark of Go",
	} {
		t.Run(path, func(t *testing.T) {
			if !corpus.Has(t, path) {
				corpus.LeaveOut(t, "files of other people are not in the archive")
			}
			content, err := os.ReadFile(corpus.Path(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if got := detect.Sniff(whole(path, string(content))); !strings.Contains(got.Reason, want) || got.Help == "" {
				t.Errorf("%s because %q, help %q; want %q", got.Kind, got.Reason, got.Help, want)
			}
		})
	}
}
