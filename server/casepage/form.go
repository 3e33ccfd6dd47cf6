package casepage

import (
	"io"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/report"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// AloneCase renders the page in another frame.
func AloneCase(v view.Case) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Case(v) }
}

// AloneDiff renders the page in another frame.
func AloneDiff(v view.Diff) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Diff(v) }
}

// AloneCompare renders the page in another frame.
func AloneCompare(v view.Compare) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Compare(v) }
}

// AloneFamily renders the page in another frame.
func AloneFamily(v view.Family) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Family(v) }
}

// AloneFlame renders the page in another frame.
func AloneFlame(v view.Flame) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Flame(v) }
}

// FlameCSV writes the table beside a flame graph.
func FlameCSV(v view.Flame) func(io.Writer) error {
	return func(w io.Writer) error {
		if v.Chart == nil {
			return report.TableCSV(w, []string{"Function"}, nil)
		}
		return report.TableCSV(w, v.Chart.Twin.Head, v.Chart.Twin.Rows)
	}
}

// AloneSnapshot renders the page in another frame.
func AloneSnapshot(v view.Snapshot) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Snapshot(v) }
}

// AloneObject renders the page in another frame.
func AloneObject(v view.Object) func(view.Shell) templ.Component {
	return func(shell view.Shell) templ.Component { v.Shell = shell; return page.Object(v) }
}
