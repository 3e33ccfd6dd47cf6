package bundle

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// A part is an input that seems to be one of several pieces of a file: portals
// that limit uploads make users split their archives.
type part struct {
	split
	// number counts from 0 or 1; the last part of a zip archive in several files,
	// which has none in its name, has lastDisk.
	number int
	// width is how many digits or letters its name has.
	width, index int
}

// A split is what the names of all parts of one file agree in: the whole file's
// name with its directory, and how parts are marked and numbered.
type split struct {
	stem, mark string
	count      counting
}

type counting string

const (
	byDigits  counting = "digits"
	byLetters counting = "letters"
	byDisks   counting = "disks"
)

var (
	// "x.tar.gz-00", "x.zip.001", "x.tgz_2"; a single digit only after a separator.
	numbered = expression.Lazy(`(?i)^(.*\.(?:` + packed + `))(?:([-._])(\d{1,4})|()(\d{2,4}))$`)
	// "x.tar.gz-aa", "x.tar.gzaa": what split(1) makes by itself.
	lettered = expression.Lazy(`(?i)^(.*\.(?:` + packed + `))([-._]?)([a-z]{2}|aa[a-z])$`)
	// "x.tar.part1", "x.part-02", "logs.partaa"
	named = expression.Lazy(`(?i)^(.+?)([-._]part[-._]?)(?:(\d{1,4})|([a-z]{2}|aa[a-z]))$`)
	// "x.z01", whose last part is "x.zip"
	disk = expression.Lazy(`(?i)^(.+)\.z(\d{2,3})$`)
)

// packed are the name ends of what is split in practice.
const packed = `tar|t?gz|t?zst|t?xz|t?bz2|tbz|t?lz4|zip`

const lastDisk = 1 << 20

// partOf reads an input's name.
//
//	"up/x.tar.gz-01"   stem "up/x.tar.gz", mark "-", number 1
//	"x.partab"         stem "x", mark ".part", number 1
//	"x.z02"            stem "x.zip", number 2
func partOf(name string) (part, bool) {
	if m := numbered.FindStringSubmatch(name); m != nil {
		return digits(split{m[1], m[2], byDigits}, m[3]+m[5]), true
	}
	if m := lettered.FindStringSubmatch(name); m != nil {
		return letters(split{m[1], m[2], byLetters}, m[3]), true
	}
	if m := disk.FindStringSubmatch(name); m != nil {
		return digits(split{m[1] + ".zip", "", byDisks}, m[2]), true
	}
	m := named.FindStringSubmatch(name)
	switch {
	case m == nil:
		return part{}, false
	case m[4] != "":
		return letters(split{m[1], m[2], byLetters}, m[4]), true
	}
	return digits(split{m[1], m[2], byDigits}, m[3]), true
}

func digits(s split, text string) part {
	n, _ := strconv.Atoi(text)
	return part{split: s, number: n, width: len(text)}
}

// letters numbers as split(1) does: aa 0, ab 1, ba 26.
func letters(s split, text string) part {
	n := 0
	for _, c := range []byte(strings.ToLower(text)) {
		n = n*26 + int(c-'a')
	}
	return part{split: s, number: n, width: len(text)}
}

// sibling is what the part with that number is called.
func (p part) sibling(number int) string {
	switch {
	case number == lastDisk:
		return p.stem
	case p.count == byDisks:
		return fmt.Sprintf("%s.z%0*d", p.stem[:len(p.stem)-len(".zip")], p.width, number)
	case p.count == byDigits:
		return fmt.Sprintf("%s%s%0*d", p.stem, p.mark, p.width, number)
	}
	suffix := make([]byte, p.width)
	for i := range suffix {
		suffix[p.width-1-i] = byte('a' + number%26)
		number /= 26
	}
	return p.stem + p.mark + string(suffix)
}

// upload is an input as it is walked: alone, or joined from its parts.
type upload struct {
	Input
	// next is the name that a further part would have; empty if there can be
	// none.
	next string
	// parts is the number of inputs that were joined; 0 for one that is no part.
	parts int
}

// join puts the parts of split files together, each at the place of its earliest part,
// and reports the missing parts. The parts after the first gap of an incomplete set
// remain single inputs.
func (w *walk) join(inputs []Input) []upload {
	joined, taken := map[int]upload{}, map[int]bool{}
	for _, set := range splits(inputs) {
		run := w.whole(inputs, set)
		if len(run) == 0 {
			continue
		}
		earliest := run[0].index
		for _, p := range run {
			taken[p.index] = true
			earliest = min(earliest, p.index)
		}
		u := joinParts(inputs, run)
		if len(run) < len(set) {
			u.next = "" // the missing part was reported
		}
		joined[earliest] = u
	}
	var out []upload
	for i, in := range inputs {
		if u, ok := joined[i]; ok {
			out = append(out, u)
		} else if !taken[i] {
			out = append(out, upload{Input: in})
		}
	}
	return out
}

// splits finds the sets of parts among the inputs, in the order of the inputs.
func splits(inputs []Input) [][]part {
	var order []split
	sets := map[split][]part{}
	for i, in := range inputs {
		p, ok := partOf(in.Name)
		if !ok || in.Link != "" {
			continue
		}
		p.index = i
		if sets[p.split] == nil {
			order = append(order, p.split)
		}
		sets[p.split] = append(sets[p.split], p)
	}
	disks := map[string]split{}
	for _, s := range order {
		if s.count == byDisks {
			disks[strings.ToLower(s.stem)] = s
		}
	}
	for i, in := range inputs {
		if s, ok := disks[strings.ToLower(in.Name)]; ok && in.Link == "" {
			sets[s] = append(sets[s], part{split: s, number: lastDisk, index: i})
		}
	}
	var out [][]part
	for _, s := range order {
		out = append(out, sets[s])
	}
	return out
}

// whole returns the parts that can be joined, in order: those before the first gap. It
// joins nothing without the first part, or if only the names are similar.
func (w *walk) whole(inputs []Input, set []part) []part {
	slices.SortStableFunc(set, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	first := set[0]
	archive := begins(inputs[first.index])
	switch {
	case first.count == byLetters && first.number >= 26:
		return nil // "x.tar.gz" is no part of "x.tar"
	case archive && first.number > 1:
		return nil // "sos.tar.gz-2026"
	case archive && len(set) > 1 && begins(inputs[set[1].index]):
		return nil // "backup.tar.gz.1" beside "backup.tar.gz.2": a rotation
	}
	if lowest := first.lowest(archive); first.number > lowest {
		w.missing(inputs, set, first.sibling(lowest), "the file begins with it, so that the other parts say nothing")
		return nil
	}
	run := set[:1:1]
	for _, p := range set[1:] {
		before := run[len(run)-1].number
		switch {
		case p.number == before: // the same part twice: the second stays by itself
			continue
		case p.number != before+1 && p.number != lastDisk:
			w.missing(inputs, set, first.sibling(before+1), "the file was read up to there")
			return run
		}
		run = append(run, p)
	}
	if first.count == byDisks && run[len(run)-1].number != lastDisk {
		w.missing(inputs, set, first.stem, "it is the last part, with the directory; the file was read up to there")
	}
	if len(run) == 1 && !archive {
		return nil
	}
	return run
}

// lowest is the number of the first part. split -d begins with 00, 7-Zip with 001 and
// people with part1. If the names leave it open, the beginning of an archive decides.
func (p part) lowest(archive bool) int {
	switch {
	case p.count == byLetters:
		return 0
	case p.count == byDisks, p.width == 3, archive, len(p.mark) > 1:
		return min(p.number, 1)
	}
	return 0
}

// begins reports whether an input begins like a container.
func begins(in Input) bool {
	rc, err := in.Open()
	if err != nil {
		return false
	}
	defer rc.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(rc, head)
	return identify(head[:n], false) != formatNone
}

func (w *walk) missing(inputs []Input, set []part, name, why string) {
	last := set[len(set)-1]
	w.problem(analysis.Error, cleanPath(inputs[set[0].index].Name), "a part of this split file is missing",
		cleanPath(name)+" was not uploaded; "+why,
		fmt.Sprintf("upload %s together with the other parts (up to %s and any further ones) in one upload",
			cleanPath(name), cleanPath(inputs[last.index].Name)))
}

// joinParts is the input that reads the parts one after the other. A single one
// keeps its name.
func joinParts(inputs []Input, run []part) upload {
	first := inputs[run[0].index]
	next := ""
	if run[0].count != byDisks { // their last part is known by name
		next = run[0].sibling(run[len(run)-1].number + 1)
	}
	if len(run) == 1 {
		return upload{first, next, 1}
	}
	out := Input{Name: run[0].stem, ModTime: first.ModTime}
	var open []func() (io.ReadCloser, error)
	for _, p := range run {
		in := inputs[p.index]
		open = append(open, in.Open)
		if in.Size < 0 || out.Size < 0 {
			out.Size = -1
			continue
		}
		out.Size += in.Size
	}
	out.Open = func() (io.ReadCloser, error) {
		rc, err := open[0]()
		if err != nil {
			return nil, err
		}
		return &concatenation{now: rc, rest: open[1:]}, nil
	}
	return upload{out, next, len(run)}
}

// concatenation reads several inputs as one, with one of them open at a time.
type concatenation struct {
	now  io.ReadCloser
	rest []func() (io.ReadCloser, error)
}

func (c *concatenation) Read(p []byte) (int, error) {
	for {
		n, err := c.now.Read(p)
		if n > 0 || err != io.EOF || len(c.rest) == 0 {
			if err == io.EOF && len(c.rest) > 0 {
				err = nil
			}
			return n, err
		}
		next, err := c.rest[0]()
		if err != nil {
			return 0, err
		}
		c.now.Close()
		c.now, c.rest = next, c.rest[1:]
	}
}

func (c *concatenation) Close() error { return c.now.Close() }

// further adds to the loss of a joined file's end that another part may exist.
func (w *walk) further(u upload, before int) {
	if u.next == "" || w.over() {
		return
	}
	for _, p := range w.problems[before:] {
		if p.Code != analysis.CutFile {
			continue
		}
		w.problem(analysis.Warning, cleanPath(u.Name), "the last part of this split file seems to be missing",
			"the parts that were uploaded end in the middle", "if there is a "+cleanPath(u.next)+", upload it together with the other parts")
		return
	}
}
