package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// tellRowsApart lets no two rows of the page look alike.
func tellRowsApart(sections []DiffSection) {
	var t together
	add := func(rows []DiffRow) {
		for i := range rows {
			t.add(&rows[i].Name, rows[i].Fingerprint)
		}
	}
	for i := range sections {
		for k := range sections[i].Units {
			add(sections[i].Units[k].Rows)
		}
		add(sections[i].Rows)
	}
	t.tellApart()
}

func (m *diffMaker) sections(rows []diff.Row) []DiffSection {
	byName := map[diff.Section][]diff.Row{}
	order := diff.Sections()
	for _, r := range rows {
		section := r.Section
		if len(m.cut(r.Family.Kind)) > 0 {
			section = notCompared
		}
		byName[section] = append(byName[section], r)
	}
	if cut := byName[notCompared]; len(cut) > 0 {
		// Sections that are empty because of the cut would say that nothing grows.
		order = slices.DeleteFunc(order, func(s diff.Section) bool { return len(byName[s]) == 0 })
		order = append(order, notCompared)
		if by, _ := m.sorting(); by == "" {
			slices.SortStableFunc(cut, func(x, y diff.Row) int { return cmp.Compare(max(y.A, y.B), max(x.A, x.B)) })
		}
	}
	details := 0
	var out []DiffSection
	for _, section := range order {
		s := DiffSection{Name: string(section), Title: sectionTitle(section), Folded: section == diff.Unchanged, Note: m.note(section, byName[section])}
		m.fillSection(&s, section, byName[section], &details)
		out = append(out, s)
	}
	return out
}

// maxRows bounds the families that a section shows before they are asked for, by
// what a reader looks through; what did not change is looked through least.
const (
	maxRows      = 100
	maxUnchanged = 50
)

// fillSection makes the rows of a section. Families of a unit stand under its band,
// those that rise alone follow; in an order of the reader's own there are no bands.
func (m *diffMaker) fillSection(s *DiffSection, section diff.Section, rows []diff.Row, details *int) {
	most := maxRows
	if section == diff.Unchanged {
		most = maxUnchanged
	}
	by, _ := m.sorting()
	banded := by == "" && (section == diff.Growing || section == diff.New)
	shown := rows
	if left := len(rows) - most; left > 0 && !m.in.Frozen && m.in.Query.Get("all") == "" {
		if banded {
			rows = m.unitsFirst(rows)
		}
		shown = rows[:most]
		for _, r := range rows[most:] {
			if m.open[r.Family.Fingerprint] {
				shown = append(shown[:len(shown):len(shown)], r)
			}
		}
		s.More = fmt.Sprintf("%s not shown.", wording.PagePlural(int64(len(rows)-len(shown)), "more family is", "more families are"))
		s.MoreURL = m.here.with("all", "1") + "#h-" + s.Name
	}
	s.Rows = slices.Grow(s.Rows, len(shown))
	for i, r := range shown {
		row := m.row(r, section, i)
		if m.wantDetail(row, section, details) {
			row.Detail = m.detail(r, row)
		}
		if row.Open && s.Folded {
			s.Folded = false
		}
		unit := m.unitOf(r.Family.Fingerprint)
		switch {
		case unit == nil:
			s.Rows = append(s.Rows, row)
		case !banded:
			row.Unit = Visible(unit.ID)
			s.Rows = append(s.Rows, row)
		default:
			at := slices.IndexFunc(s.Units, func(u DiffUnit) bool { return u.ID == Visible(unit.ID) })
			if at < 0 {
				at = len(s.Units)
				s.Units = append(s.Units, m.band(unit))
			}
			s.Units[at].Rows = append(s.Units[at].Rows, row)
		}
	}
	for i := range s.Units {
		m.countBand(&s.Units[i])
	}
}

// notCompared is the section of the families that a cut dump counts too low: they
// neither grow nor shrink.
const notCompared diff.Section = "not_compared"

// wantDetail decides which rows carry their stacks: those opened by address,
// and on frozen pages all that changed, up to a bound.
func (m *diffMaker) wantDetail(row DiffRow, section diff.Section, used *int) bool {
	if row.Open {
		return true
	}
	if !m.in.Frozen || section == diff.Unchanged || *used >= maxFrozenDetails {
		return false
	}
	*used++
	return true
}

// note counts a section in words.
func (m *diffMaker) note(section diff.Section, rows []diff.Row) string {
	if len(rows) == 0 {
		if section == diff.Gone && m.in.Result.Ended[m.mainKind()] > 0 {
			return "none; what ended was replaced in its own family"
		}
		return "none"
	}
	text := wording.PagePlural(int64(len(rows)), "family", "families")
	if section == notCompared {
		return text + "; " + m.cutWords(rows[0].Family.Kind) + ", its figures prove neither growth nor shrinking"
	}
	sum := map[analysis.Kind]int{}
	for _, r := range rows {
		if section == diff.Unchanged {
			sum[r.Family.Kind] += r.B
		} else {
			sum[r.Family.Kind] += r.Delta
		}
	}
	for _, k := range analysis.Kinds() {
		if sum[k] == 0 {
			continue
		}
		if section == diff.Unchanged {
			text += ", " + many(k, sum[k])
		} else {
			text += ", " + wording.Signed(sum[k]) + " " + kindWord(k, sum[k])
		}
	}
	return text
}

func (m *diffMaker) row(r diff.Row, section diff.Section, i int) DiffRow {
	f := r.Family
	row := DiffRow{
		Anchor: string(section) + "-" + strconv.Itoa(i+1), Fingerprint: f.Fingerprint,
		Name:  newFamilyName(m.title(f), f.Kind, f.Loose, f.LooseCreator, f.Attributes),
		Delta: r.Delta, Percent: wording.Percent(r.A, r.B),
		New: "n/a", Gone: "n/a", Survived: "n/a", Wait: m.wait(r), Verdict: string(m.in.Verdicts[f.Fingerprint].Verdict),
		Open: m.open[f.Fingerprint],
	}
	a, b := m.columns.of(m.in.Result.A, f, r.A), m.columns.of(m.in.Result.B, f, r.B)
	row.A, row.SignA, row.B, row.SignB = a.Text, a.Sign, b.Text, b.Sign
	row.Unknown = section == notCompared
	if !row.Unknown {
		row.Fate = m.fate(r)
	}
	row.Spark = chart.SparkData{ID: "sp-" + row.Anchor, Labels: m.in.Labels, Values: m.counts(f.Fingerprint), A: m.in.AIndex, B: m.in.BIndex, Epochs: m.in.Restarts, Calm: unaccused(row.Verdict)}
	if f.Kind == analysis.KindGoroutine || f.Kind == analysis.KindThread {
		row.Spark.Lower = m.lower(f.Kind)
	}
	if r.Identified {
		row.New, row.Gone, row.Survived = wording.Number(int64(r.New)), wording.Number(int64(r.Gone)), wording.Number(int64(r.Survived))
	}
	if row.Unknown {
		m.unknown(&row, r)
	}
	if known := m.families[f.Fingerprint]; known != nil {
		row.Triage = markOf(known.Triage)
	}
	row.Name.URL = m.familyURL(f.Fingerprint)
	if section != diff.Unchanged || row.Open {
		row.Toggle = m.toggle(f.Fingerprint, row.Anchor, row.Open)
	}
	return row
}

// lower says of each snapshot of the series whether it counts too few of a kind; of A
// and B it is known in any case.
func (m *diffMaker) lower(k analysis.Kind) []bool {
	out := make([]bool, len(m.in.Labels))
	copy(out, m.in.Lower)
	for _, side := range []struct {
		at   int
		snap *analysis.Snapshot
	}{{m.in.AIndex, m.in.Result.A}, {m.in.BIndex, m.in.Result.B}} {
		if side.at >= 0 && side.at < len(out) && side.snap.Bounded(k) {
			out[side.at] = true
		}
	}
	return out
}

// unknown leaves in a row only what a cut dump proves: how many there were at least,
// and where members are followed, that those it names were there.
func (m *diffMaker) unknown(row *DiffRow, r diff.Row) {
	cutA, cutB := m.in.Result.A.Bounded(r.Family.Kind), m.in.Result.B.Bounded(r.Family.Kind)
	row.Delta, row.Percent = 0, "n/a"
	if !r.Identified {
		return
	}
	row.Survived = proven(r.Survived)
	row.New, row.Gone = proven(r.New), proven(r.Gone)
	if cutA {
		row.New = "n/a" // the cut may have taken it from A
	}
	if cutB {
		row.Gone = "n/a" // the cut may have taken it from B
	}
}

// proven writes a count of which there may be more; none proves nothing.
func proven(n int) string {
	if n == 0 {
		return "n/a"
	}
	return atLeast(wording.Number(int64(n)), true)
}

// fate says what became of a row that rises from A to B in a series that falls
// as a whole, so that the verdict does not contradict the row.
func (m *diffMaker) fate(r diff.Row) string {
	if r.B <= r.A {
		return ""
	}
	if verdict := m.in.Verdicts[r.Family.Fingerprint].Verdict; verdict != analysis.Gone && verdict != analysis.Shrinking {
		return ""
	}
	counts := m.counts(r.Family.Fingerprint)
	at, word := -1, "shrunk"
	for i := max(m.in.BIndex, 0); i < min(len(counts), len(m.in.Labels)); i++ {
		if !counts[i].Known() {
			continue
		}
		at = i
		if counts[i].N == 0 {
			word = "gone"
			break
		}
	}
	if at < 0 || at == m.in.BIndex {
		return word + " later"
	}
	return word + " by " + Visible(m.in.Labels[at])
}

// twin holds the figures of the small lines.
func (m *diffMaker) twin(all []DiffSection) chart.Table {
	t := chart.Table{Caption: "Members of each family per snapshot", Head: []string{"Family"}}
	columns := chart.Fewer(len(m.in.Labels), m.in.AIndex, m.in.BIndex)
	if columns != nil {
		t.Caption += fmt.Sprintf(", %d of %d snapshots", len(columns), len(m.in.Labels))
	}
	for i, l := range m.in.Labels {
		if slices.Contains(m.in.Restarts, i) {
			l += " (restarted)"
		}
		t.Head = append(t.Head, l)
	}
	t.Head = slices.Concat(t.Head[:1], visibles(few(t.Head[1:], columns)))
	for _, s := range all {
		if s.Name == string(diff.Unchanged) {
			continue
		}
		rows := s.all()
		t.Rows = slices.Grow(t.Rows, len(rows))
		for i := range rows {
			if r := &rows[i]; len(r.Spark.Values) == len(m.in.Labels) {
				t.Rows = append(t.Rows, withCells([]string{r.Name.Text()}, few(r.Spark.Values, columns), few(r.Spark.Lower, columns)))
			}
		}
	}
	return t
}

// all are the rows of a section in the order of the page.
func (s DiffSection) all() []DiffRow {
	if len(s.Units) == 0 {
		return s.Rows
	}
	var out []DiffRow
	for _, u := range s.Units {
		out = append(out, u.Rows...)
	}
	return append(out, s.Rows...)
}
