package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Markdown returns the page of all commands.
func Markdown(app *kong.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Command line\n\n%s\n\n", app.Help)
	fmt.Fprintf(&b, "This page is made from the program, as `%[1]s.1` is, the manual page. `%[1]s COMMAND --help` prints the same, `%[1]s completion` the completions for a shell.\n", app.Name)
	b.WriteString("A flag may also stand in the environment variable beside it; the flag wins.\n\n")
	b.WriteString("| command | |\n|---|---|\n")
	for _, n := range commands(app) {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", n.FullPath(), strings.ReplaceAll(n.FullPath(), " ", "-"), cell(n.Help))
	}
	for _, n := range commands(app) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```\n%s\n```\n", n.FullPath(), escaped(n.Help), usage(n))
		for _, block := range blocks(n.Detail) {
			if block.verbatim {
				fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.Join(block.lines, "\n"))
				continue
			}
			fmt.Fprintf(&b, "\n%s\n", escaped(strings.Join(block.lines, "\n")))
		}
		markdownArguments(&b, n)
		for _, group := range groups(flags(n)) {
			heading := "flag"
			if group[0].Group != nil {
				heading = strings.ToLower(strings.TrimSuffix(group[0].Group.Title, ":"))
			}
			fmt.Fprintf(&b, "\n| %s | | variable |\n|---|---|---|\n", heading)
			for _, f := range group {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(spelling(f), "|", "\\|"), cell(help(f.Value)), code(variable(f)))
			}
		}
	}
	return b.String()
}

func markdownArguments(b *strings.Builder, n *kong.Node) {
	if len(n.Positional) == 0 {
		return
	}
	b.WriteString("\n| argument | |\n|---|---|\n")
	for _, p := range n.Positional {
		fmt.Fprintf(b, "| `%s` | %s |\n", p.Summary(), cell(help(p)))
	}
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// markup are the signs of help texts that Markdown would take as its own.
var markup = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`")

func escaped(text string) string { return markup.Replace(text) }

// cell is a text in a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(escaped(text), "|", "\\|"), "\n", " ")
}
