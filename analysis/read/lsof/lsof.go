// Package lsof reads listings of open descriptors and sockets: the table, the field
// output and the JSON of lsof in every column variant, lsfd, the socket tables of ss
// and netstat, and ls -l of /proc/PID/fd. It takes readers and hands every row to a
// visitor, with the descriptor or socket of the row and the place it was read at. Rows
// that threads repeat come once. Excerpts without a header, indentation, prompts and
// warnings are expected. It does not know when a listing was taken, which process
// matters, or whether anything leaks.
package lsof

import (
	"iter"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// The forms of a listing.
const (
	// formTable has a header, Headerless is an excerpt of a table without one.
	formTable  = "table"
	Headerless = "headerless"
	// formBusybox has "pid, program, descriptor, target" between tabs.
	formBusybox = "busybox"
	// formFields is the output of lsof -F and -F0.
	formFields = "fields"
	// formLinks is ls -l of /proc/PID/fd, or "4 -> target" as find prints it.
	formLinks = "ls"
	// formPIDs is the bare list of lsof -t, which has no row.
	formPIDs = "pids"
)

// Row is one row of lsof. Numbers missing from the listing are 0, except FD.
type Row struct {
	// Command has its escapes undone; tables cut it to 9 bytes unless +c was given.
	Command              string
	PID, PPID, PGID, TID int
	// TaskCommand is the name of the thread TID.
	TaskCommand string
	// User is a name, or a number with lsof -l.
	User string
	// FDText is the FD cell with access and lock ("4uW", "cwd", "*614u"). FD is its
	// number, -1 if it has none. Star is true for a descriptor without its number: lsof
	// kept only its last three digits, or an old busybox prints none.
	FDText string
	FD     int
	Star   bool
	// IsDescriptor is true for numbers and stars, false for cwd, rtd, txt, mem, DEL,
	// NOFD, err.
	IsDescriptor bool
	// Type, Flags (FILE-FLAG), Device, Size (or offset), Links and Node are cells as
	// printed, empty if the row or the listing has none.
	Type, Flags, Device, Size, Links, Node string
	// NameText is NAME as printed. Descriptor.Name is the same except for unix
	// sockets, where it is the path or @name alone ("" for unnamed ones).
	NameText   string
	Descriptor analysis.Descriptor
	// Unreadable is true if lsof was not allowed to look: the open files of the process
	// are unknown, not zero.
	Unreadable bool
}

// Part is one listing of a file that holds several.
type Part struct {
	Rows        int
	Descriptors int
	// Refused counts lines that begin like a row and were not understood.
	Refused int
	// Offset is where its first line begins.
	Offset int64
	// Asked is what a socket table was asked for, in lines of which the first is the command,
	// empty if none stands above; Dated reports a line of date above it: tables
	// that were asked for something else, without a date between them, are of one capture.
	Asked string
	Dated bool
}

// Skipped is a kind of line that is no row.
type Skipped struct {
	Kind  string
	Count int
	// First is the first such line, Example its beginning.
	First   analysis.Place
	Example string
}

// Listing sums up what was read.
type Listing struct {
	// Form is one of the constants, "" if nothing was recognised.
	Form string
	// Columns are the titles of the last header, or the letters of lsof -F in the
	// order of their first appearance.
	Columns []string
	// Rows counts all rows, also those that threads repeat; Visited leaves these out.
	Rows, Visited int
	// Descriptors counts distinct (PID, FD) pairs, and stars as they come. Of
	// several parts it is the largest: listings in time are never added up.
	Descriptors int
	// Parts is the number of listings in the file: lsof repeat mode ("======="), or
	// a header again. PerPart has their figures, bounded in number.
	Parts   int
	PerPart []Part
	Skipped []Skipped
	// Unreadable are the processes that lsof was not allowed to look at, bounded.
	Unreadable []int
	// Command is the command line found above the rows, if it was copied along.
	Command string
	// Size is the size of the directory itself in ls -la, which newer kernels set
	// to the number of descriptors; 0 if it was not listed.
	Size      int64
	Bytes     int64
	Truncated bool
}

// Bounds that keep memory flat.
const (
	maxSeen       = 1 << 20
	maxParts      = 1 << 12
	maxUnreadable = 1 << 10
	maxExample    = 200
)

// listingState keeps the figures of a listing while its lines are read.
type listingState struct {
	Listing
	probs  *line.Problems
	merged merger
	part   Part
	open   bool // the current part has begun
	// border sees the next listing begin where no header or separator says so.
	border line.Border
	// last is the number by which border knows the row above.
	last int64
	// twice is true if a descriptor of the current part was listed twice.
	twice  bool
	denied map[int]bool
	// firstDenied is the first line of a process that lsof could not look into.
	firstDenied line.Line
}

func newListingState(path string) *listingState {
	return &listingState{probs: &line.Problems{Path: path}, merged: newMerger(), denied: map[int]bool{}, last: -1}
}

// begin opens the current part at l, unless it is open.
func (b *listingState) begin(l line.Line) {
	if !b.open {
		b.open = true
		b.part = Part{Offset: l.Offset}
	}
}

// next closes the current part. A separator closes it even when it is empty, so
// that the numbers of parts keep step with the repetitions.
func (b *listingState) next() {
	b.Descriptors = max(b.Descriptors, b.part.Descriptors)
	b.Parts++
	if len(b.PerPart) < maxParts {
		b.PerPart = append(b.PerPart, b.part)
	}
	b.part, b.open, b.twice = Part{}, false, false
	b.border.Begin()
	b.merged.reset()
}

// separates knows the line between two listings of repeat mode. A date in the same
// frame may also stand above the first one.
//
//	"=======" "====03:05:00===="              true
//	"=== 2026-11-21T03:00:00Z ===", at the top  false
func (b *listingState) separates(text string) bool {
	return strings.HasPrefix(text, "===") && (b.open || b.Parts > 0 || !line.IsDate(text))
}

// count takes a row into the figures and reports whether it is the first of its
// descriptor; rows that are no descriptor always are.
func (b *listingState) count(l line.Line, row *Row) bool {
	number := int64(-1) // threads and stars repeat others
	if row.IsDescriptor && row.TID == 0 && !row.Star {
		number = int64(row.PID)<<32 | int64(row.FD)
	}
	if number < 0 || number != b.last || b.border.Begins(-1) { // a row that stands twice begins nothing
		if b.border.Begins(number) {
			b.next()
		}
		b.border.Add(number)
		b.last = number
	}
	b.begin(l)
	b.Rows++
	b.part.Rows++
	if row.Unreadable {
		b.deny(l, row.PID)
	}
	if !row.IsDescriptor {
		b.Visited++
		return true
	}
	first, full := b.merged.first(row)
	if full {
		b.probs.Add(analysis.Warning, l, "too many descriptors to merge by process and number",
			"memory is bounded", "split the listing by process; the count is too high if it repeats threads")
	}
	if first {
		b.Visited++
		b.part.Descriptors++
	} else if row.TID == 0 && !b.twice {
		// Only threads repeat descriptors.
		b.twice = true
		b.probs.Add(analysis.Warning, l, "a descriptor is listed twice", line.Quote(l.Text)+" has the process and the number of a row above; each is counted once",
			"upload each listing as a file of its own; if this is one, the figures are lower bounds")
	}
	return first
}

// deny notes a process that lsof could not look into.
func (b *listingState) deny(l line.Line, pid int) {
	if b.denied[pid] || len(b.denied) >= maxUnreadable {
		return
	}
	if len(b.denied) == 0 {
		b.firstDenied = l
		b.firstDenied.Text = strings.Clone(l.Text)
	}
	b.denied[pid] = true
	b.Unreadable = append(b.Unreadable, pid)
}

// unreadable says once how many processes lsof could not look into.
func (b *listingState) unreadable() {
	n := len(b.Unreadable)
	if n == 0 {
		return
	}
	what := wording.Plural(n, "process was", "processes were") + " not readable for lsof"
	if n >= maxUnreadable {
		what = "at least " + what
	}
	b.probs.AddCoded(analysis.UnreadableProcesses, analysis.Warning, b.firstDenied, what, line.Quote(b.firstDenied.Text)+" means that descriptors are unknown, not that there are none", "run lsof as root")
}

// skip counts a line that is no row.
func (b *listingState) skip(l line.Line, kind string) {
	b.border.Pass(strings.TrimSpace(l.Text))
	addSkipped(&b.Skipped, l, kind)
}

// refuse counts a line that may be a row and is not understood. Lines above the first
// row are often prose: they must look like one.
func (b *listingState) refuse(l line.Line, kind, why string) {
	b.skip(l, kind)
	if like := likeRow(l.Text) || likeEntry(strings.TrimSpace(l.Text)); like && kind == "other" || kind == noiseOrphan {
		b.begin(l)
		b.part.Refused++
	}
	if kind == "other" && (b.open || likeRow(l.Text)) || kind == noiseOrphan {
		b.probs.Add(analysis.Warning, l, "a line of the listing is not understood", line.Quote(l.Text)+" "+why,
			"nothing if it is no part of the listing; if it is a row, the figures are lower bounds")
	}
}

// likeRow reports whether a line begins as rows of lsof do, a command, a pid, and soon
// after them a descriptor or a type, or has the member of an object.
//
//	"agentd 7 root 10q REG 254,0"   true
//	"root 18194 1 4 Nov21 ? ps"     false
func likeRow(text string) bool {
	if strings.Contains(text, `"fd":`) || strings.Contains(text, `"assoc":`) {
		return true
	}
	toks := tokens(text, 8)
	if len(toks) < 5 || !isPID(text[toks[1].start:toks[1].end]) {
		return false
	}
	for _, tok := range toks[2:] {
		switch word := text[tok.start:tok.end]; word {
		case "REG", "DIR", "CHR", "BLK", "FIFO", "IPv4", "IPv6", "unix", "sock", "a_inode", "KQUEUE", "netlink":
			return true
		default:
			if isFD(word) && !isPlainNumber(word) {
				return true
			}
		}
	}
	return false
}

// textLines are the lines of a listing: a line.Reader or line.Blocks.
type textLines interface {
	All() iter.Seq[line.Line]
	Offset() int64
	Failure(path string) error
}

// readLines hands each line of in to read, up to the first error, and returns the
// listing.
func (b *listingState) readLines(in textLines, path string, read func(line.Line) error) (Listing, []analysis.Problem, error) {
	var err error
	for l := range in.All() {
		if err = read(l); err != nil {
			break
		}
	}
	if err == nil {
		err = in.Failure(path)
		b.Truncated = b.Truncated || err != nil
	}
	listing, probs := b.close(in.Offset())
	return listing, probs, err
}

// close ends the last part and returns the listing.
func (b *listingState) close(bytes int64) (Listing, []analysis.Problem) {
	b.unreadable()
	if b.open || b.Parts == 0 && b.Rows > 0 {
		b.next()
	}
	b.Bytes = bytes
	b.complaints()
	return b.Listing, b.probs.All()
}

// complaints reports what lsof itself said of its output, once for all lines.
func (b *listingState) complaints() {
	lines, first := 0, Skipped{}
	for _, s := range b.Skipped {
		switch s.Kind {
		case noiseWarning, noiseAvoided, noiseMessage:
			if lines == 0 {
				first = s
			}
			lines += s.Count
		}
	}
	if lines == 0 {
		return
	}
	what := "lsof warned that its output may be incomplete"
	if lines > 1 {
		what = "lsof warned " + strconv.Itoa(lines) + " times that its output may be incomplete"
	}
	b.probs.Add(analysis.Warning, line.Line{Number: first.First.Line, Offset: first.First.Offset}, what,
		line.Quote(first.Example)+" is what it printed first; files that it could not look at are listed without their kind or not at all",
		"run lsof as root and without -b; until then the figures are lower bounds")
}
