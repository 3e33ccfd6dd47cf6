package casepage

import (
	"leakdiff/analysis/say/report"
	"leakdiff/server/loader"
	"leakdiff/web/view"
)

// code is a stack of a series with what the page shows of its source. A page to be frozen
// has nothing of the reader's source.
func (s *Service) code(l *loader.Loaded, series *report.JudgedSeries, at int, stack *report.LocatedStack, why purpose) view.CodeInput {
	in := view.CodeInput{Stack: stack, Version: series.Snapshots[at].Process.Version.Value, Modules: l.Fields[modulesField].Value}
	if why == freezing || stack == nil {
		return in
	}
	if creator := report.Creator(stack.Stack); creator != nil {
		in.Excerpt, in.Missing = s.source.Start(creator.Frame())
	}
	return in
}
