package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// maxMemberRows bounds the members that a page lists.
const maxMemberRows = 200

// MemberRow is one member of the chosen snapshot.
type MemberRow struct {
	ID, First, Seen, Wait, State, Detail, Labels string
	RawText, RawURL                              string
	// URL is the address of the member through its captures.
	URL string
}

func (m *familyMaker) members(f *Family) {
	f.IDHead = capital(kindWord(m.worded(), 1))
	lives := map[analysis.Identity]trend.Lifeline{}
	for _, l := range m.in.Lifelines {
		if l.First <= m.in.SnapshotIndex && m.in.SnapshotIndex <= l.Last {
			lives[l.Identity] = l
		}
	}
	all := slices.Clone(m.in.Members)
	slices.SortStableFunc(all, func(a, b FamilyMember) int {
		if a.Member.Wait != b.Member.Wait {
			return b.Member.Wait - a.Member.Wait
		}
		return int(min(max(a.Member.Identity.ID-b.Member.Identity.ID, -1), 1))
	})
	for _, fm := range all[:min(len(all), maxMemberRows)] {
		f.Rows = append(f.Rows, m.memberRow(fm, lives))
	}
	total := len(all)
	if g := m.chosen(); g != nil {
		total = max(total, g.Members.Len())
	}
	switch {
	case len(all) == 0 && m.in.SnapshotIndex < len(m.in.Thinned) && !m.in.Thinned[m.in.SnapshotIndex].IsZero():
		f.RowsNote = wording.MembersDropped(m.in.Thinned[m.in.SnapshotIndex])
	case len(all) == 0:
		f.RowsNote = "No member is listed: counts came from a dump without ids, or the family is absent here."
	case total > len(f.Rows):
		f.RowsNote = fmt.Sprintf("The oldest %d of %s, longest wait first.", len(f.Rows), wording.Number(int64(total)))
	default:
		f.RowsNote = fmt.Sprintf("All %s, longest wait first.", wording.Number(int64(len(all))))
	}
	if !f.HasWaits {
		f.RowsNote = strings.Replace(f.RowsNote, ", longest wait first", "", 1)
	}
}

func (m *familyMaker) memberRow(fm FamilyMember, lives map[analysis.Identity]trend.Lifeline) MemberRow {
	row := MemberRow{ID: "no id", First: "unknown", Seen: "unknown", Wait: wording.Wait(fm.Member.Wait), State: Visible(fm.Member.State), Detail: Visible(fm.Member.Detail), Labels: Visible(fm.Member.Labels.String())}
	if fm.Member.Identity != (analysis.Identity{}) {
		row.ID = report.NumberOf(m.in.Family.Kind, fm.Member.Identity)
		// A listing that repeats the identity says it once.
		row.Detail = strings.TrimPrefix(row.Detail, row.ID+", ")
	}
	if fm.Member.Wait < 0 && m.in.Family.Kind == analysis.KindGoroutine {
		row.Wait = wording.Wait(0)
		if g := m.chosen(); g != nil && g.Family != nil {
			row.Wait = shortWait(g.Family, map[string]int{fm.Member.State: 1}, &m.in.Family)
		}
	}
	if row.State == "" {
		row.State = "none"
	}
	if l, ok := lives[fm.Member.Identity]; ok {
		row.First = m.label(l.First)
		if l.First >= 0 && l.First < len(m.in.Times) && !m.in.Times[l.First].IsZero() {
			row.First += ", " + wording.Clock(m.in.Times[l.First])
		}
		row.Seen = wording.PagePlural(int64(l.Seen), "snapshot", "snapshots")
	}
	if line := fm.Member.Place.Line; line > 0 {
		row.RawText = "line " + wording.Exact(line)
	} else if fm.Member.Place.Offset > 0 {
		row.RawText = "byte " + wording.Exact(fm.Member.Place.Offset)
	} else if fm.RawURL != "" {
		row.RawText = "raw"
	}
	if !m.in.Frozen {
		row.RawURL = fm.RawURL
		row.URL = MemberURL(m.in.Family.Kind, fm.Member.Identity, m.in.CaseID, m.in.SeriesKey)
	}
	return row
}
