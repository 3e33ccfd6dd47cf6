package mcp

import (
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
)

// left counts the entries of lists that an answer leaves out, by the names of the lists.
type left map[string]int

// rest counts what an answer leaves out, and says how to ask for it.
type rest struct {
	Left left   `json:"left,omitempty"` // how many entries of a list are left out, by its name
	More string `json:"more,omitempty"` // how to ask for the other rows
}

// The bounds of the lists of the contract within one row of an answer.
const (
	mostKnown    = 3
	mostFamilies = 8
	mostFrames   = 12
	mostEvidence = 12
	mostCounts   = 100
)

// cut shortens a list of the contract and counts what it leaves out.
func cut[T any](left left, name string, list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	left[name] += len(list) - most
	return list[:most:most]
}

// counts returns all counts of a series or none: each stands at the snapshot of its index. The
// text of a finding says how they went.
func counts(left left, all analysis.Counts) analysis.Counts {
	if len(all) <= mostCounts {
		return all
	}
	if left != nil {
		left["counts"] = len(all)
	}
	return nil
}

// frames chooses the frames that say most, in the order of the dump.
func frames(left left, stack []report.StackFrame) []report.StackFrame {
	short := report.ShortStack(stack, mostFrames)
	if n := len(stack) - len(short); n > 0 {
		left["stack"] += n
	}
	return short
}

// evidence bounds the evidence of a family or of objects, and the lists within each rule.
func evidence(left left, all []report.Evidence) []report.Evidence {
	out := slices.Clone(cut(left, "evidence", all, mostEvidence))
	for i := range out {
		e := &out[i]
		e.Points = cut(left, "points", e.Points, mostEvidence)
		e.Courses = cut(left, "courses", e.Courses, mostEvidence)
		e.Holders = cut(left, "lock_holders", e.Holders, mostEvidence)
		e.Names = cut(left, "names", e.Names, mostEvidence)
	}
	return out
}

// bounded shortens a finding for an answer. Its families and objects have the evidence.
func bounded(f report.Finding, left left) report.Finding {
	f.Evidence = nil
	f.Counts = counts(left, f.Counts)
	f.Stack = frames(left, f.Stack)
	f.Families = cut(left, "families", f.Families, mostFamilies)
	f.Known = cut(left, "known", f.Known, mostKnown)
	f.RuledOut = cut(left, "ruled_out", f.RuledOut, mostKnown)
	f.Advisories = cut(left, "advisories", f.Advisories, mostFamilies)
	f.Similar = cut(left, "similar", f.Similar, mostFamilies)
	f.Signs = cut(left, "signs", f.Signs, mostFamilies)
	f.SignsOf = f.SignsOf[:min(len(f.SignsOf), len(f.Signs))]
	return f
}
