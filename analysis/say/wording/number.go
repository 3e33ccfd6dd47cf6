package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Signed writes a change with its sign, for pages: "+412", "−3" (U+2212), "0".
func Signed(n int) string {
	if n > 0 {
		return "+" + Number(int64(n))
	}
	return Number(int64(n))
}

// Number writes a count with a thin space from 10 000 on, for pages: "9999", "10 000",
// "−12 345".
func Number(n int64) string {
	switch {
	case n <= -10000 || n >= 10000:
		return Exact(n)
	case n < 0:
		return minus + strconv.FormatInt(-n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// Exact writes bytes and file counts, grouped from 1 000 on, for pages: "1 470".
func Exact(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = minus, digits[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(thinSpace)
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Decimal writes two significant digits below 10 and whole numbers from 100 on: 0.034, 2,
// 2.3, 14.5, 333.
func Decimal(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

// Ratio writes a ratio without needless decimals: 3, 2.1.
func Ratio(v float64) string {
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// Share writes a part of 1. What is less than all is never "100 %".
func Share(share float64) string {
	rounded := math.Round(100 * share)
	if share < 1 {
		rounded = min(rounded, 99)
	}
	return fmt.Sprintf("%.0f %%", rounded)
}

// PageShare writes a part of a whole with some decimals: "99.9 %". What is less than
// all is never rounded to it.
func PageShare(part, whole float64, decimals int) string {
	share := 100 * part / whole
	if step := math.Pow10(-decimals); share < 100 && share > 100-step {
		share = 100 - step
	}
	return strconv.FormatFloat(share, 'f', decimals, 64) + hardSpace + "%"
}

// CountShare writes a part of a count in whole per cent, for pages: "25 %", and "none"
// of 0. What is less than all is never rounded to it.
func CountShare(part, whole int) string {
	if whole == 0 {
		return "none"
	}
	return strconv.Itoa(min(int(100*float64(part)/float64(whole)+.5), 99+part/whole)) + hardSpace + "%"
}

// PageRate writes a number per unit of time without its unit, for pages: "12 345",
// "96", "9.6", "0.96".
func PageRate(v float64) string {
	switch {
	case v >= 100:
		return Number(int64(v + .5))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Percent writes the change from a to b relative to a, for pages: "+111 %", "−8 %", "0
// %", and "new" if a is 0 and b is not.
func Percent(a, b int) string {
	if a == 0 {
		if b == 0 {
			return "0" + hardSpace + "%"
		}
		return "new"
	}
	change := float64(b-a) * 100 / float64(a)
	rounded := int(change + 0.5)
	if change < 0 {
		rounded = int(change - 0.5)
	}
	if rounded == 0 && a != b {
		if b > a {
			return "<" + hardSpace + "+1" + hardSpace + "%"
		}
		return ">" + hardSpace + minus + "1" + hardSpace + "%"
	}
	return Signed(rounded) + hardSpace + "%"
}

// Size writes bytes in binary units: 34359738368 returns "32 GiB".
func Size(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		switch {
		case n >= u.size && n%u.size == 0:
			return fmt.Sprintf("%d %s", n/u.size, u.name)
		case n >= u.size:
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// Bytes writes a size in decimal units, for pages: "0 B", "999 B", "1.4 kB", "876 kB",
// "2.0 GB".
func Bytes(n int64) string {
	if n < 1000 && n > -1000 {
		return Number(n) + hardSpace + "B"
	}
	value, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	// 999.5 would be written as "1000".
	for (value >= 999.5 || value <= -999.5) && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	precision := 0
	if value < 9.95 && value > -9.95 {
		precision = 1
	}
	text := strconv.FormatFloat(value, 'f', precision, 64)
	return strings.Replace(text, "-", minus, 1) + hardSpace + units[unit]
}

// Binary writes a size that is a whole number of binary units in these units, as
// documents and flags do, for pages: "32 GiB", "64 MiB". Any other size is in decimal
// units.
func Binary(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= u.size && n%u.size == 0 {
			return Exact(n/u.size) + hardSpace + u.name
		}
	}
	return Bytes(n)
}
