package trend

import (
	"math"
	"strconv"
	"time"

	"leakdiff/analysis/say/wording"
)

func itoa(n int) string { return strconv.Itoa(n) }

// span writes a length: 0.0139 h as "50 s", 1.5 h as "1 h 30 min", and 4 of an
// undated part as "4 snapshots".
func (p *part) span(length float64) string {
	if !p.dated {
		return wording.Plural(int(math.Round(length)), "interval", "intervals")
	}
	return wording.Duration(time.Duration(length * float64(time.Hour)))
}

// rate writes a slope with its unit: "+330/h", "+2.5 per snapshot".
func (p *part) rate(slope float64) string {
	text := wording.Decimal(slope)
	if slope > 0 {
		text = "+" + text
	}
	if p.dated {
		return text + "/h"
	}
	return text + " per snapshot"
}

// chance writes a p: "p = 0.042", "p < 0.0001".
func chance(p float64) string {
	if p < 0.0001 {
		return "p < 0.0001"
	}
	return "p = " + strconv.FormatFloat(p, 'g', 2, 64)
}
