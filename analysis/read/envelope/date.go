package envelope

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxDateLine is how long a line with nothing but a time may be.
	maxDateLine = 160
	// nearDate is the greatest distance in bytes between such a line and its dump: the
	// response headers of curl -i come between.
	nearDate = 4 << 10
	// maxDates bounds the lines that are remembered.
	maxDates = 4096
)

// dateLine reads a line with nothing but a time: what date prints in its usual forms,
// alone, framed, or after words that announce it.
//
//	"Sat Nov 21 03:00:00 UTC 2026"
//	"Sat 21 Nov 2026 03:00:00 AM CET"
//	"=== 2026-11-21T03:00:00+01:00 ==="
//	"Date: Sat, 21 Nov 2026 03:00:00 GMT"
//	"# dump 3 at 1795230000"
//	"--- 03:05:00 ---"
func dateLine(b []byte, now time.Time) (moment, bool) {
	if b = trim(b); len(b) < len("03:05:00") || len(b) > maxDateLine {
		return moment{}, false
	}
	b = bytes.TrimFunc(b, decoration)
	for words := 0; words < 8; words++ {
		if m, ok := wholeDate(string(b), now); ok {
			return m, plausible(m.time)
		}
		end := bytes.IndexAny(b, " \t=")
		if end < 0 || !announces(b[:end]) {
			return moment{}, false
		}
		b = bytes.TrimLeft(b[end:], " \t=:#([<")
	}
	return moment{}, false
}

// IsDate reports whether a line holds nothing but a time.
func IsDate(line []byte) bool {
	// Any time will do: clocks and stamps without a year need one to count from.
	_, ok := dateLine(line, time.Unix(1<<31, 0))
	return ok
}

// decoration knows what people frame a line with.
func decoration(r rune) bool {
	return r >= 0x80 || byte(r)-'0' >= 10 && (r|0x20 < 'a' || r|0x20 > 'z')
}

// plausible reports whether Go programs can have been running then.
func plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2100 }

// announces recognises the words before a time in a line of its own: they mean that
// something was taken, not that something began or ends then.
//
//	"Date:" "dump" "3" "#3" "at" -> true
//	"started" "since"            -> false
func announces(word []byte) bool {
	word = bytes.TrimFunc(word, decoration)
	if digits(word) {
		return len(word) < 7
	}
	switch strings.ToLower(string(word)) {
	case "date", "time", "timestamp", "ts", "at", "on", "of", "now", "taken", "captured", "collected", "scraped", "capture",
		"dump", "dumps", "snapshot", "sample", "round", "iteration", "run", "step", "goroutine", "goroutines", "stack", "stacks":
		return true
	}
	return false
}

// longestDate is that of Go: "2026-11-21 03:00:00.123456789 +0100 CET", with a weekday.
const longestDate = 48

// wholeDate reads a text that is a time from its first byte to its last.
func wholeDate(text string, now time.Time) (moment, bool) {
	if len(text) > longestDate {
		return moment{}, false
	}
	b := []byte(text)
	if n := cutStamp(b); n == len(b) && n > 0 && b[0] != '[' {
		m := readStamp(text, now)
		return m, !m.time.IsZero()
	}
	if m, ok := epochDate(text); ok {
		return m, true
	}
	if m, ok := packedDate(text); ok {
		return m, true
	}
	return wordDate(text, now)
}

// packedDate reads the forms that people choose for names.
//
//	"20261121T030000Z" "20261121-030000" "2026-11-21_03:00:00" "2026-11-21T03-00-00+0100"
func packedDate(text string) (moment, bool) {
	const pattern = "dddd-dd-ddTdd-dd-dd"
	packed, i := make([]byte, 0, 14), 0
	for j := 0; j < len(pattern); j++ {
		if i == len(text) {
			return moment{}, false
		}
		switch c := text[i]; {
		case pattern[j] == 'd' && c-'0' < 10:
			packed = append(packed, c)
			i++
		case pattern[j] == '-' && (c == '-' || c == ':' || c == '.'), pattern[j] == 'T' && (c == 'T' || c == '_' || c == '-' || c == '.'):
			i++
		case pattern[j] != '-':
			return moment{}, false
		}
	}
	t, err := time.Parse("20060102150405", string(packed))
	zone := text[i:]
	if err != nil || cutZone([]byte(zone)) != len(zone) {
		return moment{}, false
	}
	return zoned(t, zone), true
}

// epochDate reads what date +%s prints, with a fraction or in smaller units.
func epochDate(text string) (moment, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if !digits([]byte(whole)) || !digits([]byte(fraction)) || len(whole) < 10 || len(whole) > 19 || (len(whole)-10)%3 != 0 || len(whole) > 10 && fraction != "" {
		return moment{}, false
	}
	m := readTime([]byte(text), time.Time{})
	return m, plausible(m.time)
}

// wordDate reads the parts of a date in whatever order date prints them. A clock
// alone stands for the latest day on which it is not after now.
func wordDate(text string, now time.Time) (moment, bool) {
	d := dateWords{hour: -1}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		if !d.take(word) {
			return moment{}, false
		}
	}
	return d.moment(now)
}

// dateWords are the parts of a date that were read so far.
type dateWords struct {
	year, month, day, hour int
	rest                   time.Duration // of the hour
	half                   string        // AM or PM
	zone                   string
	words                  int
}

// take reads one word, false if it is no part of a date or came before.
func (d *dateWords) take(word string) bool {
	d.words++
	b := []byte(word)
	switch {
	case d.words == 1 && len(b) == 3 && isWeekday(b):
		return true
	case d.month == 0 && len(b) >= 3 && monthOf(b) > 0 && len(b) <= 9 && (len(b) == 3 || strings.HasPrefix(time.Month(monthOf(b)).String(), word)):
		d.month = monthOf(b)
		return true
	case d.hour < 0 && cutClock(b) > 0:
		d.hour, _ = strconv.Atoi(word[:2])
		at, zone := addFraction(time.Time{}, word[8:])
		minute, _ := strconv.Atoi(word[3:5])
		second, _ := strconv.Atoi(word[6:8])
		d.rest = time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + at.Sub(time.Time{})
		if zone != "" {
			d.zone = zone
		}
		return d.hour < 24 && minute < 60 && second <= 60 && cutZone([]byte(zone)) == len(zone)
	case d.hour < 0 && d.year == 0 && len(b) == 10 && cutDate([]byte(word+"T00:00:00")) == 19:
		day, err := time.Parse("2006-01-02", strings.ReplaceAll(word, "/", "-"))
		d.year, d.month, d.day = day.Year(), int(day.Month()), day.Day()
		return err == nil
	case d.half == "" && (word == "AM" || word == "PM") && d.hour >= 0:
		d.half = word
		return d.hour >= 1 && d.hour <= 12
	case d.year == 0 && len(b) == 4 && digits(b):
		d.year, _ = strconv.Atoi(word)
		return true
	case d.day == 0 && len(b) <= 2 && digits(b):
		d.day, _ = strconv.Atoi(word)
		return d.day >= 1 && d.day <= 31
	case d.hour >= 0 && (d.zone == "" || cutZone([]byte(d.zone)) > 0) && isZone(b):
		if d.zone == "" {
			d.zone = word
		}
		return true
	}
	return false
}

// isZone knows "UTC", "CEST", "+0100", "-05".
func isZone(b []byte) bool {
	if b[0] == '+' || b[0] == '-' {
		return cutZone(b) == len(b) || len(b) == 3 && digits(b[1:])
	}
	return len(b) <= 5 && len(b) >= 1 && len(bytes.Trim(b, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0
}

func (d *dateWords) moment(now time.Time) (moment, bool) {
	if d.hour < 0 {
		return moment{}, false
	}
	hour := d.hour
	if d.half != "" {
		hour %= 12
	}
	if d.half == "PM" {
		hour += 12
	}
	clock := time.Duration(hour)*time.Hour + d.rest
	if d.year == 0 && d.month == 0 && d.day == 0 {
		return clockMoment(clock, d.zone, now), true
	}
	if d.year == 0 || d.month == 0 || d.day == 0 {
		return moment{}, false
	}
	day := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	return zoned(day.Add(clock), d.zone), day.Day() == d.day
}

// zones are the names that date(1) prints and that mean one thing only, in hours.
// CST, IST and BST are zones of several continents.
var zones = map[string]float64{
	"Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3,
	"EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8, "HST": -10,
	"SAST": 2, "EAT": 3, "WIB": 7, "HKT": 8, "SGT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "ACST": 9.5, "NZST": 12, "NZDT": 13,
}

// zoned moves a time to the zone of that name; a time of an unknown zone is taken as
// UTC.
func zoned(t time.Time, zone string) moment {
	if hours, known := zones[zone]; known {
		return moment{time: t.Add(-time.Duration(hours * float64(time.Hour)))}
	}
	switch {
	case len(zone) >= 3 && (zone[0] == '+' || zone[0] == '-'):
		if offset, err := time.Parse("-0700", (strings.ReplaceAll(zone, ":", "") + "00")[:5]); err == nil {
			_, seconds := offset.Zone()
			return moment{time: t.Add(-time.Duration(seconds) * time.Second)}
		}
	}
	return moment{time: t, zoneless: true}
}

func clockMoment(clock time.Duration, zone string, now time.Time) moment {
	if now.IsZero() {
		return moment{dayless: true}
	}
	m := zoned(now.UTC().Truncate(24*time.Hour).Add(clock), zone)
	m.dayless = true
	m.time = notAfter(m.time, now)
	return m
}

// notAfter moves a time of an unknown day to the latest one on which it is not
// after another time.
func notAfter(t, limit time.Time) time.Time {
	days := t.Sub(limit) / (24 * time.Hour)
	t = t.Add(-days * 24 * time.Hour)
	if t.After(limit) {
		t = t.Add(-24 * time.Hour)
	}
	if !t.Add(24 * time.Hour).After(limit) {
		t = t.Add(24 * time.Hour)
	}
	return t
}

// Stamp is the time of a dump as its text has it; Time is zero if the text has none.
type Stamp struct {
	Time time.Time
	// Zoneless is true if there was no zone and UTC is taken. Dayless is true if there
	// was no date: the clock got the latest day that fits.
	Zoneless, Dayless bool
}

// Dates finds the lines of a plain text with nothing but the time of the dump after
// them:
//
//	while sleep 60; do date; curl -s localhost:6060/debug/pprof/goroutine?debug=2; done >> dumps.txt
//
// The parser of the same text passes lines to it, or the text is written to it while a
// parser reads, as by io.TeeReader. What it keeps is bounded.
type Dates struct {
	now   time.Time
	found []dated
	// line is the beginning of the line being written, at its offset, up to next; over
	// is true if it is too long.
	line []byte
	at   int64
	next int64
	over bool
}

// dated is a line with a time; end is the offset after its newline.
type dated struct {
	at, end int64
	moment  moment
}

// NewDates takes until when the text was written: a clock without a date gets the
// latest day on which it is not after that.
func NewDates(written time.Time) *Dates { return &Dates{now: written} }

// Line looks at a line that is none of a stack. Offsets have to rise.
func (d *Dates) Line(line []byte, offset int64) {
	if len(line) > maxDateLine || len(d.found) >= maxDates {
		return
	}
	if m, ok := dateLine(line, d.now); ok {
		d.found = append(d.found, dated{at: offset, end: offset + int64(len(line)) + 1, moment: m})
	}
}

// Write takes the next bytes of the text. It never fails.
func (d *Dates) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i > 0 && d.next == d.at && ofStack(rest[:i]) {
			d.next += int64(i) + 1
			d.at = d.next
			rest = rest[i+1:]
			continue
		}
		part := rest
		if i >= 0 {
			part = rest[:i]
		}
		if d.over = d.over || len(d.line)+len(part) > maxDateLine; !d.over {
			d.line = append(d.line, part...)
		}
		d.next += int64(len(part))
		if i < 0 {
			break
		}
		d.next++
		d.endLine()
		rest = rest[i+1:]
	}
	return len(p), nil
}

// ofStack recognises nearly all lines of a dump without reading them: calls, files,
// creators and headers. No line with a time looks like one.
func ofStack(line []byte) bool {
	switch {
	case line[0] == '\t', line[len(line)-1] == ')':
		return true
	case line[0] == 'c':
		return bytes.HasPrefix(line, []byte("created by "))
	case line[0] == 'g':
		return bytes.HasPrefix(line, []byte(headerWord)) && isMarker(line, 0)
	}
	return false
}

// endLine looks at the line that was written unless it is one of a stack.
func (d *Dates) endLine() {
	if len(d.line) > 0 && !d.over && !ofStack(d.line) {
		d.Line(d.line, d.at)
	}
	d.line, d.over, d.at = d.line[:0], false, d.next
}

// Between reports whether such a line stands between two offsets.
func (d *Dates) Between(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(d.found, from, func(l dated, at int64) int { return int(min(max(l.at-at, -1), 1)) })
	return i < len(d.found) && d.found[i].at < to
}

// Of returns the time of each dump by the offset at which it begins, in rising order:
// that of the line shortly before it, the better one of several. If a line follows the
// last dump and none precedes the first, each line holds the time of the dump before
// it.
func (d *Dates) Of(dumps []int64) []Stamp {
	d.endLine() // the last one may have no newline
	out := make([]moment, len(dumps)+1)
	i := 0
	for n := range out {
		end := int64(math.MaxInt64)
		if n < len(dumps) {
			end = dumps[n]
		}
		for ; i < len(d.found) && d.found[i].at < end; i++ {
			if l := d.found[i]; (end-l.end <= nearDate || n == len(dumps)) && !out[n].better(l.moment) {
				out[n] = l.moment
			}
		}
	}
	last := len(dumps)
	if last > 0 && out[0].time.IsZero() && !out[last].time.IsZero() {
		out = out[1:]
	}
	out = out[:last]
	stamps := make([]Stamp, last)
	for n := last - 1; n >= 0; n-- {
		m := out[n]
		if n+1 < last && m.dayless && !stamps[n+1].Time.IsZero() && !m.time.IsZero() {
			m.time = notAfter(m.time, stamps[n+1].Time)
		}
		stamps[n] = Stamp{m.time, m.zoneless && !m.time.IsZero(), m.dayless && !m.time.IsZero()}
	}
	return stamps
}

// CutTime reads the time with which a line begins. written is until when it was written.
//
//	"2026-03-04T10:00:00.412Z open FDs: 22"   10:00:00.412, "open FDs: 22"
func CutTime(text string, written time.Time) (at Stamp, rest string, ok bool) {
	n := cutStamp([]byte(text))
	if n == 0 || n == len(text) {
		return at, text, false
	}
	m := readStamp(text[:n], written)
	if m.time.IsZero() {
		return at, text, false
	}
	return Stamp{m.time, m.zoneless, m.dayless}, strings.TrimLeft(text[n:], " \t"), true
}
