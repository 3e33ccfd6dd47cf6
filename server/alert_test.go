package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"leakdiff/server/alert"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// webhook is a receiver of alerts. The first requests are answered by trouble, one each, the
// others taken.
type webhook struct {
	*httptest.Server
	trouble []http.HandlerFunc

	mu   sync.Mutex
	got  []received
	seen int
}

// received is what a webhook is told.
type received struct {
	ID, Event, Text, Fingerprint string
	At, Since                    time.Time
	Title, Kind, URL             *string
	Hosts, Limit                 int
	Names                        []string `json:"host_names"`
	Version                      string
	key                          string
}

func newWebhook(t *testing.T, trouble ...http.HandlerFunc) *webhook {
	w := &webhook{trouble: trouble}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var one received
		text, err := io.ReadAll(r.Body)
		if err = errors.Join(err, json.Unmarshal(text, &one)); err != nil || r.Method != http.MethodPost || r.URL.Path != "/hook/secret" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		one.key = r.Header.Get("Idempotency-Key")
		w.mu.Lock()
		w.got = append(w.got, one)
		n := w.seen
		w.seen++
		w.mu.Unlock()
		if n < len(w.trouble) {
			w.trouble[n](rw, r)
			return
		}
		rw.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(w.Close)
	return w
}

// told returns what was received so far.
func (w *webhook) told() []received {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

func (w *webhook) config(hosts int) Config {
	u, err := alert.Address(w.URL + "/hook/secret")
	if err != nil {
		panic(err)
	}
	return Config{
		Now:   func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) },
		Alert: alert.Config{URL: u, Hosts: hosts, Pause: time.Millisecond, FirstDelay: time.Millisecond, Timeout: 500 * time.Millisecond},
	}
}

// grows uploads captures of a host, an hour apart from an hour of November 20 on, with so many
// workers.
func (s *site) grows(host string, hour int, counts ...int) intake.Uploaded {
	return s.grow(hour, map[string][]int{host: counts})
}

// grow is grows for several hosts of one case.
func (s *site) grow(hour int, hosts map[string][]int) intake.Uploaded {
	s.t.Helper()
	files := map[string]string{}
	for host, counts := range hosts {
		for i, n := range counts {
			dir := fmt.Sprintf("%s/app/t%d/", host, i)
			files[dir+"goroutines.txt"] = nodeDump(n, false)
			files[dir+"captured_at"] = time.Date(2026, 11, 20, hour+i, 0, 0, 0, time.UTC).Format(time.RFC3339) + "\n"
			files[dir+"hostname"] = host + "\n"
		}
	}
	body, kind := form(s.t, files, nil)
	up := decode[intake.Uploaded](s.t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	s.waitForReport(up.Case)
	return up
}

var leaks = []int{3, 20, 43, 60, 81, 99}

func TestAWebhookIsToldWhenAFamilyLeaksOnManyHosts(t *testing.T) {
	w := newWebhook(t)
	st := openStore(t)
	cfg := w.config(1)
	cfg.BaseURL = "https://leaks.example.org/x/"
	s := startSite(t, st, cfg)
	s.grows("node-1", 0, leaks...)
	s.grows("node-2", 0, 3, 3, 3, 3, 3, 3)
	third := s.grows("node-3", 0, leaks...)
	eventually(t, func() bool { return len(w.told()) > 0 }, "an alert")
	begin := w.told()[0]
	link := "https://leaks.example.org/x/fleet/" + begin.Fingerprint
	if begin.Event != "started" || begin.Hosts != 2 || begin.Limit != 1 || !slices.Equal(begin.Names, []string{"node-1", "node-3"}) || begin.ID == "" || begin.key != begin.ID ||
		begin.Title == nil || *begin.Title != "pool.(*Pool).work <- main.main" || begin.Kind == nil || *begin.Kind != "goroutine" || begin.URL == nil || *begin.URL != link ||
		begin.Version != "test" || begin.At.IsZero() || !begin.At.Equal(begin.Since) {
		t.Errorf("the webhook is told %+v", begin)
	}
	// The text is escaped for chats, the title is not.
	if want := "pool.(*Pool).work &lt;- main.main leaks on 2 hosts, more than 1: node-1 and node-3. " + link; begin.Text != want {
		t.Errorf("the text is %q, want %q", begin.Text, want)
	}
	s.run(t, []scenario{
		{name: "pages say that requests leave", path: "/", status: 200, want: []string{"makes outgoing requests only to a webhook for alerts"}, never: []string{"makes no outgoing requests", "secret", w.URL}},
		{name: "the link leads to the family", path: "/fleet/" + begin.Fingerprint, status: 200, want: []string{"node-3"}},
		{name: "an attempt is counted", path: "/metrics", status: 200, want: []string{`leakdiff_alert_attempts_total{result="taken"} 1`}, never: []string{"secret"}},
	})
	if r := s.do("DELETE", "/api/v1/cases/"+third.Case, nil); r.status != 204 {
		t.Fatalf("deleting gave %d", r.status)
	}
	s.grows("node-4", 0, 2, 2, 2)
	if all := w.told(); len(all) != 1 {
		t.Errorf("node-1 still leaks, and the webhook is told %+v", all[1:])
	}
	// A case of three captures is too short to say that the leak is over, one of five is not.
	s.grows("node-1", 8, 2, 2, 2)
	s.grows("node-1", 12, 2, 2, 2, 2, 2)
	eventually(t, func() bool { return len(w.told()) > 1 }, "the end of the alert")
	end := w.told()[1]
	if want := "pool.(*Pool).work &lt;- main.main leaks on no host now. The alert has ended. " + link; end.Event != "ended" || end.Hosts != 0 || len(end.Names) > 0 || end.Text != want || !end.Since.Equal(begin.Since) || end.ID == begin.ID {
		t.Errorf("the webhook is told %+v", end)
	}
}

func TestAnAlertEndsWhenTheCaseOfItsHostIsDeleted(t *testing.T) {
	w := newWebhook(t)
	s := startSite(t, openStore(t), w.config(0))
	up := s.grows("node-1", 0, leaks...)
	eventually(t, func() bool { return len(w.told()) > 0 }, "an alert")
	if r := s.do("DELETE", "/api/v1/cases/"+up.Case, nil); r.status != 204 {
		t.Fatalf("deleting gave %d", r.status)
	}
	eventually(t, func() bool { return len(w.told()) > 1 }, "the end of the alert")
	if end := w.told()[1]; end.Event != "ended" || end.Hosts != 0 {
		t.Errorf("the webhook is told %+v", end)
	}
}

func TestTheHostsOfOneCaseCountEach(t *testing.T) {
	w := newWebhook(t)
	s := startSite(t, openStore(t), w.config(1))
	s.grow(0, map[string][]int{"node-1": leaks, "node-2": {3, 3, 3, 3, 3, 3}, "node-3": leaks})
	eventually(t, func() bool { return len(w.told()) > 0 }, "an alert")
	got := w.told()[0]
	if got.Hosts != 2 || !slices.Equal(got.Names, []string{"node-1", "node-3"}) {
		t.Errorf("the webhook is told %+v", got)
	}
	s.run(t, []scenario{
		{name: "the page tells them apart", path: "/fleet/" + got.Fingerprint + ".csv", status: 200, want: []string{"node-1,,96,5,99,leaking,,", "node-2,,0,5,3,stable,,", "node-3,,96,5,99,leaking,,"}, never: []string{"open"}},
	})
}

func TestAWebhookIsToldUntilItTakesAnAlertAndNobodyElseIs(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked for", r.URL) }))
	defer other.Close()
	hangs := make(chan struct{})
	w := newWebhook(t,
		func(rw http.ResponseWriter, _ *http.Request) {
			http.Error(rw, "not now", http.StatusInternalServerError)
		},
		func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, other.URL, http.StatusTemporaryRedirect)
		},
		func(_ http.ResponseWriter, r *http.Request) { <-hangs },
		func(rw http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
	)
	defer close(hangs)
	var log lockedBuffer
	cfg := w.config(0)
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := startSite(t, openStore(t), cfg)
	s.grows("node-1", 0, leaks...)
	eventually(t, func() bool {
		state, err := s.s.cfg.Store.State(t.Context())
		return err == nil && state.OldestDelivery.IsZero() && len(w.told()) > 4
	}, "an alert that is taken")
	for _, x := range w.told() {
		if first := w.told()[0]; x.ID != first.ID || x.key != first.key || x.Text != first.Text {
			t.Errorf("the webhook is told %+v, then %+v", first, x)
		}
	}
	s.run(t, []scenario{
		{name: "attempts are counted", path: "/metrics", status: 200, want: []string{`leakdiff_alert_attempts_total{result="failed"} `, `leakdiff_alert_attempts_total{result="taken"} 1`, "leakdiff_alert_age_seconds 0"}, never: []string{`{result="failed"} 0`}},
	})
	said := log.String()
	for _, want := range []string{"answered 500", "answered 307", "attempt=3", "attempt=4"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in the log", want)
		}
	}
	if strings.Contains(said, "secret") {
		t.Error("the log has the path of the webhook")
	}
}

func TestAnAlertIsDeliveredAfterARestart(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	opened := func() *store.Store {
		st, err := store.Open(t.Context(), store.Config{Dir: dir, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	w := newWebhook(t, func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "down", http.StatusBadGateway) })
	cfg := w.config(0)
	cfg.Alert.FirstDelay = time.Hour
	t.Run("the webhook is down", func(t *testing.T) {
		s := startSite(t, opened(), cfg)
		s.grows("node-1", 0, leaks...)
		eventually(t, func() bool { return strings.Contains(s.get("/metrics").body, `{result="failed"} 1`) }, "an attempt")
	})
	now = now.Add(time.Hour)
	startSite(t, opened(), cfg)
	eventually(t, func() bool { return len(w.told()) > 1 }, "a second attempt")
	if all := w.told(); len(all) != 2 || all[0].ID != all[1].ID {
		t.Errorf("the webhook is told %+v", all)
	}
}

func TestWithoutAWebhookNothingIsToldAndNothingWaits(t *testing.T) {
	s := newSite(t)
	s.grows("node-1", 0, leaks...)
	s.run(t, []scenario{
		{name: "no request leaves", path: "/", status: 200, want: []string{"This server makes no outgoing requests.", "nowhere else"}},
		{name: "nothing waits", path: "/metrics", status: 200, want: []string{"leakdiff_alert_age_seconds 0", `{result="taken"} 0`}},
	})
}

func TestTheAddressOfAWebhookIsNeverRepeated(t *testing.T) {
	for _, text := range []string{"hooks.example.org/secret", "ftp://hooks.example.org/secret", "https:///secret", "https://hooks.example.org:x/secret", "://secret"} {
		if u, err := alert.Address(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is read as %v, error %v", text, u, err)
		}
	}
}

// lockedBuffer takes the lines of a log from several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// judging tells when alerts begin or end.
type judging struct {
	Storage
	changed chan<- int
}

func (j *judging) JudgeAlerts(ctx context.Context, rule store.AlertRule, body func(store.Alert) ([]byte, error)) (int, error) {
	n, err := j.Storage.JudgeAlerts(ctx, rule, body)
	if n > 0 {
		j.changed <- n
	}
	return n, err
}

func TestAWebhookGetsWhatItsTemplateMakes(t *testing.T) {
	type delivery struct{ kind, body string }
	got := make(chan delivery, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- delivery{r.Header.Get("Content-Type"), string(text)}
	}))
	defer hook.Close()
	address, err := alert.Address(hook.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		template string
		want     []delivery
	}{
		"JSON": {`{"text": {{json (printf "%s on %v" .event .hosts)}}}`, []delivery{{"application/json", `{"text": "started on 1"}`}, {"application/json", `{"text": "ended on 0"}`}}},
		"text": {"{{.event}}, {{len .host_names}}\n", []delivery{{"text/plain; charset=utf-8", "started, 1"}, {"text/plain; charset=utf-8", "ended, 0"}}},
		// What begins is not told, so the first delivery is the end.
		"ends alone": {`{{if eq .event "ended"}}{"text": {{json .event}}}{{end}}`, []delivery{{"application/json", `{"text": "ended"}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.tmpl")
			if err := os.WriteFile(path, []byte(c.template), 0o600); err != nil {
				t.Fatal(err)
			}
			template, err := alert.ReadTemplate(path)
			if err != nil {
				t.Fatal(err)
			}
			w := newWebhook(t)
			cfg := w.config(0)
			cfg.Alert.URL, cfg.Alert.Template = address, template
			st := openStore(t)
			begun := make(chan int, 10)
			cfg.Store = &judging{st, begun}
			s := startSite(t, st, cfg)
			up := s.grows("node-1", 0, leaks...)
			<-begun
			if len(c.want) > 1 {
				if first := <-got; first != c.want[0] {
					t.Errorf("the begin is %+v, want %+v", first, c.want[0])
				}
			}
			if r := s.do("DELETE", "/api/v1/cases/"+up.Case, nil); r.status != http.StatusNoContent {
				t.Fatalf("deleting gave %d", r.status)
			}
			if last := <-got; last != c.want[len(c.want)-1] {
				t.Errorf("the end is %+v, want %+v", last, c.want[len(c.want)-1])
			}
		})
	}
}
