package gauge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/read/gauge"
)

func TestALogSaysWhatLimitWasMetAndWhatWasNotClosed(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
		refused    int
	}{
		{"inotify of a kubelet", "E0304 10:12:31.021733   2430 watcher.go:152] Failed to watch directory \"/sys/fs/cgroup\": inotify_add_watch /sys/fs/cgroup/pod1f: no space left on device\nI0304 10:12:32.000000   2430 kubelet.go:1] fine\nE0304 10:12:33.001101   2430 kubelet.go:1415] \"Failed to start cAdvisor\" err=\"inotify_init: too many open files\"\n",
			[]string{"inotify_watches 1 2026-03-04 10:12:31 line 1", "inotify_instances 1 2026-03-04 10:12:33 line 3", "pid 2430"}, 1},
		{"EMFILE of Node with its address", "2026-03-04T10:14:02.114Z error: connect EMFILE 10.0.0.1:443 - Local (undefined:undefined)\n", []string{"open_files 10.0.0.1:443 1 2026-03-04 10:14:02 line 1"}, 0},
		{"too many open files of a server, three times", "2026/03/04 10:14:02 http: Accept error: accept tcp [::]:80: accept4: too many open files; retrying in 5ms\n2026/03/04 10:14:03 http: Accept error: too many open files\n2026/03/04 10:15:02 dial: too many open files\n", []string{"open_files 3 2026-03-04 10:14:02 to 2026-03-04 10:15:02 line 1"}, 0},
		{"the open files of the machine", "open /x: too many open files in system\n", []string{"machine_files 1 line 1"}, 0},
		{"words about a limit are none that was reached", "INFO raising the limit to avoid too many open files\n", nil, 1},
		{"words about EMFILE, of a level at which nothing fails, in quotes", "info: EMFILE handling is enabled\ngraceful-fs retry queue ready (EMFILE)\nhow to fix 'too many open files'\nI0304 10:12:31.0   7 event.go:1] \"Event occurred\" message=\"container log: Too many open files\"\ngrep -r 'Unable to create new native thread' docs\n", nil, 5},
		{"a full disk below a directory that is watched", "failed to watch image dir: write /tmp/a: no space left on device\n", nil, 1},
		{"Node without an address, HikariCP", "Error: EMFILE: too many open files, watch '/x'\nHikariPool-1 - Connection is not available, request timed out after 30000ms.\n", []string{"open_files 1 line 1", "pool_exhausted 1 line 2"}, 0},
		{"Java and Rust", "java.net.SocketException: Too many open files (Accept failed)\nError: Too many open files (os error 24)\n", []string{"open_files 2 line 1"}, 0},
		{"a disk that is full is no inotify", "write /var/log/x: no space left on device\n", nil, 1},
		{"a service that systemd's watchdog ends", "May 13 11:37:38 noble systemd[1]: snapd.service: Watchdog timeout (limit 5min)!\n", []string{"watchdog snapd.service (limit 5min) 1 2025-05-13 11:37:38 line 1"}, 0},
		{"a thread of Tomcat", "04-Mar-2026 10:20:11.204 WARNING [main] org.apache.catalina.loader.WebappClassLoaderBase.clearReferencesThreads The web application [shop] appears to have started a thread named [pool-7-thread-1] but has failed to stop it.\n", []string{"thread_not_stopped shop 1 2026-03-04 10:20:11 line 1"}, 0},
		{"OkHttp below its time", "Mar 04, 2026 10:21:00 AM okhttp3.internal.platform.Platform log\nWARNING: A connection to https://10.0.0.1/ was leaked. Did you forget to close a response body?\n", []string{"response_not_closed https://10.0.0.1/ 1 2026-03-04 10:21:00 line 2"}, 1},
		{"a websocket of Jenkins", "java.io.IOException: Timed out waiting for websocket connection. You should increase the value of system property x currently set at 30 seconds\n", []string{"websocket_timeout 30 1 line 1"}, 0},
		{"threads of a JVM", "java.lang.OutOfMemoryError: unable to create new native thread\n", []string{"threads 1 line 1"}, 0},
		{"listeners of Node", "(node:1) MaxListenersExceededWarning: Possible EventEmitter memory leak detected. 11 close listeners added to [Socket]\n", []string{"listeners 11 close 1 line 1"}, 0},
		{"a log of the year before", "E1231 23:59:59.000000   7 a.go:1] inotify_init: too many open files\n", []string{"inotify_instances 1 2025-12-31 23:59:59 line 1", "pid 7"}, 0},
		{"two processes", "E0304 10:12:31.0   7 a.go:1] x: too many open files\nE0304 10:12:31.0   8 a.go:1] x: too many open files\n", []string{"open_files 2 2026-03-04 10:12:31 line 1"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			log, err := gauge.ParseLog(strings.NewReader(test.text), "x.log", time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range log.Facts {
				words := []string{f.Kind, f.Detail, fmt.Sprint(f.N)}
				if !f.At.IsZero() {
					words = append(words, f.At.Format(time.DateTime))
				}
				if !f.Until.Equal(f.At) {
					words = append(words, "to", f.Until.Format(time.DateTime))
				}
				words = append(words, "line", fmt.Sprint(f.Line))
				got = append(got, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
			}
			if log.PID > 0 {
				got = append(got, fmt.Sprint("pid ", log.PID))
			}
			if !slices.Equal(got, test.want) || log.Refused != test.refused {
				t.Errorf("got  %q, %d refused\nwant %q, %d", got, log.Refused, test.want, test.refused)
			}
		})
	}
}

func FuzzLog(f *testing.F) {
	f.Add("E0304 10:12:31.021733   2430 a.go:1] inotify_init: too many open files\nEMFILE 10.0.0.1:443\n04-Mar-2026 10:20:11.204 x\n")
	f.Fuzz(func(t *testing.T, text string) {
		log, err := gauge.ParseLog(strings.NewReader(text), "x.log", time.Unix(1<<31, 0))
		n := log.Refused
		for _, fact := range log.Facts {
			n += fact.N
		}
		if lines := strings.Count(text, "\n") + 1; err != nil || n > lines {
			t.Errorf("%d lines of %d: %v", n, lines, err)
		}
	})
}
