package detect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/detect"
	"leakdiff/samples/corpus"
)

type counts = map[detect.Kind]int

// The figures are those of EXPECTED.tsv and of the names in the archives ("tar tv").
func TestTheMembersOfRealBundlesAreNamed(t *testing.T) {
	root := corpus.Path(t)
	promtool := counts{detect.GoroutineProto: 1, detect.HeapProto: 1, detect.OtherProfile: 2, detect.ContentionProto: 2, detect.ExecutionTrace: 1, detect.Metrics: 1}
	emptied := counts{detect.EmptyFDInfo: 82}
	for name, want := range map[string]counts{
		"bundles/nomad/nomad-debug-2026-11-21-025540Z.tar.gz": {
			detect.GoroutineDebug2: 3, detect.GoroutineDebug1: 3, detect.GoroutineProto: 3, detect.HeapProto: 3, detect.OtherProfile: 6,
			detect.ExecutionTrace: 3, detect.MetricsJSON: 4, detect.Empty: 30,
		},
		"bundles/promtool/t0/debug.tar.gz":                           promtool,
		"bundles/promtool/t1/debug.tar.gz":                           promtool,
		"bundles/promtool/t2/debug.tar.gz":                           promtool,
		"bundles/sosreport-vm-2026-11-21-yhywofr.tar.xz":             {detect.LsofTable: 1, detect.ProcessTable: 4},
		"bundles/public/hotsos-kubernetes-sos-subset.tar.xz":         {detect.LsofTable: 3, detect.Limits: 3, detect.Mountinfo: 3, detect.Status: 3, detect.Manifest: 4, detect.ProcessTable: 3},
		"bundles/public/troubleshoot-testdata-support-bundle.tar.gz": {detect.GoroutineCrash: 1, detect.PodJSON: 2},
		"bundles/public/troubleshoot-missing-version.tar.gz":         {},
		"descriptors/zoo/cp-then-tar.tar":                            {detect.FDInfo: 82, detect.FDLink: 82},
		"descriptors/zoo/fd-symlinks-gnutar.tar":                     {detect.FDLink: 82},
		"descriptors/zoo/fdinfo-direct-zip-OK.zip":                   {detect.FDInfo: 82},
		"descriptors/zoo/fdinfo-direct-bsdtar-EMPTY.tar":             emptied,
		"descriptors/zoo/fdinfo-direct-busybox-EMPTY.tar":            emptied,
		"descriptors/zoo/fdinfo-direct-gnutar-EMPTY.tar":             emptied,
		"descriptors/zoo/fdinfo-kubectlcp-style-EMPTY.tgz":           emptied,
		"series/inotify-leak/t0/leaker/direct-tar-empty.tar":         {detect.EmptyFDInfo: 22},
		"series/inotify-leak/t3/leaker/direct-tar-empty.tar":         {detect.EmptyFDInfo: 111},
	} {
		if !corpus.Has(t, name) {
			continue
		}
		if diff := cmp.Diff(want, kinds(sniffed(t, root, name))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestTroubleshootBundlesHoldNoDump also holds for the one with nested archives.
func TestTroubleshootBundlesHoldNoDump(t *testing.T) {
	const name = "bundles/public/troubleshoot-baseline.tar.gz"
	corpus.Path(t, name)
	for p, r := range sniffed(t, corpus.Path(t), name) {
		switch r.Kind {
		case detect.GoroutineDebug1, detect.GoroutineDebug2, detect.GoroutineProto, detect.GoroutineCrash, detect.Wrapped, detect.ThreadDump, detect.LsofTable, detect.FDInfo:
			t.Errorf("%s is taken for %s because %q", p, r.Kind, r.Reason)
		}
	}
}
