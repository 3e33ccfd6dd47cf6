package trend

import (
	"strconv"

	"leakdiff/analysis"
)

func itoa(n int) string { return strconv.Itoa(n) }

// unit is what the lengths and rates of the part are measured in.
func (p *part) unit() analysis.TimeUnit {
	if p.dated {
		return analysis.PerHour
	}
	return analysis.PerSnapshot
}

// identity is what the members of the part are followed by.
func (p *part) identity() analysis.IdentityKind {
	if p.family == nil {
		return ""
	}
	switch p.family.Kind {
	case analysis.KindGoroutine:
		return analysis.GoroutineID
	case analysis.KindThread:
		return analysis.ThreadNumber
	case analysis.KindWatch:
		return analysis.WatchNumber
	}
	for _, rest := range p.tracking.rest {
		switch {
		case rest.sub != 0:
			return analysis.Inode
		case rest.hash != 0:
			return analysis.Ends
		}
	}
	return analysis.Number
}
