// Package simulation writes the dumps of programs whose truth is known, as text and with
// the blemishes of real captures, and measures what a leakdiff binary reports about them.
// It takes a class, a seed and a number of dumps, packs a bundle, runs `leakdiff report
// --format json` on it and compares the verdicts with the truth. It knows nothing of the
// rules: it imports no package of the analysis.
package simulation

import (
	"math/rand/v2"
	"slices"
)

// Class is one way in which a program behaves, with its definition in one sentence.
type Class struct {
	Name string
	// Leak is the truth: the subject keeps growing and nothing frees it.
	Leak       bool
	Definition string
	// regimes are the spans of the captures that this class is drawn from.
	regimes []regime
	// form is the evidence in the captures, flaw what is wrong with them.
	form form
	flaw flaw
	// mortal reports that the subject's members may end, by a restart or a cleanup. Its
	// verdict may then turn back.
	mortal bool
	// churn and cardinality mark classes with a bar of their own.
	churn, cardinality bool
	// outside marks classes that only knowledge from outside can tell: no mean counts them.
	outside bool
	make    func(*world)
}

// regime bounds the span of a series, in hours.
type regime struct{ low, high float64 }

var (
	seconds = regime{20.0 / 3600, 90.0 / 3600}
	minutes = regime{3.0 / 60, 20.0 / 60}
	hours   = regime{2, 12}
	days    = regime{24, 7 * 24}
	weeks   = regime{14 * 24, 28 * 24}
)

func every() []regime  { return []regime{seconds, minutes, hours, days, weeks} }
func slow() []regime   { return []regime{hours, days, weeks} }
func fast() []regime   { return []regime{seconds, minutes, hours} }
func middle() []regime { return []regime{minutes, hours, days} }

// form is the kind of evidence in a capture.
type form int

const (
	debug2 form = iota
	debug1
	java
	sockets
	watches
	node   // diagnostic reports of Node.js
	totals // a page of metrics, which counts goroutines and shows none
)

// flaw is what is wrong with the captures of a class.
type flaw int

const (
	sound flaw = iota
	cut
	repeated
	skewed
	wrapped
)

// Series is what one run of a class leaves: one capture after the other, and the truth.
type Series struct {
	world    *world
	captures []capture
	// Counts are the subject's members at each capture.
	Counts []int
	// Marks are names, one of which every family of the subject has. Apart are two groups
	// of marks that need a finding each, or nil.
	Marks []string
	Apart [2][]string
	ended []string
}

// Series simulates n captures. Equal arguments give equal captures.
func (c Class) Series(seed uint64, run, n int) *Series {
	r := rand.New(rand.NewPCG(seed, uint64(1000*n+run)^hash(c.Name)))
	w := newWorld(r, c.regimes[r.IntN(len(c.regimes))], n)
	c.make(w)
	w.background(c.form)
	w.settle()
	s := &Series{world: w, Marks: w.marks, Apart: w.apart, ended: w.ended}
	if c.form == totals {
		s.Marks = []string{""} // all that is said is of the one count
	}
	for _, at := range w.times {
		s.Counts = append(s.Counts, w.subjects(at))
	}
	s.captures = w.captures(c.form, c.flaw)
	return s
}

// at is the time of a capture, in seconds.
func (s *Series) at(k int) float64 { return s.world.times[k] }

func hash(name string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// Classes are all classes, leaks first.
func Classes() []Class { return slices.Concat(leaks(), hiddenLeaks(), benign(), lookAlikes()) }
