package ingest

import (
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/line"
)

var (
	// fdDirectory is the last component of a copy of /proc/PID/fdinfo or fd:
	// "fdinfo", "fd", "cpr_fdinfo", "fdinfo.copy".
	fdDirectory = expression.Lazy(`(?i)^(.*[._-])?(fdinfo|fd)([._-].*)?$`)
	// token matches the name of a directory or file that stands for a time: "t3",
	// "round-2", "t8-shims-resumed", "2026-11-21T03-04-05Z", "0001".
	token = expression.Lazy(`(?i)^(t|s|n|snap|snapshot|round|run|step|sample|capture|dump|#)?[._-]?\d+([._T:-].*)?Z?$`)
	// shortToken is the part of such a name that differs from the others.
	shortToken = expression.Lazy(`(?i)^((?:t|s|n|snap|snapshot|round|run|step)?[._-]?\d{1,6})[._-][a-z].*$`)
	// formWord matches a word for the kind of evidence in a file.
	formWord  = expression.Lazy(`(?i)(?:(?:goroutineleak|javacore|hot[._-]?threads|goroutine[._-]?stacks?|goroutines?|go-routine|pprof|profile|debug[=._-]?[0123]|fdinfo|stacks?|dump|lsof|fds?|fdinfo|limits|states|status|stat|mountinfo|mounts|metrics|cmdline|cgroup|captured[._-]at|inotify|sysctls?|net[._-]?(tcp|udp|unix)6?|ss|netstat|jstack|jcmd|threads?|proc|targets|sigquit|sigusr1|trace|truncated|full|runtimestack|64mib|file-nr|counts?|children|zombies?|defunct|heap|allocs|alloc[._-](?:objects|space)|inuse[._-](?:objects|space)|(?:gc[._-])?(?:class[._-]?)?histo(?:gram)?|jmap|cpu|block|mutex|threadcreate)s?)+`)
	extension = expression.Lazy(`(?i)\.(txt|log|out|err|jsonl?|html?|gz|zst|pb|prof|pprof|f0|f|md|lst|list|tdump|prom|csv|tsv|xz|bz2|lz4|stacks)$`)
	copyMark  = expression.Lazy(` \(\d+\)$`)
	digits    = expression.Lazy(`\d+`)
	procDir   = expression.Lazy(`(?:^|/)proc/(\d+)(?:/|$)`)
)

// captureDir is the directory that holds one capture of one process: "t1/kubelet" for
// "t1/kubelet/fdinfo/25" and "t1/kubelet/lsof.txt".
func captureDir(p string) string {
	dir := strings.TrimSuffix(directoryOf(p), "/")
	if fdDirectory.MatchString(path.Base(dir)) {
		dir = strings.TrimSuffix(directoryOf(dir), "/")
	}
	return dir
}

// stemOf returns a file's name without its words for the kind of evidence: "p1-t4" for
// "p1-t4.debug1.txt", "0001" for "goroutine-debug2_0001.txt", "" for "lsof.txt".
func stemOf(base string) string {
	// " (2)" separates two members of one name and is no part of it.
	s := copyMark.ReplaceAllString(base, "")
	for extension.MatchString(s) {
		s = extension.ReplaceAllString(s, "")
	}
	return strings.ToLower(strings.Trim(withoutForms(s), "._-=+, "))
}

// withoutForms returns a name without its words for the kind of evidence. One inside of another
// word is none: "statefulset".
func withoutForms(name string) string {
	var out strings.Builder
	letter := func(i int) bool { return i >= 0 && i < len(name) && unicode.IsLetter(rune(name[i])) }
	end := 0
	for _, at := range formWord.FindAllStringIndex(name, -1) {
		if !letter(at[0]-1) && !letter(at[1]) {
			out.WriteString(name[end:at[0]])
			end = at[1]
		}
	}
	return out.String() + name[end:]
}

// isToken reports the name of a directory or file that stands for a time.
func isToken(name string) bool { return token.MatchString(name) && !isAddress(name) }

// isAddress reports a name that is the address of a host.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// programName is the last element of an executable's path, without the mark of a
// replaced binary: "kubelet" for "/usr/bin/kubelet (deleted)".
func programName(executable string) string {
	executable = strings.TrimSuffix(executable, " (deleted)")
	if executable == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(executable, `\`, "/"))
}

// naming splits a capture directory into the label of the snapshot and the name of the
// process: "t3" and "kubelet" for "lab/t3/kubelet". Names above the label are context.
func naming(dir string) (label, process string) {
	parts := strings.Split(strings.ReplaceAll(dir, "!", ""), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		p := unpackedName(parts[i])
		if p == "" || p == "proc" || p == "net" || isAddress(p) || pidBelow(parts[:i+1]) > 0 {
			continue
		}
		if isToken(p) && line.PathPID(dir) == 0 {
			return shorten(p), process
		}
		if process == "" && i == len(parts)-1 {
			process = p
		}
	}
	return "", process
}

// unpackedName is the name of a directory or an archive without its extensions.
func unpackedName(name string) string {
	for {
		short := extension.ReplaceAllString(name, "")
		for _, packed := range []string{".tar", ".zip", ".tgz"} {
			short = strings.TrimSuffix(short, packed)
		}
		if short == name {
			return name
		}
		name = short
	}
}

// pidBelow is the pid that a directory below that of a capture names, 0 if it names none.
//
//	"t0", "8412"  8412
func pidBelow(dirs []string) int {
	if len(dirs) < 2 || !isToken(dirs[len(dirs)-2]) {
		return 0
	}
	pid, err := strconv.ParseUint(dirs[len(dirs)-1], 10, 31)
	if err != nil {
		return 0
	}
	return int(pid)
}

func shorten(label string) string {
	if m := shortToken.FindStringSubmatch(label); m != nil {
		return m[1]
	}
	return label
}

// nameTimes are the ways in which collectors write a time into a name: year to second,
// with or without separators, or to the minute.
var nameTimes = []*expression.Expression{
	expression.Lazy(`(?i)\d{4}-\d\d-\d\dT\d\d[:_-]?\d\d[:_-]?\d\d`),
	expression.Lazy(`\d{4}-\d\d-\d\d[-_.]\d\d[.:_-]?\d\d[.:_-]?\d\d`),
	expression.Lazy(`(?i)\d{8}[-_T.]\d{6}`),
	expression.Lazy(`\b20\d{12}\b`),
	expression.Lazy(`(?i)20\d\d-\d\d-\d\d[T_]\d\d[:_h-]?\d\d(?:[Z_]|\b)`),
	expression.Lazy(`(?i)[0-3]\d\.[01]\d\.20\d\d[-_T ]\d\d[.:_h-]?\d\d(?:[.:_m-]?\d\ds?)?(?:[Z_]|\b)`),
	expression.Lazy(`20\d\d-\d\d-\d\d[-.]\d\d[-.:]\d\d\b`),
	expression.Lazy(`(?i)(?:^|[^0-9])20\d{6}[-_T.]\d{4}(?:[Z_]|\b)`),
}

// restOfTime is what a time may have behind its seconds: a fraction, "Z".
var restOfTime = expression.Lazy(`(?i)^(?:\.\d+)?z?([^0-9a-z]|$)`)

// nameZone may follow such a time: "+0100", "+01_00".
var nameZone = expression.Lazy(`^([+-]\d\d)[:_]?(\d\d)(?:\D|$)`)

// timeInName finds a time in a file or directory name, taken as UTC unless the
// name states another zone.
func timeInName(name string) (time.Time, bool) {
	for _, pattern := range nameTimes {
		at := pattern.FindStringIndex(name)
		if at == nil {
			continue
		}
		joined := strings.Join(digits.FindAllString(name[at[0]:at[1]], -1), "")
		if name[at[0]+2] == '.' { // the day first
			joined = joined[4:8] + joined[2:4] + joined[:2] + joined[8:]
		}
		found, err := time.Parse("20060102150405"[:len(joined)], joined)
		if err != nil || found.Year() < 2000 {
			continue
		}
		if z := nameZone.FindStringSubmatch(name[at[1]:]); z != nil {
			if zoned, err := time.Parse("20060102150405"[:len(joined)]+"-0700", joined+z[1]+z[2]); err == nil {
				found = zoned.UTC()
			}
		}
		return found, true
	}
	if found := epochInName.FindStringSubmatch(name); found != nil {
		seconds, err := strconv.ParseInt(found[1], 10, 64)
		return time.Unix(seconds, 0).UTC(), err == nil
	}
	return time.Time{}, false
}

var (
	// epochInName is a time in seconds or milliseconds since 1970.
	epochInName = expression.Lazy(`(?:^|[^0-9a-z])(1[4-9][0-9]{8})(?:[0-9]{3})?(?:[^0-9a-z]|$)`)
	// dayInName is a day without a time.
	dayInName = expression.Lazy(`20\d\d[-_.][01]\d[-_.][0-3]\d`)
	// compactDay is such a day without separators.
	compactDay = expression.Lazy(`(?:^|[^0-9])(20\d\d[01]\d[0-3]\d)(?:[^0-9]|$)`)
)

// withoutTime returns a name without the times in it.
func withoutTime(name string) string {
	for _, pattern := range nameTimes {
		if at := pattern.FindStringIndex(name); at != nil {
			rest := restOfTime.ReplaceAllString(name[at[1]:], "$1")
			if zone := nameZone.FindStringSubmatchIndex(rest); zone != nil {
				rest = rest[zone[5]:]
			}
			name = name[:at[0]] + rest
		}
	}
	if at := epochInName.FindStringSubmatchIndex(name); at != nil {
		name = name[:at[2]] + strings.TrimLeft(name[at[3]:], "0123456789")
	}
	if at := compactDay.FindStringSubmatchIndex(name); at != nil {
		name = name[:at[2]] + name[at[3]:]
	}
	return dayInName.ReplaceAllString(name, "")
}

// ordinalWords order names with words for before and after.
var ordinalWords = map[string]int{"before": 0, "baseline": 0, "pre": 0, "start": 0, "first": 0, "begin": 0, "old": 0, "good": 0,
	"during": 1, "middle": 1, "after": 2, "post": 2, "end": 2, "last": 2, "later": 2, "new": 2, "bad": 2}

// naturalLess orders names as people do: t2 before t10, before before after.
func naturalLess(a, b string) bool {
	for a != "" && b != "" {
		ca, ra := chunk(a)
		cb, rb := chunk(b)
		if ca != cb {
			wa, oka := ordinalWords[ca]
			wb, okb := ordinalWords[cb]
			if oka && okb && wa != wb {
				return wa < wb
			}
			if isDigits(ca) && isDigits(cb) {
				za, zb := strings.TrimLeft(ca, "0"), strings.TrimLeft(cb, "0")
				if len(za) != len(zb) {
					return len(za) < len(zb)
				}
				if za != zb {
					return za < zb
				}
				return len(ca) < len(cb)
			}
			return ca < cb
		}
		a, b = ra, rb
	}
	// "profile-before" was taken before "profile".
	if first, _ := chunkOf(strings.TrimLeft(b, "-_. ")); a == "" && ordinalBefore(first) {
		return false
	}
	if first, _ := chunkOf(strings.TrimLeft(a, "-_. ")); b == "" && ordinalBefore(first) {
		return true
	}
	return a == "" && b != ""
}

func chunkOf(s string) (string, string) {
	if s == "" {
		return "", ""
	}
	return chunk(s)
}

func ordinalBefore(word string) bool {
	at, ok := ordinalWords[word]
	return ok && at == 0
}

// chunk splits off a run of digits, of letters, or one other byte.
func chunk(s string) (string, string) {
	class := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 1
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			return 2
		}
		return 0
	}
	first := class(s[0])
	i := 1
	for first != 0 && i < len(s) && class(s[i]) == first {
		i++
	}
	return s[:i], s[i:]
}

func isDigits(s string) bool { return s[0] >= '0' && s[0] <= '9' }

// hostOf reads the host out of a command line: the kubelet's
// --hostname-override and the --node-name of other agents.
func hostOf(cmdline []string) string {
	for i, word := range cmdline {
		for _, flag := range []string{"--hostname-override", "--node-name", "--hostname"} {
			if value, ok := strings.CutPrefix(word, flag+"="); ok {
				return value
			}
			if word == flag && i+1 < len(cmdline) {
				return cmdline[i+1]
			}
		}
	}
	return ""
}

// completeNames replaces names that lsof cut to 9 bytes or the kernel to 15 by the
// longer name of another artifact for the same pid, or of another snapshot of the
// bundle.
func completeNames(snapshots []analysis.Snapshot) {
	// A bundle has far fewer names than snapshots, and most are the beginning of no other.
	begins := map[string]bool{}
	for i := range snapshots {
		begins[snapshots[i].Process.Name.Value] = false
	}
	for cut := range begins {
		if !maybeCut(cut) {
			continue
		}
		for whole := range begins {
			begins[cut] = begins[cut] || len(whole) > len(cut) && strings.HasPrefix(whole, cut)
		}
	}
	for i := range snapshots {
		cut := snapshots[i].Process.Name.Value
		if !maybeCut(cut) || !begins[cut] {
			continue
		}
		for j := range snapshots {
			whole := snapshots[j].Process.Name
			same := snapshots[i].Process.PID.Value == "" || snapshots[i].Process.PID.Value == snapshots[j].Process.PID.Value
			if same && len(whole.Value) > len(cut) && strings.HasPrefix(whole.Value, cut) {
				snapshots[i].Process.Name = analysis.Fact{Value: whole.Value, Confidence: analysis.Medium, Source: "cut to " + strconv.Quote(cut) + " in the listing; whole in another file of the same process"}
			}
		}
	}
}

// maybeCut reports whether lsof or the kernel may have cut a name.
func maybeCut(name string) bool { return len(name) == 9 || len(name) == 15 }
