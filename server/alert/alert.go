// Package alert tells a webhook when a family begins and ends to leak on many hosts. It
// takes what the store counts and sends it as JSON, in order and until it is taken. It knows
// neither pages nor cases.
package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
)

// Store counts hosts and keeps deliveries.
type Store interface {
	JudgeAlerts(ctx context.Context, rule store.AlertRule, body func(store.Alert) ([]byte, error)) (changed int, err error)
	ClaimDelivery(ctx context.Context, delay func(attempt int) time.Duration) (d store.Delivery, claimed bool, wait time.Duration, err error)
	Delivered(ctx context.Context, id string) error
}

type Config struct {
	Store Store
	Log   *slog.Logger
	Now   func() time.Time
	// URL is the webhook. It may hold a secret: only its host is ever logged.
	URL *url.URL
	// Template writes the bodies, nil for the usual ones.
	Template *Template
	// Hosts is the number of hosts that more begin an alert.
	Hosts int
	// BaseURL is the address of the server for links, empty if it is not known.
	BaseURL, Version string
	// Sent counts attempts, by whether the webhook took the delivery.
	Sent func(taken bool)
	// Pause is the shortest time between two countings, 0 for 10 s. FirstDelay is the time
	// before the second attempt, 0 for 30 s. Timeout ends an attempt, 0 for 10 s.
	Pause, FirstDelay, Timeout time.Duration
}

// Alerts judges and delivers in Run. Those that are nil ignore what they are notified of.
type Alerts struct {
	cfg     Config
	client  *http.Client
	changed chan struct{}
}

const (
	usualPause      = 10 * time.Second
	usualFirstDelay = 30 * time.Second
	usualTimeout    = 10 * time.Second
	longestDelay    = time.Hour
	// days is how many days back hosts count, as on the page of a family.
	days = 30
	// A counting is followed by a pause of idleTimes its duration at least.
	idleTimes = 20
)

// Address reads the address of a webhook. The error does not repeat it.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, &analysis.Fault{Code: "usage", What: "the address of the webhook was not understood", Where: "--alert-url", Why: "it is no http:// or https:// address with a host", Hint: "write https://HOST/PATH"}
	}
	return u, nil
}

func New(cfg Config) *Alerts {
	for value, usual := range map[*time.Duration]time.Duration{&cfg.Pause: usualPause, &cfg.FirstDelay: usualFirstDelay, &cfg.Timeout: usualTimeout} {
		if *value == 0 {
			*value = usual
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &Alerts{cfg: cfg, changed: make(chan struct{}, 1), client: &http.Client{
		Transport: transport, Timeout: cfg.Timeout,
		// The operator chose one address, not those that it names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Notify says that what is said of a case has changed, or that the case is gone.
func (a *Alerts) Notify() {
	if a == nil {
		return
	}
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// Run judges after each change, and every hour, because hosts also go without one: a capture
// gets too old. It delivers what is due, until ctx ends.
func (a *Alerts) Run(ctx context.Context) {
	judge, deliver := time.NewTimer(0), time.NewTimer(0)
	defer judge.Stop()
	defer deliver.Stop()
	var next time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.changed:
			judge.Reset(time.Until(next))
		case <-judge.C:
			began := time.Now()
			if a.judge(ctx) {
				deliver.Reset(0)
			}
			next = time.Now().Add(max(a.cfg.Pause, idleTimes*time.Since(began)))
			judge.Reset(time.Hour)
		case <-deliver.C:
			deliver.Reset(a.deliver(ctx))
		}
	}
}

// judge reports whether something is to be delivered.
func (a *Alerts) judge(ctx context.Context) bool {
	rule := store.AlertRule{Hosts: a.cfg.Hosts, Since: a.cfg.Now().AddDate(0, 0, -days)}
	changed, err := a.cfg.Store.JudgeAlerts(ctx, rule, a.body)
	if err != nil && ctx.Err() == nil {
		a.cfg.Log.Error("counting hosts with a leak failed", "error", err)
	}
	return changed > 0
}

// message is the body of a delivery.
type message struct {
	ID    string `json:"id"`
	Event string `json:"event"`
	Text  string `json:"text"`
	// At is when it was noticed, Since when the alert began.
	At          time.Time      `json:"at"`
	Since       time.Time      `json:"since"`
	Fingerprint string         `json:"fingerprint"`
	Title       *string        `json:"title"`
	Kind        *analysis.Kind `json:"kind"`
	Hosts       int            `json:"hosts"`
	Names       []string       `json:"host_names"`
	Limit       int            `json:"limit"`
	URL         *string        `json:"url"`
	Version     string         `json:"version"`
}

// body is the body of a delivery: the usual one, or what the template makes of it. It is empty
// where the template makes nothing.
func (a *Alerts) body(of store.Alert) ([]byte, error) {
	m := a.usual(of)
	if a.cfg.Template == nil {
		// Chats take the body as it is, and read markup in the text: names come from dumps.
		m.Text = slackText.Replace(m.Text)
		return json.Marshal(m)
	}
	return a.cfg.Template.body(m)
}

func (a *Alerts) usual(of store.Alert) message {
	m := message{
		ID: of.ID, Event: "ended", At: of.At, Since: of.Since, Fingerprint: of.Fingerprint, Hosts: of.Hosts, Names: append([]string{}, of.Named...),
		Limit: a.cfg.Hosts, Version: a.cfg.Version,
	}
	if of.Started {
		m.Event = "started"
	}
	name := of.Fingerprint
	if of.Title != "" {
		name, m.Title, m.Kind = of.Title, &of.Title, &of.Kind
	}
	m.Text = wording.Alert(name, of.Started, of.Hosts, a.cfg.Hosts, of.Named)
	if a.cfg.BaseURL != "" {
		link := strings.TrimSuffix(a.cfg.BaseURL, "/") + "/fleet/" + url.PathEscape(of.Fingerprint)
		m.URL = &link
		m.Text += " " + link
	}
	return m
}

// deliver sends what is due, the oldest first, and returns how long no more is.
func (a *Alerts) deliver(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		d, claimed, wait, err := a.cfg.Store.ClaimDelivery(ctx, a.delay)
		if err != nil && ctx.Err() == nil {
			a.cfg.Log.Error("looking for alerts to deliver failed", "error", err)
			return time.Minute
		}
		if !claimed {
			return wait
		}
		if len(d.Body) > 0 { // else the template has nothing to say of it
			err = a.send(ctx, d)
			if ctx.Err() != nil {
				break
			}
			if a.cfg.Sent(err == nil); err != nil {
				a.cfg.Log.Warn("an alert was not delivered and is tried again", "delivery", d.ID, "attempt", d.Attempt, "host", a.cfg.URL.Host, "why", err)
				continue
			}
		}
		if err := a.cfg.Store.Delivered(ctx, d.ID); err != nil {
			a.cfg.Log.Error("an alert was delivered and will be again", "delivery", d.ID, "error", err)
		}
	}
	return 0
}

// delay is the time between two attempts. It doubles up to an hour.
func (a *Alerts) delay(attempt int) time.Duration {
	delay := a.cfg.FirstDelay
	for n := 1; n < attempt && delay < longestDelay; n++ {
		delay *= 2
	}
	return min(delay, longestDelay)
}

func (a *Alerts) send(ctx context.Context, d store.Delivery) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.URL.String(), bytes.NewReader(d.Body))
	if err != nil {
		return errors.New("the request could not be made") // the error would name the address
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	if json.Valid(d.Body) {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "leakdiff/"+a.cfg.Version)
	req.Header.Set("Idempotency-Key", d.ID)
	res, err := a.client.Do(req)
	var named *url.Error
	if errors.As(err, &named) {
		return named.Err // the outer error names the address
	}
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("the webhook answered %d", res.StatusCode)
	}
	return nil
}
