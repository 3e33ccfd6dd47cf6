package trend

// Cohort is who of a family was born between two snapshots of one epoch.
type Cohort struct {
	// From and To are indexes of Series.Snapshots. Between them lie only snapshots in
	// which the members cannot be followed.
	From, To int
	// Born counts the members at To that no snapshot up to From lists.
	Born int
}

// Cohorts counts births by identity, one entry for each two neighbouring snapshots
// of an epoch in which every member can be followed; the first snapshot of an epoch
// has none, since who is there may be of any age. It is empty where members have no
// identity.
func (s *Series) Cohorts(fingerprint string) []Cohort {
	p := s.parts[fingerprint]
	if p == nil {
		return nil
	}
	identified := false
	for _, group := range s.groups[fingerprint] {
		identified = identified || group != nil && group.Members.Identified()
	}
	if !identified {
		return nil
	}
	var out []Cohort
	from := -1
	for i, complete := range p.tracking.complete {
		if i > 0 && s.Epochs[i] != s.Epochs[i-1] {
			from = -1
		}
		if !complete {
			continue
		}
		if from >= 0 {
			born := 0
			for _, number := range p.tracking.members[i] {
				if int(p.tracking.first[number]) > from {
					born++
				}
			}
			out = append(out, Cohort{From: from, To: i, Born: born})
		}
		from = i
	}
	return out
}
