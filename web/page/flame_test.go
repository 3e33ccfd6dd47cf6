package page

import (
	"net/url"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/flame"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

// sampleFlame is the graph of the sample's t6, with A that of what changed since.
func sampleFlame(t *testing.T, pair string, query url.Values) view.FlameInput {
	t.Helper()
	s := sampleSnapshot(t, nil).Snapshot
	in := view.FlameInput{CaseID: "cprobe", CaseTitle: "kubelet-probe-leak", B: s, Kinds: []analysis.Kind{analysis.KindGoroutine}, Query: query, Engine: "leakdiff 1.0, engine 1"}
	in.Tree = flame.Of(s.Groups, analysis.KindGoroutine)
	if pair != "" {
		before := *s
		before.Label, before.Groups = pair, append([]analysis.Group(nil), s.Groups...)
		for i := range before.Groups {
			before.Groups[i].Count += 5 - i%11
		}
		in.A, in.Tree = &before, flame.Between(before.Groups, s.Groups, analysis.KindGoroutine)
	}
	return in
}

func TestTheFlamePagesAreWellFormedWithEveryControl(t *testing.T) {
	for _, tt := range []struct {
		name, pair string
		query      url.Values
		want       []string
	}{
		{"flame", "", url.Values{"q": {"run"}}, []string{`aria-label="Order"`, `role="status"`, "Families below this box", `role="group"`, "Skip the boxes of the graph"}},
		{"flame-pair", "t1", nil, []string{`aria-label="Width of a box"`, "▲", "▼", "no net change"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := sampleFlame(t, tt.pair, tt.query)
			if in.Tree.Root.Count == 0 {
				t.Fatal("the sample has no stacks")
			}
			html := render(t, HTML(view.NewFlame(in).Page()))
			keepPage(t, tt.name, html)
			for _, want := range tt.want {
				if !strings.Contains(html, want) {
					t.Errorf("page lacks %q", want)
				}
			}
			wellFormed(t, html)
			in.Frozen = true
			v := view.NewFlame(in)
			v.Shell = view.Shell{Title: "kept", Seal: &view.Seal{Made: "2026-11-21"}}
			kept := render(t, HTML(v.Page()))
			wellFormed(t, kept)
			for _, never := range []string{`href="/snap`, `href="/diff`, `href="/fam`, "<form", "Skip the boxes"} {
				if strings.Contains(kept, never) {
					t.Errorf("the kept page has %q", never)
				}
			}
		})
	}
}

func TestTheCasePageShowsItsFurtherCharts(t *testing.T) {
	in := sampleCase(t)
	in.Charts = "1"
	in.More = make([]view.CaseMore, len(in.Report.Series))
	for i := range in.More {
		s := &in.Report.Series[i]
		in.More[i].Drawn = &report.Drawn{Cohorts: map[string][]trend.Cohort{}, States: map[analysis.Kind][]map[string]int{analysis.KindGoroutine: make([]map[string]int, len(s.Snapshots))}}
		for k := range s.Snapshots {
			in.More[i].Drawn.States[analysis.KindGoroutine][k] = map[string]int{"select": 20 + k, "IO wait": 3}
		}
		for _, f := range s.Families {
			in.More[i].Drawn.Cohorts[f.Fingerprint] = []trend.Cohort{{From: 0, To: 1, Born: 4}, {From: 1, To: 2, Born: 2}}
		}
	}
	html := render(t, HTML(view.NewCase(in).Page()))
	keepPage(t, "case-charts", html)
	for _, want := range []string{`id="charts"`, `class="morecharts" open`, "Goroutines by family", "States of its goroutines", "Births per hour", "t0 to t1: 4 born", "4\u00a0min\u00a050\u00a0s without a snapshot"} {
		if !strings.Contains(html, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	wellFormed(t, html)
}
