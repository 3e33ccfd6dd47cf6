package redact

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// vocabularyText are words that reveal nothing: those of our own pages, common English,
// well-known programs and libraries.
//
//go:embed vocabulary.txt
var vocabularyText string

// formatsText are words of what captures consist of: those that the readers know, of kernel files,
// listings and virtual machines. Only in captures themselves they reveal nothing.
//
//go:embed formats.txt
var formatsText string

var formats = set(formatsText)

// vocabulary is made when the first result is shared.
var vocabulary = set(vocabularyText)

// strictness is how far a text is trusted.
type strictness bool

const (
	// listings are rows of figures: long numbers in them identify nobody.
	listings strictness = false
	// free texts are labels, names of threads and what people write: a long number in
	// them may be an account or a telephone.
	free strictness = true
)

// unknownText is a text that may hold words that nobody knows to be harmless.
type unknownText struct {
	text string
	as   strictness
}

// allow notes a text. Before the next text is redacted, the words in it that no rule
// hides and that are not known to be harmless are hidden as well.
func (r *Redactor) allow(as strictness, texts ...string) {
	for _, s := range texts {
		if s != "" {
			r.pending = append(r.pending, unknownText{shown(s), as})
		}
	}
}

var (
	// phone is a telephone number as people write it.
	phone = expression.Lazy(`(?:\+|\b00)\d[\d ()/.-]{6,}\d|\(0\d{1,5}\)[ /-]?\d[\d -]{3,}\d|\b\d{3}[-. ]\d{3}[-. ]\d{4}\b`)
	// figures are numbers of normal evidence with several groups: days, times of day,
	// addresses, versions, sizes and durations with their unit.
	figures = expression.Lazy(`(?:\b20[0-4]\d(?:-[01]\d-[0-3]\d|/[01]\d/[0-3]\d|[01]\d[0-3]\d)(?:[T_ -]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?|T\d{2}-\d{2}-\d{2}|[T_-]\d{6})?Z?\b)` +
		`|\b\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,9})?\b|\b(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\b` +
		`|\b(?:v|go|jdk-?)\d{1,3}(?:\.\d{1,4}){1,3}\b|\b[1-9]?\d\.(?:0|[1-9]\d?)\.(?:0|[1-9]\d{2})(?:-\d{1,4})?\b` +
		`|\b\d+(?:\.\d+)? ?(?:[nmµu]?s|min|h|[kKMGT]i?B|[kKMGT]|B|%|bytes)(?:\b|$)`)
	// groups are groups of digits that are one value, with the letters that touch them.
	groups = expression.Lazy(`[\pL\pN]*\pN(?:(?: / |[ ./,-])\pN+)+[\pL\pN]*`)
	// cutGroups are groups beside the mark of a text that was cut.
	cutGroups = expression.Lazy(groups.String() + `…|…` + groups.String())
	// account is the number of a bank account in groups.
	account = expression.Lazy(`\b[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?\b`)
	// hexNumber is a short number, number a number with its unit: "10u", "v2", "500ms".
	hexNumber = expression.Lazy(`^0x[0-9a-f]{1,5}$`)
	number    = expression.Lazy(`^(\pL{0,2})(\d+)(\pL{0,2})$`)
	// second is a second or a duration, hour a day and hour of a time.
	second = expression.Lazy(`^\d{1,3}\.\d+(?:z|[nmµu]?s|h)?$`)
	hour   = expression.Lazy(`^\d{2}[Tt]\d{2,6}[Zz]?$`)
	// nth is the number of one of several threads: "GC Thread#3".
	nth = expression.Lazy(`#(?:\d{1,5}|N)$`)
	// escaped is a word with bytes that a listing shows as their number.
	escaped = expression.Lazy(`[\pL\pN]*(?:(?:\\x[0-9a-f]{2})+[\pL\pN]*)+`)
	// day is a date without signs.
	day = expression.Lazy(`^20[0-4]\d[01]\d[0-3]\d$`)
	// letters is a word in a name that is written together: "Hikari" and "Pool".
	letters = expression.Lazy(`\p{Lu}+(?:\P{L}|$)|\p{Lu}?\p{Ll}+|\p{Lu}+|\pL+`)
	// ticket is the number of a public ticket.
	ticket = expression.Lazy(`(github\.com/[^/\s]+/[^/\s]+/(?:pull|issues)/)\d+`)
	// cut is a word beside the mark of a text that was cut.
	cut = expression.Lazy(`([^\s…]*)…([^\s…]*)`)
)

// settle hides the unknown words of all texts noted by allow.
func (r *Redactor) settle() {
	pending := r.pending
	r.pending, r.probing = nil, true
	var unknown []string
	for _, p := range pending {
		if p.as == free {
			unknown = append(unknown, phone.FindAllString(p.text, -1)...)
		}
		if r.forms == nil || p.as == free {
			unknown = append(unknown, values(p.text)...)
		} else {
			unknown = append(unknown, account.FindAllString(p.text, -1)...) // rows are full of numbers
		}
		for _, chunk := range strings.Fields(p.text) {
			if key := (unknownText{chunk, p.as}); !r.searched[key] {
				r.searched[key] = true
				unknown = append(unknown, r.unknownIn(chunk, p.as)...)
			}
		}
	}
	r.probing = false
	for _, name := range unknown {
		r.hide(name)
	}
}

// shortestValue is how many digits a value in groups has at least.
const shortestValue = 6

// values are numbers of several groups that may identify somebody: cards, accounts, days
// of birth.
func values(s string) (out []string) {
	if len(strings.Map(digit, s)) < shortestValue || !groups.MatchString(s) {
		return nil
	}
	rest := figures.ReplaceAllString(s, "\n")
	for _, m := range append(account.FindAllString(rest, -1), groups.FindAllString(rest, -1)...) {
		if len(strings.Map(digit, m)) >= shortestValue {
			out = append(out, m)
		}
	}
	return out
}

// digit keeps digits only, each as one byte.
func digit(c rune) rune {
	if unicode.IsDigit(c) {
		return '0'
	}
	return -1
}

// unknownIn returns the elements of a text without blanks that Text would leave and that
// are not known to be harmless.
func (r *Redactor) unknownIn(chunk string, as strictness) (out []string) {
	if chunk = ticket.ReplaceAllString(r.withoutSoftware(chunk), "$1"); r.allHarmless(chunk, as) {
		return nil
	}
	rest := r.Text(chunk)
	for _, e := range elements(rest) {
		if !r.harmless(e, as) {
			out = append(out, e)
		}
	}
	out = append(out, escaped.FindAllString(chunk, -1)...)
	// A password of short pieces is hidden as a whole.
	if len(out) > 0 && rest == chunk && strings.ContainsAny(chunk, odd) && !strings.Contains(chunk, "/") {
		out = append(out, strings.Trim(chunk, `"'(),;`))
	}
	return out
}

// withoutSoftware leaves out what every machine has of the paths of software in a chunk,
// which may be a class path.
func (r *Redactor) withoutSoftware(chunk string) string {
	if !strings.Contains(chunk, "bin/") && !strings.Contains(chunk, "lib") {
		return chunk
	}
	parts := strings.FieldsFunc(chunk, func(c rune) bool { return c == ':' || c == ';' })
	rest, software := make([]string, len(parts)), false
	for i, part := range parts {
		rest[i] = part
		if path := strings.TrimLeft(part, `"'(=`); softwarePath.MatchString(path) {
			rest[i], software = strings.Join(r.unknownSoftware(path), "/"), true
		}
	}
	if !software {
		return chunk
	}
	return strings.Join(rest, ":")
}

var (
	// softwarePath is a path below a directory with the programs and libraries of a
	// system.
	softwarePath = expression.Lazy(`^/(?:usr/)?(?:lib|lib64|libexec|bin|sbin)/|^/usr/local/go/`)
	// softwareFile is the file of a library or a script.
	softwareFile = expression.Lazy(`(?i)\.(?:so(?:\.\d+)*|jar|ko|mo|pyc?|node|jmod)[,;"')]*$`)
	// dataFile holds what a machine works on.
	dataFile = expression.Lazy(`(?i)\.(?:db|sqlite3?|csv|json|log|txt|xml|sql|dump|dat|gz|zip|tgz)[,;"')]*$`)
)

// unknownSoftware returns the elements of a path of software that not every machine
// has: unknown directories, and files of data.
func (r *Redactor) unknownSoftware(path string) (out []string) {
	if strings.HasPrefix(path, "/usr/local/go/") {
		return nil
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		program := last && i > 0 && (parts[i-1] == "bin" || parts[i-1] == "sbin") && !strings.Contains(part, ".")
		data := last && dataFile.MatchString(part) && !plainNames()[strings.ToLower(part)]
		if data || !program && !(last && softwareFile.MatchString(part)) && !r.allHarmless(part, free) {
			out = append(out, part)
		}
	}
	return out
}

func (r *Redactor) allHarmless(s string, as strictness) bool {
	for _, e := range elements(s) {
		if !r.harmless(e, as) {
			return false
		}
	}
	return true
}

// elements splits a text at the signs that structure paths, pairs and addresses.
func elements(s string) []string {
	out := strings.FieldsFunc(s, func(c rune) bool {
		return !alphanumeric(c) && !strings.ContainsRune(inElement, c)
	})
	for i := range out {
		out[i] = strings.Trim(out[i], inElement)
	}
	return out
}

// inElement are the signs inside an element. Those in odd are in no name.
const (
	inElement = "-_.+$" + odd
	odd       = "!%~#^"
)

// harmless reports an element of which every word is known.
func (r *Redactor) harmless(element string, as strictness) bool {
	low := strings.ToLower(element)
	if r.public[low] || plainNames()[low] || r.pseudonym(low) || hexNumber.MatchString(low) || second.MatchString(low) {
		return true
	}
	if element = nth.ReplaceAllString(element, ""); strings.ContainsAny(element, odd) {
		return false
	}
	for _, word := range wordsOf(element) {
		if !r.harmlessWord(word, as) {
			return false
		}
	}
	return true
}

// wordsOf are the runs of letters and digits of an element.
func wordsOf(element string) []string {
	return strings.FieldsFunc(element, func(c rune) bool { return !alphanumeric(c) })
}

func (r *Redactor) harmlessWord(word string, as strictness) bool {
	if r.plain(word) || hour.MatchString(word) || r.forms != nil && as == listings && column.MatchString(word) {
		return true
	}
	if m := number.FindStringSubmatch(word); m != nil {
		short := len(m[2]) < 6 || day.MatchString(word)
		return (as == listings || short) && (prefixes()[strings.ToLower(m[1])] || len(m[1]) > 1 && r.mark(m[1])) && (suffixes()[strings.ToLower(m[3])] || len(m[3]) > 1 && r.mark(m[3]))
	}
	if strings.ContainsFunc(word, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return units()[word]
	}
	if len(word) < shortest {
		return r.mark(word)
	}
	runs := strings.FieldsFunc(word, unicode.IsDigit)
	long := false
	for _, run := range runs {
		if r.plain(run) {
			long = true
			continue
		}
		for _, part := range letters.FindAllString(run, -1) {
			switch n := len(part); {
			case n < shortest && (len(runs) > 1 || !r.mark(part)), n >= shortest && !r.plain(part):
				return false
			case n >= shortest:
				long = true
			}
		}
	}
	return long
}

// mark reports one or two letters that name nobody: one letter, a unit, a short word.
func (r *Redactor) mark(s string) bool {
	low := strings.ToLower(s)
	return len(s) < 2 || units()[low] || vocabulary()[low] || plainNames()[low] || rounds()[low] || common()[low] || r.public[low] || r.forms != nil && formats()[low]
}

var (
	// column is a field of a listing: a letter with a number, a number in hex with zeros in front, a
	// byte in hex.
	column = expression.Lazy(`^(?:[A-Za-z]\d+|0{3,}[0-9A-Fa-f]+|0[A-F])$`)
	// units are units beyond the vocabulary.
	units = set(`µs μs ms ns us kb mb gb tb ki mi gi nd rd th`)
	// prefixes and suffixes are the letters that a harmless number may have: "t0", "v2",
	// "C1", "10u" and "10uW" of lsof, "500m".
	prefixes = known(`t v c g h s k p w d e n r`)
	suffixes = known(`s m h d k g t b u r w x z f µs μs ur uw un ux rr rw rn rx wr ww wn wx`)
)

// known is a set of words, and of none.
func known(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := set(words)()
		out[""] = true
		return out
	})
}

// plain reports a known word of three letters or more, with the usual endings.
func (r *Redactor) plain(word string) bool {
	low := strings.ToLower(word)
	if len(low) < shortest {
		return false
	}
	for _, ending := range []string{"", "s", "es", "d", "ed", "ing", "ly"} {
		if stem, ok := strings.CutSuffix(low, ending); ok && (vocabulary()[stem] || plainNames()[stem] || rounds()[stem] || common()[stem] || softwareParts()[stem] || standards()[stem] || r.forms != nil && formats()[stem]) {
			return true
		}
	}
	return r.public[low]
}

// hide makes Text replace an element and its unknown words. The ending of a source file
// stays.
func (r *Redactor) hide(element string) {
	dot := strings.LastIndexByte(element, '.')
	if whole := r.forms == nil || strings.ContainsAny(element, " ") || groups.MatchString(element) && strings.Trim(element, "0123456789 ./,-()+") == ""; whole && !sources()[strings.ToLower(element[dot+1:])] && !pseudonymIn.MatchString(element) {
		r.hideName(element)
	}
	for _, word := range wordsOf(element) {
		if !r.harmlessWord(word, free) {
			r.hideName(word)
		}
	}
}

func (r *Redactor) hideName(name string) {
	if name = strings.ToLower(name); len(name) >= shortestUnknown && !r.pseudonym(name) {
		r.keepApart(name)
		r.unknown.names[name], r.unknown.heads = Names, nil
	}
}

// pseudonymIn is the place of a pseudonym in a text that was searched.
var pseudonymIn = expression.Lazy(`\b` + pseudonymWord + `-0\b`)

// cutWords replaces the unknown remains of words where a text was cut.
func (r *Redactor) cutWords(s string) string {
	if !strings.Contains(s, "…") {
		return s
	}
	s = cutGroups.ReplaceAllStringFunc(s, func(m string) string {
		value := strings.ToLower(strings.Trim(m, "…"))
		if len(values(value)) == 0 {
			return m
		}
		return strings.Replace(m, strings.Trim(m, "…"), r.name(Names, words[Names], value), 1)
	})
	return cut.ReplaceAllStringFunc(s, func(m string) string {
		before, after, _ := strings.Cut(m, "…")
		return r.remains(before) + "…" + r.remains(after)
	})
}

func (r *Redactor) remains(s string) string {
	if s == "" || r.allHarmless(s, listings) || print.MatchString(s) {
		return s
	}
	return r.name(Names, words[Names], strings.ToLower(s))
}

// allowCase notes every text of a case that evidence or people fill. What is left out is
// named here: functions, types and packages, ids, hashes and fingerprints.
func (r *Redactor) allowCase(c *Case) {
	for _, p := range c.Problems {
		r.allow(free, p.Path, p.What, p.Why, p.Hint)
	}
	r.allow(free, c.Hosts...)
	r.allow(free, c.Files...)
	r.allow(free, c.Said...)
	for snap := range c.snapshots() {
		r.allowSnapshot(snap)
	}
	for stack := range c.stacks() {
		r.allow(free, stack.Unavailable)
		for _, f := range stack.Frames {
			r.allowSource(f)
		}
		r.allowSource(stack.CreatedBy)
	}
}

func (r *Redactor) allowSnapshot(snap *analysis.Snapshot) {
	p := &snap.Process
	r.allow(free, snap.Label, snap.Upload, p.Name.Value, p.Host.Value, p.PID.Value, p.Start.Value, p.Version.Value, p.Called.Value, snap.TimeFact.Value)
	r.allow(listings, p.Name.Source, p.Host.Source, p.PID.Source, p.Start.Source, p.Version.Source, p.Called.Source, snap.TimeFact.Source)
	r.allow(free, snap.Users...)
	for _, a := range snap.Artifacts {
		r.allow(listings, a.Path, a.Kind, a.Reason, a.Outcome)
	}
	for name := range snap.Figures {
		r.allow(free, name)
	}
	for _, form := range snap.Forms {
		r.allow(free, form)
	}
	for _, targets := range snap.Watched {
		for _, t := range targets {
			r.allow(listings, t.What, t.FSType, t.Why, t.PodUID, t.Pod, t.Container)
		}
	}
	for _, labels := range snap.Labels {
		for _, l := range labels {
			r.allow(free, l.Key, l.Value)
		}
	}
	for _, p := range snap.Packages {
		r.allow(free, p.Version)
		r.allow(listings, p.Path)
	}
	for i := range snap.Logged {
		f := &snap.Logged[i]
		r.allow(free, f.Detail)
		r.allow(listings, f.Path)
	}
	for _, s := range snap.Statements {
		r.allow(free, s.Key, s.Title, s.Text, s.Path)
		r.allow(free, s.Threads...)
	}
	for _, p := range snap.Problems {
		r.allow(free, p.Path, p.What, p.Why, p.Hint)
	}
	if snap.Monitors != nil {
		for _, m := range snap.Monitors.List {
			r.allow(free, m.Waiting...)
			if m.Holder != nil {
				r.allow(free, m.Holder.Name, m.Holder.State)
			}
			for _, h := range m.Further {
				r.allow(free, h.Name, h.State)
			}
		}
	}
	if snap.Joined != nil {
		r.allow(free, snap.Joined.LeftOut)
	}
	for i := range snap.Groups {
		r.allowGroup(&snap.Groups[i])
	}
}

func (r *Redactor) allowGroup(g *analysis.Group) {
	r.allow(free, g.Family.Title)
	for name, value := range g.Family.Attributes {
		r.allow(free, name, value)
	}
	for state := range g.States {
		r.allow(free, state)
	}
	for labels := range g.Members.LabelSets() {
		for _, l := range labels.List() {
			r.allow(free, l.Key, l.Value)
		}
	}
	for m := range details(g, mostDetails) {
		r.allow(listings, m.Detail)
	}
}

// allowSource notes the file of a frame, unless it belongs to Go or to a module, whose
// names functions show as well.
func (r *Redactor) allowSource(f analysis.Frame) {
	file := strings.ReplaceAll(f.File, `\`, "/")
	for _, mark := range []string{"/pkg/mod/", "/vendor/"} {
		if before, _, ok := strings.Cut(file, mark); ok {
			file = before
		}
	}
	if root, _, _ := strings.Cut(f.Func, "."); goRoots()[before(root, "/")] {
		file = file[:strings.LastIndexByte(file, '/')+1]
	}
	r.allow(listings, file)
}

func before(s, sign string) string {
	s, _, _ = strings.Cut(s, sign)
	return s
}

// goRoots are the first elements of the packages of Go itself.
var goRoots = set(`bufio bytes context crypto database encoding errors fmt go hash html internal io iter log math mime net os path reflect runtime slices sort strings sync syscall testing text time unicode`)
