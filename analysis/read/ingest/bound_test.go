package ingest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/procfs"
	"leakdiff/internal/test/hostile"
	"leakdiff/samples/corpus"
)

// readUpload reads one file, with the groups of its snapshots.
func readUpload(t *testing.T, name string, upload []byte) Result {
	t.Helper()
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(upload)), nil }
	result, err := Run(t.Context(), Config{Packed: true}, []bundle.Input{{Name: name, Size: int64(len(upload)), Open: open}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func says(problems []analysis.Problem, what string) bool {
	for _, p := range problems {
		if strings.Contains(p.What, what) {
			return true
		}
	}
	return false
}

func TestFamiliesBeyondTheLargestAreSummedAndTheTotalStays(t *testing.T) {
	corpus.Heavy(t)
	const different, equal = 3000, 50
	var b strings.Builder
	b.WriteString("COMMAND     PID USER   FD      TYPE             DEVICE SIZE/OFF     NODE NAME\n")
	row := func(fd int, path string) {
		fmt.Fprintf(&b, "leaky      4711 root %6du   REG              253,1    %5d %8d %s\n", fd, fd, 100_000+fd, path)
	}
	for i := range different {
		letters := string([]byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676)})
		row(i+3, "/srv/"+letters+"/file-"+letters+".log")
	}
	for i := range equal { // the largest one stands at the end
		row(different+3+i, "/srv/leaked")
	}
	result := readUpload(t, "lsof.txt", []byte(b.String()))
	if len(result.Snapshots) != 1 {
		t.Fatalf("%d snapshots", len(result.Snapshots))
	}
	s := &result.Snapshots[0]
	sum, largest, others := 0, 0, 0
	for i := range s.Groups {
		g := &s.Groups[i]
		sum += g.Count
		if g.Family.Title == "others" {
			others = g.Count
		} else {
			largest = max(largest, g.Count)
		}
	}
	if sum != different+equal || s.Totals.Descriptors == nil || *s.Totals.Descriptors != different+equal {
		t.Errorf("the families have %d descriptors, the total is %v, want %d", sum, s.Totals.Descriptors, different+equal)
	}
	if len(s.Groups) != mostFamilies+1 || others != different+1-mostFamilies || largest != equal {
		t.Errorf("%d families, %d others, the largest has %d", len(s.Groups), others, largest)
	}
	if !says(result.Problems, "descriptors are summed up as \"others\"") {
		t.Errorf("no problem says so: %v", result.Problems)
	}
}

func TestProcessesBeyondTheBoundAreSaid(t *testing.T) {
	corpus.Heavy(t)
	var b strings.Builder
	b.WriteString("COMMAND     PID USER   FD      TYPE             DEVICE SIZE/OFF     NODE NAME\n")
	for i := range mostProcesses + 7 {
		fmt.Fprintf(&b, "p          %6d root     3u   REG              253,1        0 %8d /srv/data\n", i+1, 100_000+i)
	}
	result := readUpload(t, "lsof.txt", []byte(b.String()))
	if len(result.Snapshots) != mostProcesses || !says(result.Problems, "7 rows of further processes or listings were not read") {
		t.Errorf("%d snapshots, %v", len(result.Snapshots), result.Problems)
	}
}

func TestWatchesBeyondTheBoundAreCountedAndTheTotalStays(t *testing.T) {
	const line = "inotify wd:%x ino:%x sdev:16 mask:3c6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:%016x\n"
	listing := func(n int) []byte {
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, "/proc/4711/fdinfo/%d:"+line, 3+i%2, i+1, 100+i, i)
		}
		return b.Bytes()
	}
	var archive bytes.Buffer
	for _, in := range hostile.All() {
		if in.File == "watches.tar.gz" {
			if err := in.Write(&archive, 299_993); err != nil { // in three files of one directory
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name, file     string
		upload         []byte
		watches, other int
	}{
		{"as many as are kept of a file", "inotify.txt", listing(100_000), 100_000, 0},
		{"more in one file than are kept of it", "inotify.txt", listing(100_000 + 11), 100_000 + 11, 11},
		{"more in several files than are kept of a directory", "watches.tar.gz", archive.Bytes(), 299_993, 199_993},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result := readUpload(t, tt.file, tt.upload)
			if len(result.Snapshots) != 1 {
				t.Fatalf("%d snapshots", len(result.Snapshots))
			}
			s := &result.Snapshots[0]
			if n := s.Totals.Watches; n == nil || *n != tt.watches {
				t.Errorf("the total is %v, want %d", n, tt.watches)
			}
			sum, kept, artifacts := 0, 0, 0
			for _, g := range s.Groups {
				if g.Family.Kind == analysis.KindWatch {
					sum, kept = sum+g.Count, kept+g.Members.Len()
				}
			}
			for _, a := range result.Artifacts {
				artifacts += a.Watches
			}
			if sum != tt.watches || kept != tt.watches-tt.other || artifacts != tt.watches {
				t.Errorf("the families have %d watches, %d of them one by one, and the artifacts %d", sum, kept, artifacts)
			}
			want := fmt.Sprintf("%d watches were counted and not kept one by one", tt.other)
			if says(result.Problems, want) != (tt.other > 0) || says(result.Problems, "were counted") != (tt.other > 0) {
				t.Errorf("%v, want %q", result.Problems, want)
			}
		})
	}
}

func TestWatchesOfAllDirectoriesOfAnUploadAreBounded(t *testing.T) {
	var b bounds
	for _, dir := range []string{"t0", "t1", "t2", "t3"} {
		info := procfs.FDInfo{Watches: make([]analysis.Watch, 60_000)}
		b.keep(&fdinfoSet{}, &info, dir)
		if info.Watched() != 60_000 || dir != "t3" && info.More != 0 || dir == "t3" && info.More != 40_000 {
			t.Errorf("%s: %d watches, %d of them not kept", dir, info.Watched(), info.More)
		}
	}
	if b.watches != 200_000 || b.unkept != 40_000 || b.unkeptPath != "t3" {
		t.Errorf("%d are kept, %d not, the first in %s", b.watches, b.unkept, b.unkeptPath)
	}
}
