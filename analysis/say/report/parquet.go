package report

import (
	"io"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
)

// parquetRow is one family in one snapshot of its series. Columns are a public contract:
// additions only. Empty text of optional columns is null.
type parquetRow struct {
	Host    string `parquet:"host,optional,dict"`
	Process string `parquet:"process,dict"`
	PID     *int64 `parquet:"pid,optional"`
	// Series is the index of the series in the report, Position that of the snapshot in its
	// series. Snapshots without a time have an order too.
	Series   int32  `parquet:"series"`
	Epoch    int32  `parquet:"epoch"`
	Position int32  `parquet:"position"`
	Snapshot string `parquet:"snapshot,dict"`
	Label    string `parquet:"label,dict"`
	// CapturedAt is in microseconds since 1970, UTC.
	CapturedAt  *int64 `parquet:"captured_at,optional,timestamp(microsecond)"`
	Kind        string `parquet:"kind,dict"`
	Fingerprint string `parquet:"fingerprint,dict"`
	Title       string `parquet:"title,dict"`
	CreatedBy   string `parquet:"created_by,optional,dict"`
	// Attributes is a JSON object with text values, keys in order.
	Attributes string `parquet:"attributes,optional,dict"`
	// Count is null where the snapshot has no evidence of the kind.
	Count *int64 `parquet:"count,optional"`
	// LowerBound reports that there may be more members than Count, Truncated that a dump of
	// the snapshot is cut.
	LowerBound bool `parquet:"lower_bound"`
	Truncated  bool `parquet:"truncated"`
	// Verdict is of the family over the whole series.
	Verdict string `parquet:"verdict,dict"`
	Version string `parquet:"leakdiff_version,dict"`
}

// rowsPerGroup bounds the rows that wait in memory, packed, for the end of their row group,
// rowsPerWrite those that are not packed yet.
const (
	rowsPerGroup = 1 << 16
	rowsPerWrite = 1 << 10
)

// Parquet writes one row for each family and snapshot of its series as an Apache Parquet
// file, in the order of the report: by series, family and snapshot. Equal reports are equal
// bytes.
func Parquet(w io.Writer, r Report) error {
	out := parquet.NewGenericWriter[parquetRow](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.CreatedBy("leakdiff", r.Engine.Version, ""))
	snapshots := map[string]*Snapshot{}
	for i := range r.Snapshots {
		snapshots[r.Snapshots[i].ID] = &r.Snapshots[i]
	}
	buffer := make([]parquetRow, 0, rowsPerWrite)
	for i := range r.Series {
		series := &r.Series[i]
		rows := snapshotRows(series, int32(i), snapshots, r.Engine.Version)
		for k := range series.Families {
			if err := writeFamily(out, buffer, rows, &series.Families[k]); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// snapshotRow is what the rows of one snapshot share.
type snapshotRow struct {
	parquetRow
	of *Snapshot
}

// snapshotRows returns a row without family for each snapshot of a series.
func snapshotRows(series *Series, index int32, snapshots map[string]*Snapshot, version string) []snapshotRow {
	out := make([]snapshotRow, len(series.Snapshots))
	for i, id := range series.Snapshots {
		row := parquetRow{Process: unicodeText(series.Process), Series: index, Position: int32(i), Snapshot: id, Version: version}
		if series.Host != nil {
			row.Host = unicodeText(*series.Host)
		}
		s := snapshots[id]
		if s == nil {
			out[i] = snapshotRow{parquetRow: row}
			continue
		}
		row.Epoch, row.Label, row.Truncated = int32(s.Epoch), unicodeText(s.Label), s.Truncated
		if s.PID != nil {
			row.PID = new(int64(*s.PID))
		}
		if s.CapturedAt != nil {
			row.CapturedAt = new(s.CapturedAt.UnixMicro())
		}
		out[i] = snapshotRow{parquetRow: row, of: s}
	}
	return out
}

// writeFamily writes the rows of one family through an empty buffer.
func writeFamily(out *parquet.GenericWriter[parquetRow], buffer []parquetRow, snapshots []snapshotRow, f *Family) error {
	attributes, err := attributesJSON(f.Attributes)
	if err != nil {
		return err
	}
	title, createdBy := unicodeText(f.Title), unicodeText(f.CreatedBy)
	for i, s := range snapshots {
		row := s.parquetRow
		row.Kind, row.Fingerprint, row.Title, row.CreatedBy = string(f.Kind), f.Fingerprint, title, createdBy
		row.Attributes, row.Verdict = attributes, string(f.Verdict)
		row.LowerBound = s.of != nil && s.of.Bounded(f.Kind)
		if i < len(f.Counts) && f.Counts[i].Known() {
			row.Count = new(int64(f.Counts[i].N))
		}
		buffer = append(buffer, row)
		if last := i == len(snapshots)-1; last || len(buffer) == cap(buffer) {
			if _, err := out.Write(buffer); err != nil {
				return err
			}
			buffer = buffer[:0]
		}
	}
	return nil
}

// attributesJSON writes the attributes that have a value, "" for none.
//
//	remote 10.0.0.1:443, state ""   becomes   {"remote":"10.0.0.1:443"}
func attributesJSON(attributes map[string]string) (string, error) {
	known := map[string]string{}
	for name, value := range attributes {
		if value != "" {
			known[name] = value
		}
	}
	if len(known) == 0 {
		return "", nil
	}
	text, err := jsonv2.Marshal(known, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	return string(text), err
}

// unicodeText is text that readers of Parquet accept: they refuse a file with other bytes.
func unicodeText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
