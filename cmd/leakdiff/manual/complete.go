package manual

import (
	"embed"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

//go:embed shell
var scripts embed.FS

// Script returns the script that bash, zsh or fish reads. It asks the program itself.
func Script(shell string) ([]byte, error) { return scripts.ReadFile("shell/leakdiff." + shell) }

// Candidate is what a word may become.
type Candidate struct{ Word, Help string }

// Complete returns what the last of words may become, sorted as --help is. The words are
// those after the name of the program. files says that names of files fit as well. bash makes
// three words of "--format=json", other shells leave it one.
func Complete(app *kong.Node, words []string) (found []Candidate, files bool) {
	if len(words) == 0 {
		words = []string{""}
	}
	node, open, flagsEnd, arguments := app, (*kong.Flag)(nil), false, 0
	for _, word := range words[:len(words)-1] {
		switch {
		case word == "=" && open != nil:
		case open != nil:
			open = nil
		case flagsEnd:
			arguments++
		case word == "--":
			flagsEnd = true
		case len(word) > 1 && word[0] == '-':
			if name, _, has := strings.Cut(word, "="); !has {
				open = takesValue(node, name)
			}
		default:
			if child := childOf(node, word); child != nil && arguments == 0 {
				node = child
			} else {
				arguments++
			}
		}
	}
	last := words[len(words)-1]
	name, value, has := strings.Cut(last, "=")
	switch {
	case open != nil:
		return values(open.Value, strings.TrimPrefix(last, "="), "")
	case !flagsEnd && has && strings.HasPrefix(last, "--"):
		if f := takesValue(node, name); f != nil {
			return values(f.Value, value, name+"=")
		}
		return nil, false
	case !flagsEnd && strings.HasPrefix(last, "-") && last != "-":
		return flagCandidates(node, last), false
	}
	for _, child := range node.Children {
		if arguments == 0 && !child.Hidden && strings.HasPrefix(child.Name, last) {
			found = append(found, Candidate{child.Name, child.Help})
		}
	}
	if n := len(node.Positional); n > 0 && (arguments < n || node.Positional[n-1].IsCumulative()) {
		more, named := values(node.Positional[min(arguments, n-1)], last, "")
		found, files = append(found, more...), named
	}
	return found, files
}

func childOf(n *kong.Node, name string) *kong.Node {
	if i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == name }); i >= 0 {
		return n.Children[i]
	}
	return nil
}

// takesValue finds a flag that the command has and that the next word is the value of.
func takesValue(n *kong.Node, written string) *kong.Flag {
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if !f.IsBool() && (written == "--"+f.Name || f.Short != 0 && written == "-"+string(f.Short)) {
				return f
			}
		}
	}
	return nil
}

func flagCandidates(n *kong.Node, begin string) (found []Candidate) {
	add := func(name, help string) {
		if strings.HasPrefix(name, begin) {
			found = append(found, Candidate{name, help})
		}
	}
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if f.Hidden {
				continue
			}
			add("--"+f.Name, f.Help)
			if negatable(f) {
				add("--no-"+f.Name, "Not: "+f.Help)
			}
		}
	}
	return found
}

// values are those that a flag or an argument may have. written stands before each.
func values(v *kong.Value, begin, written string) (found []Candidate, files bool) {
	if v.Enum != "" {
		for _, word := range v.EnumSlice() {
			if word != "" && strings.HasPrefix(word, begin) {
				found = append(found, Candidate{Word: written + word})
			}
		}
		return found, false
	}
	return nil, namesFile(v)
}

// namesFile reports that a value is the name of a file or of a directory.
func namesFile(v *kong.Value) bool {
	placeholder := v.Name
	if v.Flag != nil {
		placeholder = v.Flag.PlaceHolder
	}
	is := func(word string) bool { return strings.Contains(strings.ToUpper(placeholder), word) }
	return v.Tag.Type == "path" || is("PATH") || is("FILE") || is("DIR") || strings.HasSuffix(v.Name, "-file")
}
