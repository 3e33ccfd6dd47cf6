package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"leakdiff/analysis"
)

// parquetOf writes a report and returns the file and its rows.
func parquetOf(t testing.TB, r Report) ([]byte, []parquetRow) {
	t.Helper()
	var b bytes.Buffer
	if err := Parquet(&b, r); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[parquetRow](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), rows
}

// mixedReport has two series: one with a host, a cut dump and a snapshot without
// descriptors, and one of which nothing but a name is known.
func mixedReport() Report {
	at := time.Date(2026, 7, 1, 10, 0, 0, 123_456_789, time.FixedZone("", 7200))
	return Report{
		Engine: Engine{Version: "test"},
		Snapshots: []Snapshot{
			{ID: "s0", Label: "t0", PID: new(12), CapturedAt: &at},
			{ID: "s1", Label: "t1", PID: new(13), Epoch: 1, Truncated: true, LowerBound: true},
			{ID: "s2", Label: "#1"},
		},
		Series: []Series{
			{Process: "shopd", Host: new("node-7"), Snapshots: []string{"s0", "s1"}, Families: []Family{
				{Fingerprint: "g1:b", Kind: analysis.KindGoroutine, Title: "main.wait", CreatedBy: "main.serve", Verdict: analysis.Leaking, Counts: analysis.Counts{analysis.Counted(0), analysis.Counted(7)}},
				{Fingerprint: "d1:a", Kind: analysis.KindDescriptor, Title: "pipe", Attributes: map[string]string{"type": "pipe", "path": "/a&b", "role": ""}, Verdict: analysis.Stable, Counts: analysis.Counts{analysis.Counted(3), analysis.Count{}}},
			}},
			{Process: "other", Snapshots: []string{"s2"}, Families: []Family{
				{Fingerprint: "g1:b", Kind: analysis.KindGoroutine, Title: "main.\xffwait", Verdict: analysis.TooFewPoints, Counts: analysis.Counts{analysis.Counted(1)}},
			}},
		},
	}
}

func TestParquetHasARowForEachFamilyAndSnapshot(t *testing.T) {
	_, got := parquetOf(t, mixedReport())
	when := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC).UnixMicro() + 123_456
	first := parquetRow{Host: "node-7", Process: "shopd", PID: new(int64(12)), Snapshot: "s0", Label: "t0", CapturedAt: &when, Version: "test"}
	second := parquetRow{Host: "node-7", Process: "shopd", PID: new(int64(13)), Epoch: 1, Position: 1, Snapshot: "s1", Label: "t1", Truncated: true, Version: "test"}
	goroutine := func(r parquetRow, count int64, lowerBound bool) parquetRow {
		r.Kind, r.Fingerprint, r.Title, r.CreatedBy, r.Verdict = "goroutine", "g1:b", "main.wait", "main.serve", "leaking"
		r.Count, r.LowerBound = &count, lowerBound
		return r
	}
	descriptor := func(r parquetRow, count *int64) parquetRow {
		r.Kind, r.Fingerprint, r.Title, r.Verdict, r.Count = "descriptor", "d1:a", "pipe", "stable", count
		r.Attributes = `{"path":"/a&b","type":"pipe"}`
		return r
	}
	want := []parquetRow{
		goroutine(first, 0, false), goroutine(second, 7, true),
		descriptor(first, new(int64(3))), descriptor(second, nil),
		{Process: "other", Series: 1, Snapshot: "s2", Label: "#1", Kind: "goroutine", Fingerprint: "g1:b", Title: "main.\uFFFDwait", Verdict: "too_few_points", Count: new(int64(1)), Version: "test"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsUnknownIsNullInParquet(t *testing.T) {
	body, _ := parquetOf(t, mixedReport())
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]parquet.Row, 10)
	n, _ := parquet.NewReader(f).ReadRows(rows)
	nulls := map[string][]int{}
	for i, row := range rows[:n] {
		for _, v := range row {
			if v.IsNull() {
				name := f.Schema().Columns()[v.Column()][0]
				nulls[name] = append(nulls[name], i)
			}
		}
	}
	// Rows 0 and 1 are goroutines, 2 and 3 descriptors, 4 is of a process without any fact.
	want := map[string][]int{"host": {4}, "pid": {4}, "captured_at": {1, 3, 4}, "created_by": {2, 3, 4}, "attributes": {0, 1, 4}, "count": {3}}
	if diff := cmp.Diff(want, nulls); diff != "" {
		t.Errorf("rows with null (-want +got):\n%s", diff)
	}
	column, _ := f.Schema().Lookup("captured_at")
	if got := column.Node.Type().LogicalType().String(); got != "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)" {
		t.Errorf("captured_at is a %s", got)
	}
}

func TestEqualReportsAreEqualParquet(t *testing.T) {
	first, _ := parquetOf(t, mixedReport())
	second, _ := parquetOf(t, mixedReport())
	if !bytes.Equal(first, second) {
		t.Error("two runs differ")
	}
}

func TestAReportWithoutFamiliesIsParquetWithoutRows(t *testing.T) {
	for name, r := range map[string]Report{"nothing": {}, "no family": {Series: []Series{{Snapshots: []string{"s0"}}}}} {
		if _, rows := parquetOf(t, r); len(rows) != 0 {
			t.Errorf("%s: %d rows", name, len(rows))
		}
	}
}

// manyRows is a report of one series with families × snapshots rows.
func manyRows(families, snapshots int) Report {
	s := Series{Process: "p"}
	var r Report
	for i := range snapshots {
		id := fmt.Sprintf("s%025d", i)
		s.Snapshots = append(s.Snapshots, id)
		r.Snapshots = append(r.Snapshots, Snapshot{ID: id, Label: fmt.Sprintf("t%d", i)})
	}
	for i := range families {
		f := Family{Fingerprint: fmt.Sprintf("g1:%032d", i), Kind: analysis.KindGoroutine, Title: "main.run" + strings.Repeat("x", i%7), Verdict: analysis.Stable}
		for k := range snapshots {
			f.Counts = append(f.Counts, analysis.Counted(i*k%1000))
		}
		s.Families = append(s.Families, f)
	}
	r.Series = []Series{s}
	return r
}

func TestRowGroupsOfParquetAreBounded(t *testing.T) {
	body, rows := parquetOf(t, manyRows(50, 3000))
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, g := range f.RowGroups() {
		got = append(got, g.NumRows())
	}
	if diff := cmp.Diff([]int64{65536, 65536, 18928}, got); diff != "" {
		t.Errorf("rows of the groups (-want +got):\n%s", diff)
	}
	for i, row := range rows {
		family, at := i/3000, i%3000
		if row.Position != int32(at) || row.Fingerprint != fmt.Sprintf("g1:%032d", family) || *row.Count != int64(family*at%1000) {
			t.Fatalf("row %d is %+v", i, row)
		}
	}
}

func BenchmarkParquet(b *testing.B) {
	r := manyRows(200, 1000)
	var size bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		size.Reset()
		if err := Parquet(&size, r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size.Len())/200_000, "B/row")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200_000, "ns/row")
}
