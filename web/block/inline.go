package block

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"leakdiff/analysis/say/document"
	"leakdiff/web"
	"leakdiff/web/chart"
)

// Words and rows come by the hundred, so that they are put together here in one piece: a
// template takes five times as long, most of it for turning each string into a string.

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

// attribute appends an attribute that has a value.
func (b markup) attribute(name, value string) markup {
	if value == "" {
		return b
	}
	return b.raw(" ", name, `="`).text(value).raw(`"`)
}

// inline prints a text.
func inline(t document.Text) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(make(markup, 0, 256).inline(ctx, t))
		return err
	})
}

func (b markup) inline(ctx context.Context, t document.Text) markup {
	for i := range t {
		b = b.span(ctx, &t[i])
	}
	return b
}

// span is one piece of a text. A link that leads out of this server is text in a page that
// is one file.
func (b markup) span(ctx context.Context, s *document.Span) markup {
	if s.URL == "" {
		return b.word(ctx, s)
	}
	if s.Link != nil && strings.HasPrefix(string(s.Link.Rel), "noreferrer") && IsAlone(ctx) {
		return b.breaking(s.Text)
	}
	l := s.Link
	if l == nil {
		return b.raw(`<a href="`).text(string(web.Link(ctx, s.URL))).raw(`">`).word(ctx, s).raw(`</a>`)
	}
	b = b.raw(`<a`).attribute("class", string(l.Look)).attribute("id", string(l.ID)).attribute("href", string(web.Link(ctx, s.URL)))
	if s.Look == "" {
		b = b.attribute("title", s.Title)
	}
	b = b.attribute("aria-expanded", l.Expanded).attribute("aria-label", l.Label).attribute("rel", string(l.Rel))
	b = b.attribute("data-key", string(l.Key)).attribute("data-key-label", l.KeyLabel)
	if l.Current {
		b = b.raw(` aria-current="true"`)
	}
	if l.Download {
		b = b.raw(` download`)
	}
	return b.raw(`>`).word(ctx, s).raw(`</a>`)
}

// elements are the looks that have an element of their own.
var elements = map[document.Look]string{document.Strong: "b", document.Named: "b", document.Literal: "code", document.Keyed: "kbd", document.Struck: "s", document.Wrong: "mark"}

// word is a span without its link.
func (b markup) word(ctx context.Context, s *document.Span) markup {
	switch s.Look {
	case "":
		return b.text(s.Text).inline(ctx, s.Inside)
	case document.Strong, document.Named, document.Literal, document.Keyed, document.Struck, document.Wrong:
		return b.raw(`<`, elements[s.Look]).attribute("title", s.Title).raw(`>`).breaking(s.Text).inline(ctx, s.Inside).raw(`</`, elements[s.Look], `>`)
	case document.Alert:
		return b.raw(`<b role="alert">`).text(s.Text).raw(`</b>`)
	case document.Figured:
		if s.Inside == nil {
			return b.raw(`<b class="num">`).text(s.Text).raw(`</b>`)
		}
	case document.Verdict, document.Judged:
		return b.verdict(s.Text, s.Inside.String(), s.Look == document.Judged)
	case document.Confidence:
		return b.confidence(s.Text)
	case document.Function:
		b = b.raw(`<span class="fn"`).attribute("title", s.Title).raw(`>`)
		path, name := document.FunctionName(s.Text)
		b = b.raw(`<span class="p">`).text(path).raw(`</span><wbr>`)
		return b.raw(`<span class="n">`).text(name).raw(`</span></span>`)
	case document.Resource:
		b = b.raw(`<b class="res"`).attribute("title", s.Title).raw(`>`)
		path, name := "", s.Text
		if at := strings.LastIndexByte(s.Text, '/') + 1; at < len(s.Text) {
			path, name = s.Text[:at], s.Text[at:]
		}
		b = b.raw(`<span class="p">`).breaking(path).raw(`</span>`)
		return b.raw(`<span class="n">`).breaking(name).raw(`</span></b>`)
	case document.Mono:
		return b.raw(`<span class="fn"`).attribute("title", s.Title).raw(`>`).breaking(s.Text).raw(`</span>`)
	case document.Breakable:
		return b.breaking(s.Text)
	case document.Change:
		return b.figure(s.Text, s.Sign)
	case document.Mark:
		return b.mark(s.Text)
	case document.Glyph:
		return b.raw(`<span aria-hidden="true">`).text(s.Text).raw(`</span>`)
	case document.Ellipsis:
		return b.raw(`<span class="muted" aria-hidden="true">`).text(s.Text).raw(`</span>`)
	case document.Here:
		return b.raw(`<span class="btn" aria-current="page">`).text(s.Text).raw(`</span>`)
	case document.Outcome:
		class := "st ign"
		switch s.Glyph {
		case "✓":
			class = "st"
		case "!":
			class = "st bad"
		}
		return b.raw(`<span class="`, class, `"><i aria-hidden="true">`, s.Glyph, `</i>`).text(s.Text).raw(`</span>`)
	case document.Unit:
		return b.raw(`<b data-lead="`).text(s.Title).raw(`">`).text(s.Text).raw(`</b>`)
	case document.Number:
		return b.raw(`<span class="no" aria-hidden="true">`).text(s.Text).raw(`</span>`)
	case document.Icon:
		return b.raw(`<i aria-hidden="true">`).text(s.Text).raw(`</i>`)
	case document.OnlyA, document.OnlyB:
		return b.raw(`<b class="`, string(s.Look), `">`).text(s.Text).raw(`</b>`)
	case document.Side:
		if s.Text == "B" {
			return b.raw(`<span class="ab b" role="img" aria-label="B">B</span>`)
		}
		return b.raw(`<span class="ab" role="img" aria-label="A">A</span>`)
	case document.Swatch:
		return b.raw(`<svg class="sw" width="9" height="9" aria-hidden="true"><rect class="sb`, s.Text, `" width="9" height="9"></rect></svg>`)
	case document.Box:
		return b.raw(`<svg class="sw" width="14" height="12" aria-hidden="true"><g class="fb `).text(s.Text).raw(`"><rect width="14" height="12"></rect></g></svg>`)
	case document.NewLine:
		return b.raw(`<br>`)
	case document.Picture:
		address := picture(ctx, s.Text)
		if address == "" {
			return b
		}
		return b.raw(`<a class="svgl noprint"`).attribute("href", string(web.Link(ctx, address))).attribute("aria-label", s.Title).raw(`>SVG</a>`)
	case document.Destination:
		return b.text(web.DataGoes(ctx))
	}
	return b.raw(`<span`).attribute("class", string(s.Look)).attribute("title", s.Title).raw(`>`).text(s.Text).inline(ctx, s.Inside).raw(`</span>`)
}

// figure prints a figure; a change is drawn with its sign.
func (b markup) figure(text string, sign int) markup {
	switch {
	case sign > 0:
		return b.raw(`<span class="d up"><i aria-hidden="true">▲</i>`).text(text).raw(`</span>`)
	case sign < 0:
		return b.raw(`<span class="d down"><i aria-hidden="true">▼</i>`).text(text).raw(`</span>`)
	case text == "0":
		return b.raw(`<span class="d eq"><i aria-hidden="true">=</i>0</span>`)
	case text == "n/a":
		return b.raw(`<span class="muted">n/a</span>`)
	}
	return b.text(text)
}

// verdict prints a verdict, in other words than its own where there are some.
func (b markup) verdict(verdict, words string, strong bool) markup {
	if verdict == "" {
		return b
	}
	l := Look(verdict)
	if words != "" {
		l.Word = words
	}
	class := "v "
	if strong {
		class = "v strong "
	}
	return b.raw(`<span class="`, class, l.Class, `"><i aria-hidden="true">`, l.Glyph, `</i>`).text(l.Word).raw(`</span>`)
}

// confidence prints low, medium or high as bars; nothing for other words.
func (b markup) confidence(level string) markup {
	words := map[string]string{"low": "low", "medium": "medium", "high": "certain"}
	bars := map[string]int{"low": 1, "medium": 2, "high": 3}
	word, ok := words[level]
	if !ok {
		return b
	}
	b = b.raw(`<span class="conf" role="img" aria-label="sure: `, word, `" title="`, word, `">`)
	for i := range 3 {
		if i < bars[level] {
			b = b.raw(`<i class="on"></i>`)
		} else {
			b = b.raw(`<i></i>`)
		}
	}
	return b.raw(`</span>`)
}

// mark returns what somebody decided about a family.
func (b markup) mark(state string) markup {
	m, ok := marks[state]
	if !ok {
		return b
	}
	return b.raw(`<span class="chip"><i aria-hidden="true">`, m[0], `</i> `, m[1], `</span>`)
}

type aloneKey struct{}

// Alone marks the rendering of a page in one file, which leads nowhere: addresses are
// printed as text.
func Alone(ctx context.Context) context.Context { return context.WithValue(ctx, aloneKey{}, true) }

// IsAlone reports whether the page is one file.
func IsAlone(ctx context.Context) bool { return ctx.Value(aloneKey{}) != nil }

type picturesKey struct{}

// Pictures says under which address the charts of the page are files: that of the page with
// the suffix .svg and its query.
func Pictures(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, picturesKey{}, address)
}

// picture is the address of a chart as a file, empty where there is none.
func picture(ctx context.Context, chart string) string {
	address, _ := ctx.Value(picturesKey{}).(string)
	if address == "" || chart == "" {
		return ""
	}
	if strings.Contains(address, "?") {
		return address + "&chart=" + chart
	}
	return address + "?chart=" + chart
}

// number is 0 as nothing.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
