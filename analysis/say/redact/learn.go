package redact

import (
	"iter"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Case is the material from which a redactor learns names. Every field may be empty.
type Case struct {
	// Series are the snapshots of each process, in time order; none is empty.
	Series   [][]*analysis.Snapshot
	Problems []analysis.Problem
	// Hosts are names of machines beside those of the snapshots: a person replaced
	// them, or left their snapshots out.
	Hosts []string
	// Files are the names of uploads.
	Files []string
	// Said are the texts that people wrote: titles, notes, fields, events.
	Said []string
}

const (
	// mostDetails is how many members of a family in one snapshot are searched for
	// names. A caller that lists more members must pass them to LearnEvidence.
	mostDetails = 5000
	// mostLocated is how many different members of a family in one snapshot are
	// searched for the places of names.
	mostLocated = 25
)

// New makes a redactor for a result of these cases. It learns the hosts, pods,
// namespaces, users, directories and files in the evidence and in the texts of people,
// and hides each of them wherever a part of it occurs.
//
// The order matters. Programs come first: a program is not well-known because a package has
// its name. Then come the words of functions, because other names are hidden only if no
// function has them, then all names, and last their places.
func New(cases ...Case) *Redactor { return learned(nil, cases) }

func learned(as *forms, cases []Case) *Redactor {
	r := newRedactor()
	r.forms = as
	users := map[string]bool{}
	for i := range cases {
		cases[i].users(users)
	}
	for i := range cases {
		r.keepPrograms(&cases[i], users)
	}
	for i := range cases {
		r.keepFunctions(&cases[i])
	}
	for i := range cases {
		for snap := range cases[i].snapshots() {
			r.keepRound(snap.Label)
		}
	}
	for _, u := range slices.Sorted(maps.Keys(users)) {
		r.learnUser(u)
	}
	for i := range cases {
		r.learnCase(&cases[i])
	}
	for i := range cases {
		r.allowCase(&cases[i])
	}
	for i := range cases {
		r.locateNames(&cases[i])
	}
	return r
}

func (c *Case) snapshots() iter.Seq[*analysis.Snapshot] {
	return func(yield func(*analysis.Snapshot) bool) {
		for _, snapshots := range c.Series {
			for _, snap := range snapshots {
				if !yield(snap) {
					return
				}
			}
		}
	}
}

// stacks yields the different stacks of a case.
func (c *Case) stacks() iter.Seq[*analysis.Stack] {
	return func(yield func(*analysis.Stack) bool) {
		seen := map[*analysis.Stack]bool{}
		for snap := range c.snapshots() {
			for i := range snap.Contention {
				for _, c := range snap.Contention[i].Stacks {
					if !yield(&analysis.Stack{Frames: c.Frames}) {
						return
					}
				}
			}
			for i := range snap.Statements {
				if stack := snap.Statements[i].Stack; stack != nil && !yield(stack) {
					return
				}
			}
			for _, row := range snap.HeapRows() {
				if !yield(&analysis.Stack{Frames: row.Frames}) {
					return
				}
			}
			for _, all := range snap.Ancestries {
				for _, a := range all {
					for i := range a.Stacks {
						if !yield(&a.Stacks[i]) {
							return
						}
					}
				}
			}
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

// users adds the names of users in the evidence, in lower case: owners of processes and
// of home directories.
func (c *Case) users(names map[string]bool) {
	for stack := range c.stacks() {
		for _, f := range stack.Frames {
			names[homeOf(f.File)] = true
		}
	}
	for snap := range c.snapshots() {
		for _, u := range snap.Users {
			names[strings.ToLower(u)] = true
		}
		for _, g := range snap.Groups {
			for _, path := range []string{g.Family.Title, g.Family.Attributes["name"], g.Family.Attributes["path"]} {
				names[homeOf(path)] = true
			}
		}
	}
	delete(names, "")
}

// keepPrograms keeps the names of well-known programs. A program with the name of a user
// may be that user's own, so it is hidden as any other.
func (r *Redactor) keepPrograms(c *Case, users map[string]bool) {
	for _, snapshots := range c.Series {
		r.keepProgram(snapshots[0].Process.Name.Value, users)
		for _, s := range snapshots {
			if name := s.Process.Called.Value; name != "" {
				r.keepProgram(name, users)
			}
		}
	}
}

func (r *Redactor) keepProgram(name string, users map[string]bool) {
	switch {
	case users[strings.ToLower(name)]:
		r.know(Users, name)
	case r.harmless(name, free):
		r.keep(name)
	default:
		r.know(Programs, name)
	}
}

// keepFunctions keeps the names of functions with their packages.
func (r *Redactor) keepFunctions(c *Case) {
	for _, snapshots := range c.Series {
		seen := map[string]bool{}
		for _, snap := range snapshots {
			for i := range snap.Groups {
				f := snap.Groups[i].Family
				if !seen[f.Fingerprint] && (f.Kind == analysis.KindGoroutine || f.Kind == analysis.KindThread) {
					r.keepFunction(f.Loose...)
					r.keepFunction(f.LooseCreator)
				}
				seen[f.Fingerprint] = true
			}
			r.keepObjects(snap.Joined)
			for _, row := range snap.HeapRows() {
				r.keepFunction(row.Name)
				for _, f := range row.Frames {
					r.keepFunction(f.Func)
				}
			}
			for i := range snap.Contention {
				for _, c := range snap.Contention[i].Stacks {
					for _, f := range c.Frames {
						r.keep(f.Func)
					}
				}
			}
		}
	}
}

// keepFunction keeps the names of functions with their packages, but not the private
// machine that a module is named after: "git.acme.corp/pay/ledger.Open".
func (r *Redactor) keepFunction(names ...string) {
	for _, name := range names {
		host, rest, ok := strings.Cut(name, "/")
		if dot := strings.LastIndexByte(host, '.'); ok && dot > 0 && inside()[host[dot+1:]] {
			r.know(Hosts, strings.TrimLeft(host, "*[]"))
			name = rest
		}
		r.keep(name)
	}
}

// keepObjects keeps the names of types and functions of objects, as those of functions.
func (r *Redactor) keepObjects(o *analysis.Objects) {
	if o == nil {
		return
	}
	for i := range o.Kinds {
		k := &o.Kinds[i]
		r.keepFunction(k.Name, k.Type)
		for _, role := range k.Each {
			r.keepFunction(strings.Split(role.Role, " < ")...)
		}
		for _, h := range k.Holders {
			r.keepFunction(h.Type)
		}
	}
}

// learnCase learns the names in the evidence of a case and in the texts about it.
func (r *Redactor) learnCase(c *Case) {
	r.know(Hosts, c.Hosts...)
	for snap := range c.snapshots() {
		r.know(Hosts, snap.Process.Host.Value)
	}
	r.learnSources(c)
	seen := map[string]bool{}
	learn := func(s string) {
		if !seen[s] {
			seen[s] = true
			r.learnEvidence(s)
		}
	}
	for _, p := range c.Problems {
		learn(p.What)
		learn(p.Why)
		r.learnFile(p.Path) // the file may belong to no snapshot
	}
	for snap := range c.snapshots() {
		r.learnSnapshot(snap, learn)
	}
	for _, name := range c.Files {
		r.learnName(name)
	}
	for _, text := range c.Said {
		r.LearnSaid(text)
	}
}

// learnSources learns the directories above the source files of stacks.
func (r *Redactor) learnSources(c *Case) {
	seen := map[string]bool{}
	learn := func(f analysis.Frame) {
		r.keepFile(f)
		if dir := f.File[:strings.LastIndexAny(f.File, `/\`)+1]; dir != "" && !seen[dir] {
			seen[dir] = true
			r.learnSource(f.File)
		}
	}
	for stack := range c.stacks() {
		for _, f := range stack.Frames {
			learn(f)
		}
		learn(stack.CreatedBy)
	}
}

// learnSnapshot learns the names in one snapshot. learn takes a text of the evidence.
func (r *Redactor) learnSnapshot(snap *analysis.Snapshot, learn func(string)) {
	r.learnName(snap.Label)
	r.know(Users, snap.Users...)
	for _, print := range slices.Sorted(maps.Keys(snap.Watched)) {
		for _, t := range snap.Watched[print] {
			r.learnPair("", t.What)
			if namespace, pod, ok := strings.Cut(t.Pod, "/"); ok {
				r.know(Namespaces, namespace)
				r.know(Pods, pod)
			}
		}
	}
	for _, a := range snap.Artifacts {
		learn(a.Path)
		r.learnFile(a.Path)
	}
	for _, print := range slices.Sorted(maps.Keys(snap.Labels)) {
		for _, l := range snap.Labels[print] {
			learn(l.Value)
			r.learnPair(l.Key, l.Value)
		}
	}
	for i := range snap.Groups {
		g := &snap.Groups[i]
		learn(g.Family.Title)
		for labels := range g.Members.LabelSets() {
			for _, l := range labels.List() {
				learn(l.Value)
				r.learnPair(l.Key, l.Value)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(g.Family.Attributes)) {
			r.learnPair(name, g.Family.Attributes[name])
		}
		for detail := range details(g, mostDetails) {
			learn(detail.Detail)
		}
	}
}

// locateNames records where in the evidence each name occurs first.
func (r *Redactor) locateNames(c *Case) {
	for snap := range c.snapshots() {
		r.locateHost(snap)
		for i := range snap.Groups {
			r.locateMembers(snap, &snap.Groups[i])
		}
		for _, a := range snap.Artifacts {
			r.Locate(a.Path, a.Path, 0)
		}
	}
}

// locateHost records which file named the host. The source of a host is mostly the name
// of a file beside the artifacts, without its directory.
func (r *Redactor) locateHost(snap *analysis.Snapshot) {
	where := snap.Process.Host.Source
	for _, a := range snap.Artifacts {
		if path.Base(a.Path) == where {
			where = a.Path
		}
	}
	if where != "" {
		r.Locate(snap.Process.Host.Value, where, 0)
	}
}

func (r *Redactor) locateMembers(snap *analysis.Snapshot, g *analysis.Group) {
	seen := map[string]bool{}
	for m := range details(g, math.MaxInt) {
		if len(seen) == mostLocated {
			return
		}
		if at := m.Place; !seen[m.Detail] && at.Artifact >= 0 && at.Artifact < len(snap.Artifacts) {
			seen[m.Detail] = true
			r.Locate(m.Detail, snap.Artifacts[at.Artifact].Path, at.Line)
		}
	}
}

// details returns the first members with words of their own, at most limit of them.
// Goroutines have none.
func details(g *analysis.Group, limit int) iter.Seq[analysis.Member] {
	return func(yield func(analysis.Member) bool) {
		if g.Family.Kind == analysis.KindGoroutine {
			return
		}
		n := 0
		for m := range g.Members.All() {
			if m.Detail == "" {
				continue
			}
			if n++; n > limit || !yield(m) {
				return
			}
		}
	}
}
