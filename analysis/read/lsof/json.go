package lsof

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// The forms of JSON listings.
const (
	// formJSON is the output of lsof -J, formJSONLines that of lsof -j.
	formJSON      = "json"
	formJSONLines = "json-lines"
)

// ParseJSON reads what lsof -J and -j print since 4.99.7: one object with "processes"
// that have "files", or one object per file in a line of its own, with the process in
// each (json_print_proc_fields and json_print_file in print.c; text is escaped but need
// not be UTF-8). Any subset of the members may be there. Numbers may be strings. The
// members may come in any order, as jq -S leaves them: the files of a process wait for
// its id. lsof 4.99.7 leaves out the name of IP sockets: their descriptor is then named
// "socket:[inode]" and waits for a socket table. visit, part and error are as for
// ParseTable; the place of a row is its object.
func ParseJSON(r io.Reader, path string, visit func(part int, row *Row) error) (Listing, []analysis.Problem, error) {
	t := objectReader{listingState: newListingState(path), in: newObjects(r), visit: visit, form: formJSON, fill: (*Row).fillJSON}
	return t.run(path)
}

// objectReader makes rows of objects.
type objectReader struct {
	*listingState
	in    *objects
	visit func(int, *Row) error
	row   Row
	form  string
	fill  func(*Row, *record)
	// waiting are files whose process comes after them; it ends with owner.
	waiting []waiting
	owner   *record
	lost    int
}

// maxWaiting is how many files of a process may stand before its id.
const maxWaiting = 1 << 17

type waiting struct {
	row Row
	at  line.Line
}

func (t *objectReader) run(path string) (Listing, []analysis.Problem, error) {
	t.in.visit, t.in.skip, t.in.bad = t.object, t.between, t.broken
	err := t.in.run(path)
	if err == nil {
		err = t.release()
	}
	t.Truncated = t.Truncated || t.in.Failure() != nil
	listing, probs := t.close(t.in.Bytes())
	return listing, probs, err
}

// object takes one object: a row, or what stands around rows.
func (t *objectReader) object(o *record) error {
	if o == t.owner {
		for i := range t.waiting {
			t.waiting[i].row.identify(o)
		}
		if err := t.release(); err != nil {
			return err
		}
	}
	switch {
	case t.form != formLsfdJSON && o.has("fd") && !isFD(o.value("fd")), t.form == formLsfdJSON && o.has("assoc") && !isAssoc(o.value("assoc")),
		!o.has("fd") && !o.has("assoc") && likeFile(o):
		t.refuse(line.Line{Number: o.place.Line, Offset: o.place.Offset, Length: o.place.Length, Text: o.value("name")}, "other", "is a file without a descriptor below fd")
	case o.has("fd"), o.has("assoc"):
		return t.file(o)
	case o.has("lsof_version"), o.outer == nil && !o.has("pid"): // the end of one listing
		at := line.Line{Number: o.place.Line, Offset: o.place.Offset}
		t.begin(at)
		t.next()
		if t.Form == "" {
			t.Form = t.form
		}
	}
	return nil
}

// likeFile reports whether an object has members that only files have.
func likeFile(o *record) bool {
	return o.has("type") || o.has("inode") || o.has("name") || o.has("device")
}

// file takes the object of one file.
func (t *objectReader) file(o *record) error {
	if t.Form = t.form; o.outer == nil && t.form == formJSON {
		t.Form = formJSONLines
	}
	t.row = Row{}
	t.fill(&t.row, o)
	t.row.Descriptor.Place = o.place
	for _, key := range []string{"fd", "assoc", "pid", "command", "type", "name"} {
		if o.value(key) != "" && !slices.Contains(t.Columns, key) {
			t.Columns = append(t.Columns, key)
		}
	}
	at := line.Line{Number: o.place.Line, Offset: o.place.Offset, Length: o.place.Length, Text: t.row.NameText}
	if o.outer != nil && (t.row.PID == 0 || t.row.Command == "") {
		if t.owner != o.outer {
			if err := t.release(); err != nil {
				return err
			}
			t.owner = o.outer
		}
		if len(t.waiting) < maxWaiting {
			t.waiting = append(t.waiting, waiting{t.row, at})
			return nil
		}
		if t.row.PID == 0 {
			t.lost++
			return nil
		}
	}
	return t.whole(at, &t.row)
}

// whole passes on a whole row.
func (t *objectReader) whole(at line.Line, row *Row) error {
	if !t.count(at, row) {
		return nil
	}
	return t.visit(t.Parts, row)
}

// release passes on the files that waited for their process.
func (t *objectReader) release() error {
	if t.lost > 0 {
		t.probs.Add(analysis.Warning, line.Line{}, strconv.Itoa(t.lost)+" files of a process were not read",
			"they stand before its id, and only "+strconv.Itoa(maxWaiting)+" are held", "upload the output of lsof -J as it is, without sorting its keys")
	}
	all := t.waiting
	t.waiting, t.owner, t.lost = nil, nil, 0
	for i := range all {
		if err := t.whole(all[i].at, &all[i].row); err != nil {
			return err
		}
	}
	return nil
}

// between takes a line that is no JSON: a warning, or the mark of repeat mode.
func (t *objectReader) between(l line.Line) {
	text := strings.TrimSpace(l.Text)
	if t.separates(text) || t.form == formJSON && strings.HasPrefix(text, "m=") {
		t.begin(l)
		t.next()
		return
	}
	kind := noiseKind(text)
	if kind == "command line" && t.Command == "" {
		t.Command = text
	}
	t.refuse(l, kind, "is no JSON")
}

// broken notes where the JSON ends or stops being any.
func (t *objectReader) broken(l line.Line, why string) {
	t.Truncated = true
	t.probs.Add(analysis.Warning, l, "the JSON listing is broken", why,
		"take the listing again; what was read until there is kept, the figures are lower bounds")
}

// fillJSON reads an object of lsof; keys of other versions that mean the same are
// taken too.
//
//	{"fd":"4","access":"u","lock":"W","type":"REG","device_number":"0xfe00","inode":"11053484","name":"/x"}
func (r *Row) fillJSON(o *record) {
	r.identify(o)
	access, lock := o.value("access", "mode"), o.value("lock", "lock_status")
	if access == "" && lock != "" {
		access = "-" // as the table prints it
	}
	r.setFD(o.value("fd") + access + lock)
	r.Type = o.value("type")
	r.Flags = o.value("flags", "file_flags")
	r.Device = o.value("device")
	r.Size = orElse(o.value("size", "size/off", "size_off"), o.value("offset"))
	r.Links = o.value("nlink", "links", "link_count")
	r.Node = o.value("inode", "node")
	r.NameText = o.value("name")
	r.Descriptor.Device = jsonDevice(r.Device, o.value("device_number"))
	r.describe(o.value("protocol"), o.value("tcp_info.state", "state"))
	d := &r.Descriptor
	if d.Name == "" && (r.Type == "IPv4" || r.Type == "IPv6") && d.Inode != 0 {
		d.Name = "socket:[" + strconv.FormatUint(d.Inode, 10) + "]"
	}
}

// identify reads the members of the process.
func (r *Row) identify(o *record) {
	r.Command = o.value("command")
	r.TaskCommand = o.value("task_cmd", "task_command", "taskcmd")
	r.User = o.value("login", "user", "uid")
	for key, to := range map[string]*int{"pid": &r.PID, "ppid": &r.PPID, "pgid": &r.PGID, "tid": &r.TID} {
		setNumber(to, o.value(key))
	}
}

// jsonDevice writes a device as mountinfo does.
//
//	"254,0", ""        "254:0"
//	"", "0xfe00"       "254:0"
func jsonDevice(cell, number string) string {
	if device := colonDevice(cell); device != "" {
		return device
	}
	hex, ok := strings.CutPrefix(number, "0x")
	dev, err := strconv.ParseUint(hex, 16, 64)
	if !ok || err != nil {
		return ""
	}
	return statDevice(dev)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
