package ingest

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// A replicaPlace has the captures of one program whose directories and file names are equal but for time
// and order: "web-0" for "web-0-goroutine-2026-11-01T10-00-00.txt" and "t1/web-0/goroutine.txt".
type replicaPlace struct {
	// dir and file are what the names say; file is "" if the directory alone says something.
	dir, file string
	// sureDirs, one for each element of dir, and sureFile are false if the name may also number captures.
	sureDirs []bool
	sureFile bool
	list     []int
	// first and last identify the process in the first and the last of the captures.
	first, last processIdentity
	// steps are the least and the greatest number of a capture in its series: t3 to t5.
	steps [2]int
	// owner is the place whose process this one's is.
	owner *replicaPlace
}

// The sources of hosts that names state.
const (
	byDirectory = "directory name"
	byFile      = "file name"
)

// mostNeighbours bounds the places with which one is compared.
const mostNeighbours = 32

// hostsByName separates processes that only names tell apart: captures of one program in two
// places that were taken over the same time, that have the same labels, or whose identities or
// names exclude one process, such as replicas. unpacked returns the groups of a snapshot.
func hostsByName(snapshots []analysis.Snapshot, all []*group, unpacked func(i int) []analysis.Group) {
	files, dirs := map[string]map[string]bool{}, map[string]map[string]bool{}
	for i := range snapshots {
		p := &snapshots[i].Process
		key := p.Key()
		if files[key] == nil {
			files[key], dirs[key] = map[string]bool{}, map[string]bool{}
		}
		file, _ := all[i].fileWithout(p)
		dir, _ := all[i].whereOf(p)
		files[key][file], dirs[key][dir] = true, true
	}
	at := map[[3]string]*replicaPlace{}
	programs := map[string][]*replicaPlace{}
	for i := range snapshots {
		p := &snapshots[i].Process
		dir, sureDirs := all[i].whereOf(p)
		file, sureFile := all[i].fileWithout(p)
		// People number captures from 1, and sets of pods from 0.
		sureFile = sureFile || fromZero(files[p.Key()], file)
		if last := len(sureDirs) - 1; last >= 0 {
			sureDirs[last] = sureDirs[last] || fromZero(dirs[p.Key()], dir)
		}
		if len(files[p.Key()]) == 1 { // it tells nothing apart
			file, sureFile = "", false
		}
		if p.Host.Known() || file == "" && (dir == "" || pidTells(p)) {
			continue
		}
		key := [3]string{p.Key(), dir, file}
		if at[key] == nil {
			at[key] = &replicaPlace{dir: dir, file: file, sureDirs: sureDirs, sureFile: sureFile}
			at[key].owner = at[key]
			programs[key[0]] = append(programs[key[0]], at[key])
		}
		step := -1
		if series, n := all[i].tokenOfPath(); series != "" {
			step = n
		}
		if x := at[key]; len(x.list) == 0 {
			x.steps = [2]int{step, step}
		} else {
			x.steps = [2]int{min(x.steps[0], step), max(x.steps[1], step)}
		}
		at[key].list = append(at[key].list, i)
	}
	for _, places := range programs {
		if len(places) < 2 {
			continue
		}
		for _, p := range places {
			first, last := p.list[0], p.list[len(p.list)-1]
			p.first = identityOf(&snapshots[first], unpacked(first), all[first])
			p.last = p.first
			if last != first {
				p.last = identityOf(&snapshots[last], unpacked(last), all[last])
			}
		}
		joinCounted(places)
		apart, common := false, true
		for i, p := range places {
			common = common && p.dir == places[0].dir
			for _, q := range places[max(0, i-mostNeighbours):i] {
				switch same, known := p.oneProcess(q); {
				case p.owner == q.owner:
				case same:
					p.owner = q.owner
				case p.follows(q), q.follows(p): // a restart
				case known, sideBySide(snapshots, p.list, q.list):
					apart = true
				}
			}
		}
		if !apart {
			continue
		}
		shortenDirs(places)
		nameOwners(places)
		for _, p := range places {
			for _, i := range p.list {
				snapshots[i].Process.Host = p.owner.host(common)
			}
		}
	}
}

// shortenDirs leaves out the directories above and below those that differ: the top of an archive
// is nobody's host.
func shortenDirs(places []*replicaPlace) {
	parts := make([][]string, len(places))
	for i, p := range places {
		parts[i] = strings.Split(p.dir, "/")
	}
	shared := func(at func(list []string) string) bool {
		return !slices.ContainsFunc(parts, func(list []string) bool { return len(list) < 2 || at(list) != at(parts[0]) })
	}
	for shared(func(list []string) string { return list[0] }) {
		for i := range parts {
			parts[i] = parts[i][1:]
		}
	}
	for shared(func(list []string) string { return list[len(list)-1] }) {
		for i := range parts {
			parts[i] = parts[i][:len(parts[i])-1]
		}
	}
	for i, p := range places {
		p.dir = strings.Join(parts[i], "/")
	}
}

// host names the process of a place. A directory that all places have is left out.
func (p *replicaPlace) host(common bool) analysis.Fact {
	switch {
	case p.file == "":
		return analysis.Fact{Value: p.dir, Source: byDirectory, Confidence: analysis.Low}
	case common || p.dir == "":
		return analysis.Fact{Value: p.file, Source: byFile, Confidence: analysis.Low}
	}
	return analysis.Fact{Value: p.dir + "/" + p.file, Source: byFile, Confidence: analysis.Low}
}

// follows reports that the names number the captures of p as those after the captures of q.
func (p *replicaPlace) follows(q *replicaPlace) bool {
	return q.steps[0] >= 0 && p.steps[0] > q.steps[1]
}

// pidTells reports a pid that tells processes apart: each container has a pid 1.
func pidTells(p *analysis.Process) bool { return p.PID.Known() && p.PID.Value != "1" }

// whereOf returns the directory's path without its parts about time and program. sure is false for
// those of the rest that may number captures.
func (g *group) whereOf(p *analysis.Process) (where string, sure []bool) {
	var words []string
	counted := strings.TrimRight(g.stem, "0123456789") != g.stem
	for _, word := range strings.Split(strings.ReplaceAll(g.dir, "!", ""), "/") {
		if word == "" || word == p.Name.Value || isToken(word) {
			continue
		}
		name, told := nameOf(strings.ToLower(withoutForms(unpackedName(word))), p)
		switch {
		case name == "" && counted && letter.MatchString(word):
			name = word // the files count the captures
		case name == "":
			continue
		}
		if withoutTime(word) == word {
			name = word
		}
		words, sure = append(words, name), append(sure, told)
	}
	return strings.Join(words, "/"), sure
}

// captureWord is a word of a file's name that says when or in which state a capture was
// taken, or of which version: "t3", "before", "loaded", "v1.5.2"; or the number of a download.
var captureWord = expression.Lazy(`(?i)^(?:[a-z]|\(\d+\)|(?:t|s|n|snap|snapshot|round|run|step|sample|capture|dump|#)[.]?\d+|idle|load(?:ed)?|leak(?:ed|ing|s|y)?|incident|restart(?:ed)?|fixed|normal|healthy|stuck|hang(?:ing)?|peak|(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|noon|evening|night|today|yesterday|v?\d+(?:\.\d+)+|v\d+)$`)

// commitWord is a word that may be the hash of a commit, or of the replica set of a pod.
var commitWord = expression.Lazy(`^(?:\d+[a-f][0-9a-f]{5,39}|[a-f]+\d[0-9a-f]{5,39})$`)

// onceOnHost are programs that run once on a host: a number behind one is of a capture.
var onceOnHost = wordSet(`kubelet containerd dockerd crio kube-proxy node_exporter`)

// fileWithout returns the words of the file's name without those about time, order and kind, ""
// if nothing but the program is left. sure is false if the rest may number captures.
func (g *group) fileWithout(p *analysis.Process) (name string, sure bool) {
	if len(g.parts) > 0 && g.parts[0].placing.product != "" && g.parts[0].placing.pid == 0 {
		return "", false
	}
	if name, sure = nameOf(g.stem, p); letterNumber.MatchString(name) {
		return "", false
	}
	return name, sure
}

// letter is a word that names the capture, or the host where a number of the capture follows: "app-b-2".
var letter = expression.Lazy(`(?i)^[a-z]$`)

// letterNumber is the name of a file that people give captures in order: d1.txt, h0.txt.
var letterNumber = expression.Lazy(`^[a-z]\d{1,3}$`)

// nameOf is what a name without words for the kind says beside program, time and order.
func nameOf(stem string, p *analysis.Process) (name string, sure bool) {
	program := strings.ToLower(p.Name.Value)
	var words []string
	all := nameWords(stem)
	for i, word := range all {
		first := len(words) == 0 && strings.Trim(word, "0123456789.") == ""
		switch {
		case isAddress(word), i > 0 && letter.MatchString(word) && i < len(all)-1 && strings.Trim(all[i+1], "0123456789") == "":
		case first, ordinal(word), captureWord.MatchString(word), i == len(all)-1 && commitWord.MatchString(word):
			continue
		}
		words = append(words, word)
	}
	if len(words) == 0 || len(words) == 1 && (words[0] == program || fileWord.MatchString(words[0])) {
		return "", false
	}
	name = strings.Join(words, "-")
	stem = strings.TrimRight(strings.TrimRight(name, "0123456789"), "-.")
	numbered := stem != name && !isAddress(name) && (len(words) == 1 || len(words) == 2 && stem == words[0])
	// A program that only names tell is as its files are called.
	stated := stem == program && p.Name.Source != byFile
	return name, !numbered || !stated && (!programs[stem] || hostRole[stem]) && (stem == "app" || !fileWord.MatchString(stem))
}

// nameWords are the words of a name without its times and pid. An address is one word, however
// its parts are joined.
func nameWords(stem string) []string {
	stem = pidWord.ReplaceAllString(withoutTime(stem), "")
	if dotted := strings.ReplaceAll(strings.Trim(stem, "._-"), "-", "."); isAddress(dotted) {
		return []string{dotted}
	}
	words := strings.FieldsFunc(stem, func(c rune) bool { return strings.ContainsRune("_-+ ", c) })
	for i := range words {
		words[i] = strings.Trim(words[i], ".")
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}

// fromZero reports a name whose number is one of several that begin with 0, unless all hosts have
// one such program.
func fromZero(names map[string]bool, name string) bool {
	stem := strings.TrimRight(name, "0123456789")
	bare := strings.TrimRight(stem[strings.LastIndexByte(stem, '/')+1:], "-")
	return stem != name && names[stem+"0"] && !onceOnHost[bare] && (bare == "app" || !fileWord.MatchString(bare))
}

// processIdentity has what stays the same in captures of one process: numbers of goroutines and
// threads with their families, inodes of sockets and pipes. JVMs number their threads alike; where
// a dump prints the addresses of threads, these stand for the numbers.
type processIdentity struct {
	pid, start string
	// age is that of the oldest thread of a JVM in seconds, 0 if it is not known.
	age      float64
	kinds    [2]identities
	listener analysis.Listener
	// newest is the largest number of a goroutine; creators are those of the early ones.
	newest   int64
	creators map[int64]string
}

// identities are hashes of members, in order: those up to bound of too many.
type identities struct {
	hashes []uint64
	bound  uint64
	// highest is the largest number of a member.
	highest int64
}

const (
	// mostIdentities bounds the members of a capture that are compared.
	mostIdentities = 4096
	// startNumbers are the numbers that goroutines and threads of the start have in every
	// process of a program.
	startNumbers = 64
)

func identityOf(s *analysis.Snapshot, groups []analysis.Group, g *group) processIdentity {
	out := processIdentity{start: s.Process.Start.Value, listener: s.Listener, creators: map[int64]string{}}
	for _, p := range g.parts {
		if p.threads != nil && len(out.kinds[0].hashes) == 0 {
			out.kinds[0], out.age = p.threads.addresses, p.threads.oldest
		}
	}
	addressed := len(out.kinds[0].hashes) > 0
	if pidTells(&s.Process) {
		out.pid = s.Process.PID.Value
	}
	for i := range groups {
		f := groups[i].Family
		switch f.Kind {
		case analysis.KindGoroutine, analysis.KindThread:
			for id := range groups[i].Members.IDs() {
				if f.Kind == analysis.KindGoroutine {
					out.newest = max(out.newest, id)
					if id <= earlyNumbers {
						out.creators[id] = f.LooseCreator
					}
				}
				if id > startNumbers && (f.Kind == analysis.KindGoroutine || !addressed) {
					out.kinds[0].add(id, f.Fingerprint)
				}
			}
		case analysis.KindDescriptor:
			if f.Attributes["protocol"] == "" && f.Attributes["type"] != "pipe" {
				continue
			}
			for id := range groups[i].Members.Identities() {
				if id.Sub > 0 {
					out.kinds[1].add(id.Sub, "")
				}
			}
		}
	}
	for k := range out.kinds {
		x := &out.kinds[k]
		slices.Sort(x.hashes)
		x.hashes, x.bound = slices.Compact(x.hashes), math.MaxUint64
		if len(x.hashes) > mostIdentities {
			x.hashes = slices.Clone(x.hashes[:mostIdentities])
			x.bound = x.hashes[mostIdentities-1]
		}
	}
	return out
}

func (x *identities) add(number int64, family string) {
	h := fnv.New64a()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(number))
	h.Write(b[:])
	h.Write([]byte(family))
	x.hashes, x.highest = append(x.hashes, h.Sum64()), max(x.highest, number)
}

// oneProcess reports whether the captures of two places are of one process, and whether that is
// known: pid, start or members that stay say so. Without any of them, names of files do.
func (p *replicaPlace) oneProcess(q *replicaPlace) (same, known bool) {
	if p.file != q.file && p.sureFile && q.sureFile && p.first.age > 0 && q.last.age > p.first.age {
		return false, true // JVMs may have equal addresses; none grows younger
	}
	for _, pair := range [][2]*processIdentity{{&p.last, &q.first}, {&q.last, &p.first}} {
		a, b := pair[0], pair[1]
		if a.pid != "" && b.pid != "" {
			return a.pid == b.pid, true
		}
		if a.start != "" && a.start == b.start {
			return true, true
		}
		if same, known := a.listener.SameProcess(b.listener); known {
			return same, true
		}
		for k := range a.kinds {
			some, told := a.kinds[k].survive(&b.kinds[k])
			if some {
				return true, true
			}
			known = known || told
		}
	}
	return false, known || p.dir != q.dir && p.sureOf(q) || p.file != q.file && p.sureFile && q.sureFile
}

// sureOf reports that an element in which the directories differ is sure.
func (p *replicaPlace) sureOf(q *replicaPlace) bool {
	a, b := strings.Split(p.dir, "/"), strings.Split(q.dir, "/")
	for i := range min(len(p.sureDirs), len(q.sureDirs)) {
		if a[i] != b[i] && p.sureDirs[i] && q.sureDirs[i] {
			return true
		}
	}
	return false
}

// survive reports whether some members of one capture are in the other, and whether both have
// members that tell. Large families share numbers by chance: more than twice as many must stay.
func (x *identities) survive(y *identities) (some, known bool) {
	bound := min(x.bound, y.bound)
	n, all := 0, [2]int{}
	for i, list := range [][]uint64{x.hashes, y.hashes} {
		all[i], _ = slices.BinarySearch(list, bound)
	}
	j := 0
	for _, h := range x.hashes[:all[0]] {
		for j < all[1] && y.hashes[j] < h {
			j++
		}
		if j < all[1] && y.hashes[j] == h {
			n++
		}
	}
	least := min(all[0], all[1])
	if least == 0 || n == 0 {
		return false, least > 0
	}
	share := float64(bound) / math.MaxUint64
	chance := float64(all[0]) * float64(all[1]) / share / float64(max(x.highest, y.highest))
	some = 2*n >= least || float64(n) > 2*chance
	return some, some
}
