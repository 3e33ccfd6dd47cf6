package goroutine

import (
	"bytes"

	"leakdiff/analysis"
)

// The ancestors of a goroutine are kept as keys of stacks are (stack.go), one after the other.
// Each begins with a line of this mark. Their ids are left out: they differ between goroutines
// that were started alike.
const markAncestor = '\x04'

// maxAncestors bounds what is kept of the ancestors of one goroutine, in bytes.
const maxAncestors = 8 << 10

// nextAncestor begins the frames of another ancestor.
func (p *textParser) nextAncestor() {
	if len(p.chain) < maxAncestors {
		p.chain = append(p.chain, markAncestor, '\n')
	}
}

// keepAncestor takes a frame or creator of an ancestor off the key, which is that of the
// goroutine alone.
func (p *textParser) keepAncestor() {
	if frame := p.key[p.ancestor:]; len(p.chain)+len(frame) < maxAncestors {
		p.chain = append(p.chain, frame...)
	}
	p.key = p.key[:p.ancestor]
}

// ParseAncestors returns the stacks of Goroutine.Ancestors, the nearest ancestor first. Of long
// ones the outermost may be incomplete.
func ParseAncestors(ancestors []byte) []analysis.Stack {
	var out []analysis.Stack
	for len(ancestors) > 0 {
		var line []byte
		if line, ancestors = cutLine(ancestors); bytes.Equal(line, []byte{markAncestor}) {
			out = append(out, analysis.Stack{})
			continue
		}
		if len(out) == 0 {
			return nil
		}
		last := &out[len(out)-1]
		creator := len(line) > 0 && line[0] == markCreator
		if creator {
			line = line[1:]
		}
		var place []byte
		place, ancestors = cutLine(ancestors)
		file, number := cutPlace(place)
		frame := analysis.Frame{Func: validText(unescape(line)), File: validText(file), Line: number}
		if creator {
			last.CreatedBy = frame
		} else {
			last.Frames = append(last.Frames, frame)
		}
	}
	return out
}
