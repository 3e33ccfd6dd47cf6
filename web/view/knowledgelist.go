package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

// mostOpened bounds the entries that a page has whole. Of more it has the titles.
const mostOpened = 60

// Page is the page of the catalogue: a line for each entry, and whole entries where the reader
// searches.
func (k Knowledge) Page() Page {
	v := Page{Shell: k.Shell}
	v.Body.Title(k.title())
	v.Body.Add(k.search())
	if len(k.Problems) > 0 {
		v.Body.Add(document.NewSection("h-kp", "Own files that were not understood", "", problemBlock("", k.Problems)))
	}
	if n := len(k.Classes) + k.published() + len(k.Leads) + len(k.Normal) + len(k.Corrections) + len(k.Thresholds); k.Query != "" && n <= mostOpened {
		v.Body.Add(k.entries(n == 1)...)
	} else {
		v.Body.Add(k.titles())
	}
	v.Body.Add(k.note())
	return v
}

func (k *Knowledge) search() document.Form {
	form := document.Form{Look: "tools", Role: "search", Label: "Catalogue", Action: "/knowledge", Blocks: document.Blocks{
		document.Label{Look: "vh", For: "kq", Blocks: document.Blocks{document.Words("Words of the catalogue")}},
		document.Field{Look: "field grow", ID: "kq", Name: "q", Type: "search", Value: k.Query, Placeholder: "Library, function, release or issue: spdystream, 1.6.36"},
		document.Press{Look: "btn primary", Type: "submit", Text: "Search"},
	}}
	if k.Query != "" {
		form.Add(document.Text{document.LinkButton("btn", "/knowledge", "Show all")})
	}
	return form
}

// note says how the catalogue is used, where own entries come from, and what readers told the
// server.
func (k *Knowledge) note() document.Paragraph {
	note := document.Words("Catalogue " + k.Version + ". A signature alone accuses nobody: state and growth, or a count above what is expected, must say so too. A proof by identities beats the catalogue.")
	if k.OwnDir != "" {
		note = append(note, document.Plain(" Own entries: put a file of the same schema, named *.json, into "), document.Marked("fn", k.OwnDir),
			document.Plain(". It is read at the next request; an entry with the id of another replaces it."))
	}
	if len(k.Ours) > 0 {
		note = append(note, document.Plain(" Programs of which people said that they are their own: "+wording.Ands(k.Ours)+"."))
	}
	if len(k.Loads) > 0 {
		note = append(note, document.Plain(" Metrics of which people said that they are load: "+wording.Ands(k.Loads)+"."))
	}
	return document.Paragraph{Look: "note apart", Text: note}
}

// entriesOf is a section with the number of its entries, or nothing without any.
func entriesOf(id document.ID, title string, n int, blocks ...document.Block) document.Blocks {
	if n == 0 {
		return nil
	}
	return document.Blocks{document.NewSection(id, title, wording.Exact(int64(n)), blocks...)}
}

// titles has a line for each entry. All but the classes open.
func (k *Knowledge) titles() document.Group {
	classes, normal := document.List{Look: "titles"}, document.List{Look: "titles"}
	for i := range k.Classes {
		a := &k.Classes[i]
		classes.Items = append(classes.Items, titleLine("c-"+a.Key, a.URL, a.Cause, a.LooksLike))
	}
	of := map[string]int{}
	for i := range k.Normal {
		n := &k.Normal[i]
		of[n.Library]++
		normal.Items = append(normal.Items, titleLine("n-"+n.ID, n.URL, n.title(), n.Expected))
	}
	libraries := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	var groups document.Blocks
	for _, g := range k.Groups {
		fold := k.fold(g.Name, leakLines(g.Known))
		fold.Summary = append(fold.Summary, document.Plain(" "), document.Marked(document.Muted, wording.Exact(int64(len(g.Known)))))
		groups.Add(fold)
	}
	left := slices.Concat(entriesOf("h-kc", "Classes", len(k.Classes), classes),
		entriesOf("h-kn", "Normal stacks", len(k.Normal), k.fold("Of "+wording.List(libraries, 5), normal)),
		entriesOf("h-kl", "Leads", len(k.Leads), k.fold("Reports that no capture can show", leakLines(k.Leads))), k.asides())
	return document.Group{Look: "halves", Blocks: document.Blocks{document.Group{Blocks: left}, document.Group{Blocks: entriesOf("h-kk", "Known leaks", k.published(), groups...)}}}
}

func leakLines(list []KnownLeak) document.List {
	out := document.List{Look: "titles"}
	for i := range list {
		x := &list[i]
		out.Items = append(out.Items, titleLine("k-"+x.ID, x.URL, x.Title, x.ID+x.noLeak()))
	}
	return out
}

// titleLine is an entry in a line: its title leads to it, the rest is cut where the line ends.
func titleLine(id, url, title, rest string) document.Item {
	return document.Item{ID: document.ID(id), Blocks: document.Blocks{document.Text{document.LinkTo(url, title), document.Plain(" "), document.Marked(document.Muted, rest)}}}
}

// fold is open for a reader who searched.
func (k *Knowledge) fold(summary string, blocks ...document.Block) document.Fold {
	return document.Fold{Look: "fold", Open: k.Query != "", Summary: document.Words(summary), Blocks: blocks}
}

// asides are no entries of their own: what people say, and rules of thumb.
func (k *Knowledge) asides() document.Blocks {
	often := document.Terms{Look: "said"}
	for _, c := range k.Corrections {
		often.Rows = append(often.Rows, oftenSaid(c))
	}
	return slices.Concat(entriesOf("h-kx", "Often said, and measured", len(k.Corrections), k.fold("Advice that goes round, and what measurements say of it", often)),
		entriesOf("h-kt", "Rules of thumb", len(k.Thresholds), k.fold("Thresholds in circulation", document.Paragraph{Look: "note", Text: document.Words(k.ThresholdNote)}, said(k.Thresholds))))
}

// entries are whole. The one that was asked for by its id is open, as is a single one.
func (k *Knowledge) entries(single bool) document.Blocks {
	var classes, known, normal document.Blocks
	for i := range k.Classes {
		a := &k.Classes[i]
		fold := k.entry("c-", a.Key, single, document.Marked(document.Strong, a.Cause))
		fold.Paragraph(a.LooksLike)
		fold.Add(labelled(report.CheckFirst, a.FirstCheck), a.terms(""))
		classes.Add(fold)
	}
	for _, g := range append(slices.Clip(k.Groups), KnownGroup{Known: k.Leads}) {
		for i := range g.Known {
			x := &g.Known[i]
			fold := k.entry("k-", x.ID, single, document.Marked(document.Strong, x.ID), document.Plain(" "+x.Title+" "), document.Marked(document.Muted, x.Status))
			fold.Add(x.body()...)
			known.Add(fold)
		}
	}
	for i := range k.Normal {
		n := &k.Normal[i]
		fold := k.entry("n-", n.ID, single, document.Marked(document.Strong, n.title()), document.Plain(" "), document.Marked(document.Muted, n.Expected))
		fold.Add(n.body()...)
		normal.Add(fold)
	}
	return slices.Concat(entriesOf("h-kc", "Classes", len(classes), classes...), entriesOf("h-kk", "Known leaks", len(known), known...), entriesOf("h-kn", "Normal stacks", len(normal), normal...), k.asides())
}

func (k *Knowledge) entry(kind, id string, single bool, summary ...document.Span) document.Fold {
	return document.Fold{Look: "fold", ID: document.ID(kind + id), Open: single || strings.EqualFold(id, k.Query), Summary: summary}
}

// noLeak is the status of an entry that is not a plain leak.
func (k *KnownLeak) noLeak() string {
	if k.Status == "leak" {
		return ""
	}
	return ", " + k.Status
}

// body is an entry without its title.
func (k *KnownLeak) body() document.Blocks {
	out := document.Blocks{document.Paragraph{Look: document.Soft, Text: document.Words(k.Text)}}
	out.Add(k.terms())
	if k.Edit != "" {
		out.Add(document.Paragraph{Look: "noprint", Text: document.Text{document.LinkTo(k.Edit, "Change or forget this entry")}})
	}
	for _, s := range k.Signature {
		out.Add(document.Paragraph{Text: document.Text{document.Marked(document.Mono, s)}})
	}
	if k.Excerpt != "" {
		out.Add(document.Code{Label: "What " + k.ID + " rests on", Lines: []string{k.Excerpt}})
	}
	return out
}

// title names a normal stack: "kubelet: (*podWorkers).podWorkerLoop".
func (n *NormalStack) title() string {
	if len(n.Frames) == 0 {
		return n.Library
	}
	return n.Library + ": " + n.Frames[0]
}

func (n *NormalStack) body() document.Blocks {
	var out document.Blocks
	for _, f := range n.Frames {
		out.Add(document.Paragraph{Text: document.Text{document.Marked(document.Mono, f)}})
	}
	out.Paragraph(n.Note)
	if n.Origin != "" {
		out.Say(document.Muted, "from "+n.Origin)
	}
	return out
}
