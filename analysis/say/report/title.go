package report

import (
	"fmt"
	"strings"

	"leakdiff/analysis/say/noun"
	"leakdiff/analysis/say/wording"
)

// entitle words the findings that are judged by the growth of one thing, and so have no title
// yet: by the sentence that a diagnosis about it has, its proof, and when it began.
func (r *Report) entitle(nouns noun.List) {
	d := r.diagnosing(nouns)
	d.placed = len(r.Series) > 1
	for i := range r.Series {
		s := &r.Series[i]
		for k := range s.Findings {
			f := &s.Findings[k]
			lead := s.lead(f)
			if f.Title != "" || lead == nil {
				continue
			}
			f.Title = lead.Title // a subject without a name has this one
			l := d.answerOf(i, f)
			f.Title = d.title(l)
			f.Counts = l.subject.counts
			if f.Verdict.Rose() {
				_, f.Proof = d.proof(l)
			}
			f.Text = strings.TrimSpace(d.figures(l) + " " + strings.TrimSpace(f.Text))
			if next, ofCode := d.next(l); f.Kind == "" && f.Verdict.Rose() && next != nil && !next.Captures { // else a command follows
				if f.Next, f.OfCode = next.Text, ofCode; ofCode && s.Project != "" {
					f.Next = "" // its users do not change the code
					if len(f.Classes) == 0 && mendable(f) == nil {
						f.Next = s.upstream()
					}
				}
			}
		}
		s.tellApart()
	}
}

// tellApart adds to findings of one title what differs: who started them, else their group.
func (s *Series) tellApart() {
	same := map[string][]*Finding{}
	for k := range s.Findings {
		if f := &s.Findings[k]; s.lead(f) != nil {
			same[f.Title] = append(same[f.Title], f)
		}
	}
	for title, all := range same {
		if len(all) == 1 {
			continue
		}
		creators, groups := map[string]bool{}, map[string]bool{}
		for _, f := range all {
			creators[s.lead(f).CreatedBy], groups[s.lead(f).Title] = true, true
		}
		for _, f := range all {
			apart := ""
			switch lead := s.lead(f); {
			case len(creators) == len(all) && lead.CreatedBy != "":
				apart = ", started by " + shortRole(lead.CreatedBy)
			case len(groups) == len(all):
				apart = ": " + lead.Title
			}
			f.Title = shortened(title, longest-1-len([]rune(apart))) + apart
		}
	}
}

// title is the sentence about a finding, without a full stop.
func (d *diagnosing) title(l answer) string {
	all := []string{d.movement(l)}
	switch {
	case l.finding.Kind == NoLeakFinding:
		all = []string{"No leak: " + wording.Lower(all[0]) + ", which is known and normal"}
	case l.finding.Verdict.Rose():
		all = d.wordings(l)
	}
	for _, text := range all {
		if len([]rune(text)) < longest {
			return text
		}
	}
	text := []rune(all[len(all)-1])
	return string(text[:min(len(text), longest-1)]) + "…"
}

// movement words the counts of a finding that does not rise: "Goroutines in main.run fell from
// 60 to 2".
func (d *diagnosing) movement(l answer) string {
	x := &l.subject
	first, top := x.counts.FirstAt(), x.counts.HighestAt()
	if first < 0 {
		return capital(x.all())
	}
	from, high, end := x.counts[first].N, x.counts[top].N, x.counts[x.counts.LastAt()].N
	text := capital(x.all())
	switch {
	case end < from:
		return fmt.Sprintf("%s fell from %d to %d", text, from, end)
	case high > end:
		return fmt.Sprintf("%s grew from %d to %d, back at %d", text, from, high, end)
	case end > from:
		return fmt.Sprintf("%s grew from %d to %d", text, from, end)
	}
	return fmt.Sprintf("%s stay at %d", text, end)
}

// figures are the proof of a finding, when it began, how fast it grows, and its counts.
func (d *diagnosing) figures(l answer) string {
	s := &d.r.Series[l.series]
	var out []string
	if l.finding.Verdict.Rose() {
		if l.finding.Proof != "" {
			out = append(out, l.finding.Proof)
		}
		since, until := d.since(l)
		var words []string
		if since != "" {
			words = append(words, "since "+since)
		}
		if until != "" {
			words = append(words, "until "+until)
		}
		if rate := d.rate(l); rate != "" {
			words = append(words, rate)
		}
		if len(words) > 0 {
			out = append(out, sentence(strings.Join(words, "; ")))
		}
	}
	if len(s.Snapshots) > 1 {
		kind := s.lead(l.finding).Kind
		counts := listed(l.subject.counts, func(i int) bool { return d.snapshot(s, i).Bounded(kind) })
		out = append(out, fmt.Sprintf("%s to %s: %s.", d.label(s, 0), d.label(s, len(s.Snapshots)-1), counts))
	}
	return strings.Join(out, " ")
}
