package view

import "leakdiff/analysis/say/document"

// Elsewhere is the page that finds a snapshot of another case to compare with.
type Elsewhere struct {
	Shell          Shell
	Headline, Lead string
	CaseID         string
	// Find is the text that was looked for; Hidden are the other parts of the address.
	Find   string
	Hidden []Pair
	// Series and Back go with a baseline that is chosen here.
	Series, Back string
	// NeedsKey says that choosing asks for the owner key.
	NeedsKey    bool
	Cases       []ElsewhereCase
	Empty, More string
}

// ElsewhereCase is another case with its snapshots.
type ElsewhereCase struct {
	Title, About string
	Snapshots    []ElsewhereSnapshot
	More         string
}

// ElsewhereSnapshot is one snapshot: URL compares with it, Value names it as a
// baseline.
type ElsewhereSnapshot struct {
	Text, URL, Value string
}

// Page is the page.
func (e Elsewhere) Page() Page {
	out := Page{Shell: e.Shell}
	d := &out.Body
	d.Title(e.Headline)
	d.Say("lead", e.Lead)
	find := document.Form{Look: "compare", Role: "search", Label: "Find a case"}
	for _, h := range e.Hidden {
		find.Add(document.Hide(h.Name, h.Value))
	}
	find.Add(label("find", "Case, process or snapshot"),
		document.Field{Look: "field", ID: "find", Name: "find", Type: "search", Value: e.Find, Autocomplete: "off", Key: "/", KeyLabel: "go to the search"},
		document.Press{Look: "btn", Type: "submit", Text: "Find"})
	d.Add(find)
	d.Say("empty", e.Empty)
	choose := document.Form{Action: "/cases/" + e.CaseID + "/baseline", Post: true}
	choose.Add(document.Hide("series", e.Series), document.Hide("back", e.Back))
	choose.Add(keyBlocks(e.NeedsKey, "baseline")...)
	list := document.List{Look: "elsewhere"}
	for i := range e.Cases {
		list.Items = append(list.Items, e.Cases[i].item())
	}
	choose.Add(list)
	d.Add(choose)
	d.Say("note", e.More)
	return out
}

func (c *ElsewhereCase) item() document.Item {
	var found document.List
	for _, s := range c.Snapshots {
		found.Items = append(found.Items, document.Item{Blocks: document.Blocks{
			document.Text{document.LinkTo(s.URL, s.Text), document.Plain(" ")},
			document.Press{Look: "link", Name: "snapshot", Value: s.Value, Label: "as baseline: " + s.Text, Text: "as baseline"},
		}})
	}
	out := document.Item{}
	out.Add(document.Text{document.Marked(document.Strong, c.Title), document.Plain(" "), document.Marked(document.Muted, c.About)}, found)
	out.Say("note", c.More)
	return out
}
