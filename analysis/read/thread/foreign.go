package thread

import (
	"io"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

// maxForeign is how far Foreign looks for words that identify a form.
const maxForeign = 8 << 20

// foreignForms are dumps of threads that are named and not read, each with a command
// whose output is read.
var foreignForms = [...]struct {
	mark *expression.Expression
	what string
	hint string
}{
	{expression.Lazy(`^All thread stacktraces$|^Thread information$`), "the thread list in GoCD's support text is not read",
		"run jstack -l PID of the server and upload what it prints"},
	{expression.Lazy(`^jdk\.ThreadDump \{|"name": "jdk\.ThreadDump"|"type": "jdk\.ThreadDump"`), "the thread dumps inside printed flight recorder events are not read",
		"print them with jfr print --events jdk.ThreadDump FILE, save each text between the quotes of result to a file of its own and upload these"},
}

// Foreign names a dump of threads that this package does not read, and what to
// upload instead. It reads up to 8 MiB of r and returns false if it knows
// nothing of the form.
func Foreign(r io.Reader, path string) (analysis.Problem, bool) {
	lines := line.NewReader(io.LimitReader(r, maxForeign))
	for l := range lines.All() {
		s := strings.TrimSpace(l.Text)
		for _, f := range foreignForms {
			if f.mark.MatchString(s) {
				return analysis.Problem{
					Path: path, Line: l.Number, Offset: l.Offset, Severity: analysis.Warning,
					What: f.what, Why: "this line is of a form whose threads are not taken in: " + line.Quote(s), Hint: f.hint,
				}, true
			}
		}
	}
	return analysis.Problem{}, false
}
