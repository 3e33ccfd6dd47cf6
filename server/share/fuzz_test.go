package share

import (
	"encoding/json"
	"testing"

	"leakdiff/server/response"
)

// A frozen record stays readable for ever, also one that a damaged disk wrote.
func FuzzRecord(f *testing.F) {
	for _, kind := range []string{"case", "flame", "diff", "compare", "family", "objects", "snapshot", "x"} {
		f.Add([]byte(`{"kind": "` + kind + `", "model": {"Shell": {}}, "data": {"series": [{}], "families": [{}], "members": [{}]}, "headline": "h"}`))
	}
	f.Add([]byte(`{"kind": "case", "model": null, "data": []}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var record Record
		if err := json.Unmarshal(text, &record); err != nil {
			return
		}
		made, err := record.Unpack()
		if err != nil {
			return
		}
		if made.Page == nil || made.Alone == nil || made.CSV == nil {
			t.Fatalf("%q is opened without a page", record.Kind)
		}
		again, err := pack(record.Kind, made.Page, record.Data, record.Headline)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Unpack(); err != nil || document(t, second) != document(t, made) {
			t.Errorf("%q reads otherwise when it is stored again: %v", record.Kind, err)
		}
	})
}

func document(t *testing.T, e response.Export) string {
	t.Helper()
	text, err := json.Marshal(e.Page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
