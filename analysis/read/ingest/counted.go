package ingest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

const (
	// earlyNumbers are the numbers of goroutines of which an identity keeps who created them.
	earlyNumbers = 4096
	// numbersAhead bounds how far the newest goroutine of a capture can stand behind that of the one
	// before: each processor of a Go program takes 16 numbers at once.
	numbersAhead = 64
)

// joinCounted gives one owner to places whose names count the captures of one process one by one, but
// not from 0 as sets of pods are, such as "app-1.txt" to "app-5.txt": in the order of the names the numbers of goroutines rise, and none was
// created by two. Replicas are in such an order by chance: of two for whom a name may stand for a host,
// nothing is said.
func joinCounted(places []*replicaPlace) {
	series := map[string]map[int]*replicaPlace{}
	for _, p := range places {
		name := strings.TrimRight(p.dir+"/"+p.file, "/")
		stem := strings.TrimRight(name, "0123456789")
		n, err := strconv.Atoi(name[len(stem):])
		if err != nil || len(p.list) != 1 {
			continue
		}
		if series[stem] == nil {
			series[stem] = map[int]*replicaPlace{}
		}
		series[stem][n] = p
	}
	for _, named := range series {
		var list []*replicaPlace
		numbers := slices.Sorted(maps.Keys(named))
		for i, n := range numbers {
			if numbers[0] == 0 || n != numbers[0]+i {
				list = nil
				break
			}
			list = append(list, named[n])
		}
		same, proven := ofOneProcess(list)
		least := 2
		if !proven && slices.ContainsFunc(list, (*replicaPlace).sure) {
			least = 3
		}
		if len(list) < least || !same {
			continue
		}
		for _, p := range list {
			p.owner = list[0]
		}
	}
}

// nameOwners leaves out of the names of owners what numbers their captures: "quoted-2" of
// quoted-2-1.txt to quoted-2-4.txt.
func nameOwners(places []*replicaPlace) {
	names := map[*replicaPlace]string{}
	for _, p := range places {
		if name, ok := names[p.owner]; !ok {
			names[p.owner] = p.file
		} else {
			for !strings.HasPrefix(p.file, name) {
				name = name[:strings.LastIndexAny(strings.TrimRight(name, "-."), "-.")+1]
			}
			names[p.owner] = name
		}
	}
	given := map[string]int{}
	for owner, name := range names {
		name = strings.TrimRight(name, "-.")
		names[owner] = name
		given[owner.dir+"/"+name]++
	}
	for owner, name := range names {
		if name != "" && given[owner.dir+"/"+name] == 1 {
			owner.file = name
		}
	}
}

// sure reports a name of which each part is that of a host.
func (p *replicaPlace) sure() bool {
	if p.file != "" {
		return p.sureFile
	}
	return len(p.sureDirs) > 0 && p.sureDirs[len(p.sureDirs)-1]
}

// restarted reports captures in order of processes that followed one another: each listens at a socket of
// its own, none comes back, and one has two captures or more.
func restarted(list []*replicaPlace) bool {
	seen, lives := map[analysis.Listener]bool{}, 0
	for i, p := range list {
		if p.first.listener.Address == 0 {
			return false
		}
		if i > 0 && p.first.listener == list[i-1].first.listener {
			continue
		}
		if seen[p.first.listener] {
			return false
		}
		seen[p.first.listener] = true
		lives++
	}
	return lives > 1 && lives < len(list)
}

// ofOneProcess reports captures in order that goroutines allow to be of one process. It is proven
// where all listen at one socket.
func ofOneProcess(list []*replicaPlace) (same, proven bool) {
	if restarted(list) {
		return true, true
	}
	proven = true
	for i, p := range list {
		if p.first.newest == 0 {
			return false, false
		}
		for _, q := range list[:i] {
			one, known := p.first.listener.SameProcess(q.first.listener)
			switch {
			case one:
				continue
			case known, p.first.newest+numbersAhead < q.first.newest:
				return false, false
			}
			proven = false
			for id, creator := range q.first.creators {
				if other, ok := p.first.creators[id]; ok && other != creator && other != "" && creator != "" {
					return false, false
				}
			}
		}
	}
	return true, proven
}
