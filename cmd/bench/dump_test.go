package main

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/DataDog/gostackparse"

	"leakdiff/analysis/read/goroutine"
)

func printedFor(t testing.TB, c dumpConfig) []byte {
	t.Helper()
	text, err := printed(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEqualConfigsPrintEqualDumps(t *testing.T) {
	c := dumpConfig{Goroutines: 500, Stacks: 50, Seed: 3}
	if !bytes.Equal(printedFor(t, c), printedFor(t, c)) {
		t.Error("two dumps of one config differ")
	}
	other := c
	other.Seed++
	if bytes.Equal(printedFor(t, c), printedFor(t, other)) {
		t.Error("two seeds give one dump")
	}
}

func TestADumpIsTheSameHoweverItIsRead(t *testing.T) {
	for f := plain; f <= compose; f++ {
		c := dumpConfig{Goroutines: 60, Stacks: 20, Form: f, Seed: 1}
		d, err := newDump(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(oneByte{d})
		if err != nil || !bytes.Equal(got, printedFor(t, c)) {
			t.Errorf("form %d, byte by byte: %v, %d bytes", f, err, len(got))
		}
	}
}

// oneByte reads a byte at a time.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// Header lines are counted as grep -c '^goroutine ' would.
func TestDumpsHaveTheGoroutinesAndStacksTheyAreMadeWith(t *testing.T) {
	for _, c := range []dumpConfig{
		{Goroutines: 1, Stacks: 1},
		{Goroutines: 300, Stacks: 7},
		{Goroutines: 5000, Stacks: 1000},
		{Goroutines: 3000, Stacks: 3000},
	} {
		text := printedFor(t, c)
		if n := bytes.Count(append([]byte("\n"), text...), []byte("\ngoroutine ")); n != c.Goroutines {
			t.Errorf("%+v: %d headers", c, n)
		}
		stacks, err := peersExact(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, s := range stacks {
			got = append(got, s.n)
		}
		want := c.counts()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d stacks, want %d with the counts they were given", c, len(got), len(want))
		}
	}
}

func TestGoroutinesHaveIDsOfTheirOwn(t *testing.T) {
	const n = 20_000
	all, errs := gostackparse.Parse(bytes.NewReader(printedFor(t, dumpConfig{Goroutines: n, Stacks: 100, Seed: 1})))
	seen := map[int]bool{}
	for _, g := range all {
		seen[g.ID] = true
	}
	if len(errs) > 0 || len(seen) != n {
		t.Errorf("%d ids of %d goroutines, errors %v", len(seen), n, errs)
	}
}

func TestEveryRealStackComesOutAsItWentIn(t *testing.T) {
	templates, err := templatesOf(realStacks)
	if err != nil {
		t.Fatal(err)
	}
	want, err := peersExact(bytes.NewReader(realStacks))
	if err != nil {
		t.Fatal(err)
	}
	got, err := peersExact(bytes.NewReader(printedFor(t, dumpConfig{Goroutines: len(templates), Stacks: len(templates)})))
	if err != nil {
		t.Fatal(err)
	}
	for key := range want {
		if got[key] == nil {
			t.Errorf("the generator lost a stack:\n%s", key)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d stacks of %d", len(got), len(want))
	}
}

// Every form tells of the same goroutines; what reads it must count the same.
func TestEveryFormHasTheFamiliesOfThePlainText(t *testing.T) {
	for _, s := range shapes(6000, 6000) {
		got, err := s.read(bytes.NewReader(printedFor(t, s.config)))
		if err != nil {
			t.Fatal(err)
		}
		c := s.config
		c.Form = plain
		want, err := peers(bytes.NewReader(printedFor(t, c)))
		if err != nil {
			t.Fatal(err)
		}
		if err := sameFamilies(got, want, s.config); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

func TestImpossibleDumpsAreRefused(t *testing.T) {
	for _, c := range []dumpConfig{{}, {Goroutines: 5}, {Goroutines: 5, Stacks: 6}} {
		if _, err := newDump(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestDifferentFamiliesAreNoticed(t *testing.T) {
	c := dumpConfig{Goroutines: 3, Stacks: 2}
	for _, got := range []families{{"a": 2}, {"a": 1, "b": 2}, {"a": 2, "c": 1}} {
		if sameFamilies(got, families{"a": 2, "b": 1}, c) == nil {
			t.Errorf("%v passed", got)
		}
	}
}

// The benchmarks are for pprof and benchstat; the table comes from the program.
func BenchmarkParse(b *testing.B) {
	const goroutines = 40_000
	for _, s := range shapes(goroutines, goroutines) {
		text := printedFor(b, s.config)
		run := func(name string, read func([]byte) error) {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if err := read(text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("leakdiff", func(text []byte) error { _, err := s.read(bytes.NewReader(text)); return err })
		run("lines", func(text []byte) error { walkLines(text); return nil })
		if s.config.Form != plain {
			continue
		}
		run("gostackparse", func(text []byte) error { _, err := peers(bytes.NewReader(text)); return err })
		run("parser", func(text []byte) error {
			_, _, err := goroutine.ParseText(bytes.NewReader(text), goroutine.Config{}, func(*goroutine.Goroutine) error { return nil })
			return err
		})
	}
}
