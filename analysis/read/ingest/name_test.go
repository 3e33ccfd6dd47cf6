package ingest

import (
	"fmt"
	"testing"
	"time"

	"leakdiff/analysis/read/bundle"
)

// TestMetricsAloneCountGoroutines has no other file, and one beside a dump.
func TestMetricsAloneCountGoroutines(t *testing.T) {
	metrics := "# TYPE go_goroutines gauge\ngo_goroutines 4600\n"
	name := "metrics-2026-11-01T10-00-00.txt"
	s := run(t, map[string]string{name: metrics}).Snapshots[0]
	if n := s.Totals.Goroutines; n == nil || *n != 4600 || s.LowerBound || s.CapturedAt.Hour() != 10 {
		t.Errorf("%v goroutines, %v, %v", n, s.LowerBound, s.CapturedAt)
	}
	for _, s := range run(t, map[string]string{name: metrics, "prober/goroutine.txt": dump(5)}).Snapshots {
		if n := s.Totals.Goroutines; n != nil && *n == 4600 || s.LowerBound {
			t.Errorf("%+v", s.Totals)
		}
	}
}

func TestTimesInNamesAreReadAsTimes(t *testing.T) {
	at, day := "2026-11-01T10:00:00Z", "2026-11-01T00:00:00Z"
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
		{"kubelet-20251231-2358.txt", "kubelet", "", "", "2025-12-31T23:58:00Z", "kubelet-20260101-0001.txt"},
		{"kubelet_20251231_2358.txt", "kubelet", "", "", "2025-12-31T23:58:00Z", "kubelet_20260101_0001.txt"},
		{"kubelet-2025-12-31-23-58.txt", "kubelet", "", "", "2025-12-31T23:58:00Z", "kubelet-2026-01-01-00-01.txt"},
		{"kubelet_31.12.2025_23h58.txt", "kubelet", "", "", "2025-12-31T23:58:00Z", "kubelet_01.01.2026_00h01.txt"},
		{"kubelet-31.12.2025-23.58.30.txt", "kubelet", "", "", "2025-12-31T23:58:30Z", "kubelet-01.01.2026-00.01.30.txt"},
		{"jstack_31.12.2025_23h58.txt", "", "", "", "2025-12-31T23:58:00Z", "jstack_01.01.2026_00h01.txt"},
		{"2026-11-01-jstack-4711.txt", "", "", "4711", day, "2027-01-01-jstack-4711.txt"},
		{"jstack_4711_31.12.2025_23h58.txt", "", "", "4711", "2025-12-31T23:58:00Z", "jstack_4711_01.01.2026_00h01.txt"},
		{"kubelet-2026-11-01.txt", "kubelet", "", "", day, "kubelet-2027-01-01.txt"},
		{"jstack-2026-11-01.txt", "", "", "", day, "jstack-2027-01-01.txt"},
		{"jstack_2026_11_01.txt", "", "", "", day, "jstack_2027_01_01.txt"},
		{"jstack-2026-11-01T10-00-00.txt", "", "", "", at, "jstack-2027-01-01T10-00-00.txt"},
		{"jstack-4711-2026-11-01T10-00-00.txt", "", "", "4711", at, "jstack-4711-2027-01-01T10-00-00.txt"},
		{"2026-11-01T10:00:00Z-kubelet-goroutine.txt", "kubelet", "", "", at, "2027-01-01T10:00:00Z-kubelet-goroutine.txt"},
		{"goroutines.2026-11-01T10-00-00.pid-812.kubelet.txt", "kubelet", "", "812", at, "goroutines.2027-01-01T10-00-00.pid-812.kubelet.txt"},
		{"kubelet.pid812.2026-11-01T10:00:00.txt", "kubelet", "", "812", at, "kubelet.pid812.2027-01-01T10:00:00.txt"},
		{"jstack.4711.20251231-2358.log", "", "", "4711", "2025-12-31T23:58:00Z", "jstack.4711.20260101-0001.log"},
		{"etcd-node3-2026-11-01T10-00-00.txt", "etcd", "node3", "", at, "etcd-node3-2027-01-01T10-00-00.txt"},
		{"host7_containerd_goroutines_2026-11-01_10-00-00.log", "containerd", "host7", "", at, "host7_containerd_goroutines_2027-01-01_10-00-00.log"},
		{"node1-kubelet-20261101.txt", "kubelet", "node1", "", day, "node1-kubelet-20270101.txt"},
		{"etcd-leader-2026-11-01T10-00-00.txt", "etcd", "", "", at, "etcd-leader-2027-01-01T10-00-00.txt"},
		{"statefulset-2026-11-01T10-00-00.txt", "statefulset", "", "", at, "statefulset-2027-01-01T10-00-00.txt"},
		{"kube-system_coredns-5d78c9869d-abcde_coredns/goroutine-2026-11-01T10-00-00.txt", "coredns", "kube-system/coredns-5d78c9869d-abcde", "", at, "kube-system_coredns-5d78c9869d-abcde_coredns/goroutine-2027-01-01T10-00-00.txt"},
		{"pods/kube-system_cilium-x7z9q_0a1b2c3d-0000-4000-8000-000000000000/cilium-agent/2026-11-01T10-00-00.log", "cilium-agent", "kube-system/cilium-x7z9q", "", at, "pods/kube-system_cilium-x7z9q_0a1b2c3d-0000-4000-8000-000000000000/cilium-agent/2027-01-01T10-00-00.log"},
		{"cluster/nodes/w8/kubelet/2026-11-01T10-00-00/goroutine.txt", "kubelet", "w8", "", at, "cluster/nodes/w8/kubelet/2027-01-01T10-00-00/goroutine.txt"},
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

// TestADayInTheNameIsNotOverruledByACopy gives files in the order of their days the times of a copy
// in another order, and files that were written on their day the times of that day.
func TestADayInTheNameIsNotOverruledByACopy(t *testing.T) {
	dump := func(n int) []byte {
		return fmt.Appendf(nil, "goroutine profile: total %d\n%d @ 0x1\n#\t0x1\tmain.work+0x1\t/s/a.go:1\n\n", n, n)
	}
	for name, tt := range map[string]struct {
		written [3]time.Time
		want    [3]string
	}{
		"copied in another order": {[3]time.Time{day(27, 9), day(27, 8), day(27, 7)}, [3]string{"2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"}},
		"written on their days":   {[3]time.Time{day(1, 9), day(2, 10), day(3, 11)}, [3]string{"2026-11-01T09:00:00Z", "2026-11-02T10:00:00Z", "2026-11-03T11:00:00Z"}},
	} {
		var inputs []bundle.Input
		for i, at := range tt.written {
			in := given(fmt.Sprintf("goroutine-2026-11-0%d.txt", i+1), dump(10*i+10))
			in.ModTime = at
			inputs = append(inputs, in)
		}
		for i, s := range ran(t, inputs...).Snapshots {
			if got := s.CapturedAt.Format(time.RFC3339); got != tt.want[i] || *s.Totals.Goroutines != 10*i+10 {
				t.Errorf("%s: %d goroutines at %s, want %s", name, *s.Totals.Goroutines, got, tt.want[i])
			}
		}
	}
}

func day(of, hour int) time.Time { return time.Date(2026, 11, of, hour, 0, 0, 0, time.UTC) }
