package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/evidence"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/web/chart"
)

// Kin is another family of the series and what it is to the one of the page.
type Kin struct {
	Family report.Family
	// Ratio is its members in one instance of the unit, 0 outside of units.
	Ratio float64
	Why   []string
}

// FamilyKin are the families that explain each other: those of one unit, who may
// hold what this one waits for, and for whose waiting this one may be the cause.
type FamilyKin struct {
	Unit            *report.Unit
	Members         []Kin
	Holders, Behind []Kin
}

// FamilyUnit is the unit that a family belongs to.
type FamilyUnit struct {
	ID, Text string
	Rows     []CaseShare
}

// FamilyLock is a lock for which members wait, and who may hold it.
type FamilyLock struct {
	Text    string
	Holders []string
}

// FamilyVersions is the table from version to verdict.
type FamilyVersions struct {
	Text string
	Rows []VersionLine
}

// VersionLine is one version.
type VersionLine struct {
	Version, Rate, Exposure, Verdict, Mark, Share string
}

// reasonsOf sorts evidence: what speaks for the verdict, what it cannot exclude,
// and what would change it.
func reasonsOf(all []report.Evidence) (reasons []Pair, cannot, decides []string) {
	for _, e := range all {
		text := Visible(arrow(e.Text))
		switch e.Rule {
		case "missing", "span":
			cannot = append(cannot, capital(text)+".")
		case "decides":
			decides = append(decides, capital(text)+".")
		default:
			reasons = append(reasons, Pair{ruleWord(e.Rule), text})
		}
	}
	return reasons, cannot, decides
}

// epochStart is the first snapshot of the epoch of snapshot i.
func (m *familyMaker) epochStart(i int) int {
	for i > 0 && i < len(m.in.Epochs) && m.in.Epochs[i] == m.in.Epochs[i-1] {
		i--
	}
	if i >= len(m.in.Epochs) {
		return 0
	}
	return i
}

// restarts are the snapshots that begin a new process start.
func (m *familyMaker) restarts() []int {
	var out []int
	for i := 1; i < len(m.in.Epochs); i++ {
		if m.in.Epochs[i] != m.in.Epochs[i-1] {
			out = append(out, i)
		}
	}
	return out
}

// firstOf is the first snapshot of the epoch of snapshot i that was captured whole.
func (m *familyMaker) firstOf(i int) int {
	for k := m.epochStart(i); k <= i && k < len(m.whole); k++ {
		if m.whole[k].Known() {
			return k
		}
	}
	return i
}

func (m *familyMaker) kin(f *Family) {
	if u := m.in.Kin.Unit; u != nil {
		f.Unit = &FamilyUnit{ID: Visible(u.ID), Text: lockstep(u)}
		for _, k := range m.in.Kin.Members {
			f.Unit.Rows = append(f.Unit.Rows, m.kinRow(k))
		}
	}
	for _, k := range m.in.Kin.Holders {
		f.Holders = append(f.Holders, m.kinRow(k))
	}
	for _, k := range m.in.Kin.Behind {
		f.Behind = append(f.Behind, m.kinRow(k))
	}
	for _, h := range m.in.Locks {
		f.Locks = append(f.Locks, m.lock(h))
	}
	f.Stated = m.stated()
	if f.Role = m.in.Family.Role; f.Role == string(trend.Victim) {
		f.RoleText = "Its members wait for something that others may hold; see who below."
	} else if f.Role == string(trend.PossibleCulprit) {
		f.RoleText = "It does not grow, but may hold what others wait for. Possible, not proven."
	} else if f.Role == string(trend.ObserverEffect) {
		f.RoleText = "It is there because somebody looked: the capture itself adds it."
	}
	m.versions(f)
}

// stated are the statements that name a member, as those about locks of a JVM
// do: "http-nio-8080-exec-1" waits for what "holder of hot" holds. The findings that name the
// family follow.
func (m *familyMaker) stated() []Pair {
	if m.in.Family.Kind != analysis.KindThread {
		return nil
	}
	var out []Pair
	for _, s := range m.in.Statements {
		for _, fm := range m.in.Members {
			if slices.Contains(s.Threads, fm.Member.Detail) {
				out = append(out, Pair{Visible(s.Title), Visible(s.Text)})
				break
			}
		}
	}
	for _, f := range m.in.Facts {
		out = append(out, Pair{Visible(f.Title), Visible(f.Text)})
	}
	return out
}

func (m *familyMaker) kinRow(k Kin) CaseShare {
	row := CaseShare{Name: newFamilyName(k.Family.Title, k.Family.Kind, k.Family.Frames, k.Family.CreatedBy, k.Family.Attributes)}
	if !m.in.Frozen {
		row.Name.URL = familyURL(k.Family.Fingerprint, m.in.CaseID, m.in.SeriesKey)
	}
	row.Facts = kindWord(k.Family.Kind.Worded(k.Family.Attributes), 2) + " " + course(k.Family.Counts, m.restarts()) + createdBy(row.Name)
	if k.Ratio > 0 && m.in.Kin.Unit != nil && m.in.Kin.Unit.Each != "" {
		row.Facts = ratio(k.Ratio) + " in each instance, " + row.Facts
	}
	if len(k.Why) > 0 {
		row.Reason = Visible(arrow(capital(strings.Join(k.Why, "; ")))) + "."
	}
	return row
}

// lock is one lock with its waiters and its possible holders in words.
func (m *familyMaker) lock(h trend.Hold) FamilyLock {
	out := FamilyLock{Text: fmt.Sprintf("%s at %s for the lock 0x%x", waiting(h.Waiters), m.label(h.Snapshot), h.Address)}
	if len(h.Types) > 0 {
		out.Text += ", entered through " + Visible(wording.List(h.Types, 3))
	}
	out.Text += "."
	for _, holder := range h.Holders {
		text := fmt.Sprintf("%s %d in %s", kindWord(m.worded(), 1), holder.ID, holder.At)
		if holder.Func != "" && holder.Func != holder.At {
			text += ", called by " + holder.Func
		}
		if holder.State != "" {
			text += ", itself " + holder.State
		}
		if holder.Wait > 0 {
			text += ", for " + wording.Wait(holder.Wait)
		}
		if n := len(holder.Children); n > 0 {
			started := 0
			for _, c := range holder.Children {
				started += c.Count
			}
			text += fmt.Sprintf(", started %d of the others", started)
		}
		out.Holders = append(out.Holders, Visible(text))
	}
	if len(h.Holders) == 0 {
		out.Holders = append(out.Holders, "nobody can be named: too many or no frames carry the object")
	}
	return out
}

func waiting(n int) string {
	if n == 1 {
		return "1 member waits"
	}
	return wording.Number(int64(n)) + " members wait"
}

// versions is empty where there is one version: then nothing can be compared.
func (m *familyMaker) versions(f *Family) {
	b := m.in.Bisection
	if len(b.Rows) < 2 {
		return
	}
	out := &FamilyVersions{Text: capital(Visible(evidence.Bisection(b))) + "."}
	for _, r := range b.Rows {
		line := VersionLine{Version: Visible(r.Version), Rate: "n/a", Verdict: string(r.Verdict), Share: "n/a"}
		if !math.IsNaN(r.Rate) {
			line.Rate = perHour(r.Rate)
		}
		line.Exposure = hours(r.Hours) + " in " + wording.PagePlural(int64(r.Epochs), "process start", "process starts")
		if !math.IsNaN(r.PerUnit) {
			line.Rate += " (" + perHour(r.PerUnit) + " per unit of load)"
		}
		switch r.Verdict {
		case trend.Good:
			line.Mark = "="
			if !math.IsNaN(r.Below) && !math.IsInf(r.Below, 0) {
				line.Verdict += ", below " + strconv.FormatFloat(r.Below, 'g', 2, 64) + "/h"
			}
		case trend.Bad:
			line.Mark = "▲"
		default:
			line.Mark = "…"
			line.Verdict = "unknown: too little exposure"
		}
		if r.Mass > 0 {
			line.Share = strconv.FormatFloat(100*r.Mass, 'f', 0, 64) + hardSpace + "%"
		}
		out.Rows = append(out.Rows, line)
	}
	f.Versions = out
}

// hourBars are the births of each hour, told by ages: also those from before the
// first snapshot. One hour alone is said in words.
func (m *familyMaker) hourBars(f *Family) {
	total := 0
	for _, b := range m.in.Hours {
		total += b.Born
	}
	if total == 0 {
		return
	}
	first, last := m.in.Hours[0].Hour, m.in.Hours[len(m.in.Hours)-1].Hour
	dated, born := plainPlural(total, "is dated by its age", "are dated by their age"), "by "+plainPlural(total, "its age", "their ages")
	if m.in.Family.Kind == analysis.KindGoroutine {
		// Its wait is no age: the snapshots date it.
		dated, born = plainPlural(total, "is dated by the snapshots that lack it", "are dated by the snapshots that lack them"), "by the snapshots that lack "+plainPlural(total, "it", "them")
	}
	f.HourNote = fmt.Sprintf("%s at %s %s, from %s on.", many(m.worded(), total), m.label(m.in.SnapshotIndex), dated, first.UTC().Format("2 Jan 15:04"))
	if len(m.in.Hours) < 2 {
		f.HourNote = fmt.Sprintf("%s at %s %s born in the hour from %s on, %s.", many(m.worded(), total), m.label(m.in.SnapshotIndex), plainPlural(total, "was", "were"), first.UTC().Format("2 Jan 15:04"), born)
		return
	}
	layout := "15:04"
	if last.Sub(first) >= 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	f.HourBars = &chart.BarsData{ID: "hours", Title: "Births per hour", What: "Hour from", Growth: true}
	const most = 96
	for _, b := range m.in.Hours[max(len(m.in.Hours)-most, 0):] {
		f.HourBars.Bars = append(f.HourBars.Bars, chart.Bar{Label: b.Hour.UTC().Format(layout), Count: b.Born})
	}
	if len(m.in.Hours) > most {
		f.HourNote += fmt.Sprintf(" The last %d hours are drawn.", most)
	}
}

// ageSteps are the upper ends of the bars of ages, in seconds.
var ageSteps = [...]struct {
	under int32
	name  string
}{{60, "<1 min"}, {600, "1–10 min"}, {3600, "10–60 min"}, {4 * 3600, "1–4 h"}, {24 * 3600, "4–24 h"}, {7 * 24 * 3600, "1–7 d"}, {math.MaxInt32, ">7 d"}}

// ageBars returns how long members live, where the dump prints it.
func ageBars(g *analysis.Group) *chart.BarsData {
	counts := make([]int, len(ageSteps))
	known, last := 0, 0
	for _, age := range g.Members.Ages() {
		for i, s := range ageSteps {
			if age >= 0 && age < s.under {
				counts[i]++
				known, last = known+1, max(last, i)
				break
			}
		}
	}
	if known == 0 {
		return nil
	}
	b := &chart.BarsData{ID: "ages", Title: "Ages, since the member was born", What: "Age"}
	for i := range counts[:max(last+1, 3)] {
		b.Bars = append(b.Bars, chart.Bar{Label: ageSteps[i].name, Count: counts[i]})
	}
	return b
}

// threadTitle is the frame that titles a family of threads:
//
//	"OkHttp http://<addr>/... · WebSocketReader.readHeader (blocked)"
//	→ "WebSocketReader.readHeader"
func threadTitle(title string) string {
	at := strings.LastIndex(title, " · ")
	if at < 0 {
		return ""
	}
	text, _, _ := strings.Cut(title[at+len(" · "):], " ")
	return text
}
