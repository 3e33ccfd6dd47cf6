package identity

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// Limits of entered texts in bytes.
const (
	maxHost = 253 // RFC 1035, section 2.3.4
	maxName = 200
	maxNote = 300
	maxText = 1000

	maxVersion   = 100
	maxEventKind = 40
	maxEventText = 200
	maxLoadName  = 60
	// maxLoad suffices for the numbers of maxAsked snapshots, named by evidence.
	maxLoad = 80_000
)

// Limits of a case in edits in force, without the events of Alertmanager. maxAsked limits the snapshots of one load.
const (
	maxEvents = 200
	maxLoads  = 20
	maxAsked  = 500
)

// Check returns an edit in stored form: without spaces around it, its snapshots named
// by evidence instead of the ids of pages and scripts, its time as RFC 3339. A time
// without a zone is in the case's zone. The error is an *analysis.Fault with Code
// "invalid". Its Where is the field: kind, target, value or note; "value.time",
// "value.kind" and "value.text" for the parts of an event, "value.name" and
// "value.numbers" for those of a load.
func (o Outcome) Check(e Edit) (Edit, error) {
	e.Value, e.Note = strings.TrimSpace(e.Value), strings.TrimSpace(e.Note)
	if err := checkText("note", e.Note, maxNote); err != nil {
		return e, err
	}
	limit := maxText
	if e.Kind == Load {
		// A column copied from a table contains line ends.
		e.Value, limit = strings.Join(strings.Fields(e.Value), " "), maxLoad
	}
	if err := checkText("value", e.Value, limit); err != nil {
		return e, err
	}
	var err error
	if e.Target, err = o.target(e); err != nil {
		return e, err
	}
	e.Value, err = o.value(e)
	return e, err
}

func invalid(field, what, why, hint string) error {
	return &analysis.Fault{Code: "invalid", Where: field, What: what, Why: why, Hint: hint}
}

// checkText refuses text that cannot be shown or is too long.
func checkText(field, text string, limit int) error {
	if len(text) > limit {
		return invalid(field, "the text is too long", fmt.Sprintf("it has %d bytes and the limit is %d", len(text), limit), "shorten it")
	}
	if !utf8.ValidString(text) {
		return invalid(field, "the text is no valid UTF-8", "", "enter it again")
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			return invalid(field, "the text holds a character that cannot be seen", fmt.Sprintf("U+%04X is a control or formatting character", r), "type it instead of pasting it")
		}
	}
	return nil
}

// target turns "sabc…", "from:sabc…" and "series:sabc…" into evidence.
func (o Outcome) target(e Edit) (string, error) {
	if e.Kind == Zone || e.Kind == Happened {
		if e.Target != WholeCase && e.Target != "" {
			return "", invalid("target", map[Kind]string{Zone: "a zone", Happened: "an event"}[e.Kind]+" is that of the whole case", "", `leave the target out, or send "case"`)
		}
		return WholeCase, nil
	}
	scope, id := cutScope(e.Target)
	if (e.Kind == Load || e.Kind == Counts || e.Kind == Ours) && scope != "series" {
		return "", invalid("target", map[Kind]string{Load: "a load is", Counts: "what is counted is", Ours: "whose program it is, is"}[e.Kind]+" that of a whole series", "", "send series:ID with the id of one of its snapshots")
	}
	if scope == "into" || scope == "before" || scope == "after" {
		return "", invalid("target", "the target is not understood", "", "send a snapshot's id, from:ID or series:ID")
	}
	if scope != "" && (e.Kind == Time || e.Kind == Order) {
		return "", invalid("target", "only one snapshot can be given a time or a place", "", "send the id of one snapshot")
	}
	return o.anchored("target", scope, id)
}

// cutScope separates the word before the first colon. Ids and keys contain no colon.
func cutScope(text string) (scope, rest string) {
	for _, word := range []string{"from", "series", "into", "before", "after"} {
		if rest, ok := strings.CutPrefix(text, word+":"); ok {
			return word, rest
		}
	}
	return "", text
}

// anchored names a snapshot by its evidence. A name by evidence is kept.
func (o Outcome) anchored(field, scope, id string) (string, error) {
	prefix := ""
	if scope != "" {
		prefix = scope + ":"
	}
	if strings.HasPrefix(id, keyVersion+".") {
		if _, err := parseReference(prefix + id); err == nil {
			return prefix + id, nil
		}
	}
	key, ok := o.Keys[id]
	if !ok {
		return "", invalid(field, "there is no such snapshot in this case", fmt.Sprintf("%.64q is no snapshot's id", id), "take the id from the page or the JSON of the case")
	}
	if scope != "series" && scope != "into" {
		return prefix + key, nil
	}
	for _, s := range append(o.Snapshots[:len(o.Snapshots):len(o.Snapshots)], o.LeftOut...) {
		if s.ID == id {
			return prefix + key + ":" + nameOf(s.Process), nil
		}
	}
	return "", invalid(field, "there is no such snapshot in this case", "", "take the id from the page or the JSON of the case")
}

func (o Outcome) value(e Edit) (string, error) {
	switch e.Kind {
	case Host:
		return e.Value, checkHost(e.Value)
	case Process:
		return e.Value, checkName(e.Value)
	case PID:
		return checkPID(e.Value)
	case Version:
		return e.Value, checkVersion(e.Value)
	case Counts:
		if !slices.Contains(Countable(), e.Value) {
			return e.Value, invalid("value", "this is nothing that can be counted", "", "send one of "+strings.Join(Countable(), ", "))
		}
		return e.Value, nil
	case Happened:
		return o.checkEvent(e.Value, e.By)
	case Load:
		return o.checkLoad(e)
	case Time:
		return checkTime(e.Value, o.Zone)
	case Zone:
		if _, err := parseZone(e.Value); err != nil {
			return e.Value, invalid("value", err.Error(), "", "write a name such as Europe/Berlin or an offset such as +02:00")
		}
		return e.Value, nil
	case Order:
		if o.timed(e.Target) {
			return e.Value, invalid("value", timeHolds, "", "change its time instead")
		}
		if scope, id := cutScope(e.Value); scope == "before" || scope == "after" {
			return o.anchored("value", scope, id)
		}
		return e.Value, invalid("value", "the new place is not understood", "", "send before:ID or after:ID with the id of another snapshot of the series")
	case LeaveOut, Keep, Ours:
		if e.Value != "" {
			return e.Value, invalid("value", "this kind of edit has no value", "", "leave the value out")
		}
		return "", nil
	case Series:
		if scope, id := cutScope(e.Value); scope == "into" {
			return o.anchored("value", scope, id)
		}
		host, name, _ := strings.Cut(e.Value, "/")
		if host != "" {
			if err := checkHost(host); err != nil {
				return e.Value, err
			}
		}
		return host + "/" + name, checkName(name)
	}
	return e.Value, invalid("kind", "there is no such kind of edit", fmt.Sprintf("%.40q", string(e.Kind)), "it is one of host, process, pid, version, time, zone, order, leave_out, keep, series, counts, ours, event, load")
}

// timed reports whether the snapshot of a target has a time.
func (o Outcome) timed(target string) bool {
	for _, s := range o.Snapshots {
		if o.Keys[s.ID] == target {
			return !s.CapturedAt.IsZero()
		}
	}
	return false
}

func checkHost(host string) error {
	switch {
	case host == "":
		return invalid("value", "the host has no name", "", "enter its name, or undo an earlier edit to get back what was found")
	case len(host) > maxHost:
		return invalid("value", "the host's name is too long", fmt.Sprintf("it has %d bytes and the limit is %d", len(host), maxHost), "enter the name alone")
	case strings.ContainsAny(host, "/\\ \t"):
		return invalid("value", "this is no host name", "it holds a slash or a space", "enter the name alone, such as node-7 or node-7.example.com")
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return invalid("value", "the program has no name", "", "enter its name, or undo an earlier edit to get back what was found")
	case len(name) > maxName:
		return invalid("value", "the program's name is too long", fmt.Sprintf("it has %d bytes and the limit is %d", len(name), maxName), "enter the name without its path and options")
	}
	return nil
}

func checkVersion(version string) error {
	switch {
	case version == "":
		return invalid("value", "the version has no name", "", "enter it, or undo an earlier edit to get back what was found")
	case len(version) > maxVersion:
		return invalid("value", "the version's name is too long", fmt.Sprintf("it has %d bytes and the limit is %d", len(version), maxVersion), "enter the version alone, such as 1.31.2")
	}
	return nil
}

func checkPID(text string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return text, invalid("value", "this is no pid", "it is a number from 1 on", "enter the number that ps or the directory below /proc shows")
	}
	return strconv.FormatUint(n, 10), nil
}

// timeLayouts are the ways of writing a time without a zone, as people and
// datetime-local fields do.
var timeLayouts = [...]string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"}

// checkTime returns a time in stored form. Empty means that no time is known.
func checkTime(text string, zone *time.Location) (string, error) {
	if text == "" {
		return "", nil
	}
	return readTime("value", text, zone, "; leave it empty if no time is known")
}

// readTime reads a time as RFC 3339. A time without a zone is in the given zone. more
// is appended to the hint on the form of a time.
func readTime(field, text string, zone *time.Location, more string) (string, error) {
	at, err := time.Parse(time.RFC3339Nano, joined(text))
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04Z07:00", joined(text))
	}
	if zone == nil {
		zone = time.UTC
	}
	for _, layout := range timeLayouts {
		if err != nil {
			at, err = time.ParseInLocation(layout, text, zone)
		}
	}
	if err != nil {
		return text, invalid(field, "this is no time", "", "write it like 2026-11-21 02:58:10, with +01:00 or Z behind it if it is not of the case's zone"+more)
	}
	if at = at.UTC(); at.Year() < 1990 || at.Year() > 2199 {
		return text, invalid(field, "this time cannot be right", "the year is "+strconv.Itoa(at.Year()), "write it like 2026-11-21 02:58:10")
	}
	return at.Format(time.RFC3339Nano), nil
}

// joined writes a time with its zone as RFC 3339 has it:
//
//	2026-11-21 02:58:10 UTC     ->  2026-11-21T02:58:10Z
//	2026-11-21 02:58:10 +01:00  ->  2026-11-21T02:58:10+01:00
func joined(text string) string {
	day, rest, _ := strings.Cut(text, " ")
	clock, zone, _ := strings.Cut(rest, " ")
	if zone == "UTC" {
		zone = "Z"
	}
	if clock == "" {
		return text
	}
	return day + "T" + clock + zone
}

var offset = expression.Lazy(`^(?:UTC|GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?$`)

// parseZone reads an IANA name ("Europe/Berlin"), "UTC", "Z" or an offset
// ("+02:00", "-0330", "UTC+2"). Names come from the time zone database of the
// machine, or from the embedded one where the program has it.
func parseZone(text string) (*time.Location, error) {
	if text == "UTC" || text == "Z" {
		return time.UTC, nil
	}
	if m := offset.FindStringSubmatch(text); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		seconds := hours*3600 + minutes*60
		if seconds > 14*3600 {
			return nil, errors.New("no zone is more than 14 hours away from UTC")
		}
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone(fmt.Sprintf("%s%02d:%02d", m[1], hours, minutes), seconds), nil
	}
	if text == "" || text == "Local" || len(text) > 64 {
		return nil, errors.New("there is no such time zone")
	}
	location, err := time.LoadLocation(text)
	if err != nil {
		return nil, errors.New("there is no such time zone")
	}
	return location, nil
}
