package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// captures are the numbers of captures that each version is judged at.
var captures = []int{2, 3, 4, 6}

// verdict is what leakdiff, or a simple rule, says of the first n captures of a version.
type verdict struct {
	// leaking is an accusation; grew is a word below it: grew or suspicious.
	leaking, grew bool
	// holderFirst is that the first finding names the holder.
	holderFirst bool
	// named is that the entry of the case is among the known leaks; versions is what that
	// says of the release.
	named    bool
	versions string
	// parts is how many parts of a second case are named by a finding that at least grew.
	parts int
	// others are the ids of other entries that are named as the cause.
	others []string
	first  string
}

// versionResult is what was said of a version at each number of captures.
type versionResult struct {
	suffix string
	held   []int
	// heldByPart is held of each part of a second case.
	heldByPart [][]int
	leakdiff   map[int]verdict
	rules      map[string]map[int]verdict
}

type caseResult struct {
	leakCase
	versions map[string]versionResult
}

// report is the part of leakdiff report --format json that is read.
type report struct {
	Series []series `json:"series"`
}

type series struct {
	Families []struct {
		Fingerprint string      `json:"fingerprint"`
		Verdict     string      `json:"verdict"`
		KnownLeaks  []knownLeak `json:"known_leaks"`
	} `json:"families"`
	Findings []finding `json:"findings"`
}

type knownLeak struct {
	ID      string `json:"id"`
	Verdict string `json:"version_verdict"`
}

type finding struct {
	Verdict  string          `json:"verdict"`
	Title    string          `json:"title"`
	Text     string          `json:"text"`
	Families []string        `json:"families"`
	Stack    json.RawMessage `json:"stack"`
}

func (f finding) grew() bool { return f.Verdict != "recovered" && f.Verdict != "stable" }

func (f finding) names(holders []string) bool {
	return contains(f.Title+"\n"+f.Text+"\n"+string(f.Stack), holders)
}

// namedBy is that a finding names the holder of a case, and that it at least grew.
func (c leakCase) namedBy(f finding) bool { return f.grew() && f.names(c.holders) }

// judgeAll judges the kept captures of all cases, two at a time. A case without captures is
// left out.
func judgeAll(cases []leakCase, binary string) ([]caseResult, error) {
	results := make([]caseResult, len(cases))
	errs := make([]error, len(cases))
	var wait sync.WaitGroup
	slots := make(chan struct{}, 2)
	for i, c := range cases {
		wait.Go(func() {
			slots <- struct{}{}
			results[i], errs[i] = judgeCase(c, binary)
			<-slots
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(results, func(r caseResult) bool { return len(r.versions) == 0 }), nil
}

func judgeCase(c leakCase, binary string) (caseResult, error) {
	out := caseResult{leakCase: c, versions: map[string]versionResult{}}
	for _, suffix := range c.versions() {
		raw, err := os.ReadFile(kept(c, suffix))
		if os.IsNotExist(err) {
			return caseResult{}, nil
		}
		if err != nil {
			return caseResult{}, err
		}
		members, err := unpack(raw)
		if err != nil {
			return caseResult{}, fmt.Errorf("%s: %w", kept(c, suffix), err)
		}
		v := versionResult{suffix: suffix, held: held(c, members), heldByPart: heldByPart(c, members), leakdiff: map[int]verdict{}, rules: map[string]map[int]verdict{}}
		for _, n := range captures {
			if v.leakdiff[n], err = ask(c, binary, first(members, n)); err != nil {
				return caseResult{}, fmt.Errorf("%s with %d captures: %w", kept(c, suffix), n, err)
			}
			for _, r := range rules {
				accuses, frames := r.accuses(members, n)
				if v.rules[r.name] == nil {
					v.rules[r.name] = map[int]verdict{}
				}
				v.rules[r.name][n] = verdict{leaking: accuses, holderFirst: accuses && contains(strings.Join(frames, "\n"), c.holders)}
			}
		}
		out.versions[suffix] = v
	}
	return out, nil
}

// ask runs leakdiff report over members.
func ask(c leakCase, binary string, members []member) (verdict, error) {
	packed, err := pack(members)
	if err != nil {
		return verdict{}, err
	}
	dir, err := os.MkdirTemp("", "leakbench-")
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "capture.tgz")
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		return verdict{}, err
	}
	text, err := exec.Command(binary, "report", "--format", "json", path).Output()
	if err != nil {
		return verdict{}, err
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return verdict{}, err
	}
	return readVerdict(c, r), nil
}

func readVerdict(c leakCase, r report) verdict {
	var out verdict
	for _, p := range c.parts {
		if slices.ContainsFunc(r.Series, func(s series) bool { return slices.ContainsFunc(s.Findings, p.namedBy) }) {
			out.parts++
		}
	}
	for _, series := range r.Series {
		for i, f := range series.Findings {
			out.leaking = out.leaking || f.Verdict == "leaking"
			out.grew = out.grew || f.grew()
			if i == 0 && out.first == "" {
				out.first = f.Title
				out.holderFirst = len(c.holders) > 0 && f.names(c.holders)
			}
		}
		accused := map[string]bool{}
		for _, f := range series.Findings {
			for _, fingerprint := range f.Families {
				accused[fingerprint] = true
			}
		}
		for _, f := range series.Families {
			for _, k := range f.KnownLeaks {
				switch {
				case k.ID != "" && k.ID == c.entry:
					out.named, out.versions = true, k.Verdict
				case accused[f.Fingerprint] && !slices.Contains(out.others, k.ID):
					out.others = append(out.others, k.ID)
				}
			}
		}
	}
	return out
}
