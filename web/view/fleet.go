package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// FleetChoice is the filter of the families over all hosts.
type FleetChoice struct {
	Text, Kind string
	// Sort is empty or growth, or hosts.
	Sort string
	// New leaves out what an older capture shows.
	New        bool
	Days, Page int
}

// FleetInput is the input of the ranked list.
type FleetInput struct {
	Choice       FleetChoice
	Title, Fresh string
	Things       []FleetThing
	Heat         FleetHeat
	// Families counts the families on the page, Total those on all pages, New the new ones.
	Families, Total, New int
}

// FleetThing is one row of the ranked list: the families that people call the same.
type FleetThing struct {
	// Words name it, with a capital letter. Called says that people call it so.
	Words                          string
	Called                         bool
	Families                       []FleetFamily
	Hosts, Unnamed, Series, Growth int
	New                            bool
	First, Last                    time.Time
}

// Counted are the families whose growth is that of the thing.
func (x *FleetThing) Counted() []FleetFamily {
	var out []FleetFamily
	most := 0
	for i, f := range x.Families {
		if f.Kind == analysis.KindDescriptor {
			out = append(out, f)
		}
		if f.Growth > x.Families[most].Growth {
			most = i
		}
	}
	if len(out) == 0 {
		out = x.Families[most : most+1]
	}
	return out
}

// URL leads to the family of a thing, empty where there are several.
func (x *FleetThing) URL(c FleetChoice) string {
	if len(x.Families) > 1 {
		return ""
	}
	return x.Families[0].address(c)
}

// FleetFamily is a family of a row.
type FleetFamily struct {
	Title, Fingerprint string
	// Type is that of an object type with its import path.
	Type   string
	Kind   analysis.Kind
	Growth int
}

// FleetKinds are the kinds that the fleet ranks.
func FleetKinds() []analysis.Kind { return append(analysis.Kinds(), analysis.KindObject) }

// AllDays is the longest time that the fleet shows.
const AllDays = 3650

// perFleetPage is the number of rows one page has.
const perFleetPage = 100

// OpenVerdict stands where it is open how a family ended.
const OpenVerdict = "open"

// address is the page with another part of the list.
func (c FleetChoice) address(base string) string {
	q := url.Values{}
	for name, value := range map[string]string{"q": c.Text, "kind": c.Kind, "sort": c.Sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if c.New {
		q.Set("new", "1")
	}
	if c.Days != 30 {
		q.Set("days", strconv.Itoa(c.Days))
	}
	if c.Page > 1 {
		q.Set("page", strconv.Itoa(c.Page))
	}
	if len(q) == 0 {
		return base
	}
	return base + "?" + q.Encode()
}

// neighbours lead to the pages before and after.
func (c FleetChoice) neighbours(base string, total int) document.Blocks {
	var links document.Text
	previous, next := c, c
	previous.Page, next.Page = c.Page-1, c.Page+1
	if c.Page > 1 {
		links = append(links, document.LinkButton("btn quiet", previous.address(base), "Previous page"))
	}
	if c.Page*perFleetPage < total {
		links = append(links, document.LinkButton("btn quiet", next.address(base), "Next page"))
	}
	if len(links) == 0 {
		return nil
	}
	return document.Blocks{document.Line{Look: "act", Blocks: document.Blocks{links}}}
}

// NewFleet makes the ranked list of families over all hosts. The caller adds the engine line.
func NewFleet(in FleetInput) Page {
	v := Page{Shell: Shell{Title: "Fleet", Section: "fleet", Sheet: "inventory", Here: "Fleet"}}
	v.Shell.Twins = fleetTwins(in.Choice, "/fleet")
	v.Body.Title(Visible(in.Title) + ".")
	fresh := document.Blocks{document.Paragraph{Look: "lead", Text: document.Words(in.Fresh)}}
	if in.New > 0 && !in.Choice.New {
		only := in.Choice
		only.New, only.Page = true, 1
		linked := document.Text{document.Plain(in.Fresh + " "), document.LinkTo(only.address("/fleet"), "Show them")}
		fresh = document.Blocks{document.TextOnly{Blocks: fresh}, document.PageOnly{Blocks: document.Blocks{document.Paragraph{Look: "lead", Text: linked}}}}
	}
	v.Body.Add(append(fresh, in.Choice.form())...)
	_, many := wording.Ranked(analysis.Kind(in.Choice.Kind))
	label := wording.Capital(many) + " over all hosts"
	section := document.NewSection("ranked", label, in.shown())
	if len(in.Things) == 0 {
		section.Say("empty", "No capture of these days shows such "+many+". More days or fewer words find more. Samples are left out.")
		if c := in.Choice; c.Days < AllDays {
			c.Days, c.Page = AllDays, 1
			section.Add(document.PageOnly{Blocks: document.Blocks{document.Line{Look: "act", Blocks: document.Blocks{document.Text{document.LinkButton("btn quiet", c.address("/fleet"), "Show all days")}}}}})
		}
		v.Body.Add(section)
		return v
	}
	v.Body.Add(in.Heat.section()...)
	section.Add(in.tables()...)
	section.Add(in.Choice.neighbours("/fleet", in.Total)...)
	section.Say("note", wording.FleetGrowth(analysis.Kind(in.Choice.Kind)))
	v.Body.Add(section)
	return v
}

// tables are the rows. Where nobody searches, those that did not grow are folded below those that did.
func (in *FleetInput) tables() document.Blocks {
	first := len(in.Things)
	if in.Choice.Sort != "hosts" && in.Choice.Text == "" {
		first = slices.IndexFunc(in.Things, func(x FleetThing) bool { return x.Growth <= 0 })
	}
	if first <= 0 || first == len(in.Things) {
		return document.Blocks{in.table(in.Things, "")}
	}
	const still = " that did not grow"
	one, many := wording.Ranked(analysis.Kind(in.Choice.Kind))
	rest := document.Words(wording.PagePlural(int64(len(in.Things)-first), one, many) + still)
	return document.Blocks{in.table(in.Things[:first], ""), document.Fold{Look: "rest", Summary: rest, Rest: true, Blocks: document.Blocks{in.table(in.Things[first:], still)}}}
}

func (in *FleetInput) table(things []FleetThing, which string) document.Table {
	one, many := wording.Ranked(analysis.Kind(in.Choice.Kind))
	table := document.Table{Look: "data fleet", Label: "List of " + many + which, Caption: wording.Capital(many) + which + " with their growth, hosts and days",
		Head: []document.Cell{{Words: "Growth", Look: document.Figured}, {Words: "Hosts", Look: document.Figured}, {Words: wording.Capital(one)}, {Words: "Series", Look: document.Figured}, {Words: "Last seen"}}}
	part := document.Part{}
	for i := range things {
		part.Rows = append(part.Rows, things[i].row(in.Choice))
	}
	table.Parts = []document.Part{part}
	return table
}

// fleetTwins are the page as files.
func fleetTwins(c FleetChoice, base string) []Link {
	return []Link{{"Markdown", c.address(base + ".md")}, {"Jira", c.address(base + ".jira")}, {"Plain text", c.address(base + ".txt")}, {"CSV", c.address(base + ".csv")}}
}

// shown says which part of the list stands on the page.
func (in *FleetInput) shown() string {
	out := wording.Number(int64(in.Total))
	if in.Total > in.Families {
		first := (in.Choice.Page-1)*perFleetPage + 1
		out = fmt.Sprintf("%s to %s of %s", wording.Number(int64(first)), wording.Number(int64(first+in.Families-1)), out)
	}
	if len(in.Things) < in.Families {
		out += ", the same things in one row"
	}
	return out
}

func (x *FleetThing) row(c FleetChoice) document.Row {
	text, below := x.name(c)
	if x.New {
		text = append(text, document.Plain(" "), document.Marked(document.Verdict, "new"))
	}
	text = append(text, document.Plain(" "), below)
	hosts := document.Text{document.Plain(wording.Number(int64(x.Hosts)))}
	unnamed := document.Marked("sub", wording.Number(int64(x.Unnamed))+" unnamed")
	switch {
	case x.Unnamed > 0 && x.Hosts == 0:
		hosts = document.Text{unnamed}
	case x.Unnamed > 0:
		hosts = append(hosts, document.Plain(" +"), unnamed)
	}
	return document.Row{Cells: []document.Cell{
		{Look: document.Figured, Text: document.Text{deltaSpan(x.Growth, true)}}, {Look: "num nowrap", Text: hosts}, {Header: true, Text: text},
		{Look: document.Figured, Words: wording.Number(int64(x.Series))}, {Look: "nowrap", Text: document.Text{document.Plain(wording.Minute(x.Last) + " "), document.Marked("sub", "since "+wording.Minute(x.First))}},
	}}
}

// mostParts is how many families of a thing are named.
const mostParts = 4

func (f *FleetFamily) address(c FleetChoice) string {
	of := FleetChoice{Days: c.Days}
	return of.address("/fleet/" + url.PathEscape(f.Fingerprint))
}

// name names a thing by what people call it, before the function if it is one family. Below it
// stand the kind of that one, or the families.
func (x *FleetThing) name(c FleetChoice) (text document.Text, below document.Span) {
	if len(x.Families) > 1 {
		return document.Text{document.Marked(document.Strong, Visible(x.Words))}, x.parts(c)
	}
	f := &x.Families[0]
	members := kindWord(f.Kind, 2)
	if f.Type != "" && f.Type != f.Title {
		members += " of " + f.Type
	}
	hit := NewHit(f.Title, members, f.address(c), "")
	if f.Kind != analysis.KindDescriptor && f.Kind != analysis.KindWatch {
		hit = NewFunctionHit(f.Title, members, f.address(c), "")
	}
	if x.Called && hit.Path != "" {
		hit.Things = Visible(x.Words)
	}
	return hit.line(), document.Marked("sub", hit.Text)
}

// parts lists the families of a thing with their growth.
func (x *FleetThing) parts(c FleetChoice) document.Span {
	out := document.Made("sub")
	for i, f := range x.Families[:min(len(x.Families), mostParts)] {
		if i > 0 {
			out.Inside = append(out.Inside, document.Plain(", "))
		}
		out.Inside = append(out.Inside, document.LinkTo(f.address(c), Visible(arrow(f.Title))), document.Plain(" "+wording.Signed(f.Growth)))
	}
	if more := len(x.Families) - mostParts; more > 0 {
		out.Inside = append(out.Inside, document.Plain(" and "+wording.Number(int64(more))+" more"))
	}
	return out
}

// form chooses the families.
func (c FleetChoice) form() document.Form {
	label := func(id, text string) document.Label {
		return document.Label{Look: "vh", For: document.ID(id), Blocks: document.Blocks{document.Words(text)}}
	}
	kinds := []document.Choice{{Value: "", Text: "all groups"}}
	for _, k := range analysis.Kinds() {
		kinds = append(kinds, document.Choice{Value: string(k), Text: kindWord(k, 2)})
	}
	_, types := wording.Ranked(analysis.KindObject)
	kinds = append(kinds, document.Choice{Value: string(analysis.KindObject), Text: types})
	days := []document.Choice{}
	known := []int{1, 7, 30, 90, 365, AllDays}
	if !slices.Contains(known, c.Days) {
		known = append(known, c.Days)
	}
	for _, n := range known {
		days = append(days, document.Choice{Value: strconv.Itoa(n), Text: wording.Plain(n, "day", "days")})
	}
	form := document.Form{Look: "tools", Label: "Fleet", Action: "/fleet", Blocks: document.Blocks{
		label("fq", "Words of a thing, function, attribute or fingerprint"),
		document.Field{Look: "field grow", ID: "fq", Name: "q", Type: "search", Value: Visible(c.Text), Placeholder: "probe workers, worker.run"},
		label("fsort", "Sort by"),
		document.Select{ID: "fsort", Name: "sort", Value: c.Sort, Groups: []document.Choices{{List: []document.Choice{{Value: "", Text: "most growth first"}, {Value: "hosts", Text: "most hosts first"}}}}},
		label("fkind", "Kind"),
		document.Select{ID: "fkind", Name: "kind", Value: c.Kind, Groups: []document.Choices{{List: kinds}}},
		label("fdays", "Days"),
		document.Select{ID: "fdays", Name: "days", Value: strconv.Itoa(c.Days), Groups: []document.Choices{{List: days}}},
		document.Label{Look: "check", Blocks: document.Blocks{document.Field{Type: "checkbox", Name: "new", Value: "1", Checked: c.New}, document.Words("new since yesterday")}},
		document.Press{Look: "btn primary", Text: "Show"},
	}}
	return form
}

// FleetFamilyInput is the input of the page of one family over all hosts.
type FleetFamilyInput struct {
	Choice             FleetChoice
	Title, Fingerprint string
	// Type is that of an object type with its import path.
	Type string
	Kind analysis.Kind
	// Sentence says how much it grew, Odd which host differs, or nothing.
	Sentence, Odd string
	// Cut says that older series were left out, or nothing.
	Cut string
	// Named counts the hosts that have a name.
	Named    int
	Hosts    []FleetHost
	Versions []FleetVersion
}

// FleetHost is a process on a host, added up over its series.
type FleetHost struct {
	Host, Process, CaseID     string
	Series, Growth, LastCount int
	// Hours are those between the first and the last sight, added up over the series.
	Hours       float64
	First, Last time.Time
	// Version and Verdict are those of the latest series that tells them, empty for open.
	Version, Verdict string
	// Recovered is true if the cause went away within the captures, Benign if a person called
	// the family that.
	Recovered, Benign bool
}

// FleetVersion is what hosts with one version of the program show.
type FleetVersion struct {
	Version       string
	Hosts, Growth int
	Verdicts      map[string]int
}

// NewFleetFamily makes the page of one family over all hosts. The caller adds the engine
// line.
func NewFleetFamily(in FleetFamilyInput) Page {
	one, _ := wording.Ranked(in.Kind)
	v := Page{Shell: Shell{Title: Visible(in.Title) + ", fleet", Section: "fleet", Sheet: "inventory", Crumbs: []Link{{"Fleet", "/fleet"}}, Here: "One " + one}}
	v.Shell.Twins = fleetTwins(in.Choice, "/fleet/"+url.PathEscape(in.Fingerprint))
	v.Body.Title(Visible(in.Sentence) + ".")
	if in.Type != "" && in.Type != in.Title {
		v.Body.Say("note", "In full "+Visible(in.Type)+".")
	} else if function, _ := splitTitle(in.Title); !strings.Contains(in.Sentence, function) {
		v.Body.Say("note", "The group is "+Visible(arrow(in.Title))+".")
	}
	if in.Odd != "" {
		v.Body.Say("lead", Visible(in.Odd))
	}
	if in.Cut != "" {
		v.Body.Say("note", in.Cut)
	}
	v.Body.Add(in.ranked())
	if len(in.Versions) > 0 {
		v.Body.Add(in.versions())
	} else {
		v.Body.Say("note", wording.NoVersions)
	}
	return v
}

func (in *FleetFamilyInput) ranked() document.Section {
	from := min((max(in.Choice.Page, 1)-1)*perFleetPage, len(in.Hosts))
	rows := in.Hosts[from:min(from+perFleetPage, len(in.Hosts))]
	note := wording.Number(int64(len(in.Hosts)))
	if len(rows) < len(in.Hosts) {
		note = fmt.Sprintf("%s to %s of %s", wording.Number(int64(from+1)), wording.Number(int64(from+len(rows))), note)
	}
	one, _ := wording.Ranked(in.Kind)
	label := "Hosts by growth"
	if in.severalProcesses() {
		label = "Processes of hosts by growth"
	}
	out := document.NewSection("hosts", label, note)
	if len(rows) == 0 {
		out.Say("empty", "This page is after the last one.")
		return out
	}
	table := document.Table{Look: "data", Label: "List of hosts", Caption: "Hosts with the growth of the " + one, Numeric: 1,
		Head: []document.Cell{{Words: "Host"}, {Words: "Verdict"}, {Words: "Growth", Look: document.Figured}, {Words: "Rate", Look: document.Figured}, {Words: "Now", Look: document.Figured}, {Words: "Version"}, {Words: "First seen"}, {Words: "Last seen"}}}
	part := document.Part{}
	for i := range rows {
		part.Rows = append(part.Rows, rows[i].row(in.Fingerprint, in.Kind))
	}
	table.Parts = []document.Part{part}
	out.Add(table)
	base := "/fleet/" + url.PathEscape(in.Fingerprint)
	out.Add(FleetChoice{Days: in.Choice.Days, Page: max(in.Choice.Page, 1)}.neighbours(base, len(in.Hosts))...)
	out.Say("note", wording.FleetGrowth(in.Kind))
	return out
}

// severalProcesses reports whether a host has more than one row.
func (in *FleetFamilyInput) severalProcesses() bool {
	seen := map[string]bool{}
	for _, h := range in.Hosts {
		if h.Host != "" && seen[h.Host] {
			return true
		}
		seen[h.Host] = true
	}
	return false
}

func (h *FleetHost) row(fingerprint string, k analysis.Kind) document.Row {
	name := Visible(h.Host)
	if h.Host == "" {
		name = "no host name"
	}
	where := printable(h.Process)
	if h.Series > 1 {
		where += ", " + wording.Plain(h.Series, "series", "series")
	}
	address := familyURL(fingerprint, h.CaseID, SeriesKey(h.Host, h.Process))
	if k == analysis.KindObject {
		address = ObjectURL(fingerprint, h.CaseID, SeriesKey(h.Host, h.Process))
	}
	verdict := document.Text{document.Marked(document.Muted, OpenVerdict)}
	if h.Verdict != "" {
		verdict = document.Text{document.Marked(document.Verdict, h.Verdict)}
	}
	if h.Recovered {
		verdict = append(verdict, document.Plain(" "), document.Marked("sub", wording.Recovered))
	}
	if h.Benign {
		verdict = append(verdict, document.Plain(" "), document.Marked("sub", wording.MarkedBenign))
	}
	version := document.Text{document.Marked(document.Muted, "not known")}
	if h.Version != "" {
		version = document.Words(Visible(h.Version))
	}
	return document.Row{Cells: []document.Cell{
		{Header: true, Text: document.Text{{URL: address, Look: document.Strong, Text: name}, document.Plain(" "), document.Marked("sub", where)}},
		{Look: "ver", Text: verdict},
		{Look: document.Figured, Text: document.Text{deltaSpan(h.Growth, true)}}, {Look: "num nowrap", Words: h.rate()}, {Look: document.Figured, Words: wording.Number(int64(h.LastCount))},
		{Text: version}, {Look: "nowrap", Words: wording.Minute(h.First)}, {Look: "nowrap", Words: wording.Minute(h.Last)},
	}}
}

// rate is the growth in the time that the series cover, n/a without growth.
func (h *FleetHost) rate() string {
	if h.Growth <= 0 || h.Hours <= 0 {
		return "n/a"
	}
	figure, unit := wording.Pace(float64(h.Growth) / h.Hours)
	return "+" + figure + " " + unit
}

func (in *FleetFamilyInput) versions() document.Section {
	var verdicts []string
	for _, v := range append(verdictNames(), OpenVerdict) {
		if slices.ContainsFunc(in.Versions, func(x FleetVersion) bool { return x.Verdicts[v] > 0 }) {
			verdicts = append(verdicts, v)
		}
	}
	table := document.Table{Look: "data", Label: "Versions and verdicts", Caption: "Hosts of each version by verdict", Numeric: 1, Head: []document.Cell{{Words: "Version"}, {Words: "Hosts", Look: document.Figured}, {Words: "Growth", Look: document.Figured}}}
	for _, v := range verdicts {
		table.Head = append(table.Head, document.Cell{Words: verdictWord(v), Look: document.Figured})
	}
	part := document.Part{}
	for _, x := range in.Versions {
		name := Visible(x.Version)
		if name == "" {
			name = "not known"
		}
		row := document.Row{Cells: []document.Cell{{Header: true, Words: name}, {Look: document.Figured, Words: wording.Number(int64(x.Hosts))}, {Look: document.Figured, Text: document.Text{deltaSpan(x.Growth, true)}}}}
		for _, v := range verdicts {
			row.Cells = append(row.Cells, document.Cell{Look: document.Figured, Words: wording.Number(int64(x.Verdicts[v]))})
		}
		part.Rows = append(part.Rows, row)
	}
	table.Parts = []document.Part{part}
	return document.NewSection("versions", "Versions", wording.Number(int64(len(in.Versions))), table)
}

func verdictNames() (out []string) {
	for _, v := range analysis.Verdicts() {
		out = append(out, string(v))
	}
	return out
}
