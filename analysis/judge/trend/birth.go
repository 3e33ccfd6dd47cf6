package trend

// Cohort counts the members of a family that were born between two snapshots of one
// epoch.
type Cohort struct {
	// From and To are indexes of Series.Snapshots. Members cannot be followed in the
	// snapshots between them.
	From, To int
	// Born counts the members at To that no snapshot up to From lists.
	Born int
}

// Cohorts counts births by identity. It has one entry for each pair of neighbouring
// snapshots of an epoch in which every member can be followed. The first snapshot of an
// epoch has no entry, because its members may be of any age. The result is empty if
// members have no identity.
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
