package procfs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"leakdiff/analysis"
	"leakdiff/analysis/read/procfs"
)

// A file of a real capture: a volume that is there, a cgroup that was removed, and a
// volume that only another mount namespace has.
const handles = `{"schema":"leakdiff.watches/1","sdev":"2a","ino":"1","fhandle_type":"1","f_handle":"8f3c1a7e01000000","state":"linked","path":"/srv/pods/x/volumes/y","mount":"/srv/pods/x/volumes/y","fstype":"tmpfs"}
{"schema":"leakdiff.watches/1","sdev":"1b","ino":"1a47","fhandle_type":"fe","f_handle":"471a000000000000","state":"stale","mount":"/sys/fs/cgroup","fstype":"cgroup2"}
{"schema":"leakdiff.watches/1","sdev":"2c","ino":"1","fhandle_type":"1","f_handle":"11","state":"linked","path":"/","mount":"/srv/z","fstype":"tmpfs","elsewhere":"pid 7, pause"}
`

func TestWatchedFileHandlesAreReadAsTheCollectorWroteThem(t *testing.T) {
	got, problems, err := procfs.ParseHandles(strings.NewReader(handles+"\n{\"sdev\":\"zz\"}\n"), "watches.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := []analysis.Handle{
		{Device: 0x2a, Inode: 1, Type: 1, Handle: "8f3c1a7e01000000", State: analysis.HandleLinked, Path: "/srv/pods/x/volumes/y", Mount: "/srv/pods/x/volumes/y", FSType: "tmpfs"},
		{Device: 0x1b, Inode: 0x1a47, Type: 0xfe, Handle: "471a000000000000", State: analysis.HandleStale, Mount: "/sys/fs/cgroup", FSType: "cgroup2"},
		{Device: 0x2c, Inode: 1, Type: 1, Handle: "11", State: analysis.HandleLinked, Path: "/", Mount: "/srv/z", FSType: "tmpfs", Elsewhere: "pid 7, pause"},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(analysis.Handle{}, "Place")); d != "" {
		t.Error(d)
	}
	if len(problems) != 1 || problems[0].Line != 5 {
		t.Errorf("problems %+v, want one on line 5", problems)
	}
}

func FuzzHandles(f *testing.F) {
	f.Add([]byte(handles))
	f.Add([]byte(`{"schema":"leakdiff.watches/1","sdev":"ffffffffff","ino":"-1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, problems, err := procfs.ParseHandles(strings.NewReader(string(text)), "x")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > strings.Count(string(text), "\n")+1 || len(problems) > 200 {
			t.Errorf("%d handles and %d problems of %d bytes", len(got), len(problems), len(text))
		}
	})
}
