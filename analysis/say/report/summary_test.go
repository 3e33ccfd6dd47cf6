package report_test

import "testing"

// TestTheLineOfAListIsOfTheProcessOfItsSentence: containerd has the answer, the kubelet is the first process.
func TestTheLineOfAListIsOfTheProcessOfItsSentence(t *testing.T) {
	c := caseOf(t, "../../../samples/kubelet-probe-leak")
	s := c.Summary()
	if n := len(s.Spark); s.Process != "containerd, kubelet" || n < 3 || s.Spark[0] != 28 || s.Spark[1] != 151 || s.Spark[n-1] != 28 {
		t.Errorf("%s %v", s.Process, s.Spark)
	}
}
