package chart

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"leakdiff/web"
)

// Card is the picture that a chat shows of a link: a title, a sentence, and below them the lanes of
// an answer where it has any.
type Card struct {
	Title, Text string
	Lanes       *LanesData
}

// CardWidth and CardHeight are those that chats expect of the picture of a link, in pixels.
const (
	CardWidth  = 1200
	CardHeight = 630
	cardEdge   = 44

	mostCardLanes = 4
)

// Bare is the drawing without a name of a thing, a process or a capture: figures alone.
func (l LanesData) Bare() LanesData {
	out := LanesData{ID: l.ID, Title: l.Title, Times: l.Times, Taken: l.Taken, Alike: l.Alike}
	for i := range l.Labels {
		out.Labels = append(out.Labels, fmt.Sprint(i+1))
	}
	for _, lane := range l.Lanes {
		lane.Role, lane.Noun, lane.Notes, lane.URL = "", "", nil, ""
		out.Lanes = append(out.Lanes, lane)
	}
	return out
}

// PNG is the card in the colours of the light theme.
func (c Card) PNG() ([]byte, error) {
	faces, err := fonts()
	if err != nil {
		return nil, err
	}
	p := picture{RGBA: image.NewRGBA(image.Rect(0, 0, CardWidth, CardHeight)), fonts: faces, scale: 1}
	p.fill(0, 0, CardWidth, CardHeight, "--canvas")
	y := 30.0
	for _, part := range []struct {
		text, token string
		size        float64
		most        int
		bold        bool
	}{{c.Title, "--ink-2", 26, 1, false}, {c.Text, "--ink", 36, 3, true}} {
		face := p.face(part.size, part.bold)
		for _, text := range fitted(face, part.text, CardWidth-2*cardEdge, part.most) {
			y += part.size * 1.32
			p.write(face, cardEdge, y, text, part.token)
		}
		y += 10
	}
	if c.Lanes != nil && len(c.Lanes.Lanes) > 0 && len(c.Lanes.Labels) > 0 {
		p.lanes(*c.Lanes, y+18)
	}
	p.write(p.face(20, true), cardEdge, CardHeight-22, "leakdiff", "--ink-3")
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, p)
	return b.Bytes(), err
}

// picture is an image that marks are drawn on, scaled and moved by dx and dy.
type picture struct {
	*image.RGBA
	fonts         [2]*opentype.Font
	scale, dx, dy float64
}

// fonts are the regular and the bold one.
var fonts = sync.OnceValues(func() (out [2]*opentype.Font, err error) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		if out[i], err = opentype.Parse(ttf); err != nil {
			return out, fmt.Errorf("the font of pictures: %w", err)
		}
	}
	return out, nil
})

// lanes draws as large as there is room for, without the totals if they would make it small.
func (p *picture) lanes(l LanesData, y float64) {
	const wide, most, least = CardWidth - 2*cardEdge, 1.6, 1.15
	room := CardHeight - 56 - y
	scale := func() float64 { return min(most, room/l.draw(lanesWide).h) }
	if scale() < least {
		l.Totals = nil
	}
	l.Lanes = l.Lanes[:min(len(l.Lanes), mostCardLanes)]
	p.scale, p.dx, p.dy = scale(), cardEdge, y
	d := l.draw(wide / p.scale)
	for i := range d.marks {
		p.mark(&d.marks[i])
	}
}

// look is how a class of marks is drawn: the tokens of its area and of its line, which is w wide.
type look struct {
	area, line string
	w          float64
	bold       bool
}

// looks are those of the marks of lanes, as drawing.css has them. A class that is missing is not
// drawn: areas to point at, and hatches.
var looks = map[string]look{
	"c-grid": {line: "--rule", w: 1}, "c-axis": {line: "--rule-strong", w: 1}, "c-rec": {area: "--shrink-tint"}, "c-range": {area: "--accent-tint"},
	"c-line up": {line: "--growth", w: 1.75}, "c-line flat": {line: "--flat", w: 1.75}, "c-line thin": {line: "--ink-3", w: 1.25},
	"lf": {line: "--growth", w: 2}, "lf soft": {line: "--ink-3", w: 2}, "lf thin": {line: "--growth", w: 1.25}, "lf thin soft": {line: "--ink-3", w: 1.25},
	"ln-area": {area: "--growth-tint"}, "ln-area soft": {area: "--hover"}, "ln-arrow": {line: "--ink-3", w: 1}, "ln-tip": {area: "--ink-3"}, "ln-gone": {line: "--ink", w: 2},
	"c-t": {area: "--ink-3"}, "c-t s": {area: "--ink-2"}, "c-t k": {area: "--ink", bold: true}, "c-t ln-n": {area: "--ink", bold: true},
	"c-t ln-role": {area: "--ink-2", bold: true}, "c-t ln-role cause": {area: "--growth", bold: true},
}

// look names the look of the mark.
func (m *mark) look() string { return strings.TrimSpace(m.class) }

// mark draws one element.
func (p *picture) mark(m *mark) {
	if m.hatched {
		p.fill(m.x, m.y, m.w, m.h, "--hover")
		return
	}
	k, known := looks[m.look()]
	if !known {
		return
	}
	switch m.shape {
	case rect:
		p.fill(m.x, m.y, m.w, m.h, k.area)
	case polygon:
		p.shape(m.points, k.area)
	case line:
		p.stroke([]point{{m.x, m.y}, {m.x2, m.y2}}, k)
	case polyline:
		p.stroke(m.points, k)
	case text:
		face := p.face(12*p.scale, k.bold)
		x, w := p.dx+m.x*p.scale, float64(font.MeasureString(face, m.text))/64
		p.write(face, x-map[string]float64{"middle": w / 2, "end": w}[m.anchor], p.dy+m.y*p.scale, m.text, k.area)
	}
}

func (p *picture) fill(x, y, w, h float64, token string) {
	p.shape([]point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, token)
}

// stroke draws each part of a line as a rectangle around it.
func (p *picture) stroke(points []point, k look) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			continue
		}
		dx, dy := (b.y-a.y)/length*k.w/2, (a.x-b.x)/length*k.w/2
		p.shape([]point{{a.x + dx, a.y + dy}, {b.x + dx, b.y + dy}, {b.x - dx, b.y - dy}, {a.x - dx, a.y - dy}}, k.line)
	}
}

// shape fills an area. Only the part of the image around it is touched: drawings have hundreds.
func (p *picture) shape(points []point, token string) {
	at := make([]point, len(points))
	low, high := point{CardWidth, CardHeight}, point{}
	for i, q := range points {
		at[i] = point{min(max(p.dx+q.x*p.scale, 0), CardWidth), min(max(p.dy+q.y*p.scale, 0), CardHeight)}
		low, high = point{min(low.x, at[i].x), min(low.y, at[i].y)}, point{max(high.x, at[i].x), max(high.y, at[i].y)}
	}
	box := image.Rect(int(low.x), int(low.y), int(math.Ceil(high.x)), int(math.Ceil(high.y)))
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for i, q := range at {
		x, y := float32(q.x-float64(box.Min.X)), float32(q.y-float64(box.Min.Y))
		if i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	r.Draw(p, box, image.NewUniform(light(token)), image.Point{})
}

// light is the colour of a token, black for none.
func light(token string) color.Color {
	c := color.RGBA{A: 255}
	fmt.Sscanf(web.Light(token), "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}

func (p *picture) face(size float64, bold bool) font.Face {
	f := p.fonts[0]
	if bold {
		f = p.fonts[1]
	}
	// The options are valid and the font is parsed: nothing else fails.
	face, _ := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	return face
}

// write writes text with its baseline at y.
func (p *picture) write(face font.Face, x, y float64, s, token string) {
	d := font.Drawer{Dst: p, Src: image.NewUniform(light(token)), Face: face, Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}}
	d.DrawString(plainSpaces.Replace(s))
}

// plainSpaces replaces what the font lacks.
var plainSpaces = strings.NewReplacer("\u2009", " ", "\u00a0", " ", "\u202f", " ")

// fitted breaks text at spaces into at most most lines of a width in pixels. What has no room is cut.
func fitted(face font.Face, s string, width float64, most int) []string {
	n := min(len([]rune(s)), CardWidth/8) // no letter of a title is narrower
	for ; n > 1; n-- {
		lines := wrapped(s, n, most)
		widest := 0.0
		for _, l := range lines {
			widest = max(widest, float64(font.MeasureString(face, l))/64)
		}
		if widest <= width {
			return lines
		}
	}
	return wrapped(s, 1, most)
}

var _ draw.Image = picture{}
