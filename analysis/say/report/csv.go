package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// CSV writes the families and gauges of every series, one row each, with one column for each
// snapshot: RFC 4180, UTF-8, the first row names the columns. Empty cells were not
// captured.
//
// A report that is held against something has a column more, "gate": how a family counts, "set aside",
// or nothing.
//
// Text that a spreadsheet would compute (it begins with = + - @, a tab or a carriage
// return, also after spaces) gets an apostrophe in front. Figures are written as digits
// with a hyphen for minus and get no apostrophe: a spreadsheet reads -3 as a number,
// and a figure cannot hold a formula.
func CSV(w io.Writer, r Report) error {
	labels, at := snapshotColumns(r)
	head := []string{"process", "host", "kind", "family", "fingerprint", "verdict", "role", "unit", "rise", "survivors", "oldest_wait_minutes", "recovered_at", "created_by", "attributes", "lower_bounds"}
	if r.Gate != nil {
		head = append(head, "gate")
	}
	s := newSheet(w, append(head, labels...))
	for _, series := range r.Series {
		for _, f := range series.Families {
			row := []any{series.Process, series.Host, string(f.Kind), f.Title, f.Fingerprint, string(f.Verdict), f.Role, f.Unit, f.Rise, f.Survivors, f.OldestWait,
				r.label(f.RecoveredAt), f.CreatedBy, pairs(f.Attributes), r.lowerBounds(series, f.Kind)}
			if r.Gate != nil {
				row = append(row, r.Gate.word(&series, f.Fingerprint))
			}
			counts := make([]any, len(labels))
			for i, id := range series.Snapshots {
				if column, ok := at[id]; ok && i < len(f.Counts) {
					counts[column] = f.Counts[i]
				}
			}
			s.row(append(row, counts...))
		}
		for i := range series.Gauges {
			s.row(series.gaugeRow(&series.Gauges[i], len(head), len(labels), at))
		}
	}
	return s.end()
}

// gaugeRow is a gauge as a row of the families: its kind is "gauge".
func (s *Series) gaugeRow(g *Gauge, before, labels int, at map[string]int) []any {
	row := make([]any, before+labels)
	row[0], row[1], row[2], row[3], row[7] = s.Process, s.Host, "gauge", g.Name, g.Unit
	for i, id := range s.Snapshots {
		if column, ok := at[id]; ok && i < len(g.Values) && g.Values[i] != nil {
			row[before+column] = *g.Values[i]
		}
	}
	return row
}

// snapshotColumns returns a column for each label. Series whose snapshots have equal
// labels share columns.
func snapshotColumns(r Report) (labels []string, at map[string]int) {
	at = map[string]int{}
	known := map[string]int{}
	byID := map[string]Snapshot{}
	for _, s := range r.Snapshots {
		byID[s.ID] = s
	}
	for _, series := range r.Series {
		taken := map[string]int{}
		for i, id := range series.Snapshots {
			label := freeLabel(cmp.Or(byID[id].Label, fmt.Sprintf("#%d", i+1)), taken)
			column, ok := known[label]
			if !ok {
				column = len(labels)
				known[label] = column
				labels = append(labels, label)
			}
			at[id] = column
		}
	}
	return labels, at
}

// freeLabel increments the number of a label until no snapshot of the series has it.
// taken is the last number of each label.
//
//	a, a, a (2)   becomes   a, a (2), a (2) (2)
func freeLabel(label string, taken map[string]int) string {
	free := label
	for taken[free] > 0 {
		taken[label]++
		free = fmt.Sprintf("%s (%d)", label, taken[label])
	}
	taken[free]++
	return free
}

// label is the label of a snapshot id, empty for nil.
func (r Report) label(id *string) string {
	for _, s := range r.Snapshots {
		if id != nil && s.ID == *id {
			return s.Label
		}
	}
	return ""
}

// lowerBounds returns the labels of snapshots whose counts of the kind are lower
// bounds.
func (r Report) lowerBounds(series Series, kind analysis.Kind) string {
	var out []string
	for i := range r.Snapshots {
		if s := &r.Snapshots[i]; s.Bounded(kind) && slices.Contains(series.Snapshots, s.ID) {
			out = append(out, s.Label)
		}
	}
	return strings.Join(out, " ")
}

// SnapshotCSV writes the families of one snapshot of a report, one row each.
func SnapshotCSV(w io.Writer, r Report, id string) error {
	s := newSheet(w, []string{"process", "snapshot", "captured_at", "kind", "family", "fingerprint", "members", "states", "oldest_wait_minutes", "verdict"})
	for _, snap := range r.Snapshots {
		if snap.ID != id {
			continue
		}
		verdicts := map[string]analysis.Verdict{}
		for _, series := range r.Series {
			if !slices.Contains(series.Snapshots, id) {
				continue // another process may have the same families
			}
			for _, f := range series.Families {
				verdicts[f.Fingerprint] = f.Verdict
			}
		}
		for _, f := range snap.Families {
			s.row([]any{snap.Process, snap.Label, snap.CapturedAt, string(f.Kind), f.Title, f.Fingerprint, f.Members, countsInWords(f.States), f.OldestWait, string(verdicts[f.Fingerprint])})
		}
	}
	return s.end()
}

// CSV writes the rows of the comparison.
func (c Comparison) CSV(w io.Writer) error {
	s := newSheet(w, []string{"section", "kind", "family", "fingerprint", "a", "b", "delta", "new", "gone", "survived", "oldest_wait_minutes", "verdict"})
	for _, r := range c.Rows {
		s.row([]any{r.Section, string(r.Kind), r.Title, r.Fingerprint, r.A, r.B, r.Delta, r.New, r.Gone, r.Survived, r.OldestWait, string(r.Verdict)})
	}
	return s.end()
}

// CSV writes the members, one row each.
func (m Membership) CSV(w io.Writer) error {
	s := newSheet(w, []string{"family", "snapshot", "id", "sub", "created_by_id", "state", "wait_minutes", "first_seen", "path", "line", "offset", "detail"})
	for _, x := range m.Members {
		row := []any{m.Title, m.At, x.ID, nil, nil, x.State, x.Wait, x.FirstSeen, x.Path, nil, x.Offset, x.Detail}
		for column, n := range map[int]int64{3: x.Sub, 4: x.Parent, 9: x.Line} {
			if n != 0 {
				row[column] = n
			}
		}
		s.row(row)
	}
	return s.end()
}

// CSV writes a row for each goroutine of the objects.
func (m ObjectMembership) CSV(w io.Writer) error {
	s := newSheet(w, []string{"object", "snapshot", "root", "first_seen", "id", "role", "state", "wait_minutes", "family", "path", "line", "offset"})
	for _, o := range m.Members {
		for _, p := range o.Parts {
			row := []any{m.Name, m.At, o.Root, o.FirstSeen, p.ID, p.Role, p.State, p.Wait, p.Family, p.Path, nil, p.Offset}
			if p.Line != 0 {
				row[10] = p.Line
			}
			s.row(row)
		}
	}
	return s.end()
}

// countsInWords writes "select 40; running 1", the most frequent first.
func countsInWords(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, "; ")
}

// pairs writes "remote 10.0.0.1:443; state CLOSE_WAIT".
func pairs(attributes map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(attributes)) {
		if attributes[k] != "" {
			out = append(out, k+" "+attributes[k])
		}
	}
	return strings.Join(out, "; ")
}

// TableCSV writes a table of text as CSV. CSV describes the treatment of cells.
func TableCSV(w io.Writer, head []string, rows [][]string) error {
	s := newSheet(w, head)
	for _, row := range rows {
		cells := make([]any, len(row))
		for i, c := range row {
			cells[i] = c
		}
		s.row(cells)
	}
	return s.end()
}

// SheetCSV writes rows of texts, figures and times as CSV.
func SheetCSV(w io.Writer, head []string, rows [][]any) error {
	s := newSheet(w, head)
	for _, row := range rows {
		s.row(row)
	}
	return s.end()
}

// sheet writes rows. It keeps the first error.
type sheet struct {
	w   *csv.Writer
	err error
}

func newSheet(w io.Writer, head []string) *sheet {
	s := &sheet{w: csv.NewWriter(w)}
	s.w.UseCRLF = true
	cells := make([]any, len(head))
	for i, h := range head {
		cells[i] = h
	}
	s.row(cells)
	return s
}

func (s *sheet) row(cells []any) {
	if s.err != nil {
		return
	}
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = sheetCell(c)
	}
	s.err = s.w.Write(out)
}

func (s *sheet) end() error {
	s.w.Flush()
	if s.err != nil {
		return s.err
	}
	return s.w.Error()
}

// sheetCell writes text, a figure, a time, or nothing.
func sheetCell(v any) string {
	switch v := v.(type) {
	case string:
		return sheetText(v)
	case *string:
		if v != nil {
			return sheetText(*v)
		}
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case *int:
		if v != nil {
			return strconv.Itoa(*v)
		}
	case analysis.Count:
		if v.Known() {
			return strconv.Itoa(v.N)
		}
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case *int64:
		if v != nil {
			return strconv.FormatInt(*v, 10)
		}
	case *time.Time:
		if v != nil {
			return v.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

// sheetText keeps a spreadsheet from computing text. Full-width signs count too,
// because some spreadsheets read them as the plain ones.
//
//	"=HYPERLINK(1)" → "'=HYPERLINK(1)"
func sheetText(s string) string {
	begin := strings.TrimLeft(s, " \n\u00a0")
	s = wording.Printable(s)
	if begin != "" && strings.ContainsRune("=+-@\t\r＝＋－＠", []rune(begin)[0]) {
		return "'" + s
	}
	return s
}
