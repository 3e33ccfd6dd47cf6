package view

import (
	"archive/tar"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/gate"
	"leakdiff/analysis/say/report"
)

// capture is one of four of a process with so many sockets that stay.
type capture struct {
	sockets int
	// fdinfo is how many of its descriptors fdinfo has, all but the last of them whole if cut
	// is set.
	fdinfo int
	cut    bool
	// listing is that of lsof, damaged with a row that nobody understands.
	listing, damaged bool
}

// archive is the capture as tar, which ends within the last file if that is cut.
func (c capture) archive(t *testing.T, at int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name, text string) {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("t%d/app/%s", at, name), Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	add("captured_at", time.Date(2026, 11, 21, 3, at, 0, 0, time.UTC).Format(time.RFC3339)+"\n")
	if c.listing {
		text := "COMMAND   PID USER   FD      TYPE DEVICE SIZE/OFF     NODE NAME\n"
		for k := range c.sockets {
			text += fmt.Sprintf("app      1000 root   %3du     IPv4 %d       0t0      TCP 10.0.0.2:%d->10.0.0.1:443 (ESTABLISHED)\n", 3+k, 7000+k, 40000+k)
		}
		if c.damaged {
			text += "app      1000 root   99#u     IPv4 7999       0t0      TCP 10.0.0.2:49999->10.0.0.1:443 (ESTABLISHED)\n"
		}
		add("lsof.txt", text)
	}
	info := func(k int) string { return fmt.Sprintf("pos:\t0\nflags:\t02000002\nmnt_id:\t9\nino:\t%d\n", 7000+k) }
	for k := range c.fdinfo {
		add(fmt.Sprintf("fdinfo/%d", 3+k), info(k))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if c.cut {
		return out.Bytes()[:out.Len()-512+20]
	}
	return out.Bytes()
}

// forms are what is said of four captures of a case in each form.
type forms struct {
	result  ingest.Result
	c       report.Case
	page    Case
	diff    Diff
	gate    report.Gate
	rows    []map[string]string
	text    string
	encoded []byte
}

func sayAll(t *testing.T, captures ...capture) forms {
	t.Helper()
	var inputs []bundle.Input
	for i, c := range captures {
		data := c.archive(t, i)
		inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("t%d.tar", i), Size: int64(len(data)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }})
	}
	result, err := ingest.Run(t.Context(), ingest.Config{Bundle: bundle.Config{TempDir: t.TempDir()}}, inputs)
	if err != nil || len(result.Snapshots) != len(captures) {
		t.Fatalf("%v, %d snapshots", err, len(result.Snapshots))
	}
	out := forms{result: result, c: report.Build(slices.Clone(result.Snapshots), result.Problems, report.Options{})}
	r := &out.c.Report
	if len(r.Series) != 1 {
		t.Fatalf("%d series", len(r.Series))
	}
	out.page = NewCase(CaseInput{ID: "c", Report: *r})
	judged := out.c.Series[0]
	last := len(captures) - 1
	out.diff = NewDiff(DiffInput{Series: r.Series[0], Labels: []string{"t0", "t1", "t2", "t3"}, AIndex: 0, BIndex: last, Counts: judged.Trend.Counts,
		Result: diff.Compare(judged.Snapshots[0], judged.Snapshots[last], diff.Options{Judgements: judged.Judged, Relation: diff.SameEpoch})})
	before := report.Build(slices.Clone(result.Snapshots[:2]), nil, report.Options{})
	budget, err := gate.ParseBudget("budget", "20 kind:descriptor\n")
	if err != nil {
		t.Fatal(err)
	}
	out.gate = gate.Check(&out.c, gate.Options{Baseline: &before.Report, Budget: budget})
	var table, text, encoded bytes.Buffer
	if err := report.CSV(&table, *r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		cells := map[string]string{}
		for i, name := range rows[0] {
			cells[name] = row[i]
		}
		out.rows = append(out.rows, cells)
	}
	if err := report.Text(&text, out.c, report.Terminal{}); err != nil {
		t.Fatal(err)
	}
	text.WriteString(out.page.Page().Body.Text())
	if err := report.JSON(&encoded, *r); err != nil {
		t.Fatal(err)
	}
	out.text, out.encoded = text.String(), encoded.Bytes()
	return out
}

// inexact returns what the JSON says of the exactness of each snapshot.
func (s *forms) inexact(t *testing.T) (out []map[string]string) {
	t.Helper()
	var r struct {
		Snapshots []struct {
			Inexact map[string]string `json:"inexact"`
		} `json:"snapshots"`
	}
	if err := json.Unmarshal(s.encoded, &r); err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Snapshots {
		out = append(out, x.Inexact)
	}
	return out
}

// TestAWholeListingBesideACutFdinfoIsExactEverywhere has 30, 35, 40 and 45 sockets in whole
// listings: 15 came, and the 30 of the first capture stayed.
func TestAWholeListingBesideACutFdinfoIsExactEverywhere(t *testing.T) {
	for name, captures := range map[string][]capture{
		"fdinfo has ten of them":          {{30, 10, false, true, false}, {35, 10, false, true, false}, {40, 10, false, true, false}, {45, 10, false, true, false}},
		"the archive ends within fdinfo":  {{30, 29, true, true, false}, {35, 34, true, true, false}, {40, 39, true, true, false}, {45, 44, true, true, false}},
		"fdinfo is cut in two of them":    {{30, 30, false, true, false}, {35, 34, true, true, false}, {40, 10, false, true, false}, {45, 45, false, true, false}},
		"nobody captured fdinfo but once": {{30, 0, false, true, false}, {35, 0, false, true, false}, {40, 0, false, true, false}, {45, 20, true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			x := sayAll(t, captures...)
			for i := range x.result.Snapshots {
				s := &x.result.Snapshots[i]
				if got := *s.Totals.Descriptors; got != captures[i].sockets || s.Exactness(analysis.KindDescriptor) != analysis.Exact {
					t.Errorf("%s: %d descriptors, %q", s.Label, got, s.Exactness(analysis.KindDescriptor))
				}
				if c := captures[i]; c.cut && s.Exactness(analysis.KindWatch) != analysis.AtLeast {
					t.Errorf("%s: watches of a cut fdinfo are %q", s.Label, s.Exactness(analysis.KindWatch))
				}
			}
			f := &x.c.Report.Series[0].Families[0]
			if f.Rise != 15 || f.Verdict != analysis.Leaking && f.Verdict != analysis.Suspicious && f.Verdict != analysis.Grew {
				t.Errorf("rise %d, %s", f.Rise, f.Verdict)
			}
			sentence := x.c.Report.Diagnosis.Sentence
			if !strings.Contains(sentence, "closes none: 45 are open") || strings.Contains(sentence, "at least") {
				t.Errorf("the sentence is %q", sentence)
			}
			want := []string{"30", "35", "40", "45"}
			if d := cmp.Diff(want, x.page.Families[0].Counts); d != "" {
				t.Errorf("the table of the page: %s", d)
			}
			if d := cmp.Diff(want, x.page.Groups[0].Rows[0].Cells); d != "" {
				t.Errorf("the totals of the page: %s", d)
			}
			if x.diff.A.Count != "30" || x.diff.B.Count != "45" || strings.Contains(x.diff.Headline, "cannot be compared") {
				t.Errorf("the comparison: %q, %q to %q", x.diff.Headline, x.diff.A.Count, x.diff.B.Count)
			}
			if row := x.diff.Sections[0].Rows[0]; row.Survived != "30" || row.New != "15" || row.Gone != "0" {
				t.Errorf("of the first ones %s stayed and %s ended, %s came", row.Survived, row.Gone, row.New)
			}
			if len(x.gate.Unchecked) > 0 || len(x.gate.Items) == 0 || *x.gate.Items[0].Before != 35 || *x.gate.Items[0].Now != 45 {
				t.Errorf("the gate: %+v, not checked %+v", x.gate.Items, x.gate.Unchecked)
			}
			row := x.rows[0]
			if d := cmp.Diff(want, []string{row["t0"], row["t1"], row["t2"], row["t3"]}); d != "" || row["lower_bounds"] != "" {
				t.Errorf("the CSV: lower bounds %q, %s", row["lower_bounds"], d)
			}
			if !strings.Contains(x.text, "30 35 40 45") {
				t.Errorf("the text is\n%s", x.text)
			}
			for i, of := range x.inexact(t) {
				if of["descriptor"] != "" || captures[i].cut && captures[i].fdinfo > 20 && of["watch"] != "lower_bound" {
					t.Errorf("the JSON says of t%d: %v", i, of)
				}
			}
		})
	}
}

// TestADamagedListingIsALowerBoundEverywhere has the same sockets, and a row in each listing
// that nobody understands.
func TestADamagedListingIsALowerBoundEverywhere(t *testing.T) {
	x := sayAll(t, capture{30, 0, false, true, true}, capture{35, 0, false, true, true}, capture{40, 0, false, true, true}, capture{45, 0, false, true, true})
	f := &x.c.Report.Series[0].Families[0]
	if f.Verdict == analysis.Leaking || f.Verdict == analysis.Suspicious || f.Verdict == analysis.Grew {
		t.Errorf("it is %s", f.Verdict)
	}
	if s := x.c.Report.Diagnosis.Sentence; !strings.Contains(s, "at least") || !strings.Contains(s, "nothing can be said about growth") {
		t.Errorf("the sentence is %q", s)
	}
	want := []string{"≥\u00a030", "≥\u00a035", "≥\u00a040", "≥\u00a045"}
	if d := cmp.Diff(want, x.page.Families[0].Counts); d != "" {
		t.Errorf("the table of the page: %s", d)
	}
	if d := cmp.Diff(want, x.page.Groups[0].Rows[0].Cells); d != "" {
		t.Errorf("the totals of the page: %s", d)
	}
	if x.diff.A.Count != want[0] || x.diff.B.Count != want[3] || !strings.Contains(x.diff.Headline, "cannot be compared") {
		t.Errorf("the comparison: %q, %q to %q", x.diff.Headline, x.diff.A.Count, x.diff.B.Count)
	}
	for _, item := range x.gate.Items {
		if item.Rule != report.OverBudget {
			t.Errorf("the gate: %+v", item)
		}
	}
	if x.rows[0]["lower_bounds"] != "t0 t1 t2 t3" {
		t.Errorf("the CSV: lower bounds %q", x.rows[0]["lower_bounds"])
	}
	for i, of := range x.inexact(t) {
		if of["descriptor"] != "lower_bound" {
			t.Errorf("the JSON says of t%d: %v", i, of)
		}
	}
}

// TestABudgetIsNotKeptByALowerBound has 45 sockets of a damaged listing, and a budget of 50.
func TestABudgetIsNotKeptByALowerBound(t *testing.T) {
	x := sayAll(t, capture{30, 0, false, true, false}, capture{45, 0, false, true, true})
	budget, err := gate.ParseBudget("budget", "50 kind:descriptor\n")
	if err != nil {
		t.Fatal(err)
	}
	if g := gate.Check(&x.c, gate.Options{Budget: budget}); len(g.Unchecked) != 1 || !strings.Contains(g.Unchecked[0].Text, "cut") {
		t.Errorf("not checked: %+v", g.Unchecked)
	}
}
