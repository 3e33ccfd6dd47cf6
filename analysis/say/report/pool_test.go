package report

import (
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

func TestAPoolOfEachNameIsTold(t *testing.T) {
	for _, name := range trend.PoolNames() {
		p := Pool{Name: name, LimitStated: true, Running: []*float64{new(4.0)}, Queued: []*float64{new(1.0)}, Limit: []*float64{new(4.0)}}
		if text := p.named() + " " + p.use(); !strings.Contains(text, " runs 4 of 4 ") || !strings.HasSuffix(text, "and 1 waits") || poolWords[name].remedy == "" {
			t.Errorf("%s: %q, %q", name, text, poolWords[name].remedy)
		}
	}
}

// full is a snapshot of a client that runs as many calls as it may, beside goroutines.
func full(label string, queued float64, goroutines int) analysis.Snapshot {
	s := analysis.Snapshot{ID: label, Label: label, Figures: map[string]float64{"k8s_client_running{a1}": 32, "k8s_client_queued{a1}": queued, "k8s_client_limit{a1}": 32}}
	s.Process.Name.Value = "jenkins"
	if goroutines > 0 {
		s.Totals.Goroutines = &goroutines
	}
	return s
}

func TestWhatHoldsTheSlotsIsTold(t *testing.T) {
	for _, test := range []struct {
		name  string
		calls map[string]float64
		want  string
	}{
		{"all of one kind", map[string]float64{"exec of pods": 32}, "; 32 of the last calls are exec of pods."},
		{"half of one kind", map[string]float64{"exec of pods": 16, "GET of pods": 15, "GET of nodes": 1}, "; 16 of the last calls are exec of pods."},
		{"fewer", map[string]float64{"exec of pods": 15, "GET of pods": 14, "GET of nodes": 3}, "waited."},
		{"none listed", nil, "waited."},
		{"of two clients it is not known whose", map[string]float64{"exec of pods": 64, "": 0}, "waited."},
	} {
		t.Run(test.name, func(t *testing.T) {
			last := full("t1", 9, 0)
			for call, n := range test.calls {
				last.Figures["k8s_call{"+call+"}"] = n
			}
			if _, two := test.calls[""]; two {
				last.Figures["k8s_client_running{b2}"], last.Figures["k8s_client_queued{b2}"], last.Figures["k8s_client_limit{b2}"] = 3, 0, 32
			}
			if d := Build([]analysis.Snapshot{full("t0", 3, 0), last}, nil, Options{}).Report.Diagnosis; !strings.HasSuffix(d.Proof, test.want) {
				t.Errorf("%q, want %q at its end", d.Proof, test.want)
			}
		})
	}
}

func TestASaturatedPoolComesAfterALeakAndBeforeWhatMayLeak(t *testing.T) {
	saturated := Build([]analysis.Snapshot{full("t0", 3, 0), full("t1", 9, 0)}, nil, Options{}).Report
	if d := saturated.Diagnosis; d.Verdict != analysis.Saturated || d.State != string(Saturated) || d.Sentence != "Kubernetes client of jenkins runs 32 of 32 calls and 9 wait (3, 9); no leak is shown." {
		t.Errorf("%s, %s: %s", d.Verdict, d.State, d.Sentence)
	}
	if analysis.Saturated.Rank() <= analysis.Leaking.Rank() || analysis.Saturated.Rank() >= analysis.Suspicious.Rank() || analysis.Saturated.Rose() {
		t.Error("the rank of saturated")
	}
	rising := []analysis.Snapshot{}
	for i, n := range []int{100, 140, 180, 220, 260, 300, 340} {
		rising = append(rising, full("t"+string(rune('0'+i)), 3+float64(i), n))
	}
	both := Build(rising, nil, Options{}).Report
	if d := both.Diagnosis; d.Verdict != analysis.Saturated || !strings.Contains(d.Sentence, "and 9 wait") || strings.Contains(d.Sentence, "no leak") {
		t.Errorf("beside a total that rises: %s: %s", d.Verdict, d.Sentence)
	}
	if d := both.Diagnosis; len(d.Also) != 1 || !strings.Contains(d.Also[0], "340") {
		t.Errorf("what may leak beside it is told: %q", d.Also)
	}
}
