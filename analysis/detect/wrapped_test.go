package detect_test

import (
	"strings"
	"testing"

	"leakdiff/analysis/detect"
)

// each puts a prefix before each line.
func each(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

func TestAWrappedDumpIsNamedByItsWrapping(t *testing.T) {
	three := "goroutine 1 [running]:" + stack + "goroutine 2 [select]:" + stack + "goroutine 3 [select]:" + stack
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
		"a page":                      {"<html>\n<pre>\n" + three + "</pre></html>", detect.Wrapped, "a page of HTML with 3 goroutine headers"},
		"a dump in a log":             {log + three + log, detect.Wrapped, "log lines around a dump with 3 goroutine headers"},
		"threads in a log":            {each("2026-11-21T02:58:36Z stdout F ", threads), detect.Wrapped, "CRI lines with 1 thread header"},
		"threads as they are":         {"hello\n" + threads, detect.ThreadDump, "Full thread dump"},
		"a journal for export":        {strings.ReplaceAll(each("__REALTIME_TIMESTAMP=1795229916250000\nMESSAGE\n\x16\x00\x00\x00\x00\x00\x00\x00", strings.Repeat("goroutine 1 [select]:\n", 1)), "__REAL", "__CURSOR=a\n__REAL"), detect.Text, "no known form"},
		"traces of crashes":           {strings.Repeat(log[:40]+"goroutine 9 [running]:\nmain.f()\n\t/a.go:1 +0x1\n"+log, 2), detect.Log, "make no dump"},
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
