package ingest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
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
