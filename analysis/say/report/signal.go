package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/wording"
)

// Signal is a quantity beside a growth that is above the threshold of a field report since a
// snapshot. It is no proof.
type Signal struct {
	Name string `json:"name"`
	// Unit is "s" of a quantile, "/h" of a rate.
	Unit string `json:"unit"`
	// Since is the index of the first snapshot above Threshold. Value is the last one; Beyond
	// reports that it is at least that.
	Since     int     `json:"since"`
	Threshold float64 `json:"threshold"`
	Value     float64 `json:"value"`
	Beyond    bool    `json:"beyond,omitempty"`
	// Values are one for each snapshot, null where it is not known.
	Values []*float64 `json:"values"`
}

// signalWords name a signal and its unit.
var signalWords = map[string][2]string{
	trend.SignalRelist: {"PLEG relist p99", "s"}, trend.SignalSyncLoop: {"sync loop p99", "s"},
	trend.SignalServerErrors: {"server errors of the API server", "/h"}, trend.SignalClientErrors: {"refusals by the API server", "/h"},
	trend.SignalRuntime: {"errors of the container runtime", "/h"}, trend.SignalProbes: {"probes", "/h"},
}

// rises reports that something of the series grew: else the sentence tells of its memory.
func (s *Series) rises() bool {
	return slices.ContainsFunc(s.Families, func(f Family) bool { return f.Verdict.Rose() })
}

func (s *Series) memory() string {
	return fmt.Sprintf("memory grew from %.0f to %.0f MiB", s.Memory[0]/(1<<20), s.Memory[1]/(1<<20))
}

func (j *JudgedSeries) signals() (out []Signal) {
	for _, x := range j.Trend.Signals() {
		s := Signal{Name: x.Name, Unit: signalWords[x.Name][1], Since: x.Since, Threshold: x.Threshold, Values: make([]*float64, len(x.Values))}
		for i, v := range x.Values {
			if !math.IsNaN(v) {
				s.Values[i], s.Value, s.Beyond = &v, v, x.Beyond[i]
			}
		}
		out = append(out, s)
	}
	return out
}

// besides words the signals of the series that an answer is about, what its logs say, and memory
// beside a growth:
// "server errors of the API server 90 an hour since t2; PLEG relist p99 above 10 s since t3".
func (d *diagnosing) besides(series int) string {
	s := &d.r.Series[series]
	var words []string
	for i := range s.Signals {
		x := &s.Signals[i]
		figure := wording.Decimal(x.Value) + " an hour"
		if x.Unit == "s" {
			figure = wording.Decimal(x.Value) + " s"
		}
		if x.Beyond {
			figure = "above " + figure
		}
		words = append(words, fmt.Sprintf("%s %s since %s", signalWords[x.Name][0], figure, d.label(s, x.Since)))
	}
	if len(s.Families) > 0 { // else the sentence tells them
		for i := range s.Logged[:min(len(s.Logged), mostLoggedTold)] {
			words = append(words, s.Logged[i].Text+s.Logged[i].when())
		}
	}
	if s.Memory != nil && s.rises() {
		words = append(words, s.memory())
	}
	return strings.Join(words, "; ")
}
