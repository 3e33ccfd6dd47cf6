package detect

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestUsualFDInfoIsWhatTheTestsFind compares the walk over the usual files with the
// tests that it stands for.
func TestUsualFDInfoIsWhatTheTestsFind(t *testing.T) {
	line := rapid.OneOf(
		rapid.SampledFrom([]string{"mnt_id:\t15", "ino:\t1060", "inotify wd:1 ino:1 sdev:1c mask:fce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0100000000000000"}),
		rapid.StringMatching(`(mnt_id|ino|pos):\t-?[0-9]{0,4}`),
		rapid.StringMatching(`flags:\t0?[0-7]{0,9}`),
		rapid.StringMatching(`inotify wd:[0-9a-f]{0,2} ino:[0-9a-f]{0,4} sdev:[0-9a-f]{2} mask:[0-9a-f]{1,4} ignored_mask:0( fhandle-bytes:8 fhandle-type:1 f_handle:[0-9a-f]{8})?`),
		rapid.StringMatching(`inotify wd:1 ino:2 (goroutine |a:b |tid:0 | |profile: ){0,2}[0-9a-g]{0,3}`),
		rapid.SampledFrom([]string{
			"", " ", "goroutine 7 [select]:", "tfd:  5 events: 19", "lock:\t1: FLOCK", "Full thread dump VM", "WARNING: DATA RACE", "f3", "p7",
			`"a" tid=1 nid=2 x`, "{", "inotify wd:1 ino:" + strings.Repeat("a", 1100), "\x00", "\r",
		}),
	)
	for _, text := range []string{"pos:\t0\nflags:\t02004000\nmnt_id:\t15\nino:\t1060\n", "pos:\t0\nflags:\t02004000\nmnt_id:\t15\nino:\t1060\ninotify wd:1 ino:1 sdev:1c mask:fce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0100000000000000\n"} {
		if _, ok := usualFDInfo(Head{Bytes: []byte(text), Path: "fdinfo/7", Size: int64(len(text)), Whole: true}); !ok {
			t.Fatalf("%q is a usual file: the walk would never be compared", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		lines := []string{"pos:\t0", "flags:\t02004000", "mnt_id:\t15", "ino:\t1060"}[:rapid.SampledFrom([]int{4, 4, 4, 3, 2, 1, 0}).Draw(t, "first")]
		lines = append(lines, rapid.SliceOfN(line, 0, 3).Draw(t, "lines")...)
		if rapid.IntRange(0, 20).Draw(t, "long") == 0 {
			lines = append(lines, strings.Split(strings.Repeat("inotify wd:1 ino:2\n", rapid.IntRange(190, 200).Draw(t, "watches")), "\n")...)
		}
		h := Head{
			Bytes: []byte(strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end")),
			Path:  rapid.SampledFrom([]string{"fdinfo/7", "fdinfo/8", "7", "t0/12/fdinfo/0", "7/cmdline", "7/environ", "hostname", "x/7/"}).Draw(t, "path"), Whole: rapid.IntRange(0, 9).Draw(t, "whole") > 0,
		}
		h.Size = int64(len(h.Bytes))
		got, ok := usualFDInfo(h)
		if !ok {
			return
		}
		if want := sniff(h); got != want {
			t.Fatalf("%q\nis %+v, want %+v", h.Bytes, got, want)
		}
	})
}
