package trend

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// leastPlaces is how many names must differ at one place of a path, so that it is one place for many:
// a tenant, a queue, a topic. Of two nobody knows.
const leastPlaces = 3

// anyName stands for the name that differs.
const anyName = "*"

// leastReopened is by how many descriptors each of several files beside each other rises that are one:
// what is opened once, as each library of a program is, is none of many.
const leastReopened = 2

// judgePaths judges files as one whose paths differ in one name: a leak of one segment.log for
// each of many tenants is in as many families, of which none may grow by itself. Those are left out
// of which a family says as much and has most of the rise.
func (s *Series) judgePaths() []Key {
	var found []Key
	united := s.pathsApart()
	for _, m := range united {
		slices.SortStableFunc(m.parts, func(a, b *part) int { return cmp.Compare(b.gain(), a.gain()) })
		key := Key{By: ByPath, Kind: m.kind, Name: m.name, Of: len(m.parts)}
		for _, p := range m.parts {
			key.Families = append(key.Families, p.family.Fingerprint)
		}
		found = append(found, key)
	}
	return slices.DeleteFunc(s.judgeUnited(analysis.KindDescriptor, found, united), func(k Key) bool {
		return slices.ContainsFunc(k.Families, func(print string) bool {
			j := s.judgements().byFingerprint[print]
			return j.verdict().Rank() <= k.Judgement.Verdict.Rank() && 2*j.part.gain() > k.Judgement.Rise
		})
	})
}

// pathsApart are the files whose paths differ in one name, those of most names first.
// Each family is in one of them at most.
func (s *Series) pathsApart() (out []sharing) {
	at := map[string]*sharing{}
	differ := map[string]map[string]bool{}
	var order []string
	for _, p := range s.ordered {
		if a := p.family.Attributes; p.family.Kind != analysis.KindDescriptor || a["type"] != "file" || s.in.Observer[p.family.Fingerprint] {
			continue
		}
		path := p.family.Attributes["path"]
		patterns := directoriesOf(path)
		if p.gain() >= leastReopened {
			maps.Copy(patterns, namesOf(path))
		}
		for pattern, name := range patterns {
			if at[pattern] == nil {
				at[pattern], differ[pattern] = &sharing{name: pattern, kind: p.family.Kind}, map[string]bool{}
				order = append(order, pattern)
			}
			at[pattern].parts = append(at[pattern].parts, p)
			differ[pattern][name] = true
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(differ[b]), len(differ[a])), strings.Compare(a, b))
	})
	taken := map[*part]bool{}
	for _, pattern := range order {
		if len(differ[pattern]) < leastPlaces || slices.ContainsFunc(at[pattern].parts, func(p *part) bool { return taken[p] }) {
			continue
		}
		for _, p := range at[pattern].parts {
			taken[p] = true
		}
		out = append(out, *at[pattern])
	}
	return out
}

// directoriesOf are the patterns of a path with any name for one of its directories, with that
// directory. Below it something must differ already, a number or an id: it is one of many of one
// layout. The directories of a system are no such places: what is in /var/log and in /var/lib are
// two things.
//
//	"/data/acme/<uid>/segment.log" = {"/data/*/<uid>/segment.log": "acme"}
func directoriesOf(path string) map[string]string {
	words := strings.Split(path, "/")
	first, out := 2, map[string]string{} // of "", "data", "acme", "<uid>", "segment.log"
	if len(words) > 1 {
		switch words[1] {
		case "var", "usr", "etc", "run", "lib", "lib64":
			first = 3
		case "proc", "sys", "dev":
			return out
		}
	}
	for k := first; k < len(words)-1; k++ {
		if below := strings.Join(words[k+1:], "/"); words[0] == "" && !strings.Contains(words[k], "<") && strings.Contains(below, "<") {
			out[strings.Join(words[:k], "/")+"/"+anyName+"/"+below] = words[k]
		}
	}
	return out
}

// namesOf are the patterns of a path with anything for one word of the name of its file, with that
// word. Its other words, of which the extension is one, and its directory are those of all.
//
//	"/app/logs/audit-acme.log" = {"/app/logs/audit-*.log": "acme", "/app/logs/*-acme.log": "audit"}
func namesOf(path string) map[string]string {
	out := map[string]string{}
	at := strings.LastIndexByte(path, '/') + 1
	if at < 2 || slices.Contains([]string{"proc", "sys", "dev"}, strings.SplitN(path, "/", 3)[1]) {
		return out
	}
	isEnd := func(r rune) bool { return strings.ContainsRune("-_.", r) }
	for from := at; from < len(path); {
		to := len(path)
		if n := strings.IndexFunc(path[from:], isEnd); n >= 0 {
			to = from + n
		}
		if word := path[from:to]; word != "" && to-from < len(path)-at && !strings.Contains(word, "<") && !(to == len(path) && path[from-1] == '.') {
			out[path[:from]+anyName+path[to:]] = word
		}
		from = to + 1
	}
	return out
}
