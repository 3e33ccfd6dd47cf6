package view

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// Func is a function or another name in two parts: the path is printed quietly,
// the name strongly. Full is what a pointer resting on it shows.
type Func struct {
	Path, Name, Full string
}

func shortFunc(full string) Func {
	path, name := document.FunctionName(ShortFunc(full))
	return Func{Path: Visible(path), Name: Visible(name), Full: Visible(full)}
}

func longFunc(full string) Func {
	path, name := document.FunctionName(full)
	return Func{Path: Visible(path), Name: Visible(name), Full: Visible(full)}
}

// FamilyName is how tables and headings name a family.
type FamilyName struct {
	Kind string
	// Title is the short name; Aside is what tells it from a namesake ("via
	// handlers.serve"), empty mostly.
	Title Func
	Aside string
	// Function says that Title names a function and is set in the monospace.
	Function bool
	// Package is the import path behind the title; Creator who started it.
	Package string
	Creator *Func
	// Attributes are "state CLOSE_WAIT" and the like, for kinds without stacks.
	Attributes []Pair
	URL        string
	// Whole is the title in plain words.
	Whole string

	// rest are the words of Whole that the page leaves out: who started it, the mask of a watch.
	rest string
}

// Text is the whole title in plain words.
func (f FamilyName) Text() string { return f.Whole }

// Pair is a named value.
type Pair struct {
	Name, Value string
}

// term is the value under its name.
func (p Pair) term() document.Term {
	return document.Term{Name: document.Words(p.Name), Blocks: document.Blocks{document.Words(p.Value)}}
}

// span is the name alone, a link on live pages. It is never cut: what tells names apart
// stands at their ends.
func (f *FamilyName) span() document.Span {
	out := document.Span{Look: document.Resource, Text: f.Title.Path + f.Title.Name, Title: f.Title.Full, URL: f.URL}
	if f.Function {
		out.Look = document.Function
	}
	if f.URL != "" {
		out.Link = quietLink
	}
	return out
}

var quietLink = &document.Link{Look: "quiet"}

// titleBlock is the name in a table.
func (f *FamilyName) titleBlock() document.Group {
	text := document.Text{f.span()}
	if f.Aside != "" {
		text = append(text, document.Plain(" "), document.Marked("via", f.Aside))
	}
	return document.Group{Look: "ft", Blocks: document.Blocks{text}}
}

// byBlock is the second line: package and creator, or attributes.
func (f *FamilyName) byBlock() document.Group {
	var text document.Text
	if f.Package != "" {
		text = append(text, document.Marked(document.Mono, f.Package), document.Plain(" "))
	}
	if f.Creator != nil {
		if f.Package != "" {
			text = append(text, document.Marked("sep", "·"), document.Plain(" "))
		}
		text = append(text, document.Made("cb", document.Plain("created by "), document.Span{Look: document.Mono, Text: f.Creator.Path + f.Creator.Name, Title: f.Creator.Full}))
	}
	for i, a := range f.Attributes {
		if i > 0 {
			text = append(text, document.Marked("sep", "·"), document.Plain(" "))
		}
		text = append(text, document.Plain(a.Name+" "), document.Made(document.Soft, document.Marked(document.Breakable, a.Value)), document.Plain(" "))
	}
	if !f.Function && len(f.Attributes) == 0 {
		text = append(text, document.Plain(f.Kind))
	}
	return document.Group{Look: "by", Blocks: document.Blocks{text}}
}

// asides are the words with which titles tell namesakes apart
// (formats/goroutine.md section 8).
var asides = [...]string{" via ", " in ", " <- ", " ← ", " ("}

// newFamilyName names a family. Frames are leaf first and may be empty.
func newFamilyName(title string, kind analysis.Kind, frames []string, creator string, attributes map[string]string) FamilyName {
	out := FamilyName{Kind: kindWord(kind, 1), Whole: Visible(arrow(title))}
	if kind != analysis.KindGoroutine {
		out.Title, out.rest = resourceName(title, attributes["mask"])
		out.Attributes = attributePairs(attributes)
		return out
	}
	main, aside := splitTitle(title)
	out.rest = Visible(arrow(aside))
	if creator != "" {
		aside = withoutCreator(aside)
	}
	out.Function, out.Aside = true, Visible(arrow(aside))
	out.Title = shortFunc(main)
	full := fullName(main, frames, creator)
	if full != "" {
		out.Title.Full = Visible(full)
		path, _ := document.FunctionName(full)
		out.Package = Visible(strings.TrimSuffix(path, "."))
	}
	if creator != "" && ShortFunc(creator) != main {
		f := shortFunc(creator)
		out.Creator = &f
	}
	return out
}

// resourceName splits the name of what is not a function behind its last slash
// and drops the mask, which stands among the attributes:
//
//	"inotify watch inside cgroup /sys/fs/cgroup/pids, IN_CREATE|IN_DELETE"
//	→ "inotify watch inside cgroup /sys/fs/cgroup/", "pids", and the mask
func resourceName(title, mask string) (name Func, dropped string) {
	short := title
	if names, _, _ := strings.Cut(mask, " ("); names != "" && strings.HasSuffix(title, ", "+names) {
		short, dropped = strings.TrimSuffix(title, ", "+names), Visible(names)
	}
	at := strings.LastIndexByte(short, '/') + 1
	if at == len(short) {
		at = 0
	}
	return Func{Path: Visible(short[:at]), Name: Visible(short[at:]), Full: Visible(title)}, dropped
}

// splitTitle separates the function from the words behind it:
//
//	"ttrpc.(*serverConn).run in ttrpc.readMessageHeader"
//	→ "ttrpc.(*serverConn).run", "in ttrpc.readMessageHeader"
func splitTitle(title string) (main, aside string) {
	for at := 1; at < len(title); at++ {
		next := strings.IndexByte(title[at:], ' ')
		if next < 0 {
			break
		}
		at += next
		for _, word := range asides {
			if strings.HasPrefix(title[at:], word) {
				return title[:at], strings.TrimSpace(title[at:])
			}
		}
	}
	return title, ""
}

// withoutCreator drops the creator from an aside; pages print it on a line of
// its own:
//
//	"<- metrics.(*Base).Collect via collectors.(*log).Collect" → "via collectors.(*log).Collect"
func withoutCreator(aside string) string {
	rest, ok := strings.CutPrefix(aside, "<- ")
	if !ok {
		return aside
	}
	_, rest = splitTitle(rest)
	return rest
}

// seen returns what a table shows of the name on its first line.
func (f *FamilyName) seen() string { return f.Title.Path + f.Title.Name + " " + f.Aside }

// together are the names of the families that stand in one table.
type together struct {
	names        []*FamilyName
	fingerprints []string
}

func (t *together) add(n *FamilyName, fingerprint string) {
	t.names, t.fingerprints = append(t.names, n), append(t.fingerprints, fingerprint)
}

// tellApart gives names that look alike what differs between them: the words of the
// title that the page leaves out otherwise (who started it, the mask of a watch), else
// the path of the package, else digits of the fingerprint.
func (t *together) tellApart() {
	names := t.names
	for _, more := range []func(i int) string{
		func(i int) string { return names[i].rest },
		func(i int) string { return strings.TrimSpace(names[i].Aside + " in " + names[i].Package) },
		func(i int) string {
			_, hex, _ := strings.Cut(t.fingerprints[i], ":")
			return strings.TrimSpace(names[i].Aside + " #" + hex[:min(6, len(hex))])
		},
	} {
		first := make(map[string]int, len(names))
		alike := map[int][]int{} // by the first of them
		for i, n := range names {
			seen := n.seen()
			at, again := first[seen]
			switch {
			case !again:
				first[seen] = i
			case alike[at] == nil:
				alike[at] = []int{at, i}
			default:
				alike[at] = append(alike[at], i)
			}
		}
		if len(alike) == 0 {
			return
		}
		for _, group := range alike {
			words := make([]string, len(group))
			for k, i := range group {
				words[k] = more(i)
			}
			if !slices.ContainsFunc(words, func(w string) bool { return w != words[0] }) {
				continue
			}
			for k, i := range group {
				names[i].Aside = words[k]
			}
		}
	}
}

// arrow writes the creator's mark of titles as one character.
func arrow(title string) string {
	if strings.IndexByte(title, '<') < 0 {
		return title
	}
	return strings.ReplaceAll(title, "<-", "←")
}

// fullName finds the frame or creator that a short title stands for.
func fullName(short string, frames []string, creator string) string {
	for _, f := range frames {
		if full := standsFor(short, f); full != "" {
			return full
		}
	}
	return standsFor(short, creator)
}

// standsFor is the short title with the path of a function that it stands for, "" for
// another one.
func standsFor(short, function string) string {
	if !strings.Contains(function, short) {
		return ""
	}
	s := ShortFunc(function)
	if function == "" || s != short && !strings.HasPrefix(s, short+".") && !strings.HasSuffix(s, short) {
		return ""
	}
	path, _ := document.FunctionName(function)
	_, name := document.FunctionName(short)
	return path + name
}

func attributePairs(attributes map[string]string) []Pair {
	var out []Pair
	for _, k := range slices.Sorted(maps.Keys(attributes)) {
		if attributes[k] != "" {
			out = append(out, Pair{Visible(k), Visible(attributes[k])})
		}
	}
	return out
}

// kindWord is the word for n members of a kind.
func kindWord(k analysis.Kind, n int) string {
	one, many := string(k), wording.Kinds(k)
	if k == analysis.KindWatch {
		one, many = "inotify watch", "inotify watches"
	}
	if n == 1 {
		return one
	}
	return many
}

// kindTitle is the plural as a row's or tab's name.
func kindTitle(k analysis.Kind) string {
	if k == analysis.KindWatch {
		return "Watches"
	}
	word := kindWord(k, 2)
	return strings.ToUpper(word[:1]) + word[1:]
}

// many writes a count with its kind: "24 goroutines".
func many(k analysis.Kind, n int) string { return wording.Number(int64(n)) + " " + kindWord(k, n) }

// SeriesKey names a series in addresses: "host/name", or "/name" without host.
func SeriesKey(host, process string) string { return host + "/" + process }

func caseURL(id string) string { return "/cases/" + url.PathEscape(id) }

func bundleURL(id string) string { return "/bundles/" + url.PathEscape(id) }

func snapshotURL(id, caseID string) string {
	return "/snapshots/" + url.PathEscape(id) + "?" + url.Values{"case": {caseID}}.Encode()
}

// ofCases are the query values that name the case of a page, and the one of A where
// that is another one, "" where it is not.
func ofCases(caseID, otherID string) url.Values {
	q := url.Values{"case": {caseID}}
	if otherID != "" {
		q.Set("acase", otherID)
	}
	return q
}

// diffURL is the address of a comparison; otherID is the case of a where it is not that
// of b, else "".
func diffURL(a, b, caseID, otherID string) string {
	return "/diff/" + url.PathEscape(a) + ".." + url.PathEscape(b) + "?" + ofCases(caseID, otherID).Encode()
}

// familyURL is the address of a family in a case; without a series it is the first
// that has it.
func familyURL(fingerprint, caseID, series string) string {
	return familyPath(fingerprint) + familyQuery(caseID, series)
}

func familyPath(fingerprint string) string { return "/families/" + url.PathEscape(fingerprint) }

// familyQuery returns what the addresses of all families of a series end with.
func familyQuery(caseID, series string) string {
	q := url.Values{"case": {caseID}}
	if series != "" {
		q.Set("series", series)
	}
	return "?" + q.Encode()
}

// printable is the name to print where a process may have none.
func printable(name string) string {
	if name == "" {
		return "unnamed process"
	}
	return Visible(name)
}

// State is one state with its number of members.
type State struct {
	Name  string
	Count string
}

// orDash writes a count; a dash says that the kind was not captured there.
func orDash(n analysis.Count) string {
	if !n.Known() {
		return "–"
	}
	return wording.Number(int64(n.N))
}
