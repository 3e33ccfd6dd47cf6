package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/judge/identity"
	"leakdiff/server/access"
	"leakdiff/server/casepage"
)

// firing is a notification in the form that Alertmanager documents for webhooks.
const firing = `{
 "receiver": "leakdiff", "status": "firing", "version": "4", "truncatedAlerts": 0, "externalURL": "http://alerts.example.org:9093",
 "groupKey": "{}:{alertname=\"GoroutinesGrow\"}", "groupLabels": {"alertname": "GoroutinesGrow"}, "notificationReason": "firing",
 "commonLabels": {"alertname": "GoroutinesGrow", "severity": "warning"}, "commonAnnotations": {},
 "alerts": [{
  "status": "%s", "labels": {"alertname": "GoroutinesGrow", "severity": "warning", %s},
  "annotations": {"summary": "%s", "description": "more than an hour ago"},
  "startsAt": "2026-11-20T08:30:15.25+01:00", "endsAt": "%s",
  "generatorURL": "http://prometheus.example.org/graph?g0.expr=x", "fingerprint": "%s"}]}`

const notEnded = "0001-01-01T00:00:00Z"

// notify sends a notification and returns what became of its alerts.
func (s *site) notify(body string, header ...string) []casepage.AlertJSON {
	s.t.Helper()
	r := s.do("POST", "/api/v1/alertmanager", strings.NewReader(body), append([]string{"Content-Type", jsonKind}, header...)...)
	if r.status != http.StatusOK {
		s.t.Fatalf("status %d: %s", r.status, r.body)
	}
	return decode[struct{ Alerts []casepage.AlertJSON }](s.t, r.body).Alerts
}

// events are those of a case: "TIME KIND TEXT".
func (s *site) events(caseID string) []string {
	s.t.Helper()
	var out []string
	for _, e := range decode[struct{ Events []identity.Event }](s.t, s.get("/api/v1/cases/"+caseID+"/edits").body).Events {
		out = append(out, e.At.Format("15:04:05.00")+" "+e.Kind+" "+e.Text)
	}
	return out
}

func TestAnAlertIsAnEventOfTheCaseThatItsLabelsName(t *testing.T) {
	s := newSite(t)
	up := s.node("node-7", 3, 20)
	other := s.node("node-8", 3, 20)
	named := func(caseID string) string { return fmt.Sprintf(`"leakdiff_case": %q`, caseID) }

	got := s.notify(fmt.Sprintf(firing, "firing", named(up.Case), "over\\n 1000", notEnded, "1a30ba71cca2921f"))
	want := []casepage.AlertJSON{{Fingerprint: "1a30ba71cca2921f", Case: up.Case, Link: "/cases/" + up.Case, URL: s.url + "/cases/" + up.Case, Edits: []int64{1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	for range 2 { // Alertmanager repeats it, and the text of the alert may have other numbers
		got = s.notify(fmt.Sprintf(firing, "firing", named(up.Case), "over 2000", notEnded, "1a30ba71cca2921f"))
		want[0].Repeated = true
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the answer to a repetition (-want +got):\n%s", diff)
		}
	}
	for _, repeated := range []bool{false, true} {
		got = s.notify(fmt.Sprintf(firing, "resolved", named(up.Case), "over 2000", "2026-11-20T09:00:00Z", "1A30ba71cca2921f"))
		want[0].Edits, want[0].Repeated = []int64{1, 2}, repeated
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the answer to the end (-want +got):\n%s", diff)
		}
	}
	events := []string{"07:30:15.25 alert GoroutinesGrow: over 1000", "09:00:00.00 resolved GoroutinesGrow"}
	if diff := cmp.Diff(events, s.events(up.Case)); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	if page := s.get("/bundles/" + up.ID).body; !strings.Contains(page, "GoroutinesGrow: over 1000") {
		t.Error("the page of the case's identity does not show the event")
	}
	if got := s.events(other.Case); len(got) != 0 {
		t.Errorf("another case has %q", got)
	}

	// What a person took back stays so.
	if r := s.do("DELETE", "/api/v1/cases/"+up.Case+"/edits/1", nil); r.status != http.StatusNoContent {
		t.Fatalf("undoing gave %d", r.status)
	}
	if got := s.notify(fmt.Sprintf(firing, "firing", named(up.Case), "over 2000", notEnded, "1a30ba71cca2921f")); !got[0].Repeated {
		t.Errorf("after it was taken back: %+v", got)
	}
	if got := s.events(up.Case); len(got) != 1 {
		t.Errorf("an event that was taken back is there again: %q", got)
	}
}

func TestAnAlertFindsItsCaseByTheHost(t *testing.T) {
	s := newSite(t)
	older := s.node("node-7", 3, 20)
	newer := s.node("node-7", 3, 21)
	cluster := s.node("cart-0", 3, 20)
	for name, c := range map[string]struct{ labels, want string }{
		"instance with a port":      {`"instance": "node-7:9100"`, newer.Case},
		"node":                      {`"node": "NODE-7"`, newer.Case},
		"a pod":                     {`"pod": "cart-0", "namespace": "shop"`, cluster.Case},
		"the id before the host":    {`"host": "node-7", "leakdiff_case": "` + older.Case + `"`, older.Case},
		"a process that it has not": {`"host": "node-7", "job": "node"`, newer.Case},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.notify(fmt.Sprintf(firing, "firing", c.labels, "x", notEnded, "")) // each has a fingerprint of its own
			if len(got) != 1 || got[0].Case != c.want || got[0].Problem != nil {
				t.Errorf("%+v, want the case %s", got, c.want)
			}
		})
	}
	t.Run("a repetition after newer captures", func(t *testing.T) {
		again := s.node("cart-0", 3, 22)
		if got := s.notify(fmt.Sprintf(firing, "firing", `"pod": "cart-0", "namespace": "shop"`, "x", notEnded, "")); got[0].Case != cluster.Case || !got[0].Repeated {
			t.Errorf("%+v, want the case %s as before, not %s", got, cluster.Case, again.Case)
		}
	})
	for name, c := range map[string]struct{ labels, why string }{
		"no label of a host": {`"a": "b"`, "none of them is leakdiff_case or names a host"},
		"another host":       {`"host": "node-9"`, "no case has captures of the host node-9"},
		"a part of a name":   {`"host": "node"`, "no case has captures of the host node"},
		"no such case":       {`"leakdiff_case": "cnone"`, `no case has the id "cnone"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.notify(fmt.Sprintf(firing, "firing", c.labels, "x", notEnded, "f00d"))
			if len(got) != 1 || got[0].Case != "" || got[0].Problem == nil || got[0].Problem.Code != "not_found" || got[0].Problem.Hint == "" || !strings.Contains(got[0].Problem.Detail, c.why) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestANotificationIsBoundedAndTakenApart(t *testing.T) {
	s := newSite(t)
	up := s.node("node-7", 3, 20)
	type labels = map[string]string
	alert := func(i int, text string, of labels) map[string]any {
		return map[string]any{"status": "firing", "labels": of, "annotations": labels{"summary": text}, "startsAt": fmt.Sprintf("2026-11-20T08:%02d:%02dZ", i/60, i%60), "fingerprint": fmt.Sprintf("%x", i+1)}
	}
	var alerts []map[string]any
	for i := range 203 {
		alerts = append(alerts, alert(i, strings.Repeat("ä", 300), labels{"leakdiff_case": up.Case}))
	}
	alerts[1] = alert(1, "x", labels{"leakdiff_case": "cnone"})
	alerts[2] = map[string]any{"labels": labels{"leakdiff_case": up.Case}}
	alerts[150] = alert(150, "a; b \u202e\u0000<script>", labels{"leakdiff_case": up.Case, "alertname": "two\nlines"})
	body, err := json.Marshal(map[string]any{"version": "4", "alerts": alerts})
	if err != nil {
		t.Fatal(err)
	}
	got := s.notify(string(body))
	for i, a := range got {
		bad := i == 1 || i == 2 || i >= 200
		if (a.Problem != nil) != bad {
			t.Errorf("alert %d: %+v", i, a)
		}
	}
	events := s.events(up.Case)
	// The newest 100 of 200 stay, and people have room of their own.
	if len(events) != 100 || events[50] != "08:02:30.00 alert two lines: a; b <script>" || !strings.HasSuffix(events[0], "ä…") {
		t.Errorf("%d events: %.500q", len(events), events)
	}
	const deploy = `{"kind": "event", "target": "case", "value": "2026-11-20 09:00; deploy; %d"}`
	for i := range 200 {
		if r := s.do("POST", "/api/v1/cases/"+up.Case+"/edits", strings.NewReader(fmt.Sprintf(deploy, i)), "Content-Type", jsonKind); r.status != http.StatusCreated {
			t.Fatalf("event %d of a person: status %d: %s", i, r.status, r.body)
		}
	}
	if r := s.do("POST", "/api/v1/cases/"+up.Case+"/edits", strings.NewReader(fmt.Sprintf(deploy, 200)), "Content-Type", jsonKind); r.status != http.StatusBadRequest {
		t.Errorf("one event of a person too many: status %d: %s", r.status, r.body)
	}
	if got := s.notify(fmt.Sprintf(firing, "resolved", fmt.Sprintf(`"leakdiff_case": %q`, up.Case), "x", "2026-11-20T09:30:00Z", "f00d")); got[0].Problem == nil || got[0].Problem.Code != "too_many" || len(got[0].Edits) != 1 {
		t.Errorf("of an alert that began before all others its end alone has room: %+v", got)
	}
	if events := s.events(up.Case); len(events) != 300 || events[299] != "09:30:00.00 resolved GoroutinesGrow" {
		t.Errorf("%d events: %.500q", len(events), events)
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"too large":   {`{"alerts": [], "x": "` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge},
		"no JSON":     {"status=firing", http.StatusBadRequest},
		"no alerts":   {`{"version": "4"}`, http.StatusBadRequest},
		"empty":       {"", http.StatusBadRequest},
		"wrong types": {`{"alerts": [{"labels": [1]}]}`, http.StatusBadRequest},
	} {
		if r := s.do("POST", "/api/v1/alertmanager", strings.NewReader(c.body), "Content-Type", jsonKind); r.status != c.status {
			t.Errorf("%s: status %d: %s", name, r.status, r.body)
		}
	}
}

func TestAnAlertThatSeveralSendAtOnceIsOneEvent(t *testing.T) {
	s := newSite(t)
	up := s.node("node-7", 3, 20)
	body := fmt.Sprintf(firing, "resolved", fmt.Sprintf(`"leakdiff_case": %q`, up.Case), "x", "2026-11-20T09:00:00Z", "f00d")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { s.do("POST", "/api/v1/alertmanager", strings.NewReader(body), "Content-Type", jsonKind) })
	}
	wait.Wait()
	if got := s.events(up.Case); len(got) != 2 {
		t.Errorf("the events are %q", got)
	}
}

func TestAnAlertNeedsWhatAnEditOfItsCaseNeeds(t *testing.T) {
	g := guard(t, access.Policy{Mode: access.ByPassword, Passwords: passwordFile(t)})
	body := fmt.Sprintf(firing, "firing", fmt.Sprintf(`"leakdiff_case": %q`, g.caseID), "x", notEnded, "f00d")
	if got := g.notify(body, g.senders["the token upload"]...); got[0].Problem == nil || got[0].Problem.Code != "forbidden" || got[0].Case != "" {
		t.Errorf("with a token that may not change the case: %+v", got)
	}
	if got := g.notify(body, g.senders["the token admin"]...); got[0].Problem != nil || got[0].Case != g.caseID {
		t.Errorf("with one that may: %+v", got)
	}
}
