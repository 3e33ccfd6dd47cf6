package casepage

import (
	"io"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/report"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// AloneCase puts the page into another frame.
func AloneCase(v view.Case) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Case(v) }
}

// AloneDiff puts the page into another frame.
func AloneDiff(v view.Diff) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Diff(v) }
}

// AloneCompare puts the page into another frame.
func AloneCompare(v view.Compare) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Compare(v) }
}

// AloneFamily puts the page into another frame.
func AloneFamily(v view.Family) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Family(v) }
}

// AloneFlame puts the page into another frame.
func AloneFlame(v view.Flame) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Flame(v) }
}

// FlameCSV is the table beside a flame graph.
func FlameCSV(v view.Flame) func(io.Writer) error {
	return func(w io.Writer) error {
		if v.Chart == nil {
			return report.TableCSV(w, []string{"Function"}, nil)
		}
		return report.TableCSV(w, v.Chart.Twin.Head, v.Chart.Twin.Rows)
	}
}

// AloneSnapshot puts the page into another frame.
func AloneSnapshot(v view.Snapshot) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Snapshot(v) }
}
