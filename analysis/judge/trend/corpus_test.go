package trend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/samples/corpus"
)

// truth is the expected result of one series (expected*.json).
type truth struct {
	Series    string      `json:"series"`
	Process   string      `json:"process"`
	Verdict   string      `json:"verdict"`
	Times     []time.Time `json:"captured_at"`
	Growing   []truthRow  `json:"growing"`
	Negatives []truthRow  `json:"must_not_be_called_leaking"`
	ChangeAt  string      `json:"process_change_at"`
	Snapshots []string    `json:"snapshots"`
}

type truthRow struct {
	Contains []string        `json:"contains"`
	Counts   analysis.Counts `json:"counts"`
}

// at is the series that one row of counts describes, members identified by ids.
func (tr truth) at(t *testing.T, ids string) []*analysis.Snapshot {
	t.Helper()
	times, pids := make([]string, len(tr.Times)), make([]string, len(tr.Times))
	pid := 1
	for i, at := range tr.Times {
		times[i] = strconv.FormatFloat(at.Sub(tr.Times[0]).Seconds(), 'f', 3, 64)
		if tr.Snapshots[i] == tr.ChangeAt {
			pid++
		}
		pids[i] = strconv.Itoa(pid)
	}
	sc := only(ids).at(strings.Join(times, " "))
	sc.pids = strings.Join(pids, " ")
	return sc.snapshots(t)
}

func (row truthRow) words() (string, bool) {
	words := make([]string, len(row.Counts))
	for i, count := range row.Counts {
		if !count.Known() {
			return "", false
		}
		words[i] = strconv.Itoa(count.N)
	}
	return strings.Join(words, " "), true
}

// needsUnit reports whether a growing family is too small for its own evidence: a trend
// needs ten members and cohorts eight, and only lockstep with larger families finds it.
func needsUnit(first, last int) bool { return last-first < 10 }

// TestEveryPrefixOfTheCorpus checks the counts of the truth files by the rule of
// check/prefixes: negatives are never leaking, and from the fifth snapshot of growth
// on, what grows is leaking or suspicious. Members of growing rows survive. Negatives
// are tried surviving, churning and without identities.
func TestEveryPrefixOfTheCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "series"), "*", "expected*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	growing, negatives := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tr truth
		if err := json.Unmarshal(data, &tr); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := tr.Series + "/" + tr.Process
		for _, row := range tr.Growing {
			if counts, ok := row.words(); ok && tr.Verdict == "leak" {
				growing += checkGrowing(t, name, tr.at(t, piling(counts)), row)
			}
		}
		for _, row := range tr.Negatives {
			counts, ok := row.words()
			if !ok {
				continue
			}
			for _, write := range []func(string) string{piling, churning, unidentified} {
				negatives += checkNegative(t, name, tr.at(t, write(counts)), row)
			}
		}
	}
	t.Logf("%d prefixes of growing families and %d of negatives hold", growing, negatives)
	if growing < 100 || negatives < 100 {
		t.Errorf("only %d prefixes of growing families and %d of negatives were checked", growing, negatives)
	}
}

func checkGrowing(t *testing.T, name string, snaps []*analysis.Snapshot, row truthRow) int {
	checked, rises, highest := 0, 0, row.Counts[0].N
	for k := 2; k <= len(snaps); k++ {
		last := row.Counts[k-1].N
		if last > row.Counts[k-2].N {
			rises++
		}
		highest = max(highest, last)
		if rises < 4 || last < highest || needsUnit(row.Counts[0].N, last) {
			continue
		}
		checked++
		judged := prefix(snaps, k).JudgeAll()[onlyFamily]
		if judged.Verdict != analysis.Leaking && judged.Verdict != analysis.Suspicious {
			t.Errorf("%s %v at %s: %s %v", name, row.Contains, snaps[k-1].Label, judged.Verdict, judged.Evidence)
		}
	}
	return checked
}

func checkNegative(t *testing.T, name string, snaps []*analysis.Snapshot, row truthRow) int {
	for k := 2; k <= len(snaps); k++ {
		if judged := prefix(snaps, k).JudgeAll()[onlyFamily]; judged.Verdict == analysis.Leaking {
			t.Errorf("%s accuses %v at %s: %v", name, row.Contains, snaps[k-1].Label, judged.Evidence)
		}
	}
	return len(snaps) - 1
}
