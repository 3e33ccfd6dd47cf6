package report_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/report"
)

// reportOfText reads one file as a case.
func reportOfText(t *testing.T, name, text string) report.Report {
	t.Helper()
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, []bundle.Input{{Name: name, Size: int64(len(text)), Open: open}})
	if err != nil {
		t.Fatal(err)
	}
	return report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"}).Report
}

// shown has a line for each snapshot of a report: "name pid host time descriptors watches".
func shown(r *report.Report) []string {
	var out []string
	for _, s := range r.Snapshots {
		var b bytes.Buffer
		number := func(n *int) string {
			if n == nil {
				return "-"
			}
			return fmt.Sprint(*n)
		}
		host, at := "-", "-"
		if s.Host != nil {
			host = *s.Host
		}
		if s.CapturedAt != nil {
			at = s.CapturedAt.Format("15:04:05")
		}
		fmt.Fprintf(&b, "%s %s %s %s %s %s", s.Process, number(s.PID), host, at, number(s.Totals.Descriptors), number(s.Totals.Watches))
		out = append(out, strings.TrimSpace(b.String()))
	}
	slices.Sort(out)
	return out
}

// links are rows of ls -l for descriptors from 0, each below a directory if there is one.
func links(n, inode int, directory string) string {
	var b strings.Builder
	for fd := range n {
		fmt.Fprintf(&b, "lrwx------ 1 root root 64 Feb  2 02:02 %s%d -> socket:[%d]\n", directory, fd, inode+fd)
	}
	return b.String()
}

const (
	instance = "   %d      0 lr-x------   1 root     root           64 Feb  2 02:02 /proc/%d/fd/%d -> anon_inode:inotify\n"
	watch    = "inotify wd:%x ino:3f327 sdev:800001 mask:fc6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:27f30300e5059ea2\n"
)

func TestAListingIsOfTheProcessThatItOrItsCommandNames(t *testing.T) {
	date := func(minute int) string { return fmt.Sprintf("Mon Feb  2 03:%02d:00 UTC 2026\n", minute) }
	var loop, oneRow, counts, tables strings.Builder
	for i := range 5 {
		loop.WriteString(date(i) + "total 0\n" + links(3+i, 5000, ""))
		oneRow.WriteString(date(i) + fmt.Sprintf(instance, 4711, 50, 4))
		counts.WriteString(date(i) + fmt.Sprintf("/proc/50/fdinfo/5:%d\n/proc/60/fdinfo/7:800\n", 12+i))
		tables.WriteString(date(i) + "COUNT\tPID\tUSER\tCOMMAND\n" + fmt.Sprintf("%d\t8412\troot /bin/kubelet --v=2\n2620\t1\troot /sbin/init\n", 7000+i))
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"ls -l of two directories":      {"/proc/50/fd:\ntotal 0\n" + links(2, 5000, "") + "\n/proc/60/fd:\ntotal 0\n" + links(3, 6000, ""), []string{"50 - - 2 -", "60 - - 3 -"}},
		"ls -la of two directories":     {"/proc/50/fd:\ntotal 0\ndr-x------ 2 root root  2 Feb  2 02:02 .\ndr-xr-xr-x 9 root root  0 Feb  2 02:02 ..\n" + links(2, 5000, "") + "\n/proc/60/fd:\ntotal 0\ndr-x------ 2 root root  3 Feb  2 02:02 .\ndr-xr-xr-x 9 root root  0 Feb  2 02:02 ..\n" + links(3, 6000, ""), []string{"50 - - 2 -", "60 - - 3 -"}},
		"ls -l of the links":            {links(2, 5000, "/proc/50/fd/") + links(3, 6000, "/proc/60/fd/"), []string{"50 - - 2 -", "60 - - 3 -"}},
		"two directories, twice":        {strings.Repeat("/proc/50/fd:\ntotal 0\n"+links(2, 5000, "")+"\n/proc/60/fd:\ntotal 0\n"+links(3, 6000, "")+"\n", 2), []string{"50 - - 2 -", "50 - - 2 -", "60 - - 3 -", "60 - - 3 -"}},
		"prompts":                       {"$ ls -l /proc/50/fd\n" + links(2, 5000, "") + "$ ls -l /proc/60/fd\n" + links(30, 6000, ""), []string{"50 - - 2 -", "60 - - 30 -"}},
		"a prompt":                      {"$ ls -l /proc/60/fd\ntotal 0\n" + links(1, 6000, ""), []string{"60 - - 1 -"}},
		"one process, prompts and date": {"$ date\n" + date(1) + "$ ls -l /proc/60/fd\ntotal 0\n" + links(2, 6000, "") + "$ date\n" + date(9) + "$ ls -l /proc/60/fd\ntotal 0\n" + links(4, 6000, ""), []string{"60 - 03:01:00 2 -", "60 - 03:09:00 4 -"}},
		"pods":                          {"kubectl exec web-1 -c app -- ls -l /proc/1/fd\ntotal 0\n" + links(2, 5000, "") + "kubectl exec web-2 -c app -- ls -l /proc/1/fd\ntotal 0\n" + links(3, 6000, ""), []string{"app 1 web-1 - 2 -", "app 1 web-2 - 3 -"}},
		"containers":                    {"$ docker exec a ls -l /proc/1/fd\n" + links(2, 5000, "") + "$ docker exec b ls -l /proc/1/fd\n" + links(3, 6000, ""), []string{"1 a - 2 -", "1 b - 3 -"}},
		"hosts":                         {"$ ssh node1 ls -l /proc/50/fd\n" + links(2, 5000, "") + "$ ssh node2 ls -l /proc/50/fd\n" + links(3, 6000, ""), []string{"50 node1 - 2 -", "50 node2 - 3 -"}},
		"prompts of hosts":              {"[root@node1 ~]# ls -l /proc/50/fd\n" + links(2, 5000, "") + "[root@node2 ~]# ls -l /proc/50/fd\n" + links(3, 6000, ""), []string{"50 node1 - 2 -", "50 node2 - 3 -"}},
		"a shell on a host":             {"$ ssh node1\n# ls -l /proc/50/fd\n" + links(2, 5000, "") + "# exit\n$ ls -l /proc/50/fd\n" + links(3, 6000, ""), []string{"50 - - 3 -", "50 node1 - 2 -"}},
		"headings of a loop":            {"== pid 50\n" + links(2, 5000, "") + "== pid 60\n" + links(3, 6000, ""), []string{"50 - - 2 -", "60 - - 3 -"}},
		"numbers of a loop":             {"--- 50 ---\ntotal 0\n" + links(2, 5000, "") + "--- 60 ---\ntotal 0\n" + links(3, 6000, ""), []string{"50 - - 2 -", "60 - - 3 -"}},
		"a program by its name":         {"$ sudo ls -l /proc/$(pidof kubelet)/fd\n" + links(2, 5000, ""), []string{"kubelet - - - 2 -"}},
		"dates of a loop":               {loop.String(), []string{"- - 03:00:00 3 -", "- - 03:01:00 4 -", "- - 03:02:00 5 -", "- - 03:03:00 6 -", "- - 03:04:00 7 -"}},
		"a loop at a prompt":            {"$ while :; do date; ls -l /proc/60/fd; sleep 60; done\n" + loop.String(), []string{"60 - 03:00:00 3 -", "60 - 03:01:00 4 -", "60 - 03:02:00 5 -", "60 - 03:03:00 6 -", "60 - 03:04:00 7 -"}},
		"one date":                      {date(7) + links(2, 5000, "/proc/50/fd/"), []string{"50 - 03:07:00 2 -"}},

		"find -ls":                        {fmt.Sprintf(instance, 4711, 50, 4) + fmt.Sprintf(instance, 4712, 60, 5), []string{"50 - - 1 -", "60 - - 1 -"}},
		"find -ls of two instances":       {"$ find /proc/*/fd -lname anon_inode:inotify -ls\n" + fmt.Sprintf(instance, 4711, 50, 4) + fmt.Sprintf(instance, 4712, 50, 5), []string{"50 - - 2 -"}},
		"find -ls in a loop":              {oneRow.String(), []string{"50 - 03:00:00 1 -", "50 - 03:01:00 1 -", "50 - 03:02:00 1 -", "50 - 03:03:00 1 -", "50 - 03:04:00 1 -"}},
		"find -lname":                     {"$ sudo find /proc/*/fd -lname anon_inode:inotify\n/proc/50/fd/4\n/proc/50/fd/9\n/proc/60/fd/5\n", []string{"50 - - 2 -", "60 - - 1 -"}},
		"find -printf with an arrow":      {"/proc/50/fd/4 -> anon_inode:inotify\n/proc/60/fd/5 -> anon_inode:inotify\n", []string{"50 - - 1 -", "60 - - 1 -"}},
		"find -printf without one":        {"/proc/50/fd/4 anon_inode:inotify\n/proc/60/fd/5 anon_inode:inotify\n", []string{"50 - - 1 -", "60 - - 1 -"}},
		"grep over fdinfo":                {"/proc/50/fdinfo/5:" + fmt.Sprintf(watch, 1) + "/proc/60/fdinfo/5:" + fmt.Sprintf(watch, 1) + "/proc/60/fdinfo/5:" + fmt.Sprintf(watch, 2), []string{"50 - - 1 1", "60 - - 1 2"}},
		"grep -c over fdinfo":             {"/proc/50/fdinfo/5:12\n/proc/60/fdinfo/7:800\n", []string{"50 - - 1 12", "60 - - 1 800"}},
		"grep -c in a loop":               {counts.String(), []string{"50 - 03:00:00 1 12", "50 - 03:01:00 1 13", "50 - 03:02:00 1 14", "50 - 03:03:00 1 15", "50 - 03:04:00 1 16", "60 - 03:00:00 1 800", "60 - 03:01:00 1 800", "60 - 03:02:00 1 800", "60 - 03:03:00 1 800", "60 - 03:04:00 1 800"}},
		"grep -r, threads too":            {"$ sudo grep -r ^inotify /proc/50\n/proc/50/task/50/fdinfo/5:" + fmt.Sprintf(watch, 1) + "/proc/50/task/51/fdinfo/5:" + fmt.Sprintf(watch, 1) + "/proc/50/fdinfo/5:" + fmt.Sprintf(watch, 1), []string{"50 - - 1 1"}},
		"xargs grep":                      {"$ sudo find /proc/[0-9]*/fdinfo -type f 2>/dev/null | sudo xargs grep ^inotify\n/proc/8412/fdinfo/10:" + fmt.Sprintf(watch, 1) + "/proc/1/fdinfo/5:" + fmt.Sprintf(watch, 1), []string{"1 - - 1 1", "8412 - - 1 1"}},
		"a file at a prompt":              {"$ sudo cat /proc/2430/fdinfo/8\npos:    0\nflags:  02004000\nmnt_id: 15\nino:    1057\n" + fmt.Sprintf(watch, 1), []string{"2430 - - 1 1"}},
		"files below headings":            {"==> /proc/50/fdinfo/5 <==\npos:\t0\nflags:\t02004000\n" + fmt.Sprintf(watch, 1) + "\n==> /proc/60/fdinfo/5 <==\npos:\t0\nflags:\t02004000\n" + fmt.Sprintf(watch, 1) + fmt.Sprintf(watch, 2), []string{"50 - - 1 1", "60 - - 1 2"}},
		"the table of a script":           {"COUNT\tPID\tUSER\tCOMMAND\n7491    8412    root /home/kubernetes/bin/kubelet --v=2 --cloud-provide=gce --experi\n2620    1   root /sbin/init\n", []string{"init 1 - - - 2620", "kubelet 8412 - - - 7491"}},
		"the table of a script in a loop": {tables.String(), []string{"init 1 - 03:00:00 - 2620", "init 1 - 03:01:00 - 2620", "init 1 - 03:02:00 - 2620", "init 1 - 03:03:00 - 2620", "init 1 - 03:04:00 - 2620", "kubelet 8412 - 03:00:00 - 7000", "kubelet 8412 - 03:01:00 - 7001", "kubelet 8412 - 03:02:00 - 7002", "kubelet 8412 - 03:03:00 - 7003", "kubelet 8412 - 03:04:00 - 7004"}},
		// 120 watches: the targets shown have 72 and 1, and 47 are on no other line.
		"the first script of a kubelet":  {"kubelet pid=2430\n3f327 3f321 1 10b\nCount: 120\n1 10b 1259 128a\n1   1   72  Inode   Pathname\n10b 267 1   267 /etc/systemd/system/\n", []string{"kubelet 2430 - - - 120"}},
		"the second script of a kubelet": {"Kubelet Pid: 8412\nCount: 7491\nUnique target 3\nINUM       DEV        COUNT  TARGET\n258855     8:1        3      /etc/srv/kubernetes/pki/ca-certificates.crt\n1          0:231      6649   \nCan't find mount info for 0:100\n", []string{"kubelet 8412 - - - 7491"}},
		"it, twice":                      {date(0) + "Kubelet Pid: 8412\nCount: 10\nINUM       DEV        COUNT  TARGET\n1          0:231      9   \nCan't find mount info for 0:100\n" + date(5) + "Kubelet Pid: 8412\nCount: 12\nINUM       DEV        COUNT  TARGET\n1          0:231      9   \nCan't find mount info for 0:100\n", []string{"kubelet 8412 - 03:00:00 - 10", "kubelet 8412 - 03:05:00 - 12"}},
		"sockets without a state":        {"u_str  0      0      /var/run/docker.sock -1445160328                * 0                     users:((\"dockerd\",pid=50,fd=52))\nu_str  0      0      /var/run/docker.sock -1445160329                * 0                     users:((\"dockerd\",pid=50,fd=53))\n", []string{"dockerd 50 - - - -"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := reportOfText(t, "x.txt", c.text)
			if diff := cmp.Diff(c.want, shown(&r)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, r.Problems)
			}
		})
	}
}

func TestWatchesOnMountsThatAScriptDoesNotFindAreOnOnesThatAreGone(t *testing.T) {
	const text = "Kubelet Pid: 8412\nCount: 20\nINUM       DEV        COUNT  TARGET\n258855     8:1        3      /etc/ca.crt\nCan't find mount info for 0:100\nCan't find mount info for 0:101\n"
	r := reportOfText(t, "x.txt", text)
	counts := map[string]int{}
	for _, f := range r.Series[0].Families {
		counts[f.Attributes["status"]] += f.Counts[0].N
	}
	if want := map[string]int{"unknown": 3, "not in mountinfo": 17}; !cmp.Equal(want, counts) {
		t.Errorf("watches by status: %v, want %v", counts, want)
	}
}

func TestATableBesideTheWordInotifyCountsNoInstance(t *testing.T) {
	const text = "tail: inotify cannot be used, reverting to polling\n\n$ ps -eLo pid,user,comm --no-headers | sort | uniq -c\n     90     50 root     java\n     40     60 root     dockerd\n"
	for _, before := range []string{"", "$ find /proc/*/fd -lname anon_inode:inotify 2>/dev/null | wc -l\n5\n"} {
		r := reportOfText(t, "x.txt", before+text)
		if diff := cmp.Diff([]string{"dockerd 60 - - - -", "java 50 - - - -"}, shown(&r)); diff != "" {
			t.Errorf("below %q (-want +got):\n%s", before, diff)
		}
		for _, s := range r.Snapshots {
			if want := map[string]int{"java": 90, "dockerd": 40}[s.Process]; s.Totals.Threads == nil || *s.Totals.Threads != want {
				t.Errorf("below %q: threads of %s: %+v, want %d", before, s.Process, s.Totals, want)
			}
		}
	}
}

func TestTheOutputsOfALoopAreComparedAndNeverAddedUp(t *testing.T) {
	const command = "$ while sleep 600; do date; find /proc/*/fd -lname anon_inode:inotify | cut -d/ -f3 | xargs -I {} ps --no-headers -o '%p %U %c' -p {} | uniq -c; done\n"
	var text strings.Builder
	text.WriteString(command)
	for i := range 5 {
		fmt.Fprintf(&text, "Mon Feb  2 03:%d0:00 UTC 2026\n   %d     50 root     java\n", i, 5+20*i)
	}
	r := reportOfText(t, "x.txt", text.String())
	want := []string{"java 50 - 03:00:00 5 -", "java 50 - 03:10:00 25 -", "java 50 - 03:20:00 45 -", "java 50 - 03:30:00 65 -", "java 50 - 03:40:00 85 -"}
	if diff := cmp.Diff(want, shown(&r)); diff != "" || r.Diagnosis.State != "leaking" || !strings.Contains(r.Diagnosis.Sentence, "from 5 to 85") {
		t.Errorf("%s, %q (-want +got):\n%s", r.Diagnosis.State, r.Diagnosis.Sentence, diff)
	}
}

func TestInotifyInstancesAloneAreNotComparedWithAllDescriptors(t *testing.T) {
	text := "$ ls -l /proc/50/fd\n" + links(3, 5000, "") + "lr-x------ 1 root root 64 Feb  2 02:02 3 -> anon_inode:inotify\n$ find /proc/50/fd -lname anon_inode:inotify -ls\n" + fmt.Sprintf(instance, 4711, 50, 3)
	r := reportOfText(t, "x.txt", text)
	if r.Diagnosis.State != "one dump" && r.Diagnosis.State != "cannot be compared" {
		t.Errorf("%s, %q: %v", r.Diagnosis.State, r.Diagnosis.Sentence, shown(&r))
	}
}

func TestAPodWhoseMountIsGoneIsNamedWithTheCaptureSinceWhichItIsGone(t *testing.T) {
	const uid = "1b2c3d4e-0000-4111-8222-abcdefabcdef"
	root := "160 1 254:0 / / rw - ext4 /dev/vda rw\n"
	mounted := root + "161 160 0:42 / /var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~projected/kube-api-access-x rw - tmpfs tmpfs rw\n"
	watch := "pos:\t0\nflags:\t00\nmnt_id:\t15\nino:\t1038\ninotify wd:1 ino:1 sdev:2a mask:300 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0100000001000000\n"
	files := map[string]string{"var/log/pods/shop_cart-7d9f_" + uid + "/app/0.log": "starting\n"}
	for i, mounts := range []string{mounted, mounted, root, root} {
		dir := fmt.Sprintf("t%d/kubelet/", i)
		files[dir+"fdinfo/7"], files[dir+"mountinfo"], files[dir+"status"] = watch, mounts, "Name:\tkubelet\nPid:\t4711\n"
	}
	var inputs []bundle.Input
	for _, name := range slices.Sorted(maps.Keys(files)) {
		inputs = append(inputs, bundle.Input{Name: name, Size: int64(len(files[name])), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[name])), nil }})
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil {
		t.Fatal(err)
	}
	r := report.Build(result.Snapshots, result.Problems, report.Options{Version: "test"}).Report
	var told []string
	for _, f := range r.Series[0].Findings {
		told = append(told, f.Text)
	}
	const want = "1 watch is on what is gone; they belonged to 1 pod: shop/cart-7d9f (gone since t2)."
	if !slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, want) }) {
		t.Errorf("%q is in none of %q", want, told)
	}
}
