package page

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/wording"
	"leakdiff/web"
	"leakdiff/web/block"
	"leakdiff/web/chart"
	"leakdiff/web/view"
)

// Rows of families come by the hundred, so that they are put together here in one
// piece: a template takes five times as long, most of it for turning each string
// into a string.

// markup appends HTML.
type markup []byte

// raw is HTML that this package wrote itself.
func (b markup) raw(parts ...string) markup {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// text is anything else.
func (b markup) text(s string) markup { return chart.AppendText(b, s) }

// pieced is a component that writes once.
func pieced(size int, write func(context.Context, markup) markup) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(write(ctx, make(markup, 0, size)))
		return err
	})
}

// familyTitle is a family's name in a table, linked when live. It is never cut: what
// tells names apart stands at their ends.
func familyTitle(n view.FamilyName) templ.Component {
	return pieced(512, func(ctx context.Context, b markup) markup { return b.familyTitle(ctx, &n) })
}

func (b markup) familyTitle(ctx context.Context, n *view.FamilyName) markup {
	b = b.raw(`<div class="ft">`)
	if n.URL != "" {
		b = b.raw(`<a class="quiet" href="`).text(string(web.Link(ctx, n.URL))).raw(`">`).familyWord(n).raw(`</a>`)
	} else {
		b = b.familyWord(n)
	}
	if n.Aside != "" {
		b = b.raw(` <span class="via">`).text(n.Aside).raw(`</span>`)
	}
	return b.raw(`</div>`)
}

// familyWord is the name alone.
func (b markup) familyWord(n *view.FamilyName) markup {
	if n.Function {
		return b.raw(`<span class="fn" title="`).text(n.Title.Full).raw(`"><span class="p">`).text(n.Title.Path).raw(`</span><wbr><span class="n">`).text(n.Title.Name).raw(`</span></span>`)
	}
	return b.raw(`<b class="res" title="`).text(n.Title.Full).raw(`">`).pathAndName(&n.Title).raw(`</b>`)
}

func (b markup) pathAndName(f *view.Func) markup {
	if f.Path != "" {
		b = b.raw(`<span class="p">`).breaking(f.Path).raw(`</span>`)
	}
	return b.raw(`<span class="n">`).breaking(f.Name).raw(`</span>`)
}

// familyBy is the second line: package and creator, or attributes.
func familyBy(n view.FamilyName) templ.Component {
	return pieced(512, func(_ context.Context, b markup) markup { return b.familyBy(&n) })
}

func (b markup) familyBy(n *view.FamilyName) markup {
	b = b.raw(`<div class="by">`)
	if n.Package != "" {
		b = b.raw(`<span class="fn">`).breaking(n.Package).raw(`</span> `)
	}
	if n.Creator != nil {
		if n.Package != "" {
			b = b.raw(`<span class="sep">·</span> `)
		}
		b = b.raw(`<span class="cb">created by <span class="fn" title="`).text(n.Creator.Full).raw(`">`).text(n.Creator.Path).text(n.Creator.Name).raw(`</span></span>`)
	}
	for i, a := range n.Attributes {
		if i > 0 {
			b = b.raw(`<span class="sep">·</span> `)
		}
		b = b.text(a.Name).raw(` <span class="soft">`).breaking(a.Value).raw(`</span> `)
	}
	if !n.Function && len(n.Attributes) == 0 {
		b = b.text(n.Kind)
	}
	return b.raw(`</div>`)
}

// diffRows are families in A and B, each with what it shows when it is opened.
func diffRows(v view.Diff, rows []view.DiffRow) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		b := make(markup, 0, 4096)
		for i := range rows {
			r := &rows[i]
			b = b[:0].diffRow(ctx, r)
			if _, err := w.Write(b); err != nil {
				return err
			}
			if r.Detail == nil {
				continue
			}
			if err := diffOpen(v, *r).Render(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
}

// diffRow is one family in A and B, closed.
func (b markup) diffRow(ctx context.Context, r *view.DiffRow) markup {
	b = b.raw(`<tr id="`).text(r.Anchor)
	if r.Open {
		b = b.raw(`" class="isopen`)
	}
	b = b.raw(`"><td class="fam">`)
	if r.Toggle != "" {
		word, glyph, expanded := "Open ", "▸", "false"
		if r.Open {
			word, glyph, expanded = "Close ", "▾", "true"
		}
		b = b.raw(`<a class="tw" id="`).text(r.Anchor).raw(`-o" href="`).text(string(web.Link(ctx, r.Toggle))).raw(`" aria-expanded="`, expanded, `" aria-label="`, word).text(r.Name.Text()).raw(`">`, glyph, `</a>`)
	}
	if r.Unit != "" {
		b = b.raw(`<span class="chip">`).text(r.Unit).raw(`</span>`)
	}
	b = b.familyTitle(ctx, &r.Name).familyBy(&r.Name).raw(`</td><td class="sp">`)
	b = r.Spark.Append(b)
	b = b.raw(`</td>`).cell("A", "num").figure(r.A, r.SignA).raw(`</td>`).cell("B", "num").figure(r.B, r.SignB).raw(`</td>`).cell("Δ", "num")
	if r.Unknown {
		b = b.figure("n/a", 0)
	} else {
		b = b.delta(r.Delta)
	}
	b = b.raw(`</td>`).cell("%", "num soft").figure(r.Percent, 0).raw(`</td>`).cell("New", "num").figure(r.New, 0).raw(`</td>`)
	b = b.cell("Gone", "num").figure(r.Gone, 0).raw(`</td>`).cell("Survived", "num").figure(r.Survived, 0).raw(`</td>`)
	b = b.cell("Oldest wait", "num soft").figure(r.Wait, 0).raw(`</td><td class="ver">`)
	switch {
	case r.Fate != "":
		b = b.raw(`<span class="v later"><i aria-hidden="true">×</i>`).text(r.Fate).raw(`</span>`)
	case r.Verdict != "":
		b = b.verdict(r.Verdict)
	default:
		b = b.raw(`<span class="muted">not judged</span>`)
	}
	return b.mark(r.Triage).raw(`</td></tr>`)
}

func (b markup) cell(label, class string) markup {
	return b.raw(`<td class="`, class, `" data-l="`, label, `">`)
}

// figure prints a figure; a change is drawn with its sign.
func (b markup) figure(text string, sign int) markup {
	switch {
	case sign > 0:
		return b.raw(`<span class="d up"><i aria-hidden="true">▲</i>`).text(text).raw(`</span>`)
	case sign < 0:
		return b.raw(`<span class="d down"><i aria-hidden="true">▼</i>`).text(text).raw(`</span>`)
	case text == "n/a":
		return b.raw(`<span class="muted">n/a</span>`)
	}
	return b.text(text)
}

func (b markup) delta(n int) markup {
	switch {
	case n > 0:
		return b.figure(wording.Signed(n), 1)
	case n < 0:
		return b.figure(wording.Signed(n), -1)
	}
	return b.raw(`<span class="d eq"><i aria-hidden="true">=</i>0</span>`)
}

func (b markup) verdict(verdict string) markup {
	l := block.Look(verdict)
	return b.raw(`<span class="v `, l.Class, `"><i aria-hidden="true">`, l.Glyph, `</i>`).text(l.Word).raw(`</span>`)
}

var marks = map[string][2]string{"reviewed": {"✓", "reviewed"}, "benign": {"○", "benign"}, "suspicious": {"△", "marked suspicious"}}

// mark is what somebody decided about a family.
func (b markup) mark(state string) markup {
	m, ok := marks[state]
	if !ok {
		return b
	}
	return b.raw(` <span class="chip"><i aria-hidden="true">`, m[0], `</i> `, m[1], `</span>`)
}

// signed prints one figure.
func signed(text string, sign int) templ.Component {
	return pieced(64, func(_ context.Context, b markup) markup { return b.figure(text, sign) })
}

// breaking is text with the places to break.
func (b markup) breaking(s string) markup {
	from := 0
	for i := range len(s) {
		if s[i] == '/' || s[i] == '|' {
			b = append(chart.AppendText(b, s[from:i+1]), "<wbr>"...)
			from = i + 1
		}
	}
	return chart.AppendText(b, s[from:])
}

// pathAndName prints both parts of a name, of which the page may cut the path.
func pathAndName(f view.Func) templ.Component {
	return pieced(256, func(_ context.Context, b markup) markup { return b.pathAndName(&f) })
}
