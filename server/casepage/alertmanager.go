package casepage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/server/loader"
	"leakdiff/server/response"
)

// Bounds of a notification.
const (
	maxNotification = 1 << 20
	maxAlerts       = 200
	// maxAlertText is how many bytes the text of an event has: identity refuses more.
	maxAlertText = 200
)

// CaseLabel names the case of an alert by its id.
const CaseLabel = "leakdiff_case"

// hostLabels may name the host of an alert, if it has no CaseLabel; processLabels its process.
var (
	hostLabels    = []string{"host", "hostname", "node", "nodename", "pod", "instance"}
	processLabels = []string{"process", "container", "job", "service", "app"}
)

// notification is the body that Alertmanager sends to a webhook (version 4). Fields that are
// not used are left out.
type notification struct {
	Alerts []alert `json:"alerts"`
}

type alert struct {
	Status      string            `json:"status"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
	Fingerprint string            `json:"fingerprint"`
}

// AlertJSON is what became of an alert, in the order of the notification.
type AlertJSON struct {
	Fingerprint string `json:"fingerprint"`
	// Case is "" where none was found; Link and URL are its page.
	Case string `json:"case,omitempty"`
	Link string `json:"link,omitempty"`
	URL  string `json:"url,omitempty"`
	// Edits are the numbers of its events among the edits of the case. Repeated is true where
	// all were there before.
	Edits    []int64               `json:"edits"`
	Repeated bool                  `json:"repeated"`
	Problem  *response.ProblemJSON `json:"problem,omitempty"`
}

// AlertmanagerAPI is POST /api/v1/alertmanager. Each alert becomes an event of its case, and
// another one when it is resolved. An alert that cannot is answered with the reason: the status
// is 200 then too, because Alertmanager would give up the others with it. It repeats what was
// answered with 5xx, and every notification until the alert is resolved: an event is added
// once, by the fingerprint and the begin of its alert.
func (s *Service) AlertmanagerAPI(w http.ResponseWriter, r *http.Request) {
	var in notification
	const example = `what a webhook_config of Alertmanager sends: {"version": "4", "alerts": [...]}`
	err := response.ReadForeignJSON(w, r, &in, maxNotification, example)
	if err == nil && in.Alerts == nil {
		err = response.Refuse("bad_request", "the body is not the expected JSON", "", "it has no alerts", "send "+example)
	}
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	n := notified{Service: s, r: r, cases: map[string]*alertCase{}}
	out := []AlertJSON{}
	for i, a := range in.Alerts {
		result := AlertJSON{Fingerprint: a.fingerprint(), Edits: []int64{}}
		if i >= maxAlerts {
			err = response.Refuse("too_many", "the notification has too many alerts", "", fmt.Sprintf("the limit is %d", maxAlerts), "set max_alerts of the webhook")
		} else {
			err = n.add(a, &result)
		}
		if err != nil {
			fault, status := s.respond.Fault(err)
			if status >= http.StatusInternalServerError {
				n.finish()
				s.respond.FailAPI(w, r, err)
				return
			}
			problem := response.ProblemOf(fault, status)
			result.Problem = &problem
		}
		out = append(out, result)
	}
	n.finish()
	response.WriteJSON(w, http.StatusOK, struct {
		Alerts []AlertJSON `json:"alerts"`
	}{out})
}

// notified is one notification on its way into cases.
type notified struct {
	*Service
	r     *http.Request
	cases map[string]*alertCase
}

// alertCase is a case that alerts of a notification belong to.
type alertCase struct {
	said    identity.Outcome
	edits   []identity.Edit
	err     error
	changed bool
}

// finish updates the list of cases.
func (n *notified) finish() {
	for _, id := range slices.Sorted(maps.Keys(n.cases)) {
		if n.cases[id].changed {
			n.edited(n.r, id)
		}
	}
}

// add finds the case of an alert and adds its events.
func (n *notified) add(a alert, result *AlertJSON) error {
	if a.StartsAt.IsZero() {
		return response.Refuse("invalid", "the alert has no begin", "startsAt", "", "send the notification as Alertmanager does")
	}
	id, err := n.caseOf(a)
	if err != nil {
		return err
	}
	c := n.open(id)
	if c.err != nil {
		return c.err
	}
	result.Case, result.Link = id, "/cases/"+url.PathEscape(id)
	result.URL = n.respond.Base(n.r) + result.Link
	result.Repeated = true
	for _, e := range a.events() {
		made, added, failed := n.addEvent(id, c, e)
		if failed != nil { // the end of an alert has room where its begin has none any more
			err, result.Repeated = cmp.Or(err, failed), false
			continue
		}
		result.Edits = append(result.Edits, made.ID)
		result.Repeated = result.Repeated && !added
	}
	return err
}

// addEvent adds an event unless the case has it, also one that a person took back.
func (n *notified) addEvent(id string, c *alertCase, e identity.Edit) (made identity.Edit, added bool, err error) {
	if i := slices.IndexFunc(c.edits, func(x identity.Edit) bool { return x.Kind == e.Kind && x.Note == e.Note }); i >= 0 {
		return c.edits[i], false, nil
	}
	// Alerts that differ only in labels that the text has not are one event.
	if i := slices.IndexFunc(c.said.Events, func(x identity.Event) bool {
		return identity.EventValue(x.At.UTC().Format(time.RFC3339Nano), x.Kind, x.Text) == e.Value
	}); i >= 0 {
		return identity.Edit{ID: c.said.Events[i].Edit}, false, nil
	}
	if e, err = c.said.Check(e); err != nil {
		return e, false, err
	}
	made, added, err = n.store.AddAlertEvent(n.r.Context(), id, e)
	if added {
		c.changed = true
		// The next event of this notification is checked against this one.
		at, kind, text := identity.SplitEvent(made.Value)
		when, _ := time.Parse(time.RFC3339Nano, at)
		c.said.Events = append(slices.Clone(c.said.Events), identity.Event{Edit: made.ID, At: when, Kind: kind, Text: text, Alert: true})
	}
	return made, added, err
}

// open loads a case and asks whether the sender may change it, once.
func (n *notified) open(id string) *alertCase {
	if n.cases[id] == nil {
		c := &alertCase{}
		n.cases[id] = c
		var l *loader.Loaded
		if l, c.err = n.loader.Heads(n.r.Context(), id); c.err == nil {
			c.said, c.edits = l.Said, l.Edits
			_, c.err = n.access.Edit(n.r, id, "")
		}
	}
	return n.cases[id]
}

// caseOf returns the case that the labels name: by its id, else, of those with captures of the
// host, the one that has the alert, that of the process if a label names it, and the one with
// the newest captures.
func (n *notified) caseOf(a alert) (string, error) {
	const hint = "add the label " + CaseLabel + " with the id of a case, or one of host, node, pod and instance with the host of a captured process"
	if id := a.Labels[CaseLabel]; id != "" {
		_, err := n.store.Case(n.r.Context(), id)
		if fault := (*analysis.Fault)(nil); errors.As(err, &fault) && fault.Code == "not_found" {
			err = response.Refuse("not_found", "the labels of the alert name no case", "labels", "no case has the id "+strconv.Quote(id)+" of "+CaseLabel, hint)
		}
		return id, err
	}
	hosts := a.hosts()
	if len(hosts) == 0 {
		return "", response.Refuse("not_found", "the labels of the alert name no case", "labels", "none of them is "+CaseLabel+" or names a host", hint)
	}
	return n.caseOnHost(n.r.Context(), hosts, a, hint)
}

func (n *notified) caseOnHost(ctx context.Context, hosts []string, a alert, hint string) (string, error) {
	found, err := n.store.CasesOnHosts(ctx, hosts, a.note(begun))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", response.Refuse("not_found", "the labels of the alert name no case", "labels", "no case has captures of the host "+strings.Join(hosts, " or "), hint)
	}
	if found[0].Noted {
		return found[0].ID, nil
	}
	for _, c := range found {
		if slices.ContainsFunc(processLabels, func(label string) bool { return a.Labels[label] != "" && strings.EqualFold(a.Labels[label], c.Process) }) {
			return c.ID, nil
		}
	}
	return found[0].ID, nil
}

// hosts returns what its labels may call its host.
//
//	{"instance": "node-7:9100", "pod": "cart-0", "namespace": "shop"}   cart-0, shop/cart-0, node-7
func (a alert) hosts() []string {
	var out []string
	for _, label := range hostLabels {
		value := a.Labels[label]
		if value == "" {
			continue
		}
		if host, _, err := net.SplitHostPort(value); err == nil {
			value = host
		}
		out = append(out, value)
		if namespace := a.Labels["namespace"]; label == "pod" && namespace != "" {
			out = append(out, namespace+"/"+value)
		}
	}
	return out
}

var hexadecimal = regexp.MustCompile(`^[0-9a-fA-F]{1,64}$`)

// fingerprint identifies the labels of the alert: releases before 0.19 send none.
func (a alert) fingerprint() string {
	if hexadecimal.MatchString(a.Fingerprint) {
		return strings.ToLower(a.Fingerprint)
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		fmt.Fprintf(sum, "%q=%q\n", name, a.Labels[name])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// begun is the kind of the event that an alert begins with.
const begun = "alert"

// note identifies an event of the alert.
func (a alert) note(kind string) string {
	return fmt.Sprintf("Alertmanager %s of %s, %s", a.fingerprint(), a.StartsAt.UTC().Format(time.RFC3339Nano), kind)
}

// events are the begin of the alert and, when it is resolved, its end. Their notes are the same
// in each notification of it.
func (a alert) events() []identity.Edit {
	event := func(at time.Time, kind, text string) identity.Edit {
		return identity.Edit{
			Kind: identity.Happened, Target: identity.WholeCase,
			Value: identity.EventValue(at.UTC().Format(time.RFC3339Nano), kind, text),
			Note:  a.note(kind),
			By:    identity.Alertmanager,
		}
	}
	name := cmp.Or(a.Labels["alertname"], "alert")
	if hosts := a.hosts(); len(hosts) > 0 {
		name += " on " + hosts[0]
	}
	text := name
	if about := cmp.Or(a.Annotations["summary"], a.Annotations["description"]); about != "" {
		text += ": " + about
	}
	out := []identity.Edit{event(a.StartsAt, begun, eventText(text))}
	if a.Status == "resolved" && !a.EndsAt.IsZero() {
		out = append(out, event(a.EndsAt, "resolved", eventText(name)))
	}
	return out
}

// eventText is one line without characters that cannot be seen, of at most maxAlertText bytes.
func eventText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxAlertText {
		return text
	}
	text = text[:maxAlertText-len("…")]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
