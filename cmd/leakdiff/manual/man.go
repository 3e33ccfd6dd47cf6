package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Man returns the manual page as man(7) has it, in ASCII. It carries no date, so that equal
// flags give equal bytes.
func Man(app *kong.Node, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s %s\"\n", strings.ToUpper(app.Name), app.Name, version)
	b.WriteString(".ad l\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", app.Name, roff(strings.TrimSuffix(app.Help, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[flags]\n", app.Name)
	b.WriteString(".SH DESCRIPTION\nEach command prints its help with \\-\\-help.\n")
	b.WriteString("A flag may also stand in the environment variable that is named with it; the flag wins.\n")
	b.WriteString(".SH COMMANDS\n")
	for _, n := range commands(app) {
		fmt.Fprintf(&b, ".SS %s\n%s\n.PP\n.B %s\n", roff(n.FullPath()), roff(n.Help), roff(usage(n)))
		for _, block := range blocks(n.Detail) {
			if block.verbatim {
				b.WriteString(".PP\n.RS 4\n.nf\n")
			} else {
				b.WriteString(".PP\n")
			}
			for _, line := range block.lines {
				b.WriteString(roff(line) + "\n")
			}
			if block.verbatim {
				b.WriteString(".fi\n.RE\n")
			}
		}
		for _, p := range n.Positional {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(p.Summary()), roff(help(p)))
		}
		for _, group := range groups(flags(n)) {
			for _, f := range group {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(spelling(f)), roff(help(f.Value)))
				if v := variable(f); v != "" {
					fmt.Fprintf(&b, "(%s)\n", roff(v))
				}
			}
		}
	}
	return b.String()
}

// roff writes a line of text so that none of it is a request or a special character.
func roff(text string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "\n", " ") {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '…':
			b.WriteString("...") // groff has none in ASCII
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	if strings.HasPrefix(b.String(), ".") {
		return `\&` + b.String()
	}
	return b.String()
}
