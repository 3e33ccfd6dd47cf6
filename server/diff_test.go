package server

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"leakdiff/server/intake"
	"leakdiff/server/share"
)

// workerDump prints a small program with that many goroutines of each function. The first
// ones are the oldest.
func workerDump(counts map[string]int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [chan receive]:\nmain.main()\n\t/src/app/main.go:9 +0x1d\n\n")
	for i, function := range []string{"(*Pool).run", "(*Conn).serve", "flap", "old", "probe.(*worker).doProbe"} {
		name := "main." + function
		if strings.HasPrefix(function, "probe.") {
			name = "k8s.io/kubernetes/pkg/" + function
		}
		for k := range counts[function] {
			fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\n%s(0xc000010000)\n\t/src/app/pool.go:%d +0x1d\ncreated by main.start in goroutine 1\n\t/src/app/main.go:%d +0x1d\n\n", 100*(i+1)+k, 40-k, name, 10+i, 20+i)
		}
	}
	return b.String()
}

// workerCounts are the members at t0 to t3.
var workerCounts = []map[string]int{
	{"(*Pool).run": 2, "(*Conn).serve": 5, "flap": 1, "old": 4},
	{"(*Pool).run": 4, "(*Conn).serve": 5, "flap": 3, "old": 2},
	{"(*Pool).run": 6, "(*Conn).serve": 5, "flap": 3, "probe.(*worker).doProbe": 3},
	{"(*Pool).run": 8, "(*Conn).serve": 5, "flap": 1, "probe.(*worker).doProbe": 3},
}

// worker uploads dumps of a program, ten minutes apart.
func (s *site) worker(t *testing.T, program string, counts []map[string]int) intake.Uploaded {
	t.Helper()
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	add := func(name, text string) {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		tw.Write([]byte(text))
	}
	for i, c := range counts {
		at := time.Date(2026, 11, 21, 3, 10*i, 0, 0, time.UTC)
		add(fmt.Sprintf("t%d/captured_at", i), at.Format(time.RFC3339)+"\n")
		add(fmt.Sprintf("t%d/%s/goroutine-debug2.txt", i, program), workerDump(c))
	}
	tw.Close()
	up := s.put(program+".tar", archive.Bytes())
	if len(up.Snapshots) != len(counts) {
		t.Fatalf("%d snapshots, want %d", len(up.Snapshots), len(counts))
	}
	return up
}

// pairOf is the address of a comparison.
func pairOf(up intake.Uploaded, a, b int, query string) string {
	return "/diff/" + up.Snapshots[a].ID + ".." + up.Snapshots[b].ID + "?case=" + up.Case + query
}

// rowsOf are the titles of the rows in the JSON of a comparison, by section.
func rowsOf(t *testing.T, s *site, address string) map[string][]string {
	t.Helper()
	r := s.get(strings.Replace(address, "?", ".json?", 1))
	if r.status != 200 {
		t.Fatalf("%s gave %d: %s", address, r.status, r.body)
	}
	var data struct {
		Rows []struct{ Title, Section string }
	}
	if err := json.Unmarshal([]byte(r.body), &data); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, row := range data.Rows {
		out[row.Section] = append(out[row.Section], row.Title)
	}
	return out
}

// filteredJSON is the filter in every JSON format.
func filteredJSON(text string, families, of int) string {
	return fmt.Sprintf("\"filter\": {\n  \"text\": %q,\n  \"families\": %d,\n  \"of\": %d\n }", text, families, of)
}

func TestAComparisonIsFiltered(t *testing.T) {
	s := newSite(t)
	up := s.worker(t, "worker", workerCounts)
	pool, probe, conn := "main.(*Pool).run <- main.start", "doProbe", "main.(*Conn).serve <- main.start"
	s.run(t, []scenario{
		{name: "a word finds functions", path: pairOf(up, 0, 3, "&q=pool"), status: 200, want: []string{"1 of 6\u00a0families pass", "(*Pool).run"}, never: []string{"(*Conn).serve<"}},
		{name: "fields, comparisons and what is left out", path: pairOf(up, 0, 3, "&q="+url.QueryEscape("func:run|probe wait>10m delta>0 -pkg:pkg/probe")), status: 200, want: []string{"1 of 6\u00a0families pass", "(*Pool).run"}, never: []string{probe}},
		{name: "growth per hour", path: pairOf(up, 0, 3, "&q="+url.QueryEscape("growth>10/h")), status: 200, want: []string{"1 of 6\u00a0families pass"}},
		{name: "growth is at most what it is", path: pairOf(up, 0, 3, "&q="+url.QueryEscape("growth>12/h")), status: 200, want: []string{"No family passes the filter “growth&gt;12/h”."}},
		{name: "an error says its column and empties nothing", path: pairOf(up, 0, 3, "&q="+url.QueryEscape("pool fun:x")), status: 200,
			want: []string{`role="alert"`, "Column 6", "No field is called &#34;fun&#34;", "The filter is not applied", "<mark>fun:x</mark>", `aria-invalid="true"`, "(*Pool).run", "(*Conn).serve"}},
		{name: "JSON says what was applied", path: strings.Replace(pairOf(up, 0, 3, "&q="+url.QueryEscape(" FUNC:pool ")), "?", ".json?", 1), status: 200, want: []string{filteredJSON("func:pool", 1, 6)}},
		{name: "JSON without a filter says none", path: strings.Replace(pairOf(up, 0, 3, ""), "?", ".json?", 1), status: 200, never: []string{`"filter"`}},
		{name: "JSON refuses what is not understood", path: strings.Replace(pairOf(up, 0, 3, "&q=fun:x"), "?", ".json?", 1), status: 400, want: []string{"q, column 1", "the filter was not understood"}},
		{name: "Markdown says what was applied", path: strings.Replace(pairOf(up, 0, 3, "&q=pool&sort=b"), "?", ".md?", 1), status: 200, want: []string{"Filter pool: 1 of 6\u00a0families pass.", "Sorted by B, descending."}},
		{name: "a hostile filter is text", path: pairOf(up, 0, 3, "&q="+url.QueryEscape(`"<script>alert(1)</script>`)), status: 200, want: []string{"The quote is not closed"}, never: []string{"<script>alert"}},
		{name: "the filter stays when a kind is chosen", path: pairOf(up, 0, 3, "&q=pool"), status: 200, want: []string{"&amp;kind=goroutine&amp;q=pool"}},
		{name: "the families of the case are filtered", path: up.Link + "?q=verdict:stable", status: 200, want: []string{" of 6\u00a0families pass"}},
		{name: "the families of a snapshot are filtered", path: "/snapshots/" + up.Snapshots[3].ID + "?q=" + url.QueryEscape("count>5"), status: 200, want: []string{"1 of 5\u00a0families pass"}},
		{name: "a snapshot says that it knows no change", path: "/snapshots/" + up.Snapshots[3].ID + "?q=" + url.QueryEscape("delta>0"), status: 200, want: []string{"Nothing is known of delta: one snapshot has no change", "No family passes"}},
	})
	if got := rowsOf(t, s, pairOf(up, 0, 3, "&q="+url.QueryEscape("count>4 -label:t9"))); len(got["growing"]) != 1 || got["growing"][0] != pool || len(got["unchanged"]) != 1 || got["unchanged"][0] != conn {
		t.Errorf("JSON lists %v, want %s growing and %s unchanged", got, pool, conn)
	}
}

func TestFiguresAreMembersOrChanges(t *testing.T) {
	s := newSite(t)
	up := s.worker(t, "worker", workerCounts)
	md := func(query string) string {
		return strings.Replace(pairOf(up, 1, 3, query), "?", ".md?", 1)
	}
	s.run(t, []scenario{
		{name: "members", path: md(""), status: 200, want: []string{`| main.(\*Pool).run ← main.start | 4 | 8 | +4 |`}},
		{name: "change to the first snapshot", path: md("&show=base"), status: 200, want: []string{`| main.(\*Pool).run ← main.start | +2 | +6 | +4 |`, "change to the baseline t0, the first snapshot"}},
		{name: "change to the snapshot before each", path: md("&show=previous"), status: 200, want: []string{`| main.(\*Pool).run ← main.start | +2 | +2 | +4 |`, "change to the snapshot before each"}},
		{name: "the switch names what is shown", path: pairOf(up, 1, 3, "&show=previous"), status: 200, want: []string{`aria-current="true">Change to previous</a>`, "<b>A and B: change to the snapshot before each"}},
		{name: "a load that nobody knows is not offered", path: pairOf(up, 1, 3, "&per=pods"), status: 200, never: []string{"as counted"}},
	})
}

func TestTheBaselineIsChosenAndRemembered(t *testing.T) {
	s := newSite(t)
	up := s.worker(t, "worker", workerCounts)
	healthy := s.worker(t, "worker", workerCounts[:1])
	form := func(values url.Values) string { return values.Encode() }
	page := pairOf(up, 1, 3, "&show=base")
	s.run(t, []scenario{
		{name: "the first snapshot is the baseline", path: page, status: 200, want: []string{"Baseline: t0, the first snapshot"}},
		{name: "another one is chosen", method: "POST", path: "/cases/" + up.Case + "/baseline", body: form(url.Values{"snapshot": {up.Snapshots[2].ID}, "back": {page}}), header: []string{"Content-Type", formType}, status: 303},
		{name: "and used at once, though the page was kept", path: page, status: 200, want: []string{"Baseline: t2, chosen", "−2", "+2"}},
		{name: "and shown on the case", path: up.Link, status: 200, want: []string{"baseline t2, chosen"}},
		{name: "the case page sends its A", method: "POST", path: "/cases/" + up.Case + "/baseline", body: form(url.Values{"a": {up.Snapshots[1].ID}, "b": {up.Snapshots[3].ID}, "case": {up.Case}}), header: []string{"Content-Type", formType}, status: 303},
		{name: "the last choice wins", path: page, status: 200, want: []string{"Baseline: t1, chosen"}},
		{name: "a snapshot of another case", method: "POST", path: "/cases/" + up.Case + "/baseline", body: form(url.Values{"series": {"/worker"}, "snapshot": {healthy.Case + "/" + healthy.Snapshots[0].ID}}), header: []string{"Content-Type", formType}, status: 303},
		{name: "is named with its case", path: page, status: 200, want: []string{"t0 of the case worker, chosen"}},
		{name: "a snapshot that is not there is refused", method: "POST", path: "/cases/" + up.Case + "/baseline", body: form(url.Values{"snapshot": {"snowhere"}}), header: []string{"Content-Type", formType}, status: 404},
		{name: "no one is led to another site", method: "POST", path: "/cases/" + up.Case + "/baseline", body: form(url.Values{"snapshot": {up.Snapshots[1].ID}, "back": {"//example.org/"}}), header: []string{"Content-Type", formType}, status: 303, never: []string{"example.org"}},
		{name: "the choice is forgotten", method: "POST", path: "/cases/" + up.Case + "/baseline", body: form(url.Values{"series": {"/worker"}, "snapshot": {""}}), header: []string{"Content-Type", formType}, status: 303},
		{name: "and the first snapshot is back", path: page, status: 200, want: []string{"Baseline: t0, the first snapshot"}},
	})
	s.do("POST", "/cases/"+up.Case+"/baseline", strings.NewReader(form(url.Values{"series": {"/worker"}, "snapshot": {healthy.Case + "/" + healthy.Snapshots[0].ID}})), "Content-Type", formType)
	s.do("POST", healthy.Link+"/delete", strings.NewReader(""), "Content-Type", formType)
	if r := s.get(page); r.status != 200 || !strings.Contains(r.body, "the chosen one is not there any more") {
		t.Errorf("with a baseline whose case is gone: status %d: %.300s", r.status, r.body)
	}
}

func TestSnapshotsOfTwoCasesAreCompared(t *testing.T) {
	s := newSite(t)
	up := s.worker(t, "worker", workerCounts)
	healthy := s.worker(t, "worker", []map[string]int{{"(*Pool).run": 1, "(*Conn).serve": 5}})
	other := s.worker(t, "manager", workerCounts[:1])
	a, b := healthy.Snapshots[0].ID, up.Snapshots[3].ID
	cross := "/diff/" + a + ".." + b
	s.run(t, []scenario{
		{name: "counts are compared and nobody is followed", path: cross + "?case=" + up.Case + "&acase=" + healthy.Case, status: 200,
			want:  []string{"worker of two cases: 7 goroutines in A, 18 in B; members are not followed.", "A is of another case.", "Nothing says that t0 and t3 are of one process.", "+7"},
			never: []string{"were born", "survived</span>"}},
		{name: "the cases are found without being named", path: cross, status: 200, want: []string{"A is of another case"}},
		{name: "two programs are said", path: "/diff/" + other.Snapshots[0].ID + ".." + b + "?case=" + up.Case + "&acase=" + other.Case, status: 200, want: []string{"Two programs: manager at t0, worker at t3."}},
		{name: "a snapshot that the case has not is refused with what to do", path: cross + "?case=" + up.Case, status: 404, want: []string{"&amp;acase="}},
		{name: "swapping exchanges the cases", path: cross + "?case=" + up.Case + "&acase=" + healthy.Case, status: 200, want: []string{`href="/diff/` + b + ".." + a + "?acase=" + up.Case + "&amp;case=" + healthy.Case + `"`}},
		{name: "the other cases are listed with their snapshots", path: "/diff-other?case=" + up.Case + "&b=" + b, status: 200, want: []string{"acase=" + healthy.Case, "acase=" + other.Case, "as baseline"}, never: []string{"acase=" + up.Case}},
		{name: "and found by text", path: "/diff-other?case=" + up.Case + "&b=" + b + "&find=manager", status: 200, want: []string{"acase=" + other.Case}, never: []string{"acase=" + healthy.Case}},
		{name: "nothing that is found is said", path: "/diff-other?case=" + up.Case + "&b=" + b + "&find=nowhere", status: 200, want: []string{"No other case holds “nowhere”"}},
		{name: "a foreign snapshot stands beside a series", path: "/compare?case=" + up.Case + "&s=" + healthy.Case + "/" + a + "&s=" + b, status: 200, want: []string{"Nothing says that t0 and t3 are of one process.", "+7"}},
		{name: "a frozen comparison names the other case and links to none", method: "POST", path: "/api/v1/permalinks", body: `{"case":"` + up.Case + `","view":"` + cross + "?case=" + up.Case + "&acase=" + healthy.Case + `"}`, status: 201},
	})
	t.Run("a change in the other case makes the page anew", func(t *testing.T) {
		before := s.get(cross + "?case=" + up.Case + "&acase=" + healthy.Case)
		s.do("POST", healthy.Link+"/fields", strings.NewReader("title=healthy-node"), "Content-Type", formType)
		after := s.get(cross + "?case=" + up.Case + "&acase=" + healthy.Case)
		if before.body == after.body || !strings.Contains(after.body, "healthy-node") {
			t.Error("the page still names the case as before")
		}
	})
}

func TestAnyNumberOfSnapshotsStandsSideBySide(t *testing.T) {
	s := newSite(t)
	up := s.worker(t, "worker", workerCounts)
	address := func(suffix, query string, at ...int) string {
		out := "/compare" + suffix + "?case=" + up.Case + query
		for _, i := range at {
			out += "&s=" + up.Snapshots[i].ID
		}
		return out
	}
	s.run(t, []scenario{
		{name: "all of a series where none are chosen", path: address("", ""), status: 200, want: []string{"worker, t0 to t3, 4\u00a0snapshots: 1\u00a0family grew, 1\u00a0family is new, 1\u00a0family changed and came back and 1\u00a0family is gone."}},
		{name: "members", path: address(".md", "", 0, 1, 3), status: 200, want: []string{`| main.(\*Pool).run ← main.start | 2 | 4 | 8 | +6 |`, `| main.old ← main.start | 4 | 2 | 0 | −4 | gone |`, "| Goroutines | 13 | 15 | 18 |"}},
		{name: "change to the column before", path: address(".md", "&show=previous", 0, 1, 3), status: 200, want: []string{`| main.(\*Pool).run ← main.start | n/a | +2 | +4 | +6 |`}},
		{name: "change to the baseline", path: address(".md", "&show=base", 1, 3), status: 200, want: []string{`| main.(\*Pool).run ← main.start | +2 | +6 | +4 |`}},
		{name: "the same filter", path: address("", "&q="+url.QueryEscape("delta<0"), 0, 3), status: 200, want: []string{"1 of 6\u00a0families pass", "main.</span><wbr><span class=\"n\">old"}},
		{name: "an error empties nothing", path: address("", "&q=fun:x", 0, 3), status: 200, want: []string{`role="alert"`, "(*Pool).run"}},
		{name: "JSON", path: address(".json", "&q=pool", 0, 1, 3), status: 200, want: []string{`"schema": "leakdiff.compare/1"`, `"section": "growing"`, `"delta": 6`, filteredJSON("pool", 1, 6)}, never: []string{"Conn"}},
		{name: "JSON refuses what is not understood", path: address(".json", "&q=fun:x", 0, 1, 3), status: 400, want: []string{"q, column 1"}},
		{name: "what did not change is counted and asked for", path: address("", "", 0, 3), status: 200, want: []string{"3\u00a0families are not shown.", "all=1"}, never: []string{"(*Conn).serve"}},
		{name: "what did not change is shown", path: address("", "&all=1", 0, 3), status: 200, want: []string{"(*Conn).serve"}},
		{name: "a form to choose others", path: address("", "", 0, 3), status: 200, want: []string{`type="checkbox" name="s" value="` + up.Snapshots[1].ID + `"`, `value="` + up.Snapshots[3].ID + `" checked`}},
		{name: "one snapshot says what to do", path: address("", "", 2), status: 200, want: []string{"choose at least two snapshots"}},
		{name: "no case is refused", path: "/compare?s=" + up.Snapshots[0].ID, status: 400, want: []string{"the case is missing"}},
		{name: "a snapshot that is not there is refused", path: address("", "&s=snowhere"), status: 404},
		{name: "a case that is not there is refused", path: address("", "&s=cnowhere/s1"), status: 404},
	})
	frozen := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+up.Case+`","view":"`+address("", "&q=pool&show=previous", 0, 1, 3)+`"}`)).body)
	for suffix, want := range map[string]string{"": "Filter pool: 1 of 6\u00a0families pass. Figures: change to the snapshot before each", ".md": "Filter pool: 1 of 6\u00a0families pass.", ".json": "leakdiff.compare/1"} {
		r := s.get(frozen.Link + suffix)
		if r.status != 200 || !strings.Contains(r.body, want) || strings.Contains(r.body, `href="/compare`) || strings.Contains(r.body, "<form") {
			t.Errorf("frozen%s: status %d, want %q and no live link: %.800s", suffix, r.status, want, r.body)
		}
	}
}

func TestFiftyColumnsAreTheMost(t *testing.T) {
	s := newSite(t)
	var counts []map[string]int
	for i := range 60 {
		counts = append(counts, map[string]int{"(*Pool).run": 2 + i})
	}
	up := s.worker(t, "worker", counts)
	q := url.Values{"case": {up.Case}}
	for _, snap := range up.Snapshots {
		q.Add("s", snap.ID)
	}
	r := s.get("/compare?" + q.Encode())
	if n := strings.Count(r.body, `<th scope="col" class="num" title="`); n != 50 {
		t.Errorf("%d columns, want 50", n)
	}
	for _, want := range []string{"10\u00a0chosen snapshots are left out", ">t0</a>", ">t59</a>", "+59"} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestUnitsStandAboveTheirFamilies(t *testing.T) {
	s := newSite(t)
	var counts []map[string]int
	for i := range 6 {
		counts = append(counts, map[string]int{"(*Pool).run": 2 + 4*i, "flap": 1 + 2*i, "probe.(*worker).doProbe": 2 * i, "(*Conn).serve": 5})
	}
	up := s.worker(t, "worker", counts)
	s.run(t, []scenario{
		{name: "as a band with its own figures", path: pairOf(up, 1, 5, ""), status: 200, want: []string{`<tbody class="unit">`, `">u1</b>`, "3\u00a0families in step"}},
		{name: "a filter shows a part of them", path: pairOf(up, 1, 5, "&q=pool"), status: 200, want: []string{"1 of 3\u00a0families in step"}},
		{name: "an order of the reader's own names the unit beside each", path: pairOf(up, 1, 5, "&sort=b"), status: 200, want: []string{`<span class="chip">u1</span>`}, never: []string{`<tbody class="unit">`}},
	})
}

func TestKeysOfFamiliesAreExplained(t *testing.T) {
	s := newSite(t)
	up := s.worker(t, "worker", workerCounts)
	var data struct {
		Rows []struct{ Fingerprint, Title string }
	}
	r := s.get(strings.Replace(pairOf(up, 0, 3, ""), "?", ".json?", 1))
	if err := json.Unmarshal([]byte(r.body), &data); err != nil {
		t.Fatal(err)
	}
	print := map[string]string{}
	for _, row := range data.Rows {
		name, _, _ := strings.Cut(row.Title, " <- ")
		print[name] = row.Fingerprint
	}
	pool, conn := print["main.(*Pool).run"], print["main.(*Conn).serve"]
	s.run(t, []scenario{
		{name: "an open row leads to its key", path: pairOf(up, 0, 3, "&open="+pool), status: 200, want: []string{"why=" + url.QueryEscape(pool), "Why one family?"}},
		{name: "a new family leads to the nearest", path: pairOf(up, 0, 3, "&open="+print["probe.(*worker).doProbe"]), status: 200, want: []string{"Why not the nearest?"}},
		{name: "the key of one family", path: pairOf(up, 0, 3, "&why="+pool), status: 200, want: []string{"Why these are one family", "The key is made of 1\u00a0compared frame and the creator"}},
		{name: "two families part at a frame that is named", path: pairOf(up, 0, 3, "&why="+pool+","+conn), status: 200, want: []string{"Why these are two families", "Their outermost frames differ: the first begins with main.(*Pool).run, the second begins with main.(*Conn).serve."}},
		{name: "as a form sends them", path: pairOf(up, 0, 3, "&why="+pool+"&why="+conn), status: 200, want: []string{"Why these are two families"}},
		{name: "a family that is not there is said", path: pairOf(up, 0, 3, "&why=g1:0"), status: 200, want: []string{"has no member at A or B"}},
		{name: "stacks unified by address", path: pairOf(up, 0, 3, "&stacks=unified&open="+pool), status: 200, want: []string{`class="stacks uni"`, `data-key="u"`}, never: []string{"wide-grid"}},
		{name: "stacks split by address", path: pairOf(up, 0, 3, "&stacks=split&open="+pool), status: 200, want: []string{`class="stacks wide-grid both"`}, never: []string{"stacks uni"}},
		{name: "stacks by the width of the page", path: pairOf(up, 0, 3, "&open="+pool), status: 200, want: []string{`class="stacks wide-grid"`, `class="stacks uni narrow-only"`}},
	})
}

// A reader with the link of a frozen comparison cannot open its case.
func TestAFrozenComparisonSaysWhatToDo(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23, 33)
	pair := "/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[3].ID + "?case=" + up.Case
	freeze := func(view string) string {
		return decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"view":"`+view+`"}`)).body).Link
	}
	whole, none := freeze(pair), freeze(pair+"&q=delta<0")
	s.run(t, []scenario{
		{name: "how sure it is and what comes next", path: whole, status: 200, want: []string{"What grows here, and what to do", "<b>Series</b>", "<b>Next</b>", `<details class="todo" open`}},
		{name: "in the text for a ticket", path: whole + ".md", status: 200, want: []string{"## What grows here, and what to do\n\nBy 4\u00a0snapshots", "\nNext: "}},
		{name: "folded where the case is at hand", path: pair, status: 200, want: []string{`<details class="todo"><summary>`}},
		{name: "nothing of families that a filter leaves out", path: none, status: 200, never: []string{"What grows here"}},
		{name: "nor where it shrinks", path: "/diff/" + up.Snapshots[3].ID + ".." + up.Snapshots[0].ID + "?case=" + up.Case, status: 200, never: []string{"What grows here"}},
	})
}
