package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Level is how much a report says about a subject.
type Level int

const (
	Silent Level = iota
	Named        // grew, stopped, new, or a total that rose
	Scaling
	Suspicious
	Leaking
)

// Answer is what a report says about the subject and about everything else.
type Answer struct {
	Level Level
	// Verdict is the word that stands for the level.
	Verdict string
	// WasLeaking reports that a suspicious or stopped subject is said to have leaked.
	WasLeaking bool
	// Recovered reports that a leaking subject is said to have ended.
	Recovered bool
	// Accused are innocents that are called leaking.
	Accused []string
	// Merged reports that two causes are one unit or finding.
	Merged bool
	// Snapshots and Series are how many the report has read.
	Snapshots, Series int
}

// document is the part of leakdiff.report/1 that is judged.
type document struct {
	Snapshots []json.RawMessage `json:"snapshots"`
	Series    []struct {
		Families    []familyRow       `json:"families"`
		Objects     []itemRow         `json:"objects"`
		Units       []unitRow         `json:"units"`
		Findings    []json.RawMessage `json:"findings"`
		TotalsRisen []json.RawMessage `json:"totals_risen"`
	} `json:"series"`
}

type familyRow struct {
	Fingerprint string            `json:"fingerprint"`
	Kind        string            `json:"kind"`
	Title       string            `json:"title"`
	Frames      []string          `json:"frames"`
	CreatedBy   string            `json:"created_by"`
	Attributes  map[string]string `json:"attributes"`
	Verdict     string            `json:"verdict"`
	RecoveredAt *string           `json:"recovered_at"`
	Evidence    []struct {
		Text string `json:"text"`
	} `json:"evidence"`
}

type itemRow struct {
	Name     string   `json:"name"`
	Verdict  string   `json:"verdict"`
	Families []string `json:"families"`
}

type unitRow struct {
	Verdict string             `json:"verdict"`
	Ratio   map[string]float64 `json:"ratio"`
}

// levelOf ranks the verdicts.
func levelOf(verdict string) Level {
	switch verdict {
	case "leaking":
		return Leaking
	case "suspicious":
		return Suspicious
	case "scaling":
		return Scaling
	case "grew", "stopped", "new":
		return Named
	}
	return Silent
}

// Run gives the first n captures to the program at path and judges its report. Dir is for
// the archive.
func (s *Series) Run(path, dir string, n int) (Answer, error) {
	text, err := s.Report(path, dir, n)
	if err != nil {
		return Answer{}, err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return Answer{}, err
	}
	if s.Apart[0] != nil {
		return s.both(d), nil
	}
	return d.about(s.Marks, slices.Concat(s.Marks, s.ended)), nil
}

// Report is what the program at path reports of the first n captures, as JSON.
func (s *Series) Report(path, dir string, n int) ([]byte, error) {
	name := filepath.Join(dir, "bundle.tar")
	out, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer os.Remove(name)
	if err := s.Pack(out, n); err != nil {
		return nil, err
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	report := exec.Command(path, "report", "--format", "json", name)
	var stdout, stderr bytes.Buffer
	report.Stdout, report.Stderr = &stdout, &stderr
	if err := report.Run(); err != nil {
		return nil, fmt.Errorf("leakdiff report: %w: %.300s", err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// both is the weaker of the answers about two causes.
func (s *Series) both(d document) Answer {
	first, second := d.about(s.Apart[0], s.Marks), d.about(s.Apart[1], s.Marks)
	if second.Level < first.Level {
		first = second
	}
	for _, series := range d.Series {
		for _, u := range series.Units {
			causes := [2]bool{}
			for _, f := range series.Families {
				if _, in := u.Ratio[f.Fingerprint]; in {
					causes[0] = causes[0] || f.has(s.Apart[0])
					causes[1] = causes[1] || f.has(s.Apart[1])
				}
			}
			first.Merged = first.Merged || causes[0] && causes[1]
		}
	}
	return first
}

// has reports whether a family is one of those that the marks name.
func (f *familyRow) has(marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		if mark == "inotify" {
			return f.Kind == "watch" || strings.Contains(f.Title, "inotify")
		}
		if strings.Contains(f.CreatedBy, mark) || strings.Contains(f.Title, mark) {
			return true
		}
		for _, frame := range f.Frames {
			if strings.Contains(frame, mark) {
				return true
			}
		}
		for _, value := range f.Attributes {
			if strings.Contains(value, mark) {
				return true
			}
		}
		return false
	})
}

// about collects what is said of the families that marks name. Families that the marks in
// all name are not innocent.
func (d *document) about(marks, all []string) Answer {
	a := Answer{Snapshots: len(d.Snapshots), Series: len(d.Series)}
	raise := func(verdict string) {
		if l := levelOf(verdict); l > a.Level {
			a.Level, a.Verdict = l, verdict
		}
	}
	for _, series := range d.Series {
		subject, known := map[string]bool{}, map[string]bool{}
		for k := range series.Families {
			f := &series.Families[k]
			known[f.Fingerprint] = f.has(all)
			if !f.has(marks) {
				if !known[f.Fingerprint] && f.Verdict == "leaking" {
					a.Accused = append(a.Accused, f.Title)
				}
				continue
			}
			subject[f.Fingerprint] = true
			raise(f.Verdict)
			a.Recovered = a.Recovered || f.Verdict == "leaking" && f.RecoveredAt != nil
			for _, e := range f.Evidence {
				a.WasLeaking = a.WasLeaking || strings.Contains(e.Text, "was leaking")
			}
		}
		ours := func(fingerprints []string) bool {
			return slices.ContainsFunc(fingerprints, func(f string) bool { return subject[f] })
		}
		for _, o := range series.Objects {
			if ours(o.Families) {
				raise(o.Verdict)
			}
		}
		for _, u := range series.Units {
			if ours(sortedKeys(u.Ratio)) {
				raise(u.Verdict)
			}
		}
		for _, raw := range series.Findings {
			var f struct {
				Verdict, Title string
				Families       []string
			}
			if json.Unmarshal(raw, &f) != nil || f.Verdict == "" {
				continue
			}
			innocent := !mentions(raw, all) && !slices.ContainsFunc(f.Families, func(print string) bool { return known[print] })
			switch {
			case ours(f.Families) || len(f.Families) == 0 && mentions(raw, marks):
				raise(f.Verdict)
			case innocent && f.Verdict == "leaking":
				a.Accused = append(a.Accused, f.Title)
			}
		}
		for _, raw := range series.TotalsRisen {
			if mentions(raw, marks) || ours(strings.FieldsFunc(string(raw), func(r rune) bool { return r == '"' })) {
				raise("grew")
			}
		}
	}
	return a
}

func mentions(raw []byte, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return bytes.Contains(raw, []byte(mark)) })
}
