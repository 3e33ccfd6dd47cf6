package knowledge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"leakdiff/analysis"
)

// rules is the part of JSON Schema (draft 2020-12) that schema.json uses. A test checks
// that it uses no other.
type rules struct {
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Const       *string           `json:"const"`
	Enum        []string          `json:"enum"`
	Required    []string          `json:"required"`
	Properties  map[string]*rules `json:"properties"`
	Additional  json.RawMessage   `json:"additionalProperties"`
	Items       *rules            `json:"items"`
	MinItems    *int              `json:"minItems"`
	MaxItems    *int              `json:"maxItems"`
	MinLength   *int              `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
	Minimum     *float64          `json:"minimum"`
	Pattern     string            `json:"pattern"`
	Defs        map[string]*rules `json:"$defs"`
	Schema      string            `json:"$schema"`
	ID          string            `json:"$id"`
	Title       string            `json:"title"`
	Description string            `json:"description"`

	expression *regexp.Regexp
	others     *rules
	closed     bool
}

var schema = sync.OnceValue(func() *rules {
	r := &rules{}
	if err := json.Unmarshal(SchemaText(), r); err != nil {
		panic("the embedded schema is broken: " + err.Error())
	}
	r.ready()
	return r
})

// ready compiles expressions and reads additionalProperties, which is false or rules.
func (r *rules) ready() {
	if r.Pattern != "" {
		r.expression = regexp.MustCompile(r.Pattern)
	}
	switch string(bytes.TrimSpace(r.Additional)) {
	case "", "true":
	case "false":
		r.closed = true
	default:
		r.others = &rules{}
		if err := json.Unmarshal(r.Additional, r.others); err == nil {
			r.others.ready()
		}
	}
	for _, inner := range r.Properties {
		inner.ready()
	}
	for _, inner := range r.Defs {
		inner.ready()
	}
	if r.Items != nil {
		r.Items.ready()
	}
}

// checker checks a file against the schema.
type checker struct {
	name     string
	text     []byte
	root     *rules
	problems []analysis.Problem
	// bad counts the problems so far, including those that are not kept.
	bad int
}

func (c *checker) say(n *node, where, what, why, hint string) {
	c.bad++
	if len(c.problems) >= mostProblems {
		return
	}
	line, offset := int64(0), int64(-1)
	if n != nil {
		line, offset = lineAt(c.text, n.start), int64(n.start)
	}
	if where != "" {
		what = where + " " + what
	}
	c.problems = append(c.problems, analysis.Problem{Path: c.name, Line: line, Offset: offset, Severity: analysis.Warning, What: what, Why: why, Hint: hint})
}

func (c *checker) check(n *node, r *rules, where string) {
	for r.Ref != "" {
		r = c.root.Defs[strings.TrimPrefix(r.Ref, "#/$defs/")]
	}
	if !c.typed(n, r, where) {
		return
	}
	switch n.kind {
	case "object":
		c.checkObject(n, r, where)
	case "array":
		c.checkArray(n, r, where)
	case "string":
		c.checkString(n, r, where)
	case "number":
		if v, err := n.value.(json.Number).Float64(); err == nil && r.Minimum != nil && v < *r.Minimum {
			c.say(n, where, "is too small", fmt.Sprintf("it is %s, at least %g is meant", n.brief(), *r.Minimum), "correct the number")
		}
	}
}

func (c *checker) typed(n *node, r *rules, where string) bool {
	want := r.Type
	if want == "" && (r.Const != nil || r.Enum != nil) {
		want = "string"
	}
	have := n.kind
	if want == "integer" && have == "number" {
		if _, err := strconv.Atoi(string(n.value.(json.Number))); err == nil {
			return true
		}
	}
	if want == "" || want == have {
		return true
	}
	c.say(n, where, "is of the wrong type", fmt.Sprintf("it is %s, %s %s is meant", n.brief(), article(want), want), "write "+article(want)+" "+want+", or leave the field out")
	return false
}

func article(word string) string {
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an"
	}
	return "a"
}

func (c *checker) checkObject(n *node, r *rules, where string) {
	for _, name := range r.Required {
		if n.fields[name] == nil {
			c.say(n, where, "lacks "+strconv.Quote(name), "every item of this kind has it", "add the field")
		}
	}
	for _, name := range n.keys {
		inner := r.Properties[name]
		switch {
		case inner != nil:
		case r.others != nil:
			inner = r.others
		case r.closed:
			c.say(n.fields[name], where, "has the field "+strconv.Quote(name)+", which nothing reads", "known fields are "+fieldNames(r), "correct its name or delete it")
			continue
		default:
			continue
		}
		c.check(n.fields[name], inner, joinPath(where, name))
	}
}

func fieldNames(r *rules) string {
	var names []string
	for name := range r.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// joinPath words the path of a value: known[3] (my-leak).signature.frames_in_order[0].
func joinPath(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}

func (c *checker) checkArray(n *node, r *rules, where string) {
	if r.MinItems != nil && len(n.items) < *r.MinItems {
		c.say(n, where, "is too short", fmt.Sprintf("it has %d items, at least %d are meant", len(n.items), *r.MinItems), "add items or leave the field out")
	}
	if r.MaxItems != nil && len(n.items) > *r.MaxItems {
		c.say(n, where, "is too long", fmt.Sprintf("it has %d items, at most %d are read", len(n.items), *r.MaxItems), "leave out the less telling ones")
	}
	if r.Items == nil {
		return
	}
	for i, inner := range n.items {
		c.check(inner, r.Items, itemPath(where, i, inner))
	}
}

func itemPath(where string, i int, n *node) string {
	path := fmt.Sprintf("%s[%d]", where, i)
	if id := n.named(); id != "" {
		path += " (" + id + ")"
	}
	return path
}

func (c *checker) checkString(n *node, r *rules, where string) {
	s := n.value.(string)
	length := utf8.RuneCountInString(s)
	switch {
	case r.Const != nil && s != *r.Const:
		c.say(n, where, "is not "+strconv.Quote(*r.Const), "it is "+n.brief(), "a file of another version may need another release")
	case r.Enum != nil && !slices.Contains(r.Enum, s):
		c.say(n, where, "is an unknown word", "it is "+n.brief(), "write one of "+strings.Join(r.Enum, ", "))
	case r.MinLength != nil && length < *r.MinLength:
		c.say(n, where, "is too short", fmt.Sprintf("it has %d characters, at least %d are meant", length, *r.MinLength), "write it out or leave the field out")
	case r.MaxLength != nil && length > *r.MaxLength:
		c.say(n, where, "is too long", fmt.Sprintf("it has %d characters, at most %d are read", length, *r.MaxLength), "shorten it")
	case r.expression != nil && !r.expression.MatchString(s):
		c.say(n, where, "has the wrong form", "it is "+n.brief()+", which does not match "+r.Pattern, "correct it")
	}
}

// Parse reads one catalogue file. Items that violate the schema are left out, each with
// a problem that names place and reason. The document is nil if nothing can be read.
func Parse(f File) (*Document, []analysis.Problem) {
	text := bytes.TrimPrefix(f.Text, []byte("\xef\xbb\xbf"))
	if len(text) > mostBytes {
		return nil, []analysis.Problem{tooLarge(f.Name, int64(len(text)))}
	}
	root, at, err := parseTree(text)
	if err != nil {
		return nil, []analysis.Problem{{Path: f.Name, Line: lineAt(text, at), Offset: int64(at), Severity: analysis.Error, What: "the knowledge file is no JSON",
			Why: err.Error(), Hint: "correct the text there, a missing comma or quote mostly"}}
	}
	c := &checker{name: f.Name, text: text, root: schema()}
	if root.kind == "object" {
		return c.document(root)
	}
	c.say(root, "", "the knowledge file is no object", "it is "+root.brief(), `write {"schema": "`+Schema+`", "known": [...]}`)
	return nil, c.finish()
}

// document decodes the valid items. The fields of the file itself must be valid.
func (c *checker) document(root *node) (*Document, []analysis.Problem) {
	c.fields(root)
	if c.bad > 0 && (root.fields["schema"] == nil || c.wrongSchema(root)) {
		return nil, c.finish()
	}
	doc := &Document{Schema: Schema}
	doc.Components = items[Component](c, root, "components")
	doc.Thresholds = items[Threshold](c, root, "thresholds")
	doc.Corrections = items[Correction](c, root, "corrections")
	doc.Classes = items[Class](c, root, "classes")
	doc.Known = items[Entry](c, root, "known")
	doc.Normal = items[Normal](c, root, "normal")
	doc.Ours = items[Ours](c, root, "ours")
	doc.Loads = items[Load](c, root, "loads")
	if n := root.fields["threshold_note"]; n != nil && n.kind == "string" {
		doc.ThresholdNote = n.value.(string)
	}
	return doc, c.finish()
}

// fields checks the file's own fields, without the items of its lists.
func (c *checker) fields(root *node) {
	shallow := *c.root
	shallow.Properties = map[string]*rules{}
	for name, r := range c.root.Properties {
		if r.Type == "array" {
			r = &rules{Type: "array"}
		}
		shallow.Properties[name] = r
	}
	c.check(root, &shallow, "")
}

func (c *checker) wrongSchema(root *node) bool {
	n := root.fields["schema"]
	return n.kind != "string" || n.value.(string) != Schema
}

// items decodes the items of a list that follow the schema and have an id of their own.
func items[T any](c *checker, root *node, name string) []T {
	list := root.fields[name]
	if list == nil || list.kind != "array" {
		return nil
	}
	var out []T
	seen := map[string]bool{}
	for i, n := range list.items {
		where, before, told := itemPath(name, i, n), c.bad, len(c.problems)
		c.check(n, c.root.Properties[name].Items, where)
		if id := n.named(); id != "" {
			if seen[id] && c.bad == before {
				c.say(n, where, "has an id that an earlier item has", "two items cannot be told apart", "give it another id, or delete one of them")
			}
			seen[id] = true
		}
		if c.bad > before {
			c.ignore(told)
			continue
		}
		var item T
		if err := json.Unmarshal(c.text[n.start:n.end], &item); err != nil {
			c.say(n, where, "cannot be read", err.Error(), "correct it")
			c.ignore(told)
			continue
		}
		out = append(out, item)
	}
	return out
}

// ignored begins the text of a problem that leaves its whole item out.
const ignored = "this entry is ignored: "

// ignore adds to the problems of an item, from index from on, that the item is left
// out.
func (c *checker) ignore(from int) {
	for i := range c.problems[min(from, len(c.problems)):] {
		c.problems[from+i].What = ignored + c.problems[from+i].What
	}
}

func (c *checker) finish() []analysis.Problem {
	if more := c.bad - len(c.problems); more > 0 {
		c.problems = append(c.problems, analysis.Problem{Path: c.name, Offset: -1, Severity: analysis.Warning, What: fmt.Sprintf("%d more problems of this file are not listed", more),
			Why: "a list of more helps nobody", Hint: "mend the first ones and look again"})
	}
	return c.problems
}

// checkEntry reports contradictions in an entry that the schema cannot find.
func (j *joined) checkEntry(file string, e Entry) []analysis.Problem {
	var out []analysis.Problem
	say := func(what, why, hint string) {
		out = append(out, analysis.Problem{Path: file, Offset: -1, Severity: analysis.Warning, What: "known leak " + e.ID + ": " + what, Why: why, Hint: hint})
	}
	if e.Status == BoundedBacklog && e.BoundMinutes == 0 {
		say("bound_minutes is missing", "a bounded backlog is told from a leak by how long it lasts", "add the minutes after which it drains, or choose another status")
	}
	if e.Status != BoundedBacklog && e.BoundMinutes != 0 {
		say("bound_minutes means nothing here", "only a bounded backlog has a bound; the status is "+string(e.Status), "delete it or correct the status")
	}
	if c := e.Versions.Component; c != "" && !slices.ContainsFunc(j.doc.Components, func(x Component) bool { return x.Name == c }) {
		// The problem only costs the comparison of versions.
		out = append(out, analysis.Problem{Path: file, Offset: -1, Severity: analysis.Note, What: "known leak " + e.ID + ": the component " + strconv.Quote(c) + " is unknown; the entry is matched, and no version is compared",
			Why: "without its programs and modules no version can be compared", Hint: "add it to \"components\" of the same file"})
	}
	for _, p := range slices.Concat(e.Signature.Frames, e.Signature.CreatedBy) {
		if why := vague(p); why != "" {
			out = append(out, tooVague(file, "known leak "+e.ID, p, why))
		}
	}
	return out
}

func checkNormal(file string, n Normal) []analysis.Problem {
	for _, p := range slices.Concat(n.Frames, n.CreatedBy) {
		if why := vague(p); why != "" {
			return []analysis.Problem{tooVague(file, "normal stack "+n.ID, p, why)}
		}
	}
	return nil
}

func checkClass(file string, c Class) []analysis.Problem {
	for _, one := range c.Patterns {
		of := vague
		if one.Kind == analysis.KindThread {
			of = vagueJava
		}
		for _, p := range one.Frames {
			if why := of(p); why != "" {
				return []analysis.Problem{tooVague(file, "class "+c.Key, p, why)}
			}
		}
		for _, p := range one.CreatedBy {
			if why := vague(p); why != "" {
				return []analysis.Problem{tooVague(file, "class "+c.Key, p, why)}
			}
		}
	}
	return nil
}

func tooVague(file, item, pattern, why string) analysis.Problem {
	return analysis.Problem{Path: file, Offset: -1, Severity: analysis.Warning, What: item + ": the pattern " + strconv.Quote(pattern) + " says too little", Why: why,
		Hint: "write the function with its import path as dumps print it"}
}

// The reasons why a pattern would match nearly everything.
const (
	nothingLeft     = "nothing of it is left after normalisation"
	sharedBeginning = "it is a beginning that many functions share"
)

// vague returns why a pattern would match nearly everything, or "".
func vague(text string) string {
	p := newPattern(text)
	bare := strings.Trim(p.text, "./()*")
	switch {
	case len(bare) < 3:
		return nothingLeft
	case p.open && !strings.ContainsAny(bare, "./"):
		return sharedBeginning
	}
	return ""
}

// vagueJava is vague for a method of a Java class: "okhttp3.*" is a package, "run*" and
// "com.*" are not.
func vagueJava(text string) string {
	p := javaPattern(text)
	bare := strings.Trim(p.text, ".*")
	switch {
	case len(bare) < 3:
		return nothingLeft
	case p.open && (!strings.Contains(p.text, ".") || slices.Contains([]string{"com", "org", "net", "java", "javax", "jdk", "sun"}, bare)):
		return sharedBeginning
	}
	return ""
}

// Append adds an entry to the text of an overlay file, with the components of its
// versions. An empty text makes a new file. An entry with the same id is replaced. The
// result is checked before it is returned: if there are problems, the caller must not
// write it.
func Append(text []byte, e Entry, components ...Component) ([]byte, []analysis.Problem) {
	return changed(text, func(doc *Document) {
		doc.Components = replaceBy(doc.Components, components, func(c Component) string { return c.Name })
		doc.Known = replaceBy(doc.Known, []Entry{e}, func(e Entry) string { return e.ID })
	})
}

// Remove returns the text of an overlay file without the known leak of this id.
func Remove(text []byte, id string) ([]byte, []analysis.Problem) {
	return changed(text, func(doc *Document) {
		doc.Known = slices.DeleteFunc(doc.Known, func(e Entry) bool { return e.ID == id })
	})
}

// Own returns the text of an overlay file in which a program is the readers' own, or is not.
func Own(text []byte, program string, own bool) ([]byte, []analysis.Problem) {
	return changed(text, func(doc *Document) {
		doc.Ours = slices.DeleteFunc(doc.Ours, func(x Ours) bool { return x.Program == program })
		if own {
			doc.Ours = append(doc.Ours, Ours{Program: program})
		}
	})
}

// Loaded returns the text of an overlay file in which a metric is a load of a program, or is not.
func Loaded(text []byte, program, metric string, load bool) ([]byte, []analysis.Problem) {
	return changed(text, func(doc *Document) {
		doc.Loads = slices.DeleteFunc(doc.Loads, func(x Load) bool { return x.Program == program && x.Metric == metric })
		if load {
			doc.Loads = append(doc.Loads, Load{Program: program, Metric: metric})
		}
	})
}

func changed(text []byte, change func(*Document)) ([]byte, []analysis.Problem) {
	doc := &Document{Schema: Schema}
	if len(bytes.TrimSpace(text)) > 0 {
		have, problems := Parse(File{Name: "the knowledge file", Text: text})
		if have == nil || len(problems) > 0 {
			return nil, problems // anything not understood would be lost
		}
		doc = have
	}
	change(doc)
	out, err := encode(*doc)
	if err != nil {
		return nil, []analysis.Problem{unreadable("the knowledge file", err)}
	}
	if _, problems := New(File{Name: "the knowledge file", Text: out}); len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}
