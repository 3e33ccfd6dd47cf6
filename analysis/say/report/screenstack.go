package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis/read/family"
	"leakdiff/analysis/say/wording"
)

// The screen shows so many frames, with the creator.
const (
	mostScreenFrames   = 6
	fewestScreenFrames = 3
)

// stack is where the members of the finding wait: own code and that of modules, and of the
// standard library the function that these call.
func (s *screen) stack(most int) []string {
	frames := s.lead.Stack
	if len(frames) == 0 || s.lead.StackOf == nil {
		return nil
	}
	of := s.lead.StackOf
	one, many := "waits", "wait"
	if of.Opened {
		one, many = "was opened", "were opened"
	}
	caption := "where it " + one
	switch {
	case of.Of > of.Members:
		caption = fmt.Sprintf("where %s of the %s %s", wording.Number(int64(of.Members)), wording.Number(int64(of.Of)), many)
	case of.Members > 1:
		caption = fmt.Sprintf("where the %s %s", wording.Number(int64(of.Members)), many)
	}
	if x := &s.r.Series[*s.Series]; len(x.Snapshots) > 1 && !of.Opened {
		for i, id := range x.Snapshots {
			if id == of.Snapshot {
				caption += " at " + wording.Printable(s.diagnosing.label(x, i))
			}
		}
	}
	return s.stands(caption, frames, most)
}

// ShortStack returns at most so many frames of a stack, those that say most, in the order of the
// dump.
func ShortStack(frames []StackFrame, most int) []StackFrame {
	if len(frames) <= most {
		return frames
	}
	out := make([]StackFrame, 0, most)
	for _, i := range pickFrames(frames, most) {
		out = append(out, frames[i])
	}
	return out
}

// pickFrames chooses the frames to show: the first of the run of the standard library that a
// module called, own code, then modules from the leaf on, and the creator.
func pickFrames(frames []StackFrame, most int) []int {
	n := len(frames)
	var out []int
	if frames[n-1].CreatedBy {
		n--
		out, most = append(out, n), most-1
	}
	// The tests of the standard library are the code of those who run them.
	standard := func(i int) bool {
		return family.OfStandardLibrary(frames[i].Function) && !strings.HasSuffix(frames[i].File, "_test.go")
	}
	leaf := 0
	for leaf+1 < n && standard(leaf) && standard(leaf+1) {
		leaf++
	}
	if leaf == n-1 && standard(leaf) {
		leaf = 0 // nothing but the standard library
	}
	pick := func(i int) {
		if i < n && most > 0 && !slices.Contains(out, i) {
			out, most = append(out, i), most-1
		}
	}
	pick(leaf)
	alone := true
	for i := range n {
		if frames[i].Own {
			pick(i)
		}
		alone = alone && standard(i)
	}
	for i := range n {
		if !standard(i) || alone && !family.OfWait(frames[i].Function) {
			pick(i)
		}
	}
	for i := range n {
		if alone {
			pick(i)
		}
	}
	slices.Sort(out)
	return out
}

// fitName removes elements of the path, or of the package of a Java class, from the front of a
// name until it fits.
func fitName(name string, room int) string {
	for utf8.RuneCountInString(name) > room {
		at := strings.IndexByte(name, '/')
		if at < 0 {
			at = strings.IndexByte(name, '.')
			if rest := name[at+1:]; at < 0 || strings.Count(rest, ".") < 1 || rest[0] == '(' {
				return cut(name, room)
			}
		}
		name = name[at+1:]
	}
	return name
}

// frame is a line with the place at its right. The host of a module is left out.
func (s *screen) frame(f *StackFrame) string {
	mark, name, by := "  ", wording.Printable(f.Function), ""
	if f.Own {
		mark = "▌ "
	}
	if f.CreatedBy {
		by = "created by "
	}
	place := cut(wording.Printable(f.place()), columns/2)
	room := columns - len("  ") - len(by) - utf8.RuneCountInString(place) - 1
	if host, path, ok := strings.Cut(name, "/"); ok && strings.Contains(host, ".") {
		name = path
	}
	name = fitName(name, room)
	gap := strings.Repeat(" ", room-utf8.RuneCountInString(name)+1)
	if place == "" {
		gap = ""
	}
	if f.Own {
		name = s.paint(bold, name)
	}
	return mark + by + name + gap + s.paint(dim, place)
}
