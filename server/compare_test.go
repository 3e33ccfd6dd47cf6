package server

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pools is a dump with that many goroutines of each function.
func pools(counts map[string]int) []byte {
	var b strings.Builder
	id := 100
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		for range counts[name] {
			id++
			fmt.Fprintf(&b, "goroutine %d [select, 5 minutes]:\nmain.%s(0xc000010000)\n\t/src/pool.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id, name)
		}
	}
	return []byte(b.String())
}

func TestSeveralSnapshotsAreSortedByAnyColumn(t *testing.T) {
	s := newSite(t)
	up := s.put("capture.tar.gz", tgz(t, map[string]string{
		"t0/g.txt": string(pools(map[string]int{"apple": 9, "berry": 1, "cedar": 5})),
		"t1/g.txt": string(pools(map[string]int{"apple": 10, "berry": 30, "cedar": 7})),
		"t2/g.txt": string(pools(map[string]int{"apple": 20, "berry": 40, "cedar": 60})),
	}))
	if len(up.Snapshots) != 3 {
		t.Fatalf("%d snapshots, want 3", len(up.Snapshots))
	}
	name := regexp.MustCompile(`main\.</span><b>(\w+)|>main\.(?:<[^>]*>)*(apple|berry|cedar)`)
	for _, tc := range []struct{ name, query, want, sorted string }{
		{"by the change, as they come", "", "cedar berry apple", ""},
		{"by the change, the smallest first", "&sort=delta&dir=asc", "apple berry cedar", "ascending"},
		{"by name", "&sort=name&dir=asc", "apple berry cedar", "ascending"},
		{"by name, backwards", "&sort=name&dir=desc", "cedar berry apple", "descending"},
		{"by the first column", "&sort=" + up.Snapshots[0].ID + "&dir=desc", "apple cedar berry", "descending"},
		{"by the one in the middle", "&sort=" + up.Snapshots[1].ID + "&dir=asc", "cedar apple berry", "ascending"},
		{"by what is no column", "&sort=nosuch", "cedar berry apple", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := s.get("/compare?case=" + up.Case + tc.query)
			body := between(page.body, "<tbody>", "</table>")
			var got []string
			for _, m := range name.FindAllStringSubmatch(body, -1) {
				if n := m[1] + m[2]; !slices.Contains(got, n) {
					got = append(got, n)
				}
			}
			if page.status != 200 || strings.Join(got, " ") != tc.want {
				t.Errorf("%d: %q, want %q", page.status, got, tc.want)
			}
			if tc.sorted != "" && strings.Count(page.body, `aria-sort="`+tc.sorted+`"`) != 1 {
				t.Errorf("no head, or several, say that the rows are %s", tc.sorted)
			}
		})
	}
}

// An address without a snapshot needs no series, a comparison all: neither is answered with what was
// loaded for the other.
func TestAnAddressWithoutASnapshotLeavesTheCaseAsItIs(t *testing.T) {
	s := newSite(t)
	up := s.untimed(t, 3, 13, 23)
	of := "?case=" + up.Case
	s.run(t, []scenario{
		{name: "no such snapshot", path: "/snapshots/snone" + of, status: 404},
		{name: "no such series of objects", path: "/objects/o1" + of + "&series=none", status: 404},
		{name: "a comparison", path: "/compare" + of, status: 200},
		{name: "as text", path: "/compare.txt" + of, status: 200, want: []string{"t2"}},
	})
}
