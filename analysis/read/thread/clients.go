package thread

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
	"leakdiff/analysis/say/wording"
)

// Clients is what the troubleshooting script of Jenkins' Kubernetes plugin prints.
type Clients struct {
	Clients []Client
	// Active, Running and Queued are the figures of the summary below the clients,
	// -1 if they are missing.
	Active, Running, Queued int
	// Truncated is true if the text ends before the summary.
	Truncated bool
}

// Client is one Kubernetes client. Numbers are -1 if they were not printed.
type Client struct {
	// Name is the class, Identity the identity hash.
	Name, Identity string
	// Validity is in the script's own unit and may be negative; Valid is true if it was
	// printed.
	Validity int64
	Valid    bool
	// Running and Queued are calls.
	Running, Queued         int
	MaxRequests, MaxPerHost int
	// ActiveConnections are all connections, idle ones included, as OkHttp's
	// connectionCount counts.
	ActiveConnections, IdleConnections int
	// Requests counts the running and queued calls by their normalised request:
	// "GET http://10.0.0.1/api/v1/namespaces/ci/pods/<pod>/exec".
	Requests map[string]int
	// Calls counts the running calls by what they ask of the API: "exec of pods".
	Calls map[string]int
	// Settings are the lines below SETTINGS, verbatim.
	Settings     []string
	Line, Offset int64
}

// Bounds of a client summary.
const (
	maxClients  = 100_000
	maxRequests = 10_000
	maxSettings = 100
	// otherRequests counts what is beyond maxRequests.
	otherRequests = "other requests"
)

var (
	clientLine  = expression.Lazy(`^\(?([\w.$]+)@([0-9a-f]+)\)?$`)
	sectionLine = expression.Lazy(`^\* (STATE|RUNNING|QUEUED|SETTINGS|CONNECTION POOL)(?: (-?\d+))?$`)
	requestLine = expression.Lazy(`^\* Request\{method=([A-Z]+), url=([^ ,]*)`)
	validLine   = expression.Lazy(`^\* validity (-?\d+)$`)
	poolLine    = expression.Lazy(`^\* (Active|Idle) Connections?:? (\d+)$`)
	limitLine   = expression.Lazy(`^\* Max Concurrent Requests( per Host)?: (\d+)$`)
	summaryLine = expression.Lazy(`^\* (\d+) (active clients?|running calls|queued calls)$`)
)

// ParseClients reads the summary of Kubernetes clients that Jenkins'
// troubleshooting script prints. Names of pods are taken out of the requests, and
// queries, which can hold commands and secrets, are left out. The error is that
// of r.
func ParseClients(r io.Reader, path string) (Clients, []analysis.Problem, error) {
	p := clientParser{problems: &line.Problems{Path: path}, found: Clients{Active: -1, Running: -1, Queued: -1, Truncated: true}}
	lines := line.NewReader(r)
	for l := range lines.All() {
		p.line(l)
	}
	p.closeClient()
	p.judge()
	return p.found, p.problems.All(), lines.Failure(path)
}

type clientParser struct {
	problems *line.Problems
	found    Clients
	client   *Client
	section  string
	// listed counts the requests below RUNNING and QUEUED.
	listed  map[string]int
	begun   bool
	dropped int
}

func (p *clientParser) line(l line.Line) {
	s := strings.TrimSpace(l.Text)
	switch {
	case s == "Active K8s Clients":
		p.beginSummary(l)
	case s == "K8s Clients Summary":
		p.closeClient()
		p.section, p.found.Truncated = "summary", false
	case p.section == "summary":
		p.figure(s)
	case clientLine.MatchString(s):
		p.beginClient(l, s)
	case p.client != nil:
		p.property(l, s)
	}
}

// beginSummary starts over: of several summaries in one file the last one counts.
func (p *clientParser) beginSummary(l line.Line) {
	p.closeClient()
	if p.begun {
		p.problems.Add(analysis.Warning, l, "the file holds more than one summary of clients",
			"figures of different times are never added up; those of the last one are used", "save one file per run of the script")
		p.found = Clients{Active: -1, Running: -1, Queued: -1, Truncated: true}
	}
	p.begun, p.section = true, ""
}

// beginClient reads the heading of a client.
//
//	(io.fabric8.kubernetes.client.DefaultKubernetesClient@5b444398)
func (p *clientParser) beginClient(l line.Line, s string) {
	p.closeClient()
	m := clientLine.FindStringSubmatch(s)
	p.client = &Client{
		Name: text(m[1]), Identity: text(m[2]), Running: -1, Queued: -1, MaxRequests: -1, MaxPerHost: -1,
		ActiveConnections: -1, IdleConnections: -1, Requests: map[string]int{}, Calls: map[string]int{}, Line: l.Number, Offset: l.Offset,
	}
	p.section, p.listed = "", map[string]int{}
}

// property reads a line of a client.
//
//   - RUNNING 32
//   - Request{method=GET, url=http://10.0.0.1/api/v1/..., tags={}}
func (p *clientParser) property(l line.Line, s string) {
	c := p.client
	if m := sectionLine.FindStringSubmatch(s); m != nil {
		p.section = m[1]
		switch {
		case m[2] == "":
		case m[1] == "RUNNING":
			c.Running = whole(m[2])
		case m[1] == "QUEUED":
			c.Queued = whole(m[2])
		}
		return
	}
	if m := requestLine.FindStringSubmatch(s); m != nil {
		p.listed[p.section]++
		request := m[1] + " " + normalRequest(m[2])
		if _, known := c.Requests[request]; !known && len(c.Requests) >= maxRequests {
			request = otherRequests
		}
		c.Requests[request]++
		if p.section == "RUNNING" {
			if call := callOf(m[1], m[2]); c.Calls[call] > 0 || len(c.Calls) < mostCalls {
				c.Calls[call]++
			}
		}
		return
	}
	switch p.section {
	case "STATE":
		if m := validLine.FindStringSubmatch(s); m != nil {
			c.Validity, c.Valid = number(m[1]), true
		}
	case "SETTINGS":
		p.setting(s)
	case "CONNECTION POOL":
		m := poolLine.FindStringSubmatch(s)
		switch {
		case m == nil:
		case m[1] == "Active":
			c.ActiveConnections = whole(m[2])
		default:
			c.IdleConnections = whole(m[2])
		}
	}
}

func (p *clientParser) setting(s string) {
	kept, ok := strings.CutPrefix(s, "* ")
	if !ok {
		return
	}
	if len(p.client.Settings) < maxSettings {
		p.client.Settings = append(p.client.Settings, text(kept))
	}
	if m := limitLine.FindStringSubmatch(s); m != nil {
		if m[1] == "" {
			p.client.MaxRequests = whole(m[2])
		} else {
			p.client.MaxPerHost = whole(m[2])
		}
	}
}

// figure reads a line of the summary. The calls "(from plugin)" are those that
// the plugin made and come again as all calls.
//
//   - 2 active clients
//   - 33 running calls
func (p *clientParser) figure(s string) {
	m := summaryLine.FindStringSubmatch(s)
	if m == nil {
		return
	}
	switch m[2] {
	case "running calls":
		p.found.Running = whole(m[1])
	case "queued calls":
		p.found.Queued = whole(m[1])
	default:
		p.found.Active = whole(m[1])
	}
}

func (p *clientParser) closeClient() {
	c := p.client
	if c == nil {
		return
	}
	p.client = nil
	for _, s := range [...]struct {
		name     string
		declared int
	}{{"RUNNING", c.Running}, {"QUEUED", c.Queued}} {
		if listed := p.listed[s.name]; s.declared >= 0 && listed != s.declared {
			p.problems.Add(analysis.Note, line.Line{Number: c.Line, Offset: c.Offset},
				fmt.Sprintf("a client says %s %d and lists %d requests", s.name, s.declared, listed),
				"calls begin and end while the script runs, or the text was cut", "the declared number is used")
		}
	}
	if len(p.found.Clients) >= maxClients {
		p.dropped++
		return
	}
	p.found.Clients = append(p.found.Clients, *c)
}

func (p *clientParser) judge() {
	c := &p.found
	switch {
	case p.dropped > 0:
		p.problems.Add(analysis.Warning, line.Line{}, wording.Plural(p.dropped, "client was", "clients were")+" left out", "memory is bounded", "look at the summary's own figures")
	case !p.begun && len(c.Clients) == 0 && c.Active < 0:
		p.problems.Add(analysis.Error, line.Line{}, "no client summary was found", "neither its headings nor a client are in the text", "upload the whole output of the script")
	case c.Truncated:
		p.problems.Add(analysis.Warning, line.Line{}, "the client summary has no end", "the lines below \"K8s Clients Summary\" are missing", "the figures are lower bounds; copy the whole output of the script")
	case c.Active >= 0 && c.Active != len(c.Clients):
		p.problems.Add(analysis.Note, line.Line{}, fmt.Sprintf("the summary counts %d clients and the text shows %d", c.Active, len(c.Clients)), "clients come and go while the script runs, or a part is missing", "the clients shown are used")
	}
}

// normalRequest takes out of a URL what differs from call to call: the names of
// pods, and the query and user, which can hold secrets.
//
//	"http://10.0.0.1/api/v1/namespaces/ci/pods/maven-00064/exec?command=sh" -> "http://10.0.0.1/api/v1/namespaces/ci/pods/<pod>/exec"
func normalRequest(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	raw, _, _ = strings.Cut(raw, "#")
	if u, err := url.Parse(raw); err == nil && u.User != nil {
		raw = strings.Replace(raw, u.User.String()+"@", "", 1)
	}
	if scheme, rest, ok := strings.Cut(raw, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			raw = scheme + "://" + host[i+1:] + "/" + path
		}
	}
	return text(podName.ReplaceAllString(raw, "/pods/<pod>"))
}

// mostCalls bounds what the calls of a client ask for.
const mostCalls = 50

var apiPath = expression.Lazy(`^https?://[^/]+/apis?/(?:[^/?]+/)?v\d\w*/(?:namespaces/[^/?]+/)?([a-z]+)(?:/[^/?]+(?:/([a-z]+))?)?(?:[?#].*)?$`)

// callOf names what a call asks of the API of Kubernetes, without names of pods and namespaces.
//
//	callOf("GET", "https://10.0.0.1/api/v1/namespaces/ci/pods/agent-0/exec?command=cat") = "exec of pods"
//	callOf("POST", "https://10.0.0.1/api/v1/namespaces/ci/pods") = "POST of pods"
func callOf(method, address string) string {
	m := apiPath.FindStringSubmatch(address)
	switch {
	case m == nil:
		return "other calls"
	case m[2] != "":
		return m[2] + " of " + m[1]
	}
	return method + " of " + m[1]
}

var podName = expression.Lazy(`/pods/[^/]+`)

func whole(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// Figures are the summary's numbers: k8s_clients, k8s_running_calls,
// k8s_queued_calls, k8s_connections (idle ones included) and k8s_idle_connections
// as sums, k8s_max_concurrent_requests as the largest limit of a client,
// k8s_clients_saturated and k8s_clients_idle (without any call) as counts. Each client has
// k8s_client_running{ID}, k8s_client_queued{ID} and k8s_client_limit{ID}. k8s_call{WHAT} is how many
// running calls of all clients ask for it. What was not printed has no figure.
func (c Clients) Figures() map[string]float64 {
	out := map[string]float64{"k8s_clients": float64(len(c.Clients))}
	if len(c.Clients) == 0 {
		delete(out, "k8s_clients")
		put(out, "k8s_clients", c.Active)
		put(out, "k8s_running_calls", c.Running)
		put(out, "k8s_queued_calls", c.Queued)
		return out
	}
	saturated, idle, most := 0, 0, -1
	for i, client := range c.Clients {
		if limit, _ := client.saturated(); i < mostFigured {
			put(out, "k8s_client_running{"+client.Identity+"}", client.Running)
			put(out, "k8s_client_queued{"+client.Identity+"}", client.Queued)
			put(out, "k8s_client_limit{"+client.Identity+"}", limit)
		}
		for call, n := range client.Calls {
			sum(out, "k8s_call{"+call+"}", n)
		}
		sum(out, "k8s_running_calls", client.Running)
		sum(out, "k8s_queued_calls", client.Queued)
		sum(out, "k8s_connections", client.ActiveConnections)
		sum(out, "k8s_idle_connections", client.IdleConnections)
		most = max(most, client.MaxRequests)
		if _, full := client.saturated(); full {
			saturated++
		}
		if client.Running == 0 && client.Queued == 0 {
			idle++
		}
	}
	put(out, "k8s_max_concurrent_requests", most)
	put(out, "k8s_clients_saturated", saturated)
	put(out, "k8s_clients_idle", idle)
	return out
}

// mostFigured is how many clients have figures of their own.
const mostFigured = 50

func put(out map[string]float64, name string, n int) {
	if n >= 0 {
		out[name] = float64(n)
	}
}

func sum(out map[string]float64, name string, n int) {
	if n >= 0 {
		out[name] += float64(n)
	}
}

// saturated reports whether calls wait because as many as allowed are running,
// and the limit that is reached. A limit per host binds as well, since a client
// of one cluster talks to one host.
func (c Client) saturated() (limit int, full bool) {
	limit = c.MaxRequests
	if c.MaxPerHost >= 0 && (limit < 0 || c.MaxPerHost < limit) {
		limit = c.MaxPerHost
	}
	return limit, limit > 0 && c.Running >= limit && c.Queued > 0
}

// Saturated are sentences on the clients that run as many calls as they may while others wait,
// which a higher limit cures.
func (c Clients) Saturated() []string {
	var out []string
	for _, client := range c.Clients {
		if limit, full := client.saturated(); full {
			out = append(out, fmt.Sprintf("Client %s@%s runs %d calls, its limit is %d, and %d more wait in its queue: it is saturated. That is no leak; raise Max Concurrent Requests (in Jenkins: the cloud's Max connections to Kubernetes API), or find out why the running calls do not end.",
				client.Name[strings.LastIndexByte(client.Name, '.')+1:], client.Identity, client.Running, limit, client.Queued))
		}
	}
	return out
}

// Quiet is a sentence on clients that seem to be made anew and not closed, "" without any. One
// summary can only point at them.
func (c Clients) Quiet() string {
	quiet := 0
	for _, client := range c.Clients {
		if client.Running >= 0 && client.Running <= 1 && client.Queued <= 0 {
			quiet++
		}
	}
	if n := len(c.Clients); n > 1 && quiet > 0 {
		return fmt.Sprintf("%d of %d clients run at most one call: a program needs one client per cluster and set of credentials. If the number of clients grows from one summary to the next, they are made anew and not closed, each with its own dispatcher and connection pool.", quiet, n)
	}
	return ""
}
