package view

import (
	"strings"

	"leakdiff/analysis"
)

// ExpertInput is what the page around pprof is made from.
type ExpertInput struct {
	// Shell is that of the page that it belongs to, Base its address.
	Shell        Shell
	Base, CaseID string
	// OtherID is the case of A where it is another one, else "".
	OtherID string
	Kind    analysis.Kind
	// Shown is one of Views; Frame is the address of pprof's own page.
	Shown string
	Views []string
	Frame string
	Pair  bool
}

// Expert is the page that frames pprof.
type Expert struct {
	Shell          Shell
	Headline, Lead string
	Tabs           []DiffTab
	Frame, Shown   string
	// Profile is the address of the profile as a file.
	Profile string
}

// NewExpert makes the page around pprof.
func NewExpert(in ExpertInput) Expert {
	query := ofCases(in.CaseID, in.OtherID)
	back := in.Base + "?" + query.Encode()
	query.Set("kind", string(in.Kind))
	e := Expert{
		Shell: in.Shell, Frame: in.Frame, Shown: in.Shown, Profile: in.Base + ".pb.gz?" + query.Encode(),
		Headline: "pprof over the " + kindWord(in.Kind, 2) + " of " + in.Shell.Here,
		Lead:     "Each sample is a stack, its state and its wait; widths count members.",
	}
	if in.Pair {
		e.Headline = "pprof over the change of " + kindWord(in.Kind, 2) + ", " + in.Shell.Here
		e.Lead = "B less A, as pprof -base shows it: stacks with as many members in both are not there, those that left count negative."
	}
	e.Shell.Title = "pprof, " + in.Shell.Title
	e.Shell.Description = ""
	e.Shell.Crumbs = append(append([]Link{}, in.Shell.Crumbs...), Link{Text: in.Shell.Here, URL: back})
	e.Shell.Here = "Expert view"
	e.Shell.Actions, e.Shell.Copies, e.Shell.Twins = nil, nil, nil
	for _, v := range in.Views {
		query.Set("view", v)
		e.Tabs = append(e.Tabs, DiffTab{Text: expertName(v), URL: in.Base + "/pprof?" + query.Encode(), Current: v == in.Shown})
	}
	return e
}

// expertName is what pprof calls a view: "Flame graph".
func expertName(view string) string {
	if view == "flamegraph" {
		return "Flame graph"
	}
	return strings.ToUpper(view[:1]) + view[1:]
}
