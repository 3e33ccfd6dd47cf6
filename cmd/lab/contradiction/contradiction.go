// Package contradiction holds the answer of a report against the figures of the same report. It
// takes the JSON that `leakdiff report --format json` prints, and returns each claim that a row
// of the table rules out. It knows nothing of how answers are made: it imports no package of
// the analysis, so that a fault there cannot hide itself.
package contradiction

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Found is a claim that the figures beside it rule out.
type Found struct {
	// Row is the name of the row, Words what the answer says.
	Row, Words string
}

// Report is what the table reads of a report.
type Report struct {
	Snapshots []struct {
		ID     string              `json:"id"`
		Label  string              `json:"label"`
		At     *time.Time          `json:"captured_at"`
		Epoch  int                 `json:"epoch"`
		Totals map[string]*float64 `json:"totals"`
		Cut    bool                `json:"lower_bound"`
	} `json:"snapshots"`
	Series    []Series  `json:"series"`
	Diagnosis Diagnosis `json:"diagnosis"`
}

// Series is one process.
type Series struct {
	Process   string    `json:"process"`
	Snapshots []string  `json:"snapshots"`
	Families  []Family  `json:"families"`
	Findings  []Finding `json:"findings"`
	Limits    []Limit   `json:"limits"`
	Totals    []any     `json:"totals_risen"`
}

// Family is one group.
type Family struct {
	Fingerprint string `json:"fingerprint"`
	Kind        string `json:"kind"`
	Title       string `json:"title"`
	CreatedBy   string `json:"created_by"`
	Counts      []*int `json:"counts"`
	Verdict     string `json:"verdict"`
	Life        *struct {
		Followed int `json:"followed"`
		Gone     int `json:"gone"`
	} `json:"life"`
	SetAside any `json:"set_aside"`
	Triage   *struct {
		State string `json:"state"`
	} `json:"triage"`
}

// Finding is one finding.
type Finding struct {
	Rank     int      `json:"rank"`
	Kind     string   `json:"kind"`
	Verdict  string   `json:"verdict"`
	Families []string `json:"families"`
	Counts   []*int   `json:"counts"`
	BehindOf *struct {
		Series int `json:"series"`
	} `json:"behind_of"`
	EndedWith *struct {
		Series int `json:"series"`
	} `json:"ended_with"`
	Stack []any `json:"stack"`
}

// Limit is a bound and its use.
type Limit struct {
	What      string      `json:"what"`
	Bound     float64     `json:"bound"`
	Used      float64     `json:"used"`
	Counts    []*float64  `json:"counts"`
	HoursLeft *[3]float64 `json:"hours_left"`
}

// Diagnosis is the answer.
type Diagnosis struct {
	Sentence string   `json:"sentence"`
	Verdict  string   `json:"verdict"`
	State    string   `json:"state"`
	Series   *int     `json:"series"`
	Finding  int      `json:"finding"`
	Proof    string   `json:"proof"`
	Since    string   `json:"since"`
	Limit    string   `json:"limit"`
	Rate     string   `json:"rate"`
	Also     []string `json:"also"`
	Chain    []struct {
		Series  int `json:"series"`
		Finding int `json:"finding"`
	} `json:"chain"`
	Next *struct {
		Text string `json:"text"`
	} `json:"next"`
	Growth *Certainty `json:"growth_certainty"`
	Claims *struct {
		Left     int  `json:"left"`
		N        int  `json:"n"`
		From     int  `json:"from"`
		Top      int  `json:"top"`
		Last     int  `json:"last"`
		Came     int  `json:"came"`
		Ended    int  `json:"ended"`
		Followed bool `json:"followed"`
		EndedAt  int  `json:"ended_at"`
		Restart  int  `json:"restarted_at"`
		Again    bool `json:"again"`
	} `json:"claims"`
}

// Certainty is how sure something is.
type Certainty struct{ Word, Reason string }

// row is a claim and the figures that rule it out.
type row struct {
	name string
	// claims reports that the answer makes the claim, refuted that the figures rule it out.
	claims  func(r *Report) bool
	refuted func(r *Report) bool
}

// The words of claims.
var (
	noneEnded = regexp.MustCompile(`\b(none ended|none (was|were) \w+|(closed|closes|stopped|removed|shut down) none)\b`)
	tooFew    = regexp.MustCompile(`too few`)
	unknown   = regexp.MustCompile(`[Ww]ho came and who left is not known`)
	dropped   = regexp.MustCompile(`; \S+ grew too|more things? grew too|can never go on`)
	logs      = regexp.MustCompile(`[Ll]ook in the logs|Something released`)
	nOfN      = regexp.MustCompile(`^(\d+) of (\d+) `)
)

// rose are the verdicts on groups that have more members than before.
var rose = []string{"leaking", "saturated", "suspicious", "stopped", "grew", "new"}

// Table returns the names of the rows.
func Table() []string {
	var out []string
	for _, r := range rows() {
		out = append(out, r.name)
	}
	return out
}

// Check reads a report and returns what contradicts itself.
func Check(text []byte) ([]Found, error) {
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("a report: %w", err)
	}
	var out []Found
	for _, row := range rows() {
		if row.claims(&r) && row.refuted(&r) {
			out = append(out, Found{row.name, strings.Join([]string{r.Diagnosis.State, r.Diagnosis.Sentence, r.Diagnosis.Proof, r.Diagnosis.Since, r.Diagnosis.Limit, strings.Join(r.Diagnosis.Also, "; ")}, " | ")})
		}
	}
	return out, nil
}

func rows() []row {
	return []row{
		{"no leak seen beside a group that rose", saysNothing, func(r *Report) bool {
			return r.any(func(_ *Series, f *Family) bool {
				return slices.Contains(rose, f.Verdict) && f.SetAside == nil && (f.Triage == nil || f.Triage.State != "benign")
			})
		}},
		{"no leak seen beside a total that rose", saysNothing, func(r *Report) bool {
			return slices.ContainsFunc(r.Series, func(s Series) bool { return len(s.Totals) > 0 || r.totalRose(&s) })
		}},
		{"no leak seen beside a peak of few captures", saysNothing, func(r *Report) bool {
			return slices.ContainsFunc(r.Series, func(s Series) bool { return len(s.Snapshots) <= 4 && r.totalPeaked(&s) })
		}},
		{"who came and who ended is not what the counts rose", func(r *Report) bool {
			c := r.Diagnosis.Claims
			return c != nil && c.Followed && c.Came > 0 && c.EndedAt < 0 && c.Restart < 0 && c.Top == c.Last && !c.Again
		}, func(r *Report) bool {
			c := r.Diagnosis.Claims
			return c.Came-c.Ended != c.N-c.From
		}},
		{"stable since the last capture", func(r *Report) bool {
			return r.Diagnosis.Next != nil && strings.Contains(r.Diagnosis.Next.Text, "Nothing to do unless") && r.Diagnosis.Claims != nil
		}, func(r *Report) bool { return r.Diagnosis.Claims.Top >= r.Diagnosis.Claims.Last }},
		{"a scrape leads beside what else grew", func(r *Report) bool {
			f := r.told()
			return f != nil && f.Kind == "observer_effect" && f.Verdict == "grew"
		}, func(r *Report) bool {
			return slices.ContainsFunc(r.about().Families, func(f Family) bool {
				return f.Verdict == "grew" && f.SetAside == nil && !slices.Contains(r.told().Families, f.Fingerprint)
			})
		}},
		{"stopped at the last capture that shows it", func(r *Report) bool {
			return strings.HasPrefix(r.Diagnosis.State, "grew and stopped") && r.Diagnosis.Claims != nil
		},
			func(r *Report) bool { return r.Diagnosis.Claims.Top >= r.Diagnosis.Claims.Last }},
		{"a pace beside a growth that does not rise any more", func(r *Report) bool {
			return r.Diagnosis.Rate != "" && (r.Diagnosis.State == "grew" || strings.HasPrefix(r.Diagnosis.State, "grew and stopped")) && r.Diagnosis.Claims != nil
		}, func(r *Report) bool {
			c := r.Diagnosis.Claims
			return c.EndedAt < 0 && c.Restart < 0 && c.Top < c.Last
		}},
		{"none ended beside members that ended", func(r *Report) bool { return noneEnded.MatchString(r.Diagnosis.Sentence) && r.Diagnosis.Claims != nil },
			func(r *Report) bool {
				c := r.Diagnosis.Claims
				return !c.Followed || c.Ended > 0 || c.EndedAt < 0 && c.Restart < 0 && c.Left < c.Came
			}},
		{"a chain without a connection", func(r *Report) bool { return len(r.Diagnosis.Chain) > 0 }, func(r *Report) bool {
			for _, l := range r.Diagnosis.Chain {
				f, told := r.finding(l.Series, l.Finding), r.told()
				ended := told != nil && told.EndedWith != nil && told.EndedWith.Series == l.Series
				if l.Series != *r.Diagnosis.Series && !ended && (f == nil || f.BehindOf == nil) {
					return true
				}
			}
			return false
		}},
		{"looks in logs beside a process that ended then", func(r *Report) bool { return r.Diagnosis.Next != nil && logs.MatchString(r.Diagnosis.Next.Text) },
			func(r *Report) bool { f := r.told(); return f != nil && f.EndedWith != nil }},
		{"since before a first capture that has none", func(r *Report) bool {
			return strings.HasPrefix(r.Diagnosis.Since, "before the first") && r.Diagnosis.Claims != nil
		},
			func(r *Report) bool { return r.Diagnosis.Claims.From == 0 }},
		{"no limit near beside one that is half used or soon full", func(r *Report) bool { return strings.HasPrefix(r.Diagnosis.Limit, "none near") }, func(r *Report) bool {
			for _, l := range r.about().Limits {
				peak := l.Used
				for _, n := range l.Counts {
					if n != nil {
						peak = max(peak, *n)
					}
				}
				if l.Bound > 0 && (peak > 0.5*l.Bound || l.HoursLeft != nil && l.HoursLeft[0] <= 7*24 && l.Used >= 0.05*l.Bound) {
					return true
				}
			}
			return false
		}},
		{"too few dumps beside many", func(r *Report) bool {
			return r.Diagnosis.Growth != nil && tooFew.MatchString(r.Diagnosis.Growth.Reason)
		},
			func(r *Report) bool { return len(r.about().Snapshots) > 3 }},
		{"followed by an id that its kind does not have", func(r *Report) bool {
			return r.Diagnosis.Growth != nil && strings.Contains(r.Diagnosis.Growth.Reason, "tracked by")
		}, func(r *Report) bool {
			f := r.lead()
			reason := r.Diagnosis.Growth.Reason
			return f != nil && (strings.Contains(reason, "goroutine tracked") && f.Kind != "goroutine" && f.Kind != "thread" || strings.Contains(reason, "thread tracked") && f.Kind != "thread")
		}},
		{"who came is not known beside identities", func(r *Report) bool { return unknown.MatchString(r.Diagnosis.Proof) },
			func(r *Report) bool { f := r.lead(); return f != nil && f.Life != nil && f.Life.Followed > 0 }},
		{"a thing is told twice", func(r *Report) bool { return len(r.Diagnosis.Also) > 0 }, func(r *Report) bool {
			seen := map[string]bool{}
			for _, text := range r.Diagnosis.Also {
				if seen[text] {
					return true
				}
				seen[text] = true
			}
			return false
		}},
		{"a resource leads although code with a stack keeps it", func(r *Report) bool {
			f := r.told()
			return f != nil && len(f.Stack) == 0 && r.lead() != nil && r.lead().CreatedBy == ""
		}, func(r *Report) bool {
			told, s := r.told(), r.about()
			for _, f := range s.Findings {
				if f.Kind == "" && f.Verdict == told.Verdict && len(f.Stack) > 0 && f.BehindOf == nil && steps(f.Counts, told.Counts) {
					return true
				}
			}
			return false
		}},
		{"n of n with more than there are", func(r *Report) bool { return nOfN.MatchString(r.Diagnosis.Proof) }, func(r *Report) bool {
			var n, of int
			fmt.Sscanf(r.Diagnosis.Proof, "%d of %d", &n, &of)
			return n > of
		}},
		{"words that were dropped", func(r *Report) bool { return true }, func(r *Report) bool { return dropped.MatchString(r.Diagnosis.Sentence) }},
		{"a sentence that is no sentence", func(r *Report) bool { return true }, func(r *Report) bool {
			s := r.Diagnosis.Sentence
			return len([]rune(s)) > 160 || !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "…") || strings.Contains(s, "  ") || strings.Contains(s, " of of ")
		}},
	}
}

func saysNothing(r *Report) bool {
	return strings.Contains(r.Diagnosis.State, "no leak seen") || strings.Contains(r.Diagnosis.State, "nothing grew") || strings.Contains(strings.ToLower(r.Diagnosis.Sentence), "nothing grew")
}

func (r *Report) any(holds func(*Series, *Family) bool) bool {
	for i := range r.Series {
		for k := range r.Series[i].Families {
			if holds(&r.Series[i], &r.Series[i].Families[k]) {
				return true
			}
		}
	}
	return false
}

// totalRose reports a total of a process that rose within one start by 10 and 15 %.
func (r *Report) totalRose(s *Series) bool {
	for _, kind := range []string{"goroutines", "threads", "descriptors", "watches"} {
		first, epoch := -1.0, -1
		last := -1.0
		for _, id := range s.Snapshots {
			for i := range r.Snapshots {
				x := &r.Snapshots[i]
				if x.ID != id || x.Cut || x.Totals[kind] == nil {
					continue
				}
				if x.Epoch != epoch {
					first, epoch = *x.Totals[kind], x.Epoch
				}
				last = *x.Totals[kind]
			}
		}
		if last-first >= 10 && last-first >= 0.15*first && first >= 0 {
			return !r.explained(s)
		}
	}
	return false
}

// totalPeaked reports a total of a process whose peak within one start lies above both ends by 10
// and 15 %.
func (r *Report) totalPeaked(s *Series) bool {
	for _, kind := range []string{"goroutines", "threads", "descriptors", "watches"} {
		var counts []float64
		epoch := -1
		for _, id := range s.Snapshots {
			for i := range r.Snapshots {
				x := &r.Snapshots[i]
				if x.ID != id || x.Cut || x.Totals[kind] == nil {
					continue
				}
				if x.Epoch != epoch {
					counts, epoch = nil, x.Epoch
				}
				counts = append(counts, *x.Totals[kind])
			}
		}
		if len(counts) < 3 {
			continue
		}
		ends := max(counts[0], counts[len(counts)-1])
		if rise := slices.Max(counts) - ends; rise >= 10 && rise >= 0.15*ends {
			return !r.explained(s)
		}
	}
	return false
}

// explained reports a series in which a person or the catalogue set a growth aside.
func (r *Report) explained(s *Series) bool {
	return slices.ContainsFunc(s.Families, func(f Family) bool { return f.SetAside != nil || f.Triage != nil })
}

// about is the process that the answer is about, the first one where it names none.
func (r *Report) about() *Series {
	if r.Diagnosis.Series != nil && *r.Diagnosis.Series < len(r.Series) {
		return &r.Series[*r.Diagnosis.Series]
	}
	if len(r.Series) > 0 {
		return &r.Series[0]
	}
	return &Series{}
}

func (r *Report) finding(series, rank int) *Finding {
	if series >= len(r.Series) {
		return nil
	}
	for i := range r.Series[series].Findings {
		if f := &r.Series[series].Findings[i]; f.Rank == rank {
			return f
		}
	}
	return nil
}

// told is the finding that the answer is about, nil without one.
func (r *Report) told() *Finding {
	if r.Diagnosis.Series == nil {
		return nil
	}
	return r.finding(*r.Diagnosis.Series, r.Diagnosis.Finding)
}

// lead is its first group.
func (r *Report) lead() *Family {
	f := r.told()
	if f == nil || len(f.Families) == 0 {
		return nil
	}
	s := r.about()
	for i := range s.Families {
		if s.Families[i].Fingerprint == f.Families[0] {
			return &s.Families[i]
		}
	}
	return nil
}

// steps reports that b rises in the same intervals as a, by the same whole number each time.
func steps(a, b []*int) bool {
	ratio, n := 0, 0
	for i := 1; i < len(a) && i < len(b); i++ {
		if a[i] == nil || b[i] == nil || a[i-1] == nil || b[i-1] == nil {
			return false
		}
		da, db := *a[i]-*a[i-1], *b[i]-*b[i-1]
		if da == 0 && db == 0 {
			continue
		}
		if da <= 0 || db <= 0 || db%da != 0 || ratio != 0 && db/da != ratio {
			return false
		}
		ratio, n = db/da, n+1
	}
	return n >= 2
}
