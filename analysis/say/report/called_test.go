package report_test

import (
	"io"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// Only the second of three captures of pid 7 has a command line.
func TestACommandLineNamesAllCapturesOfAProcess(t *testing.T) {
	threads := func(n int) string {
		text := "2026-11-21 03:0" + string(rune('0'+n)) + ":00\nFull thread dump OpenJDK 64-Bit Server VM (21.0.1+12 mixed mode):\n\n"
		for range 3 {
			text += "\"worker\" #12 prio=5 os_prio=0 cpu=1ms elapsed=2s tid=0x00007f0000001000 nid=0x7 waiting on condition [0x00007f0000002000]\n   java.lang.Thread.State: WAITING (parking)\n\tat org.acme.shop.Cart.run(Cart.java:9)\n\n"
		}
		return text
	}
	files := map[string]string{}
	for i := range 3 {
		dir := "case/t" + string(rune('0'+i)) + "/proc/7/"
		files[dir+"jstack.txt"] = threads(i)
		files[dir+"status"] = "Name:\tjava\nState:\tS (sleeping)\nPid:\t7\nPPid:\t1\nThreads:\t3\n"
		if i == 1 {
			files[dir+"cmdline"] = "/usr/bin/java\x00-cp\x00shop.jar\x00org.acme.shop.Main\x00"
		}
	}
	var inputs []bundle.Input
	for name, text := range files {
		inputs = append(inputs, bundle.Input{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	r := built(t, inputs).Report
	if len(r.Series) != 1 || r.Series[0].Process != "java" || r.Series[0].Called != "Main" || len(r.Series[0].Snapshots) != 3 {
		t.Fatalf("%d series, the first %s called %q, %d snapshots", len(r.Series), r.Series[0].Process, r.Series[0].Called, len(r.Series[0].Snapshots))
	}
	if !strings.Contains(r.Diagnosis.Sentence, "Main") || strings.Contains(r.Diagnosis.Sentence, "java") {
		t.Errorf("the sentence is %q", r.Diagnosis.Sentence)
	}
}
