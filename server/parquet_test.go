package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"leakdiff/server/share"
)

// parquetRow is what the tests read of a row.
type parquetRow struct {
	Host        *string `parquet:"host,optional"`
	Process     string  `parquet:"process"`
	Label       string  `parquet:"label"`
	Fingerprint string  `parquet:"fingerprint"`
	Count       *int64  `parquet:"count,optional"`
}

func parquetRows(t *testing.T, body string) []parquetRow {
	t.Helper()
	rows, err := parquet.Read[parquetRow](strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatalf("the file is broken: %v\n%.200q", err, body)
	}
	return rows
}

// parquetValues returns the values of a file as text. In the file most are compressed.
func parquetValues(body string) string {
	rows, err := parquet.Read[any](strings.NewReader(body), int64(len(body)))
	if err != nil {
		panic(err)
	}
	return fmt.Sprint(rows...)
}

// housekeepingOf returns the counts of the family of housekeeping, and the hosts of all rows.
func housekeepingOf(k kubelet, rows []parquetRow) (counts map[string]int64, hosts map[string]bool) {
	counts, hosts = map[string]int64{}, map[string]bool{}
	for _, row := range rows {
		if row.Host != nil {
			hosts[*row.Host] = true
		}
		if row.Process == "kubelet" && row.Fingerprint == k.family && row.Count != nil {
			counts[row.Label] = *row.Count
		}
	}
	return counts, hosts
}

func TestACaseHasParquetLiveRedactedAndFrozen(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	frozen := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+k.up.Case+`"}`)).body)
	want := map[string]int64{"t0": 4, "t1": 16, "t2": 24, "t3": 32, "t4": 40, "t5": 48, "t6": 56, "t7": 64, "t8": 4} // found.json
	for name, c := range map[string]struct {
		path, file string
		hidden     bool
	}{
		"live":     {k.up.Link + ".parquet", "leakdiff-kubelet-probe-leak.parquet", false},
		"redacted": {k.up.Link + ".parquet?redact=1", "leakdiff-redacted-case.parquet", true},
		"frozen":   {frozen.Link + ".parquet", "leakdiff-frozen-" + frozen.ID + ".parquet", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.get(c.path)
			for header, value := range map[string]string{
				"Content-Type": "application/vnd.apache.parquet", "X-Content-Type-Options": "nosniff", "Content-Disposition": `attachment; filename="` + c.file + `"`,
			} {
				if got := r.header.Get(header); r.status != 200 || got != value {
					t.Errorf("status %d, %s is %q, want %q", r.status, header, got, value)
				}
			}
			rows := parquetRows(t, r.body)
			counts, hosts := housekeepingOf(k, rows)
			if diff := cmp.Diff(want, counts); diff != "" {
				t.Errorf("counts (-found.json +Parquet):\n%s", diff)
			}
			if hosts["realnode1"] == c.hidden || len(hosts) != 1 {
				t.Errorf("hosts are %v", hosts)
			}
			for _, secret := range []string{"realnode1", "/srv/leak-lab/kubelet/run/secret", "10.77.0.1"} {
				if c.hidden && strings.Contains(r.body+parquetValues(r.body), secret) {
					t.Errorf("the file holds %s", secret)
				}
			}
			if again := s.get(c.path); again.body != r.body || again.header.Get("ETag") != r.header.Get("ETag") {
				t.Error("two answers differ")
			}
			if cached := s.do("GET", c.path, nil, "If-None-Match", r.header.Get("ETag")); cached.status != 304 {
				t.Errorf("what the client has is sent again: %d", cached.status)
			}
		})
	}
	if page := s.get(k.up.Link).body; !strings.Contains(page, `href="`+k.up.Link+`.parquet"`) {
		t.Error("the page of the case does not lead to it")
	}
}

func TestOnlyCasesHaveParquet(t *testing.T) {
	s := newSite(t)
	k := uploadKubelet(t, s)
	var list []scenario
	for name, at := range k.pages() {
		if name == "the case" {
			continue
		}
		list = append(list, scenario{name: name, path: at[0] + ".parquet" + at[1], status: 404, want: []string{"only a case", ".csv of this page"}, never: []string{"PAR1"}})
		if page := s.get(at[0] + at[1]).body; strings.Contains(page, at[0]+".parquet") {
			t.Errorf("%s leads to a file that it does not have", name)
		}
		frozen := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(`{"case":"`+k.up.Case+`","view":"`+at[0]+`"}`)).body)
		list = append(list, scenario{name: name + ", frozen", path: frozen.Link + ".parquet", status: 404, want: []string{"only a case"}, never: []string{"PAR1"}})
	}
	list = append(list,
		scenario{name: "several snapshots", path: "/compare.parquet?case=" + k.up.Case, status: 404},
		scenario{name: "a case that is not there", path: "/cases/none.parquet", status: 404},
		scenario{name: "a permalink that is not there", path: "/p/none.parquet", status: 404})
	s.run(t, list)
}
