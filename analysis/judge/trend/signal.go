package trend

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Signal is a quantity beside a growth with the threshold of a field report. It proves nothing.
type Signal struct {
	// Name is one of the Signal constants.
	Name string
	// Values are one for each snapshot, NaN where it is not known: a rate or a quantile is that
	// of the time since the snapshot before. Beyond reports values above the last bound of a
	// histogram, which are then that bound.
	Values []float64
	Beyond []bool
	// Since is the first snapshot from which on all known values are above Threshold, -1 for
	// none.
	Threshold float64
	Since     int
}

// The signals of field report 001, "Metrics and signals to monitor", that the page of a kubelet
// shows: restarts of containers are not among its metrics. Rates are per hour.
const (
	SignalRelist       = "pleg"
	SignalSyncLoop     = "sync_loop"
	SignalServerErrors = "server_errors"
	SignalClientErrors = "client_errors"
	SignalRuntime      = "runtime_errors"
	SignalProbes       = "probes"
)

// signalRule is how a signal is made of figures.
type signalRule struct {
	name, figure string
	quantile     float64 // of a histogram; 0 for the rate of a counter
	threshold    float64
	// relative makes the threshold a multiple of the first value, perPod for as many pods as
	// there are then: a signal that more pods explain is none.
	relative, perPod bool
}

// signalRules have a threshold above which a value warns: seconds of a quantile, events an
// hour of a rate.
func signalRules() []signalRule {
	return []signalRule{
		{SignalServerErrors, `rest_client_requests_total{code="5xx"}`, 0, 0, false, false},
		{SignalClientErrors, `rest_client_requests_total{code="4xx"}`, 0, 2, true, false}, // a few are normal: a pod that is gone
		{SignalRelist, "kubelet_pleg_relist_duration_seconds", 0.99, 10, false, false},
		{SignalSyncLoop, "kubelet_sync_loop_duration_seconds", 0.99, 30, false, false},
		{SignalRuntime, "kubelet_runtime_operations_errors_total", 0, 0, false, false},
		{SignalProbes, "prober_probe_total", 0, 2, true, true},
	}
}

// Signals returns the signals that are above their threshold at the end.
func (s *Series) Signals() []Signal {
	var out []Signal
	for _, rule := range signalRules() {
		if x := s.signal(rule); x.Since >= 0 {
			out = append(out, x)
		}
	}
	return out
}

func (s *Series) signal(rule signalRule) Signal {
	out := Signal{Name: rule.name, Values: unknown(len(s.Snapshots)), Beyond: make([]bool, len(s.Snapshots)), Threshold: rule.threshold, Since: -1}
	before := -1
	for _, i := range s.with(rule) {
		snap := s.Snapshots[i]
		if before >= 0 && s.Epochs[before] == s.Epochs[i] {
			hours := snap.CapturedAt.Sub(s.Snapshots[before].CapturedAt).Hours()
			if rule.quantile > 0 {
				out.Values[i], out.Beyond[i] = s.quantile(rule, before, i)
			} else if rise := snap.Figures[rule.figure] - s.Snapshots[before].Figures[rule.figure]; rise >= 0 && hours > 0 && !s.Snapshots[before].CapturedAt.IsZero() {
				out.Values[i] = rise / hours
			}
		}
		before = i
	}
	first := slices.IndexFunc(out.Values, func(v float64) bool { return !math.IsNaN(v) })
	if first < 0 {
		return out
	}
	if rule.relative {
		out.Threshold *= out.Values[first]
	}
	pods := func(i int) float64 { return s.Snapshots[i].Figures["kubelet_running_pods"] }
	for i := len(out.Values) - 1; i >= 0; i-- {
		v, above := out.Values[i], out.Threshold
		if rule.perPod {
			above *= max(1, pods(i)/pods(first)) // NaN without pods
		}
		switch {
		case math.IsNaN(v):
		case v > above || out.Beyond[i] && v >= above:
			out.Since = i
		default:
			return out
		}
	}
	return out
}

// with are the snapshots that have the figures of a rule.
func (s *Series) with(rule signalRule) (out []int) {
	for i, snap := range s.Snapshots {
		name := rule.figure
		if rule.quantile > 0 {
			name += `_bucket{le="+Inf"}`
		}
		if _, known := snap.Figures[name]; known {
			out = append(out, i)
		}
	}
	return out
}

// quantile is the bound of the bucket in which a quantile of the events between two snapshots
// lies, and whether it is beyond the last bound. NaN is none.
func (s *Series) quantile(rule signalRule, from, to int) (bound float64, beyond bool) {
	type bucket struct{ le, n float64 }
	var all []bucket
	prefix := rule.figure + `_bucket{le="`
	for name, v := range s.Snapshots[to].Figures {
		le, ok := strings.CutPrefix(name, prefix)
		at, err := strconv.ParseFloat(strings.TrimSuffix(le, `"}`), 64)
		if ok && err == nil {
			all = append(all, bucket{at, v - s.Snapshots[from].Figures[name]})
		}
	}
	slices.SortFunc(all, func(a, b bucket) int { return cmp.Compare(a.le, b.le) })
	if len(all) < 2 || all[len(all)-1].n <= 0 {
		return math.NaN(), false
	}
	for i, b := range all {
		if b.n >= rule.quantile*all[len(all)-1].n {
			if math.IsInf(b.le, 1) {
				return all[i-1].le, true
			}
			return b.le, false
		}
	}
	return math.NaN(), false
}
