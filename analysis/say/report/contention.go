package report

import (
	"fmt"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// Contention is a mutex or block profile of one snapshot. Its figures grow from the start of
// the process. They prove no leak and enter no verdict.
type Contention struct {
	Profile analysis.ContentionProfile `json:"profile"`
	// Stacks are those with most delay, most first. More counts the others.
	Stacks []ContendedStack `json:"stacks"`
	More   int              `json:"more_stacks,omitempty"`
	// Count and DelayNS are the waits of all stacks, and their time in nanoseconds.
	Count   int64 `json:"count"`
	DelayNS int64 `json:"delay_ns"`
	// WindowNS is set for a profile of some seconds.
	WindowNS int64 `json:"window_ns,omitempty"`
	// LowerBound reports that a part of the profile was not understood.
	LowerBound bool `json:"lower_bound,omitempty"`
}

// ContendedStack has exact names, leaf first. It has none for all stacks beyond those that
// are told apart.
type ContendedStack struct {
	Frames  []string `json:"frames"`
	Count   int64    `json:"count"`
	DelayNS int64    `json:"delay_ns"`
}

// ContentionOf reports the mutex and block profiles of a snapshot.
func ContentionOf(s *analysis.Snapshot) (out []Contention) {
	for i := range s.Contention {
		c := &s.Contention[i]
		said := Contention{Profile: c.Profile, Stacks: []ContendedStack{}, More: c.More, Count: c.Count, DelayNS: int64(c.Delay), WindowNS: int64(c.Window), LowerBound: c.LowerBound}
		for _, stack := range c.Stacks {
			names := []string{}
			for _, f := range stack.Frames {
				names = append(names, f.Func)
			}
			said.Stacks = append(said.Stacks, ContendedStack{Frames: names, Count: stack.Count, DelayNS: int64(stack.Delay)})
		}
		out = append(out, said)
	}
	return out
}

// Head names what a profile shows.
func (c *Contention) Head() string {
	if c.Profile == analysis.MutexProfile {
		return "Who held locks while others waited"
	}
	return "Who waited for others"
}

// Note says what the figures are.
//
//	The mutex profile counts 20 waits, 3.6 s in all, from the start of the process.
func (c *Contention) Note() string {
	least := ""
	if c.LowerBound {
		least = "at least "
	}
	since := "from the start of the process"
	if c.WindowNS > 0 {
		since = "in " + wording.Duration(time.Duration(c.WindowNS))
	}
	text := fmt.Sprintf("The %s profile counts %s%s, %s in all, %s.", c.Profile, least, waitsOf(c.Count), DelayWords(c.DelayNS), since)
	if c.Profile == analysis.BlockProfile {
		text += " Workers without work wait, too: a long wait at a channel alone is no fault."
	}
	return text
}

func waitsOf(n int64) string {
	return wording.Plural(int(n), "wait", "waits")
}

// DelayWords is a delay in nanoseconds in words.
//
//	3597386524 = "3.6 s", 1433000 = "1.4 ms", 21000 = "less than 1 ms"
func DelayWords(ns int64) string {
	switch d := time.Duration(ns); {
	case d == 0 || d >= time.Second:
		return wording.Duration(d)
	case d >= time.Millisecond:
		return wording.Decimal(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return "less than 1 ms"
}

// Lines are the stacks with most delay, at most so many.
func (c *Contention) Lines(most int) (out []string) {
	for i := range c.Stacks[:min(len(c.Stacks), most)] {
		out = append(out, c.Line(&c.Stacks[i]))
	}
	if more := len(c.Stacks) - len(out) + c.More; more > 0 {
		out = append(out, wording.Plural(more, "more stack", "more stacks")+".")
	}
	return out
}

// Line is one stack in words.
//
//	main.(*ledger).flush held a lock while others waited: 5 waits, 3.6 s (99.9 %).
//	main.(*ledger).add waited in sync.(*Mutex).Lock: 20 waits, 3.6 s (71 %).
func (c *Contention) Line(s *ContendedStack) string {
	did := "held a lock while others waited"
	if c.Profile == analysis.BlockProfile {
		did = "waited"
		if leaf, own := s.leaf(), s.Own(); leaf != own {
			did += " in " + shortRole(leaf)
		}
	}
	text := fmt.Sprintf("%s %s: %s, %s", s.name(), did, waitsOf(s.Count), DelayWords(s.DelayNS))
	if c.DelayNS > 0 {
		text += " (" + wording.Share(float64(s.DelayNS)/float64(c.DelayNS)) + ")"
	}
	return text + "."
}

func (s *ContendedStack) name() string {
	if own := s.Own(); own != "" {
		return shortRole(own)
	}
	return "Stacks that are not told apart"
}

func (s *ContendedStack) leaf() string {
	if len(s.Frames) == 0 {
		return ""
	}
	return s.Frames[0]
}

// Own is the first function outside sync and the runtime, else the leaf.
func (s *ContendedStack) Own() string {
	for _, name := range s.Frames {
		if !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/sync.") && !strings.HasPrefix(name, "runtime.") {
			return name
		}
	}
	return s.leaf()
}
