package page

import (
	"encoding/json"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/judge/wait"
	"leakdiff/analysis/say/report"
	"leakdiff/web/view"
)

// sampleUnit makes the first two families of kubelet a unit, names a holder of
// what the family of containerd waits for, and gives both a limit.
func sampleUnit(t *testing.T) view.CaseInput {
	t.Helper()
	in := sampleCase(t)
	s := &in.Report.Series[0]
	u1 := "u1"
	s.Families[0].Unit, s.Families[1].Unit = &u1, &u1
	s.Families[4].Role = "possible_culprit"
	s.Units = []report.Unit{{
		ID: "u1", Ratio: map[string]float64{housekeeping: 2, podWorker: 1}, Counts: counts(0, 4, 6, 8, 10, 12, 14, 24, 0), Verdict: analysis.Leaking,
		Each: "3 goroutines", Text: "2 families rise together, 2:1; +24: 3 goroutines each",
		Onset: &report.Onset{Windows: []report.Window{{From: s.Snapshots[1], To: s.Snapshots[2], Share: 1}}, Text: "began between t1 and t2"},
	}}
	s.Findings[0].Unit, s.Findings[0].Families = "u1", []string{housekeeping, podWorker}
	s.Findings = append(s.Findings,
		report.Finding{Kind: report.HolderFinding, Title: "What it waits for may be held", Text: "why", Families: []string{s.Families[4].Fingerprint}},
		report.Finding{Kind: report.FactFinding, Title: "Deadlock of 2 threads", Text: "They wait for each other.", Families: []string{}},
		report.Finding{Kind: report.FollowFinding, Title: "What follows", Text: "It began later.", Families: []string{s.Families[3].Fingerprint}},
		report.Finding{Kind: report.ObserverFinding, Title: "What the capture adds", Text: "It is there because somebody looked.", Families: []string{}},
		report.Finding{Kind: report.LimitFinding, Title: "open files: 30 of 32 used", Text: "Soon full.", Families: []string{}},
	)
	uses := make([]*float64, 9)
	for i := range uses {
		v := float64(23 + i)
		uses[i] = &v
	}
	s.Bounds = []report.Bound{{What: "open files", Bound: 40, Used: 31, PerHour: &[3]float64{53, 50, 56}, HoursLeft: &[3]float64{.17, .16, .18}, Counts: uses, Text: "open files: 31 of 40"}}
	return in
}

func TestTheCasePageShowsUnitsHoldersFactsAndLimits(t *testing.T) {
	html := render(t, HTML(view.NewCase(sampleUnit(t)).Page()))
	keepPage(t, "case-unit", html)
	for _, want := range []string{
		"families of unit u1", "2 each time", `<tbody class="unit">`, `type="checkbox"`,
		`v strong culprit"><i aria-hidden="true">◆</i>possible culprit`, `<i aria-hidden="true">●</i>fact`, `<i aria-hidden="true">↳</i>follows`,
		`<i aria-hidden="true">○</i>observer effect`, `v strong limit"><i aria-hidden="true">▮</i>limit`,
		"c-onset", "growth began", "c-limit", "+53 (+50 to +56)", "10\u00a0min\u00a012\u00a0s (9\u00a0min\u00a036\u00a0s to 10\u00a0min\u00a048\u00a0s)",
		`data-key="a"`, `data-key="b"`, `data-key="d"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	wellFormed(t, html)
}

func TestTheFamilyPageShowsItsKinAndItsVersions(t *testing.T) {
	in := sampleFamily(t)
	others := sampleReport(t).Series[0].Families
	in.Kin = view.FamilyKin{
		Unit:    &report.Unit{ID: "u1", Ratio: map[string]float64{in.Family.Fingerprint: 1, housekeeping: 2}, Each: "3 goroutines", Text: "2 families rise together, 1:2; +24: 3 goroutines each"},
		Members: []view.Kin{{Family: others[0], Ratio: 2}},
		Holders: []view.Kin{{Family: others[4], Why: []string{"older than the growth"}}},
		Behind:  []view.Kin{{Family: others[1], Why: []string{"waits for its lock"}}},
	}
	in.Locks = []trend.Hold{{Snapshot: 7, Lock: wait.Lock{Address: 0xc00009c898, Waiters: 29, Holders: []wait.Holder{{ID: 13927, At: "v1.(*Collector).Collect", State: "semacquire", Wait: 4}}}}}
	in.Bisection = trend.Bisection{Rows: []trend.VersionRow{{Version: "1.1", Verdict: trend.Good, Hours: 5, Epochs: 1, Below: .6}, {Version: "1.2", Verdict: trend.Bad, Hours: 2, Epochs: 1, Rate: 12, Mass: .96}}, FirstBad: "1.2"}
	v := view.NewFamily(in)
	html := render(t, HTML(v.Page()))
	keepPage(t, "family-kin", html)
	for _, want := range []string{
		"Unit u1", "2 in each instance", "What it waits for, and who may hold it", "0xc00009c898", "goroutine 13927 in v1.(*Collector).Collect", "Older than the growth.",
		"Who may wait for it", "Waits for its lock.", "First bad version: 1.2.", "good, below 0.6/h", "Not excluded",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	wellFormed(t, html)
	frozen := in
	frozen.Frozen = true
	if html := render(t, HTML(view.NewFamily(frozen).Page())); strings.Contains(html, `href="/families/`) {
		t.Error("the frozen page links to a live family")
	}
}

// A frozen page is kept as the JSON of what it shows.
func TestFrozenGrowthIsDrawnAgainFromItsRecord(t *testing.T) {
	in := sampleUnit(t)
	in.Frozen = true
	before := view.NewCase(in)
	record, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var after view.Case
	if err := json.Unmarshal(record, &after); err != nil {
		t.Fatal(err)
	}
	after.Shell, before.Shell = view.Shell{}, view.Shell{}
	if render(t, HTML(after.Page())) != render(t, HTML(before.Page())) {
		t.Error("the page drawn from the record differs")
	}
}
