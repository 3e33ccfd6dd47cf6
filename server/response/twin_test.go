package response

import (
	"strings"
	"testing"
)

func TestAFileNameIsPlain(t *testing.T) {
	for in, want := range map[string]string{
		"kubelet, t1 to t6": "leakdiff-kubelet-t1-to-t6.csv", "": "leakdiff.csv", `../../a"b` + "\r\n": "leakdiff-a-b.csv", "ärger": "leakdiff-rger.csv",
		strings.Repeat("x", 300): "leakdiff-" + strings.Repeat("x", 80) + ".csv",
	} {
		if got := saveName(in, ".csv"); got != want {
			t.Errorf("%q is saved as %q, want %q", in, got, want)
		}
	}
}
