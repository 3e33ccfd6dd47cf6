package detect_test

import (
	"testing"

	"leakdiff/analysis/read/detect"
)

func TestTracesAreFoundByTheirLines(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"strace with pids and stacks", "50 1795878472.813718 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n > /srv/a(f+0x1) [0x2]\n50 1795878472.813719 close(3) = 0\n > /srv/a(f+0x1) [0x2]\n", detect.Strace},
		{"strace of a terminal", "strace: Process 50 attached\n[pid    51] openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n", detect.Strace},
		{"strace of one task with times", "18:00:55.570374 openat(AT_FDCWD</srv>, \"/a\", O_RDONLY) = 3</a>\n18:00:55.571025 close(3</a>) = 0\n", detect.Strace},
		{"a log that quotes calls", "18:00:55.570374 INFO tracing\n18:00:55.570374 openat(AT_FDCWD</srv>, \"/a\", O_RDONLY) = 3</a>\n18:00:55.571025 close(3</a>) = 0\n", detect.Log},
		{"calls that open nothing", "read(3, \"\", 4096) = 0\nwrite(4, \"a\", 1) = 1\n", detect.Text},
		{"calls that failed", "openat(AT_FDCWD, \"/a\", O_RDONLY) = -1 EMFILE (Too many open files)\nread(3, \"\", 4096) = 0\n", detect.Text},
		{"strace whose openings are all interrupted", "50 openat(AT_FDCWD, \"/a\", O_RDONLY <unfinished ...>\n51 futex(0x1, FUTEX_WAKE, 1) = 0\n50 <... openat resumed>) = 3</a>\n", detect.Strace},
		{"interrupted calls that open nothing", "50 read(3, <unfinished ...>\n51 futex(0x1, FUTEX_WAKE, 1) = 0\n50 <... read resumed>\"\", 1) = 0\n", detect.Text},
		{"one call", "openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n", detect.Text},
		{"events of the gadget", `{"error":"","fd":3,"fname":"/a","proc":{"comm":"x","pid":50}}` + "\n", detect.OpenEvents},
		{"events in an array", `[{"error": "", "fd": 3, "fname": "/a", "proc": {"comm": "x", "pid": 50}},` + "\n", detect.OpenEvents},
		{"an event over lines", "{\n  \"fd\": 3,\n  \"fname\": \"/a\",\n  \"proc\": {\n    \"pid\": 50\n  }\n}\n", detect.OpenEvents},
		{"events of another gadget", `{"error":"","fname":"/a","proc":{"comm":"x","pid":50}}` + "\n" + `{"error":"","fname":"/b","proc":{"comm":"x","pid":50}}` + "\n", detect.Log},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := detect.Sniff(detect.Head{Bytes: []byte(c.text), Path: "a", Size: int64(len(c.text)), Whole: true}); got.Kind != c.want {
				t.Errorf("%s (%s), want %s", got.Kind, got.Reason, c.want)
			}
		})
	}
}
