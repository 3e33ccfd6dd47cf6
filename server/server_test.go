package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"leakdiff/samples"
	"leakdiff/samples/corpus"
	"leakdiff/server/intake"
	"leakdiff/server/share"
	"leakdiff/store"
)

// site is a running server with its own database.
type site struct {
	t   testing.TB
	s   *Server
	url string
	// transport connects to the server. nil is the usual one.
	transport http.RoundTripper
	// stop ends the worker.
	stop func()
}

func newSite(t testing.TB) *site {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return startSite(t, st, Config{})
}

func startSite(t testing.TB, st *store.Store, cfg Config) *site {
	t.Helper()
	return startSiteOn(t, st, cfg, nil)
}

// startSiteOn takes a listener, nil for one of TCP.
func startSiteOn(t testing.TB, st *store.Store, cfg Config, pipes *pipeListener) *site {
	t.Helper()
	cfg.Version, cfg.TempDir = "test", t.TempDir()
	if cfg.Store == nil {
		cfg.Store = st
	}
	if cfg.Blobs == nil {
		cfg.Blobs = st.Blobs()
	}
	if cfg.Program == nil {
		cfg.Program = func() string { return "test" }
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:8080"
	}
	s := New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	s.Start(ctx)
	running := &site{t: t, s: s, stop: cancel}
	web := httptest.NewUnstartedServer(s.Handler())
	if pipes != nil {
		web.Listener.Close()
		web.Listener = pipes
		transport := &http.Transport{DialContext: pipes.dial}
		defer t.Cleanup(transport.CloseIdleConnections)
		running.transport = transport
	}
	web.Start()
	running.url = web.URL
	t.Cleanup(func() {
		web.Close()
		cancel()
		s.Wait()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return running
}

// reply is an answer read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

func (s *site) do(method, path string, body io.Reader, header ...string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: s.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(text)}
}

func (s *site) get(path string) reply { s.t.Helper(); return s.do("GET", path, nil) }

// put uploads bytes and waits for the result.
func (s *site) put(name string, body []byte) intake.Uploaded {
	s.t.Helper()
	r := s.do("PUT", "/api/v1/bundles/"+url.PathEscape(name)+"?wait=1", bytes.NewReader(body))
	if r.status != http.StatusCreated {
		s.t.Fatalf("uploading %s gave %d: %s", name, r.status, r.body)
	}
	return decode[intake.Uploaded](s.t, r.body)
}

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func sample(t *testing.T, name string) samples.Sample {
	t.Helper()
	corpus.Heavy(t)
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no sample %s", name)
	return samples.Sample{}
}

// form is a multipart body of files by name.
func form(t testing.TB, files map[string]string, fields map[string]string) (*bytes.Buffer, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, text := range files {
		p, err := w.CreateFormFile("files", name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(p, text)
	}
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}

const tinyDump = "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\ngoroutine 7 [chan receive, 5 minutes]:\nmain.leak()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\ngoroutine 8 [chan receive]:\nmain.leak()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n"

// scenario is one request, with texts that its answer must and must not hold.
type scenario struct {
	name         string
	method, path string
	body         string
	header       []string
	status       int
	want         []string
	never        []string
}

func (s *site) run(t *testing.T, list []scenario) {
	for _, sc := range list {
		t.Run(sc.name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			if sc.method == "" {
				sc.method = "GET"
			}
			var body io.Reader
			if sc.body != "" || sc.method == "PUT" || sc.method == "POST" {
				body = strings.NewReader(sc.body)
			}
			r := s.do(sc.method, sc.path, body, sc.header...)
			if r.status != sc.status {
				t.Errorf("status %d, want %d: %.600s", r.status, sc.status, r.body)
			}
			for _, want := range sc.want {
				if !strings.Contains(r.body, want) {
					t.Errorf("%q is missing in: %.1500s", want, r.body)
				}
			}
			for _, never := range sc.never {
				if strings.Contains(r.body, never) {
					t.Errorf("%q must not appear", never)
				}
			}
		})
	}
}

func TestHostileRequestsAreRefusedBeforeAnyHandler(t *testing.T) {
	s := newSite(t)
	s.run(t, []scenario{
		{name: "a foreign host name is misdirected", path: "/", header: []string{"Host", "evil.example"}, status: 421, want: []string{"does not answer for that host name"}, never: []string{"Choose files"}},
		{name: "a foreign host name with a port as well", path: "/api/v1/cases/x", header: []string{"Host", "evil.example:8080"}, status: 421},
		{name: "a name that begins with localhost is foreign", path: "/", header: []string{"Host", "localhost.evil.example"}, status: 421},
		{name: "localhost is fine on any port", path: "/healthz", header: []string{"Host", "localhost:1234"}, status: 200, want: []string{"ok"}},
		{name: "a loopback literal is fine", path: "/healthz", header: []string{"Host", "127.0.0.2"}, status: 200},
		{name: "IPv6 loopback is fine", path: "/healthz", header: []string{"Host", "[::1]:8080"}, status: 200},
		{name: "another site's form is refused", method: "POST", path: "/cases/x/delete", header: []string{"Sec-Fetch-Site", "cross-site"}, status: 403},
		{name: "another origin's upload is refused", method: "PUT", path: "/api/v1/bundles/x", body: "x", header: []string{"Origin", "http://evil.example"}, status: 403},
		{name: "an unknown page says so", path: "/nowhere", status: 404, want: []string{"there is no such page"}},
		{name: "an unknown case says so", path: "/cases/cxxxxxxxxxxxxxxxxxxxxxxxxxx", status: 404},
		{name: "a case with a hostile id is escaped", path: "/cases/%3Cscript%3Ealert(1)%3C%2Fscript%3E", status: 404, never: []string{"<script>alert"}},
		{name: "a method that the address does not take", method: "DELETE", path: "/help", status: 405},
	})
}

func TestEveryAnswerCarriesTheSafetyHeaders(t *testing.T) {
	s := newSite(t)
	for _, path := range []string{"/", "/help", "/nowhere", "/healthz", "/api/v1/cases/none", "/p/none"} {
		r := s.get(path)
		if csp := r.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if r.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be sniffed", path)
		}
		if strings.Contains(r.body, " style=\"") || strings.Contains(r.body, "<script>") || strings.Contains(r.body, "onclick=") {
			t.Errorf("%s has inline script or style", path)
		}
	}
}

func TestBadInputIsExplained(t *testing.T) {
	s := newSite(t)
	archive := sample(t, "inotify-leak").Archive
	for _, tc := range []struct {
		name, file string
		body       []byte
		want       string
	}{
		{"a picture", "x.png", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"), "this file holds no dump"},
		{"half an archive", "half.tar.gz", archive[:len(archive)/2], "stops before its end"},
		{"a text in another language", "notes.txt", []byte(strings.Repeat("這不是轉儲，只是一段文字。\n", 50)), "this file holds no dump"},
		{"noise", "noise.bin", bytes.Repeat([]byte{0, 1, 2, 250, 251}, 1000), "this file holds no dump"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			up := s.put(tc.file, tc.body)
			if up.Status != "done" || up.Problems == 0 {
				t.Fatalf("got %+v", up)
			}
			page := s.get("/bundles/" + up.ID)
			if page.status != 200 || !strings.Contains(page.body, tc.want) {
				t.Errorf("status %d, %q is missing in %.3000s", page.status, tc.want, page.body)
			}
			if r := s.get(up.Link); r.status != 200 {
				t.Errorf("the case page gave %d", r.status)
			}
		})
	}
}

func TestUploadsAreRefusedInWords(t *testing.T) {
	s := newSite(t)
	s.run(t, []scenario{
		{name: "an empty body", method: "PUT", path: "/api/v1/bundles/x", status: 400, want: []string{"the upload is empty", `"hint"`}},
		{name: "a form without a file", method: "POST", path: "/upload", body: "--b--\r\n", header: []string{"Content-Type", "multipart/form-data; boundary=b"}, status: 400, want: []string{"nothing was uploaded"}},
		{name: "a form that is none", method: "POST", path: "/upload", body: "a=b", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 400},
		{name: "a time that is none", method: "PUT", path: "/api/v1/bundles/x?modified=yesterday", body: tinyDump, status: 400, want: []string{"yesterday is no time of RFC 3339", `"hint"`}},
		{name: "a case that does not exist", method: "PUT", path: "/api/v1/bundles/x?case=cnone", body: tinyDump, status: 404},
	})
	small := startSite(t, openStore(t), Config{UploadLimit: 100})
	small.run(t, []scenario{
		{name: "a body that announces too much", method: "PUT", path: "/api/v1/bundles/x", body: strings.Repeat("x", 101), status: 413, want: []string{"too large", "the limit is"}},
	})
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestOneUploadContract(t *testing.T) {
	s := newSite(t)
	first := s.do("PUT", "/api/v1/bundles/dump.txt?wait=1", strings.NewReader(tinyDump), "Idempotency-Key", "k1")
	up := decode[intake.Uploaded](t, first.body)
	if first.status != 201 || up.OwnerKey == "" || up.Status != "done" || len(up.Snapshots) != 1 || up.Link != "/cases/"+up.Case {
		t.Fatalf("got %d %s", first.status, first.body)
	}
	if n := up.Snapshots[0].Totals.Goroutines; n == nil || *n != 3 {
		t.Errorf("goroutines %v, want 3", n)
	}
	again := s.do("PUT", "/api/v1/bundles/dump.txt?wait=1", strings.NewReader(tinyDump), "Idempotency-Key", "k1")
	if again.status != 201 || decode[intake.Uploaded](t, again.body).ID != up.ID {
		t.Errorf("the same key gave another answer: %d %s", again.status, again.body)
	}
	if other := s.do("PUT", "/api/v1/bundles/other.txt", strings.NewReader(tinyDump+"\n"), "Idempotency-Key", "k1"); other.status != 422 {
		t.Errorf("another body under the same key gave %d", other.status)
	}
	if same := s.do("PUT", "/api/v1/bundles/dump.txt?wait=1&case="+up.Case, strings.NewReader(tinyDump)); same.status != 200 || decode[intake.Uploaded](t, same.body).ID != up.ID {
		t.Errorf("the same bytes in the same case gave %d %s", same.status, same.body)
	}
	fresh := decode[intake.Uploaded](t, s.do("PUT", "/api/v1/bundles/dump.txt?wait=1", strings.NewReader(tinyDump)).body)
	if fresh.Case == up.Case || fresh.ID == up.ID {
		t.Error("the same bytes without a case must make a new bundle in a new case")
	}
	if denied := s.do("PUT", "/api/v1/bundles/x?case="+up.Case, strings.NewReader("x"), "Authorization", "Bearer wrong"); denied.status != 403 {
		t.Errorf("a wrong owner key gave %d", denied.status)
	}
	body, kind := form(t, map[string]string{"a.txt": tinyDump, "b.txt": tinyDump + "\n"}, nil)
	multi := s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind)
	if got := decode[intake.Uploaded](t, multi.body); multi.status != 201 || len(got.Snapshots) != 2 {
		t.Errorf("two files gave %d %s", multi.status, multi.body)
	}
	if head := s.do("HEAD", "/bundles/"+up.ID, nil); head.status != 200 || head.body != "" {
		t.Errorf("HEAD gave %d", head.status)
	}
}

func TestRawBytesAreOnlyEverText(t *testing.T) {
	s := newSite(t)
	hostile := strings.Replace(tinyDump, "main.leak()", "main.<script>alert(1)</script>\u202e()", 1)
	up := s.put("evil.txt", []byte(hostile))
	download := s.get("/raw/" + up.ID + "/download?path=evil.txt")
	if download.body != hostile {
		t.Errorf("the download differs: %q", download.body)
	}
	if kind := download.header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
		t.Errorf("content type %q", kind)
	}
	if !strings.HasPrefix(download.header.Get("Content-Disposition"), "attachment") {
		t.Error("the download is not an attachment")
	}
	pages := []string{"/raw/" + up.ID + "?path=evil.txt&offset=0&length=400", up.Link, "/snapshots/" + up.Snapshots[0].ID, "/bundles/" + up.ID}
	for _, path := range pages {
		r := s.get(path)
		if r.status != 200 {
			t.Errorf("%s gave %d", path, r.status)
		}
		for _, never := range []string{"<script>alert", "\u202e"} {
			if strings.Contains(r.body, never) {
				t.Errorf("%s shows %q", path, never)
			}
		}
	}
	if r := s.get("/raw/" + up.ID + "?path=../../etc/passwd"); r.status != 404 {
		t.Errorf("a path outside gave %d", r.status)
	}
}

func TestThePagesOfTheSampleHoldTogether(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	if len(up.Snapshots) != 18 {
		t.Fatalf("%d snapshots, want 18", len(up.Snapshots))
	}
	var a, b string
	for _, snap := range up.Snapshots {
		if snap.Process == "kubelet" && snap.Label == "t1" {
			a = snap.ID
		}
		if snap.Process == "kubelet" && snap.Label == "t6" {
			b = snap.ID
		}
	}
	diff := "/diff/" + a + ".." + b
	s.run(t, []scenario{
		{name: "the case page tells both series", path: up.Link, status: 200, want: []string{"kubelet", "containerd", "263", "357", "leaking"}},
		{name: "the case is data as well", path: up.Link + ".json", status: 200, want: []string{`"schema":"leakdiff.report/1"`}},
		{name: "the case is Markdown as well", path: up.Link + ".md", status: 200, want: []string{"# ", "263"}},
		{name: "the diff shows totals and growth", path: diff + "?case=" + up.Case, status: 200, want: []string{"115", "243", "housekeepingTick", "RunPodSandbox"}},
		{name: "the diff finds its case by itself", path: diff, status: 200},
		{name: "the diff is data as well", path: diff + ".json", status: 200, want: []string{`"leakdiff.diff/1"`}},
		{name: "the diff is Markdown as well", path: diff + ".md", status: 200, want: []string{"housekeepingTick"}},
		{name: "a diff of one snapshot alone is refused", path: "/diff/" + a, status: 404},
		{name: "the choice of a form leads to the diff", path: "/diff-pick?a=" + a + "&b=" + b + "&case=" + up.Case, status: 303},
		{name: "a choice of one is refused in words", path: "/diff-pick?a=" + a, status: 400, want: []string{"two snapshots must be chosen"}},
		{name: "the snapshot shows what it was read from", path: "/snapshots/" + b + "?case=" + up.Case, status: 200, want: []string{"243", "goroutine-debug2.txt"}},
		{name: "the inventory lists every file", path: "/bundles/" + up.ID, status: 200, want: []string{"mountinfo", "captured_at"}},
		{name: "the search finds a function", path: "/search?q=podWorkers", status: 200, want: []string{"podWorkers"}},
	})
	t.Run("frozen results stand alone", func(t *testing.T) { frozenResultsStandAlone(t, s, up, a, b) })
}

func TestDeletingForgetsACase(t *testing.T) {
	s := newSite(t)
	up := s.put("dump.txt", []byte(tinyDump))
	kept := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`)).body)
	if r := s.get(kept.Link); r.status != 200 {
		t.Fatalf("the permalink gave %d: %s", r.status, r.body)
	}
	if r := s.do("POST", "/cases/"+up.Case+"/fields", strings.NewReader("title=INC-7"), "Content-Type", "application/x-www-form-urlencoded"); r.status != 303 {
		t.Fatalf("renaming gave %d", r.status)
	}
	if r := s.get("/"); !strings.Contains(r.body, "INC-7") {
		t.Error("the new title is not on the start page")
	}
	if r := s.do("POST", "/cases/"+up.Case+"/delete", strings.NewReader(""), "Content-Type", "application/x-www-form-urlencoded"); r.status != 303 {
		t.Fatalf("deleting gave %d: %s", r.status, r.body)
	}
	s.run(t, []scenario{
		{name: "the case is gone", path: up.Link, status: 404, never: []string{"INC-7"}},
		{name: "its bundle is gone", path: "/bundles/" + up.ID, status: 404},
		{name: "its raw lines are gone", path: "/raw/" + up.ID + "/download?path=dump.txt", status: 404},
		{name: "the search forgets it", path: "/search?q=main.leak", status: 200, never: []string{"/families/g1"}},
		{name: "its permalink says that it ended", path: kept.Link, status: 410, want: []string{"withdrawn"}},
	})
}

// frozenResultsStandAlone freezes pages of the sample between two snapshots.
func frozenResultsStandAlone(t *testing.T, s *site, up intake.Uploaded, a, b string) {
	s = &site{t: t, s: s.s, url: s.url}
	secrets := []string{"realnode1", "/srv/leak-lab/kubelet/run/secret", "10.77.0.1"}
	for _, view := range []string{"/cases/" + up.Case, "/diff/" + a + ".." + b, "/snapshots/" + b} {
		answer := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","view":"`+view+`"}`))
		if answer.status != 201 {
			t.Fatalf("%s: freezing gave %d: %s", view, answer.status, answer.body)
		}
		got := decode[share.Result](t, answer.body)
		if len(got.ID) != 32 || got.OwnerKey == "" || got.ExpiresAt == nil {
			t.Errorf("%s: %+v", view, got)
		}
		for _, suffix := range []string{"", ".md", ".txt", ".json"} {
			r := s.get("/p/" + got.ID + suffix)
			if r.status != 200 {
				t.Fatalf("%s%s gave %d: %s", view, suffix, r.status, r.body)
			}
			for _, never := range append([]string{`href="/cases`, `href="/diff`, `href="/families`, `href="/raw`, `href="/snapshots`, `href="/bundles`, up.Case, "<form"}, secrets...) {
				if strings.Contains(r.body, never) {
					t.Errorf("%s%s holds %q", view, suffix, never)
				}
			}
			if !strings.Contains(r.header.Get("X-Robots-Tag"), "noindex") {
				t.Errorf("%s%s may be indexed", view, suffix)
			}
		}
		if r := s.get("/p/" + got.ID + "/kubelet-is-leaking"); r.status != 200 {
			t.Errorf("a readable tail gave %d", r.status)
		}
		if r := s.do("DELETE", "/api/v1/permalinks/"+got.ID, nil, "Authorization", "Bearer wrong"); r.status != 403 {
			t.Errorf("withdrawing with a wrong key gave %d", r.status)
		}
		if r := s.do("DELETE", "/api/v1/permalinks/"+got.ID, nil, "Authorization", "Bearer "+got.OwnerKey); r.status != 204 {
			t.Errorf("withdrawing gave %d: %s", r.status, r.body)
		}
		if r := s.get("/p/" + got.ID); r.status != 410 || !strings.Contains(r.body, "withdrawn") {
			t.Errorf("after withdrawing: %d", r.status)
		}
	}
	if r := s.get("/p/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"); r.status != 404 {
		t.Errorf("a permalink that never was gave %d", r.status)
	}
}

func TestABodyThatIsBrokenIsTheSendersFault(t *testing.T) {
	s := newSite(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "PUT /api/v1/bundles/lie HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nshort")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", res.StatusCode)
	}
}

func TestAPreviewOfCountsNamesNothing(t *testing.T) {
	s := newSite(t)
	up := s.put("dump.txt", []byte(tinyDump))
	for preview, named := range map[string]bool{"counts": false, "none": false, "full": true} {
		got := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","preview":"`+preview+`","title":"secret-service is leaking"}`)).body)
		page := s.get(got.Link).body
		head, _, _ := strings.Cut(page, "</head>")
		if strings.Contains(head, "secret-service") != named {
			t.Errorf("preview %s: %s", preview, head)
		}
		if want := "<title>Frozen case: 1\u00a0snapshot of 1\u00a0process · leakdiff</title>"; strings.Contains(head, want) != (preview == "counts") {
			t.Errorf("preview %s: %s", preview, head)
		}
		picture := s.get(got.Link + ".png")
		if shown := preview != "none"; (picture.status == 200 && picture.header.Get("Content-Type") == "image/png") != shown || strings.Contains(head, `property="og:image" content="http`) != shown {
			t.Errorf("preview %s has a picture of status %d, and its page says %s", preview, picture.status, head)
		}
	}
}

func TestTwinsAnswerRefusalsInTheirOwnForm(t *testing.T) {
	s := newSite(t)
	s.run(t, []scenario{
		{name: "JSON", path: "/cases/nope.json", status: 404, want: []string{`"status": 404`}, never: []string{"<html"}},
		{name: "Markdown", path: "/cases/nope.md", status: 404, never: []string{"<html"}},
		{name: "a permalink's JSON", path: "/p/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.json", status: 404, want: []string{`"status": 404`}, never: []string{"<html"}},
	})
}

func TestTwoDumpsOfOneCaseHaveTwoLabels(t *testing.T) {
	s := newSite(t)
	first := s.put("dump.txt", []byte(tinyDump))
	second := s.do("PUT", "/api/v1/bundles/dump.txt?wait=1&case="+first.Case, strings.NewReader(tinyDump+"\ngoroutine 99 [select]:\nmain.leak()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n"))
	if second.status != 201 {
		t.Fatalf("%d %s", second.status, second.body)
	}
	doc := s.get(first.Link + ".json").body
	for _, label := range []string{`"label":"#1"`, `"label":"#2"`} {
		if strings.Count(doc, label) != 1 {
			t.Errorf("%s stands %d times", label, strings.Count(doc, label))
		}
	}
}
