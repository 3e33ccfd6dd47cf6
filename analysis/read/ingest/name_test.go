package ingest

import (
	"fmt"
	"testing"
	"time"
)

func TestTimesInNamesAreReadAsTimes(t *testing.T) {
	at := "2026-11-01T10:00:00Z"
	for _, tc := range []struct {
		// first is a file's name; pid, host, process and time are what it says.
		first, process, host, pid, time string
		// second differs in its time alone: both are one process.
		second string
	}{
		{"kubelet-goroutine-2026-11-01T10-00-00.txt", "kubelet", "", "", at, "kubelet-goroutine-2027-01-01T10-00-00.txt"},
		{"kubelet-goroutine-20261101-100000.txt", "kubelet", "", "", at, "kubelet-goroutine-20270101-100000.txt"},
		{"kubelet.20261101T100000.goroutine.txt", "kubelet", "", "", at, "kubelet.20270101T100000.goroutine.txt"},
		{"kubelet-goroutine-1793527200.txt", "kubelet", "", "", at, "kubelet-goroutine-1793530800.txt"},
		{"kubelet-1793527200123.txt", "kubelet", "", "", at, "kubelet-1793530800123.txt"},
		{"kubelet_2026-11-01_10-00-00.txt", "kubelet", "", "", at, "kubelet_2027-01-01_10-00-00.txt"},
		{"kubelet-2026-11-01-10-00-00.txt", "kubelet", "", "", at, "kubelet-2027-01-01-10-00-00.txt"},
		{"kubelet-2026-11-01.txt", "kubelet", "", "", "", "kubelet-2027-01-01.txt"},
		{"jstack-2026-11-01.txt", "", "", "", "", "jstack-2027-01-01.txt"},
		{"jstack_2026_11_01.txt", "", "", "", "", "jstack_2027_01_01.txt"},
		{"jstack-2026-11-01T10-00-00.txt", "", "", "", at, "jstack-2027-01-01T10-00-00.txt"},
		{"jstack-4711-2026-11-01T10-00-00.txt", "", "", "4711", at, "jstack-4711-2027-01-01T10-00-00.txt"},
		{"goroutine_dump.2026-11-01T10_00_00.000.123.txt", "cockroach", "", "", at, "goroutine_dump.2027-01-01T10_00_00.000.124.txt"},
	} {
		t.Run(tc.first, func(t *testing.T) {
			files := map[string]string{}
			for i, name := range []string{tc.first, tc.second} {
				files[name] = fmt.Sprintf("goroutine profile: total %d\n%d @ 0x1\n#\t0x1\tmain.work+0x1\t/s/a.go:1\n\n", 20+i, 20+i)
			}
			all := run(t, files).Snapshots
			if len(all) != 2 {
				t.Fatalf("%d snapshots", len(all))
			}
			found := all[0].Process
			stated := ""
			if !all[0].CapturedAt.IsZero() {
				stated = all[0].CapturedAt.Truncate(time.Second).Format(time.RFC3339)
			}
			if found.Name.Value != tc.process || found.Host.Value != tc.host || found.PID.Value != tc.pid || stated != tc.time {
				t.Errorf("process %q, host %q, pid %q, time %q", found.Name.Value, found.Host.Value, found.PID.Value, stated)
			}
			if all[1].Process.Key() != found.Key() || all[1].Process.PID.Value != found.PID.Value {
				t.Errorf("two processes: %q and %q", found.Key(), all[1].Process.Key())
			}
		})
	}
}
