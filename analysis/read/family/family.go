// Package family recognises goroutines, descriptors and inotify watches that are the
// same thing many times. It takes one stack, descriptor or watch of the domain and
// returns the family it belongs to: a versioned fingerprint over a normalised canonical
// text, a title for people, the roll-up key, and an account of every rule that was
// applied. It does not know how dumps and listings are written, how many members a
// family has, or whether it grows.
package family

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// Version numbers the rules of this package. It is part of every canonical text and
// fingerprint: changed rules produce other fingerprints, and results that were frozen
// under the old ones stay what they were.
const Version = 1

// digest hashes a canonical text under its kind's letter.
//
//	digest("g", "g1\nmain.main\n") = "g1:" + 32 hex digits
func digest(letter, canonical string) string {
	return digestOf(letter, []byte(canonical))
}

func digestOf(letter string, canonical []byte) string {
	sum := sha256.Sum256(canonical)
	out := strconv.AppendInt(append(make([]byte, 0, 40), letter...), Version, 10)
	return string(hex.AppendEncode(append(out, ':'), sum[:16]))
}

// prefix opens a canonical text.
//
//	prefix("g") = "g1\n"
func prefix(letter string) string { return letter + strconv.Itoa(Version) + "\n" }

// Stacks returns the families and exact fingerprints of stacks. It remembers stacks, which
// must not change, and the names of functions, which the stacks of one program share. The
// zero value is ready; it is of use to one goroutine at a time.
type Stacks struct {
	names    map[string]naming
	known    map[*analysis.Stack]knownStack
	families map[string]*analysis.Family
}

// knownStack has the results for a stack.
type knownStack struct {
	family *analysis.Family
	exact  string
}

// maxNames and maxStacks bound the memory of Stacks. Programs have some thousand functions
// that goroutines wait in, and some hundred stacks.
const (
	maxNames  = 1 << 15
	maxStacks = 1 << 15
)

// OfStack returns the goroutine family of a stack, which all its stacks share if they
// give it the same title and entry. The fingerprint is the loose one: it holds across
// builds, Go versions and the forms that print a creator. debug=1 and proto print none:
// their stacks have another fingerprint, unless the goroutine runs a closure of its
// creator (Adopters).
func (c *Stacks) OfStack(s *analysis.Stack) *analysis.Family { return c.of(s).family }

// Exact returns the fingerprint of one stack of one build: "e1:" and 32 hex digits over
// the exact function names, file bases and lines, and the creator with its line.
func (c *Stacks) Exact(s *analysis.Stack) string { return c.of(s).exact }

func (c *Stacks) of(s *analysis.Stack) knownStack {
	if known, ok := c.known[s]; ok {
		return known
	}
	r := read(s, c.name)
	out := knownStack{c.shared(r.family()), r.exact(s)}
	if len(c.known) < maxStacks {
		if c.known == nil {
			c.known = map[*analysis.Stack]knownStack{}
		}
		c.known[s] = out
	}
	return out
}

// shared returns the family that earlier stacks have, if it is the same in every field.
func (c *Stacks) shared(f *analysis.Family) *analysis.Family {
	known := c.families[f.Fingerprint]
	switch {
	case known != nil && same(known, f):
		return known
	case known == nil && len(c.families) < maxStacks:
		if c.families == nil {
			c.families = map[string]*analysis.Family{}
		}
		c.families[f.Fingerprint] = f
	}
	return f
}

// same compares goroutine families of one fingerprint.
func same(f, g *analysis.Family) bool {
	return f.Title == g.Title && f.Entry == g.Entry && f.LooseCreator == g.LooseCreator && slices.Equal(f.Loose, g.Loose)
}

func (c *Stacks) name(printed string) naming {
	n, ok := c.names[printed]
	if ok {
		return n
	}
	n = nameOf(printed)
	if c.names == nil {
		c.names = map[string]naming{}
	}
	if len(c.names) < maxNames {
		c.names[printed] = n
	}
	return n
}

// Adopters maps the fingerprint of a family in forms without creators to the family
// itself. So the figures of a debug=1 text or a proto find the family that a dump with
// creators named. Frames that several creators share belong to none of them.
func Adopters(families []*analysis.Family) map[string]string {
	out := map[string]string{}
	for orphan, claimants := range Claimants(families) {
		if len(claimants) == 1 {
			out[orphan] = claimants[0]
		}
	}
	return out
}

// Claimants maps the fingerprint of a family in forms without creators to the families, by
// fingerprint, whose members it may count. Families whose fingerprint is the same in every
// form are left out.
func Claimants(families []*analysis.Family) map[string][]string {
	likely, possible := claims{}, claims{}
	for _, f := range families {
		if f.Kind != analysis.KindGoroutine || f.LooseCreator == "" || len(f.Loose) == 0 {
			continue
		}
		likely.add(f, f.Loose)
		// Other members may have been started without the closure around them.
		if outer := len(f.Loose) - 1; f.Loose[outer] == f.LooseCreator {
			possible.add(f, f.Loose[:outer])
		}
	}
	maps.Copy(possible, likely)
	for _, f := range families {
		delete(possible, f.Fingerprint)
	}
	return possible
}

// claims are the families, by fingerprint, whose members may look like an orphan in a
// form without creators.
type claims map[string][]string

// add claims frames for a family. Whether the outermost one was a closure, which
// names its creator, is no longer known.
func (c claims) add(f *analysis.Family, loose []string) {
	if len(loose) == 0 {
		return
	}
	for _, creator := range []string{"", loose[len(loose)-1]} {
		orphan := digestOf("g", canonicalText(nil, loose, creator, ""))
		if !slices.Contains(c[orphan], f.Fingerprint) {
			c[orphan] = append(c[orphan], f.Fingerprint)
		}
	}
}

func (r *reading) exact(s *analysis.Stack) string {
	var b strings.Builder
	b.WriteString(prefix("e"))
	if r.creator.printed != "" && !r.creator.hidden {
		b.WriteString("created by " + r.creator.exact + " " + strconv.Itoa(s.CreatedBy.Line) + "\n")
	}
	for i := len(r.frames) - 1; i >= 0; i-- {
		if f := &r.frames[i]; !f.hidden {
			b.WriteString(f.exact + " " + base(f.file) + ":" + strconv.Itoa(s.Frames[i].Line) + "\n")
		}
	}
	if s.Unavailable != "" {
		b.WriteString("unavailable " + s.Unavailable + "\n")
	}
	return digest("e", b.String())
}

// base is the last element of a file path of any system.
//
//	"C:/go/src/sync/mutex.go" = "mutex.go"
func base(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(file, `\`, "/"))
}

// Step is one raw frame and what became of it.
type Step struct {
	Printed string
	// Rule is in words, several joined by ", "; empty if the frame is compared
	// as printed.
	Rule string
	// Compared is empty if the frame is not compared.
	Compared string
	// Creator marks the step of "created by".
	Creator bool
	// Title marks the frame that gave the family its title.
	Title bool
}

// Explain lists every frame of s as printed, leaf first, the creator last, with the
// rules that changed it and the text that is compared.
func Explain(s *analysis.Stack) []Step {
	r := read(s, nameOf)
	named := r.title(r.functions()).Function
	steps := make([]Step, 0, len(r.frames)+1)
	titled := false
	for i := range r.frames {
		f := &r.frames[i]
		step := Step{Printed: f.printed, Rule: strings.Join(f.rules, ", ")}
		if !f.dropped {
			step.Compared = f.loose
			step.Title = !titled && f.loose == named
			titled = titled || step.Title
		}
		steps = append(steps, step)
	}
	if r.creator.printed != "" {
		step := Step{Printed: r.creator.printed, Rule: strings.Join(r.creator.rules, ", "), Creator: true}
		if !r.creator.dropped {
			step.Compared = r.creator.loose
			step.Title = !titled && r.creator.loose == named
		}
		steps = append(steps, step)
	}
	return steps
}

// Others is the family of the members whose own family is not kept, because a snapshot has
// too many of that kind.
func Others(kind analysis.Kind) *analysis.Family {
	letter := string(kind[0])
	return &analysis.Family{Fingerprint: digest(letter, key(letter, "others")), Kind: kind, Title: "others"}
}
