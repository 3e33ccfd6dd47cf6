package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"leakdiff/analysis/say/report"
	"leakdiff/server/access"
	"leakdiff/server/share"
)

// callOf is the request of an agent that calls a tool.
func callOf(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

// withHeader sends the headers of a sender with each request.
type withHeader []string

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for i := 0; i+1 < len(h); i += 2 {
		r.Header.Set(h[i], h[i+1])
	}
	return http.DefaultTransport.RoundTrip(r)
}

// agent connects the SDK's client to the server.
func (s *site) agent(header ...string) *sdk.ClientSession {
	s.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(s.t.Context(), &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: withHeader(header)}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { session.Close() })
	return session
}

// tool calls a tool and returns its answer as JSON, or the words of its refusal.
func tool(t *testing.T, session *sdk.ClientSession, name string, in map[string]any) (answer string, refused bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if result.IsError {
		return result.Content[0].(*sdk.TextContent).Text, true
	}
	text, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), false
}

func TestAnAgentAsksAServer(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	session := s.agent()
	ask := func(name string, in map[string]any) string {
		answer, refused := tool(t, session, name, in)
		if refused {
			t.Fatalf("%s: %s", name, answer)
		}
		return answer
	}
	if got := ask("list_cases", map[string]any{"find": "kubelet"}); !strings.Contains(got, `"case":"`+up.Case+`"`) || !strings.Contains(got, `"total":1`) || !strings.Contains(got, `"url":"`+s.url+"/cases/"+up.Case+`"`) {
		t.Errorf("the list is %s", got)
	}
	if got := ask("list_cases", map[string]any{"verdict": "stable"}); got != `{"cases":[],"total":0}` {
		t.Errorf("the list of other verdicts is %s", got)
	}
	d := decode[struct {
		URL       string
		Diagnosis report.Diagnosis
		Finding   report.Finding
	}](t, ask("diagnose", map[string]any{"case": up.Case}))
	page := s.get("/cases/" + up.Case)
	if d.Diagnosis.Sentence == "" || !strings.Contains(page.body, d.Diagnosis.Sentence) || d.URL != s.url+"/cases/"+up.Case {
		t.Errorf("the page does not say what the agent is told: %+v", d)
	}
	for name, c := range map[string]struct {
		in   map[string]any
		want string
	}{
		"findings":     {map[string]any{"case": up.Case}, `"file":"k8s.io/kubernetes@v1.34.4/pkg/kubelet/prober/worker.go","function":"k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run","line":189`},
		"family":       {map[string]any{"case": up.Case, "family": d.Finding.Families[0]}, `"file":"sync/mutex.go","function":"sync.(*Mutex).Lock","line":90`},
		"object":       {map[string]any{"case": up.Case, "object": "o1", "series": 0}, `"holders":[{"n":60,"role":"created by","type":"github.com/google/cadvisor/manager.(*containerData).Start"}]`},
		"compare":      {map[string]any{"case": up.Case, "a": "t2", "b": "t7"}, `"fingerprint":"` + d.Finding.Families[0] + `"`},
		"next_capture": {map[string]any{"case": up.Case}, `"captures":[{"command":"leakdiff collect --pid `},
	} {
		if got := ask(name, c.in); !strings.Contains(got, c.want) {
			t.Errorf("%s lacks %s: %s", name, c.want, got)
		}
	}
	for _, c := range []struct {
		tool string
		in   map[string]any
		want string
	}{
		{"diagnose", map[string]any{"case": "none"}, `case "none": there is no such case`},
		{"diagnose", map[string]any{"case": "../audit"}, "there is no such case"},
		{"family", map[string]any{"case": up.Case, "family": "../../audit.jsonl"}, "the case has no such family"},
		{"object", map[string]any{"case": up.Case, "object": "o1/../../audit"}, "the case has no such objects"},
		{"compare", map[string]any{"case": up.Case, "a": "x..y"}, "the process has no such snapshot"},
		{"list_cases", map[string]any{"verdict": "guilty"}, "guilty: there is no such verdict (the verdicts are leaking, saturated, suspicious, "},
		{"findings", map[string]any{"case": up.Case, "verdict": "LEAKING"}, "LEAKING: there is no such verdict (the verdicts are leaking, saturated, suspicious, "},
		{"findings", map[string]any{"case": up.Case, "process": "nope"}, "nope: the case has no such process (its processes are kubelet, containerd). use one of these, or leave it out"},
	} {
		if got, refused := tool(t, session, c.tool, c.in); !refused || !strings.Contains(got, c.want) {
			t.Errorf("%s %v answers %s", c.tool, c.in, got)
		}
	}
	if r := s.do("DELETE", "/api/v1/cases/"+up.Case, nil); r.status != http.StatusNoContent {
		t.Fatalf("deleting gave %d", r.status)
	}
	for _, name := range []string{"diagnose", "findings", "next_capture"} {
		if got, refused := tool(t, session, name, map[string]any{"case": up.Case}); !refused || strings.Contains(got, "kubelet") {
			t.Errorf("%s of a deleted case answers %s", name, got)
		}
	}
	if got := ask("list_cases", map[string]any{}); strings.Contains(got, up.Case) {
		t.Errorf("a deleted case is listed: %s", got)
	}
}

func TestAnAgentFollowsNothingInACaseWithoutAProcess(t *testing.T) {
	s := newSite(t)
	up := s.put("words.txt", []byte("no dump at all\n"))
	session := s.agent()
	for _, in := range []map[string]any{{"case": up.Case, "member": "goroutine:42"}, {"case": up.Case, "member": "goroutine:42", "series": 0}} {
		if got, refused := tool(t, session, "follow", in); !refused || strings.Contains(got, "internal") || strings.Contains(got, "went wrong") {
			t.Errorf("%v answers %s", in, got)
		}
	}
	if got, refused := tool(t, session, "next_capture", map[string]any{"case": up.Case}); refused || !strings.Contains(got, `"captures":[]`) {
		t.Errorf("the next capture is %s", got)
	}
}

func TestAnAgentReadsFrozenResultsWithTheirAudience(t *testing.T) {
	g := guard(t, access.Policy{Mode: access.ByPassword, Passwords: passwordFile(t)})
	session := g.agent(g.senders["the token read"]...)
	read := func(uri string) (string, error) {
		got, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		return got.Contents[0].MIMEType + "\n" + got.Contents[0].Text, nil
	}
	for name, id := range map[string]string{"link": g.ids.Replace("{link}"), "account": g.ids.Replace("{account}")} {
		text := g.do("GET", "/p/"+id+".txt", nil, g.senders["the token read"]...)
		for _, uri := range []string{"leakdiff://permalink/" + id, g.url + "/p/" + id} {
			if got, err := read(uri); err != nil || !strings.HasPrefix(got, "text/plain\n") || strings.TrimSpace(strings.TrimPrefix(got, "text/plain\n")) != strings.TrimSpace(text.body) {
				t.Errorf("%s of audience %s is %q, %v; want %q", uri, name, got, err, text.body)
			}
		}
		data := g.do("GET", "/p/"+id+".json", nil, g.senders["the token read"]...)
		if got, err := read("leakdiff://permalink/" + id + ".json"); err != nil || got != "application/json\n"+data.body {
			t.Errorf("the data of audience %s is %q, %v", name, got, err)
		}
	}
	for _, uri := range []string{
		"leakdiff://permalink/none", "leakdiff://permalink/none.json", "leakdiff://permalink/" + g.ids.Replace("{link}") + ".csv", "http://192.0.2.1/p/" + g.ids.Replace("{link}"),
		"leakdiff://permalink/..%2Faudit", "leakdiff://cases/" + g.caseID, "file:///etc/passwd",
	} {
		if got, err := read(uri); err == nil || !strings.Contains(strings.ToLower(err.Error()), "not found") {
			t.Errorf("%s is %q, %v", uri, got, err)
		}
	}
	r := g.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+g.caseID+`"}`), g.senders["the token admin"]...)
	result := decode[share.Result](t, r.body)
	if r := g.do("DELETE", "/api/v1/permalinks/"+result.ID, nil, append([]string{"X-Owner-Key", result.OwnerKey}, g.senders["the token admin"]...)...); r.status != http.StatusNoContent {
		t.Fatalf("withdrawing gave %d: %s", r.status, r.body)
	}
	if got, err := read("leakdiff://permalink/" + result.ID); err == nil || strings.Contains(got, secretTitle) {
		t.Errorf("a withdrawn result is %q, %v", got, err)
	}
	if found, err := session.ListResourceTemplates(t.Context(), nil); err != nil || len(found.ResourceTemplates) != 2 {
		t.Errorf("the templates are %+v, %v", found, err)
	}
	prompt, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "diagnose", Arguments: map[string]string{"case": "c\x1b1"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := prompt.Messages[0].Content.(*sdk.TextContent).Text; !strings.HasPrefix(text, `Call diagnose for the case c\x1b1. Then:`) {
		t.Errorf("the prompt is %q", text)
	}
}

func TestAnAgentIsAdmittedLikeEveryProgram(t *testing.T) {
	g := guard(t, access.Policy{Mode: access.ByPassword, Passwords: passwordFile(t)})
	reader := g.senders["the token read"]
	diagnose := g.ids.Replace(callOf("diagnose", `{"case":"{case}"}`))
	for _, c := range []struct {
		name, method, body string
		header             []string
		status             int
		says, not          string
	}{
		{"a reader", "POST", diagnose, reader, 200, secretTitle, ""},
		{"a reader with the wrong owner key", "POST", diagnose, append([]string{"X-Owner-Key", "wrong"}, reader...), 200, secretTitle, ""},
		{"nobody", "POST", diagnose, nil, 401, "unauthorized", secretTitle},
		{"nobody, for a case that is not there", "POST", callOf("diagnose", `{"case":"none"}`), nil, 401, "unauthorized", "no such case"},
		{"nobody with an owner key", "POST", diagnose, []string{"X-Owner-Key", "key"}, 401, "unauthorized", secretTitle},
		{"a revoked token", "POST", diagnose, g.senders["a revoked token"], 401, "it was revoked", secretTitle},
		{"another site", "POST", diagnose, append([]string{"Origin", "https://evil.example"}, reader...), 403, "cross_origin", secretTitle},
		{"another site, as browsers say it", "POST", diagnose, append([]string{"Sec-Fetch-Site", "cross-site"}, reader...), 403, "cross_origin", secretTitle},
		{"another name", "POST", diagnose, append([]string{"Host", "evil.example"}, reader...), 421, "misdirected", secretTitle},
		{"a request without a body", "GET", "", reader, 405, "method", secretTitle},
		{"the end of a session", "DELETE", "", reader, 405, "method", secretTitle},
		{"a large request", "POST", callOf("list_cases", `{"find":"`+strings.Repeat("x", 70_000)+`"}`), reader, 413, "the request is too large", secretTitle},
		{"no JSON", "POST", "goroutine 1 [running]:", reader, 400, "the body is not the expected JSON", secretTitle},
		{"an empty request", "POST", "", reader, 400, "it is empty", secretTitle},
		{"several requests at once", "POST", " [" + diagnose + "," + diagnose + "]", reader, 400, "several messages came at once", secretTitle},
		{"a tool that is not there", "POST", callOf("read_dump", `{"paths":["/etc/passwd"]}`), reader, 200, "unknown tool", "/bin/"},
		{"an argument that is not there", "POST", callOf("diagnose", `{"paths":["/etc/passwd"]}`), reader, 200, "isError", "/bin/"},
		{"a method that is not there", "POST", `{"jsonrpc":"2.0","id":1,"method":"cases/delete"}`, reader, 400, "unsupported", secretTitle},
	} {
		header := append([]string{"Content-Type", jsonKind, "Accept", "application/json, text/event-stream"}, c.header...)
		r := g.do(c.method, "/mcp", strings.NewReader(c.body), header...)
		if r.status != c.status || !strings.Contains(r.body, c.says) || c.not != "" && strings.Contains(r.body+fmt.Sprint(r.header), c.not) {
			t.Errorf("%s gets %d, want %d with %q and without %q: %.400s", c.name, r.status, c.status, c.says, c.not, r.body)
		}
		if r.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s gets a session", c.name)
		}
	}
}

func TestAnAgentChangesNothing(t *testing.T) {
	g := guard(t, access.Policy{Mode: access.ByPassword, Passwords: passwordFile(t)})
	admin := g.senders["the token admin"]
	revision := func() int64 {
		c, err := g.s.cfg.Store.Case(t.Context(), g.caseID)
		if err != nil {
			t.Fatal(err)
		}
		return c.Revision
	}
	before, audited := revision(), g.do("GET", "/audit.jsonl", nil, admin...).body
	session := g.agent(admin...)
	for _, name := range []string{"list_cases", "diagnose", "findings", "next_capture"} {
		in := map[string]any{"case": g.caseID}
		if name == "list_cases" {
			in = nil
		}
		tool(t, session, name, in)
	}
	if after := revision(); after != before {
		t.Errorf("the case has revision %d, before %d", after, before)
	}
	if after := g.do("GET", "/audit.jsonl", nil, admin...).body; after != audited {
		t.Errorf("the audit log has more than before:\n%s", strings.TrimPrefix(after, audited))
	}
}

// alternating sends each request to the next of several servers.
type alternating struct {
	hosts []string
	n     atomic.Int64
}

func (a *alternating) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = a.hosts[int(a.n.Add(1))%len(a.hosts)]
	r.Host = ""
	return http.DefaultTransport.RoundTrip(r)
}

func TestAnyServerBehindOneAddressAnswersAnAgent(t *testing.T) {
	st := openStore(t)
	first := startSite(t, st, Config{})
	up := first.put("dump.txt", []byte(tinyDump))
	second := httptest.NewServer(New(Config{Store: st, Blobs: st.Blobs(), Listen: "127.0.0.1:8080", TempDir: t.TempDir()}).Handler())
	defer second.Close()
	between := &alternating{hosts: []string{strings.TrimPrefix(first.url, "http://"), strings.TrimPrefix(second.URL, "http://")}}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: first.url + "/mcp", HTTPClient: &http.Client{Transport: between}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 4 {
		if got, refused := tool(t, session, "diagnose", map[string]any{"case": up.Case}); refused || !strings.Contains(got, up.Case) {
			t.Errorf("a server answers %s", got)
		}
	}
	if between.n.Load() < 5 {
		t.Errorf("only %d requests were sent", between.n.Load())
	}
}
