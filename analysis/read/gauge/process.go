package gauge

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// Process is one process of one listing of ps or top.
type Process struct {
	// PID is 0 for the ended children of which the listing does not tell the parent. Args are nil
	// where it has no row of it.
	PID  int
	Args []string
	// Sole reports the one parent of all rows of a listing that has no row of it: who listed its
	// children meant this process.
	Sole bool
	// Figures are process_resident_memory_bytes, os_threads and EndedChildren.
	Figures map[string]float64
	// Point numbers the listings of the text, Begins is the offset of its first line.
	Point  int
	Begins int64
}

// EndedChildren is how many children have ended that their parent has not waited for.
const EndedChildren = "ended_children"

const (
	memory  = "process_resident_memory_bytes"
	threads = "os_threads"
)

// mostProcesses is how many processes of a text are kept, those with the most memory: what leaks
// memory comes to be among them. mostProcessRows bounds what is looked at.
const (
	mostProcesses   = 30
	mostProcessRows = 100_000
)

// IsProcesses reports whether a line is the head of a listing of ps or top that ParseProcesses reads:
// it names the process, its memory or its state, and its command at the end.
func IsProcesses(text string) bool { return readProcessHead(text) != nil }

// processHead is the number of the column of each name, from the left.
type processHead map[string]int

// readProcessHead reads a head in any order of columns. It is nil for other lines, and for those of
// threads, which have a row for each of them.
func readProcessHead(text string) processHead {
	words := strings.Fields(text)
	if len(words) < 3 || len(words) > 40 {
		return nil
	}
	head := processHead{}
	for i, w := range words {
		switch w {
		case "RES", "RSZ":
			w = "RSS"
		case "S":
			w = "STAT"
		case "CMD", "ARGS":
			w = "COMMAND"
		case "THCNT":
			w = "NLWP"
		}
		if w != strings.ToUpper(w) {
			return nil
		}
		head[w] = i
	}
	has := func(name string) bool { _, ok := head[name]; return ok }
	rows := has("LWP") || has("TID") || has("SPID")
	if !has("PID") || rows || head["COMMAND"] != len(words)-1 || !has("RSS") && !has("STAT") && !has("PPID") {
		return nil
	}
	return head
}

// processRow is a row of a listing. memory and threads are -1 where it does not tell them.
type processRow struct {
	pid, parent     int
	memory, threads float64
	ended, kernel   bool
	args            []string
}

// read reads a row. A time of start has five words under STARTED and under a head that top does not
// have; all other values are one word.
func (h processHead) read(text string) (row processRow, ok bool) {
	words := strings.Fields(text)
	if at, dated := h["STARTED"]; dated && at+5 <= len(words) && isWeekday(words[at]) {
		words = slices.Replace(words, at, at+5, strings.Join(words[at:at+5], " "))
	}
	if len(words) <= h["COMMAND"] {
		return row, false
	}
	row = processRow{memory: -1, threads: -1, args: withoutTree(words[h["COMMAND"]:])}
	column := func(name string) string {
		if at, ok := h[name]; ok {
			return words[at]
		}
		return ""
	}
	var err error
	if row.pid, err = strconv.Atoi(column("PID")); err != nil || row.pid <= 0 {
		return row, false
	}
	row.parent, _ = strconv.Atoi(column("PPID"))
	if text := column("RSS"); text != "" {
		if row.memory, ok = kibibytes(text); !ok {
			return row, false
		}
	}
	if v, ok := number(column("NLWP")); ok {
		row.threads = v
	}
	row.ended = strings.HasPrefix(column("STAT"), "Z") || row.args[len(row.args)-1] == "<defunct>"
	row.kernel = !row.ended && strings.HasPrefix(row.args[0], "[") && row.memory <= 0
	return row, true
}

// withoutTree cuts the lines of a tree of processes from the begin of a command (ps --forest, ps f,
// top).
//
//	"|   \_ node a.js"   "node a.js"
func withoutTree(args []string) []string {
	for len(args) > 1 && strings.Trim(args[0], "|\\`-_") == "" {
		args = args[1:]
	}
	return args
}

// isThread reports a row below that of its process, whose pid is "-" (ps m).
func (h processHead) isThread(text string) bool {
	words := strings.Fields(text)
	return len(words) > h["PID"] && words[h["PID"]] == "-"
}

func isWeekday(word string) bool {
	return slices.Contains([]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}, word)
}

// kibibytes reads memory in KiB, as ps and top print it, in bytes: top shortens it to "1.2g".
func kibibytes(text string) (float64, bool) {
	shift := 10
	switch text[len(text)-1] {
	case 'm':
		shift = 20
	case 'g':
		shift = 30
	case 't':
		shift = 40
	}
	v, ok := number(strings.TrimRight(text, "mgt"))
	return v * float64(int64(1)<<shift), ok
}

// ParseProcesses reads listings of ps and top, with the number of their rows. A new listing begins
// at each head. Kept are the processes with the most memory in any of them and those whose children
// have ended. The error is that of r.
func ParseProcesses(r io.Reader, name string) (out []*Process, rows int, problems []analysis.Problem, err error) {
	found := &line.Problems{Path: name}
	in := line.NewReader(r)
	l := processListings{parents: map[int]bool{}}
	for text := range in.All() {
		switch trimmed := strings.TrimSpace(text.Text); {
		case IsProcesses(trimmed):
			l.next(readProcessHead(trimmed), text.Offset)
		case trimmed == "" || l.head == nil || isTopHead(trimmed) || line.IsDate(trimmed):
		default:
			row, ok := l.head.read(trimmed)
			if _, command := line.ReadCommand(trimmed); !ok && (command || l.head.isThread(trimmed)) {
				continue
			}
			if !ok {
				if l.refused++; l.refused == 1 {
					found.Add(analysis.Note, text, "a line is no row of the table", line.Quote(trimmed)+" does not have its columns", "nothing: the other rows were read")
				}
				continue
			}
			if rows++; rows <= mostProcessRows {
				l.add(row)
			}
		}
	}
	if rows > mostProcessRows {
		found.Add(analysis.Warning, line.Line{}, fmt.Sprintf("%d rows were left out", rows-mostProcessRows), fmt.Sprintf("at most %d rows of one text are compared", mostProcessRows), "split the text")
	}
	return l.kept(), rows, found.All(), in.Failure(name)
}

// isTopHead tells the lines above the table of top.
func isTopHead(text string) bool {
	for _, begin := range []string{"top - ", "Tasks: ", "Threads: ", "%Cpu", "Cpu(s)", "KiB Mem", "KiB Swap", "MiB Mem", "MiB Swap", "GiB Mem", "GiB Swap"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

type processListings struct {
	head   processHead
	point  int
	begins int64
	all    []*Process
	// now has the processes of the listing that is read, ended its ended ones. parents are the
	// processes with ended children in any listing.
	now     map[int]*Process
	ended   []processRow
	parents map[int]bool
	// of are the parents of the rows of the listing that is read.
	of      map[int]bool
	refused int
}

func (l *processListings) next(head processHead, offset int64) {
	if l.head != nil && len(l.now)+len(l.ended) > 0 {
		l.finish()
		l.point++
	}
	l.head, l.begins, l.now, l.ended, l.of = head, offset, map[int]*Process{}, nil, map[int]bool{}
}

func (l *processListings) add(row processRow) {
	l.of[row.parent] = true
	if row.ended {
		l.ended = append(l.ended, row)
		return
	}
	if row.kernel || l.now[row.pid] != nil {
		return
	}
	p := &Process{PID: row.pid, Args: row.args, Figures: map[string]float64{}, Point: l.point, Begins: l.begins}
	if row.memory >= 0 {
		p.Figures[memory] = row.memory
	}
	if row.threads >= 0 {
		p.Figures[threads] = row.threads
	}
	l.now[row.pid] = p
	l.all = append(l.all, p)
}

// finish gives the ended children of a listing to their parents, and to nobody where the listing
// does not tell them. A parent may have no row of its own (ps --ppid PID).
func (l *processListings) finish() {
	for _, row := range l.ended {
		p := l.now[row.parent]
		if p == nil {
			p = &Process{PID: row.parent, Sole: row.parent > 0 && len(l.of) == 1, Figures: map[string]float64{}, Point: l.point, Begins: l.begins}
			l.now[row.parent] = p
			l.all = append(l.all, p)
		}
		p.Figures[EndedChildren]++
		l.parents[p.PID] = true
	}
}

// kept chooses processes by what they have in any listing, so that each that is kept is kept in all.
func (l *processListings) kept() []*Process {
	l.finish()
	largest := map[int]float64{}
	var pids []int
	for _, p := range l.all {
		if _, seen := largest[p.PID]; !seen {
			pids = append(pids, p.PID)
		}
		largest[p.PID] = max(largest[p.PID], p.Figures[memory])
	}
	slices.SortStableFunc(pids, func(a, b int) int { return cmp.Compare(largest[b], largest[a]) })
	chosen := map[int]bool{}
	for i, pid := range pids {
		chosen[pid] = l.parents[pid] || i < mostProcesses && largest[pid] > 0
	}
	for _, p := range l.all {
		if l.parents[p.PID] {
			p.Figures[EndedChildren] += 0 // which none are in the other listings
		}
	}
	return slices.DeleteFunc(l.all, func(p *Process) bool { return !chosen[p.PID] })
}
