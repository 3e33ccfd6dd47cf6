package lsof

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// ParseTable reads the table that lsof prints by default, in every column variant, or
// an excerpt of it, and the tables of the lsof of busybox and toybox. Cells are cut out
// by the positions of the titles, since they may be empty (print.c of lsof). Rows that
// do not fit below their titles, and excerpts without titles, are read by the look of
// their tokens instead.
//
// visit receives every row that is no descriptor, and the first row of each descriptor
// (PID, FD) within a part. Rows that threads repeat are counted in Listing.Rows only.
// part counts the listings of the file from 0. The row is reused, and its strings share
// the memory of the lines around them: copy what is kept, strings with strings.Clone.
// The error is that of visit or of r; what was read until then is returned with it.
func ParseTable(r io.Reader, path string, visit func(part int, row *Row) error) (Listing, []analysis.Problem, error) {
	in := line.NewBlocks(r)
	t := tableReader{listingState: newListingState(path)}
	return t.readLines(in, path, func(l line.Line) error { return t.line(l, visit) })
}

// tableReader holds what the lines above mean for the ones below.
type tableReader struct {
	*listingState
	columns columns
	// fd is the index of FD; owner are the cells before it of the row above, which
	// most rows repeat.
	fd      int
	owner   owner
	devices devices
	row     Row
	// busybox is true if row has the columns of busybox.
	busybox bool
	// states reports that the listing shows those of TCP connections.
	states bool
}

func (t *tableReader) line(l line.Line, visit func(int, *Row) error) error {
	if l.Number == 1 {
		l.Text = strings.TrimPrefix(l.Text, "\ufeff")
	}
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "":
		return nil
	case t.separates(text):
		t.begin(l)
		t.next()
		return nil
	}
	if strings.HasPrefix(strings.TrimLeft(l.Text, " "), commandTitle) {
		if c, ok := header(l.Text); ok {
			t.head(l, c)
			return nil
		}
	}
	if !t.parse(l) {
		t.noise(l, text)
		return nil
	}
	if !l.Ended && t.breaksOff() {
		t.cut(l)
		return nil
	}
	t.states = t.states || t.row.Descriptor.State != ""
	if t.Form != formTable {
		t.Form = Headerless
	}
	if t.busybox {
		t.Form = formBusybox
	}
	if !t.count(l, &t.row) {
		return nil
	}
	return visit(t.Parts, &t.row)
}

// head takes the titles over; a header below rows begins another listing.
func (t *tableReader) head(l line.Line, c columns) {
	if t.part.Rows > 0 {
		t.next()
	}
	t.begin(l)
	t.Form, t.columns, t.fd, t.owner = formTable, c, c.find(cellFD), owner{}
	t.Columns = c.titles()
}

// breaksOff reports that a last row without a line end lacks the end of its name. Of a path
// nobody knows it.
//
//	"10.0.0.5:1->10.0.0.7:" "10.0.0.5:1->10.0.0.7:80 (ESTAB" "10.0.0.5:1->10.0.0.7:8", where other rows have states   true
func (t *tableReader) breaksOff() bool {
	d := &t.row.Descriptor
	if t.row.NameText == "" || d.Protocol != "TCP" || d.State != "" {
		return t.row.NameText == ""
	}
	return t.states || strings.HasSuffix(d.Name, ":") || strings.HasSuffix(d.Name, "-") || strings.Contains(d.Name, "(")
}

func (t *tableReader) cut(l line.Line) {
	t.Truncated = true
	t.probs.Add(analysis.Warning, l, "the last row is cut off", "the file ends inside "+line.Quote(l.Text),
		"take the listing again; the figures are lower bounds")
}

// parse reads a row into t.row.
func (t *tableReader) parse(l line.Line) bool {
	t.row, t.busybox = Row{}, false
	tabs := strings.IndexByte(l.Text, '\t') >= 0
	if tabs && t.row.setBusybox(l.Text) {
		t.busybox = true
		t.row.Descriptor.Place = l.Place()
		return true
	}
	if tabs || !t.cells(l.Text) {
		t.row = Row{}
		if !excerpt(l.Text, &t.row) {
			return false
		}
		t.row.Command, t.row.TaskCommand = unescape(t.row.Command), unescape(t.row.TaskCommand)
	}
	t.row.Descriptor.Device = t.devices.of(t.row.Device)
	t.row.Descriptor.Place = l.Place()
	t.row.describe("", "")
	return true
}

// columns are the titles of a header with the edges that their cells end under.
type columns []column

type column struct {
	title string
	cell  cell
	// end is one past the right edge of the cells; NAME begins at start.
	start, end int
}

// cell is the part of a row that stands below a title.
type cell int

const (
	cellUnknown cell = iota
	cellCommand
	cellTask
	cellPID
	cellTID
	cellPPID
	cellPGID
	cellUser
	cellFD
	cellType
	cellFlags
	cellDevice
	cellSize
	cellLinks
	cellNode
	cellName
)

func cellOf(title string) cell {
	switch title {
	case "COMMAND":
		return cellCommand
	case "TASKCMD":
		return cellTask
	case "PID":
		return cellPID
	case "TID":
		return cellTID
	case "PPID":
		return cellPPID
	case "PGID":
		return cellPGID
	case "USER":
		return cellUser
	case "FD":
		return cellFD
	case "TYPE":
		return cellType
	case "FILE-FLAG":
		return cellFlags
	case "DEVICE":
		return cellDevice
	case "SIZE/OFF", "SIZE", "OFFSET":
		return cellSize
	case "NLINK":
		return cellLinks
	case "NODE":
		return cellNode
	case "NAME":
		return cellName
	}
	return cellUnknown
}

// wide reports whether the cell is left-aligned and may hold blanks.
func (c cell) wide() bool { return c == cellCommand || c == cellTask }

func (c columns) titles() []string {
	out := make([]string, len(c))
	for i := range c {
		out[i] = c[i].title
	}
	return out
}

const commandTitle = "COMMAND "

// header recognises the line of titles. lsfd's table begins in the same way but has no
// FD.
//
//	"COMMAND   PID USER   FD      TYPE DEVICE SIZE/OFF     NODE NAME"
func header(text string) (columns, bool) {
	if strings.ContainsRune(text, '\t') {
		return nil, false
	}
	var c columns
	for _, tok := range tokens(strings.Clone(text), 32) {
		title := text[tok.start:tok.end]
		end := tok.end
		if title == "FD" {
			end += 2 // access and lock stand right of the number
		}
		c = append(c, column{title, cellOf(title), tok.start, end})
	}
	ok := len(c) >= 5 && c[1].cell == cellPID && c[len(c)-1].cell == cellName
	return c, ok && c.find(cellFD) >= 0 && c.find(cellType) >= 0
}

// find returns the first column with such cells, -1 if there is none.
func (c columns) find(cell cell) int {
	return slices.IndexFunc(c, func(col column) bool { return col.cell == cell })
}

// owner holds the cells before FD, equal in all rows of a process or thread.
type owner struct {
	// text is the beginning of the row whose cells were cut, and one byte more: that
	// byte may belong to a cell that is too wide.
	text                 string
	command, task, user  string
	pid, tid, ppid, pgid int
}

func (o *owner) take(row *Row, text string) {
	*o = owner{
		text: text, command: row.Command, task: row.TaskCommand, user: row.User,
		pid: row.PID, tid: row.TID, ppid: row.PPID, pgid: row.PGID,
	}
}

func (o *owner) give(row *Row) {
	row.Command, row.TaskCommand, row.User = o.command, o.task, o.user
	row.PID, row.TID, row.PPID, row.PGID = o.pid, o.tid, o.ppid, o.pgid
}

// cells cuts a row by the titles; false if it does not fit below them. COMMAND and
// TASKCMD are left-aligned and share the width up to the right edge of the next column,
// whose cell is the last token there.
func (t *tableReader) cells(text string) bool {
	if len(t.columns) == 0 {
		return false
	}
	from, next := 0, 0
	if t.owner.text != "" && strings.HasPrefix(text, t.owner.text) {
		t.owner.give(&t.row)
		from, next = len(t.owner.text)-1, t.fd
	}
	known := next > 0
	for i := next; i < len(t.columns); i++ {
		col := &t.columns[i]
		if i == t.fd && !known && !t.columns[i-1].cell.wide() && from < len(text) {
			t.owner.take(&t.row, text[:from+1])
		}
		switch col.cell {
		case cellCommand, cellTask:
			continue // with the next one
		case cellName:
			if from < min(col.start, len(text)) && col.start <= len(text) && strings.TrimSpace(text[from:col.start]) != "" {
				return false
			}
			t.row.NameText = text[min(col.start, len(text)):]
			continue
		}
		content, blanks, ok := cellBetween(text, from, col.end)
		if !ok {
			return false
		}
		from = col.end
		if left := t.columns[i-1].cell; left.wide() {
			var wide string
			wide, content = lastToken(content)
			t.row.set(left, wide)
		}
		if blanks && strings.IndexByte(content, ' ') >= 0 || !t.row.set(col.cell, content) {
			return false
		}
	}
	return true
}

// cellBetween cuts the cell that ends under an edge; a token that crosses the edge
// means that the row does not fit. blanks is true if the cell may hold blanks.
func cellBetween(text string, from, end int) (content string, blanks, ok bool) {
	if from >= len(text) {
		return "", false, true
	}
	if end < len(text) && text[end] != ' ' && text[end-1] != ' ' {
		return "", false, false
	}
	content = text[from:min(end, len(text))]
	for content != "" && content[0] == ' ' {
		content = content[1:]
	}
	for i := range len(content) {
		if c := content[i]; c <= ' ' || c >= utf8.RuneSelf {
			return strings.TrimSpace(content), true, true
		}
	}
	return content, false, true
}

// lastToken splits off the last token.
//
//	"zoo\x20(a 14406"   "zoo\x20(a", "14406"
func lastToken(s string) (rest, last string) {
	i := strings.LastIndexByte(s, ' ')
	return strings.TrimSpace(s[:max(i, 0)]), s[i+1:]
}

// set stores a cell below its title; it returns false for a cell that cannot have this
// title.
func (r *Row) set(to cell, text string) bool {
	switch to {
	case cellCommand:
		r.Command = unescape(text)
	case cellTask:
		r.TaskCommand = unescape(text)
	case cellPID:
		return setNumber(&r.PID, text) && text != ""
	case cellTID:
		return setNumber(&r.TID, text)
	case cellPPID:
		return setNumber(&r.PPID, text)
	case cellPGID:
		return setNumber(&r.PGID, text)
	case cellUser:
		r.User = text
	case cellFD:
		if !r.setPlainFD(text) {
			if !isFD(text) {
				return false
			}
			r.setFD(text)
		}
	case cellType:
		r.Type = text
	case cellFlags:
		r.Flags = text
	case cellDevice:
		r.Device = text
	case cellSize:
		r.Size = text
	case cellLinks:
		r.Links = text
	case cellNode:
		r.Node = text
	}
	return true
}

// setNumber reads an id; an empty cell leaves it 0.
func setNumber(to *int, cell string) bool {
	if cell == "" {
		return true
	}
	n, err := strconv.ParseUint(cell, 10, 31)
	*to = int(n)
	return err == nil
}

// token is a run without blanks.
type token struct{ start, end int }

// tokens finds the first runs without blanks.
func tokens(text string, most int) []token {
	var out []token
	for i := 0; i < len(text) && len(out) < most; {
		for i < len(text) && isBlank(text[i]) {
			i++
		}
		start := i
		for i < len(text) && !isBlank(text[i]) {
			i++
		}
		if i > start {
			out = append(out, token{start, i})
		}
	}
	return out
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
