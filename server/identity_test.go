package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/server/casepage"
	"leakdiff/server/intake"
	"leakdiff/server/loader"
	"leakdiff/server/response"
	"leakdiff/server/share"
)

// dumpOf is a dump of n goroutines that wait in main.leak.
func dumpOf(n int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n")
	for id := range n {
		fmt.Fprintf(&b, "goroutine %d [chan receive]:\nmain.leak()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id+7)
	}
	return b.String()
}

// untimed is a case of dumps t0, t1, … without any time.
func (s *site) untimed(t *testing.T, counts ...int) intake.Uploaded {
	t.Helper()
	files := map[string]string{}
	for i, n := range counts {
		files[fmt.Sprintf("t%d.txt", i)] = dumpOf(n)
	}
	body, kind := form(t, files, nil)
	r := s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind)
	if r.status != http.StatusCreated {
		t.Fatalf("uploading gave %d: %s", r.status, r.body)
	}
	up := decode[intake.Uploaded](t, r.body)
	if len(up.Snapshots) != len(counts) {
		t.Fatalf("%d snapshots, want %d: %s", len(up.Snapshots), len(counts), r.body)
	}
	return up
}

// edit makes an edit by the API and returns its number.
func (s *site) edit(caseID, kind, target, value string) int64 {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"kind": kind, "target": target, "value": value})
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.do("POST", "/api/v1/cases/"+caseID+"/edits", strings.NewReader(string(body)))
	if r.status != http.StatusCreated {
		s.t.Fatalf("%s of %s gave %d: %s", kind, target, r.status, r.body)
	}
	return decode[casepage.EditJSON](s.t, r.body).ID
}

// course describes each series: "kubelet: t0 t1".
func (s *site) course(caseID string) []string {
	s.t.Helper()
	doc := decode[report.Report](s.t, s.get("/api/v1/cases/"+caseID).body)
	labels := map[string]string{}
	for _, snap := range doc.Snapshots {
		labels[snap.ID] = snap.Label
	}
	out := []string{}
	for _, series := range doc.Series {
		line := series.Process + ":"
		for _, id := range series.Snapshots {
			line += " " + labels[id]
		}
		out = append(out, line)
	}
	return out
}

const formType = "application/x-www-form-urlencoded"

func postForm(fields ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Set(fields[i], fields[i+1])
	}
	return v.Encode()
}

func TestEveryViewShowsWhatPeopleSaid(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	at := map[string]string{}
	for _, snap := range up.Snapshots {
		at[snap.Label] = snap.ID
	}
	s.edit(up.Case, "process", "series:"+at["t0"], "prober-renamed")
	s.edit(up.Case, "host", "series:"+at["t0"], "node-seven")
	s.edit(up.Case, "leave_out", at["t1"], "")
	family := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series[0].Families[0].Fingerprint
	pair := "/diff/" + at["t0"] + ".." + at["t2"]
	s.run(t, []scenario{
		{name: "the case page", path: up.Link, status: 200, want: []string{"prober-renamed", "node-seven"}, never: []string{"13 goroutines"}},
		{name: "its JSON", path: up.Link + ".json", status: 200, want: []string{`"process":"prober-renamed"`, `"host":"node-seven"`}, never: []string{at["t1"]}},
		{name: "its Markdown", path: up.Link + ".md", status: 200, want: []string{"prober-renamed"}},
		{name: "the API", path: "/api/v1/cases/" + up.Case, status: 200, want: []string{`"process":"prober-renamed"`}, never: []string{at["t1"]}},
		{name: "the comparison", path: pair + "?case=" + up.Case, status: 200, want: []string{"prober-renamed"}, never: []string{at["t1"]}},
		{name: "the comparison's JSON", path: pair + ".json?case=" + up.Case, status: 200},
		{name: "the snapshot", path: "/snapshots/" + at["t2"] + "?case=" + up.Case, status: 200, want: []string{"prober-renamed", "node-seven"}, never: []string{at["t1"]}},
		{name: "the family", path: "/families/" + family + "?case=" + up.Case, status: 200, want: []string{"prober-renamed"}, never: []string{at["t1"]}},
		{name: "the bundle", path: "/bundles/" + up.ID, status: 200, want: []string{"prober-renamed", "entered by a person (was: not known)"}},
		{name: "the upload's answer", path: "/api/v1/bundles/" + up.ID, status: 200, want: []string{`"process": "prober-renamed"`}, never: []string{at["t1"]}},
		{name: "the list of cases", path: "/", status: 200, want: []string{"prober-renamed"}},
		{name: "a snapshot that was left out says so", path: "/snapshots/" + at["t1"] + "?case=" + up.Case, status: 404, want: []string{"left out of its case", "page of files and processes"}},
		{name: "a comparison with it as well", path: "/diff/" + at["t0"] + ".." + at["t1"] + "?case=" + up.Case, status: 404, want: []string{"left out of its case"}},
		{name: "the identity page lists it", path: "/bundles/" + up.ID, status: 200, want: []string{"t1 of prober-renamed on node-seven", "Take back in", "3\u00a0edits are in force"}},
		{name: "the identity page is data as well", path: up.Link + "/identity.json", status: 200, want: []string{`"left_out"`, at["t1"], `"by": "upload"`}},
	})
	frozen := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`)).body)
	s.run(t, []scenario{
		{name: "a frozen result", path: frozen.Link, status: 200, want: []string{"prober-renamed"}, never: []string{"node-seven", "/identity", at["t1"]}},
		{name: "its JSON", path: frozen.Link + ".json", status: 200, want: []string{"prober-renamed"}, never: []string{"node-seven", at["t1"]}},
	})
	for n := int64(1); n <= 3; n++ {
		if r := s.do("DELETE", fmt.Sprintf("/api/v1/cases/%s/edits/%d", up.Case, n), nil); r.status != 204 {
			t.Errorf("undoing %d gave %d: %s", n, r.status, r.body)
		}
	}
	if diff := cmp.Diff([]string{": t0 t1 t2"}, s.course(up.Case)); diff != "" {
		t.Errorf("after undoing everything: %s", diff)
	}
	if r := s.get(frozen.Link); !strings.Contains(r.body, "prober-renamed") {
		t.Error("the frozen result changed with the case")
	}
}

func TestAFoundHostThatWasCorrectedIsNotSharedEither(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	s.edit(up.Case, "host", "series:"+up.Snapshots[0].ID, "node-seven.internal")
	s.edit(up.Case, "leave_out", up.Snapshots[1].ID, "")
	for _, view := range []string{"/cases/" + up.Case, "/snapshots/" + up.Snapshots[0].ID} {
		answer := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","view":"`+view+`"}`))
		if answer.status != 201 {
			t.Fatalf("%d %s", answer.status, answer.body)
		}
		link := decode[share.Result](t, answer.body).Link
		for _, suffix := range []string{"", ".md", ".json"} {
			body := s.get(link + suffix).body
			for _, never := range []string{"realnode1", "node-seven"} {
				if i := strings.Index(body, never); i >= 0 {
					t.Errorf("%s%s holds %q: …%.200s", view, suffix, never, body[max(0, i-100):])
				}
			}
		}
	}
}

func TestEditsSurviveReadingAgain(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	s.edit(up.Case, "process", "series:"+up.Snapshots[0].ID, "renamed")
	s.edit(up.Case, "order", up.Snapshots[2].ID, "before:"+up.Snapshots[0].ID)
	want := []string{"renamed: t2 t0 t1"}
	if diff := cmp.Diff(want, s.course(up.Case)); diff != "" {
		t.Fatal(diff)
	}
	if r := s.do("POST", "/bundles/"+up.ID+"/read", strings.NewReader(""), "Content-Type", formType); r.status != 303 {
		t.Fatalf("reading again gave %d", r.status)
	}
	if _, err := s.s.worker.Settled(t.Context(), up.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.course(up.Case)); diff != "" {
		t.Errorf("after reading the bundle again: %s", diff)
	}
	if r := s.do("POST", "/bundles/"+up.ID+"/remove", strings.NewReader(""), "Content-Type", formType); r.status != 303 {
		t.Fatalf("removing gave %d", r.status)
	}
	s.run(t, []scenario{
		{name: "without its evidence an edit is listed as changing nothing", path: up.Link + "/identity", status: 200, want: []string{"2\u00a0edits change nothing any more", "its evidence is no longer in the case"}},
		{name: "and is a problem of the case", path: up.Link + ".json", status: 200, want: []string{"edit 1 (program) changes nothing"}},
	})
}

func TestTheFormsOfTheIdentityPage(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	id := up.Snapshots[1].ID
	page, shown := up.Link+"/identity", "/bundles/"+up.ID
	header := []string{"Content-Type", formType}
	s.run(t, []scenario{
		{name: "the address without a bundle leads to the newest one", path: page, status: 303},
		{name: "the page says what is believed", path: shown, status: 200, want: []string{"3\u00a0snapshots of 1\u00a0process; no time is known, the order is that of the names; nobody has changed anything.", "rates are per snapshot", "Move t1 up", "Nobody has changed anything."}, never: []string{`name="key"`, "role=\"alert\"", "t0 up", "t2 down"}},
		{name: "a bad time is explained beside its field", method: "POST", path: page, body: postForm("kind", "time", "target", id, "value", "noon <b>"), header: header, status: 400, want: []string{"This is no time.", `value="noon &lt;b&gt;"`, "aria-invalid", "autofocus"}, never: []string{"noon <b>"}},
		{name: "a name that is empty", method: "POST", path: page, body: postForm("kind", "process", "target", "series:"+id, "value", " "), header: header, status: 400, want: []string{"The program has no name."}},
		{name: "a name that is too long", method: "POST", path: page, body: postForm("kind", "process", "target", id, "value", strings.Repeat("a", 201)), header: header, status: 400, want: []string{"name is too long", "it has 201 bytes and the limit is 200"}},
		{name: "a name with a control character", method: "POST", path: page, body: postForm("kind", "host", "target", id, "value", "a\x1b[31mb"), header: header, status: 400, want: []string{"U+001B"}, never: []string{"\x1b"}},
		{name: "a zone that does not exist", method: "POST", path: page, body: postForm("kind", "zone", "value", "Mars/Olympus"), header: header, status: 400, want: []string{"There is no such time zone.", `value="Mars/Olympus"`}},
		{name: "a split without a name", method: "POST", path: page, body: postForm("kind", "series", "target", "from:"+id, "value", "node-7"), header: header, status: 400, want: []string{"The program has no name.", `value="node-7"`}},
		{name: "a snapshot of no case", method: "POST", path: page, body: postForm("kind", "leave_out", "target", "sother"), header: header, status: 400, want: []string{"There is no such snapshot in this case"}},
		{name: "a kind that does not exist", method: "POST", path: page, body: postForm("kind", "colour", "target", id, "value", "red"), header: header, status: 400, want: []string{"There is no such kind of edit"}},
		{name: "a form that is too large", method: "POST", path: page, body: "value=" + strings.Repeat("a", response.MaxForm), header: header, status: 413},
		{name: "another site's form", method: "POST", path: page, body: postForm("kind", "leave_out", "target", id), header: append(header, "Sec-Fetch-Site", "cross-site"), status: 403, want: []string{"another site"}},
		{name: "another site's undoing", method: "POST", path: page + "/undo", body: postForm("number", "1"), header: append(header, "Origin", "http://evil.example"), status: 403},
		{name: "a case that does not exist", method: "POST", path: "/cases/cnone/identity", body: postForm("kind", "leave_out", "target", id), header: header, status: 404},
		{name: "no edit to undo", method: "POST", path: page + "/undo", body: postForm("number", "1"), header: header, status: 404, want: []string{"there is no such edit to undo"}},
		{name: "a number that is none", method: "POST", path: page + "/undo", body: postForm("number", "x"), header: header, status: 404},
		{name: "nothing was kept of all that", path: page + ".json", status: 200, want: []string{`"edits": []`}},
	})
	r := s.do("POST", page, strings.NewReader(postForm("kind", "process", "target", "from:"+id, "value", "late-part", "note", "ticket 7")), header...)
	if r.status != 303 || r.header.Get("Location") != page+"?done=1#processes" {
		t.Fatalf("%d to %q", r.status, r.header.Get("Location"))
	}
	s.run(t, []scenario{
		{name: "the outcome is said with the way back", path: shown + "?done=1", status: 200, want: []string{"Done. Program: not known → late-part (t1 and t2).", "ticket 7", "entered by a person (was: not known)"}},
		{name: "an outcome that never was is not said", path: shown + "?done=7&undone=1", status: 200, never: []string{"Done.", "Undone."}},
	})
	if r := s.do("POST", page+"/undo", strings.NewReader(postForm("number", "1")), header...); r.status != 303 || r.header.Get("Location") != page+"?undone=1#processes" {
		t.Fatalf("undoing gave %d to %q", r.status, r.header.Get("Location"))
	}
	s.run(t, []scenario{
		{name: "undone is said", path: shown + "?undone=1", status: 200, want: []string{"Undone. Program: late-part.", "Do it again", "nobody has changed anything"}},
		{name: "what was never made is not made again", method: "POST", path: page, body: postForm("again", "2"), header: header, status: 404, want: []string{"there is no such edit"}},
		{name: "an undone edit is made again", method: "POST", path: page, body: postForm("again", "1"), header: header, status: 303},
		{name: "it has a number of its own and the old note", path: shown + "?done=2", status: 200, want: []string{"Done. Program: not known → late-part (t1 and t2).", "ticket 7"}},
		{name: "undoing twice is refused", method: "POST", path: page + "/undo", body: postForm("number", "1"), header: header, status: 404, want: []string{"it was undone before"}},
	})
}

func TestTheAPIOfEdits(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	id := up.Snapshots[0].ID
	edits := "/api/v1/cases/" + up.Case + "/edits"
	body := func(kind, target, value string) string {
		return fmt.Sprintf(`{"kind":%q,"target":%q,"value":%q}`, kind, target, value)
	}
	s.run(t, []scenario{
		{name: "an empty list", path: edits, status: 200, want: []string{`"edits": []`, `"zone": "UTC"`}},
		{name: "an unknown case", path: "/api/v1/cases/cnone/edits", status: 404, want: []string{`"status": 404`}},
		{name: "no JSON", method: "POST", path: edits, body: "kind=host", status: 400, want: []string{`"code": "bad_request"`}},
		{name: "a field that does not exist", method: "POST", path: edits, body: `{"kind":"host","id":7}`, status: 400},
		{name: "an error names its field", method: "POST", path: edits, body: body("time", id, "noon"), status: 400, want: []string{`"code": "invalid"`, `"where": "value"`, "this is no time"}},
		{name: "a target that does not exist", method: "POST", path: edits, body: body("host", "snone", "x"), status: 400, want: []string{`"where": "target"`}},
		{name: "a time of a whole series", method: "POST", path: edits, body: body("time", "series:"+id, "2026-11-21T03:00:00Z"), status: 400, want: []string{`"where": "target"`}},
		{name: "a wrong key is refused even on this machine", method: "POST", path: edits, body: body("host", id, "x"), header: []string{"Authorization", "Bearer wrong"}, status: 403, want: []string{`"code": "forbidden"`}},
		{name: "an edit", method: "POST", path: edits, body: body("host", "series:"+id, "node-7"), status: 201, want: []string{`"id": 1`, `"kind": "host"`, `"by": "upload"`, `"undone": false`, id}, never: []string{up.OwnerKey}},
		{name: "the owner's edit", method: "POST", path: edits, body: body("zone", "case", "+02:00"), header: []string{"Authorization", "Bearer " + up.OwnerKey}, status: 201, want: []string{`"by": "owner"`, "every time of this case came with its zone"}},
		{name: "both are listed", path: edits, status: 200, want: []string{`"id": 1`, `"id": 2`, `"zone": "+02:00"`}, never: []string{up.OwnerKey}},
		{name: "undoing with a wrong key", method: "DELETE", path: edits + "/1", header: []string{"Authorization", "Bearer wrong"}, status: 403},
		{name: "undoing", method: "DELETE", path: edits + "/1", status: 204},
		{name: "undoing twice", method: "DELETE", path: edits + "/1", status: 404, want: []string{"there is no such edit to undo"}},
		{name: "undoing nonsense", method: "DELETE", path: edits + "/one", status: 404},
		{name: "undoing in no case", method: "DELETE", path: "/api/v1/cases/cnone/edits/1", status: 404},
		{name: "the undone one stays listed", path: edits, status: 200, want: []string{`"undone": true`}},
	})
	if r := s.do("POST", "/cases/"+up.Case+"/delete", strings.NewReader(""), "Content-Type", formType); r.status != 303 {
		t.Fatalf("deleting gave %d", r.status)
	}
	s.run(t, []scenario{{name: "the edits go with the case", path: edits, status: 404, never: []string{"node-7"}}})
}

func TestOnAnOpenServerOnlyTheOwnerEdits(t *testing.T) {
	s := startSite(t, openStore(t), Config{Listen: "0.0.0.0:8080"})
	up := s.untimed(t, 3, 13)
	id := up.Snapshots[0].ID
	page, edits := up.Link+"/identity", "/api/v1/cases/"+up.Case+"/edits"
	header := []string{"Content-Type", formType}
	s.run(t, []scenario{
		{name: "the forms ask for the key", path: "/bundles/" + up.ID, status: 200, want: []string{`type="password" name="key"`}, never: []string{up.OwnerKey}},
		{name: "a form without it", method: "POST", path: page, body: postForm("kind", "process", "target", id, "value", "x"), header: header, status: 403, want: []string{"needs its owner key", "no key was sent"}},
		{name: "a form with a wrong one", method: "POST", path: page, body: postForm("kind", "process", "target", id, "value", "x", "key", "guess"), header: header, status: 403, want: []string{"the key is wrong"}, never: []string{"guess"}},
		{name: "the API without it", method: "POST", path: edits, body: `{"kind":"leave_out","target":"` + id + `"}`, status: 403},
		{name: "undoing without it", method: "POST", path: page + "/undo", body: postForm("number", "1"), header: header, status: 403},
		{name: "the owner by a form", method: "POST", path: page, body: postForm("kind", "process", "target", id, "value", "x", "key", up.OwnerKey), header: header, status: 303},
		{name: "the owner by the API", method: "POST", path: edits, body: `{"kind":"leave_out","target":"` + id + `"}`, header: []string{"Authorization", "Bearer " + up.OwnerKey}, status: 201},
		{name: "the owner undoes by a form", method: "POST", path: page + "/undo", body: postForm("number", "1", "key", up.OwnerKey), header: header, status: 303},
		{name: "the key stands nowhere", path: "/bundles/" + up.ID, status: 200, never: []string{up.OwnerKey}},
	})
}

func TestLeavingSnapshotsOutChangesTheVerdict(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	verdicts := func() map[string]int {
		out := map[string]int{}
		for _, series := range decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Series {
			if series.Process != "kubelet" {
				continue
			}
			for _, f := range series.Families {
				out[string(f.Verdict)]++
			}
		}
		return out
	}
	before := verdicts()
	if before["leaking"] == 0 {
		t.Fatalf("the sample does not leak: %v", before)
	}
	numbers := []int64{}
	for _, snap := range up.Snapshots {
		if snap.Process == "kubelet" && snap.Label != "t0" && snap.Label != "t1" {
			numbers = append(numbers, s.edit(up.Case, "leave_out", snap.ID, ""))
		}
	}
	if diff := cmp.Diff([]string{"containerd: t0 t1 t2 t3 t4 t5 t6 t7 t8", "kubelet: t0 t1"}, s.course(up.Case)); diff != "" {
		t.Error(diff)
	}
	if few := verdicts(); few["leaking"] >= before["leaking"] {
		t.Errorf("two snapshots give %v, nine gave %v", few, before)
	}
	for _, n := range numbers {
		s.do("DELETE", fmt.Sprintf("/api/v1/cases/%s/edits/%d", up.Case, n), nil)
	}
	if diff := cmp.Diff(before, verdicts()); diff != "" {
		t.Errorf("after undoing: %s", diff)
	}
}

// captures packs a series of the corpus without the files of one name.
func captures(t *testing.T, series, leaveOut string) []byte {
	t.Helper()
	root := corpus.Path(t, "series")
	files, err := filepath.Glob(filepath.Join(root, series, "*", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() || filepath.Base(file) == leaveOut {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		if err := tw.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// verdicts are the growing families of the first series, by title.
func (s *site) verdicts(caseID string) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, f := range decode[report.Report](s.t, s.get("/api/v1/cases/"+caseID).body).Series[0].Families {
		if f.Onset != nil {
			out[f.Title] = string(f.Verdict)
		}
	}
	return out
}

func TestALoadThatAFamilyFollowsMakesItScaling(t *testing.T) {
	s := newSite(t)
	up := s.put("prometheus.tar.gz", captures(t, "prometheus-hanging-targets", "metrics.txt"))
	target := "series:" + up.Snapshots[0].ID
	// expected.json: the scrape loops, both ends of their connections and the sockets.
	all := func(verdict string) map[string]string {
		return map[string]string{
			"TCP client to 127.0.0.1:18091, ESTABLISHED":                                                               verdict,
			"scrape.(*targetScraper).scrape <- scrape.(*scrapePool).sync":                                              verdict,
			"net/http.(*persistConn).readLoop <- net/http.(*Transport).dialConn in internal/poll.(*pollDesc).waitRead": verdict,
			"net/http.(*persistConn).writeLoop <- net/http.(*Transport).dialConn":                                      verdict,
		}
	}
	if diff := cmp.Diff(all("leaking"), s.verdicts(up.Case)); diff != "" {
		t.Fatalf("without a load: %s", diff)
	}
	other := s.edit(up.Case, "load", target, "jobs; 3 3 4 3 3 4 3 3")
	if diff := cmp.Diff(all("leaking"), s.verdicts(up.Case)); diff != "" {
		t.Errorf("a load that does not rise with it: %s", diff)
	}
	n := s.edit(up.Case, "load", target, "targets; 0 40 80 120 160 200 240 0")
	if diff := cmp.Diff(all("scaling"), s.verdicts(up.Case)); diff != "" {
		t.Errorf("with the targets as load: %s", diff)
	}
	s.run(t, []scenario{
		{name: "the outcome is said in verdicts", path: fmt.Sprintf("/bundles/%s?done=%d", up.ID, n), status: 200, want: []string{"Done. Load targets: 0 40 80 120 160 200 240 0. Of prometheus 4\u00a0families are scaling, none suspicious and none leaking now.", "Load (2\u00a0loads)"}},
		{name: "the evidence names the load", path: "/api/v1/cases/" + up.Case, status: 200, want: []string{"1 for each unit of targets, which went from 0 to 240"}},
		{name: "the list of edits tells it by snapshot", path: "/api/v1/cases/" + up.Case + "/edits", status: 200, want: []string{`"targets": {`, `"` + up.Snapshots[6].ID + `": 240`, `"jobs": {`}},
	})
	if r := s.do("POST", "/bundles/"+up.ID+"/read", strings.NewReader(""), "Content-Type", formType); r.status != 303 {
		t.Fatalf("reading again gave %d", r.status)
	}
	if _, err := s.s.worker.Settled(t.Context(), up.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all("scaling"), s.verdicts(up.Case)); diff != "" {
		t.Errorf("after reading the bundle again: %s", diff)
	}
	for _, number := range []int64{n, other} {
		if r := s.do("DELETE", fmt.Sprintf("/api/v1/cases/%s/edits/%d", up.Case, number), nil); r.status != 204 {
			t.Fatalf("undoing gave %d: %s", r.status, r.body)
		}
		if diff := cmp.Diff(all("leaking"), s.verdicts(up.Case)); diff != "" {
			t.Errorf("after undoing %d: %s", number, diff)
		}
	}
}

func TestAnEventInsideTheOnsetIsNamedWithIt(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	onset := func() (text string, windows []report.Window, from, to string) {
		doc := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body)
		for _, series := range doc.Series {
			for _, f := range series.Families {
				if series.Process == "kubelet" && f.Verdict == "leaking" && f.Onset != nil && f.Onset.From != nil {
					return f.Onset.Text, f.Onset.Windows, f.Onset.From.Format("2006-01-02 15:04:05"), f.Onset.To.Format("2006-01-02 15:04:05.999999999")
				}
			}
		}
		t.Fatal("no family of kubelet leaks")
		return
	}
	before, _, from, to := onset()
	if strings.Contains(before, "deploy") {
		t.Fatal(before)
	}
	first := s.edit(up.Case, "event", "case", to+"; deploy; prober 1.31 <b>on</b> all nodes")
	s.edit(up.Case, "event", "", to+"Z; outage; of the registry")
	s.edit(up.Case, "event", "case", "2001-01-01 00:00; config; long ago, from "+from)
	text, windows, _, _ := onset()
	for _, want := range []string{"deploy prober 1.31 <b>on</b> all nodes at ", "outage of the registry at "} {
		if !strings.Contains(text, want) {
			t.Errorf("the onset is %q, want %q in it", text, want)
		}
	}
	if strings.Contains(text, "long ago") {
		t.Errorf("an event of another time is named: %q", text)
	}
	if last := windows[len(windows)-1]; len(last.Events) != 2 {
		t.Errorf("the last window holds %q", last.Events)
	}
	s.run(t, []scenario{
		{name: "the page lists all in their order", path: "/bundles/" + up.ID + "?done=1", status: 200, want: []string{"Done. Event: ", "prober 1.31 &lt;b&gt;on&lt;/b&gt; all nodes; it lies between t", "before t0 of kubelet on realnode1"}, never: []string{"<b>on</b>"}},
		{name: "and its data", path: "/api/v1/cases/" + up.Case + "/edits", status: 200, want: []string{`"kind": "outage"`, `"text": "of the registry"`}},
	})
	s.do("DELETE", fmt.Sprintf("/api/v1/cases/%s/edits/%d", up.Case, first), nil)
	if text, _, _, _ := onset(); strings.Contains(text, "deploy") || !strings.Contains(text, "outage of the registry") {
		t.Errorf("after undoing the first: %q", text)
	}
}

func TestASharedResultHidesHostsInEventsToo(t *testing.T) {
	s := newSite(t)
	up := s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)
	for _, at := range []string{"02:57:00", "02:58:00", "02:59:00", "03:00:00", "03:01:00", "03:02:00", "03:03:00", "03:04:00", "03:05:00"} {
		s.edit(up.Case, "event", "case", "2026-11-21 "+at+"; deploy; prober on realnode1")
	}
	if !strings.Contains(s.get("/api/v1/cases/"+up.Case).body, "deploy prober on realnode1") {
		t.Fatal("no event is named with any growth")
	}
	shared := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`"}`)).body)
	s.run(t, []scenario{
		{name: "its page", path: shared.Link, status: 200, never: []string{"realnode1"}},
		{name: "its JSON", path: shared.Link + ".json", status: 200, want: []string{"deploy prober on host-"}, never: []string{"realnode1"}},
	})
}

func TestVersionsThatPeopleEnterAreBisected(t *testing.T) {
	s := newSite(t)
	counts := []int{20, 20, 20, 20, 20, 20, 40, 60, 80, 100, 120, 140}
	up := s.untimed(t, counts...)
	at := map[string]string{}
	for _, snap := range up.Snapshots {
		at[snap.Label] = snap.ID
	}
	for i := range counts {
		minutes := 0
		if i == 5 {
			minutes = -40 // 20 minutes behind t4
		}
		s.edit(up.Case, "time", at[fmt.Sprintf("t%d", i)], time.Date(2026, 11, 21, i+1, minutes, 0, 0, time.UTC).Format("2006-01-02 15:04"))
	}
	s.edit(up.Case, "version", "series:"+at["t0"], "1.30.0")
	n := s.edit(up.Case, "version", "from:"+at["t6"], "1.31.0")
	table := func() trend.Bisection {
		l, err := s.s.loader.Evidence(t.Context(), up.Case, loader.Part{Objects: true})
		if err != nil {
			t.Fatal(err)
		}
		line := l.Built.Series[0]
		return trend.Bisect(line.Trend.Exposures(line.Trend.Families[0]))
	}
	got := table()
	if got.FirstBad != "1.31.0" || len(got.Rows) != 2 || got.Rows[0].Verdict != trend.Good || got.Rows[1].Rate != 20 {
		t.Errorf("first bad %s: %+v", got.FirstBad, got.Rows)
	}
	s.run(t, []scenario{{name: "the page shows both with their source", path: "/bundles/" + up.ID, status: 200, want: []string{"1.30.0", "1.31.0", "entered by a person (was: not known)", "Version of t6"}},
		{name: "the finding names the version", path: up.Link, status: 200, want: []string{"Versions", "first bad version: 1.31.0"}, never: []string{"test 1.3"}},
	})
	// Two snapshots 20 minutes apart neither accuse a version nor clear it: at 20 an hour 6.7 were due.
	short := s.edit(up.Case, "version", "from:"+at["t4"], "1.30.5")
	again := s.edit(up.Case, "version", "from:"+at["t6"], "1.31.0")
	s.run(t, []scenario{
		{name: "the finding says which version to test next, and for how long", path: up.Link, status: 200, want: []string{"it began between 1.30.0 (good) and 1.31.0 (bad)", "next to test: 1.30.5, at least 21 min with a snapshot every"}, never: []string{"first bad version"}},
	})
	for _, number := range []int64{again, short} {
		s.do("DELETE", fmt.Sprintf("/api/v1/cases/%s/edits/%d", up.Case, number), nil)
	}
	s.do("DELETE", fmt.Sprintf("/api/v1/cases/%s/edits/%d", up.Case, n), nil)
	if got := table(); len(got.Rows) != 1 || got.FirstBad != "" {
		t.Errorf("after undoing: first bad %q: %+v", got.FirstBad, got.Rows)
	}
}

func TestTheFormsOfEventsAndLoads(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	page, target := up.Link+"/identity", "series:"+up.Snapshots[0].ID
	header := []string{"Content-Type", formType}
	event := func(at, kind, text string) string {
		return postForm("kind", "event", "target", "case", "at", at, "what", kind, "text", text)
	}
	load := func(name, numbers string) string {
		return postForm("kind", "load", "target", target, "name", name, "numbers", numbers)
	}
	s.run(t, []scenario{
		{name: "the page has both", path: "/bundles/" + up.ID, status: 200, want: []string{"What happened", "Load", "One number for each of t0 t1 t2, in this order", `<option value="outage">`}, never: []string{`role="alert"`}},
		{name: "a bad time", method: "POST", path: page, body: event("noon <b>", "deploy", "1.4"), header: header, status: 400, want: []string{`role="alert">This is no time.`, `value="noon &lt;b&gt;"`, `value="deploy"`, `value="1.4"`}, never: []string{"noon <b>", "<b>Not taken</b>"}},
		{name: "a time with the separator", method: "POST", path: page, body: event("2026-11-21; 03:00", "deploy", "1.4"), header: header, status: 400, want: []string{"This is no time.", `value="deploy"`}},
		{name: "two words as kind", method: "POST", path: page, body: event("2026-11-21 03:00", "big deploy", "1.4"), header: header, status: 400, want: []string{"not a single word", `value="big deploy"`}},
		{name: "no text", method: "POST", path: page, body: event("2026-11-21 03:00", "deploy", ""), header: header, status: 400, want: []string{"Nothing says what happened."}},
		{name: "a control character", method: "POST", path: page, body: event("2026-11-21 03:00", "deploy", "a\x1b[31mb"), header: header, status: 400, want: []string{"U+001B"}, never: []string{"\x1b", "<b>Not taken</b>"}},
		{name: "too few numbers", method: "POST", path: page, body: load("sessions", "12 14"), header: header, status: 400, want: []string{`role="alert">These are 2 numbers for 3 snapshots. Enter one for each of t0 t1 t2, a dash where it is not known.`, ">12 14</textarea>", `value="sessions"`}, never: []string{"<b>Not taken</b>"}},
		{name: "no number", method: "POST", path: page, body: load("sessions", "12 lots 14"), header: header, status: 400, want: []string{"This is no number (&#34;lots&#34;)."}},
		{name: "no name", method: "POST", path: page, body: load("", "12 13 14"), header: header, status: 400, want: []string{"The load has no name.", ">12 13 14</textarea>"}},
		{name: "a load of the whole case", method: "POST", path: page, body: postForm("kind", "load", "target", "case", "name", "sessions", "numbers", "1 2 3"), header: header, status: 400, want: []string{"<b>Not taken</b>", "A load is that of a whole series"}},
		{name: "nothing was kept of all that", path: page + ".json", status: 200, want: []string{`"edits": []`, `"events": []`, `"loads": {}`}},
		{name: "an event", method: "POST", path: page, body: event("2026-11-21 03:00", "deploy", "1.4; all nodes"), header: header, status: 303},
		{name: "of dumps without a time it has no place", path: "/bundles/" + up.ID + "?done=1", status: 200, want: []string{"Kept, but it changes nothing: no snapshot of the case has a time", "deploy 1.4; all nodes"}},
		{name: "a column from a table", method: "POST", path: page, body: load("sessions", "12\r\n–\r\n14.50"), header: header, status: 303},
		{name: "the load is shown with its place", path: "/bundles/" + up.ID + "?done=2", status: 200, want: []string{"Done. Load sessions: 12 – 14.5. Of ", "12 – 14.5"}},
		{name: "the same event twice", method: "POST", path: page, body: event("2026-11-21T03:00:00Z", "deploy", "1.4; all nodes"), header: header, status: 400, want: []string{"The case has this event already."}},
		{name: "undoing the load", method: "POST", path: page + "/undo", body: postForm("number", "2"), header: header, status: 303},
		{name: "is said", path: "/bundles/" + up.ID + "?undone=2", status: 200, want: []string{"Undone. Load sessions: 12 – 14.5."}, never: []string{"1\u00a0load)"}},
		{name: "making it again", method: "POST", path: page, body: postForm("again", "2"), header: header, status: 303},
		{name: "gives the same", path: "/bundles/" + up.ID + "?done=3", status: 200, want: []string{"Done. Load sessions: 12 – 14.5."}},
	})
}
