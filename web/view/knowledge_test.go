package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
)

func TestAFamilyOfNoEntrySaysSo(t *testing.T) {
	k := newFamilyKnowledge(report.Family{Classes: []string{}, Known: []string{}}, knowledge.Builtin(), false)
	if k.KnownNote != "None matches: no entry of the catalogue has this signature." || len(k.Known)+len(k.Alike) != 0 {
		t.Errorf("%+v", k)
	}
}

func TestALookAlikeIsNotAccused(t *testing.T) {
	f := report.Family{Known: []string{}, KnownLeaks: []report.KnownLeak{{ID: "k8s-57992", Title: "kubelet leaks", Status: knowledge.Leak, Basis: knowledge.Looks, Reference: "https://github.com/kubernetes/kubernetes/issues/57992"}}}
	k := newFamilyKnowledge(f, knowledge.Builtin(), true)
	if !strings.HasPrefix(strings.ReplaceAll(k.KnownNote, "\u00a0", " "), "None is accused: 1 entry has this signature") || len(k.Alike) != 1 || k.Alike[0].URL != "" || k.Alike[0].Reference == "" {
		t.Errorf("%+v", k)
	}
}

func TestOnlyWebAddressesBecomeLinks(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/a/b/issues/1": "https://github.com/a/b/issues/1", "http://x.example/": "http://x.example/", "javascript:alert(1)": "", "//evil.example/": "", "https:": "", "": "",
	} {
		if got := reference(address); got != want {
			t.Errorf("%q gives %q, want %q", address, got, want)
		}
	}
}

func TestAClassIsToldOnceForEachProcess(t *testing.T) {
	class := knowledge.Builtin().Class("prober")
	finding := report.Finding{Rank: 1, Verdict: analysis.Leaking, Classes: []string{"prober"}}
	second := finding
	second.Rank = 2
	r := report.Report{Knowledge: &report.Knowledge{Classes: []report.Class{{Class: *class}}}, Series: []report.Series{{Process: "kubelet", Findings: []report.Finding{finding, second}}, {Process: "other", Findings: []report.Finding{finding}}}}
	c := NewCase(CaseInput{ID: "c1", Report: r})
	told := 0
	for _, f := range c.Findings {
		if len(f.Advice) != 1 || f.KnownNote != knownNone {
			t.Fatalf("%+v", f)
		}
		if f.Advice[0].FirstCheck != "" {
			told++
		} else if f.Advice[0].Seen != "told in full at finding 1" {
			t.Errorf("%+v", f.Advice[0])
		}
	}
	if told != 2 {
		t.Errorf("told in full %d times, want once for each process", told)
	}
}

func TestAClassIsACauseOnlyOfWhatIsAccused(t *testing.T) {
	c := knowledge.Builtin()
	for _, tt := range []struct {
		verdict analysis.Verdict
		advice  []string
		belongs []Link
	}{
		{analysis.Leaking, []string{"Readers of inotify instances that are not closed"}, nil},
		{analysis.Suspicious, []string{"Readers of inotify instances that are not closed"}, nil},
		{analysis.Stable, nil, []Link{{"Readers of inotify instances that are not closed", "/knowledge?q=inotify#c-inotify"}}},
		{analysis.TooFewPoints, nil, []Link{{"Readers of inotify instances that are not closed", "/knowledge?q=inotify#c-inotify"}}},
	} {
		f := report.Family{Verdict: tt.verdict, Classes: []string{"inotify"}, ClassNotes: map[string]report.ClassNote{"inotify": {Cause: "Readers of inotify instances that are not closed"}}}
		k := newFamilyKnowledge(f, c, false)
		var causes []string
		for _, a := range k.Advice {
			causes = append(causes, a.Cause)
		}
		if d := cmp.Diff(tt.advice, causes); d != "" {
			t.Errorf("%s: %s", tt.verdict, d)
		}
		if d := cmp.Diff(tt.belongs, k.Belongs); d != "" {
			t.Errorf("%s: %s", tt.verdict, d)
		}
	}
}

func TestAFixIsToldOnce(t *testing.T) {
	for verified, want := range map[string][]Pair{
		"":          {{"Do this", "upgrade"}},
		"changelog": {{"Do this", "upgrade"}, {"Fix known from", "changelog"}},
	} {
		k := newKnownLeak(report.KnownLeak{ID: "own-1", Fixed: "1.6.36", VerifiedBy: verified, Compare: "fix as reported: 1.6.36", Remedy: "upgrade"})
		if d := cmp.Diff(want, k.Facts); d != "" {
			t.Errorf("known from %q: %s", verified, d)
		}
	}
	k := newKnownLeak(report.KnownLeak{ID: "x", Fixed: "v1.6.36 (copied)", VerifiedBy: "tags", Compare: "seen 1.6.20, fixed in 1.6.36: affected"})
	if d := cmp.Diff([]Pair{{"Fix", "v1.6.36 (copied); known from tags"}}, k.Facts); d != "" {
		t.Error(d)
	}
}

func TestAVersionThatRulesAnEntryOutIsTheReasonGiven(t *testing.T) {
	leak := report.KnownLeak{ID: "containerd-11120", Title: "attach never ends", Status: knowledge.Leak, Basis: knowledge.Looks, RuledOut: true, Seen: "v1.7.29", Verdict: knowledge.VersionFixed,
		Text: "Same signature and growth.", Compare: "seen v1.7.29, fixed in 1.7.29: the fix is in it"}
	k := newFamilyKnowledge(report.Family{Verdict: analysis.Leaking, Known: []string{}, KnownLeaks: []report.KnownLeak{leak}}, knowledge.Builtin(), false)
	if got := strings.ReplaceAll(k.KnownNote, hardSpace, " "); got != "None is accused: 1 entry has this signature and its growth, and the version that was seen rules it out." {
		t.Errorf("family: %s", got)
	}
	text := Family{Knowledge: k}.Page().Body.Markdown()
	for _, want := range []string{"containerd-11120", "the fix is in it"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("the text of the family lacks %q: %s", want, text)
		}
	}
	c := NewCase(CaseInput{ID: "c1", Report: report.Report{Knowledge: &report.Knowledge{}, Series: []report.Series{{Process: "containerd", Findings: []report.Finding{{Rank: 1, Verdict: analysis.Leaking, RuledOut: []report.KnownLeak{leak}}}}}}})
	if got := c.Findings[0].KnownNote; !strings.HasPrefix(got, "None is accused. containerd-11120 has this stack, state and growth; seen v1.7.29, fixed in 1.7.29: the fix is in it") {
		t.Errorf("case: %s", got)
	}
}

func TestAnEntryOfAResourceShowsItsSignature(t *testing.T) {
	e := knowledge.EntryOf(&analysis.Family{Fingerprint: "d1:" + strings.Repeat("0", 32), Kind: analysis.KindDescriptor, Attributes: map[string]string{"type": "tcp", "remote": "10.0.0.1:443"}}, nil, "payd")
	want := []string{"descriptor with remote 10.0.0.1:443, type tcp", "program payd", "or the family d1:" + strings.Repeat("0", 32)}
	if d := cmp.Diff(want, catalogued(&e).Signature); d != "" {
		t.Error(d)
	}
}
