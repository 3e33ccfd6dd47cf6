package report_test

import "testing"

// TestABurstThatIsGoneIsTold holds a case in which nothing grew against the peak that its course draws.
func TestABurstThatIsGoneIsTold(t *testing.T) {
	of := connections(90, 40000, "ESTABLISHED")
	for want, captures := range map[string][][]connection{
		"No leak seen in app: descriptors rose from 4 to 91 at t1 and were back at 4 at t4.": {of[:3], of, of[:40], of[:5], of[:3]},
		"No leak seen in app: no descriptors grew in 4 h.":                                   {of[:30], of[:39], of[:33], of[:31], of[:30]},
	} {
		if d := hourly(t, socketForms[0].files, captures...).Diagnosis; d.State != "no leak seen" || d.Sentence != want {
			t.Errorf("%s: %s\nwant %s", d.State, d.Sentence, want)
		}
	}
}
