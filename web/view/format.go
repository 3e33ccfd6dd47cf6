package view

import (
	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	thinSpace = "\u202f"
	hardSpace = "\u00a0"
	minus     = "\u2212"
)

// Signed writes a change with its sign: "+412", "−3" (U+2212), "0".
func Signed(n int) string {
	switch {
	case n > 0:
		return "+" + Number(int64(n))
	case n < 0:
		return Number(int64(n))
	}
	return "0"
}

// Number writes a count with a thin space from 10 000 on: "9999", "10 000",
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

// Exact writes bytes and file counts, which are grouped from 1 000 on: "1 470".
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

// Bytes writes a size in decimal units: "0 B", "999 B", "1.4 kB", "876 kB",
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

// Binary writes a size that is a whole number of binary units in these, as the
// documents and flags do: "32 GiB", "64 MiB"; any other in decimal ones.
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

// Duration writes the two largest units of a duration: "12 s", "7 min 20 s",
// "3 h", "2 d 4 h"; below one second in milliseconds.
func Duration(d time.Duration) string {
	if d < 0 {
		return minus + Duration(-d)
	}
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + hardSpace + "ms"
	}
	d = d.Round(time.Second)
	units := []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		if d < u.length {
			continue
		}
		text := strconv.FormatInt(int64(d/u.length), 10) + hardSpace + u.name
		if i+1 == len(units) {
			return text
		}
		next := units[i+1]
		if rest := d % u.length / next.length; rest > 0 {
			text += hardSpace + strconv.FormatInt(int64(rest), 10) + hardSpace + next.name
		}
		return text
	}
	return "0" + hardSpace + "s"
}

// Time writes a time in UTC to the second, "2026-11-21 02:58:10", and the zero
// time as "time unknown".
func Time(t time.Time) string {
	if t.IsZero() {
		return "time unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// Clock writes the time of day in UTC, "02:58:10".
func Clock(t time.Time) string {
	if t.IsZero() {
		return "time unknown"
	}
	return t.UTC().Format("15:04:05")
}

// Day writes a date for sentences: "19 Feb 2027".
func Day(t time.Time) string {
	if t.IsZero() {
		return "an unknown day"
	}
	return t.UTC().Format("2 Jan 2006")
}

// Percent writes the change from a to b relative to a: "+111 %", "−8 %",
// "0 %", and "new" where a is 0 and b is not.
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

// Wait writes the oldest wait of a family: "≥ 3 min"; "n/a" for -1, which is
// where the kind has no waits or no member shows one. The runtime prints whole
// minutes, rounded down, so it is a lower bound.
func Wait(minutes int) string {
	if minutes < 0 {
		return "n/a"
	}
	if minutes == 0 {
		return "<" + hardSpace + "1" + hardSpace + "min"
	}
	return "≥" + hardSpace + Duration(time.Duration(minutes)*time.Minute)
}

// wakesOnTimer says in place of a wait that a family wakes on a timer: no dump ever shows
// a minute of it, however old it is.
const wakesOnTimer = "timer"

// shortWait is the oldest wait of a family of goroutines none of which shows a minute:
// "< 1 min", or "timer" where that tells nothing of their age. That is where they sleep,
// and where the catalogue knows that their own loop waits for a tick.
func shortWait(f *analysis.Family, states map[string]int, known *report.Family) string {
	if states["sleep"] > 0 || len(f.Loose) > 0 && strings.HasSuffix(f.Loose[0], "time.Sleep") {
		return wakesOnTimer
	}
	if known == nil || len(f.Loose) == 0 || !ticks(known.Classes) {
		return Wait(0)
	}
	// Where the leaf is not the titled function they wait for somebody else.
	if main, _ := splitTitle(arrow(known.Title)); ShortFunc(f.Loose[0]) != main {
		return Wait(0)
	}
	return wakesOnTimer
}

// ticks reports a class of the catalogue whose members wake on a timer.
func ticks(classes []string) bool {
	return slices.Contains(classes, "housekeeping") || slices.Contains(classes, "prober")
}

// FuncName splits a function into the package path, which is printed quietly,
// and the name.
//
//	k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod
//	→ "k8s.io/kubernetes/pkg/kubelet." and "(*podWorkers).UpdatePod"
func FuncName(full string) (path, name string) {
	// The last slash in front of any receiver, type parameter or anonymous
	// function ends the directories; the first dot after it ends the package.
	head, slash := 0, 0
	for head < len(full) && full[head] != '(' && full[head] != '[' && full[head] != ' ' {
		if head++; full[head-1] == '/' {
			slash = head
		}
	}
	dot := strings.IndexByte(full[slash:], '.')
	if dot < 0 {
		return "", full
	}
	if slash == 0 {
		if full[0] >= 'A' && full[0] <= 'Z' {
			return "", full // a Java class without a package; Go has no such names
		}
		dot = max(dot, javaPackage(full[:head]))
	}
	return full[:slash+dot+1], full[slash+dot+1:]
}

// javaPackage is the dot that ends the package of a Java method, before the first
// part that begins with a capital: 9 for "java.lang.Thread.run", -1 for
// "main.run".
func javaPackage(name string) int {
	for i := 0; i+1 < len(name); i++ {
		if name[i] == '.' && name[i+1] >= 'A' && name[i+1] <= 'Z' {
			return i
		}
	}
	return -1
}

// ShortFunc is the function with the last element of its package path only:
// "kubelet.(*podWorkers).UpdatePod".
func ShortFunc(full string) string {
	path, _ := FuncName(full)
	return full[strings.LastIndexByte(path, '/')+1:]
}

// Visible writes text that came from an uploaded file so that it can neither
// drive a page nor turn a line around; see report.Printable.
func Visible(s string) string { return report.Printable(s) }

// Plural writes a count with its noun: "1 problem", "15 problems".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1" + hardSpace + one
	}
	return Exact(n) + hardSpace + many
}

// percentOf writes a part of a whole with some decimals: "99.9 %". What is less than all
// is never rounded to it.
func percentOf(part, whole float64, decimals int) string {
	share := 100 * part / whole
	if step := math.Pow10(-decimals); share < 100 && share > 100-step {
		share = 100 - step
	}
	return strconv.FormatFloat(share, 'f', decimals, 64) + hardSpace + "%"
}
