package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/DataDog/gostackparse"

	"leakdiff/analysis"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/goroutine"
)

// families are goroutines by the fingerprint of their family.
type families map[string]int

func (f families) sum() (n int) {
	for _, count := range f {
		n += count
	}
	return n
}

// ours reads a dump with the product's parser and counts its families.
func ours(r io.Reader) (families, error) { return oursOf(r, goroutine.Config{}) }

func oursOf(r io.Reader, cfg goroutine.Config) (families, error) {
	stacks, err := exact(r, cfg)
	if err != nil {
		return nil, err
	}
	var known family.Stacks
	out := make(families, len(stacks))
	for stack, n := range stacks {
		out[known.OfStack(stack).Fingerprint] += *n
	}
	return out, nil
}

// exact counts the goroutines of each stack.
func exact(r io.Reader, cfg goroutine.Config) (map[*analysis.Stack]*int, error) {
	stacks := map[*analysis.Stack]*int{}
	_, _, err := goroutine.ParseText(r, cfg, func(g *goroutine.Goroutine) error {
		n := stacks[g.Stack]
		if n == nil {
			n = new(int)
			stacks[g.Stack] = n
		}
		*n++
		return nil
	})
	return stacks, err
}

// unwrapped is ours for a dump inside a log, read as an upload reads it.
func unwrapped(r io.Reader) (found families, err error) {
	var fault error
	sections, _, _, err := envelope.Unwrap(r, envelope.Config{Stream: func(text io.Reader) { found, fault = oursOf(text, goroutine.Config{}) }})
	if err := cmp.Or(err, fault); err != nil {
		return nil, err
	}
	if len(sections) != 1 || sections[0].Streamed != 1 {
		return nil, fmt.Errorf("%d dumps were found in a log with one", len(sections))
	}
	return found, nil
}

// peers reads a dump with gostackparse and counts its families. A family is
// computed once for each stack, as on our side.
func peers(r io.Reader) (families, error) {
	stacks, err := peersExact(r)
	if err != nil {
		return nil, err
	}
	var known family.Stacks
	out := make(families, len(stacks))
	for _, c := range stacks {
		out[known.OfStack(stackOf(c.first)).Fingerprint] += c.n
	}
	return out, nil
}

type peerStack struct {
	first *gostackparse.Goroutine
	n     int
}

// peersExact counts the goroutines of each stack; the key is what our parser
// calls one stack.
func peersExact(r io.Reader) (map[string]*peerStack, error) {
	all, errs := gostackparse.Parse(r)
	if len(errs) > 0 {
		return nil, fmt.Errorf("gostackparse: %d errors, the first: %w", len(errs), errs[0])
	}
	groups := map[string]*peerStack{}
	var key []byte
	for _, g := range all {
		key = key[:0]
		for _, f := range g.Stack {
			key = appendFrame(key, f)
		}
		if g.CreatedBy != nil {
			key = appendFrame(append(key, "created by "...), g.CreatedBy)
		}
		c := groups[string(key)]
		if c == nil {
			c = &peerStack{first: g}
			groups[string(key)] = c
		}
		c.n++
	}
	return groups, nil
}

func appendFrame(key []byte, f *gostackparse.Frame) []byte {
	key = append(append(key, f.Func...), '\n')
	key = append(append(key, f.File...), ':')
	return append(strconv.AppendInt(key, int64(f.Line), 10), '\n')
}

func stackOf(g *gostackparse.Goroutine) *analysis.Stack {
	s := &analysis.Stack{}
	for _, f := range g.Stack {
		s.Frames = append(s.Frames, analysis.Frame{Func: f.Func, File: f.File, Line: f.Line})
	}
	if c := g.CreatedBy; c != nil {
		s.CreatedBy = analysis.Frame{Func: c.Func, File: c.File, Line: c.Line}
	}
	return s
}

// walkLines looks at every line and does nothing with it: the least that any
// reader of lines costs.
func walkLines(text []byte) (lines int) {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return lines + 1
		}
		lines++
		text = text[i+1:]
	}
	return lines
}

// shape is one kind of dump with what is wanted of its speed.
type shape struct {
	name   string
	config dumpConfig
	read   func(io.Reader) (families, error)
	// peer is the wanted speed against gostackparse on the plain text of the same
	// goroutines, bound that against walking lines; 0 where nothing is wanted.
	peer, bound float64
	// allocs is the bound of allocations per goroutine, 0 where there is none.
	allocs float64
}

// fewStacks is how many stacks an ordinary large dump has: they form at most 500
// families.
const fewStacks = 400

// shapes are dumps of so many goroutines; the ordinary ones are large, so that what a
// dump costs once weighs as little as it does where speed matters.
func shapes(large, goroutines int) []shape {
	few := dumpConfig{Goroutines: large, Stacks: fewStacks, Seed: 1}
	many, all := few, few
	many.Stacks = 5000
	all.Goroutines, all.Stacks = goroutines, goroutines
	of := func(f form) dumpConfig {
		return dumpConfig{Goroutines: goroutines, Stacks: fewStacks, Seed: 1, Form: f}
	}
	return []shape{
		{"at most 500 families", few, ours, 10, 0.25, 0.03},
		{"5,000 distinct stacks", many, ours, 6, 0, 0},
		{"all stacks distinct", all, ours, 1, 0, 0},
		{"labels", of(labels), ours, 3, 0, 0},
		{"SIGQUIT with fp, sp and pc", of(sigquit), ours, 3, 0, 0},
		{"CRLF", of(crlf), ours, 3, 0, 0},
		{"in a log of a container runtime (CRI)", of(cri), unwrapped, 0.5, 0, 0},
		{"in records of docker's json-file", of(docker), unwrapped, 0.5, 0, 0},
		{"in journalctl's short form", of(journal), unwrapped, 0.5, 0, 0},
		{"behind klog's header on each line", of(klog), unwrapped, 0.5, 0, 0},
		{"of kubectl logs --timestamps", of(timestamps), unwrapped, 0.5, 0, 0},
		{"of stern", of(stern), unwrapped, 0.5, 0, 0},
		{"of logcli", of(logcli), unwrapped, 0.5, 0, 0},
		{"in journalctl's JSON", of(journaled), unwrapped, 0.3, 0, 0},
		{"in one entry of logrus", of(logrusText), unwrapped, 0.5, 0, 0},
		{"in one entry of logrus in JSON", of(logrusJSON), unwrapped, 0.5, 0, 0},
		{"of docker compose logs", of(compose), unwrapped, 0.5, 0, 0},
	}
}

// measureParsers compares every shape with the peer and the bound. Each round
// runs all of them once, and a ratio is the median of those of the rounds: what
// else the machine does hits both sides alike.
func measureParsers(s *suite) error {
	defer onOneCore()()
	for _, shape := range shapes(s.size.uploaded, s.size.parsed) {
		if !strings.Contains(shape.name, s.rowsOf) {
			continue
		}
		if err := measureShape(s, shape); err != nil {
			return fmt.Errorf("%s: %w", shape.name, err)
		}
	}
	if s.rowsOf != "" {
		return nil
	}
	return measureGrowth(s)
}

func measureShape(s *suite, shape shape) error {
	text, err := printed(shape.config)
	if err != nil {
		return err
	}
	base := text
	if shape.config.Form != plain {
		c := shape.config
		c.Form = plain
		if base, err = printed(c); err != nil {
			return err
		}
	}
	var got, want families
	var times [5]series
	var stacks, peerStacks int
	allocated := uint64(0)
	for range s.size.rounds {
		before := mallocs()
		times[0].time(func() { got, err = shape.read(bytes.NewReader(text)) })
		allocated = mallocs() - before
		if err != nil {
			return err
		}
		times[1].time(func() { want, err = peers(bytes.NewReader(base)) })
		if err != nil {
			return err
		}
		times[2].time(func() { walkLines(text) })
		if shape.config.Form != plain {
			continue
		}
		times[3].time(func() {
			found, _ := exact(bytes.NewReader(text), goroutine.Config{})
			stacks = len(found)
		})
		times[4].time(func() {
			found, _ := peersExact(bytes.NewReader(text))
			peerStacks = len(found)
		})
	}
	if err := sameFamilies(got, want, shape.config); err != nil {
		return err
	}
	n := shape.config.Goroutines
	row := row{what: "parse and group: " + shape.name, ours: rate(times[0], len(text)), peer: "gostackparse " + rate(times[1], len(base)), bound: "lines " + rate(times[2], len(text))}
	faster := ratio(times[1], times[0])
	s.add(row.judged(faster, atLeast(shape.peer)))
	if shape.config.Stacks > maxKeptStacks {
		s.note("Of %d distinct stacks ours keeps %d and counts the goroutines of the others as one; gostackparse keeps all.", shape.config.Stacks, maxKeptStacks)
	}
	if shape.config.Form == plain {
		// Stacks beyond those kept share one.
		if peerStacks != shape.config.Stacks || stacks != min(shape.config.Stacks, maxKeptStacks+1) {
			return fmt.Errorf("%d stacks, %d by the peer, of %d", stacks, peerStacks, shape.config.Stacks)
		}
		s.add(rowOf("  of it without forming families", times[3], times[4], len(text)).judged(ratio(times[4], times[3]), target{unit: "×"}))
	}
	if shape.bound > 0 {
		row.what, row.peer = "  against a walk over its lines", ""
		s.add(row.judged(ratio(times[2], times[0]), atLeast(shape.bound)))
	}
	if shape.allocs > 0 {
		each := float64(allocated) / float64(n)
		s.add(row2("allocations per goroutine: "+shape.name, fmt.Sprintf("%.4f", each), each, atMost(shape.allocs)))
	}
	return nil
}

func rowOf(what string, ours, peer series, bytes int) row {
	return row{what: what, ours: rate(ours, bytes), peer: "gostackparse " + rate(peer, bytes)}
}

// maxKeptStacks is the default of goroutine.Config.MaxStacks.
const maxKeptStacks = 10_000

// sameFamilies compares with the peer, and with what the generator put in. Where
// a dump has more stacks than are kept, only the sum can be the same.
func sameFamilies(got, want families, c dumpConfig) error {
	if got.sum() != c.Goroutines || want.sum() != c.Goroutines {
		return fmt.Errorf("%d goroutines were counted, %d by the peer, of %d", got.sum(), want.sum(), c.Goroutines)
	}
	if c.Stacks <= maxKeptStacks && !maps.Equal(got, want) {
		return fmt.Errorf("%d families, the peer's %d are others or have other counts", len(got), len(want))
	}
	return nil
}

// measureGrowth looks for a path that is not linear in hostile input: the time
// per goroutine of four times as many distinct stacks. Both sizes run in turns, as
// all sides do.
func measureGrowth(s *suite) error {
	configs := []dumpConfig{
		{Goroutines: s.size.parsed / 4, Stacks: s.size.parsed / 4, Seed: 1},
		{Goroutines: s.size.parsed, Stacks: s.size.parsed, Seed: 1},
	}
	var texts [2][]byte
	for i, c := range configs {
		text, err := printed(c)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	var times [2]series
	for range s.size.rounds {
		for i, text := range texts {
			var err error
			times[i].time(func() { _, err = ours(bytes.NewReader(text)) })
			if err != nil {
				return err
			}
		}
	}
	per := func(i int) time.Duration { return times[i].median() / time.Duration(configs[i].Goroutines) }
	more := float64(configs[1].Goroutines) / float64(configs[0].Goroutines)
	s.add(row{what: "all stacks distinct: time per goroutine of four times as many", ours: per(1).String(), bound: per(0).String()}.judged(ratio(times[1], times[0])/more, atMost(1.5)))
	return nil
}

// printed is a whole dump in memory.
func printed(c dumpConfig) ([]byte, error) {
	d, err := newDump(c)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(d)
}
