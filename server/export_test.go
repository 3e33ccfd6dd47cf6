package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"leakdiff/server/intake"
	"leakdiff/server/response"
	"leakdiff/server/share"
)

// kubelet is the sample on a server: two snapshots of the kubelet and a growing family.
type kubelet struct {
	up     intake.Uploaded
	t1, t6 string
	family string
}

// housekeeping is a family of the sample. Its counts are in found.json.
const housekeeping = "manager.(*containerData).housekeepingTick"

func uploadKubelet(t *testing.T, s *site) kubelet {
	t.Helper()
	k := kubelet{up: s.put("kubelet-probe-leak.tar.gz", sample(t, "kubelet-probe-leak").Archive)}
	for _, snap := range k.up.Snapshots {
		switch snap.Process + " " + snap.Label {
		case "kubelet t1":
			k.t1 = snap.ID
		case "kubelet t6":
			k.t6 = snap.ID
		}
	}
	for _, row := range sheet(t, s.get(k.up.Link+".csv").body) {
		if strings.HasPrefix(row["family"], housekeeping) {
			k.family = row["fingerprint"]
		}
	}
	if k.t1 == "" || k.t6 == "" || k.family == "" {
		t.Fatalf("the sample lacks what the tests look at: %+v", k)
	}
	return k
}

// pages are the addresses of the pages with twins: path and query.
func (k kubelet) pages() map[string][2]string {
	q := "?case=" + k.up.Case
	return map[string][2]string{
		"the case":     {k.up.Link, ""},
		"the diff":     {"/diff/" + k.t1 + ".." + k.t6, q},
		"the family":   {"/families/" + k.family, q},
		"the snapshot": {"/snapshots/" + k.t6, q},
	}
}

// sheet reads a table by the names of its columns.
func sheet(t *testing.T, body string) []map[string]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll() // refuses rows of unequal length
	if err != nil {
		t.Fatalf("the table is broken: %v\n%.400s", err, body)
	}
	var out []map[string]string
	for _, r := range rows[1:] {
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = r[i]
		}
		out = append(out, row)
	}
	return out
}

func TestEveryPageHasItsTwins(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	for name, at := range k.pages() {
		t.Run(name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			twins := map[string]string{
				".md": "text/markdown", ".jira": "text/plain", ".txt": "text/plain", ".csv": "text/csv", ".json": "application/json", ".html": "text/html", ".svg": "image/svg+xml",
			}
			page := s.get(at[0] + at[1])
			for suffix, kind := range twins {
				r := s.get(at[0] + suffix + at[1])
				if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), kind) {
					t.Errorf("%s: status %d, type %q: %.200s", suffix, r.status, r.header.Get("Content-Type"), r.body)
					continue
				}
				if suffix != ".svg" && !strings.Contains(r.body, "containerData") {
					t.Errorf("%s says nothing of the family", suffix)
				}
				if suffix != ".svg" && !strings.Contains(page.body, `href="`+at[0]+suffix) {
					t.Errorf("the page does not lead to %s", suffix)
				}
			}
			standsAlone(t, s.get(at[0]+".html"+at[1]))
			plain := s.get(at[0] + ".txt" + at[1]).body
			for _, no := range []string{"\n#", "\n- ", "**", "| ---", "```", "&lt;"} {
				if strings.Contains("\n"+plain, no) {
					t.Errorf("the plain text has %q", no)
				}
			}
		})
	}
}

func TestTheTicketOfACaseLeadsToItsPage(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	for name, at := range k.pages() {
		md, jira := s.get(at[0]+".ticket.md"+at[1]), s.get(at[0]+".ticket.jira"+at[1])
		if !strings.HasPrefix(at[0], "/cases/") {
			if md.status != 404 {
				t.Errorf("%s has a ticket: %d", name, md.status)
			}
			continue
		}
		if want := "Full report: " + s.url + at[0]; md.status != 200 || !strings.HasPrefix(md.body, "**") || !strings.Contains(md.body, want) {
			t.Errorf("%s: status %d, lacks %q:\n%s", name, md.status, want, md.body)
		}
		if want := "[Full report|" + s.url + at[0] + "]"; jira.status != 200 || !strings.Contains(jira.body, want) {
			t.Errorf("%s: status %d, lacks %q:\n%s", name, jira.status, want, jira.body)
		}
		if page := s.get(at[0] + at[1]).body; !strings.Contains(page, `data-copy-url="`+at[0]+".ticket.md?redact=1") || !strings.Contains(page, `data-key="L"`) {
			t.Errorf("%s: the page copies no ticket", name)
		}
	}
}

// standsAlone fails if a file loads or runs anything.
func standsAlone(t *testing.T, r reply) {
	t.Helper()
	for _, no := range []string{"<script", "<link", "<form", "<iframe", "<img", "src=", "url(h", "url(/", "@import", " style=", ` href="/`, ` href="http`, " onclick"} {
		if strings.Contains(r.body, no) {
			at := strings.Index(r.body, no)
			t.Errorf("the file has %q: %.80s", no, r.body[at:])
		}
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(r.body)
	if style == nil {
		t.Fatal("the file has no style")
	}
	sum := sha256.Sum256([]byte(style[1]))
	allowed := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	policy := r.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", allowed, "sandbox", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if inside := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(r.body); inside == nil || !strings.Contains(inside[1], strings.ReplaceAll(allowed, "'", "&#39;")) {
		t.Errorf("the file carries the policy %q, want one with %s", inside, allowed)
	}
	if got := r.header.Get("Content-Disposition"); !strings.HasPrefix(got, `inline; filename="leakdiff-`) || !strings.HasSuffix(got, `.html"`) {
		t.Errorf("the file is called %q", got)
	}
}

func TestTablesHoldTheFiguresOfTheSample(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	q := "?case=" + k.up.Case
	t.Run("the case", func(t *testing.T) {
		var got []string
		for _, row := range sheet(t, s.get(k.up.Link+".csv").body) {
			if row["fingerprint"] == k.family && row["process"] == "kubelet" {
				for i := range 9 {
					got = append(got, row["t"+strconv.Itoa(i)])
				}
			}
		}
		if d := cmp.Diff([]string{"4", "16", "24", "32", "40", "48", "56", "64", "4"}, got); d != "" {
			t.Errorf("counts (-found.json +table):\n%s", d)
		}
	})
	t.Run("the diff, both ways", func(t *testing.T) {
		for pair, want := range map[string][3]string{k.t1 + ".." + k.t6: {"16", "56", "40"}, k.t6 + ".." + k.t1: {"56", "16", "-40"}} {
			found := false
			for _, row := range sheet(t, s.get("/diff/"+pair+".csv"+q).body) {
				if row["fingerprint"] == k.family {
					found = true
					if got := [3]string{row["a"], row["b"], row["delta"]}; got != want {
						t.Errorf("%s: the row says %v, want %v", pair, got, want)
					}
				}
			}
			if !found {
				t.Errorf("%s lacks the family", pair)
			}
		}
	})
	t.Run("the snapshot", func(t *testing.T) {
		total := 0
		for _, row := range sheet(t, s.get("/snapshots/"+k.t6+".csv"+q).body) {
			if row["kind"] == "goroutine" {
				n, err := strconv.Atoi(row["members"])
				if err != nil {
					t.Fatal(err)
				}
				total += n
			}
		}
		if total != 242 { // 243 without the goroutine that wrote the dump
			t.Errorf("the members add up to %d, want 242", total)
		}
	})
	t.Run("the family", func(t *testing.T) {
		rows := sheet(t, s.get("/families/"+k.family+".csv"+q).body)
		first := map[string]int{}
		ids := map[string]bool{}
		for _, row := range rows {
			first[row["first_seen"]]++
			ids[row["id"]] = true
			if row["state"] != "select" || !strings.HasSuffix(row["path"], "goroutine-debug2.txt") {
				t.Errorf("a row is %v", row)
			}
		}
		if len(rows) != 64 || len(ids) != 64 {
			t.Errorf("%d rows with %d ids, want 64", len(rows), len(ids))
		}
		if d := cmp.Diff(map[string]int{"t0": 4, "t1": 12, "t2": 8, "t3": 8, "t4": 8, "t5": 8, "t6": 8, "t7": 8}, first); d != "" {
			t.Errorf("first seen (-found.json +table):\n%s", d)
		}
	})
	if r := s.get(k.up.Link + ".csv"); !strings.Contains(r.body, "\r\n") || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment;") {
		t.Errorf("lines end with %q, and browsers are told %q", r.body[strings.IndexByte(r.body, '\n')-1:][:2], r.header.Get("Content-Disposition"))
	}
}

func TestASpreadsheetComputesNothingOfADump(t *testing.T) {
	s := newSite(t)
	up := s.put("dump.txt", []byte("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1\n\ngoroutine 7 [select]:\n=HYPERLINK.a(\"x\")\n\t/src/=b.go:4 +0x1\ncreated by @SUM.b in goroutine 1\n\t/src/c.go:9 +0x1\n"))
	for _, path := range []string{up.Link + ".csv", "/snapshots/" + up.Snapshots[0].ID + ".csv?case=" + up.Case} {
		body := s.get(path).body
		if !strings.Contains(body, "HYPERLINK") {
			t.Fatalf("%s: the name is nowhere: the test proves nothing: %s", path, body)
		}
		for _, row := range sheet(t, body) {
			for column, cell := range row {
				if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "@") {
					t.Errorf("%s: a spreadsheet computes %s: %q", path, column, cell)
				}
			}
		}
	}
}

func TestEveryChartIsAFileOfItsOwn(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	link := regexp.MustCompile(`href="([^"]*\.svg\?[^"]*)"`)
	for name, at := range k.pages() {
		t.Run(name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			query := at[1]
			if name == "the diff" {
				query += "&open=" + k.family
			}
			links := link.FindAllStringSubmatch(s.get(at[0]+query).body, -1)
			if len(links) == 0 {
				t.Fatal("the page leads to no chart")
			}
			seen := map[string]bool{}
			for _, l := range links {
				address := strings.ReplaceAll(l[1], "&amp;", "&")
				if seen[address] {
					continue
				}
				seen[address] = true
				r := s.get(address)
				if r.status != 200 || r.header.Get("Content-Security-Policy") != response.PicturePolicy {
					t.Errorf("%s: status %d, policy %q: %.100s", address, r.status, r.header.Get("Content-Security-Policy"), r.body)
					continue
				}
				drawing(t, address, r.body)
			}
		})
	}
	r := s.get(k.up.Link + ".svg?chart=nosuch")
	if r.status != 404 || !strings.Contains(r.body, "tl") || strings.Contains(r.body, "<svg") {
		t.Errorf("an unknown chart gives %d: %.200s", r.status, r.body)
	}
}

// drawing fails if a file is not well-formed, without title or cut.
func drawing(t *testing.T, address, body string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict = true
	var names []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Errorf("%s is not well-formed: %v", address, err)
			return
		}
		if start, ok := token.(xml.StartElement); ok {
			names = append(names, start.Name.Local)
			if start.Name.Space != "http://www.w3.org/2000/svg" {
				t.Errorf("%s: %s is no element of SVG", address, start.Name.Local)
			}
		}
	}
	if len(names) < 4 || names[0] != "svg" || names[1] != "title" || !slices.Contains(names, "style") {
		t.Errorf("%s begins with %v", address, names[:min(len(names), 4)])
	}
	for _, no := range []string{"<script", "var(--", "http://127", "<title></title>", "<title id=\"\">"} {
		if strings.Contains(body, no) {
			t.Errorf("%s has %q", address, no)
		}
	}
}

func TestStacksAreFilesForOtherTools(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	q := "?case=" + k.up.Case
	total := func(path string) (sum int64) {
		r := s.get(path)
		if r.status != 200 {
			t.Fatalf("%s: %d %.200s", path, r.status, r.body)
		}
		p, err := pprof.Parse(strings.NewReader(r.body))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, x := range p.Sample {
			sum += x.Value[0]
		}
		return sum
	}
	if got := total("/snapshots/" + k.t6 + ".pb.gz" + q); got != 243 {
		t.Errorf("the profile of t6 counts %d goroutines, want 243", got)
	}
	if got := total("/diff/" + k.t1 + ".." + k.t6 + ".pb.gz" + q); got != 128 {
		t.Errorf("the profile of the change counts %d goroutines, want 128", got)
	}
	if got := total("/diff/" + k.t6 + ".." + k.t1 + ".pb.gz" + q); got != -128 {
		t.Errorf("the profile of the change back counts %d goroutines, want -128", got)
	}
	s.run(t, []scenario{
		{name: "folded stacks of a snapshot", path: "/snapshots/" + k.t6 + ".folded" + q, status: 200, want: []string{"manager.(*containerData).housekeepingTick 56\n"}},
		{name: "folded stacks of a pair", path: "/diff/" + k.t1 + ".." + k.t6 + ".folded" + q, status: 200, want: []string{"manager.(*containerData).housekeepingTick 16 56\n"}},
		{name: "threads of a program that has none are refused", path: "/snapshots/" + k.t6 + ".folded" + q + "&kind=thread", status: 404, want: []string{"no stacks"}},
		{name: "a case has no profile", path: k.up.Link + ".pb.gz", status: 404, want: []string{"only snapshots and comparisons"}},
		{name: "a family at an unknown snapshot", path: "/families/" + k.family + q + "&at=snone", status: 404, want: []string{"the case has no such snapshot"}},
		{name: "a family has no profile", path: "/families/" + k.family + ".folded" + q, status: 404},
	})
}

func TestFrozenResultsHaveTheSameTwinsRedacted(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	live := map[string][]map[string]string{}
	for name, at := range k.pages() {
		live[name] = sheet(t, s.get(at[0]+".csv"+at[1]).body)
	}
	for name, at := range k.pages() {
		t.Run(name, func(t *testing.T) {
			s := &site{t: t, s: s.s, url: s.url}
			answer := s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+k.up.Case+`","view":"`+at[0]+`"}`))
			if answer.status != 201 {
				t.Fatalf("freezing gave %d: %s", answer.status, answer.body)
			}
			link := decode[share.Result](t, answer.body).Link
			page := s.get(link)
			for _, suffix := range []string{".md", ".jira", ".txt", ".html", ".csv", ".json", ".svg"} {
				r := s.get(link + suffix)
				if r.status != 200 {
					t.Errorf("%s: %d %.200s", suffix, r.status, r.body)
				}
				for _, never := range []string{"realnode1", "/srv/leak-lab/kubelet/run/secret", "10.77.0.1", k.up.Case, "/raw/", "/bundles/"} {
					if strings.Contains(r.body, never) {
						t.Errorf("%s holds %q", suffix, never)
					}
				}
				if !strings.Contains(r.header.Get("X-Robots-Tag"), "noindex") {
					t.Errorf("%s may be indexed", suffix)
				}
				if suffix != ".svg" && !strings.Contains(page.body, `href="`+link+suffix+`"`) {
					t.Errorf("the page does not lead to %s", suffix)
				}
			}
			standsAlone(t, s.get(link+".html"))
			if rows := sheet(t, s.get(link+".csv").body); len(rows) != len(live[name]) || len(rows) == 0 {
				t.Errorf("the table has %d rows, the live one %d", len(rows), len(live[name]))
			}
			if text := s.get(link + ".txt").body; !strings.Contains(text, "Frozen ") || !strings.Contains(text, "containerData") {
				t.Errorf("the text lacks its seal or its families: %.300s", text)
			}
		})
	}
}
