package identity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// Event is something that happened to what a case is about.
type Event struct {
	// Edit is the number of the edit that entered it.
	Edit int64     `json:"edit"`
	At   time.Time `json:"at"`
	// Kind is deploy, upgrade, config, restart, outage or a word of the person who
	// entered it.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Alert is true for an event of Alertmanager.
	Alert bool `json:"-"`
}

// EventKinds are the kinds of events that pages offer. Any other word is allowed too.
func EventKinds() []string { return []string{"deploy", "upgrade", "config", "restart", "outage"} }

// EventValue is the value of an event:
//
//	2026-11-21 03:12; deploy; kubelet 1.31 on all nodes
func EventValue(at, kind, text string) string { return single(at) + "; " + single(kind) + "; " + text }

// single keeps the separator out of a part before the last. The separator is valid in
// no such part, and its replacement is refused as well.
func single(part string) string { return strings.ReplaceAll(part, ";", ",") }

// SplitEvent splits the value of an event. Missing parts are empty.
func SplitEvent(value string) (at, kind, text string) {
	at, rest, _ := strings.Cut(value, ";")
	kind, text, _ = strings.Cut(rest, ";")
	return strings.TrimSpace(at), strings.TrimSpace(kind), strings.TrimSpace(text)
}

var eventKind = expression.Lazy(`^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]*$`)

// checkEvent returns the value of an event in stored form, its time in UTC. The store bounds
// the events of Alertmanager.
func (o Outcome) checkEvent(value, by string) (string, error) {
	at, kind, text := SplitEvent(value)
	if at == "" {
		return value, invalid("value.time", "the event has no time", "", "write it like 2026-11-21 02:58:10; scripts send \"TIME; KIND; TEXT\"")
	}
	at, err := readTime("value.time", at, o.Zone, "")
	if err != nil {
		return value, err
	}
	switch {
	case kind == "":
		return value, invalid("value.kind", "the event has no kind", "", "enter deploy, upgrade, config, restart, outage or a word of your own")
	case len(kind) > maxEventKind:
		return value, invalid("value.kind", "the kind of the event is too long", fmt.Sprintf("it has %d bytes and the limit is %d", len(kind), maxEventKind), "enter one word and the rest as its text")
	case !eventKind.MatchString(kind):
		return value, invalid("value.kind", "the kind of the event is not a single word", "", "enter one word, such as deploy, and the rest as its text")
	case text == "":
		return value, invalid("value.text", "nothing says what happened", "", "enter a few words, such as: kubelet 1.31 on all nodes")
	case len(text) > maxEventText:
		return value, invalid("value.text", "the text of the event is too long", fmt.Sprintf("it has %d bytes and the limit is %d", len(text), maxEventText), "shorten it")
	}
	kept := EventValue(at, kind, text)
	if slices.ContainsFunc(o.Events, func(e Event) bool { return e.value() == kept }) {
		return value, invalid("value.text", "the case has this event already", "", "change what differs")
	}
	if by != Alertmanager && o.entered() >= maxEvents {
		return value, invalid("value.text", "the case has too many events", fmt.Sprintf("the limit is %d", maxEvents), "undo one that does not matter")
	}
	return kept, nil
}

// entered counts the events that people entered.
func (o Outcome) entered() (n int) {
	for _, e := range o.Events {
		if !e.Alert {
			n++
		}
	}
	return n
}

func (e Event) value() string { return EventValue(e.At.Format(time.RFC3339Nano), e.Kind, e.Text) }

// events returns the events in force in time order.
func (w *work) events(edits []Edit) []Event {
	var out []Event
	for _, e := range edits {
		if e.Kind != Happened {
			continue
		}
		at, kind, text := SplitEvent(e.Value)
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			w.effects[e.ID] = Effect{Why: "its time is not understood"}
			continue
		}
		w.effects[e.ID] = Effect{}
		if !w.dated() {
			w.effects[e.ID] = Effect{Why: "no snapshot of the case has a time beside which it could be put", Harmless: true}
		}
		out = append(out, Event{Edit: e.ID, At: when.UTC(), Kind: kind, Text: text, Alert: e.By == Alertmanager})
	}
	slices.SortStableFunc(out, func(a, b Event) int { return a.At.Compare(b.At) })
	return out
}

// dated reports whether a snapshot that counts has a time.
func (w *work) dated() bool {
	for i := range w.now {
		if !w.left[i] && !w.now[i].CapturedAt.IsZero() {
			return true
		}
	}
	return false
}

// labelsOf lists the labels of snapshots for a message, at most the first few.
func labelsOf(series []analysis.Snapshot) string {
	const few = 12
	var out []string
	for _, s := range series[:min(len(series), few)] {
		out = append(out, s.Label)
	}
	if len(series) > few {
		out = append(out, "…")
	}
	return strings.Join(out, " ")
}
