package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
)

// manifest is one of a round, with steps as JSON.
func manifest(round int, started string, steps ...string) string {
	return fmt.Sprintf(`{
 "schema": "leakdiff.capture/1", "tool": "leakdiff collect 1.0", "host": "worker-7", "round": %d, "rounds": 4, "every_seconds": 60,
 "started": %q, "ended": %q,
 "process": {"name": "containerd-shim-runc-v2", "pid": 4711, "start_ticks": 99, "version": "shim v2", "go": "go1.26.8"},
 "load": {"goroutines": 3, "stop_ms_estimate": 0.03, "max_goroutines": 100000, "step_seconds": 10},
 "steps": [%s]
}`, round, started, started, strings.Join(steps, ",\n"))
}

func step(name, status, file, at, sha, why string) string {
	return fmt.Sprintf(`{"step": %q, "status": %q, "file": %q, "at": %q, "ms": 5, "sha256": %q, "error": %q}`, name, status, file, at, sha, why)
}

// TestABusyProcessLosesNoWatches captures fd a moment after fdinfo, when ten more were open.
func TestABusyProcessLosesNoWatches(t *testing.T) {
	const at = "2026-05-21T03:00:00Z"
	for _, tt := range []struct {
		name, sum, told string
		watches         bool
	}{
		{"the manifest proves that fdinfo is whole", hexSum([]byte("3 " + hexSum([]byte(fdinfo)) + "\n")), "", true},
		{"the manifest has another hash", hexSum(nil), "fdinfo holds 1 of 11 descriptors and was left out", false},
	} {
		var links strings.Builder
		for fd := 3; fd < 14; fd++ {
			target := "socket:[9]"
			if fd == 3 {
				target = "anon_inode:inotify"
			}
			fmt.Fprintf(&links, "%d -> %s\n", fd, target)
		}
		r := run(t, map[string]string{
			"c/t0/x/fdinfo/3":      fdinfo,
			"c/t0/x/fd.txt":        links.String(),
			"c/t0/x/manifest.json": manifest(0, at, step("fdinfo", "done", "fdinfo/", at, tt.sum, ""), step("fd", "done", "fd.txt", at, hexSum([]byte(links.String())), "")),
		})
		told := ""
		for _, p := range r.Problems {
			if strings.HasPrefix(p.What, "fdinfo holds") {
				told = p.What
			}
		}
		if len(r.Snapshots) != 1 || told != tt.told {
			t.Fatalf("%s: %d snapshots, problems %v", tt.name, len(r.Snapshots), r.Problems)
		}
		if n := r.Snapshots[0].Totals; n.Descriptors == nil || *n.Descriptors != 11 || (n.Watches != nil) != tt.watches {
			t.Errorf("%s: totals %+v, want 11 descriptors, watches %t", tt.name, n, tt.watches)
		}
	}
}

func TestAManifestSaysWhoseAndWhenEachKindIs(t *testing.T) {
	text := dump(5, 6)
	r := run(t, map[string]string{
		"cap/t3/shim-4711/goroutine.debug2.txt": text,
		"cap/t3/shim-4711/fdinfo/3":             fdinfo,
		"cap/t3/shim-4711/manifest.json": manifest(3, "2026-05-21T03:00:00.500Z",
			step("fdinfo", "done", "fdinfo/", "2026-05-21T03:00:00.600Z", hexSum([]byte("3 "+hexSum([]byte(fdinfo))+"\n")), ""),
			step("goroutines debug=2", "done", "goroutine.debug2.txt", "2026-05-21T03:01:30Z", hexSum([]byte(text)), ""),
			step("goroutines proto", "failed", "", "2026-05-21T03:00:01Z", "", "no end within 10s")),
	})
	if len(r.Snapshots) != 1 {
		t.Fatalf("%d snapshots", len(r.Snapshots))
	}
	s := r.Snapshots[0]
	who := func(f analysis.Fact) string { return f.Value }
	got := []string{who(s.Process.Host), who(s.Process.Name), who(s.Process.PID), who(s.Process.Start), who(s.Process.Version), s.Label, s.CapturedAt.Format(time.RFC3339Nano)}
	want := []string{"worker-7", "containerd-shim-runc-v2", "4711", "99", "shim v2, go1.26.8", "t3", "2026-05-21T03:00:00.5Z"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	times := map[analysis.Kind]time.Time{analysis.KindGoroutine: time.Date(2026, 5, 21, 3, 1, 30, 0, time.UTC)}
	if d := cmp.Diff(times, s.Times); d != "" {
		t.Error(d)
	}
	var told []string
	for _, p := range r.Problems {
		told = append(told, string(p.Severity)+": "+p.What+": "+p.Why)
	}
	if d := cmp.Diff([]string{"warning: goroutines proto at t3 was not captured: no end within 10s"}, told); d != "" {
		t.Error(d)
	}
}

func TestADumpThatTheCaptureCouldNotFinishIsCut(t *testing.T) {
	text := dump(5, 6) // whole by its look
	r := run(t, map[string]string{
		"c/t0/x/goroutine.debug2.txt": text,
		"c/t0/x/manifest.json":        manifest(0, "2026-05-21T03:00:00Z", step("goroutines debug=2", "partial", "goroutine.debug2.txt", "2026-05-21T03:00:00Z", hexSum([]byte(text)), "no end within 10s")),
	})
	if s := r.Snapshots[0]; !s.Truncated || !s.LowerBound {
		t.Errorf("truncated %v, lower bound %v", s.Truncated, s.LowerBound)
	}
}

func TestAStepIsOneInstantHoweverOftenItsDumpIsRepeated(t *testing.T) {
	const at = "2026-05-21T03:00:00Z"
	again := dump(5, 6) + "\n" + dump(5, 6) + "\n" + dump(5)
	files := map[string]string{
		"c/t0/x/goroutine.debug2.txt": again,
		"c/t0/x/fdinfo/3":             fdinfo,
		"c/t0/x/manifest.json":        manifest(0, at, step("goroutines debug=2", "partial", "goroutine.debug2.txt", at, hexSum([]byte(again)), "no end within 10s")),
	}
	r := run(t, files)
	if len(r.Snapshots) != 1 {
		t.Fatalf("%d snapshots", len(r.Snapshots))
	}
	if s := r.Snapshots[0]; *s.Totals.Goroutines != 3 || s.Truncated || *s.Totals.Descriptors != 1 || s.Label != "t0" {
		t.Errorf("%d goroutines, truncated %v, %d descriptors, label %s", *s.Totals.Goroutines, s.Truncated, *s.Totals.Descriptors, s.Label)
	}
	const want = "goroutines debug=2 at t0 repeats itself: only the first of 3 dumps counts"
	if !slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool { return p.What == want && p.Severity == analysis.Warning }) {
		t.Errorf("problems %+v", r.Problems)
	}
	delete(files, "c/t0/x/manifest.json")
	if r := run(t, files); len(r.Snapshots) != 3 {
		t.Errorf("%d snapshots without a manifest, want each dump", len(r.Snapshots))
	}
}

func TestADumpThatIsSomethingElseIsAProblem(t *testing.T) {
	const at, page = "2026-05-21T03:00:00Z", "<html>login please</html>"
	r := run(t, map[string]string{
		"c/t0/x/goroutine.debug2.txt": page,
		"c/t0/x/fdinfo/3":             fdinfo,
		"c/t0/x/manifest.json":        manifest(0, at, step("goroutines debug=2", "done", "goroutine.debug2.txt", at, hexSum([]byte(page)), "")),
	})
	if !slices.ContainsFunc(r.Problems, func(p analysis.Problem) bool {
		return p.What == "goroutines debug=2 at t0 holds no goroutine" && p.Severity == analysis.Warning && strings.Contains(p.Why, page)
	}) {
		t.Errorf("problems %+v", r.Problems)
	}
}

func TestWhatCannotBeHadIsToldOnce(t *testing.T) {
	files := map[string]string{}
	for i := range 4 {
		dir := fmt.Sprintf("c/t%d/x/", i)
		files[dir+"goroutine.debug2.txt"] = dump(5, 6+int(i))
		files[dir+"manifest.json"] = manifest(i, fmt.Sprintf("2026-05-21T03:0%d:00Z", i), step("lsof", "skipped", "", "2026-05-21T03:00:00Z", "", "lsof is not installed"))
	}
	r := run(t, files)
	if len(r.Snapshots) != 4 || len(r.Problems) != 1 || r.Problems[0].Severity != analysis.Note {
		t.Errorf("%d snapshots, problems %+v", len(r.Snapshots), r.Problems)
	}
}

func TestADamagedManifestCostsOnlyItself(t *testing.T) {
	r := run(t, map[string]string{
		"c/t0/x/goroutine.debug2.txt": dump(5, 6),
		"c/t0/x/manifest.json":        manifest(0, "2026-05-21T03:00:00Z")[:200],
	})
	if len(r.Snapshots) != 1 || *r.Snapshots[0].Totals.Goroutines != 3 {
		t.Errorf("snapshots %+v", r.Snapshots)
	}
	if len(r.Problems) != 1 || r.Problems[0].What != "the manifest of a capture is damaged" {
		t.Errorf("problems %+v", r.Problems)
	}
}

// A watch whose volume is unmounted later is named by the capture that still saw it.
func TestAWatchIsNamedByAnEarlierCaptureOfIt(t *testing.T) {
	const uid = "1b2c3d4e-0000-4111-8222-abcdefabcdef"
	volume := "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~projected/kube-api-access-x"
	root := "160 1 254:0 / / rw - ext4 /dev/vda rw\n"
	stat := func(start int) string {
		return fmt.Sprintf("4711 (kubelet) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 11 0 %d 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7\n", start)
	}
	watch := "pos:\t0\nflags:\t00\nmnt_id:\t15\nino:\t1038\ninotify wd:1 ino:1 sdev:2a mask:300 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0100000001000000\n"
	for _, c := range []struct {
		name  string
		start int
		want  analysis.Target
	}{
		{"of the same process", 99, analysis.Target{What: volume, FSType: "tmpfs", State: analysis.TargetUnmounted, PodUID: uid, Count: 1, Why: "device 0:42 is in no line of mountinfo; it was there at t0"}},
		{"but not of another process with its pid", 100, analysis.Target{What: "the root of device 0:42", State: analysis.TargetUnmounted, Count: 1, Why: "device 0:42 is in no line of mountinfo"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, map[string]string{
				"t0/kubelet/fdinfo/7": watch, "t0/kubelet/mountinfo": root + "161 160 0:42 / " + volume + " rw - tmpfs tmpfs rw\n", "t0/kubelet/stat": stat(99),
				"t1/kubelet/fdinfo/7": watch, "t1/kubelet/mountinfo": root, "t1/kubelet/stat": stat(c.start),
			})
			var got []analysis.Target
			for _, rows := range r.Snapshots[len(r.Snapshots)-1].Watched {
				got = append(got, rows...)
			}
			if d := cmp.Diff([]analysis.Target{c.want}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The pod of a volume that is gone has the name that an earlier list of pods or a path gives it.
func TestThePodOfAMountThatIsGoneHasItsName(t *testing.T) {
	const uid, at = "1b2c3d4e-0000-4111-8222-abcdefabcdef", "2026-05-21T03:00:00Z"
	volume := "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~projected/kube-api-access-x"
	root := "160 1 254:0 / / rw - ext4 /dev/vda rw\n"
	mounted := root + "161 160 0:42 / " + volume + " rw - tmpfs tmpfs rw\n"
	listed := strings.Replace(manifest(0, at), `"steps"`, `"pods": [{"uid": "`+uid+`", "namespace": "shop", "name": "cart-7d9f"}], "steps"`, 1)
	none := "pos:\t0\nflags:\t00\nmnt_id:\t15\nino:\t1038\n"
	watch := none + "inotify wd:1 ino:1 sdev:2a mask:300 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0100000001000000\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		pod   string
	}{
		{"of the manifest of the capture before", map[string]string{"t0/x/manifest.json": listed, "t0/x/fdinfo/7": watch}, "shop/cart-7d9f"},
		{"of the directory of its logs", map[string]string{"t0/x/fdinfo/7": watch, "var/log/pods/shop_cart-7d9f_" + uid + "/app/0.log": "starting\n"}, "shop/cart-7d9f"},
		{"with its uid alone", map[string]string{"t0/x/fdinfo/7": watch}, ""},
		{"although the capture before did not see the watch", map[string]string{"t0/x/manifest.json": listed, "t0/x/fdinfo/7": none}, "shop/cart-7d9f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["t0/x/mountinfo"], c.files["t0/x/status"] = mounted, "Name:\tkubelet\nPid:\t4711\n"
			c.files["t1/x/mountinfo"], c.files["t1/x/status"], c.files["t1/x/fdinfo/7"] = root, "Name:\tkubelet\nPid:\t4711\n", watch
			if c.files["t0/x/manifest.json"] != "" {
				c.files["t1/x/manifest.json"] = manifest(1, "2026-05-21T03:01:00Z")
			}
			r := run(t, c.files)
			var got []analysis.Target
			for _, rows := range r.Snapshots[len(r.Snapshots)-1].Watched {
				got = append(got, rows...)
			}
			want := []analysis.Target{{What: volume, FSType: "tmpfs", State: analysis.TargetUnmounted, PodUID: uid, Pod: c.pod, Count: 1, Why: "device 0:42 is in no line of mountinfo; it was there at t0"}}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTheStepsOfAManifestAreBounded(t *testing.T) {
	var steps []string
	for i := range 20_000 {
		steps = append(steps, step(fmt.Sprintf("step %d", i), "failed", fmt.Sprintf("file %d", i), "2026-05-21T03:00:00Z", "", "x"))
	}
	r := run(t, map[string]string{
		"c/t0/x/goroutine.debug2.txt": dump(5, 6),
		"c/t0/x/manifest.json":        manifest(0, "2026-05-21T03:00:00Z", steps...),
	})
	if len(r.Snapshots) != 1 || len(r.Problems) != 2*mostSteps+1 {
		t.Fatalf("%d snapshots, %d problems", len(r.Snapshots), len(r.Problems))
	}
	if p := r.Problems[mostSteps]; p.What != "19800 steps of the manifest are not looked at" {
		t.Errorf("%+v", p)
	}
}

func TestATimeOfAStepMustBeOfItsRound(t *testing.T) {
	text := dump(5, 6)
	for _, c := range []struct{ name, started, at, why string }{
		{"minutes later", "2026-05-21T03:00:00Z", "2026-05-21T03:20:00Z", ""},
		{"in the future", "2026-05-21T03:00:00Z", "2226-05-21T03:00:00Z", "lies before 2000 or in the future"},
		{"before 2000", "2026-05-21T03:00:00Z", "1970-01-01T00:00:00Z", "lies before 2000 or in the future"},
		{"of another day", "2026-05-21T03:00:00Z", "2026-05-20T03:00:00Z", "no step is 6 hours away from its round"},
		{"of a round that is not believed", "1970-01-01T00:00:00Z", "2026-05-21T03:00:00Z", "the round itself lies before 2000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, map[string]string{
				"c/t0/x/goroutine.debug2.txt": text,
				"c/t0/x/manifest.json":        manifest(0, c.started, step("goroutines debug=2", "done", "goroutine.debug2.txt", c.at, hexSum([]byte(text)), "")),
			})
			if got, want := len(r.Snapshots[0].Times), 0; c.why != "" && got != want {
				t.Errorf("times %v", r.Snapshots[0].Times)
			}
			if c.why == "" {
				if len(r.Problems) != 0 || len(r.Snapshots[0].Times) != 1 {
					t.Errorf("times %v, problems %+v", r.Snapshots[0].Times, r.Problems)
				}
				return
			}
			if len(r.Problems) != 1 || r.Problems[0].What != "the manifest has 1 step whose time is not believed" || !strings.Contains(r.Problems[0].Why, c.why) {
				t.Errorf("%+v", r.Problems)
			}
		})
	}
}

func TestNoNumberOfNotesHidesAnError(t *testing.T) {
	told := newProblemList(bundle.Budget{Problems: 3})
	tell := func(n int, severity analysis.Severity) {
		for range n {
			told.add(analysis.Problem{What: string(severity), Severity: severity})
		}
	}
	tell(10, analysis.Note)
	back := told.separate()
	tell(5, analysis.Warning)
	inner := back()
	if len(inner) != 3 {
		t.Errorf("%d problems of the inner dump", len(inner))
	}
	told.add(inner...)
	tell(2, analysis.Error)
	told.close()
	var got []string
	for _, p := range told.list {
		got = append(got, p.What)
	}
	want := []string{"note", "note", "note", "warning", "warning", "warning", "error", "error", "9 more problems of these files are not listed"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestABundleOfFaultsStillSaysThatItHoldsNothing(t *testing.T) {
	files := map[string]string{}
	for i := range 5 {
		files[fmt.Sprintf("c/t%d/x/manifest.json", i)] = manifest(i, "2026-05-21T03:00:00Z")[:200]
	}
	r := runWith(t, Config{Bundle: bundle.Config{Budget: bundle.Budget{Problems: 2}}}, files)
	var got []string
	for _, p := range r.Problems {
		got = append(got, p.What)
	}
	want := []string{"the manifest of a capture is damaged", "the manifest of a capture is damaged", "3 more problems of these files are not listed", "none of the 5 files holds a dump"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
