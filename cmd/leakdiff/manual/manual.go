// Package manual writes what people read and type of the command line: the manual page, its
// twin in Markdown, and the scripts by which shells complete words. All are made from the
// model of the flags alone, so that they cannot say anything else than --help.
package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// commands are those that people see, in the order of --help, each before its own.
func commands(n *kong.Node) (out []*kong.Node) {
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		out = append(out, child)
		out = append(out, commands(child)...)
	}
	return out
}

// flags are those of a command that people see. --help is a flag of the program.
func flags(n *kong.Node) (out []*kong.Flag) {
	for _, f := range n.Flags {
		if !f.Hidden {
			out = append(out, f)
		}
	}
	return out
}

// spelling is how a flag is written: "-o, --output=FILE", "--[no-]lsof", "--redact".
func spelling(f *kong.Flag) string {
	name := "--" + f.Name
	if negatable(f) {
		name = "--[no-]" + f.Name
	}
	if f.Short != 0 {
		name = fmt.Sprintf("-%c, %s", f.Short, name)
	}
	if !f.IsBool() {
		name += "=" + f.FormatPlaceHolder()
	}
	return name
}

func negatable(f *kong.Flag) bool { return f.IsBool() && f.Tag.Negatable != "" }

// variable is the environment variable of a flag, empty for none.
func variable(f *kong.Flag) string { return strings.Join(f.Envs, ", ") }

// help is that of a flag or an argument, with the values that it names not all of.
func help(v *kong.Value) string {
	if v.Enum == "" || !slices.ContainsFunc(v.EnumSlice(), func(word string) bool { return !strings.Contains(v.Help, word) }) {
		return v.Help
	}
	return v.Help + " One of " + strings.Join(v.EnumSlice(), ", ") + "."
}

// usage is the first line of the help of a command.
func usage(n *kong.Node) string {
	root := n
	for root.Parent != nil {
		root = root.Parent
	}
	return root.Name + " " + n.Summary()
}

// block is a paragraph, or lines that stay as they are.
type block struct {
	lines    []string
	verbatim bool
}

// blocks splits a text as --help does: indented lines stay as they are, others are set anew.
func blocks(text string) (out []block) {
	var b block
	end := func() {
		if len(b.lines) > 0 {
			out = append(out, b)
		}
		b = block{}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		indented := strings.HasPrefix(line, " ")
		if line == "" || indented != b.verbatim {
			end()
			b.verbatim = indented
		}
		if line != "" {
			b.lines = append(b.lines, strings.TrimPrefix(line, "  "))
		}
	}
	end()
	return out
}

// groups are flags by their group in the order of their first ones. Those without a group
// come first.
func groups(all []*kong.Flag) (out [][]*kong.Flag) {
	title := func(f *kong.Flag) string {
		if f.Group == nil {
			return ""
		}
		return f.Group.Title
	}
	titles := []string{""}
	for _, f := range all {
		if !slices.Contains(titles, title(f)) {
			titles = append(titles, title(f))
		}
	}
	for _, t := range titles {
		var of []*kong.Flag
		for _, f := range all {
			if title(f) == t {
				of = append(of, f)
			}
		}
		if len(of) > 0 {
			out = append(out, of)
		}
	}
	return out
}
