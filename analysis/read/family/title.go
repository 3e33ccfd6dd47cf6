package family

import (
	"sort"
	"strings"

	"leakdiff/analysis"
)

// function is a compared frame as titles see it. exact and file are empty if
// only the family is known and none of its stacks.
type function struct {
	loose, exact, file string
	owner              owner
}

func functionOf(loose string) function { return function{loose: loose, owner: ownerOf(loose)} }

// Title names a goroutine family by its discriminating function.
type Title struct {
	// Text is short: last path elements, and after an arrow the creator if it is
	// another function.
	Text string
	// Name is Text without the creator.
	Name string
	// Function is the full loose name of the discriminating function, Creator that
	// of the creator; either may be empty.
	Function string
	Creator  string
}

func (r *reading) title(functions []function) Title {
	if r.unavailable != "" {
		if r.unavailable == analysis.TooManyStacks {
			return Title{Text: "others: " + r.unavailable}
		}
		return unavailableTitle(r.looseCreator)
	}
	return titleOf(functions, r.looseCreator)
}

func unavailableTitle(creator string) Title {
	if creator == "" {
		return Title{Text: "stack unavailable"}
	}
	return Title{Text: short(creator) + ", stack unavailable", Function: creator, Creator: creator}
}

func titleOf(frames []function, creator string) Title {
	if len(frames) == 0 && creator == "" {
		return Title{Text: "goroutine without frames"}
	}
	named := discriminating(frames, creator)
	t := Title{Text: short(named), Function: named, Creator: creator}
	if named == creator {
		if at := foreign(frames); at >= 0 && frames[at].loose != named {
			t.Text += " in " + short(frames[at].loose)
		}
		t.Name = t.Text
		return t
	}
	t.Name = t.Text
	if creator != "" {
		t.Text += " <- " + short(creator)
	}
	return t
}

// discriminating is the function that a title names, the first of these that exists:
// the frame nearest the leaf that is neither standard library nor plumbing; such a
// creator; the outermost frame of plumbing; the outermost frame of the standard library
// outside its machinery; the creator; the outermost frame.
func discriminating(frames []function, creator string) string {
	list := shippedPlumbing()
	for _, f := range frames {
		if programCode(list, f) {
			return f.loose
		}
	}
	if creator != "" && programCode(list, functionOf(creator)) {
		return creator
	}
	if at := outermost(frames, func(f function) bool { return f.owner != standardLibrary }); at >= 0 {
		return frames[at].loose
	}
	if at := outermost(frames, func(f function) bool { return !machinery(f.loose) }); at >= 0 {
		return frames[at].loose
	}
	if creator != "" {
		return creator
	}
	return frames[len(frames)-1].loose
}

// programCode reports whether a function is written code outside the standard library.
func programCode(list *plumbing, f function) bool {
	return f.owner == program && !list.generated(f.file)
}

// foreign is the frame nearest the leaf outside the standard library, -1 if there is
// none.
func foreign(frames []function) int {
	for i, f := range frames {
		if f.owner != standardLibrary {
			return i
		}
	}
	return -1
}

func outermost(frames []function, wanted func(function) bool) int {
	for i := len(frames) - 1; i >= 0; i-- {
		if wanted(frames[i]) {
			return i
		}
	}
	return -1
}

// entry is the roll-up key above the loose fingerprint: the outermost telling
// function, else the outermost one, and the creator.
func entry(frames []function, creator string) string {
	list := shippedPlumbing()
	at := outermost(frames, func(f function) bool { return programCode(list, f) })
	switch {
	case at < 0 && len(frames) == 0:
		return creator
	case at < 0:
		at = len(frames) - 1
	}
	name := frames[at].loose
	if creator == "" || creator == name {
		return name
	}
	return name + " <- " + creator
}

// short is a function for people: the last path element and the name; the
// standard library keeps its whole path.
//
//	"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run" = "prober.(*worker).run"
//	"net/http.(*persistConn).readLoop"                   = "net/http.(*persistConn).readLoop"
func short(name string) string {
	if standard(name) {
		return name
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Name is what a sentence calls a family: its function and, if that is another one, the
// function that started it; of watches where they are. Both are empty for other kinds, whose
// title is their name.
type Name struct{ Function, Creator string }

// NameOf returns the name of a family. variants is as for Titles.
//
//	"main.(*worker).wait <- main.start"                  main.(*worker).wait, main.start
//	"inotify watch inside ext4 /, IN_CREATE|IN_DELETE"   inside ext4 /
func NameOf(f *analysis.Family, variants func(fingerprint string) []*analysis.Stack) Name {
	switch f.Kind {
	case analysis.KindGoroutine:
		_, t := framesOf(f, variants)
		if t.Name == "" {
			return Name{Function: t.Text}
		}
		if t.Name == t.Text {
			return Name{Function: t.Name}
		}
		return Name{Function: t.Name, Creator: short(t.Creator)}
	case analysis.KindWatch:
		if f.Attributes["handle"] != "" {
			return Name{}
		}
		return Name{Function: watchPlace(f.Attributes["fstype"], f.Attributes["mount"], f.Attributes["inode"], f.Attributes["status"])}
	}
	return Name{}
}

// titled is a family among others.
type titled struct {
	family *analysis.Family
	title  Title
	text   string
	// frames are read again if another family has the same title.
	frames []function
}

// Titles returns a title for every family of one dump or series, by fingerprint.
// Families that would share a title get an addition: a function that only one of them
// has, the exact name of the titled function, or, if they differ in order alone, digits
// of the fingerprint. variants returns some exact stacks of a family and may return
// none; families without stacks keep their title.
func Titles(families []*analysis.Family, variants func(fingerprint string) []*analysis.Stack) map[string]string {
	all := make([]*titled, 0, len(families))
	seen := make(map[string]bool, len(families))
	for _, f := range families {
		if !seen[f.Fingerprint] {
			seen[f.Fingerprint] = true
			all = append(all, entitle(f, variants))
		}
	}
	for _, alike := range byText(all) {
		for _, t := range alike {
			t.frames, t.title = framesOf(t.family, variants)
		}
		distinguish(alike)
		for _, t := range alike {
			t.frames = nil
		}
	}
	for _, alike := range byText(all) {
		for _, t := range alike {
			t.text += " #" + digits(t.family.Fingerprint)
		}
	}
	out := make(map[string]string, len(all))
	for _, t := range all {
		out[t.family.Fingerprint] = t.text
	}
	return out
}

func entitle(f *analysis.Family, variants func(string) []*analysis.Stack) *titled {
	t := &titled{family: f, text: f.Title}
	if f.Kind == analysis.KindGoroutine {
		_, title := framesOf(f, variants)
		t.text = title.Text
	}
	return t
}

// framesOf are the functions of a family with its title, none of a kind without stacks.
func framesOf(f *analysis.Family, variants func(string) []*analysis.Stack) ([]function, Title) {
	if f.Kind != analysis.KindGoroutine {
		return nil, Title{Text: f.Title}
	}
	var stacks []*analysis.Stack
	if variants != nil {
		stacks = variants(f.Fingerprint)
	}
	if len(stacks) > 0 {
		r := read(stacks[0], nameOf)
		functions := r.functions()
		return functions, r.title(functions)
	}
	var functions []function
	for _, name := range f.Loose {
		functions = append(functions, functionOf(name))
	}
	title := titleOf(functions, f.LooseCreator)
	if len(functions) == 0 {
		title.Text = f.Title
	}
	return functions, title
}

// byText returns the groups of different families that share a title, in the
// order of their titles and fingerprints.
func byText(all []*titled) [][]*titled {
	groups := map[string][]*titled{}
	for _, t := range all {
		groups[t.text] = append(groups[t.text], t)
	}
	var out [][]*titled
	for _, alike := range groups {
		if len(alike) > 1 {
			sort.Slice(alike, func(i, j int) bool { return alike[i].family.Fingerprint < alike[j].family.Fingerprint })
			out = append(out, alike)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i][0].text < out[j][0].text })
	return out
}

// distinguish appends to each of several equal titles what only that family has.
func distinguish(alike []*titled) {
	holders := map[string]int{}
	for _, t := range alike {
		for name := range names(t.frames) {
			holders[name]++
		}
	}
	for _, t := range alike {
		t.text += t.distinction(func(f function) bool {
			return holders[f.loose] == 1 && f.loose != t.title.Function
		})
	}
}

// distinction is the addition that separates a family from its namesakes; only holds
// for the functions that none of them has.
func (t *titled) distinction(only func(function) bool) string {
	if at := outermost(t.frames, func(f function) bool { return only(f) && f.owner != standardLibrary }); at >= 0 {
		return " via " + short(t.frames[at].loose)
	}
	if at := outermost(t.frames, func(f function) bool { return only(f) && !machinery(f.loose) }); at >= 0 {
		return " in " + t.frames[at].loose
	}
	if at := outermost(t.frames, only); at >= 0 {
		return " in " + t.frames[at].loose
	}
	if exact := t.exactName(); exact != "" {
		return " (" + short(exact) + ")"
	}
	return ""
}

func names(frames []function) map[string]bool {
	out := make(map[string]bool, len(frames))
	for _, f := range frames {
		out[f.loose] = true
	}
	return out
}

// exactName is the exact name of the titled function, empty if it adds nothing to the
// loose one.
func (t *titled) exactName() string {
	for _, f := range t.frames {
		if f.loose == t.title.Function && f.exact != "" && f.exact != f.loose {
			return f.exact
		}
	}
	return ""
}

// digits are the first of a fingerprint.
//
//	"g1:6b0f12ab…" = "6b0f12"
func digits(fingerprint string) string {
	_, hex, _ := strings.Cut(fingerprint, ":")
	return hex[:min(6, len(hex))]
}
