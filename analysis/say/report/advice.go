package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis/judge/knowledge"
)

// Advice is one line of advice on a finding. More is for readers who have time.
type Advice struct {
	Label, Text string
	More        bool
}

// The labels of advice.
const (
	WhatItIs   = "What it is"
	DoThis     = "Do this"
	CheckFirst = "Check first"
	TakeCare   = "Take care"
	Afterwards = "Afterwards"
	Upstream   = "Report it"
)

// mostAdvised and mostTold are how many classes and known leaks are described in full.
const (
	mostAdvised = 3
	mostTold    = 3
)

// Advice returns what to do about a finding, and what people who have seen such a one know:
// what it is, the remedy, what to check and to beware of, how to verify it, and the published
// leaks that match, or that none does.
func (r *Report) Advice(f *Finding) []Advice {
	var out []Advice
	do := f.Next
	for i, key := range f.Classes {
		found := r.ClassOf(key)
		if found == nil || i == mostAdvised {
			break
		}
		class := f.ClassNotes[key].Told(found.Class)
		text := class.Cause
		if signs := f.SignsOfClass(key); len(signs) > 0 {
			text += " (" + strings.Join(signs, "; ") + ")"
		}
		if at := r.advised(f, key); at > 0 {
			out = append(out, Advice{Label: WhatItIs, Text: fmt.Sprintf("%s, see finding %d", text, at)})
			continue
		}
		say := func(label, text string, more bool) {
			if text != "" {
				out = append(out, Advice{label, text, more})
			}
		}
		say(WhatItIs, text, false)
		say(DoThis, strings.TrimSpace(do+" "+strings.Join(slices.Concat(class.Own, class.Remedy), " ")), false)
		do = ""
		say(CheckFirst, class.FirstCheck, true)
		say(TakeCare, strings.Join(class.Warnings, " "), true)
		say(Afterwards, strings.Join(class.Validate, " "), true)
		say(Upstream, "when "+class.Upstream.When+". Attach: "+strings.Join(class.Upstream.Attach, "; ")+".", true)
	}
	if do != "" {
		out = append(out, Advice{Label: DoThis, Text: do})
	}
	if f.Kind == FactFinding || f.Kind == LimitFinding || f.Kind == SaturatedFinding || f.Kind == HolderFinding || f.Kind == ObserverFinding {
		return out
	}
	return append(out, knownAdvice(f)...)
}

// NothingWrong reports a finding that accuses nobody and has no entry in the catalogue.
// Text about missing matches would then be no news.
func (f *Finding) NothingWrong() bool {
	return f.Verdict.Rose() && !accusing(f.Verdict) && len(f.Known) == 0
}

// NoneKnown words why a finding has no known leaks: no entry matches, the seen version
// rules the matching ones out, or their stack is that of every program.
func (f *Finding) NoneKnown() string {
	text := "none matches."
	if len(f.RuledOut) > 0 {
		text = f.noneAccused()
	}
	if len(f.Similar) > 0 {
		text += " Similar, by functions of libraries that every program uses: " + strings.Join(f.Similar, ", ") + "."
	}
	return text
}

func (f *Finding) noneAccused() string {
	text := "none is accused."
	for i, k := range f.RuledOut {
		if i == mostTold {
			var rest []string
			for _, k := range f.RuledOut[i:] {
				rest = append(rest, k.ID)
			}
			return text + " The same holds for " + strings.Join(rest, ", ") + "."
		}
		text += " " + k.ID + " has this stack, state and growth; " + sentenceEnd(k.Compare)
	}
	return text
}

// advised is the number of an earlier finding of the same series that describes the
// class in full, or 0.
func (r *Report) advised(f *Finding, key string) int {
	for i := range r.Series {
		all := r.Series[i].Findings
		if !slices.ContainsFunc(all, func(x Finding) bool { return x.Rank == f.Rank && x.Title == f.Title }) {
			continue
		}
		for _, x := range all[:f.Rank-1] {
			if at := slices.Index(x.Classes, key); at >= 0 && at < mostAdvised {
				return x.Rank
			}
		}
	}
	return 0
}

func knownAdvice(f *Finding) []Advice {
	known := f.Known
	switch {
	case f.NothingWrong():
		return nil
	case len(known) == 0:
		return []Advice{{Label: "Known leaks", Text: f.NoneKnown()}}
	}
	var out []Advice
	for i, k := range known {
		if i == mostTold {
			var rest []string
			for _, k := range known[i:] {
				rest = append(rest, k.ID)
			}
			out = append(out, Advice{Label: "Known leaks", Text: "also " + strings.Join(rest, ", ") + "."})
			break
		}
		out = append(out, Advice{Label: k.Label(), Text: k.sentence()})
	}
	return out
}

// Label names the status of an entry in two words.
func (k KnownLeak) Label() string {
	if k.Basis == knowledge.Looks || k.Basis == knowledge.Possible {
		return "Looks like"
	}
	switch k.Status {
	case knowledge.Leak:
		return "Known leak"
	case knowledge.BoundedBacklog:
		return "Known backlog"
	case knowledge.LimitNotLeak:
		return "Known limit"
	case knowledge.StuckNotLeak:
		return "Known blockage"
	}
	return "Looks like"
}

// sentence describes an entry in full: title, meaning, versions, trigger, remedy,
// reference.
func (k KnownLeak) sentence() string {
	parts := []string{k.ID + ": " + sentence(k.Title), k.Text}
	if k.Compare != "" {
		parts = append(parts, sentence(k.Compare))
	}
	if k.Affected != "" {
		parts = append(parts, "Affected: "+sentenceEnd(k.Affected))
	}
	if k.Trigger != "" {
		parts = append(parts, "Trigger: "+sentenceEnd(k.Trigger))
	}
	if help := k.Help(); help != "" {
		parts = append(parts, "Remedy: "+sentenceEnd(help))
	}
	if k.Reference != "" {
		parts = append(parts, k.Reference)
	}
	return strings.Join(parts, " ")
}

func sentenceEnd(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
