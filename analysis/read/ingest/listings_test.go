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

func TestAListingBesideTheDirectoryOfItsProcessIsOfItsCapture(t *testing.T) {
	const row = "COMMAND  PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\ncfgd    4711 root  3r REG 254,0 99 %d /etc/cfg\n"
	const info = "pos:\t0\nflags:\t02100000\nmnt_id:\t27\nino:\t%d\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"the only one of its pid": {map[string]string{"t0/lsof.txt": fmt.Sprintf(row, 9), "t0/4711/fdinfo/3": fmt.Sprintf(info, 9), "t1/lsof.txt": fmt.Sprintf(row, 9), "t1/4711/fdinfo/3": fmt.Sprintf(info, 9)}, "t0 t1"},
		"of another pid":          {map[string]string{"t0/lsof.txt": fmt.Sprintf(row, 9), "t0/4712/fdinfo/3": fmt.Sprintf(info, 9)}, "t0 t0"},
		"one of several":          {map[string]string{"lsof-1.txt": fmt.Sprintf(row, 9), "lsof-2.txt": fmt.Sprintf(row, 8), "t0/4711/fdinfo/3": fmt.Sprintf(info, 9)}, "capture 1 capture 2 t0"},
	} {
		var got []string
		for _, s := range run(t, tt.files).Snapshots {
			got = append(got, s.Label)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: snapshots %q, want %q", name, got, tt.want)
		}
	}
}
