package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// kubeletFamilies are as many families as a kubelet has, smallFamilies those of a small
// program.
const (
	kubeletFamilies = 66
	smallFamilies   = 8
)

// A process is one whose goroutines are captured again and again. Most of its families
// keep their goroutines, some serve requests that end before the next capture, and three
// grow by a fixed number over all captures.
type process struct {
	name     string
	r        *rand.Rand
	captures int
	began    time.Time
	every    time.Duration

	taken int
	last  int64
	// stay are the goroutines of each family that do not end.
	stay [][]running
}

type running struct {
	id   int64
	born time.Time
}

// grown is by how many goroutines each growing family grows over all captures.
const grown = 120

func newProcess(name string, families, captures int, every time.Duration, seed uint64) *process {
	p := &process{
		name: name, captures: captures, every: every, r: rand.New(rand.NewPCG(seed, 3)), stay: make([][]running, families),
		began: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC),
	}
	for f := range p.stay {
		for range 1 + p.r.IntN(6) {
			p.stay[f] = append(p.stay[f], p.start(p.began))
		}
	}
	return p
}

// start starts a goroutine; the first one is main, which never ends.
func (p *process) start(at time.Time) running {
	if p.last++; p.last > 1 {
		p.last += p.r.Int64N(20)
	}
	return running{p.last, at}
}

// capture is the next capture: a directory name with its time, and its dump.
func (p *process) capture() (at time.Time, dump []byte, err error) {
	templates, err := realTemplates()
	if err != nil {
		return at, nil, err
	}
	at = p.began.Add(time.Hour + time.Duration(p.taken)*p.every)
	p.taken++
	for f := range p.stay {
		due := 0
		if f%22 == 0 {
			due = p.taken*grown/p.captures - (p.taken-1)*grown/p.captures
		}
		for range due {
			p.stay[f] = append(p.stay[f], p.start(at))
		}
		present := p.stay[f]
		if f%5 == 1 {
			for range p.r.IntN(6) {
				present = append(present[:len(present):len(present)], p.start(at))
			}
		}
		t := &templates[f%len(templates)]
		for _, g := range present {
			dump = p.print(dump, t, f/len(templates), g, at)
		}
	}
	return at, dump, nil
}

func (p *process) print(b []byte, t *template, variant int, g running, at time.Time) []byte {
	b = append(b, "goroutine "...)
	b = strconv.AppendInt(b, g.id, 10)
	b = append(append(b, " ["...), t.state...)
	if minutes := int64(at.Sub(g.born).Minutes()); minutes > 0 {
		b = append(b, ", "...)
		b = strconv.AppendInt(b, minutes, 10)
		b = append(b, " minutes"...)
	}
	b = append(b, "]:\n"...)
	b = t.print(b, p.r, false, variant, 1)
	return append(b, '\n')
}

// An archive gathers captures as the collector lays them out.
type archive struct {
	out bytes.Buffer
	zip *gzip.Writer
	tar *tar.Writer
	err error
}

func newArchive() *archive {
	a := &archive{}
	a.zip, _ = gzip.NewWriterLevel(&a.out, gzip.BestSpeed)
	a.tar = tar.NewWriter(a.zip)
	return a
}

// add takes the next capture of a process.
func (a *archive) add(p *process) {
	at, dump, err := p.capture()
	if a.err == nil {
		a.err = err
	}
	if a.err != nil {
		return
	}
	name := fmt.Sprintf("capture/%s/%s/goroutine-debug2.txt", at.Format("20060102T150405Z"), p.name)
	if a.err = a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(dump)), ModTime: at}); a.err == nil {
		_, a.err = a.tar.Write(dump)
	}
}

func (a *archive) bytes() ([]byte, error) {
	for _, end := range []func() error{a.tar.Close, a.zip.Close} {
		if err := end(); a.err == nil {
			a.err = err
		}
	}
	return a.out.Bytes(), a.err
}
