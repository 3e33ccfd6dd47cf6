package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// dumpOf has goroutines of a type that each hold one of its objects.
func dumpOf(n int) string {
	text := "goroutine 1 [running]:\nmain.main()\n\t/src/app/main.go:10 +0x1d\n"
	for i := range n {
		text += fmt.Sprintf("\ngoroutine %d [chan send, 1 minutes]:\nmain.(*Poller).loop(0xc000%06x)\n\t/src/app/poller.go:88 +0x1d\ncreated by main.(*Poller).Start in goroutine 1\n\t/src/app/poller.go:40 +0x5a\n", 100+i, 0x100000+i*0x100)
	}
	return text
}

// lsofOf lists connections of app, pid 50.
func lsofOf(n int) string {
	text := "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n"
	for i := range n {
		text += fmt.Sprintf("app 50 app %du IPv4 %d 0t0 TCP 10.0.0.1:%d->10.0.0.2:80 (ESTABLISHED)\n", 4+i, 900+i, 40000+i)
	}
	return text
}

// watchesOf is the fdinfo of an inotify instance.
func watchesOf(n int) string {
	text := "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1038\n"
	for i := n; i > 0; i-- {
		text += fmt.Sprintf("inotify wd:%d ino:%x sdev:fe00000 mask:fc6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:%016x\n", i, i, i)
	}
	return text
}

// What the last capture lacks has not ended where that is cut: five whole captures of 10 to 50
// decide. Where it is whole, 50 to 25 is what it shows.
func TestACutLastCaptureEndsNothing(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		write      func(int) string
		cut        string
	}{
		{"goroutines", "goroutine.txt", dumpOf, " main.(*Poller).Start in goroutine 1\n\t/src/app/poller.go:40 +0x5a\n"},
		{"connections", "lsof.txt", lsofOf, "80 (ESTABLISHED)\n"},
		{"watches", "fdinfo/5", watchesOf, "00000001\n"},
	} {
		for _, cut := range []bool{true, false} {
			captures := []map[string]string{}
			for _, n := range []int{10, 20, 30, 40, 50, 25} {
				captures = append(captures, map[string]string{"app/" + tc.file: tc.write(n)})
			}
			if cut {
				text, found := strings.CutSuffix(tc.write(25), tc.cut)
				if !found {
					t.Fatalf("%s: does not end with %q", tc.name, tc.cut)
				}
				captures[5]["app/"+tc.file] = text
			}
			r := every(t, captures)
			d := &r.Diagnosis
			switch {
			case cut && (d.State != "leaking" || d.Proved != "40 of 40" || d.Claims.Came != 40 || d.Claims.Ended != 0 || d.Claims.Last != 4):
				t.Errorf("%s: %s, %s: %s; %+v", tc.name, d.State, d.Proved, d.Sentence, d.Claims)
			case !cut && (d.Claims == nil || d.Claims.Ended != 25 || d.Claims.Last != 5):
				t.Errorf("%s, whole: %s: %s; %+v", tc.name, d.State, d.Sentence, d.Claims)
			}
		}
	}
}

// A capture without the file of the inotify descriptor that it lists is a gap in a growth.
func TestAMissingFileOfWatchesIsAGap(t *testing.T) {
	const links = "total 0\nlrwx------ 1 app app 64 Nov 21 03:00 3 -> /dev/null\nlrwx------ 1 app app 64 Nov 21 03:00 5 -> anon_inode:inotify\n"
	var captures []map[string]string
	for i, n := range []int{10, 20, 30, 40, 50} {
		files := map[string]string{"app/fd.txt": links, "app/fdinfo/3": "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1038\n"}
		if i != 2 {
			files["app/fdinfo/5"] = watchesOf(n)
		}
		captures = append(captures, files)
	}
	d := every(t, captures).Diagnosis
	if d.State != "leaking" || d.Proved != "40 of 40" || d.Rate != "+10 an hour" {
		t.Errorf("%s, %s, %s: %s", d.State, d.Proved, d.Rate, d.Sentence)
	}
}
