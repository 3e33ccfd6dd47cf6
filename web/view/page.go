package view

import (
	"slices"

	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

// Page is a page: its frame, and what it says. Texts are written from the same document.
type Page struct {
	Shell Shell
	Body  document.Document
	// Raw are the lines of a file that it shows, nil for none.
	Raw *RawLines
}

// charts are the charts of the page that can be files, the main one in front.
func (p *Page) charts() []chart.Chart {
	var out []chart.Chart
	p.Body.Walk(func(b document.Block) {
		d, ok := b.(document.Drawing)
		if !ok {
			return
		}
		switch c, isFile := d.Chart.(chart.Chart); {
		case isFile && d.Main:
			out = slices.Insert(out, 0, c)
		case isFile:
			out = append(out, c)
		}
	})
	return out
}
