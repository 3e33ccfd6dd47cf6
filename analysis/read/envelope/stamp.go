package envelope

import (
	"bytes"
	"strings"
	"time"
)

// cutStamp is the length of the time that a line begins with, 0 if it begins with none.
// Fractions of any length and zones are part of it.
//
//	"2026-11-21T02:58:36.123456789Z stderr F x"   30
//	"2026-11-21 02:58:36,123 INFO x"              23
//	"2026/11/21 02:58:36 x"                       19
//	"2026-11-21_02:58:36.12345 x"                 25
//	"Nov 21 03:05:00.123456 node-1 x"             22
//	"Sat 2026-11-21 03:05:00 UTC node-1 x"        27
//	"1763694300.123456 node-1 x"                  17
//	"[  123.456789] node-1 x"                     14
func cutStamp(b []byte) int {
	if len(b) < 14 {
		return 0
	}
	switch c := b[0]; {
	case c-'0' < 10:
		if n := cutDate(b); n > 0 {
			return n
		}
		return cutUnix(b)
	case c == '[':
		return cutBracketed(b)
	case 'A' <= c && c <= 'S' && b[3] == ' ' && monthOf(b) > 0:
		if n := cutClock(b[min(7, len(b)):]); n > 0 && (b[4] == ' ' || b[4]-'0' < 10) && b[5]-'0' < 10 && b[6] == ' ' {
			return 7 + n
		}
	case 'F' <= c && c <= 'W' && b[3] == ' ' && isWeekday(b[:3]):
		if n := cutDate(b[4:]); n > 0 {
			return 4 + n + cutZoneWord(b[4+n:])
		}
	}
	return 0
}

// cutDate reads "2026-11-21T02:58:36.123Z".
func cutDate(b []byte) int {
	if len(b) < 19 || !digits(b[:4]) || b[4] != '-' && b[4] != '/' || b[7] != b[4] ||
		!digits(b[5:7]) || !digits(b[8:10]) || b[10] != 'T' && b[10] != ' ' && b[10] != '_' {
		return 0
	}
	n := cutClock(b[11:])
	if n == 0 {
		return 0
	}
	n += 11
	return n + cutZone(b[n:])
}

// cutClock reads "02:58:36", a fraction of any length after a point or comma, and
// digits where a writer lost the point.
func cutClock(b []byte) int {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' || !digits(b[:2]) || !digits(b[3:5]) || !digits(b[6:8]) {
		return 0
	}
	n := 8
	if n+1 < len(b) && (b[n] == '.' || b[n] == ',') && b[n+1]-'0' < 10 {
		n++
	}
	for n < len(b) && b[n]-'0' < 10 {
		n++
	}
	return n
}

// cutZone reads "Z", "+01:00" and "+0100".
func cutZone(b []byte) int {
	switch {
	case len(b) > 0 && b[0] == 'Z':
		return 1
	case len(b) >= 6 && (b[0] == '+' || b[0] == '-') && digits(b[1:3]) && b[3] == ':' && digits(b[4:6]):
		return 6
	case len(b) >= 5 && (b[0] == '+' || b[0] == '-') && digits(b[1:5]):
		return 5
	}
	return 0
}

// cutZoneWord reads " UTC", " CET", " +03".
func cutZoneWord(b []byte) int {
	n := 1
	for n < len(b) && n < 7 && (b[n] >= 'A' && b[n] <= 'Z' || b[n] == '+' || b[n] == '-' || b[n]-'0' < 10) {
		n++
	}
	if n < 3 || n == len(b) || b[0] != ' ' || b[n] != ' ' {
		return 0
	}
	return n
}

func cutUnix(b []byte) int {
	if len(b) < 17 || !digits(b[:10]) || b[10] != '.' || !digits(b[11:17]) {
		return 0
	}
	return 17
}

// cutBracketed reads "[  123.456789]" and any other stamp in brackets.
func cutBracketed(b []byte) int {
	end := bytes.IndexByte(b[:min(len(b), 48)], ']')
	if end < 0 {
		return 0
	}
	inside := bytes.TrimLeft(b[1:end], " ")
	whole, fraction, ok := bytes.Cut(inside, []byte("."))
	if ok && len(whole) > 0 && len(fraction) == 6 && digits(whole) && digits(fraction) || cutStamp(inside) == len(inside) && len(inside) > 0 {
		return end + 1
	}
	return 0
}

func digits(b []byte) bool {
	for _, c := range b {
		if c-'0' >= 10 {
			return false
		}
	}
	return true
}

const (
	months   = "JanFebMarAprMayJunJulAugSepOctNovDec"
	weekdays = "MonTueWedThuFriSatSun"
)

// monthOf is the number of the month whose three letters a text begins with.
func monthOf(b []byte) int { return threeLetters(months, b) }

func isWeekday(b []byte) bool { return threeLetters(weekdays, b) > 0 }

func threeLetters(table string, b []byte) int {
	for i := 0; i < len(table); i += 3 {
		if string(b[:3]) == table[i:i+3] {
			return i/3 + 1
		}
	}
	return 0
}

// moment is a time with what its stamp lacked.
type moment struct {
	time               time.Time
	zoneless, yearless bool
	// dayless is true if the day is a guess: the stamp was a clock alone.
	dayless bool
}

// better reports whether m is more complete than other.
func (m moment) better(other moment) bool {
	if m.time.IsZero() || other.time.IsZero() {
		return !m.time.IsZero()
	}
	return m.missing() < other.missing()
}

// missing weighs what a stamp leaves out.
func (m moment) missing() int {
	switch {
	case m.dayless:
		return 3
	case m.yearless:
		return 2
	case m.zoneless:
		return 1
	}
	return 0
}

// readStamp reads what cutStamp cut. A stamp without a year gets the latest one in
// which it is not more than a day after now, because logs of the future do not exist.
func readStamp(text string, now time.Time) moment {
	if len(text) > 19 && text[10] == 'T' {
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return moment{time: t.UTC()}
		}
	}
	text = strings.Trim(text, "[] ")
	if len(text) == 17 && text[10] == '.' {
		return moment{time: unix(text)}
	}
	if len(text) > 4 && isWeekday([]byte(text)) {
		text = text[4:]
	}
	if len(text) >= 15 && monthOf([]byte(text)) > 0 {
		return yearless(text, "Jan _2 15:04:05", now)
	}
	if len(text) < 19 {
		return moment{}
	}
	t, err := time.Parse("2006-01-02 15:04:05", strings.ReplaceAll(text[:10], "/", "-")+" "+text[11:19])
	if err != nil {
		return moment{}
	}
	rest := text[19:]
	t, rest = addFraction(t, rest)
	if len(text) == len(svlogdStamp) && text[10] == '_' && rest == "" {
		return moment{time: t}
	}
	return zoned(t, strings.TrimSpace(rest))
}

// svlogdStamp is what svlogd -tt of runit writes, always in UTC.
const svlogdStamp = "2026-11-21_02:58:36.12345"

// addFraction adds ".123456" to a time and returns what follows.
func addFraction(t time.Time, rest string) (time.Time, string) {
	pointed := rest != "" && (rest[0] == '.' || rest[0] == ',')
	if pointed {
		rest = rest[1:]
	}
	unit := time.Second
	for rest != "" && rest[0]-'0' < 10 {
		if unit /= 10; pointed {
			t = t.Add(time.Duration(rest[0]-'0') * unit)
		}
		rest = rest[1:]
	}
	return t, rest
}

// unix reads "1763694300.123456".
func unix(text string) time.Time {
	var seconds, micros int64
	for i, c := range []byte(text) {
		switch {
		case i < 10:
			seconds = seconds*10 + int64(c-'0')
		case i > 10:
			micros = micros*10 + int64(c-'0')
		}
	}
	return time.Unix(seconds, micros*1000).UTC()
}

// klogStamp reads the stamp and the process of klog's header.
//
//	"E1120 10:00:01.123456    1234 panic.go:262] text" -> "1120 10:00:01.123456", 1234
func klogStamp(b []byte) (stamp []byte, pid int, ok bool) {
	if len(b) < 22 || bytes.IndexByte([]byte("IWEF"), b[0]) < 0 || !digits(b[1:5]) || b[5] != ' ' {
		return nil, 0, false
	}
	n := cutClock(b[6:])
	if n == 0 {
		return nil, 0, false
	}
	rest := bytes.TrimLeft(b[6+n:], " ")
	for len(rest) > 0 && rest[0]-'0' < 10 && pid < 1<<31 {
		pid = pid*10 + int(rest[0]-'0')
		rest = rest[1:]
	}
	return b[1 : 6+n], pid, len(rest) > 0 && rest[0] == ' ' && bytes.IndexByte(rest, ']') > 0
}

// lineMoment is the time that a program's own log line begins with, or names in a
// field.
func lineMoment(b []byte, now time.Time) moment {
	b = bytes.TrimLeft(b, " \t")
	if n := cutStamp(b); n > 0 {
		return readStamp(string(b[:n]), now)
	}
	if stamp, _, ok := klogStamp(b); ok {
		return yearless(string(stamp), "0102 15:04:05", now)
	}
	return fieldMoment(b, now)
}

// fieldMoment finds a field that holds a time, near the beginning or end of b.
//
//	`time="2026-11-21T03:02:56Z" level=info msg="`
//	`{"level": "error", "ts": 1763632801.1, "msg": "`
func fieldMoment(b []byte, now time.Time) moment {
	const near = 1 << 10
	if len(b) > 2*near {
		if m := fieldMoment(b[:near], now); !m.time.IsZero() {
			return m
		}
		b = b[len(b)-near:]
	}
	for _, key := range []string{"time", "ts", "timestamp"} {
		for rest := b; ; {
			i := bytes.Index(rest, []byte(key))
			if i < 0 {
				break
			}
			begins := i == 0 || bytes.IndexByte([]byte(" \t{,\"@"), rest[i-1]) >= 0
			rest = rest[i+len(key):]
			value, ok := fieldValue(rest)
			if !begins || !ok {
				continue
			}
			if m := readTime(value, now); !m.time.IsZero() {
				return m
			}
		}
	}
	return moment{}
}

// fieldValue reads what follows the name of a field, escaped or not.
//
//	`="2026-11-21T03:02:56Z" level=info` -> `2026-11-21T03:02:56Z`
//	`": 1763632801.1, "msg"`             -> `1763632801.1`
func fieldValue(b []byte) ([]byte, bool) {
	b = bytes.TrimLeft(b, `\"`)
	if len(b) == 0 || b[0] != '=' && b[0] != ':' {
		return nil, false
	}
	b = bytes.TrimLeft(b[1:], ` \"`)
	end := bytes.IndexAny(b[:min(len(b), 48)], `,}\"`)
	if end < 0 {
		end = min(len(b), 48)
	}
	if i := bytes.IndexByte(b[:end], ' '); i > 10 || i >= 0 && cutStamp(b) == 0 {
		end = i
	}
	return b[:end], end > 0
}

// yearless reads a stamp of a layout that has no year.
func yearless(text, layout string, now time.Time) moment {
	if now.IsZero() {
		return moment{zoneless: true, yearless: true}
	}
	// February 29 needs a leap year, which may be eight years away.
	for back := range 9 {
		year := now.UTC().AddDate(0, 0, 1).Year() - back
		t, err := time.Parse("2006 "+layout, time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006 ")+text[:min(len(text), len(layout))])
		if err != nil || t.After(now.Add(24*time.Hour)) {
			continue
		}
		t, _ = addFraction(t, text[len(layout):])
		return moment{time: t, zoneless: true, yearless: true}
	}
	return moment{}
}
