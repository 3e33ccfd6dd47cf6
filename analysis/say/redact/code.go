package redact

import (
	"path"
	"strings"

	"leakdiff/analysis"
)

// keep registers names that are no secret: programs, and functions with their packages.
// Each word of them is kept, so a directory with such a name stays. Where a word is also the
// name of an unknown program, it is kept in names of code alone.
func (r *Redactor) keep(names ...string) {
	for _, n := range names {
		n = shown(n)
		for _, element := range strings.Split(strings.ToLower(n), "/") {
			r.public[element] = true
		}
		before := ""
		for _, word := range strings.FieldsFunc(strings.ToLower(n), func(c rune) bool { return strings.ContainsRune(codeSigns+", ", c) }) {
			r.public[word] = true
			if before != "" {
				r.neighbours[[2]string{before, word}] = true
			}
			before = word
		}
	}
}

// codeSigns join the words of a name of code.
const codeSigns = "/.()*[]·{}"

// keepFile keeps the directory of a source beside its file, if its package has that name.
func (r *Redactor) keepFile(f analysis.Frame) {
	directory, file := path.Split(strings.ToLower(f.File))
	name, _, _ := strings.Cut(path.Base(strings.ToLower(f.Func)), ".")
	if path.Base(directory) == name {
		r.neighbours[[2]string{name, firstWord(file)}] = true
	}
}

// inCode reports a part of a text in lower case that belongs to a name of keep or keepFile:
// "wombat" in "shop/wombat", "wombat.(*ledger).run" and "wombat/a.go", and not in "t0/wombat" or
// "wombat.tar.gz".
func (r *Redactor) inCode(text string, from, to int) bool {
	name := text[from:to]
	if !r.public[name] {
		return false
	}
	before, after := strings.TrimRight(text[:from], codeSigns), strings.TrimLeft(text[to:], codeSigns)
	if len(before) < from && r.neighbours[[2]string{before[strings.LastIndexFunc(before, outsideWord)+1:], name}] {
		return true
	}
	return len(after) < len(text)-to && r.neighbours[[2]string{name, firstWord(after)}]
}

func firstWord(text string) string {
	if at := strings.IndexFunc(text, outsideWord); at >= 0 {
		return text[:at]
	}
	return text
}

func outsideWord(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune("-_$~", c) }
