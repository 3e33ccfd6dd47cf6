package ingest

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/detect"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/say/wording"
)

// owned makes listings of socket tables that name the owners of their sockets (ss -p,
// netstat -p), in a directory without a list of descriptors.
func owned(context []*part) []*part {
	var out []*part
	for _, p := range context {
		programs := map[int]string{}
		for _, s := range p.sockets {
			for _, o := range s.Owners {
				programs[o.PID] = o.Program
			}
		}
		owned, words := lsof.OwnedDescriptors(p.sockets), newRowWords()
		pids := slices.Sorted(maps.Keys(owned))
		for _, pid := range pids[min(len(pids), mostProcesses):] {
			p.leftRows += len(owned[pid])
		}
		for _, pid := range pids[:min(len(pids), mostProcesses)] {
			q := p.ofOwner(owned[pid], words)
			q.pid, q.name = pid, programs[pid]
			q.listing.command = q.name
			q.outcome += " of " + q.name
			out = append(out, q)
		}
		if rest := lsof.UnownedDescriptors(p.sockets); len(pids) > 0 && slices.ContainsFunc(rest, connected) {
			out = append(out, p.ofOwner(slices.DeleteFunc(rest, func(d analysis.Descriptor) bool { return !connected(d) }), words))
		}
	}
	return out
}

// ofOtherInstants is the context of which no evidence has the instant, as far as names tell it.
func ofOtherInstants(context, evidence []*part) []*part {
	return slices.DeleteFunc(slices.Clone(context), func(c *part) bool {
		return slices.ContainsFunc(evidence, func(p *part) bool {
			return p.token() == "" || c.token() == "" || p.token() == c.token()
		})
	})
}

// sayLeftOut names the tables of sockets and the listings of processes that are part of no snapshot.
func (r *reader) sayLeftOut(all []*group) {
	used := map[int]bool{}
	for _, g := range all {
		for _, p := range append(append([]*part{}, g.parts...), g.context...) {
			used[p.artifact] = true
		}
	}
	said := map[int]bool{}
	for _, p := range r.parts {
		if len(all) > 0 && p.form == detect.ProcessTable && !p.sole && !used[p.artifact] && !said[p.artifact] {
			said[p.artifact] = true
			r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Note,
				What: "nothing of this listing of processes is used", Why: "it has no memory, threads or ended children, or no other file names one of its processes by the pid",
				Hint: "take ps -eo pid,ppid,stat,nlwp,rss,args, and have a file of the same capture tell the pid (lsof -p PID, /proc/PID)"})
		}
		if len(all) > 0 && p.ofTable() && !used[p.artifact] {
			r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
				What: "the sockets of this table are compared with nothing", Why: "it names no process, and no other file shows a process at its time",
				Hint: "take it as root with the owners: ss -tunap or netstat -anp"})
		}
		if len(all) > 0 && p.sole && !used[p.artifact] {
			r.problem(analysis.Problem{Path: p.path, Offset: -1, Severity: analysis.Warning,
				What: fmt.Sprintf("the ended children of process %d are compared with nothing", p.pid), Why: "no other file names this process, and more than one could be it",
				Hint: "add a listing of its descriptors (lsof -p PID), and give the files of one capture the same number"})
		}
	}
}

// connected reports a socket with a peer: of those without an owner others are the kernel's.
func connected(d analysis.Descriptor) bool { return d.Remote != "" && d.Protocol != "unix" }

// unowned makes a listing of each socket table that names no owner, of the sockets whose owner
// is not known.
func unowned(context []*part) []*part {
	type capture struct {
		ordinal int
		token   string
	}
	namespace := map[capture]*part{} // the tables tcp, udp and unix of /proc/net are one
	var out []*part
	for _, p := range context {
		rest := lsof.UnownedDescriptors(p.sockets)
		if len(rest) == 0 {
			continue
		}
		q := p.ofOwner(rest, newRowWords())
		if p.form == detect.NetTable {
			named := part{stem: versionSix.ReplaceAllString(p.stem, "$1")}
			at := capture{p.ordinal, named.token()}
			if all := namespace[at]; all != nil {
				for i := range rest {
					if p.artifact != all.artifact {
						rest[i].Place = analysis.Place{} // in another file
					}
					all.listing.rows.add(&rest[i])
				}
				continue
			}
			namespace[at] = q
		}
		out = append(out, q)
	}
	return out
}

// versionSix is the name of a table of IPv6, whose digit is no time.
var versionSix = expression.Lazy(`(tcp|udp|udplite|raw)6`)

// ofOwner is the part of a socket table with the sockets of one owner.
func (p *part) ofOwner(sockets []analysis.Descriptor, words *rowWords) *part {
	q := *p
	q.sockets, q.listing = nil, &listing{rows: &rows{words: words}, sockets: true}
	for i := range sockets {
		q.listing.rows.add(&sockets[i])
	}
	q.outcome = wording.Plural(len(sockets), "socket", "sockets")
	return &q
}

// contextOnly makes a snapshot of figures alone (a metrics page), of mutex and block
// profiles alone, or none.
func contextOnly(dir string, context []*part) []*group {
	var out []*group
	for _, p := range context {
		if (p.form == detect.Metrics || p.form == detect.MetricsJSON) && len(p.figures) > 0 {
			if len(out) == 0 || p.token() != out[len(out)-1].token() {
				out = append(out, &group{dir: dir, stem: p.stem})
			}
		}
	}
	for _, p := range context {
		if p.contention != nil && !slices.ContainsFunc(out, func(g *group) bool { return g.stem == p.stem }) {
			out = append(out, &group{dir: dir, stem: p.stem})
		}
	}
	shareContext(out, context)
	return out
}

// shareContext adds the context of a directory to each of its groups, unless the
// context has another pid, other numbers in its name, or the name of another group.
func shareContext(out []*group, context []*part) {
	named := map[string]bool{}
	for _, g := range out {
		named[g.stem] = true
	}
	for _, c := range context {
		describes := func(g *group) bool {
			pid, t := g.pid(), c.token()
			if c.nodes > 1 && !slices.Contains(strings.Split(g.dir, "/"), c.host) {
				return false // it is of another node, as far as is known
			}
			if c.form == detect.ProcessTable && c.pid != pid && !(c.sole && pid == 0 && ofOneParent(context)) {
				return false // one of many of the machine
			}
			return (c.pid == 0 || pid == 0 || c.pid == pid) && (t == "" || g.token() == "" || t == g.token()) && (c.stem == "" || c.stem == g.stem || !named[c.stem])
		}
		fitting := slices.DeleteFunc(slices.Clone(out), func(g *group) bool { return !describes(g) })
		for _, g := range fitting {
			switch {
			case c.pairs != nil && g != pairedGroup(out, c):
			case (c.contention != nil || c.heap != nil) && g != contendedGroup(fitting, c):
			case c.sole && c.pid != g.pid() && len(fitting) > 1: // no dump tells of which process it is
			default:
				g.context = append(g.context, c)
			}
		}
	}
}

// ofOneParent reports listings of children that are all of one process.
func ofOneParent(context []*part) bool {
	parents := map[int]bool{}
	for _, c := range context {
		if c.sole {
			parents[c.pid] = true
		}
	}
	return len(parents) == 1
}

// spreadContext adds descriptions of a process or a host, in directories without
// evidence (proc/4711/limits, sysctl.txt at the top), to the snapshots that they
// describe: those of that pid below the directory that holds proc/, and, for settings
// of the host, all below it.
func spreadContext(out []*group, byDir map[string][]*part) {
	held := map[*part]bool{}
	for _, g := range out {
		for _, c := range g.context {
			held[c] = true
		}
	}
	dirs := make([]string, 0, len(byDir))
	for dir := range byDir {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		for _, c := range byDir[dir] {
			if c.evidence() || c.contention != nil || held[c] && (c.form != detect.Manifest || c.host == "" && c.ran.IsZero()) {
				continue
			}
			root := aboveProc(dir)
			for _, g := range out {
				if !below(g.dir, root) || slices.Contains(g.context, c) {
					continue
				}
				if c.pid != 0 && c.pid == g.pid() || c.pid == 0 && c.ofHost() {
					g.context = append(g.context, c)
				}
			}
		}
	}
}

// ofHost reports whether the part describes the host and not a process.
func (p *part) ofHost() bool {
	return len(p.sysctls) > 0 || p.inodes != nil || p.form == detect.Manifest
}

// aboveProc returns the directory that holds a copy of /proc, /etc or the commands of
// sos: "host" for "host/proc/7"; any other directory is returned unchanged.
func aboveProc(dir string) string {
	for _, sub := range []*expression.Expression{procDir, hostDir} {
		if at := sub.FindStringIndex(dir); at != nil {
			return strings.TrimSuffix(dir[:at[0]], "/")
		}
	}
	return dir
}

// hostDir holds what describes the host as a whole.
var hostDir = expression.Lazy(`(?:^|/)(?:etc|proc|sys|sos_commands(?:/[^/]+)?|server/[^/]+|nodes/[^/]+)$`)

func below(dir, root string) bool {
	return root == "" || dir == root || strings.HasPrefix(dir, root+"/") || strings.HasPrefix(dir, root+"!/")
}
