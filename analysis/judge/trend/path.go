package trend

import (
	"cmp"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// leastDirectories is how many directories must differ at one place of a path, so that it is one
// place for many: a tenant, a queue, a topic. Of two nobody knows.
const leastDirectories = 3

// anyDirectory stands for the directory that differs.
const anyDirectory = "*"

// judgePaths judges files as one whose paths differ in one directory: a leak of one segment.log for
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

// pathsApart are the files whose paths differ in one directory, those of most directories first.
// Each family is in one of them at most.
func (s *Series) pathsApart() (out []sharing) {
	at := map[string]*sharing{}
	differ := map[string]map[string]bool{}
	var order []string
	for _, p := range s.ordered {
		if a := p.family.Attributes; p.family.Kind != analysis.KindDescriptor || a["type"] != "file" || s.in.Observer[p.family.Fingerprint] {
			continue
		}
		for directory, pattern := range patternsOf(p.family.Attributes["path"]) {
			if at[pattern] == nil {
				at[pattern], differ[pattern] = &sharing{name: pattern, kind: p.family.Kind}, map[string]bool{}
				order = append(order, pattern)
			}
			at[pattern].parts = append(at[pattern].parts, p)
			differ[pattern][directory] = true
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(differ[b]), len(differ[a])), strings.Compare(a, b))
	})
	taken := map[*part]bool{}
	for _, pattern := range order {
		if len(differ[pattern]) < leastDirectories || slices.ContainsFunc(at[pattern].parts, func(p *part) bool { return taken[p] }) {
			continue
		}
		for _, p := range at[pattern].parts {
			taken[p] = true
		}
		out = append(out, *at[pattern])
	}
	return out
}

// patternsOf are the patterns of a path with any name for one of its directories, by that
// directory. Below it something must differ already, a number or an id: it is one of many of one
// layout. The directories of a system are no such places: what is in /var/log and in /var/lib are
// two things.
//
//	"/data/acme/<uid>/segment.log" = {"acme": "/data/*/<uid>/segment.log"}
func patternsOf(path string) map[string]string {
	words := strings.Split(path, "/")
	first := 2 // of "", "data", "acme", "<uid>", "segment.log"
	if len(words) > 1 {
		switch words[1] {
		case "var", "usr", "etc", "run", "lib", "lib64":
			first = 3
		case "proc", "sys", "dev":
			return nil
		}
	}
	out := map[string]string{}
	for k := first; k < len(words)-1; k++ {
		if below := strings.Join(words[k+1:], "/"); words[0] == "" && !strings.Contains(words[k], "<") && strings.Contains(below, "<") {
			out[words[k]] = strings.Join(words[:k], "/") + "/" + anyDirectory + "/" + below
		}
	}
	return out
}
