package ingest

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

// Bounds of what is kept of one upload, whatever it holds. Goroutines have those of their
// parsers.
const (
	// mostFamilies is how many families of a kind a snapshot has, the largest ones;
	// mostCounted of them are counted to find these.
	mostFamilies, mostCounted = 2000, 20_000
	// mostGroups is how many families all snapshots have together. Once there are more,
	// each further snapshot has fewFamilies.
	mostGroups, fewFamilies = 100_000, 10
	// mostThreads bounds the threads that are kept one by one.
	mostThreads = 200_000
	// mostWatches is how many watches of an upload are kept one by one, mostWatched how many
	// of one directory or listing. Real kubelets have up to some ten thousand.
	mostWatches, mostWatched = 200_000, 100_000
	// mostProcesses is how many processes of one listing are kept, mostListings how many
	// listings of one file.
	mostProcesses, mostListings = 6000, 1000
	// mostParts is how many dumps and listings are kept.
	mostParts = 20_000
	// mostFiles bounds the files that are listed that hold no evidence.
	mostFiles = 50_000
	// mostHandles is how many handles of a report of Node.js are kept.
	mostHandles = 100_000
)

// bounds counts what was kept of an upload and what was not.
type bounds struct {
	// groups are those of all snapshots, threads and watches those that are kept one by one.
	groups, threads, watches int
	// summed are the members of families that are not kept, by kind; counted are threads that were
	// counted alone; rows are those of processes and listings, parts those of dumps that
	// are not kept, files those that are not listed.
	summed               map[analysis.Kind]int
	counted, rows, parts int
	files                int
	// unkept are watches that were counted alone, unkeptPath is where the first of them is.
	unkept     int
	unkeptPath string
	families   map[analysis.Kind]*analysis.Family
}

// room returns the number of families that the next snapshot may have.
func (b *bounds) room() int { return min(mostFamilies, max(fewFamilies, mostGroups-b.groups)) }

// others is the family of what is in no other.
func (b *bounds) others(kind analysis.Kind) *analysis.Family {
	f := b.families[kind]
	if f == nil {
		if b.families == nil {
			b.families = map[analysis.Kind]*analysis.Family{}
		}
		f = family.Others(kind)
		b.families[kind] = f
	}
	return f
}

// sum counts members of families that are not kept.
func (b *bounds) sum(kind analysis.Kind, n int) {
	if b.summed == nil {
		b.summed = map[analysis.Kind]int{}
	}
	b.summed[kind] += n
}

// keep bounds the watches of a descriptor that are kept one by one.
func (b *bounds) keep(set *fdinfoSet, info *procfs.FDInfo, path string) {
	if n := min(mostWatches-b.watches, mostWatched-set.kept); len(info.Watches) > n {
		info.More += len(info.Watches) - n
		info.Watches = slices.Clone(info.Watches[:n])
	}
	b.watches, set.kept = b.watches+len(info.Watches), set.kept+len(info.Watches)
	if info.More > 0 && b.unkept == 0 {
		b.unkeptPath = path
	}
	b.unkept += info.More
}

// trim leaves the largest families and sums up the rest.
func (c *counter) trim() {
	limits := &c.b.r.bounds
	most := limits.room()
	defer func() { limits.groups += len(c.groups) }()
	if len(c.groups) <= most {
		return
	}
	kind := c.groups[0].Family.Kind
	others := c.b.group(limits.others(kind))
	order := make([]int32, 0, len(c.groups))
	for i, g := range c.groups {
		if g != others {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(i, j int32) int { return c.groups[j].Count - c.groups[i].Count })
	kept := slices.Sorted(slices.Values(order[:most]))
	place := make([]int32, len(c.groups))
	for i := range place {
		place[i] = int32(most)
	}
	groups := make([]*analysis.Group, 0, most+1)
	for to, from := range kept {
		place[from] = int32(to)
		groups = append(groups, c.groups[from])
	}
	for _, i := range order[most:] {
		others.Count += c.groups[i].Count
		limits.sum(kind, c.groups[i].Count)
		delete(c.b.byPrint, c.groups[i].Family.Fingerprint)
	}
	c.groups = append(groups, others)
	for i := range c.of {
		c.of[i] = place[c.of[i]]
	}
}

// sayBounds reports what was not kept.
func (r *reader) sayBounds() {
	b := &r.bounds
	warn := func(what, why, hint string) {
		r.problem(analysis.Problem{Path: r.firstPath(), Offset: -1, Severity: analysis.Warning, What: what, Why: why, Hint: hint})
	}
	for _, kind := range []analysis.Kind{analysis.KindThread, analysis.KindDescriptor, analysis.KindWatch} {
		if n := b.summed[kind]; n > 0 {
			warn(wording.Plural(n, string(kind), wording.Kinds(kind))+" are summed up as \"others\"",
				fmt.Sprintf("at most %d families of a snapshot are kept apart, and %d of an upload", mostFamilies, mostGroups), "the totals count them all; upload the evidence of fewer processes at once to see more families")
		}
	}
	if b.counted > 0 {
		warn(wording.Plural(b.counted, "thread", "threads")+" were counted and not kept one by one", fmt.Sprintf("at most %d threads of an upload are", mostThreads), "upload fewer dumps at once to follow all threads")
	}
	if b.unkept > 0 {
		r.problem(analysis.Problem{Path: b.unkeptPath, Offset: -1, Severity: analysis.Warning,
			What: wording.Plural(b.unkept, "watch was", "watches were") + " counted and not kept one by one",
			Why:  fmt.Sprintf("at most %d watches of a capture and %d of an upload are; the total counts the others, and they are the family \"others\"", mostWatched, mostWatches),
			Hint: "upload fewer captures, or the fdinfo of fewer processes, at once"})
	}
	for _, p := range r.parts {
		b.rows += p.leftRows
	}
	if b.rows > 0 {
		warn(wording.Plural(b.rows, "row", "rows")+" of further processes or listings were not read", fmt.Sprintf("at most %d processes and %d listings of a file are", mostProcesses, mostListings), "split the file, or list the processes in question: lsof -nP -p PID")
	}
	if b.files > 0 {
		warn(wording.Plural(b.files, "file is", "files are")+" not listed", fmt.Sprintf("of an upload %d are; these were looked at and hold no evidence", mostFiles), "upload only the directories that hold dumps")
	}
	if b.parts > 0 {
		warn(wording.Plural(b.parts, "dump or listing", "dumps or listings")+" were not kept", fmt.Sprintf("at most %d of an upload are", mostParts), "upload fewer captures at once")
	}
}
