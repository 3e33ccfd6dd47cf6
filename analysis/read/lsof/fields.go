package lsof

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// ParseFields reads what lsof -F and -F0 print (OUTPUT FOR OTHER PROGRAMS in lsof(8)):
// a letter and a value per line or per NUL, process sets that begin with p and file
// sets that begin with f. Any subset of the letters may be there, in any order after
// the first. Fields have no widths, so cells that tables shorten are whole. visit, part
// and error are as for ParseTable; the place of a row is its whole file set.
func ParseFields(r io.Reader, path string, visit func(part int, row *Row) error) (Listing, []analysis.Problem, error) {
	in := line.NewReader(r)
	f := fieldReader{listingState: newListingState(path), visit: visit, ends: map[string]string{}}
	for l := range in.All() {
		if f.line(l); f.err != nil {
			break
		}
	}
	f.flush()
	if f.err == nil {
		f.err = in.Failure(path)
		f.Truncated = f.Truncated || f.err != nil
	}
	listing, probs := f.close(in.Offset())
	return listing, probs, f.err
}

// fieldReader gathers the sets.
type fieldReader struct {
	*listingState
	visit func(int, *Row) error
	err   error
	// process holds the fields of the process set, row those of the file set too.
	process, row    Row
	protocol, state string
	access, lock    string
	inFile          bool
	// letters has a bit for each field of the file set.
	letters uint64
	// last is the last field of the file set, ends those of the file sets of each type.
	last  string
	ends  map[string]string
	first line.Line // of the file set
}

// line takes one line: a field, or the NUL-terminated fields of one set.
//
//	"tREG"
//	"f4\x00au\x00lW\x00tREG\x00"
func (f *fieldReader) line(l line.Line) {
	text := l.Text
	if l.Number == 1 {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	switch {
	case strings.TrimSpace(text) == "":
		return
	case strings.HasPrefix(text, "m=") || f.separates(text): // repeat mode
		f.flush()
		f.begin(l)
		f.next()
		return
	case line.IsDate(text):
		f.flush() // it stands behind the file held back
		f.skip(l, noiseKind(strings.TrimSpace(text)))
		return
	case strings.HasPrefix(text, "lsof: ") || isBlank(text[0]):
		f.refuse(l, noiseKind(strings.TrimSpace(text)), "does not begin with the letter of a field")
		return
	}
	zeros := strings.Contains(text, "\x00")
	for text != "" && f.err == nil {
		field, rest, ended := strings.Cut(text, "\x00")
		if !l.Ended && !(zeros && ended) && !f.completes(field) {
			f.cut(l)
			return
		}
		text = rest
		if field != "" {
			f.field(l, field)
		}
	}
	if f.inFile {
		f.row.Descriptor.Place.Length = l.Offset + l.Length - f.first.Offset
	}
}

// completes reports that a last field without its end is the one with which files of that type
// end: the line end alone is missing.
func (f *fieldReader) completes(field string) bool {
	return f.inFile && field != "" && f.ends[f.row.Type] == fieldName(field)
}

// fieldName is what tells a field from others: "n", "TST".
func fieldName(field string) string {
	if name, _, ok := strings.Cut(field, "="); ok && field[0] == 'T' {
		return name
	}
	return field[:1]
}

func (f *fieldReader) cut(l line.Line) {
	f.Truncated = true
	f.probs.Add(analysis.Warning, l, "the last field is cut off", "the file ends without a line end after "+line.Quote(l.Text),
		"take the listing again; the figures are lower bounds")
}

// field takes one letter with its value. The first character identifies lines of other
// programs between them, or a p or f without a proper value.
func (f *fieldReader) field(l line.Line, field string) {
	letter, value := field[0], strings.TrimSpace(field[1:])
	switch {
	case letter == 'p' && isPlainNumber(value):
		f.flush()
		f.beginProcess(l, value)
	case f.Form == "" && letter == 'f' && isFD(value):
		f.refuse(l, noiseOrphan, "stands before the first process")
		return
	case f.Form == "":
		f.skip(l, noiseKind(field))
		return
	case strings.IndexByte(fieldLetters, letter) < 0, letter == 'p', letter == 'f' && !isFD(value), !f.inFile && strings.IndexByte(processLetters, letter) < 0 && letter != 'f',
		(letter == 'a' || letter == 'l') && len(value) > 1:
		f.refuse(l, noiseKind(field), "is no field that may stand here")
		return
	case letter == 'f':
		f.flush()
		f.beginFile(l, value)
	case f.inFile:
		f.last = fieldName(field)
		f.repeated(l, letter)
		f.fileField(l, letter, field[1:])
	default:
		f.processField(l, letter, field[1:])
	}
	if name := string(letter); !slices.Contains(f.Columns, name) {
		f.Columns = append(f.Columns, name)
	}
}

// The letters of lsof(8), OUTPUT FOR OTHER PROGRAMS, and those that may stand between a
// process and its first file.
const (
	fieldLetters   = "acCdDfFGgiKklLmMnNoOpPrRsStTuzZ"
	processLetters = "gRcuLKMzZ"
)

// repeated reports a field that its file set has already: the line between, with which
// another file began, is not there. Only details of the transport come several times.
func (f *fieldReader) repeated(l line.Line, letter byte) {
	bit := uint64(1) << (letter - 'A')
	if letter != 'T' && f.letters&bit != 0 {
		f.letters = 0
		f.probs.Add(analysis.Warning, l, "a file has the same field twice", line.Quote(l.Text)+" comes again before the next descriptor",
			"take the listing again; a line seems to be lost, and the figures are lower bounds")
	}
	f.letters |= bit
}

func (f *fieldReader) beginProcess(l line.Line, value string) {
	f.process = Row{}
	if !setNumber(&f.process.PID, value) {
		f.probs.Add(analysis.Warning, l, "a process set has no pid", line.Quote(value)+" is larger than any",
			"its descriptors are listed without a process")
	}
	f.Form = formFields
	f.begin(l)
}

// processField takes a field between p and the first f.
func (f *fieldReader) processField(l line.Line, letter byte, value string) {
	p, good := &f.process, true
	switch letter {
	case 'c':
		p.Command = strings.Clone(value)
	case 'K':
		good = setNumber(&p.TID, value)
	case 'M':
		p.TaskCommand = strings.Clone(value)
	case 'g':
		good = setNumber(&p.PGID, value)
	case 'R':
		good = setNumber(&p.PPID, value)
	case 'u':
		if p.User == "" { // the login name is better
			p.User = strings.Clone(value)
		}
	case 'L':
		p.User = strings.Clone(value)
	}
	if !good {
		f.probs.Add(analysis.Note, l, "a field of a process is not understood", line.Quote(value)+" is no number",
			"nothing: the other fields were read")
	}
}

func (f *fieldReader) beginFile(l line.Line, value string) {
	f.inFile, f.first, f.letters = true, l, 0
	f.row = f.process
	f.row.FDText = value
	f.row.Descriptor.Place = l.Place()
}

// fileField takes a field of a file set.
//
//	"D0xfe00"           Descriptor.Device = "254:0"
//	"TST=ESTABLISHED"   Descriptor.State
func (f *fieldReader) fileField(l line.Line, letter byte, value string) {
	r := &f.row
	switch letter {
	case 'a':
		f.access = strings.TrimSpace(value)
	case 'l':
		f.lock = strings.TrimSpace(value)
	case 't':
		r.Type = value
	case 'G':
		r.Flags = value
	case 'D':
		dev, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
		if err != nil {
			f.probs.Add(analysis.Note, l, "a device is not understood", line.Quote(value)+" is no hex number",
				"nothing: the other fields were read")
			return
		}
		r.Descriptor.Device = statDevice(dev)
	case 'd':
		r.Device = value
	case 's', 'o':
		r.Size = value
	case 'i':
		r.Node = value
	case 'k':
		r.Links = value
	case 'P':
		f.protocol = value
	case 'n':
		r.NameText = value
	case 'T':
		if state, ok := strings.CutPrefix(value, "ST="); ok {
			f.state = state
		}
	}
}

// statDevice is a device number as stat packs it in the form of mountinfo.
//
//	0xfe00 = "254:0"
func statDevice(dev uint64) string {
	major, minor := decodeStat(dev)
	return strconv.FormatUint(major, 10) + ":" + strconv.FormatUint(minor, 10)
}

// decodeStat splits a device number packed as stat does (sys/sysmacros.h), unlike
// the sdev of fdinfo.
//
//	0xfe00      254, 0
//	0x1000e7    0, 487
func decodeStat(dev uint64) (major, minor uint64) {
	return dev>>8&0xfff | dev>>32&^0xfff, dev&0xff | dev>>12&^0xff&0xffffffff
}

// flush ends a file set.
func (f *fieldReader) flush() {
	if !f.inFile || f.err != nil {
		return
	}
	f.inFile = false
	r := &f.row
	f.ends[r.Type] = f.last
	access := f.access
	if access == "" && f.lock != "" {
		access = "-" // as the table prints it
	}
	r.setFD(r.FDText + access + f.lock)
	r.describe(f.protocol, f.state)
	f.protocol, f.state, f.access, f.lock = "", "", "", ""
	if f.count(f.first, r) {
		f.err = f.visit(f.Parts, r)
	}
}
