package trend

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
)

func itoa(n int) string { return strconv.Itoa(n) }

// plural writes a number with its noun: "1 member", "3 members".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

// several is the plural of a kind: "goroutines", "watches".
func several(kind analysis.Kind) string {
	if kind == analysis.KindWatch {
		return "watches"
	}
	return string(kind) + "s"
}

// span writes a length: 0.0139 h as "50 s", 1.5 h as "1 h 30 min", and 4 of an
// undated part as "4 snapshots".
func (p *part) span(length float64) string {
	if !p.dated {
		return plural(int(math.Round(length)), "interval")
	}
	return duration(time.Duration(length * float64(time.Hour)))
}

// duration writes the two largest units: "12.2 s", "4 min 50 s", "2 d 3 h".
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return decimal(d.Seconds()) + " s"
	case d < time.Minute:
		return itoa(int(math.Round(d.Seconds()))) + " s"
	case d < time.Hour:
		return pair(d.Round(time.Second), time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return pair(d.Round(time.Minute), time.Hour, "h", time.Minute, "min")
	default:
		return pair(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
	}
}

func pair(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := itoa(int(d/large)) + " " + largeName
	if rest := int(d % large / small); rest > 0 {
		text += " " + itoa(rest) + " " + smallName
	}
	return text
}

// decimal writes two significant digits below 10 and whole numbers from 100 on:
// 0.034, 2, 2.3, 14.5, 333.
func decimal(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

// rate writes a slope with its unit: "+330/h", "+2.5 per snapshot".
func (p *part) rate(slope float64) string {
	text := decimal(slope)
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

// percent writes a share; what is less than all is never 100 %.
func percent(share float64) string {
	rounded := math.Round(100 * share)
	if share < 1 {
		rounded = min(rounded, 99)
	}
	return fmt.Sprintf("%.0f %%", rounded)
}

// list joins at most limit words: "t1, t2, t3 and 4 more".
func list(words []string, limit int) string {
	if len(words) <= limit {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:limit], ", ") + " and " + itoa(len(words)-limit) + " more"
}
