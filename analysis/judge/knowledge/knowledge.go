// Package knowledge is the catalogue of known causes: the classes in which an engineer
// on call thinks, published leaks with signatures and fixes, and normal stacks with
// their expected number. It takes judged families. It returns their class, the known
// leaks that they match, and why they may be healthy. It also reads, checks, joins and
// exports catalogues. It does not know where catalogues are stored. A signature alone
// never accuses: state and growth, or a count above the expected one, must confirm it.
package knowledge

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"leakdiff/analysis"
)

// Schema is the name of the format of a catalogue file.
const Schema = "leakdiff.knowledge/1"

//go:embed data
var data embed.FS

// Document is one catalogue file. Every part is optional.
type Document struct {
	Schema string `json:"schema"`
	// Catalogue is the version of an exported catalogue.
	Catalogue     string       `json:"catalogue,omitempty"`
	Components    []Component  `json:"components,omitempty"`
	Thresholds    []Threshold  `json:"thresholds,omitempty"`
	ThresholdNote string       `json:"threshold_note,omitempty"`
	Corrections   []Correction `json:"corrections,omitempty"`
	Classes       []Class      `json:"classes,omitempty"`
	Known         []Entry      `json:"known,omitempty"`
	Normal        []Normal     `json:"normal,omitempty"`
	Ours          []Ours       `json:"ours,omitempty"`
	Loads         []Load       `json:"loads,omitempty"`
}

// Ours is a program whose code the readers can change, by the name of its process. Only they know.
type Ours struct {
	Program string `json:"program"`
	Origin  string `json:"-"`
}

// Load is a metric of a program that counts what others ask of it, such as its tenants: what is in
// proportion to it is no leak. Only readers know.
type Load struct {
	Program string `json:"program"`
	Metric  string `json:"metric"`
	Origin  string `json:"-"`
}

// Component has versions. Programs report its version as their own. Modules carry it in
// the file names of stacks. Packages are its names in lists of versions.
type Component struct {
	Name     string   `json:"name"`
	Programs []string `json:"programs,omitempty"`
	Modules  []Module `json:"modules,omitempty"`
	Packages []string `json:"packages,omitempty"`
	Origin   string   `json:"-"`
}

// Module is the path of a Go module. Major replaces its v0 (k8s.io/client-go v0.34 is
// Kubernetes 1.34).
type Module struct {
	Path  string `json:"path"`
	Major int    `json:"major,omitempty"`
}

// Class is a cause as an engineer on call thinks of it, with advice.
type Class struct {
	Key        string   `json:"key"`
	Cause      string   `json:"cause"`
	Expected   string   `json:"expected,omitempty"`
	LooksLike  string   `json:"looks_like"`
	FirstCheck string   `json:"first_check"`
	Metrics    []Metric `json:"metrics,omitempty"`
	Remedy     []string `json:"remedy"`
	// Own are the steps of the remedy for who can change the code of the program.
	Own []string `json:"own,omitempty"`
	// Upgrades are steps of the remedy that the seen version may already contain.
	Upgrades []Upgrade `json:"upgrades,omitempty"`
	// Warnings belong before disruptive steps of the remedy.
	Warnings []string `json:"warnings,omitempty"`
	Validate []string `json:"validate"`
	Upstream Upstream `json:"upstream"`
	// Idle describes the class at rest, Stuck a leak, Corner the differences between
	// versions.
	Idle     string         `json:"idle,omitempty"`
	Stuck    string         `json:"stuck,omitempty"`
	Corner   string         `json:"corner,omitempty"`
	Patterns []ClassPattern `json:"patterns"`
	// Groups are the groups of known leaks in the class.
	Groups []string `json:"groups,omitempty"`
	// Origin is the overlay file, empty for the built-in catalogue.
	Origin string `json:"-"`
}

// Upgrade is a step of a remedy: an upgrade to releases of a component with a fix.
type Upgrade struct {
	Text      string   `json:"text"`
	Component string   `json:"component"`
	Fixed     []string `json:"fixed"`
}

// Metric is a figure to look at.
type Metric struct {
	Name    string `json:"name"`
	Why     string `json:"why"`
	Warning string `json:"warning,omitempty"`
}

// Upstream describes when to file a bug, and with what.
type Upstream struct {
	When   string   `json:"when"`
	Attach []string `json:"attach"`
}

// ClassPattern recognises families of a class by any of the frames or a creator, and by
// every attribute. It may also recognise statements of a snapshot.
type ClassPattern struct {
	Kind       analysis.Kind     `json:"kind,omitempty"`
	Frames     []string          `json:"frames,omitempty"`
	CreatedBy  []string          `json:"created_by,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Programs   []string          `json:"programs,omitempty"`
	Statements []string          `json:"statements,omitempty"`
	// WithUnit restricts the pattern to families that rise together with another one of
	// the class.
	WithUnit bool `json:"with_unit,omitempty"`
	// WithGrowth restricts statements to series with an accused family of the class,
	// because the statements are true of healthy processes as well.
	WithGrowth bool `json:"with_growth,omitempty"`
	// Rest are functions in which members are at rest, with only waiting frames above.
	// Such a family belongs to the class, but the cause does not make it grow.
	Rest []string `json:"rest,omitempty"`
	// Sign names the form of the class: "on mounts that are gone".
	Sign string `json:"sign,omitempty"`
	// Cause is the name of the cause if only this form of the class was seen.
	Cause string `json:"cause,omitempty"`
}

// Status is what an entry accuses of.
type Status string

// The statuses of known leaks.
const (
	Leak               Status = "leak"
	BoundedBacklog     Status = "bounded-backlog"
	LimitNotLeak       Status = "limit-not-leak"
	NormalPerContainer Status = "normal-per-container"
	NormalPerRequest   Status = "normal-per-request"
	StuckNotLeak       Status = "stuck-not-leak"
	FalseAlarm         Status = "false-alarm"
)

// Entry is a published leak, or something that was mistaken for one.
type Entry struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Project   string    `json:"project,omitempty"`
	Kinds     []string  `json:"kinds,omitempty"`
	Group     string    `json:"group,omitempty"`
	Status    Status    `json:"status"`
	Signature Signature `json:"signature,omitzero"`
	Affected  string    `json:"affected,omitempty"`
	FixedIn   string    `json:"fixed_in,omitempty"`
	// VerifiedBy describes how the fix was verified. Empty means that nobody verified
	// one; a fix may still exist.
	VerifiedBy string   `json:"fixed_in_verified_by,omitempty"`
	Versions   Versions `json:"versions,omitzero"`
	// BoundMinutes is how long a bounded backlog lasts.
	BoundMinutes int    `json:"bound_minutes,omitempty"`
	Trigger      string `json:"trigger,omitempty"`
	Remedy       string `json:"remedy,omitempty"`
	// Workaround is what helps until the remedy is done.
	Workaround string `json:"workaround,omitempty"`
	// Advisories are the CVE, GHSA and GO ids of the leak.
	Advisories []string `json:"advisories,omitempty"`
	URL        string   `json:"url,omitempty"`
	Evidence   string   `json:"evidence,omitempty"`
	Author     string   `json:"author,omitempty"`
	Added      string   `json:"added,omitempty"`
	Origin     string   `json:"-"`
}

// Signature recognises an entry by a stack, exact fingerprints or resources. Any of the
// three suffices. The programs must fit if they are given.
type Signature struct {
	// Frames occur in this order, leaf first, with gaps.
	Frames []string `json:"frames_in_order,omitempty"`
	// CreatedBy are alternatives, compared by prefix.
	CreatedBy    []string   `json:"created_by,omitempty"`
	WaitStates   []string   `json:"wait_states,omitempty"`
	Fingerprints []string   `json:"fingerprints,omitempty"`
	Resources    []Resource `json:"resources,omitempty"`
	Programs     []string   `json:"programs,omitempty"`
	// InWords is the description of resources in the report, for people.
	InWords []string `json:"in_words,omitempty"`
	// Owners are the import paths of the project, given when the frames are those of a
	// library that other projects use.
	Owners []string `json:"owners,omitempty"`
	// Source is where the signature was read. Unseen reports that this is the fix, and
	// that no published dump shows the stack.
	Source string `json:"source,omitempty"`
	Unseen bool   `json:"unseen,omitempty"`
}

// Matchable reports whether any family can match the signature.
func (s Signature) Matchable() bool {
	return len(s.Frames)+len(s.CreatedBy)+len(s.Fingerprints)+len(s.Resources) > 0
}

// Resource is a family without a stack. Every attribute must fit its globs.
type Resource struct {
	Kind       analysis.Kind     `json:"kind"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Programs   []string          `json:"programs,omitempty"`
}

// Versions are the releases of a component that introduced and fixed a leak. Fixed has
// one entry for each line of releases.
type Versions struct {
	Component  string   `json:"component,omitempty"`
	Introduced string   `json:"introduced,omitempty"`
	Fixed      []string `json:"fixed,omitempty"`
	// Affected are the ranges of an advisory. They decide where they are given.
	Affected []Range `json:"affected,omitempty"`
}

// Range is a range of affected releases. Introduced is in it, Fixed is not. An empty
// Introduced stands for every release before Fixed.
type Range struct {
	Introduced string `json:"introduced,omitempty"`
	Fixed      string `json:"fixed"`
}

// Normal is a stack of healthy programs.
type Normal struct {
	ID      string `json:"id"`
	Library string `json:"library"`
	// Frames are alternatives. One of them must be the outermost frame that is not
	// common waiting code.
	Frames     []string `json:"frames"`
	CreatedBy  []string `json:"created_by,omitempty"`
	WaitStates []string `json:"wait_states,omitempty"`
	Expected   Expected `json:"expected"`
	// Above are packages whose frames may be above. Those of the standard library
	// always may.
	Above []string `json:"above,omitempty"`
	// Anywhere allows every frame above.
	Anywhere bool   `json:"anywhere,omitempty"`
	Note     string `json:"note,omitempty"`
	Verified string `json:"verified,omitempty"`
	Origin   string `json:"-"`
}

// Expected is the number in a healthy program: Each per unit, 0 if only words are
// known.
type Expected struct {
	Text string `json:"text"`
	Each int    `json:"each,omitempty"`
	Per  string `json:"per,omitempty"`
}

// Threshold is a figure that circulates. It is never a verdict.
type Threshold struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Figure names the compared figure of a series: total, rise or day_share. It is
	// empty if dumps do not show it.
	Figure string  `json:"figure,omitempty"`
	From   float64 `json:"from,omitempty"`
	To     float64 `json:"to,omitempty"`
	// Classes are the classes of the threshold, empty if it applies to every process.
	// Programs are the programs that it applies to.
	Classes  []string `json:"classes,omitempty"`
	Programs []string `json:"programs,omitempty"`
	Origin   string   `json:"-"`
}

// Correction is common advice that measurements contradict.
type Correction struct {
	Advice  string   `json:"advice"`
	Fact    string   `json:"fact"`
	Classes []string `json:"classes,omitempty"`
	Origin  string   `json:"-"`
}

// Catalogue is joined from its documents and ready to match. It does not change, and
// several goroutines may use it.
type Catalogue struct {
	doc   Document
	index *index
	// nouns is the text of an own file of nouns.
	nouns []byte
}

// NounFile is the file among the overlays that holds words instead of knowledge.
const NounFile = "nouns.json"

// Nouns returns the text of the own file of nouns, nil if there is none.
func (c *Catalogue) Nouns() []byte { return c.nouns }

// builtin is read on first use.
var builtin = sync.OnceValue(func() *Catalogue {
	c, _ := New()
	return c
})

// parts are the files of the built-in catalogue.
func parts() []string { return []string{"classes.json", "known.json", "normal.json"} }

// shipped is the built-in catalogue. It is not checked like other files, because a test
// checks it.
func shipped() Document {
	var doc Document
	for _, name := range parts() {
		text, err := data.ReadFile("data/" + name)
		if err == nil {
			err = json.Unmarshal(text, &doc) // each file has lists of its own
		}
		if err != nil {
			panic("the embedded catalogue is broken: " + err.Error())
		}
	}
	return doc
}

// Builtin is the built-in catalogue.
func Builtin() *Catalogue { return builtin() }

// versionOf names a catalogue by its content and by the overlay files. Any change is
// another version.
func versionOf(doc Document) string {
	doc.Catalogue = ""
	text, err := json.Marshal(doc)
	if err != nil {
		return "1"
	}
	for _, origin := range origins(doc) {
		text = fmt.Appendf(text, "%q", origin)
	}
	sum := sha256.Sum256(text)
	return "1-" + hex.EncodeToString(sum[:5])
}

// origins are the files of entries that people added, in the order of the entries.
func origins(doc Document) (files []string) {
	files = append(files, originsOf(doc.Components, func(x Component) string { return x.Origin })...)
	files = append(files, originsOf(doc.Classes, func(x Class) string { return x.Origin })...)
	files = append(files, originsOf(doc.Known, func(x Entry) string { return x.Origin })...)
	files = append(files, originsOf(doc.Normal, func(x Normal) string { return x.Origin })...)
	files = append(files, originsOf(doc.Thresholds, func(x Threshold) string { return x.Origin })...)
	files = append(files, originsOf(doc.Ours, func(x Ours) string { return x.Origin })...)
	files = append(files, originsOf(doc.Loads, func(x Load) string { return x.Origin })...)
	return append(files, originsOf(doc.Corrections, func(x Correction) string { return x.Origin })...)
}

func originsOf[T any](items []T, of func(T) string) (files []string) {
	for _, item := range items {
		if file := of(item); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// Version names the catalogue by its content.
func (c *Catalogue) Version() string { return c.doc.Catalogue }

// Classes are all classes, in the order of the catalogue.
func (c *Catalogue) Classes() []Class { return c.doc.Classes }

// Known are all known leaks, in the order of the catalogue.
func (c *Catalogue) Known() []Entry { return c.doc.Known }

// Normal are all normal stacks, in the order of the catalogue.
func (c *Catalogue) Normal() []Normal { return c.doc.Normal }

// ThresholdNote describes what the thresholds are worth.
func (c *Catalogue) ThresholdNote() string { return c.doc.ThresholdNote }

// Class returns the class with the key, or nil.
func (c *Catalogue) Class(key string) *Class {
	for i := range c.doc.Classes {
		if c.doc.Classes[i].Key == key {
			return &c.doc.Classes[i]
		}
	}
	return nil
}

// Entry returns the known leak with the id, or nil.
func (c *Catalogue) Entry(id string) *Entry {
	for i := range c.doc.Known {
		if c.doc.Known[i].ID == id {
			return &c.doc.Known[i]
		}
	}
	return nil
}

// ClassOf returns the class of a known leak, or nil.
func (c *Catalogue) ClassOf(e *Entry) *Class {
	for i := range c.doc.Classes {
		if e.Group != "" && slices.Contains(c.doc.Classes[i].Groups, e.Group) {
			return &c.doc.Classes[i]
		}
	}
	return nil
}

// Thresholds returns the thresholds that circulate for a program: those of every
// process and those of the classes.
func (c *Catalogue) Thresholds(program string, classes []string) []Threshold {
	var out []Threshold
	for _, t := range c.doc.Thresholds {
		about := len(t.Classes) == 0 || slices.ContainsFunc(t.Classes, func(key string) bool { return slices.Contains(classes, key) })
		if about && oneOf(t.Programs, program) {
			out = append(out, t)
		}
	}
	return out
}

// AllThresholds returns all thresholds.
func (c *Catalogue) AllThresholds() []Threshold { return c.doc.Thresholds }

// Corrections returns the corrections of a class, or all of them for an empty key.
func (c *Catalogue) Corrections(class string) []Correction {
	var out []Correction
	for _, x := range c.doc.Corrections {
		if class == "" || slices.Contains(x.Classes, class) {
			out = append(out, x)
		}
	}
	return out
}

// Facts is the source excerpt of an entry of the built-in catalogue, or "".
func (e *Entry) Facts() string {
	if e.Evidence == "" || e.Origin != "" {
		return ""
	}
	text, err := data.ReadFile("data/" + e.Evidence)
	if err != nil {
		return ""
	}
	return string(text)
}

// SchemaText is the JSON schema of catalogue files.
func SchemaText() []byte {
	text, _ := data.ReadFile("data/schema.json")
	return text
}

// Export writes the whole catalogue as one file that Parse reads.
func (c *Catalogue) Export() ([]byte, error) { return encode(c.doc) }

// ExportOwn writes what overlays added or replaced as one file that Parse reads, with
// the components that its entries name.
func (c *Catalogue) ExportOwn() ([]byte, error) {
	own := Document{Schema: Schema}
	own.Components = ownOf(c.doc.Components, func(x Component) string { return x.Origin })
	own.Thresholds = ownOf(c.doc.Thresholds, func(x Threshold) string { return x.Origin })
	own.Corrections = ownOf(c.doc.Corrections, func(x Correction) string { return x.Origin })
	own.Classes = ownOf(c.doc.Classes, func(x Class) string { return x.Origin })
	own.Known = ownOf(c.doc.Known, func(x Entry) string { return x.Origin })
	own.Normal = ownOf(c.doc.Normal, func(x Normal) string { return x.Origin })
	own.Ours = ownOf(c.doc.Ours, func(x Ours) string { return x.Origin })
	own.Loads = ownOf(c.doc.Loads, func(x Load) string { return x.Origin })
	if c.doc.ThresholdNote != Builtin().doc.ThresholdNote {
		own.ThresholdNote = c.doc.ThresholdNote
	}
	return encode(own)
}

// OwnTexts returns every text in what overlays added or replaced.
func (c *Catalogue) OwnTexts() ([]string, error) {
	if c == nil {
		return nil, nil
	}
	own, err := c.ExportOwn()
	if err != nil {
		return nil, err
	}
	var doc any
	if err := json.Unmarshal(own, &doc); err != nil {
		return nil, err
	}
	return append(textsIn(doc, nil), string(c.Nouns())), nil
}

func textsIn(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		return append(out, v)
	case []any:
		for _, x := range v {
			out = textsIn(x, out)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = textsIn(v[key], out)
		}
	}
	return out
}

func ownOf[T any](all []T, origin func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return origin(x) == "" })
}

func encode(doc Document) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(doc)
	return b.Bytes(), err
}

// Help is the remedy with its workaround.
func (e *Entry) Help() string { return Help(e.Remedy, e.Workaround) }

// Help joins a remedy and a workaround: "upgrade to 1.7.35; until then a restart clears it".
func Help(remedy, workaround string) string {
	if workaround == "" {
		return remedy
	}
	return remedy + "; until then " + workaround
}

// IsLead reports an entry that no capture and no list of packages can match: it is read by people and
// never named in an answer.
func (c *Catalogue) IsLead(e *Entry) bool {
	listed := func(x Component) bool { return x.Name == e.Versions.Component && len(x.Packages) > 0 }
	return !e.Signature.Matchable() && !slices.ContainsFunc(c.doc.Components, listed)
}
