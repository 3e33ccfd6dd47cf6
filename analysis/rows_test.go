package analysis_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

func drawRows(t *rapid.T) (*analysis.Rows, []analysis.Member) {
	rows := &analysis.Rows{Artifact: rapid.Int32Range(0, 9).Draw(t, "artifact"), Hashed: rapid.Bool().Draw(t, "hashed")}
	var want []analysis.Member
	var detail []byte
	for range rapid.IntRange(0, 30).Draw(t, "n") {
		m := analysis.Member{Wait: -1, Variant: -1, Identity: analysis.Identity{ID: rapid.Int64().Draw(t, "id"), Sub: rapid.Int64().Draw(t, "sub")}}
		if rows.Hashed {
			m.Identity.Hash = rapid.Uint64().Draw(t, "hash")
		}
		m.Place = analysis.Place{Artifact: int(rows.Artifact), Line: rapid.Int64().Draw(t, "line"), Offset: rapid.Int64().Draw(t, "offset"), Length: rapid.Int64Range(0, 1<<31-1).Draw(t, "length")}
		m.Detail = rapid.OneOf(rapid.String(), rapid.StringMatching(`[ab]{0,9}u TCP (10\.){0,4}->[ab]{0,4} \(LISTEN\)`)).Draw(t, "detail")
		if rapid.Bool().Draw(t, "numbered") {
			m.Detail = strconv.FormatInt(m.Identity.ID, 10) + m.Detail
		}
		detail = append(detail[:0], m.Detail...)
		rows.Append(m.Identity, m.Place, detail)
		want = append(want, m)
	}
	if rapid.Bool().Draw(t, "sealed") {
		rows.Seal()
	}
	return rows, want
}

func TestAnyRowsComeBackAsTheyWereAppended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, want := drawRows(t)
		if diff := cmp.Diff(want, slices.Collect(rows.All())); diff != "" {
			t.Fatalf("(-appended +got):\n%s", diff)
		}
	})
}

func TestColumnsOfRowsAreTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, want := drawRows(t)
		m := analysis.Members{Rows: rows}
		identities, ids := slices.Collect(m.Identities()), slices.Collect(m.IDs())
		if m.Len() != len(want) || m.Identified() != (len(want) > 0) || m.Numbered() != (len(want) == 0) {
			t.Fatalf("%d members, identified %t, numbered %t", m.Len(), m.Identified(), m.Numbered())
		}
		m.Unpack()
		if diff := cmp.Diff(want, slices.Collect(m.All())); diff != "" {
			t.Fatalf("(-appended +columns):\n%s", diff)
		}
		if diff := cmp.Diff([]any{slices.Collect(m.Identities()), slices.Collect(m.IDs())}, []any{identities, ids}); diff != "" {
			t.Fatalf("(-columns +rows):\n%s", diff)
		}
		if m.Rows != nil || len(want) > 0 && m.Numbered() {
			t.Fatalf("rows are left: %+v", m)
		}
	})
}

func TestSocketsOfAListingTakeFewBytesEach(t *testing.T) {
	const n = 1000
	rows := &analysis.Rows{}
	for i := range n {
		port := strconv.Itoa(32768 + 7*i%20_000)
		rows.Append(analysis.Identity{ID: int64(5 + i), Sub: int64(339_770 + 2*i)}, analysis.Place{Line: int64(i), Offset: int64(i) * 101, Length: 100},
			[]byte(strconv.Itoa(5+i)+"u TCP 127.0.0.1:"+port+"->127.0.0.1:38847 (ESTABLISHED)"))
	}
	if got := rows.Size(); got > 16*n {
		t.Errorf("%d rows take %d bytes", n, got)
	}
}
