package server

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/say/report"
	"leakdiff/server/intake"
)

func TestTheListOfCasesSaysWhatItsFiguresAre(t *testing.T) {
	s := newSite(t)
	cut := func(n int) string { // in the middle of a frame
		whole := dumpOf(n)
		return whole[:strings.LastIndex(whole, "main.leak")+4]
	}
	one := s.put("one.txt", []byte(cut(60)))
	body, kind := form(t, map[string]string{"t0.txt": dumpOf(20), "t1.txt": dumpOf(90), "t2.txt": cut(10)}, nil)
	three := decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	nothing := s.put("notes.txt", []byte("The node was slow this morning.\n"))
	s.s.worker.CatchUp(t.Context())
	list := s.get("/").body
	row := func(up intake.Uploaded) string {
		_, rest, found := strings.Cut(list, `href="/cases/`+up.Case+`"`)
		if !found {
			t.Fatalf("%s is not listed", up.Case)
		}
		return between("<>"+rest, "<>", "</tr>")
	}
	for _, tc := range []struct {
		name        string
		up          intake.Uploaded
		want, never []string
	}{
		{"one dump that is cut", one, []string{"at least 61 goroutines", "≥\u00a061</td>"}, []string{"61 → 61", ": 61 goroutines"}},
		{"the last of three", three, []string{"≥\u00a011 → 91", "#3 at least 11"}, []string{">11 →"}},
		{"no evidence", nothing, []string{"holds no dump.", "</i>no evidence</span>"}, []string{"too few points"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := row(tc.up)
			for _, w := range tc.want {
				if !strings.Contains(got, w) {
					t.Errorf("no %q in %s", w, got)
				}
			}
			for _, n := range tc.never {
				if strings.Contains(got, n) {
					t.Errorf("%q in %s", n, got)
				}
			}
		})
	}
	page := s.get(three.Link).body
	if !strings.Contains(page, "≥") {
		t.Fatal("the dump of the test is not cut")
	}
}

func TestTheListIsSortedAndFilteredByItsAddress(t *testing.T) {
	s := newSite(t)
	upload := func(files map[string]string) string {
		body, kind := form(t, files, nil)
		return decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body).Case
	}
	names := map[string]string{
		upload(map[string]string{"node-7/t0/kubelet/goroutines.txt": dumpOf(20), "node-7/t1/kubelet/goroutines.txt": dumpOf(60)}): "kubelet grew",
		upload(map[string]string{"apiserver/goroutines.txt": dumpOf(30)}):                                                         "one dump",
		upload(map[string]string{"notes.txt": "The node was slow this morning.\n"}):                                               "notes",
	}
	s.s.worker.CatchUp(t.Context())
	for id, name := range names {
		if name == "one dump" {
			s.do("PATCH", "/api/v1/cases/"+id, strings.NewReader(`{"ticket":"INC-4711"}`))
		}
	}
	link := regexp.MustCompile(`class="nm" href="/cases/([^"]+)"`)
	for _, tc := range []struct {
		query string
		want  []string
	}{
		{"", []string{"notes", "one dump", "kubelet grew"}},
		{"sort=nonsense", []string{"notes", "one dump", "kubelet grew"}},
		{"sort=verdict", []string{"kubelet grew", "notes", "one dump"}},
		{"sort=activity", []string{"one dump", "notes", "kubelet grew"}},
		{"find=inc-4711", []string{"one dump"}},
		{"find=holds+no+dump", []string{"notes"}},
		{"find=NONE+ended", []string{"kubelet grew"}},
		{"verdict=suspicious", []string{"kubelet grew"}},
		{"find=nosuch", nil},
		{"text=holds+no+dump", nil}, // title or ticket alone
	} {
		t.Run(tc.query, func(t *testing.T) {
			page := s.get("/?" + tc.query).body
			var got []string
			for _, m := range link.FindAllStringSubmatch(page, -1) {
				got = append(got, names[m[1]])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("cases (-want +got):\n%s", diff)
			}
			if inPlace := strings.Contains(page, "cases.js"); inPlace != (tc.query == "" || strings.HasPrefix(tc.query, "sort=")) {
				t.Errorf("the script that sorts and filters in place: %v", inPlace)
			}
		})
	}
}

func TestTheReportOfACaseComesInParts(t *testing.T) {
	s := newSite(t)
	files := map[string]string{}
	for _, process := range []string{"kubelet", "containerd", "calico-node"} {
		files["node-7/t0/"+process+"/goroutines.txt"], files["node-7/t1/"+process+"/goroutines.txt"] = dumpOf(20), dumpOf(60)
	}
	body, kind := form(t, files, nil)
	address := "/api/v1/cases/" + decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body).Case
	whole := decode[report.Report](t, s.get(address).body)
	if len(whole.Series) != 3 || len(whole.Snapshots) != 6 {
		t.Fatalf("%d series of %d snapshots were uploaded", len(whole.Series), len(whole.Snapshots))
	}
	var series []report.Series
	var snapshots []report.Snapshot
	parts := 0
	for next := address + "?limit=2"; next != ""; parts++ {
		answer := s.get(next)
		part := decode[report.Report](t, answer.body)
		series, snapshots = append(series, part.Series...), append(snapshots, part.Snapshots...)
		if len(part.Snapshots) != 2*len(part.Series) {
			t.Errorf("%s: %d snapshots of %d series", next, len(part.Snapshots), len(part.Series))
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(answer.header.Get("Link"), "<"), ">")
	}
	if parts != 2 {
		t.Errorf("%d parts of at most 2 series", parts)
	}
	if !reflect.DeepEqual(whole.Series, series) {
		t.Errorf("the series of all parts are %d and differ from those of the whole", len(series))
	}
	byID := func(a, b report.Snapshot) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(whole.Snapshots, byID)
	slices.SortFunc(snapshots, byID)
	if !reflect.DeepEqual(whole.Snapshots, snapshots) {
		t.Errorf("the snapshots of all parts are %d and differ from those of the whole", len(snapshots))
	}
	if beyond := decode[report.Report](t, s.get(address+"?page=7").body); len(beyond.Series) != 0 || beyond.Diagnosis.Sentence != whole.Diagnosis.Sentence {
		t.Errorf("beyond the last part: %d series, %q", len(beyond.Series), beyond.Diagnosis.Sentence)
	}
	if refused := s.get(address + "?page=0"); refused.status != 400 || !strings.Contains(refused.body, "a number from 1") {
		t.Errorf("page 0: %d %s", refused.status, refused.body)
	}
}
