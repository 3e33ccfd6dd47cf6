package ingest

import (
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// mostFileTimes bounds the seconds in which the files of one directory were written.
const mostFileTimes = 32

// wrote notes the time of one more file of the part. The part keeps the latest time
// of each second, and the latest of all in modified.
func (p *part) wrote(at time.Time) {
	if at.IsZero() {
		return
	}
	if at.After(p.modified) {
		p.modified = at
	}
	same := func(t time.Time) bool { return t.Unix() == at.Unix() }
	i := slices.IndexFunc(p.fileTimes, same)
	if i < 0 && len(p.fileTimes) < mostFileTimes {
		p.fileTimes = append(p.fileTimes, at)
		return
	}
	if i < 0 {
		i = earliest(p.fileTimes)
	}
	if at.After(p.fileTimes[i]) {
		p.fileTimes[i] = at
	}
}

func earliest(times []time.Time) int {
	at := 0
	for i := range times {
		if times[i].Before(times[at]) {
			at = i
		}
	}
	return at
}

// fileTimes are the times of the files with evidence, the latest last.
func (g *group) fileTimes() []time.Time {
	var out []time.Time
	for _, p := range g.parts {
		if !p.modified.IsZero() {
			out = append(out, p.modified)
		}
		out = append(out, p.fileTimes...)
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// written reports whether a known collector wrote a file of the group when it captured it.
func (g *group) written() bool {
	return slices.ContainsFunc(g.parts, func(p *part) bool { return p.placing.written })
}

// dateByFiles dates the snapshots for which nothing better is known by the latest time
// of their files: a copy may keep an older time, as the links of /proc/PID/fd do. Such a
// time never contradicts the order that tokens in the paths state (t0, t1); a snapshot
// whose times all do has none, and keeps its place. Times that a checkout set do not count,
// unless they are those at which another dump says that it was taken.
func (r *reader) dateByFiles(snapshots []analysis.Snapshot, all []*group) {
	believed := believableTimes(all)
	var stated []time.Time
	for i := range snapshots {
		if s := &snapshots[i]; !believed && s.TimeFact.Confidence == analysis.High {
			stated = append(stated, s.CapturedAt)
		}
	}
	stating := map[int]bool{} // artifacts that state a time: that of the file is of none of their dumps
	for _, p := range r.parts {
		if p.section && !p.inner.IsZero() {
			stating[p.artifact] = true
		}
	}
	within := func(g *group) bool {
		return slices.ContainsFunc(g.parts, func(p *part) bool { return stating[p.artifact] })
	}
	last := lastOfFile(snapshots, all)
	earlier := func(i int) bool {
		return slices.ContainsFunc(all[i].parts, func(p *part) bool { return last[captureFile{snapshots[i].Process.Key(), p.artifact}] > i })
	}
	series := map[string]tokenSeries{}
	for i, g := range all {
		d := dated{snapshot: &snapshots[i], group: g}
		if snapshots[i].CapturedAt.IsZero() && !within(g) && !earlier(i) {
			d.times = slices.DeleteFunc(g.fileTimes(), func(at time.Time) bool {
				near := func(t time.Time) bool { return t.Sub(at).Abs() <= sameInstant }
				return !believed && !g.written() && !slices.ContainsFunc(stated, near)
			})
		}
		if day := g.dayInName(); !day.IsZero() && snapshots[i].CapturedAt.IsZero() {
			d.times = slices.DeleteFunc(d.times, func(at time.Time) bool {
				return at.Before(day.Add(-anyZone)) || at.After(day.Add(24*time.Hour+anyZone))
			})
			if len(d.times) == 0 && len(snapshots) > 1 { // one alone needs no order
				snapshots[i].CapturedAt = day
				snapshots[i].TimeFact = analysis.Fact{Value: day.Format(time.RFC3339), Source: "day in the name, which states no time", Confidence: analysis.Low}
				continue
			}
		}
		key, n := g.tokenOfPath()
		switch {
		case key == "":
			if last := len(d.times) - 1; last >= 0 {
				r.dateByFile(d, d.times[last])
			}
		case series[key] == nil:
			series[key] = tokenSeries{n: {d}}
		default:
			series[key][n] = append(series[key][n], d)
		}
	}
	for _, s := range series {
		r.dateBySeries(s)
	}
	for i, g := range all {
		s := &snapshots[i]
		switch {
		case !s.CapturedAt.IsZero():
		case within(g):
			s.TimeFact = analysis.Fact{Source: "no time above it in the file, which states others; order in the file"}
		case earlier(i):
			s.TimeFact = analysis.Fact{Source: "the time of the file is that of its last capture; order in the file"}
		case believed && len(g.fileTimes()) > 0:
			s.TimeFact = analysis.Fact{Source: "the times of the files contradict the order of the names; order by name"}
		default:
			s.TimeFact = analysis.Fact{Source: "no time in the files or their names; order by name"}
		}
	}
}

// A captureFile is a file with captures of a process.
type captureFile struct {
	process  string
	artifact int
}

// lastOfFile are the places of the last captures of files: the time of a file is that of no earlier one.
func lastOfFile(snapshots []analysis.Snapshot, all []*group) map[captureFile]int {
	last := map[captureFile]int{}
	for i, g := range all {
		for _, p := range g.parts {
			last[captureFile{snapshots[i].Process.Key(), p.artifact}] = i
		}
	}
	return last
}

// anyZone is by how much a day may differ from that of another zone.
const anyZone = 14 * time.Hour

// dayInName is the day that the name of a file or of its directory states, zero without one. A
// file that was written on another day is a copy.
func (g *group) dayInName() time.Time {
	for _, p := range g.parts {
		for _, name := range []string{path.Base(p.where()), path.Base(g.dir)} {
			written := dayInName.FindString(name)
			if m := compactDay.FindStringSubmatch(name); m != nil {
				written = m[1]
			}
			if day, err := time.Parse("20060102", strings.Join(digits.FindAllString(written, -1), "")); err == nil {
				return day
			}
		}
	}
	return time.Time{}
}

// dated is a snapshot with the times of files that it may have, the latest last; none
// if something better dates it.
type dated struct {
	snapshot *analysis.Snapshot
	group    *group
	times    []time.Time
}

func (r *reader) dateByFile(d dated, at time.Time) {
	source := "file time in the archive"
	if r.archive == "" && slices.ContainsFunc(d.group.parts, func(p *part) bool { return archiveOf(p.path) == "" }) {
		source = "time of the file"
	}
	d.snapshot.CapturedAt = at.UTC()
	d.snapshot.TimeFact = analysis.Fact{Value: d.snapshot.CapturedAt.Format(time.RFC3339), Source: source, Confidence: analysis.Low}
}

// believableTimes reports whether file times are those of the captures: a checkout or
// an unpacking sets nearly all files of several captures to the same two seconds.
func believableTimes(all []*group) bool {
	type file struct {
		at      time.Time
		capture string
	}
	var files []file
	for _, g := range all {
		for _, p := range g.parts {
			if !p.modified.IsZero() {
				files = append(files, file{p.modified, g.dir + "\x00" + g.stem})
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int { return a.at.Compare(b.at) })
	within := map[string]int{}
	i := 0
	for j := range files {
		within[files[j].capture]++
		for ; files[j].at.Sub(files[i].at) > sameInstant; i++ {
			if within[files[i].capture]--; within[files[i].capture] == 0 {
				delete(within, files[i].capture)
			}
		}
		if len(within) > 1 && (j-i+1)*5 > len(files)*4 {
			return false
		}
	}
	return true
}

var (
	// tokenInDirectory and tokenInName are the tokens that number the captures of a
	// series: "t3", "round-2", "t8-shims-resumed", "p1-t4". A bare number may as well be
	// a pid or a port.
	tokenInDirectory = expression.Lazy(`(?i)^(?:t|s|snap|snapshot|round|run|step|sample|capture|dump)[._-]?(\d{1,6})(?:$|[._-])`)
	tokenInName      = expression.Lazy(`(?i)(?:^|[^a-z0-9])(?:t|s|snap|snapshot|round|run|step|sample|capture)[._-]?(\d{1,6})(?:$|[^a-z0-9])`)
)

// tokenOfPath returns the number of the capture in its series, from the token nearest
// to the file, and the path without that number; "" for a path without a token.
//
//	"lab/t3/kubelet/lsof.txt" -> "lab/#/kubelet", 3
//	"lab/p1-t4.txt"           -> "lab/p1#", 4
func (g *group) tokenOfPath() (key string, n int) {
	if at := tokenInName.FindStringSubmatchIndex(g.stem); at != nil {
		n, _ = strconv.Atoi(g.stem[at[2]:at[3]])
		return g.dir + "/" + g.stem[:at[0]] + "#" + g.stem[at[1]:], n
	}
	parts := strings.Split(g.dir, "/")
	for i, part := range slices.Backward(parts) {
		if m := tokenInDirectory.FindStringSubmatch(part); m != nil {
			n, _ = strconv.Atoi(m[1])
			parts[i] = "#"
			return strings.Join(parts, "/"), n
		}
	}
	return "", 0
}

// tokenSeries are the snapshots of one series by the numbers of their tokens; several
// processes, or dumps that follow one another in a file, share one.
type tokenSeries map[int][]dated

// dateBySeries dates as many captures as possible so that times rise with the numbers.
// Each snapshot gets the latest time of its files that allows this.
func (r *reader) dateBySeries(s tokenSeries) {
	numbers := slices.Sorted(maps.Keys(s))
	times := s.possible(numbers)
	before := time.Time{}
	for _, last := range longestRise(times) {
		for _, d := range s[numbers[last.capture]] {
			for _, at := range slices.Backward(d.times) {
				if at.After(before) && !at.After(last.at) && slices.ContainsFunc(times[last.capture], at.Equal) {
					r.dateByFile(d, at)
					break
				}
			}
		}
		before = last.at
	}
}

// possible are the file times that each capture may have, the latest last. The known
// times of captures before and after bound them. A time that files of several captures
// share to the nanosecond is that of a copy, if the capture has another one.
func (s tokenSeries) possible(numbers []int) [][]time.Time {
	captures := map[int64]int{}
	out := make([][]time.Time, len(numbers))
	var after, before time.Time
	for i, n := range numbers {
		for _, d := range s[n] {
			for _, at := range d.times {
				if !at.Before(after) {
					out[i] = append(out[i], at)
				}
			}
		}
		slices.SortFunc(out[i], time.Time.Compare)
		out[i] = slices.CompactFunc(out[i], time.Time.Equal)
		for _, at := range out[i] {
			captures[at.UnixNano()]++
		}
		for _, d := range s[n] {
			if at := d.snapshot.CapturedAt; at.After(after) {
				after = at
			}
		}
	}
	for i, n := range slices.Backward(numbers) {
		own := slices.DeleteFunc(slices.Clone(out[i]), func(at time.Time) bool { return captures[at.UnixNano()] > 1 })
		if len(own) > 0 {
			out[i] = own
		}
		out[i] = slices.DeleteFunc(out[i], func(at time.Time) bool { return !before.IsZero() && at.After(before) })
		for _, d := range s[n] {
			if at := d.snapshot.CapturedAt; !at.IsZero() && (before.IsZero() || at.Before(before)) {
				before = at
			}
		}
	}
	return out
}

// risen is the time of a capture in a series of times that rise.
type risen struct {
	capture int
	at      time.Time
	next    *risen
}

// longestRise takes one time each of as many captures as possible so that they rise, and
// of these captures the latest such times. It goes from the last capture to the first:
// of two that contradict each other the later time stays, since copies keep times that
// are too old.
func longestRise(times [][]time.Time) []risen {
	// chains[k] is the chain of k+1 captures that begins latest.
	var chains []*risen
	for capture, list := range slices.Backward(times) {
		for _, at := range list {
			k := sort.Search(len(chains), func(k int) bool { return !chains[k].at.After(at) })
			found := &risen{capture: capture, at: at}
			if k > 0 {
				found.next = chains[k-1]
			}
			if k == len(chains) {
				chains = append(chains, found)
			} else {
				chains[k] = found
			}
		}
	}
	if len(chains) == 0 {
		return nil
	}
	var out []risen
	for r := chains[len(chains)-1]; r != nil; r = r.next {
		out = append(out, *r)
	}
	for i := range slices.Backward(out) {
		for _, at := range times[out[i].capture] {
			if at.After(out[i].at) && (i == len(out)-1 || at.Before(out[i+1].at)) {
				out[i].at = at
			}
		}
	}
	return out
}
