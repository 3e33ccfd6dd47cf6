package view

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// ClassAdvice is a class of causes with what to do.
type ClassAdvice struct {
	Key, Cause string
	// URL is the class on the page of the catalogue, empty on frozen pages.
	URL string
	// Seen says at which finding the class is told in full, empty where it is here.
	Seen  string
	Signs []string

	LooksLike, Expected, FirstCheck string
	Idle, Stuck, Corner             string

	Metrics []ClassMetric
	Remedy  []string
	// Warnings stand before the remedy: they are about its disruptive steps.
	Warnings     []string
	Validate     []string
	UpstreamWhen string
	Attach       []string
	// Corrections are common advice and what measurement says of it.
	Corrections []Pair
}

// ClassMetric is a figure to look at.
type ClassMetric struct{ Name, Why, Warning string }

// KnownLeak is an entry of the catalogue.
type KnownLeak struct {
	// Label says what it is: "Known leak", "Looks like".
	Label, ID, Title, Status string
	// Text is what it means here, Compare sets versions against each other; Versions is
	// the same in a few words where a version was seen.
	Text, Compare, Versions string
	// Facts are affected and fixed versions, trigger and remedy.
	Facts []Pair
	// URL is the entry on the page of the catalogue, Reference the report itself.
	URL, Reference string
	Origin         string
	// Edit is where an entry that was made on this server is changed, empty elsewhere.
	Edit string
	// Signature and Excerpt are shown by the catalogue.
	Signature []string
	Excerpt   string
}

// NormalStack is why a family may be healthy.
type NormalStack struct {
	ID, Library, Reason, Expected, Note, Verified, URL, Origin string
	Frames                                                     []string
}

// knownNone is printed where the catalogue was asked and nothing matches.
const knownNone = "None matches: no entry of the catalogue has this signature together with its state and growth."

// openKnown is the number of known leaks a finding shows.
const openKnown = 8

// knowledgeURL is an entry of the catalogue, open.
func knowledgeURL(kind, id string) string {
	return "/knowledge?q=" + url.QueryEscape(id) + "#" + kind + "-" + url.PathEscape(id)
}

// newClassAdvice puts a class into words ready to print.
func newClassAdvice(c *knowledge.Class, corrections []knowledge.Correction) ClassAdvice {
	out := ClassAdvice{
		Key: Visible(c.Key), Cause: Visible(c.Cause), URL: knowledgeURL("c", c.Key), LooksLike: Visible(c.LooksLike), Expected: Visible(c.Expected), FirstCheck: Visible(c.FirstCheck),
		Idle: Visible(c.Idle), Stuck: Visible(c.Stuck), Corner: Visible(c.Corner), Remedy: visibles(slices.Concat(c.Own, c.Remedy)), Warnings: visibles(c.Warnings), Validate: visibles(c.Validate),
		UpstreamWhen: Visible(c.Upstream.When), Attach: visibles(c.Upstream.Attach),
	}
	for _, m := range c.Metrics {
		out.Metrics = append(out.Metrics, ClassMetric{Visible(m.Name), Visible(m.Why), Visible(m.Warning)})
	}
	for _, x := range corrections {
		out.Corrections = append(out.Corrections, Pair{Visible(x.Advice), Visible(x.Fact)})
	}
	return out
}

func visibles(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = Visible(s)
	}
	return out
}

// newKnownLeak puts a match into words.
func newKnownLeak(k report.KnownLeak) KnownLeak {
	out := KnownLeak{
		Label: k.Label(), ID: Visible(k.ID), Title: Visible(k.Title), Status: statusWord(k.Status), Text: Visible(k.Text), Compare: capital(Visible(k.Compare)),
		URL: knowledgeURL("k", k.ID), Reference: reference(k.Reference), Origin: Visible(k.Origin),
	}
	if k.Seen != "" {
		out.Versions = strings.TrimSuffix(Visible(k.Seen)+", "+versionWord(k.Verdict), ", ")
	}
	if k.Fixed == "" || !strings.Contains(k.Compare, k.Fixed) {
		out.facts(k.Affected, k.Fixed, k.VerifiedBy, k.Trigger, k.Help())
		return out
	}
	// The comparison has just said it.
	out.facts(k.Affected, "", "", k.Trigger, k.Help())
	if k.VerifiedBy != "" {
		out.Facts = append(out.Facts, Pair{"Fix known from", Visible(k.VerifiedBy)})
	}
	return out
}

func versionWord(v knowledge.VersionVerdict) string {
	switch v {
	case knowledge.VersionAffected:
		return "affected"
	case knowledge.VersionFixed:
		return "has the fix"
	case knowledge.VersionBefore:
		return "older than the leak"
	}
	return "affected or not is not known"
}

func (k *KnownLeak) facts(affected, fixed, verified, trigger, remedy string) {
	add := func(name, value string) {
		if value != "" {
			k.Facts = append(k.Facts, Pair{name, Visible(value)})
		}
	}
	add("Affected", affected)
	if fixed != "" && verified != "" {
		fixed += "; known from " + verified
	}
	add("Fix", fixed)
	add("Trigger", trigger)
	add(report.DoThis, remedy)
}

// reference lets addresses through that a page may link to.
func reference(address string) string {
	if u, err := url.Parse(address); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return u.String()
	}
	return ""
}

func statusWord(s knowledge.Status) string { return strings.ReplaceAll(Visible(string(s)), "-", " ") }

// advice gives a finding its classes and known leaks.
func (m *caseMaker) advice(out *CaseFinding, s *report.Series, f *report.Finding) {
	for _, key := range f.Classes {
		class := m.in.Report.ClassOf(key)
		if class == nil {
			continue
		}
		shown := f.ClassNotes[key].Told(class.Class)
		a := newClassAdvice(&shown, class.Corrections)
		a.URL = m.live(a.URL)
		if at, told := m.told[s.Process+"\x00"+key]; told {
			a = ClassAdvice{Key: a.Key, Cause: a.Cause, URL: a.URL, Seen: "told in full at finding " + at}
		} else {
			m.told[s.Process+"\x00"+key] = out.Number
		}
		a.Signs = visibles(f.SignsOfClass(key))
		out.Advice = append(out.Advice, a)
	}
	if f.Kind != "" && f.Kind != report.FollowFinding && f.Kind != report.NoLeakFinding || m.in.Report.Knowledge == nil {
		return
	}
	for _, k := range f.Known[:min(len(f.Known), openKnown)] {
		known := newKnownLeak(k)
		known.URL = m.live(known.URL)
		out.Known = append(out.Known, known)
	}
	if more := len(f.Known) - openKnown; more > 0 {
		out.KnownNote = "and " + wording.PagePlural(int64(more), "more entry", "more entries") + " of the catalogue."
	}
	switch {
	case f.NothingWrong():
	case len(f.RuledOut) > 0 && len(f.Known) == 0:
		out.KnownNote = capital(Visible(f.NoneKnown()))
	case len(f.Known) == 0:
		out.KnownNote = knownNone
	}
}

// context is what stands beside the proof of a series: thresholds in circulation and
// how much of it is normal.
func (m *caseMaker) context(c *Case) {
	normal := 0
	for _, i := range m.page {
		s := &m.in.Report.Series[i]
		var rows []Pair
		for _, t := range s.Thresholds {
			if t.Seen == "" {
				continue
			}
			value := Visible(t.Text) + ". Here: " + Visible(t.Seen)
			if t.Passed {
				value += ", which is above it"
			}
			rows = append(rows, Pair{capital(Visible(t.Name)), value + "."})
		}
		healthy := ""
		if s.Healthy != nil {
			healthy = Visible(s.Healthy.Text)
		}
		if len(rows) > 0 || healthy != "" {
			normals := m.normals(s, min(mostNormal, maxNormals-normal))
			normal += len(normals)
			c.Context = append(c.Context, CaseContext{Process: named(s), Thresholds: rows, Healthy: healthy, Normal: normals})
		}
	}
}

// CaseContext is what stands beside the proofs of one process.
type CaseContext struct {
	Process, Healthy string
	Thresholds       []Pair
	// Normal are its families that are normal stacks, most members first.
	Normal []CaseNormal
}

// CaseNormal is one family that is a normal stack.
type CaseNormal struct {
	Name          FamilyName
	Count, Reason string
}

// mostNormal bounds the normal stacks that are listed of one process, maxNormals of all on a
// page.
const (
	mostNormal = 60
	maxNormals = 300
)

// normals are the families of normal stacks that nothing accuses.
func (m *caseMaker) normals(s *report.Series, most int) []CaseNormal {
	var all []*report.Family
	for i := range s.Families {
		f := &s.Families[i]
		if f.Normal != nil && !grows(f.Verdict) && f.Counts.Last() > 0 {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *report.Family) int { return b.Counts.Last() - a.Counts.Last() })
	var out []CaseNormal
	for _, f := range all[:min(len(all), most)] {
		out = append(out, CaseNormal{Name: m.name(s, f), Count: wording.Number(int64(f.Counts.Last())), Reason: Visible(f.Normal.Reason)})
	}
	return out
}

// FamilyKnowledge is what the catalogue says of one family.
type FamilyKnowledge struct {
	Advice []ClassAdvice
	// Belongs are the classes of a family that nothing accuses.
	Belongs []Link
	// Known speak for themselves, Alike have the signature only.
	Known, Alike []KnownLeak
	KnownNote    string
	Normal       *NormalStack
}

// newFamilyKnowledge puts it into words; classes are looked up by of. Links to live
// pages are dropped where the page is frozen.
func newFamilyKnowledge(f report.Family, c *knowledge.Catalogue, frozen bool) *FamilyKnowledge {
	if c == nil {
		return nil
	}
	live := func(address string) string {
		if frozen {
			return ""
		}
		return address
	}
	out := &FamilyKnowledge{}
	for _, key := range f.Classes {
		class := c.Class(key)
		if class == nil {
			continue
		}
		shown := f.ClassNotes[key].Told(*class)
		if f.Verdict != analysis.Leaking && f.Verdict != analysis.Suspicious || f.ClassNotes[key].Rest {
			// A cause is told of what is accused; the rest only belongs to it.
			out.Belongs = append(out.Belongs, Link{Visible(shown.Cause), live(knowledgeURL("c", key))})
			continue
		}
		a := newClassAdvice(&shown, c.Corrections(key))
		a.URL = live(a.URL)
		out.Advice = append(out.Advice, a)
	}
	for _, k := range f.KnownLeaks {
		known := newKnownLeak(k)
		known.URL = live(known.URL)
		if slices.Contains(f.Known, k.ID) {
			out.Known = append(out.Known, known)
			continue
		}
		out.Alike = append(out.Alike, known)
	}
	switch {
	case len(out.Known) > 0:
	case slices.ContainsFunc(f.KnownLeaks, func(k report.KnownLeak) bool { return k.RuledOut }):
		n := 0
		for _, k := range f.KnownLeaks {
			if k.RuledOut {
				n++
			}
		}
		out.KnownNote = "None is accused: " + wording.PagePlural(int64(n), "entry has", "entries have") + " this signature and its growth, and the version that was seen rules " + itOrThem(n) + " out."
	case len(out.Alike) > 0:
		out.KnownNote = "None is accused: " + wording.PagePlural(int64(len(out.Alike)), "entry has", "entries have") + " this signature, and nothing shows that the family grows or is more than expected."
	default:
		out.KnownNote = "None matches: no entry of the catalogue has this signature."
	}
	if n := f.Normal; n != nil {
		out.Normal = &NormalStack{ID: Visible(n.ID), Library: Visible(n.Library), Reason: Visible(n.Reason), Expected: Visible(n.Expected), Note: Visible(n.Note), URL: live(knowledgeURL("n", n.ID))}
	}
	return out
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// Knowledge is the page of the catalogue.
type Knowledge struct {
	Shell         Shell
	Query         string
	Version       string
	Classes       []ClassAdvice
	Groups        []KnownGroup
	Leads         []KnownLeak
	Normal        []NormalStack
	Corrections   []Pair
	Thresholds    []Pair
	ThresholdNote string
	Problems      []Problem
	// OwnDir is where own files are read from, Own how many items they hold.
	OwnDir string
	// Ours are the programs that readers said are their own.
	Ours []string
	// Loads are metrics that readers said are loads: "app: app_tenants".
	Loads []string
	Own   int
}

// KnownGroup are the known leaks of one class or project.
type KnownGroup struct {
	Name  string
	Known []KnownLeak
}

// KnowledgeInput is the input of the page.
type KnowledgeInput struct {
	Catalogue *knowledge.Catalogue
	Problems  []analysis.Problem
	// Query filters by words, all of which an item must have.
	Query  string
	Engine string
	// Dir says where own files are read from, empty where none are.
	Dir string
	// Remembered is the file whose entries can be changed here.
	Remembered string
}

// NewKnowledge makes the page of the catalogue.
func NewKnowledge(in KnowledgeInput) Knowledge {
	c := in.Catalogue
	m := wordFilter{words: strings.Fields(strings.ToLower(in.Query))}
	k := Knowledge{
		Query: Visible(in.Query), Version: c.Version(), ThresholdNote: Visible(c.ThresholdNote()), Problems: unlinkedProblems(in.Problems),
		Shell: Shell{Title: "Knowledge", Section: "knowledge", Sheet: "inventory", Engine: in.Engine, Here: "Knowledge",
			Twins: []Link{{"JSON", "/knowledge.json"}, {"Schema", "/knowledge/schema.json"}}},
	}
	for i := range c.Classes() {
		class := &c.Classes()[i]
		k.own(class.Origin)
		shown := report.ClassNote{}.Told(*class)
		a := newClassAdvice(&shown, c.Corrections(class.Key))
		if m.keeps(class.Key, class.Cause, class.LooksLike, class.FirstCheck, class.Stuck, strings.Join(class.Remedy, " "), frames(class)) {
			k.Classes = append(k.Classes, a)
		}
	}
	k.leaks(c, m, in.Remembered)
	for i := range c.Normal() {
		n := &c.Normal()[i]
		k.own(n.Origin)
		if m.keeps(n.ID, n.Library, n.Expected.Text, n.Note, strings.Join(n.Frames, " ")) {
			k.Normal = append(k.Normal, NormalStack{ID: Visible(n.ID), Library: Visible(n.Library), Expected: Visible(n.Expected.Text), Note: Visible(n.Note), Verified: Visible(n.Verified), Frames: visibles(n.Frames), Origin: Visible(n.Origin), URL: knowledgeURL("n", n.ID)})
		}
	}
	for _, x := range c.Corrections("") {
		if m.keeps(x.Advice, x.Fact, strings.Join(x.Classes, " ")) {
			k.Corrections = append(k.Corrections, Pair{Visible(x.Advice), Visible(x.Fact)})
		}
	}
	for _, t := range c.AllThresholds() {
		if m.keeps(t.Name, t.Text) {
			k.Thresholds = append(k.Thresholds, Pair{capital(Visible(t.Name)), capital(Visible(t.Text)) + "."})
		}
	}
	k.OwnDir = Visible(in.Dir)
	for _, x := range c.Ours() {
		k.Ours = append(k.Ours, Visible(x.Program))
	}
	for _, x := range c.Loads() {
		k.Loads = append(k.Loads, Visible(x.Program+": "+x.Metric))
	}
	if k.Own > 0 {
		k.Shell.Actions = append(k.Shell.Actions, Link{"Own entries as JSON", "/knowledge.json?own=1"})
	}
	return k
}

// Counts says how much there is: "12 classes, 186 known leaks and 134 normal stacks". It is empty
// without an entry.
func (k *Knowledge) Counts() string {
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, wording.PagePlural(int64(n), one, many))
		}
	}
	add(len(k.Classes), "class", "classes")
	add(k.published(), "known leak", "known leaks")
	add(len(k.Normal), "normal stack", "normal stacks")
	if k.Query != "" {
		add(len(k.Leads), "lead", "leads")
		add(len(k.Corrections), "saying", "sayings")
		add(len(k.Thresholds), "rule of thumb", "rules of thumb")
	}
	return wording.List(parts, len(parts))
}

// title is Counts in a sentence.
func (k *Knowledge) title() string {
	switch all := k.Counts(); {
	case k.Query == "":
		return "The catalogue has " + all
	case all == "":
		return "Nothing in the catalogue has “" + k.Query + "”"
	default:
		return all + " with “" + k.Query + "”"
	}
}

// published counts the known leaks without the leads.
func (k *Knowledge) published() int {
	n := 0
	for _, g := range k.Groups {
		n += len(g.Known)
	}
	return n
}

func (k *Knowledge) own(origin string) {
	if origin != "" {
		k.Own++
	}
}

func frames(c *knowledge.Class) string {
	var all []string
	for _, p := range c.Patterns {
		all = append(all, p.Frames...)
	}
	return strings.Join(all, " ")
}

// fewOfGroup is how many known leaks make a group of their own.
const fewOfGroup = 3

// leaks groups the known leaks by class, those without one by the project that they are of, most
// first. Leads are apart: nothing in a capture can match them.
func (k *Knowledge) leaks(c *knowledge.Catalogue, m wordFilter, remembered string) {
	groups := map[string][]KnownLeak{}
	for i := range c.Known() {
		e := &c.Known()[i]
		k.own(e.Origin)
		name, _, _ := strings.Cut(strings.NewReplacer("/", " ", ",", " ").Replace(e.Project), " ")
		if class := c.ClassOf(e); class != nil {
			name = class.Cause
		}
		if !m.keeps(e.ID, e.Title, e.Project, name, e.Group, e.Affected, e.FixedIn, e.Trigger, e.Help(), string(e.Status), strings.Join(e.Signature.Frames, " ")) {
			continue
		}
		entry := catalogued(e)
		if e.Origin != "" && e.Origin == remembered {
			entry.Edit = EntryURL(e.ID)
		}
		if c.IsLead(e) {
			k.Leads = append(k.Leads, entry)
			continue
		}
		groups[name] = append(groups[name], entry)
	}
	var others []KnownLeak
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if known := groups[name]; name != "" && len(known) >= fewOfGroup {
			k.Groups = append(k.Groups, KnownGroup{Name: Visible(name), Known: known})
		} else {
			others = append(others, known...)
		}
	}
	slices.SortStableFunc(k.Groups, func(a, b KnownGroup) int { return len(b.Known) - len(a.Known) })
	if len(others) > 0 {
		k.Groups = append(k.Groups, KnownGroup{Name: "Other projects", Known: others})
	}
}

// catalogued is an entry as the catalogue shows it, without any evidence.
func catalogued(e *knowledge.Entry) KnownLeak {
	out := KnownLeak{ID: Visible(e.ID), Title: Visible(e.Title), Status: statusWord(e.Status), Text: Visible(e.Project), URL: knowledgeURL("k", e.ID), Reference: reference(e.URL), Origin: Visible(e.Origin)}
	for line := range strings.Lines(e.Facts()) {
		out.Excerpt += Visible(strings.TrimRight(line, "\n")) + "\n"
	}
	if len(e.Advisories) > 0 {
		out.Facts = append(out.Facts, Pair{"Advisories", Visible(strings.Join(e.Advisories, ", "))})
	}
	out.facts(e.Affected, e.FixedIn, e.VerifiedBy, e.Trigger, e.Help())
	s := e.Signature
	out.Signature = visibles(s.Frames)
	for _, by := range s.CreatedBy {
		out.Signature = append(out.Signature, "created by "+Visible(by))
	}
	if len(s.WaitStates) > 0 {
		out.Signature = append(out.Signature, "state "+Visible(strings.Join(s.WaitStates, " or ")))
	}
	for _, r := range s.Resources {
		out.Signature = append(out.Signature, Visible(resourceWords(r)))
	}
	if len(s.Programs) > 0 {
		out.Signature = append(out.Signature, "program "+Visible(strings.Join(s.Programs, " or ")))
	}
	for _, print := range s.Fingerprints {
		out.Signature = append(out.Signature, "or the family "+Visible(print))
	}
	out.Signature = append(out.Signature, visibles(s.InWords)...)
	if s.Unseen {
		out.Facts = append(out.Facts, Pair{"Signature", "read from the fix; no published dump shows it, so that a match is only possible"})
	}
	if !s.Matchable() {
		out.Facts = append(out.Facts, Pair{"Matched", "by people only: the report has no signature that a capture could be compared with"})
	}
	return out
}

// resourceWords says what a family without a stack is recognised by: "descriptor with
// role client, type tcp; program node".
func resourceWords(r knowledge.Resource) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		parts = append(parts, name+" "+r.Attributes[name])
	}
	text := string(r.Kind)
	if len(parts) > 0 {
		text += " with " + strings.Join(parts, ", ")
	}
	if len(r.Programs) > 0 {
		text += "; program " + strings.Join(r.Programs, " or ")
	}
	return text
}

// wordFilter keeps what has every word.
type wordFilter struct{ words []string }

func (m wordFilter) keeps(texts ...string) bool {
	if len(m.words) == 0 {
		return true
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	return !slices.ContainsFunc(m.words, func(w string) bool { return !strings.Contains(all, w) })
}
