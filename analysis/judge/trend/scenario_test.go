package trend

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

// scenario is a series written as text. Each family is a line of words, one per
// snapshot: "1-4,9" lists ids, "." is captured and absent, "-" is not captured, "#12"
// is a count without identities. Snapshots are a minute apart unless times is set.
type scenario struct {
	families map[string]string
	kind     analysis.Kind
	// times are seconds since the first snapshot, "-" where unknown.
	times string
	// pids is one word per snapshot; empty: pid unknown.
	pids string
	// newest is the largest goroutine id of each snapshot; empty: that of the
	// families.
	newest string
}

const onlyFamily = "g1:family"

// only is a series of one family of interest in a living process: main goes on, and
// other goroutines start all the time.
func only(line string) scenario {
	n := len(strings.Fields(line))
	newest := make([]string, n)
	for i := range newest {
		newest[i] = strconv.Itoa(10_000_000 + i)
	}
	return scenario{
		families: map[string]string{onlyFamily: line, "g1:main": strings.TrimSpace(strings.Repeat("9999999 ", n))},
		newest:   strings.Join(newest, " "),
	}
}

// at sets the times of the scenario in seconds.
func (sc scenario) at(times string) scenario {
	sc.times = times
	return sc
}

var testEpoch = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// seriesOf is a series with nothing but its snapshots.
func seriesOf(snaps []*analysis.Snapshot) *Series { return NewSeries(Input{Snapshots: snaps}) }

func (sc scenario) series(t testing.TB) *Series {
	t.Helper()
	return seriesOf(sc.snapshots(t))
}

func (sc scenario) snapshots(t testing.TB) []*analysis.Snapshot {
	t.Helper()
	kind := sc.kind
	if kind == "" {
		kind = analysis.KindGoroutine
	}
	n := 0
	for _, line := range sc.families {
		n = len(strings.Fields(line))
	}
	snaps := make([]*analysis.Snapshot, n)
	for i := range snaps {
		snaps[i] = &analysis.Snapshot{Label: "t" + strconv.Itoa(i), Order: i, CapturedAt: testEpoch.Add(time.Duration(i) * time.Minute)}
	}
	for i, word := range strings.Fields(sc.times) {
		if word == "-" {
			snaps[i].CapturedAt = time.Time{}
			continue
		}
		seconds, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatalf("time %q: %v", word, err)
		}
		snaps[i].CapturedAt = testEpoch.Add(time.Duration(seconds * float64(time.Second)))
	}
	for i, word := range strings.Fields(sc.newest) {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatalf("newest %q: %v", word, err)
		}
		snaps[i].MaxGoroutineID = id
	}
	for i, word := range strings.Fields(sc.pids) {
		snaps[i].Process.PID = analysis.Fact{Value: word}
	}
	totals := make([]int, n)
	captured := make([]bool, n)
	for fingerprint, line := range sc.families {
		family := &analysis.Family{Fingerprint: fingerprint, Kind: kind, Title: fingerprint}
		words := strings.Fields(line)
		if len(words) != n {
			t.Fatalf("%s has %d words, not %d", fingerprint, len(words), n)
		}
		for i, word := range words {
			captured[i] = captured[i] || word != "-"
			group, there := parseGroup(t, family, word)
			if there {
				snaps[i].Groups = append(snaps[i].Groups, group)
				totals[i] += group.Count
			}
		}
	}
	for i, snap := range snaps {
		if captured[i] {
			setTotal(snap, kind, totals[i])
		}
	}
	return snaps
}

func setTotal(snap *analysis.Snapshot, kind analysis.Kind, total int) {
	switch kind {
	case analysis.KindGoroutine:
		snap.Totals.Goroutines = &total
	case analysis.KindThread:
		snap.Totals.Threads = &total
	case analysis.KindDescriptor:
		snap.Totals.Descriptors = &total
	case analysis.KindWatch:
		snap.Totals.Watches = &total
	}
}

func parseGroup(t testing.TB, family *analysis.Family, word string) (analysis.Group, bool) {
	t.Helper()
	group := analysis.Group{Family: family, OldestWait: -1}
	if word == "." || word == "-" {
		return group, false
	}
	if count, plain := strings.CutPrefix(word, "#"); plain {
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("count %q: %v", word, err)
		}
		group.Count = n
		return group, n > 0
	}
	for _, piece := range strings.Split(word, ",") {
		low, high, isRange := strings.Cut(piece, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseInt(low, 10, 64)
		to, err2 := strconv.ParseInt(high, 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("ids %q", word)
		}
		for id := from; id <= to; id++ {
			group.Members.Fill().ID = append(group.Members.Fill().ID, id)
		}
	}
	group.Count = len(group.Members.Fill().ID)
	return group, true
}

// piling writes counts as ids of which the oldest survive a fall: "0 8 15 0" becomes
// ". 1-8 1-15 .".
func piling(counts string) string {
	var words []string
	for _, word := range strings.Fields(counts) {
		switch word {
		case "0":
			words = append(words, ".")
		default:
			words = append(words, "1-"+word)
		}
	}
	return strings.Join(words, " ")
}

// churning writes counts as ids of which none survives: "20 10" becomes
// "1-20 1001-1010".
func churning(counts string) string {
	var words []string
	for i, word := range strings.Fields(counts) {
		n, _ := strconv.Atoi(word)
		if n == 0 {
			words = append(words, ".")
			continue
		}
		words = append(words, fmt.Sprintf("%d-%d", 1000*i+1, 1000*i+n))
	}
	return strings.Join(words, " ")
}

// unidentified writes plain counts: "0 8" becomes "#0 #8".
func unidentified(counts string) string {
	words := strings.Fields(counts)
	for i := range words {
		words[i] = "#" + words[i]
	}
	return strings.Join(words, " ")
}

// prefix keeps the first k snapshots.
func prefix(snaps []*analysis.Snapshot, k int) *Series { return seriesOf(snaps[:k]) }
