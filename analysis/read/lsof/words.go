package lsof

import (
	"strings"

	"leakdiff/analysis"
)

const (
	// maxWords bounds the words that are kept to be shared.
	maxWords = 1 << 14
	// maxWord is how long a word is at most; longer ones hardly come again.
	maxWord = 48
)

// words holds one copy of each word that rows repeat. Cells are cut out of their
// line: a row that is kept would keep all of it.
type words map[string]string

// of returns an equal string that shares no line.
func (w words) of(s string) string {
	switch shared, ok := w[s]; {
	case s == "":
		return ""
	case ok:
		return shared
	}
	s = strings.Clone(s)
	if len(s) <= maxWord && len(w) < maxWords {
		w[s] = s
	}
	return s
}

// descriptor frees a descriptor of its line. The ends of an IP socket go on sharing
// its name.
func (w words) descriptor(d *analysis.Descriptor) {
	local, remote := d.Local, d.Remote
	if local == "" && remote == "" {
		d.Name = w.of(d.Name)
	} else {
		d.Name = strings.Clone(d.Name) // one connection is not like another
	}
	d.Local, d.Remote = within(d.Name, local), within(d.Name, remote)
	for _, cell := range []*string{&d.Type, &d.Access, &d.Device, &d.Protocol, &d.State} {
		*cell = w.of(*cell)
	}
}

// socket does the same for a row of a socket table.
func (w words) socket(s *analysis.Socket) {
	ends := s.Local + "\n" + s.Remote
	s.Local, s.Remote = ends[:len(s.Local)], ends[len(s.Local)+1:]
	s.Protocol, s.State = w.of(s.Protocol), w.of(s.State)
	for i := range s.Owners {
		s.Owners[i].Program = w.of(s.Owners[i].Program)
	}
}

// within returns the part of a string that equals another one, or a copy of that.
func within(s, part string) string {
	if i := strings.Index(s, part); i >= 0 {
		return s[i : i+len(part)]
	}
	return strings.Clone(part)
}
