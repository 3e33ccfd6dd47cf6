package block

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

// table prints a table, each part of it in one piece.
func table(t document.Table) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		r := rows{ctx: ctx, w: w, b: make(markup, 0, 4096)}
		if t.Label != "" {
			r.b = r.b.raw(`<div`).attribute("class", strings.TrimSpace("scroll "+string(t.Region))).raw(` tabindex="0" role="region"`).attribute("aria-label", t.Label).raw(`>`)
		}
		r.b = r.b.raw(`<table`).attribute("id", string(t.ID)).attribute("class", string(t.Look)).raw(`>`)
		if t.Caption != "" {
			r.b = r.b.raw(`<caption`)
			if t.Unseen || t.Label != "" && !t.Shown {
				r.b = r.b.raw(` class="vh"`)
			}
			r.b = r.b.raw(`>`).text(t.Caption).raw(`</caption>`)
		}
		if len(t.Head) > 0 {
			r.head(&t)
		}
		for i := range t.Parts {
			r.part(&t.Parts[i])
		}
		r.b = r.b.raw(`</table>`)
		if t.Label != "" {
			r.b = r.b.raw(`</div>`)
		}
		r.flush()
		return r.err
	})
}

// rows writes a table. It keeps the first error.
type rows struct {
	ctx context.Context
	w   io.Writer
	b   markup
	err error
}

func (r *rows) flush() {
	if r.err == nil {
		_, r.err = r.w.Write(r.b)
	}
	r.b = r.b[:0]
}

func (r *rows) head(t *document.Table) {
	r.b = r.b.raw(`<thead><tr>`)
	for i := range t.Head {
		c := &t.Head[i]
		r.b = r.b.raw(`<th scope="col"`).attribute("class", string(c.Look)).attribute("title", c.Title).attribute("aria-sort", string(c.Sort)).attribute("colspan", number(c.Span)).raw(`>`)
		r.content(c)
		r.b = r.b.raw(`</th>`)
	}
	r.b = r.b.raw(`</tr></thead>`)
}

func (r *rows) part(p *document.Part) {
	r.b = r.b.raw(`<tbody`).attribute("class", string(p.Look)).raw(`>`)
	for i := range p.Rows {
		row := &p.Rows[i]
		r.b = r.b.raw(`<tr`).attribute("id", string(row.ID)).attribute("class", string(row.Look))
		for _, f := range row.Facts {
			r.b = r.b.raw(` data-`, f.Name, `="`).text(f.Value).raw(`"`)
		}
		r.b = r.b.raw(`>`)
		for k := range row.Cells {
			r.cell(&row.Cells[k])
		}
		r.b = r.b.raw(`</tr>`)
		r.flush()
	}
	r.b = r.b.raw(`</tbody>`)
}

func (r *rows) cell(c *document.Cell) {
	name := "td"
	switch {
	case c.Group:
		name = "th"
		r.b = r.b.raw(`<th scope="rowgroup"`)
	case c.Header:
		name = "th"
		r.b = r.b.raw(`<th scope="row"`)
	default:
		r.b = r.b.raw(`<td`)
	}
	r.b = r.b.attribute("class", string(c.Look)).attribute("id", string(c.ID)).attribute("data-l", c.Name).attribute("title", c.Title)
	if c.Span > 0 {
		r.b = r.b.raw(` colspan="`, strconv.Itoa(c.Span), `"`)
	}
	r.b = r.b.raw(`>`)
	r.content(c)
	r.b = r.b.raw(`</`, name, `>`)
}

func (r *rows) content(c *document.Cell) {
	r.b = r.b.text(c.Words).inline(r.ctx, c.Text)
	r.blocks(c.Blocks)
}

// blocks prints what stands in cells mostly, and leaves other blocks to their templates.
func (r *rows) blocks(all document.Blocks) {
	for _, x := range all {
		switch x := x.(type) {
		case document.Text:
			r.b = r.b.inline(r.ctx, x)
			continue
		case document.Group:
			if x.Role == "" && x.ID == "" && x.Label == "" && x.Events == "" {
				r.b = r.b.raw(`<div`).attribute("class", string(x.Look)).raw(`>`)
				r.blocks(x.Blocks)
				r.b = r.b.raw(`</div>`)
				continue
			}
		case document.Drawing:
			if s, ok := x.Chart.(chart.SparkData); ok {
				r.b = s.Append(r.b)
				continue
			}
		}
		r.flush()
		if r.err == nil {
			r.err = one(x).Render(r.ctx, r.w)
		}
	}
}
