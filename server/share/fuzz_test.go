package share

import (
	"bytes"
	"encoding/json"
	"testing"

	"leakdiff/server/casepage"
)

// A frozen record stays readable for ever, also one that a damaged disk wrote.
func FuzzRecord(f *testing.F) {
	for _, kind := range []string{"case", "flame", "diff", "compare", "family", "objects", "member", "snapshot", "x"} {
		f.Add([]byte(`{"kind": "` + kind + `", "page": [["Heading", {"Level": 1, "Text": [{"Text": "h"}]}], ["Drawing", {"Chart": ["SparkData", {"ID": "s"}]}]], "data": {"series": [{}], "families": [{}], "members": [{}]}, "headline": "h"}`))
	}
	f.Add([]byte(`{"kind": "case", "page": null, "data": []}`))
	f.Add([]byte(`{"kind": "case", "page": [["Drawing", {"Chart": ["Heading", {}]}]], "data": {}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Record
		if err := json.Unmarshal(text, &r); err != nil {
			return
		}
		e, data, err := r.unpack()
		if err != nil {
			return
		}
		e.Page.Body.Markdown()
		again, err := record(casepage.View{Kind: r.Kind, Page: e.Page, Data: data, Headline: r.Headline})
		if err != nil {
			t.Fatal(err)
		}
		second, data, err := again.unpack()
		if err != nil {
			t.Fatal(err)
		}
		third, err := record(casepage.View{Kind: r.Kind, Page: second.Page, Data: data, Headline: r.Headline})
		if err != nil || !bytes.Equal(third.Page, again.Page) {
			t.Errorf("%q reads otherwise when it is stored again: %v", r.Kind, err)
		}
	})
}
