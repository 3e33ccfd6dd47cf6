package main

import (
	"bytes"
	"slices"
	"strings"
)

// standing is a goroutine of a dump with debug=2.
type standing struct {
	id string
	// frames are its functions, the innermost first; the last is the creator.
	frames []string
}

// goroutines reads a dump with debug=2 in the plainest way:
//
//	goroutine 7 [chan receive]:
//	main.work(0x1)
//		example.com/x/driver.go:9 +0x1
//	created by main.main in goroutine 1
func goroutines(dump []byte) []standing {
	var out []standing
	for part := range bytes.SplitSeq(dump, []byte("\n\n")) {
		lines := strings.Split(strings.TrimSpace(string(part)), "\n")
		words := strings.Fields(lines[0])
		if len(words) < 3 || words[0] != "goroutine" {
			continue
		}
		g := standing{id: words[1]}
		for _, line := range lines[1:] {
			if strings.HasPrefix(line, "\t") {
				continue
			}
			name := strings.TrimPrefix(line, "created by ")
			if created, _, ok := strings.Cut(name, " in goroutine "); ok {
				name = created
			} else if at := strings.LastIndex(name, "("); at > 0 {
				name = name[:at]
			}
			g.frames = append(g.frames, name)
		}
		out = append(out, g)
	}
	return out
}

// held counts in each round what the holders of a case hold: goroutines with one of their
// frames, or descriptors with one of their targets.
func held(c leakCase, members []member) []int {
	out := make([]int, rounds)
	for round := range out {
		for _, g := range goroutines(file(members, round, "goroutine.debug2.txt")) {
			if slices.ContainsFunc(g.frames, func(f string) bool { return contains(f, c.holders) }) {
				out[round]++
			}
		}
		for _, target := range descriptors(members, round) {
			for _, h := range c.holders {
				if part, ok := strings.CutPrefix(h, "fd:"); ok && strings.Contains(target, part) {
					out[round]++
				}
			}
		}
	}
	return out
}

// heldByPart counts what the holders of each part of a second case hold.
func heldByPart(c leakCase, members []member) [][]int {
	var out [][]int
	for _, p := range c.parts {
		out = append(out, held(p, members))
	}
	return out
}

func contains(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}
