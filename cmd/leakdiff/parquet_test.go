package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"leakdiff/analysis/say/report"
	"leakdiff/samples"
)

// parquetRow is what the tests read of a row.
type parquetRow struct {
	Host        *string    `parquet:"host,optional"`
	Process     string     `parquet:"process"`
	PID         *int64     `parquet:"pid,optional"`
	Epoch       int32      `parquet:"epoch"`
	Snapshot    string     `parquet:"snapshot"`
	Label       string     `parquet:"label"`
	CapturedAt  *time.Time `parquet:"captured_at,optional,timestamp(microsecond)"`
	Kind        string     `parquet:"kind"`
	Fingerprint string     `parquet:"fingerprint"`
	Title       string     `parquet:"title"`
	CreatedBy   *string    `parquet:"created_by,optional"`
	Count       *int64     `parquet:"count,optional"`
	Truncated   bool       `parquet:"truncated"`
	Verdict     string     `parquet:"verdict"`
	Version     string     `parquet:"leakdiff_version"`
}

// parquetValues returns the values of a file as text. In the file most are compressed.
func parquetValues(t *testing.T, body string) string {
	t.Helper()
	rows, err := parquet.Read[any](strings.NewReader(body), int64(len(body)))
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return fmt.Sprint(rows...)
}

// TestParquetHoldsTheFiguresOfTheSamples compares the file with the truth about the samples,
// and row by row with the JSON.
func TestParquetHoldsTheFiguresOfTheSamples(t *testing.T) {
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range all {
		t.Run(sample.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), sample.Name+".tar.gz")
			if err := os.WriteFile(path, sample.Archive, 0o600); err != nil {
				t.Fatal(err)
			}
			body := execute(t, nil, "report", "--format", "parquet", path).stdout
			got, err := parquet.Read[parquetRow](strings.NewReader(body), int64(len(body)))
			if err != nil {
				t.Fatal(err)
			}
			var r report.Report
			if err := json.Unmarshal([]byte(execute(t, nil, "report", "--format", "json", path).stdout), &r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rowsOfJSON(r), got); diff != "" {
				t.Errorf("(-JSON +Parquet):\n%.4000s", diff)
			}
			for _, truth := range sample.Found.Series {
				for _, row := range truth.Growing {
					prints := printsOf(r, truth.Process, row)
					if diff := cmp.Diff(row.Counts, sums(got, truth.Process, prints)); diff != "" {
						t.Errorf("%s %q (-found.json +Parquet):\n%s", row.Kind, row.Contains, diff)
					}
				}
			}
		})
	}
}

func TestParquetTellsZeroFromNotCaptured(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	goroutine := func(id int, function string) string {
		return fmt.Sprintf("goroutine %d [select]:\nmain.%s()\n\t/src/a.go:3 +0x1\n\n", id, function)
	}
	write("t0/shopd/goroutines.txt", goroutine(1, "stays")+goroutine(2, "leaves")+goroutine(3, "leaves"))
	write("t0/shopd/lsof.txt", "COMMAND   PID USER   FD   TYPE DEVICE SIZE/OFF    NODE NAME\nshopd    4711 root    3u  REG  254,1     4096    1000 /var/log/messages\n")
	write("t1/shopd/goroutines.txt", goroutine(1, "stays"))
	body := execute(t, nil, "report", "--format", "parquet", dir).stdout
	rows, err := parquet.Read[parquetRow](strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range rows {
		count := "null"
		if row.Count != nil {
			count = fmt.Sprint(*row.Count)
		}
		got[row.Process+" "+row.Title+" "+row.Label] = count
	}
	want := map[string]string{
		"shopd main.stays t0": "1", "shopd main.stays t1": "1", "shopd main.leaves t0": "2", "shopd main.leaves t1": "0",
		"shopd /var/log/messages t0": "1", "shopd /var/log/messages t1": "null",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// rowsOfJSON is a row for each family and snapshot of a report, in its order.
func rowsOfJSON(r report.Report) []parquetRow {
	var out []parquetRow
	for _, series := range r.Series {
		for _, f := range series.Families {
			for i, id := range series.Snapshots {
				s := r.Snapshots[slices.IndexFunc(r.Snapshots, func(s report.Snapshot) bool { return s.ID == id })]
				row := parquetRow{
					Host: s.Host, Process: s.Process, Epoch: int32(s.Epoch), Snapshot: id, Label: s.Label, Kind: string(f.Kind), Fingerprint: f.Fingerprint,
					Title: f.Title, Truncated: s.Truncated, Verdict: string(f.Verdict), Version: r.Engine.Version,
				}
				if s.PID != nil {
					row.PID = new(int64(*s.PID))
				}
				if s.CapturedAt != nil {
					row.CapturedAt = new(s.CapturedAt.Truncate(time.Microsecond))
				}
				if f.CreatedBy != "" {
					row.CreatedBy = &f.CreatedBy
				}
				if f.Counts[i].Known() {
					row.Count = new(int64(f.Counts[i].N))
				}
				out = append(out, row)
			}
		}
	}
	return out
}

// printsOf returns the fingerprints of the families that a row of the truth is about.
func printsOf(r report.Report, process string, row samples.Row) []string {
	var out []string
	for _, series := range r.Series {
		for _, f := range series.Families {
			if series.Process == process && rowOf(f, row) {
				out = append(out, f.Fingerprint)
			}
		}
	}
	return out
}

// sums adds up the counts of families, snapshot by snapshot.
func sums(rows []parquetRow, process string, prints []string) []int {
	var out []int
	var at []string
	for _, row := range rows {
		if row.Process != process || !slices.Contains(prints, row.Fingerprint) || row.Count == nil {
			continue
		}
		i := slices.Index(at, row.Snapshot)
		if i < 0 {
			i, at, out = len(at), append(at, row.Snapshot), append(out, 0)
		}
		out[i] += int(*row.Count)
	}
	return out
}
