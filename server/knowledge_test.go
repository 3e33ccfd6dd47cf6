package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/server/intake"
	"leakdiff/store"
)

func TestTheCatalogueIsListedAndFiltered(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		name, path string
		want, not  []string
	}{
		{"everything", "/knowledge", []string{`id="c-prober"`, `id="k-k8s-57992"`, `id="n-kubelet-podworkerloop"`, "The catalogue has 12 classes, 186 known leaks and 134 normal stacks", "Reports that no capture can show", "Often said, and measured", `aria-current="page">Knowledge`}, []string{"Check first", "known from"}},
		{"by a function", "/knowledge?q=spdystream", []string{`id="c-spdystream-wsstream"`, `id="k-k8s-105830"`, `id="n-spdystream-serve"`, "5 sayings with “spdystream”", "Check first"}, []string{`id="c-prober"`, `id="k-etcd-18704"`}},
		{"by a release", "/knowledge?q=1.6.36", []string{`id="k-containerd-10568"`}, []string{`id="k-k8s-57992"`}},
		{"by two words", "/knowledge?q=housekeeping+50", []string{`id="k-k8s-114751"`}, []string{`id="k-cadvisor-3218"`}},
		{"an entry by its id is open", "/knowledge?q=k8s-114751", []string{`id="k-k8s-114751" open>`, `id="k-cadvisor-3218">`, "restart kubelet"}, []string{`id="k-cadvisor-3218" open`}},
		{"a class by its key is open", "/knowledge?q=prober", []string{`id="c-prober" open>`}, nil},
		{"words of many entries", "/knowledge?q=the", []string{`href="/knowledge?q=k8s-105830#k-k8s-105830"`}, []string{"Check first"}},
		{"nothing", "/knowledge?q=zzzz", []string{"Nothing in the catalogue has “zzzz”"}, []string{"<h2 id=\"h-k"}},
		{"a hostile word", "/knowledge?q=%3Cscript%3Ealert(1)%3C/script%3E", []string{"&lt;script&gt;"}, []string{"<script>alert"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.get(tt.path)
			if r.status != http.StatusOK {
				t.Fatalf("status %d", r.status)
			}
			plain := strings.ReplaceAll(r.body, "\u00a0", " ")
			for _, part := range tt.want {
				if !strings.Contains(plain, part) {
					t.Errorf("lacks %q", part)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(r.body, part) {
					t.Errorf("has %q", part)
				}
			}
		})
	}
}

func TestTheCatalogueIsExportedInTheFormItIsReadIn(t *testing.T) {
	s := newSite(t)
	r := s.get("/knowledge.json")
	if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
		t.Fatalf("status %d, %s", r.status, r.header.Get("Content-Type"))
	}
	doc, problems := knowledge.Parse(knowledge.File{Name: "knowledge.json", Text: []byte(r.body)})
	if len(problems) > 0 || len(doc.Known) != 280 || decode[knowledge.Document](t, r.body).Catalogue != knowledge.Builtin().Version() {
		t.Errorf("%d known leaks: %v", len(doc.Known), problems)
	}
	if own := decode[knowledge.Document](t, s.get("/knowledge.json?own=1").body); len(own.Known) != 0 || own.Schema != knowledge.Schema {
		t.Errorf("own entries: %+v", own)
	}
	if schema := s.get("/knowledge/schema.json"); !json.Valid([]byte(schema.body)) || !strings.Contains(schema.body, "leakdiff.knowledge/1") {
		t.Errorf("schema: %s", schema.body)
	}
}

// pileOf prints n waiting goroutines of one function.
func pileOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [chan receive, %d minutes]:\nexample.org/pool.(*Client).wait(0xc000010000)\n\t/src/pool.go:10 +0x1d\ncreated by example.org/pool.New in goroutine 1\n\t/src/pool.go:5 +0x2d\n\n", i+10, n-i)
	}
	return b.String()
}

func TestAFileThatIsDroppedIntoTheDirectoryIsReadAtTheNextRequest(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "knowledge")
	s := startSite(t, st, Config{Knowledge: os.DirFS(dir), KnowledgeDir: dir})
	first := s.put("t0.txt", []byte(pileOf(20)))
	for i, n := range []int{60, 120, 200} {
		s.do("PUT", fmt.Sprintf("/api/v1/bundles/t%d.txt?wait=1&case=%s", i+1, first.Case), strings.NewReader(pileOf(n)), "Authorization", "Bearer "+first.OwnerKey)
	}
	page := "/cases/" + first.Case
	if r := s.get(page); !strings.Contains(r.body, "None matches: no entry of the catalogue") || strings.Contains(r.body, "own-1") {
		t.Error("before the file: the case page does not say that none matches")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	own := `{"schema": "leakdiff.knowledge/1", "known": [
	 {"id": "own-1", "title": "the pool is made per call", "status": "leak", "remedy": "share it", "url": "https://tickets.example.org/1",
	  "signature": {"frames_in_order": ["example.org/pool.(*Client).wait"], "wait_states": ["chan receive"]}},
	 {"id": "own-2", "title": "x", "status": "nonsense"}]}`
	if err := os.WriteFile(filepath.Join(dir, "team.json"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want []string
	}{
		{page, []string{"own-1", "the pool is made per call", "https://tickets.example.org/1", "team.json"}},
		{page + ".md", []string{"- own-1 the pool is made per call: "}},
		{page + ".json", []string{`"id":"own-1"`, `"origin":"team.json"`}},
		{"/knowledge", []string{`id="k-own-1"`, "Own files that were not understood", "known[1] (own-2).status is an unknown word", "Own entries as JSON"}},
		{"/knowledge.json?own=1", []string{`"id": "own-1"`}},
	} {
		r := s.get(tt.path)
		for _, part := range tt.want {
			if !strings.Contains(r.body, part) {
				t.Errorf("%s lacks %q", tt.path, part)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, "team.json")); err != nil {
		t.Fatal(err)
	}
	if r := s.get(page); strings.Contains(r.body, "own-1") {
		t.Error("the entry outlives its file")
	}
}

func TestPagesOfTheSampleNameCausesAndKnownLeaks(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	page := s.get(up.Link)
	for _, part := range []string{
		"Probe accumulation", "Stuck pod workers", "cAdvisor housekeeping accumulation", `href="/knowledge?q=prober#c-prober"`, "Check first", "Restarting the kubelet is disruptive",
		"k8s-114751", `href="/knowledge?q=k8s-114751#k-k8s-114751"`, "None matches: no entry", "0.52.1 (file names of the stack), the fix is in it", "Also seen", "+176 from t0 to t7", "goroutines at t8 are in",
	} {
		if !strings.Contains(page.body, part) {
			t.Errorf("the case page lacks %q", part)
		}
	}
	var found struct {
		Knowledge struct{ Catalogue string }
		Series    []struct {
			Families []struct {
				Fingerprint, Title string
				Classes, Known     []string
			}
		}
	}
	if err := json.Unmarshal([]byte(s.get(up.Link+".json").body), &found); err != nil {
		t.Fatal(err)
	}
	if found.Knowledge.Catalogue != knowledge.Builtin().Version() {
		t.Errorf("the report names the catalogue %q", found.Knowledge.Catalogue)
	}
	for _, f := range found.Series[0].Families {
		if !strings.Contains(f.Title, "housekeeping") {
			continue
		}
		if len(f.Known) == 0 || len(f.Classes) != 1 || f.Classes[0] != "housekeeping" {
			t.Errorf("%s: classes %v, known %v", f.Title, f.Classes, f.Known)
		}
		r := s.get("/families/" + f.Fingerprint + "?case=" + up.Case)
		for _, part := range []string{"What is known of it", "Normal stack", "a normal stack of cadvisor: 1 per cgroup or container", "k8s-114751", "here each one was followed by its id"} {
			if !strings.Contains(r.body, part) {
				t.Errorf("the family page lacks %q", part)
			}
		}
		return
	}
	t.Error("the sample has no family of housekeeping")
}

var liveLink = regexp.MustCompile(`href="/(knowledge|families|cases)[^"]*"`)

func TestAFrozenPageKeepsItsAdviceAndLinksToNoLivePage(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	r := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case": "`+up.Case+`", "view": "`+up.Link+`", "redact": true, "keep": "90d"}`), "Content-Type", "application/json", "Authorization", "Bearer "+up.OwnerKey)
	if r.status != http.StatusCreated {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	made := decode[struct{ Link string }](t, r.body)
	frozen := s.get(made.Link[strings.Index(made.Link, "/p/"):])
	for _, part := range []string{"Probe accumulation", "k8s-114751", "https://github.com/kubernetes/kubernetes/issues/114751"} {
		if !strings.Contains(frozen.body, part) {
			t.Errorf("the frozen page lacks %q", part)
		}
	}
	if link := liveLink.FindString(frozen.body); link != "" {
		t.Errorf("the frozen page links to %s", link)
	}
}

func TestAFamilyIsRememberedForEveryOtherCase(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "knowledge")
	s := startSite(t, st, Config{Knowledge: os.DirFS(dir), KnowledgeDir: dir})
	leaking := func(counts ...int) intake.Uploaded {
		up := s.put("t0.txt", []byte(pileOf(counts[0])))
		for i, n := range counts[1:] {
			s.do("PUT", fmt.Sprintf("/api/v1/bundles/t%d.txt?wait=1&case=%s", i+1, up.Case), strings.NewReader(pileOf(n)), "Authorization", "Bearer "+up.OwnerKey)
		}
		return up
	}
	first := leaking(20, 60, 120, 200)
	family := decode[report.Report](t, s.get("/api/v1/cases/"+first.Case).body).Series[0].Findings[0].Families[0]
	path := "/families/" + url.PathEscape(family) + "/remember"
	send := func(fields ...string) reply {
		return s.do("POST", path, strings.NewReader(postForm(append([]string{"case", first.Case}, fields...)...)), "Content-Type", formType)
	}
	for name, fields := range map[string][]string{
		"without a title":        {"title", " ", "status", "leak"},
		"with an unknown status": {"title", "x", "status", "bad luck"},
	} {
		if r := send(fields...); r.status != 400 {
			t.Errorf("%s: %d %.300s", name, r.status, r.body)
		}
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		t.Errorf("a refused entry left %v", entries)
	}
	r := send("title", "The pool is made per call", "status", "leak", "remedy", "share it", "fixed", "2.1")
	if to := r.header.Get("Location"); r.status != 303 || !strings.HasPrefix(to, "/knowledge?q=own-the-pool-is-made-per-call-") {
		t.Fatalf("%d to %q: %.300s", r.status, to, r.body)
	} else if page := s.get(to); !strings.Contains(page.body, "The pool is made per call") {
		t.Error("the catalogue does not list it")
	}
	if page := s.get("/families/" + url.PathEscape(family) + "?case=" + first.Case); !strings.Contains(page.body, `href="/knowledge/own/own-the-pool-is-made-per-call-`) {
		t.Error("the family page does not lead to its entry")
	}
	second := leaking(25, 70, 140, 230)
	for _, path := range []string{second.Link, second.Link + ".md", "/knowledge.json?own=1"} {
		if !strings.Contains(s.get(path).body, "The pool is made per call") {
			t.Errorf("%s does not name it", path)
		}
	}
	if page := s.get(second.Link); !strings.Contains(page.body, "share it") {
		t.Error("the other case does not say what helps")
	}
}

// rememberedFamily is a site with a directory for own entries, and a leaking family of a
// case.
func rememberedFamily(t *testing.T) (s *site, up intake.Uploaded, family, dir string) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "knowledge")
	s = startSite(t, st, Config{Knowledge: os.DirFS(dir), KnowledgeDir: dir})
	up = s.put("t0.txt", []byte(pileOf(20)))
	for i, n := range []int{60, 120, 200} {
		s.do("PUT", fmt.Sprintf("/api/v1/bundles/t%d.txt?wait=1&case=%s", i+1, up.Case), strings.NewReader(pileOf(n)), "Authorization", "Bearer "+up.OwnerKey)
	}
	return s, up, decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0].Findings[0].Families[0], dir
}

func TestAnEntryIsChangedAndForgotten(t *testing.T) {
	s, up, family, dir := rememberedFamily(t)
	remember := func() string {
		r := s.do("POST", "/families/"+url.PathEscape(family)+"/remember", strings.NewReader(postForm("case", up.Case, "title", "The pool", "status", "leak", "trigger", "each call")), "Content-Type", formType)
		to, err := url.Parse(r.header.Get("Location"))
		if r.status != 303 || err != nil {
			t.Fatalf("%d: %.300s", r.status, r.body)
		}
		return to.Query().Get("q")
	}
	first, second := remember(), remember()
	if first == second {
		t.Fatalf("the same title took the place of %s", first)
	}
	path := "/knowledge/own/" + first
	if page := s.get("/knowledge?q=" + first); !strings.Contains(page.body, `href="`+path+`"`) {
		t.Error("the catalogue does not lead to the form")
	}
	if page := s.get(path); page.status != 200 || !strings.Contains(page.body, `value="each call"`) || !strings.Contains(page.body, "Forget it") {
		t.Errorf("the form does not show the entry: %d", page.status)
	}
	change := func(fields ...string) reply {
		return s.do("POST", path, strings.NewReader(postForm(fields...)), "Content-Type", formType)
	}
	if r := change("title", "The pool of 7", "status", "leak", "trigger", "each request"); r.status != 303 {
		t.Fatalf("%d: %.300s", r.status, r.body)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "remembered.json")); err != nil || !strings.Contains(string(text), "each request") || !strings.Contains(string(text), "The pool of 7") || strings.Count(string(text), family) != 2 {
		t.Errorf("%v: %s", err, text)
	}
	if r := change("key", "wrong", "forget", "yes"); r.status != 403 {
		t.Errorf("a wrong key: %d", r.status)
	}
	if r := change("key", up.OwnerKey, "forget", "yes"); r.status != 303 {
		t.Errorf("%d: %.300s", r.status, r.body)
	}
	if r := s.get(path); r.status != 404 {
		t.Errorf("the forgotten entry answers %d", r.status)
	}
	if r := s.get("/knowledge/own/" + second); r.status != 200 {
		t.Errorf("the other entry went as well: %d", r.status)
	}
	for _, id := range []string{"k8s-57992", "none"} {
		if r := s.get("/knowledge/own/" + id); r.status != 404 {
			t.Errorf("%s can be changed: %d", id, r.status)
		}
	}
}

func TestAFormThatIsRefusedIsShownAgain(t *testing.T) {
	s, up, family, _ := rememberedFamily(t)
	send := func(fields ...string) reply {
		return s.do("POST", "/families/"+url.PathEscape(family)+"/remember", strings.NewReader(postForm(append([]string{"case", up.Case, "title", "The pool", "remedy", "share it"}, fields...)...)), "Content-Type", formType)
	}
	for name, tt := range map[string]struct {
		fields []string
		want   string
	}{
		"a wrong address":          {[]string{"status", "leak", "url", "issue 12"}, "It begins with https:// or http://"},
		"a backlog without an end": {[]string{"status", "bounded-backlog", "bound", "soon"}, "Write the minutes as a number"},
	} {
		r := send(tt.fields...)
		plain := strings.ReplaceAll(r.body, "\u00a0", " ")
		for _, part := range []string{"Nothing was kept", tt.want, `value="The pool"`, `value="share it"`, `value="` + tt.fields[3] + `"`, `value="` + tt.fields[1] + `" selected`} {
			if r.status != 400 || !strings.Contains(plain, part) {
				t.Errorf("%s: %d, lacks %q", name, r.status, part)
			}
		}
		if strings.Contains(plain, "which does not match") {
			t.Errorf("%s: the message of the schema is shown", name)
		}
	}
	if r := send("status", "bounded-backlog", "bound", "10", "url", "http://tracker.example/12"); r.status != 303 {
		t.Errorf("%d: %.300s", r.status, r.body)
	}
}
