package redact

import (
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Case is what a redactor learns names from.
type Case struct {
	// Series are the snapshots of each process, in time order; none is empty.
	Series   [][]*analysis.Snapshot
	Problems []analysis.Problem
	// Hosts are the names of machines, those among them that a person has replaced.
	Hosts []string
	// Files are the names of uploads.
	Files []string
	// Said are the texts that people wrote: titles, notes, fields, events.
	Said []string
}

// FromCases makes a redactor that knows the names in the evidence of the cases, and those
// that people wrote, and hides them in whatever pieces they stand in a text:
// hosts, those that a person has replaced or left out among them, pods, namespaces,
// users, directories and files.
func FromCases(cases []Case) *Redactor {
	r := New(nil)
	users := map[string]bool{}
	for i := range cases {
		c := &cases[i]
		usersOf(c, users)
	}
	for i := range cases {
		c := &cases[i]
		keepNames(r, c, users)
	}
	for i := range cases {
		c := &cases[i]
		for _, snapshots := range c.Series {
			for _, snap := range snapshots {
				r.KeepRound(snap.Label)
			}
		}
	}
	for _, u := range slices.Sorted(maps.Keys(users)) {
		r.LearnUser(u)
	}
	for i := range cases {
		c := &cases[i]
		learnNames(r, c)
		learnSaid(r, c)
	}
	for i := range cases {
		c := &cases[i]
		locateNames(r, c)
	}
	return r
}

// usersOf adds the users that the evidence of a case names, those of directories among
// them.
func usersOf(c *Case, users map[string]bool) {
	for stack := range allStacks(c) {
		for _, f := range stack.Frames {
			users[HomeOf(f.File)] = true
		}
	}
	for _, snapshots := range c.Series {
		for _, snap := range snapshots {
			for _, u := range snap.Users {
				users[strings.ToLower(u)] = true
			}
			for _, g := range snap.Groups {
				for _, path := range []string{g.Family.Title, g.Family.Attributes["name"], g.Family.Attributes["path"]} {
					users[HomeOf(path)] = true
				}
			}
		}
	}
	delete(users, "")
}

// allStacks are the different stacks of a case.
func allStacks(c *Case) iter.Seq[*analysis.Stack] {
	return func(yield func(*analysis.Stack) bool) {
		seen := map[*analysis.Stack]bool{}
		for _, snapshots := range c.Series {
			for _, snap := range snapshots {
				for i := range snap.Groups {
					for _, v := range snap.Groups[i].Variants {
						if v.Stack == nil || seen[v.Stack] {
							continue
						}
						seen[v.Stack] = true
						if !yield(v.Stack) {
							return
						}
					}
				}
			}
		}
	}
}

// keepNames tells which words of a case are no secret. A program that is called as a
// user is may be somebody's own.
func keepNames(r *Redactor, c *Case, users map[string]bool) {
	for _, snapshots := range c.Series {
		if name := snapshots[0].Process.Name.Value; !users[strings.ToLower(name)] {
			r.Keep(name)
		} else {
			r.Know(Users, name)
		}
		seen := map[string]bool{}
		for _, snap := range snapshots {
			for i := range snap.Groups {
				f := snap.Groups[i].Family
				if !seen[f.Fingerprint] && (f.Kind == analysis.KindGoroutine || f.Kind == analysis.KindThread) {
					r.Keep(append(f.Loose[:len(f.Loose):len(f.Loose)], f.LooseCreator)...)
				}
				seen[f.Fingerprint] = true
			}
		}
	}
}

// learnSaid learns what people wrote of a case, and how they called its files.
func learnSaid(r *Redactor, c *Case) {
	for _, name := range c.Files {
		r.LearnName(name)
	}
	for _, text := range c.Said {
		r.LearnSaid(text)
	}
}

// locateNames tells where in the evidence names stand first.
func locateNames(r *Redactor, c *Case) {
	for _, snapshots := range c.Series {
		for _, snap := range snapshots {
			where := snap.Process.Host.Source // the name of a file beside those that were counted, mostly
			for _, a := range snap.Artifacts {
				if path.Base(a.Path) == where {
					where = a.Path
				}
			}
			if where != "" {
				r.Locate(snap.Process.Host.Value, where, 0)
			}
			for i := range snap.Groups {
				g := &snap.Groups[i]
				members := g.Members // a copy: the group is shared
				members.Unpack()
				seen := map[string]bool{}
				for k := 0; k < len(members.Detail) && len(seen) < mostLocated; k++ {
					detail, at := members.Detail[k], members.At(k).Place
					if !seen[detail] && at.Artifact >= 0 && at.Artifact < len(snap.Artifacts) {
						seen[detail] = true
						r.Locate(detail, snap.Artifacts[at.Artifact].Path, at.Line)
					}
				}
			}
			for _, a := range snap.Artifacts {
				r.Locate(a.Path, a.Path, 0)
			}
		}
	}
}

// mostLocated is how many different members of a family in one snapshot are looked
// through for the places of what is hidden.
const mostLocated = 25

// learnNames tells which words of a case are.
func learnNames(r *Redactor, c *Case) {
	r.Know(Hosts, c.Hosts...)
	seen := map[string]bool{}
	learn := func(s string) {
		if !seen[s] {
			seen[s] = true
			r.LearnEvidence(s)
		}
	}
	sources := map[string]bool{}
	for stack := range allStacks(c) {
		for _, f := range append(stack.Frames[:len(stack.Frames):len(stack.Frames)], stack.CreatedBy) {
			if dir := f.File[:strings.LastIndexAny(f.File, `/\`)+1]; dir != "" && !sources[dir] {
				sources[dir] = true
				r.LearnSource(f.File)
			}
		}
	}
	for _, p := range c.Problems {
		learn(p.What)
		learn(p.Why)
	}
	for _, snapshots := range c.Series {
		for _, snap := range snapshots {
			r.LearnName(snap.Label)
			r.Know(Users, snap.Users...)
			for _, targets := range snap.Watched {
				for _, t := range targets {
					r.LearnPair("", t.What)
					if namespace, pod, ok := strings.Cut(t.Pod, "/"); ok {
						r.Know(Namespaces, namespace)
						r.Know(Pods, pod)
					}
				}
			}
			for _, a := range snap.Artifacts {
				learn(a.Path)
				r.LearnFile(a.Path)
			}
			for i := range snap.Groups {
				g := &snap.Groups[i]
				learn(g.Family.Title)
				for name, value := range g.Family.Attributes {
					r.LearnPair(name, value)
				}
				members := g.Members // a copy: the group is shared
				members.Unpack()
				for _, detail := range members.Detail[:min(len(members.Detail), mostDetails)] {
					learn(detail)
				}
			}
		}
	}
}

// mostDetails is how many members of a family are looked through for names; those that
// a record lists are looked through in any case.
const mostDetails = 5000
