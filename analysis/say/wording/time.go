package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration writes the two largest units of a duration: "12 s", "7 min 20 s", "3 h",
// "2 d 4 h"; below ten seconds with decimals: "2.5 s", "0.89 s".
func Duration(d time.Duration) string {
	if d < 0 {
		return minus + Duration(-d)
	}
	if d < 10*time.Second {
		return Decimal(d.Seconds()) + " s"
	}
	seconds, minutes := d.Round(time.Second), d.Round(time.Minute)
	switch {
	case seconds < time.Minute:
		return strconv.Itoa(int(seconds/time.Second)) + " s"
	case seconds < time.Hour:
		return inTwoUnits(seconds, time.Minute, "min", time.Second, "s")
	case minutes < 24*time.Hour:
		return inTwoUnits(minutes, time.Hour, "h", time.Minute, "min")
	default:
		return inTwoUnits(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
	}
}

func inTwoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := strconv.Itoa(int(d/large)) + " " + largeName
	if rest := int(d % large / small); rest > 0 {
		text += " " + strconv.Itoa(rest) + " " + smallName
	}
	return text
}

// PageDuration is Duration in whole seconds, or in milliseconds below one, with hard spaces.
func PageDuration(d time.Duration) string {
	if d > 0 && d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + hardSpace + "ms"
	}
	return strings.ReplaceAll(Duration(d.Round(time.Second)), " ", hardSpace)
}

// Interval writes the time between two captures in whole seconds. It keeps the smaller
// unit even if that is 0: "12 s", "8 min 0 s", "2 h 5 min", "−3 d 4 h".
func Interval(d time.Duration) string {
	if d < 0 {
		return minus + Interval(-d)
	}
	d = d.Round(time.Second)
	days, hours, minutes, seconds := d/(24*time.Hour), d/time.Hour%24, d/time.Minute%60, d/time.Second%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	}
	return fmt.Sprintf("%d s", seconds)
}

// Span writes the length of a series in one unit: "50 s", "12 min", "2.5 h". Minutes
// are rounded up.
func Span(hours float64) string {
	switch seconds := math.Round(hours * 3600); {
	case seconds < 60:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%.0f min", math.Ceil(seconds/60))
	}
	return fmt.Sprintf("%.1f h", hours)
}

// Lasting writes how long something was seen, in whole minutes from ten minutes on: "50 s",
// "2 h 5 min". AtLeast rounds up: how long it must be seen.
func Lasting(hours float64) string {
	d := time.Duration(hours * float64(time.Hour))
	if d > 10*time.Minute {
		d = d.Round(time.Minute)
	}
	return Duration(d)
}

// AtLeast is Lasting rounded up, to ten seconds and from two minutes on to minutes.
func AtLeast(hours float64) string {
	unit := 10 * time.Second
	if hours > 2./60 {
		unit = time.Minute
	}
	d := time.Duration(math.Round(hours*float64(time.Hour)/float64(time.Millisecond))) * time.Millisecond
	return Duration((d + unit - 1).Truncate(unit))
}

// Pace writes a rate in the unit of time in which it is 1 or more: "2.5" and "a second", "6"
// and "an hour", "0.3" and "a day".
func Pace(perHour float64) (figure, unit string) { return PaceAs(perHour, perHour) }

// PaceAs writes a rate in the unit of another one, beside which it stands.
func PaceAs(perHour, other float64) (figure, unit string) {
	for _, unit := range []struct {
		hours float64
		name  string
	}{{1. / 3600, "a second"}, {1. / 60, "a minute"}, {1, "an hour"}, {24, "a day"}} {
		if other*unit.hours >= 1 || unit.hours > 1 {
			return roundly(perHour * unit.hours), unit.name
		}
	}
	return "", ""
}

// roundly writes a rate with two digits at most below 10.
func roundly(rate float64) string {
	if rate >= 10 || rate == math.Trunc(rate) {
		return fmt.Sprintf("%.0f", rate)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", rate), ".0")
}

// Wait writes the oldest wait of a family, for pages: "≥ 3 min". For -1, if the kind
// has no waits or no member shows one, it writes "n/a". The runtime prints whole
// minutes, rounded down, so the value is a lower bound.
func Wait(minutes int) string {
	if minutes < 0 {
		return "n/a"
	}
	if minutes == 0 {
		return "<" + hardSpace + "1" + hardSpace + "min"
	}
	return "≥" + hardSpace + PageDuration(time.Duration(minutes)*time.Minute)
}

// Time writes a time in UTC to the second, "2026-11-21 02:58:10", and the zero time as
// "time unknown".
func Time(t time.Time) string {
	if t.IsZero() {
		return "time unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// Minute writes when something began, in UTC to the minute: "2026-11-21 02:58Z".
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// EventTime writes when an event took place, in UTC: "2026-11-21 02:58:10Z".
func EventTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// FileTime writes a time that a file of a capture states, in UTC: "2026-11-21 02:58:10
// UTC".
func FileTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ClockMinute writes the time of day in UTC to the minute: "02:58Z".
func ClockMinute(t time.Time) string { return t.UTC().Format("15:04Z") }

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
