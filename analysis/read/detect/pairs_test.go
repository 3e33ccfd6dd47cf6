package detect_test

import (
	"testing"

	"leakdiff/analysis/read/detect"
)

func TestPairsAreFoundByTheirNameAndLines(t *testing.T) {
	for _, c := range []struct{ name, path, text, want string }{
		{"the file of the collector", "t0/x-1/goroutine-fds.txt", "1 3\n4711 12\n", detect.GoroutineFDs},
		{"a copy with a prefix", "p1-goroutine-fds.txt", "1 3\n", detect.GoroutineFDs},
		{"one bad line among good ones", "goroutine-fds.txt", "1 3\nx\n4711 12\n", detect.GoroutineFDs},
		{"another name", "numbers.txt", "1 3\n4711 12\n", detect.Text},
		{"the name alone", "goroutine-fds.txt", "there is nothing\n", detect.Text},
		{"a dump with that name", "goroutine-fds.txt", "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n", detect.GoroutineDebug2},
		{"no pair", "goroutine-fds.txt", "", detect.Empty},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := detect.Sniff(detect.Head{Bytes: []byte(c.text), Path: c.path, Size: int64(len(c.text)), Whole: true}); got.Kind != c.want {
				t.Errorf("%s (%s), want %s", got.Kind, got.Reason, c.want)
			}
		})
	}
}
