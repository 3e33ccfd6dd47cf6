package wording

import (
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
