package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"

	"leakdiff/analysis"
)

// Bounds of what is kept and reported of a JVM's locks.
const (
	mostMonitors  = 60_000
	fewestWaiters = 3
	fewestOwners  = 10
	mostContended = 5
)

// monitors are the objects for which threads of one dump wait, and who holds
// them. Addresses mean nothing outside their dump.
type monitors struct {
	waits map[string]*monitor
	holds map[string]holder
	// distinct counts the objects for which the threads of a family wait. owned counts
	// those of all families. waiting counts the threads that wait for one of them.
	distinct map[string]map[string]bool
	owned    int
	waiting  map[string]int
}

// monitor is an object and the threads that cannot go on without it.
type monitor struct {
	class   string
	waiters int
	first   string
}

// holder is a thread inside a lock.
type holder struct{ name, state, at string }

// add notes what a thread waits for and holds. Whoever waits on an object in
// Object.wait() is not blocked by its holder; but the object is one of its own.
func (m *monitors) add(t *analysis.Thread, family string) {
	if m.waits == nil {
		m.waits, m.holds = map[string]*monitor{}, map[string]holder{}
		m.distinct, m.waiting = map[string]map[string]bool{}, map[string]int{}
	}
	waits := false
	for _, l := range t.Locks {
		if l.Object == "" || len(m.waits)+len(m.holds) >= mostMonitors {
			continue
		}
		switch l.How {
		case "waiting to lock":
			w := m.waits[l.Object]
			if w == nil {
				w = &monitor{class: l.Class, first: t.Name}
				m.waits[l.Object] = w
			}
			w.waiters++
			waits = m.own(family, l) || waits
		case "waiting on", "parking to wait for":
			waits = m.own(family, l) || waits
		case "locked", "owns":
			if releases(t, l.Object) {
				continue
			}
			m.holds[l.Object] = holder{name: t.Name, state: t.State, at: topFrame(t.Stack)}
		}
	}
	if waits {
		m.waiting[family]++
	}
}

// own notes an object that identifies its thread. A plain java.lang.Object does not: it
// is the private lock of one thread in many idle pools. Beyond the bound new objects
// are left out together with their threads, and known ones still count.
func (m *monitors) own(family string, l analysis.Lock) bool {
	if l.Class == "" || l.Class == "java.lang.Object" {
		return false
	}
	key := l.Object + " " + l.Class
	if m.distinct[family][key] {
		return true
	}
	if m.owned >= mostMonitors {
		return false
	}
	if m.distinct[family] == nil {
		m.distinct[family] = map[string]bool{}
	}
	m.distinct[family][key] = true
	m.owned++
	return true
}

func topFrame(s *analysis.Stack) string {
	if s == nil || len(s.Frames) == 0 {
		return ""
	}
	return s.Frames[0].Func
}

// contended states two things: the locks that several threads wait for, with their
// holder; and the families whose threads wait for an object each, with as many owners.
func (b *builder) contended(p *part) {
	m := &p.threads.locks
	objects := slices.SortedFunc(maps.Keys(m.waits), func(x, y string) int {
		return cmp.Or(m.waits[y].waiters-m.waits[x].waiters, cmp.Compare(x, y))
	})
	for _, object := range objects[:min(len(objects), mostContended)] {
		w := m.waits[object]
		if w.waiters < fewestWaiters {
			break
		}
		title := fmt.Sprintf("%d threads wait for one lock, a %s", w.waiters, w.class)
		text := fmt.Sprintf("%s and %d others in %s wait for %s (a %s)", strconv.Quote(clip(w.first, 60)), w.waiters-1, path.Base(p.path), object, w.class)
		threads := []string{w.first}
		if h, ok := m.holds[object]; ok {
			text += fmt.Sprintf(", which %s holds while it is %s", strconv.Quote(clip(h.name, 60)), h.state)
			if h.at != "" {
				text += " in " + h.at
			}
			threads = append(threads, h.name)
			text += ". That is contention, no leak: look at what the holder does."
		} else {
			text += ". The dump does not show who holds it."
		}
		b.s.Statements = append(b.s.Statements, analysis.Statement{Key: "contended " + w.class, Title: title, Text: text, Threads: threads, Path: p.path})
	}
	b.owners(p)
}

func (b *builder) owners(p *part) {
	m := &p.threads.locks
	for _, family := range sortedKeys(m.distinct) {
		n, waiting := len(m.distinct[family]), m.waiting[family]
		if n < fewestOwners || n != waiting {
			continue
		}
		g := p.threads.groups[family]
		class := ""
		for key := range m.distinct[family] {
			if at := slices.Index([]byte(key), ' '); class == "" || class > key[at+1:] {
				class = key[at+1:]
			}
		}
		b.s.Statements = append(b.s.Statements, analysis.Statement{
			Key:   "owners " + family,
			Title: fmt.Sprintf("%d of %d threads wait for an object of their own: %s", waiting, g.Count, g.Family.Title),
			Text:  fmt.Sprintf("Those objects are of %s. Idle workers of one executor would wait for the same one.", class),
			Path:  p.path,
		})
	}
}
