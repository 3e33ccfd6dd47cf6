package ingest

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// links is `ls -l` of a directory of descriptors with n sockets from an inode on.
func links(n, inode int) []byte {
	var b strings.Builder
	for fd := range n {
		fmt.Fprintf(&b, "lrwx------ 1 root root 64 Feb  2 02:02 %d -> socket:[%d]\n", fd, inode+fd)
	}
	return []byte(b.String())
}

func TestListingsWithoutACommonDescriptorAreOfTwoProcesses(t *testing.T) {
	for name, tt := range map[string]struct {
		inputs []bundle.Input
		want   []string
		left   int
	}{
		"of two programs":                  {[]bundle.Input{given("kubelet.txt", links(5, 100)), given("containerd.txt", links(15, 900))}, []string{"containerd 15", "kubelet 5"}, 0},
		"of one, the shorter one is named": {[]bundle.Input{given("x.txt", links(5, 100)), given("y.txt", links(14, 100))}, []string{" 14"}, 1},
		"of one, twice the same":           {[]bundle.Input{given("x.txt", links(5, 100)), given("y.txt", append(links(5, 100), '\n'))}, []string{" 5"}, 0},
	} {
		result := ran(t, tt.inputs...)
		var got []string
		for _, s := range result.Snapshots {
			if s.Totals.Descriptors != nil {
				got = append(got, fmt.Sprint(s.Process.Name.Value, " ", *s.Totals.Descriptors))
			}
		}
		left := 0
		for _, p := range result.Problems {
			if strings.HasSuffix(p.What, "was not counted") {
				left++
			}
		}
		if strings.Join(got, ", ") != strings.Join(tt.want, ", ") || left != tt.left {
			t.Errorf("%s: %q, %d left out, want %q, %d", name, got, left, tt.want, tt.left)
		}
	}
}
