package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// A library keeps goroutines for the code that calls it: that is one growth and not two.
func TestGoroutinesOfALibraryComeWithThoseOfItsCaller(t *testing.T) {
	library := func(text string) string {
		return strings.ReplaceAll(text, "/src/main.go", "/root/go/pkg/mod/github.com/fsnotify/fsnotify@v1.9.0/backend_inotify.go")
	}
	for _, test := range []struct {
		name string
		// starter is the goroutine that starts the one of the library, more are those of the library in the
		// third interval beyond one for each.
		starter, more int
		of            func(text string) string
		also          string
	}{
		{"started by one goroutine in equal numbers", 1, 0, library, ""},
		{"started by another goroutine", 2, 0, library, "goroutines in main.load.func1 4 to 24"},
		{"in other numbers", 1, 3, library, "goroutines in main.load.func1 4 to 24"},
		{"two of the program's own", 1, 0, func(text string) string { return text }, "goroutines in main.load.func1 4 to 24"},
	} {
		var captures []map[string]string
		for k := range 6 {
			text := goroutineText(1, "sleep", "runtime.main", "main.main()")
			for i := range 4 * (k + 1) {
				text += goroutineText(100+2*i, "chan receive", "main.load in goroutine 1", "main.load.func1()")
			}
			n := 4 * (k + 1)
			if k >= 3 {
				n += test.more
			}
			for i := range n {
				text += test.of(goroutineText(101+2*i, "IO wait", fmt.Sprintf("github.com/fsnotify/fsnotify.newBackend in goroutine %d", test.starter), fmt.Sprintf("github.com/fsnotify/fsnotify.(*inotify).readEvents(0xc000%04x00)", i)))
			}
			captures = append(captures, map[string]string{"app/goroutine.txt": text})
		}
		d := every(t, captures).Diagnosis
		if got := strings.Join(d.Also, "; "); got != test.also {
			t.Errorf("%s: %s, also %q, want %q", test.name, d.Sentence, got, test.also)
		}
		if test.also != "" {
			continue
		}
		if want := "app opened 20 fsnotify watchers and closed none: each keeps 2 goroutines."; d.Sentence != want || d.Next == nil || !strings.HasSuffix(d.Next.Text, "Look in main.load at main.go:9.") {
			t.Errorf("%s: %s, do %+v", test.name, d.Sentence, d.Next)
		}
	}
}

// A listing that does not show the ends of a socket shows it beside the goroutines that work on sockets.
func TestSocketsWithoutEndsComeWithThoseThatWorkOnThem(t *testing.T) {
	var captures []map[string]string
	for k := range 6 {
		text := goroutineText(1, "sleep", "runtime.main", "main.main()")
		files := map[string]string{"app/fd.txt": "total 0\nlrwx------ 1 root root 64 Nov 29 07:33 5 -> socket:[900]\n"}
		for i := range 4 * (k + 1) {
			text += goroutineText(100+2*i, "select", "net/http.(*Transport).dialConn in goroutine 7", fmt.Sprintf("net/http.(*persistConn).readLoop(0xc000%04x00)", i))
			files["app/fd.txt"] += fmt.Sprintf("lrwx------ 1 root root 64 Nov 29 07:33 %d -> socket:[%d]\n", 10+i, 1000+i)
		}
		files["app/goroutine.txt"] = text
		captures = append(captures, files)
	}
	d := every(t, captures).Diagnosis
	if want := "app opened 20 HTTP connections and closed none: each keeps 1 goroutine and 1 descriptor."; d.Sentence != want || len(d.Also) > 0 {
		t.Errorf("%s, also %q", d.Sentence, d.Also)
	}
}
