package lsof

import (
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/line"
)

// ParseTable reads the table that lsof prints by default, in every column variant,
// or an excerpt of it, and what the lsof of busybox and toybox print. Cells are cut out by the positions of the titles, since
// they may be empty (print.c of lsof; formats/lsof.md section 1); rows that do not
// fit below their titles, and excerpts without any, are read by the look of their
// tokens instead.
//
// visit gets every row that is no descriptor, and of descriptors the first row of
// each (PID, FD) within a part: rows that threads repeat are counted in
// Listing.Rows only. part counts the listings of the file from 0. The row is
// reused: copy what is kept. The error is that of visit or of r; what was read
// until then is returned with it.
func ParseTable(r io.Reader, path string, visit func(part int, row *Row) error) (Listing, []analysis.Problem, error) {
	in := line.NewReader(r)
	t := tableReader{book: newBook(path)}
	var err error
	for err == nil {
		l, ok := in.Next()
		if !ok {
			break
		}
		err = t.line(l, visit)
	}
	if err == nil {
		err = in.Failure(path)
		t.Truncated = t.Truncated || err != nil
	}
	listing, probs := t.close(in.Offset())
	return listing, probs, err
}

// tableReader holds what the lines above say about the ones below.
type tableReader struct {
	*book
	columns columns
	row     Row
	// busybox says that row has the columns of busybox.
	busybox bool
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
	if c, ok := header(l.Text); ok {
		t.head(l, c)
		return nil
	}
	if !t.parse(l) {
		t.noise(l, text)
		return nil
	}
	if !l.Ended && t.row.NameText == "" {
		t.cut(l)
		return nil
	}
	if !l.Ended && t.row.Descriptor.Protocol == "TCP" && t.row.Descriptor.State == "" && t.row.Descriptor.Remote != "" {
		t.Truncated = true // the row lost the end of its name
	}
	if t.Form != Table {
		t.Form = Headerless
	}
	if t.busybox {
		t.Form = Busybox
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
	t.Form, t.columns = Table, c
	t.Columns = c.titles()
}

func (t *tableReader) cut(l line.Line) {
	t.Truncated = true
	t.probs.Add(analysis.Warning, l, "the last row is cut off", "the file ends inside "+line.Quote(l.Text),
		"take the listing again; the figures are lower bounds")
}

// parse reads a row into t.row.
func (t *tableReader) parse(l line.Line) bool {
	t.row, t.busybox = Row{}, false
	if t.row.setBusybox(l.Text) {
		t.busybox = true
		t.row.Descriptor.Place = l.Place()
		return true
	}
	if !t.columns.cells(l.Text, &t.row) {
		t.row = Row{}
		if !excerpt(l.Text, &t.row) {
			return false
		}
	}
	t.row.Command = unescape(t.row.Command)
	t.row.TaskCommand = unescape(t.row.TaskCommand)
	t.row.Descriptor.Device = colonDevice(t.row.Device)
	t.row.Descriptor.Place = l.Place()
	t.row.describe("", "")
	if t.row.FDText == "NOFD" {
		t.row.Unreadable = true
	}
	return true
}

// columns are the titles of a header with the edges that their cells end under.
type columns []column

type column struct {
	title string
	// end is one past the right edge of the cells; NAME begins at start.
	start, end int
}

func (c columns) titles() []string {
	out := make([]string, len(c))
	for i := range c {
		out[i] = c[i].title
	}
	return out
}

// header recognises the line of titles. lsfd's table begins alike but has no FD.
//
//	"COMMAND   PID USER   FD      TYPE DEVICE SIZE/OFF     NODE NAME"
func header(text string) (columns, bool) {
	trimmed := strings.TrimLeft(text, " ")
	if !strings.HasPrefix(trimmed, "COMMAND ") || strings.ContainsRune(text, '\t') {
		return nil, false
	}
	var c columns
	for _, tok := range tokens(text, 32) {
		title := text[tok.start:tok.end]
		end := tok.end
		if title == "FD" {
			end += 2 // access and lock stand right of the number
		}
		c = append(c, column{title, tok.start, end})
	}
	ok := len(c) >= 5 && c[1].title == "PID" && c[len(c)-1].title == "NAME"
	return c, ok && c.has("FD") && c.has("TYPE")
}

func (c columns) has(title string) bool {
	for i := range c {
		if c[i].title == title {
			return true
		}
	}
	return false
}

// cells cuts a row by the titles; false where it does not fit below them.
// COMMAND and TASKCMD are left-aligned and share the room up to the right edge of
// the next column, whose cell is the last token there.
func (c columns) cells(text string, row *Row) bool {
	if len(c) == 0 || strings.ContainsRune(text, '\t') {
		return false
	}
	from := 0
	for i, col := range c {
		switch col.title {
		case "COMMAND", "TASKCMD":
			continue
		case "NAME":
			if from < len(text) && col.start <= len(text) && strings.TrimSpace(text[from:col.start]) != "" {
				return false
			}
			row.NameText = text[min(col.start, len(text)):]
			continue
		}
		cell, ok := cellBetween(text, from, col.end)
		if !ok {
			return false
		}
		from = col.end
		if left := c[i-1].title; left == "COMMAND" || left == "TASKCMD" {
			var wide string
			wide, cell = lastToken(cell)
			row.set(left, wide)
		}
		if !row.set(col.title, cell) {
			return false
		}
	}
	return true
}

// cellBetween cuts the cell that ends under an edge; a token that crosses the edge
// means that the row does not fit.
func cellBetween(text string, from, end int) (string, bool) {
	if from >= len(text) {
		return "", true
	}
	if end < len(text) && text[end] != ' ' && text[end-1] != ' ' {
		return "", false
	}
	return strings.TrimSpace(text[from:min(end, len(text))]), true
}

// lastToken splits off the last token.
//
//	"zoo\x20(a 14406"   "zoo\x20(a", "14406"
func lastToken(s string) (rest, last string) {
	i := strings.LastIndexByte(s, ' ')
	return strings.TrimSpace(s[:max(i, 0)]), s[i+1:]
}

// set stores a cell below its title; false where it cannot be such a cell.
func (r *Row) set(title, cell string) bool {
	if title != "COMMAND" && title != "TASKCMD" && strings.ContainsRune(cell, ' ') {
		return false
	}
	switch title {
	case "COMMAND":
		r.Command = cell
	case "TASKCMD":
		r.TaskCommand = cell
	case "PID":
		return setNumber(&r.PID, cell) && cell != ""
	case "TID":
		return setNumber(&r.TID, cell)
	case "PPID":
		return setNumber(&r.PPID, cell)
	case "PGID":
		return setNumber(&r.PGID, cell)
	case "USER":
		r.User = cell
	case "FD":
		if !isFD(cell) {
			return false
		}
		r.setFD(cell)
	case "TYPE":
		r.Type = cell
	case "FILE-FLAG":
		r.Flags = cell
	case "DEVICE":
		r.Device = cell
	case "SIZE/OFF", "SIZE", "OFFSET":
		r.Size = cell
	case "NLINK":
		r.Links = cell
	case "NODE":
		r.Node = cell
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
