package ingest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// earlyNumbers are the numbers of goroutines of which an identity keeps who created them.
	earlyNumbers = 4096
	// numbersAhead bounds how far the newest goroutine of a capture can stand behind that of the one
	// before: each processor of a Go program takes 16 numbers at once.
	numbersAhead = 64
)

// joinCounted gives one owner to places whose names count the captures of one process from 1, such as
// "app-1.txt" to "app-5.txt": in the order of the names the numbers of goroutines rise, and none was
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
		for i, n := range slices.Sorted(maps.Keys(named)) {
			if n != i+1 {
				list = nil
				break
			}
			list = append(list, named[n])
		}
		least := 2
		if slices.ContainsFunc(list, (*replicaPlace).sure) {
			least = 3
		}
		if len(list) < least || !ofOneProcess(list) {
			continue
		}
		for _, p := range list {
			p.owner = list[0]
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

// ofOneProcess reports captures in order that goroutines allow to be of one process.
func ofOneProcess(list []*replicaPlace) bool {
	for i, p := range list {
		if p.first.newest == 0 {
			return false
		}
		for _, q := range list[:i] {
			if p.first.newest+numbersAhead < q.first.newest {
				return false
			}
			for id, creator := range q.first.creators {
				if other, ok := p.first.creators[id]; ok && other != creator && other != "" && creator != "" {
					return false
				}
			}
		}
	}
	return true
}
