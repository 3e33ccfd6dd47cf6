package chart

import (
	"bytes"
	"fmt"
	"slices"
)

// Chart is data that can be drawn as a file of its own, at the width of a page. Its
// name is unique in its page.
type Chart interface {
	alone() drawing
	name() string
}

func (t TimelineData) alone() drawing  { return t.draw(1216) }
func (s SparkData) alone() drawing     { return s.draw() }
func (s SmallData) alone() drawing     { return s.draw(272, 104) }
func (m MembersData) alone() drawing   { return m.draw(700) }
func (l LifelinesData) alone() drawing { return l.draw(460) }
func (l LanesData) alone() drawing     { return l.draw(lanesWide) }
func (b BarsData) alone() drawing      { return b.draw(360) }
func (s StatesData) alone() drawing    { return s.draw() }
func (s SummaryData) alone() drawing   { return s.draw(440) }
func (f FlameData) alone() drawing     { return f.draw(1216) }
func (s StackData) alone() drawing     { return s.draw(700) }
func (s ShapeData) alone() drawing     { return s.draw(560) }
func (r RatesData) alone() drawing     { return r.draw(272, 104) }

func (t TimelineData) name() string  { return t.ID }
func (s SparkData) name() string     { return s.ID }
func (s SmallData) name() string     { return s.ID }
func (m MembersData) name() string   { return m.ID }
func (l LifelinesData) name() string { return l.ID }
func (l LanesData) name() string     { return l.ID }
func (b BarsData) name() string      { return b.ID }
func (s StatesData) name() string    { return s.ID }
func (s SummaryData) name() string   { return s.ID }
func (f FlameData) name() string     { return f.ID }
func (s StackData) name() string     { return s.ID }
func (s ShapeData) name() string     { return s.ID }
func (r RatesData) name() string     { return r.ID }

func (TimelineData) Drawn()  {}
func (SparkData) Drawn()     {}
func (SmallData) Drawn()     {}
func (MembersData) Drawn()   {}
func (LifelinesData) Drawn() {}
func (LanesData) Drawn()     {}
func (BarsData) Drawn()      {}
func (StatesData) Drawn()    {}
func (SummaryData) Drawn()   {}
func (FlameData) Drawn()     {}
func (StackData) Drawn()     {}
func (ShapeData) Drawn()     {}
func (RatesData) Drawn()     {}
func (Table) Drawn()         {}

// Find returns the chart with a name, or the first chart for an empty name.
func Find(all []Chart, name string) (Chart, bool) {
	for _, c := range all {
		if name == "" || c.name() == name {
			return c, true
		}
	}
	return nil, false
}

// Names lists the names that Find knows.
func Names(all []Chart) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.name()
	}
	return out
}

// File returns the chart as a complete SVG document, with title, description and the
// given style of drawings.
func File(c Chart, style string) []byte {
	d := c.alone()
	d.columns = nil // a file has no script, and what names lead to is on the page
	for i := range d.marks {
		if d.marks[i].shape == text && d.marks[i].frame != nil {
			d.marks[i].frame, d.linked = nil, false
		}
	}
	body := withMargin(d.markup(nil), d)
	// The title must be the first element, so the style follows it.
	at := bytes.Index(body, []byte("</title>")) + len("</title>")
	if end := bytes.Index(body, []byte("</desc>")); end > 0 {
		at = end + len("</desc>")
	}
	return slices.Concat(
		[]byte(`<svg xmlns="http://www.w3.org/2000/svg"`), body[len("<svg"):at],
		[]byte("<style>"+style+"</style>"), body[at:], []byte("\n"))
}

// margin surrounds a drawing that stands outside a page.
const margin = 12

// withMargin widens a drawing by the margin.
func withMargin(body []byte, d drawing) []byte {
	bare := fmt.Sprintf(`viewBox="0 0 %s %s" width="%s" height="%s"`, num(d.w), num(d.h), num(d.w), num(d.h))
	w, h := num(d.w+2*margin), num(d.h+2*margin)
	return bytes.Replace(body, []byte(bare), fmt.Appendf(nil, `viewBox="-%d -%d %s %s" width="%s" height="%s"`, margin, margin, w, h, w, h), 1)
}
