package ingest

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/read/metrics"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

type listingParser func(io.Reader, string, func(int, *lsof.Row) error) (lsof.Listing, []analysis.Problem, error)

// listed reads a listing of descriptors: a part for every process of each of its
// rounds.
func listed(parse listingParser) func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		type key struct{ ordinal, pid int }
		byProcess := map[key]*part{}
		unreadable := map[key]bool{}
		var order []*part
		var last key
		var q *part
		words := newRowWords()
		rounds := 1
		dates := envelope.NewDates(r.written(p))
		all, problems, err := parse(io.TeeReader(body, dates), p.path, func(ordinal int, row *lsof.Row) error {
			if ordinal >= mostListings {
				r.bounds.rows++
				return nil
			}
			rounds = max(rounds, ordinal+1)
			if row.Unreadable {
				unreadable[key{ordinal, row.PID}] = true
				return nil
			}
			if k := (key{ordinal, row.PID}); q == nil || k != last {
				if q = byProcess[k]; q == nil && len(order) >= mostProcesses {
					r.bounds.rows++
					return nil
				}
				last = k
				if q == nil {
					q = p.another(ordinal)
					q.pid, q.name = row.PID, strings.Clone(row.Command)
					q.listing = &listing{command: q.name, rows: &rows{words: words}}
					byProcess[k] = q
					order = append(order, q)
				}
			}
			q.listing.user(row.User)
			if !row.IsDescriptor {
				if row.FDText == "txt" && !q.listing.run {
					q.name, q.listing.run = runs(q.name, row.Descriptor.Name), true
				}
				q.listing.other++
				a.Rows++
				return nil
			}
			q.listing.hold(row)
			q.listing.rows.add(&row.Descriptor)
			r.progress.Descriptors++
			return nil
		})
		r.problem(problems...)
		if err != nil && all.Rows == 0 {
			return err
		}
		if all.Form == lsof.Headerless {
			r.problem(analysis.Problem{Path: p.path, Line: 1, Offset: 0, Severity: analysis.Note,
				What: "an excerpt of a listing, without its header", Why: "the columns are told by their look, and rows that were left out are not known",
				Hint: "upload the whole output: lsof -nP -p PID > lsof.txt"})
		}
		r.timed(order, offsets(all.PerPart), dates)
		if q != nil && all.Truncated {
			q.stops, a.Truncated = true, true // rows of this process are missing
		}
		if len(order) == rounds { // of several processes nobody knows which the line is of
			refusedRows(order, &all)
		}
		for _, q := range order {
			a.Members += q.listing.rows.len()
			q.outcome = fmt.Sprintf("%s of %s", wording.Plural(q.listing.rows.len(), "descriptor", "descriptors"), processWord(q))
			q.section = rounds > 1
		}
		order = slices.DeleteFunc(order, func(q *part) bool {
			return q.listing.rows.len() == 0 && (a.Members > 0 || unreadable[key{q.ordinal, q.pid}])
		})
		a.Outcome = wording.Plural(a.Members, "descriptor", "descriptors")
		if len(order) > rounds {
			a.Outcome += fmt.Sprintf(" of %d processes", len(order)/rounds)
		}
		if rounds > 1 {
			a.Outcome += fmt.Sprintf(" in %d listings", rounds)
		}
		r.parts = append(r.parts, order...)
		return nil
	}
}

// cutCommand is how many bytes lsof prints of a command by default.
const cutCommand = 9

// runs is the name of a process by the file that it runs, where the command is its cut
// beginning.
//
//	"container", "/usr/bin/containerd-shim-runc-v2" = "containerd-shim-runc-v2"
func runs(command, file string) string {
	base := programName(strings.TrimSuffix(file, " (deleted)"))
	if len(command) < cutCommand || len(base) <= len(command) || !strings.HasPrefix(base, command) {
		return command
	}
	return strings.Clone(base)
}

// readListing reads the links of /proc/PID/fd: a part for every process of each of the
// listings in time.
func readListing(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	type key struct{ ordinal, pid int }
	byProcess := map[key]*part{}
	var order []*part
	rounds := 1
	dates := envelope.NewDates(r.written(p))
	all, problems, err := lsof.ParseListing(io.TeeReader(body, dates), p.path, func(ordinal, pid int, d *analysis.Descriptor) error {
		q := byProcess[key{ordinal, pid}]
		if q == nil && len(order) >= mostListings {
			r.bounds.rows++
			return nil
		}
		rounds = max(rounds, ordinal+1)
		if q == nil {
			if q = p.another(ordinal); pid != 0 {
				q.pid = pid
			}
			q.links = []analysis.Descriptor{}
			byProcess[key{ordinal, pid}] = q
			order = append(order, q)
		}
		q.links = append(q.links, *d)
		a.Members++
		return nil
	})
	r.problem(problems...)
	if err != nil && a.Members == 0 {
		return err
	}
	r.progress.Descriptors += a.Members
	a.Outcome = wording.Plural(a.Members, "descriptor", "descriptors")
	if all.Truncated && len(order) > 0 {
		order[len(order)-1].stops, a.Truncated = true, true
	}
	if len(order) == rounds {
		refusedRows(order, &all)
	}
	if len(order) == 0 {
		p.links = []analysis.Descriptor{}
		return nil
	}
	r.timed(order, offsets(all.PerPart), dates)
	for _, q := range order {
		q.outcome = wording.Plural(len(q.links), "descriptor", "descriptors")
		if q.pid != 0 {
			q.outcome += fmt.Sprintf(" of pid %d", q.pid)
		}
		if len(order) > 1 {
			q.outcome += fmt.Sprintf(", listing %d", q.ordinal+1)
		}
		q.section = rounds > 1
	}
	if rounds > 1 {
		a.Outcome += fmt.Sprintf(" in %d listings", rounds)
	}
	r.parts = append(r.parts, order...)
	return nil
}

// refusedRows gives each part the rows of its listing that were not understood.
func refusedRows(parts []*part, all *lsof.Listing) {
	for _, q := range parts {
		if q.ordinal < len(all.PerPart) {
			q.refused = all.PerPart[q.ordinal].Refused
		}
	}
}

// offsets are where the listings begin.
func offsets(listings []lsof.Part) []int64 {
	begins := make([]int64, len(listings))
	for i := range begins {
		begins[i] = listings[i].Offset
	}
	return begins
}

// timed gives each part the time of the listing that it is of.
func (r *reader) timed(parts []*part, begins []int64, dates *envelope.Dates) {
	times := dates.Of(begins)
	for _, q := range parts {
		if q.ordinal < len(times) {
			q.dated(times[q.ordinal])
		}
	}
}

// readGrep reads the lines of grep over fdinfo files: a part for every process of each point
// in time.
func readGrep(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	dates := envelope.NewDates(r.written(p))
	captures, begins, problems, err := procfs.ParseGrep(io.TeeReader(body, dates), p.path)
	r.problem(problems...)
	if err != nil && len(captures) == 0 {
		return err
	}
	times := dates.Of(begins)
	members, watches := 0, 0
	for _, c := range captures {
		if c.Part >= mostListings {
			r.bounds.rows++
			continue
		}
		q := p.another(c.Part)
		q.pid, q.section, q.fdinfo = cmp.Or(c.PID, q.pid), len(begins) > 1, &fdinfoSet{infos: c.Infos}
		for i := range c.Infos {
			r.bounds.keep(q.fdinfo, &c.Infos[i], p.path)
			q.fdinfo.cut = q.fdinfo.cut || c.Infos[i].Cut
		}
		countWatches(r, q.fdinfo, a)
		members, watches = members+a.Members, watches+a.Watches
		q.outcome = a.Outcome
		q.dated(times[c.Part])
		r.parts = append(r.parts, q)
	}
	a.Members, a.Watches = members, watches
	a.Outcome = fmt.Sprintf("%s, %s", wording.Plural(members, "descriptor", "descriptors"), wording.Plural(watches, "watch", "watches"))
	return nil
}

func countWatches(r *reader, set *fdinfoSet, a *analysis.Artifact) {
	a.Members, a.Watches = 0, 0
	for i := range set.infos {
		a.Watches += set.infos[i].Watched()
		if set.infos[i].FD >= 0 {
			a.Members++
		}
	}
	a.Members += set.empty
	r.progress.Watches += a.Watches
	r.progress.Descriptors += a.Members
	a.Outcome = fmt.Sprintf("%s, %s", wording.Plural(a.Members, "descriptor", "descriptors"), wording.Plural(a.Watches, "watch", "watches"))
}

type metricsParser func(io.Reader, string) ([]metrics.Page, []analysis.Problem, error)

// measured reads pages of metrics. One page describes the process of its directory; several in one
// file are captures of their own.
func measured(parse metricsParser) func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return func(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
		dates := envelope.NewDates(r.written(p))
		pages, problems, err := parse(io.TeeReader(body, dates), p.path)
		r.problem(problems...)
		begins, figures := make([]int64, len(pages)), 0
		for i := range pages {
			begins[i] = pages[i].Begins
			// Ids of snapshots are made of outcomes and keep: counters came later and are not counted.
			figures += len(pages[i].Figures) - pages[i].Info.Counters
		}
		if len(pages) == 1 {
			begins[0] = 0 // a date anywhere near is its own
		}
		times := dates.Of(begins)
		for i := range pages {
			q := p
			if len(pages) > 1 {
				q = p.another(i)
				q.form, q.section = detect.Counts, true
				r.parts = append(r.parts, q)
			}
			q.figures, q.version, q.inner = pages[i].Figures, versionText(pages[i].Info), pages[i].Info.Time
			if q.inner.IsZero() {
				q.dated(times[i]) // "# scraped 2026-03-04T05:00:00Z"
			}
		}
		a.Outcome = wording.Plural(figures, "figure", "figures")
		if len(pages) > 1 {
			a.Outcome += fmt.Sprintf(" on %d pages", len(pages))
		}
		return err
	}
}

func readSockets(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return r.inTime(body, p, a, func(body io.Reader, visit socketVisitor) ([]lsof.Part, bool, error) {
		all, problems, err := lsof.ParseSockets(body, p.path, visit)
		r.problem(problems...)
		r.unowned(p.path, &all)
		return all.PerPart, all.Truncated, err
	})
}

type socketVisitor func(part int, s *analysis.Socket) error

// inTime makes a part of the socket tables of each point in time.
func (r *reader) inTime(body io.Reader, p *part, a *analysis.Artifact, parse func(io.Reader, socketVisitor) ([]lsof.Part, bool, error)) error {
	var parts []*part
	dates := envelope.NewDates(r.written(p))
	tables, truncated, err := parse(io.TeeReader(body, dates), func(ordinal int, s *analysis.Socket) error {
		if ordinal >= mostListings {
			r.bounds.rows++
			return nil
		}
		for len(parts) <= ordinal {
			parts = append(parts, p.another(len(parts)))
		}
		q := parts[ordinal]
		q.sockets = append(q.sockets, *s)
		return nil
	})
	captures := parts[:0]
	for i, q := range parts {
		if i < len(tables) && tables[i].Asked != "" {
			q.asked = []string{tables[i].Asked}
		}
		if n := len(captures); n > 0 && !tables[min(i, len(tables)-1)].Dated && q.joins(captures[n-1]) {
			captures[n-1].join(q)
			continue
		}
		q.ordinal = len(captures)
		tables[q.ordinal] = tables[min(i, len(tables)-1)]
		captures = append(captures, q)
	}
	parts = captures
	for _, q := range parts {
		a.Rows += len(q.sockets)
	}
	a.Truncated = truncated
	a.Outcome = wording.Plural(a.Rows, "socket", "sockets")
	if len(parts) <= 1 {
		p.stops = truncated
		if len(parts) == 1 {
			p.sockets, p.asked = parts[0].sockets, parts[0].asked
			r.timed([]*part{p}, offsets(tables), dates)
		}
		return err
	}
	parts[len(parts)-1].stops = truncated
	r.timed(parts, offsets(tables), dates)
	for _, q := range parts {
		q.section = true
	}
	a.Outcome += fmt.Sprintf(" in %d tables", len(parts))
	r.parts = append(r.parts, parts...)
	return err
}

// unowned notes that a table names the owners of few of its sockets, as one that was taken
// without the rights to see them.
func (r *reader) unowned(path string, all *lsof.Sockets) {
	if n := all.Unowned; 2*n > all.Rows {
		r.problem(analysis.Problem{Path: path, Offset: -1, Severity: analysis.Note,
			What: fmt.Sprintf("%d of %d sockets have no owner in the table", n, all.Rows), Why: "only root sees the processes of other users; sockets of the kernel have none",
			Hint: "take it as root: ss -tunap or netstat -anp"})
	}
}

func readNet(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	return r.inTime(body, p, a, func(body io.Reader, visit socketVisitor) ([]lsof.Part, bool, error) {
		all, problems, err := procfs.ParseNet(body, p.path, visit)
		r.problem(problems...)
		tables := make([]lsof.Part, len(all.Begins))
		for i := range tables {
			tables[i].Offset = all.Begins[i]
		}
		return tables, all.Truncated, err
	})
}

// versionText is "v1.34.4, go1.26.8", or the part of it that the page has.
func versionText(info metrics.Info) string {
	var words []string
	for _, w := range []string{info.Version(), info.GoVersion} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}
