package join

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// Monitors collects the objects that the threads of one JVM dump lock and wait for. The zero
// value is ready.
type Monitors struct {
	full bool
	// shown is set once a thread has shown any object: the form of the dump prints them.
	shown    bool
	threads  []monitorThread
	monitors []monitor
	at       map[monitorKey]int32
	classes  names
	roles    names
}

// mostMonitorThreads bounds the threads that are joined, mostThreadMonitors what one shows.
const mostMonitorThreads, mostThreadMonitors = 1 << 20, 16

type monitorThread struct {
	id   int64
	role int32
}

type monitorKey struct {
	object string
	class  int32
}

// monitor is an object with the threads that show it, in order, and whether all of them
// wait for it.
type monitor struct {
	class   int32
	threads []uint32
	waits   bool
}

// Add takes a thread. role is what tells its work from that of others.
func (m *Monitors) Add(id int64, role string, locks []analysis.Lock) {
	if m.full {
		return
	}
	var shown []int32
	for _, l := range locks {
		m.shown = m.shown || l.Object != ""
		if l.Object == "" || l.How == "eliminated" || !monitorClass(l.Class) || len(shown) == mostThreadMonitors {
			continue
		}
		if m.at == nil {
			m.at = map[monitorKey]int32{}
		}
		key := monitorKey{l.Object, m.classes.number(l.Class)}
		at, known := m.at[key]
		if !known {
			at = int32(len(m.monitors))
			m.at[key] = at
			m.monitors = append(m.monitors, monitor{class: key.class, waits: true})
		}
		if slices.Contains(shown, at) {
			continue
		}
		shown = append(shown, at)
		m.monitors[at].waits = m.monitors[at].waits && l.How != "locked" && l.How != "owns"
	}
	if len(shown) == 0 {
		return
	}
	if len(m.threads) == mostMonitorThreads {
		*m = Monitors{full: true}
		return
	}
	thread := uint32(len(m.threads))
	m.threads = append(m.threads, monitorThread{id, m.roles.number(role)})
	for _, at := range shown {
		m.monitors[at].threads = append(m.monitors[at].threads, thread)
	}
}

// monitorClass reports whether an object of a class is a thing of the program. A lock stands
// for what it guards, which the dump does not name; a stream of the library or a selector
// for a connection.
//
//	"okhttp3.ConnectionPool"                                             = true
//	"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject" = false
func monitorClass(class string) bool {
	if class == "" || class[0] == '[' { // "[I" is an array
		return false
	}
	for _, prefix := range [...]string{"java.lang.", "java.util.concurrent.locks.", "java.io.", "java.net.", "java.nio.", "sun.nio.", "java.util.Collections$"} {
		if strings.HasPrefix(class, prefix) {
			return false
		}
	}
	return !strings.HasSuffix(class, "Sync") && class != "java.util.concurrent.ThreadPoolExecutor$Worker"
}

// Objects joins the threads by the rules of goroutines, nil if they show no objects. A class
// with one object is counted if one thread of each role shows it: other dumps of the process
// may have more.
func (m *Monitors) Objects() *analysis.Objects {
	if m.full || !m.shown {
		return nil
	}
	rules := m.measure()
	union := newUnion(len(m.threads))
	joined := make([][]uint32, len(m.monitors))
	for i := range m.monitors {
		joined[i] = m.joined(&m.monitors[i], rules)
		for _, t := range joined[i] {
			union.join(joined[i][0], t)
		}
	}
	// An object is known by its first thread. Its class is the one that joins most of its
	// threads.
	votes, held := map[uint32]map[int32]int{}, map[uint32]bool{}
	for i, threads := range joined {
		if len(threads) == 0 {
			continue
		}
		first := union.find(threads[0])
		if votes[first] == nil {
			votes[first] = map[int32]int{}
		}
		votes[first][m.monitors[i].class] += len(threads)
		held[first] = held[first] || !m.monitors[i].waits
	}
	parts := map[uint32][]uint32{}
	for t := range m.threads {
		if first := union.find(uint32(t)); votes[first] != nil {
			parts[first] = append(parts[first], uint32(t))
		}
	}
	kinds := map[string]*analysis.ObjectKind{}
	for t := range m.threads {
		if threads := parts[uint32(t)]; len(threads) > 0 && len(threads) <= mostParts {
			m.addObject(kinds, threads, m.best(votes[uint32(t)]), !held[uint32(t)])
		}
	}
	out := &analysis.Objects{Threads: true}
	for _, k := range kinds {
		out.Kinds = append(out.Kinds, *k)
	}
	slices.SortFunc(out.Kinds, func(x, y analysis.ObjectKind) int {
		return cmp.Or(y.Count-x.Count, strings.Compare(x.Type, y.Type), slices.CompareFunc(x.Each, y.Each, func(p, q analysis.ObjectRole) int {
			return cmp.Or(strings.Compare(p.Role, q.Role), p.N-q.N)
		}))
	})
	out.Kinds = out.Kinds[:min(len(out.Kinds), mostKinds)]
	return out
}

// measure decides for each class and role whether the role joins.
func (m *Monitors) measure() map[link]*rule {
	rules, objects := map[link]*rule{}, make([]int, len(m.classes.all))
	for i := range m.monitors {
		class := m.monitors[i].class
		objects[class]++
		for role, n := range m.count(&m.monitors[i]) {
			l := link{class, role}
			if rules[l] == nil {
				rules[l] = &rule{}
			}
			rules[l].instances++
			if n <= mostMultiple {
				rules[l].times[n]++
			}
		}
	}
	for l, r := range rules {
		if r.decide(false); objects[l.class] == 1 {
			r.joins = int(r.times[1])
		}
	}
	return rules
}

func (m *Monitors) count(o *monitor) map[int32]int {
	counts := map[int32]int{}
	for _, t := range o.threads {
		counts[m.threads[t].role]++
	}
	return counts
}

// joined are the threads of an object that are its parts.
func (m *Monitors) joined(o *monitor, rules map[link]*rule) (out []uint32) {
	counts := m.count(o)
	most := 0
	for role, n := range counts {
		if r := rules[link{o.class, role}]; n <= r.joins {
			most = max(most, r.instances)
		}
	}
	for _, t := range o.threads {
		role := m.threads[t].role
		if r := rules[link{o.class, role}]; counts[role] <= r.joins && together(r.instances, most) {
			out = append(out, t)
		}
	}
	if len(out) > mostSharers {
		return nil
	}
	return out
}

// best is the class that an object is named for: one outside the standard library first.
func (m *Monitors) best(votes map[int32]int) int32 {
	best := int32(none)
	for class, n := range votes {
		if best < 0 || cmp.Or(compareBool(libraryClass(m.classes.all[best]), libraryClass(m.classes.all[class])), n-votes[best], strings.Compare(m.classes.all[best], m.classes.all[class])) > 0 {
			best = class
		}
	}
	return best
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func libraryClass(class string) bool {
	for _, prefix := range [...]string{"java.", "javax.", "jdk.", "sun.", "com.sun."} {
		if strings.HasPrefix(class, prefix) {
			return true
		}
	}
	return false
}

// addObject adds an object to its kind: those of one class whose threads do the same.
func (m *Monitors) addObject(kinds map[string]*analysis.ObjectKind, threads []uint32, class int32, waits bool) {
	counts := map[string]int{}
	row := analysis.ObjectRow{Root: m.threads[threads[0]].id}
	for _, t := range threads {
		role := m.roles.all[m.threads[t].role]
		if waits {
			role += analysis.WaitsOnIt
		}
		counts[role]++
		row.Parts = append(row.Parts, m.threads[t].id)
	}
	slices.Sort(row.Parts)
	k := &analysis.ObjectKind{Type: m.classes.all[class], Name: shortClass(m.classes.all[class]), Level: analysis.ByAddress, Parts: len(threads)}
	for role, n := range counts {
		k.Each = append(k.Each, analysis.ObjectRole{Role: role, N: n, Level: analysis.ByAddress})
	}
	slices.SortFunc(k.Each, func(x, y analysis.ObjectRole) int { return cmp.Or(y.N-x.N, strings.Compare(x.Role, y.Role)) })
	key := k.Type
	for _, r := range k.Each {
		key += "\n" + strings.Repeat("+", r.N) + r.Role
	}
	if kinds[key] == nil {
		kinds[key] = k
	}
	kinds[key].Append(row)
}

// shortClass is a class with the last part of its package.
//
//	"com.example.net.Pool$Worker" = "net.Pool$Worker"
func shortClass(class string) string {
	last := strings.LastIndexByte(class, '.')
	if last < 0 {
		return class
	}
	return class[strings.LastIndexByte(class[:last], '.')+1:]
}
