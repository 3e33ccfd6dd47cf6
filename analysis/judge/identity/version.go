package identity

import (
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
)

// NameVersions sets the version of snapshots whose contents do not state the program's
// own, from the names of their directories, archives and files: "app-v1.5.2-t0.tgz",
// "v1.5.2/t0/", "good-3f2a1bc/". A version with a v or three numbers counts by itself.
// Two numbers or the hash of a commit count only if the snapshots of a program have
// several. Without a v one of them must have two snapshots, since what differs in each name
// numbers the dumps. A name beside a stated version is no version: the contents decide.
func NameVersions(snapshots []analysis.Snapshot) {
	programs := map[string][]int{}
	for i := range snapshots {
		name := snapshots[i].Process.Name.Value
		programs[name] = append(programs[name], i)
	}
	read := nameReader{}
	for _, list := range programs {
		read.nameVersions(snapshots, list)
	}
}

// nameVersions does so for the snapshots of one program.
func (r nameReader) nameVersions(snapshots []analysis.Snapshot, list []int) {
	words := make(map[int][]versionWord, len(list))
	shared := map[versionWord]int{}
	stated := map[string]bool{}
	for _, i := range list {
		words[i] = r.words(&snapshots[i])
		for _, w := range words[i] {
			shared[w]++
			if snapshots[i].Process.Release() != "" {
				stated[w.value] = true
			}
		}
	}
	choose := func(usable func(versionWord) bool) (chosen map[int]versionWord, several bool) {
		chosen = map[int]versionWord{}
		first := ""
		for _, i := range list {
			for _, w := range words[i] {
				if !usable(w) || stated[w.value] {
					continue
				}
				chosen[i] = w
				several = several || first != "" && w.value != first
				first = w.value
				break
			}
		}
		return chosen, several
	}
	// What all names share is the name of the collector or of the case.
	for _, form := range []versionForm{plainVersion, shortVersion, commitHash} {
		chosen, several := choose(func(w versionWord) bool { return w.form == form && shared[w] < len(list) })
		if several && holds(chosen) {
			setVersions(snapshots, chosen)
			return
		}
	}
	if chosen, several := choose(func(w versionWord) bool { return w.form == plainVersion }); !several {
		setVersions(snapshots, chosen)
	}
}

// holds reports versions of which one has two snapshots, or that have a v.
func holds(chosen map[int]versionWord) bool {
	count := map[string]int{}
	for _, w := range chosen {
		if count[w.value]++; count[w.value] > 1 || w.value[0] == 'v' || w.value[0] == 'V' {
			return true
		}
	}
	return false
}

// byDirectory is the source of a host that only its directory names.
const byDirectory = "directory name"

// notHosts takes the names that state versions out of the hosts that directories name. What is
// left of all of them alike tells no hosts apart.
func notHosts(snapshots []analysis.Snapshot, chosen map[int]versionWord) {
	rest, several := map[int]string{}, map[string]bool{}
	for i, w := range chosen {
		host := snapshots[i].Process.Host
		if parts := strings.Split(host.Value, "/"); host.Source == byDirectory && slices.Contains(parts, w.name) {
			rest[i] = strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == w.name }), "/")
			several[rest[i]] = true
		}
	}
	for i, where := range rest {
		p := &snapshots[i].Process
		if p.Host.Value = where; where == "" || len(several) == 1 {
			p.Host = analysis.Fact{}
		}
	}
}

func setVersions(snapshots []analysis.Snapshot, chosen map[int]versionWord) {
	notHosts(snapshots, chosen)
	for i, w := range chosen {
		p := &snapshots[i].Process
		if p.Release() != "" {
			continue
		}
		found := analysis.Fact{Value: w.value, Source: "the name " + w.name, Confidence: analysis.Low}
		if p.Version.Known() {
			runtime := p.Version.Value
			if before, after, ok := strings.Cut(runtime, ", "); ok && !strings.HasPrefix(before, "go1.") {
				runtime = after
			}
			if strings.Contains(runtime, "1.") || strings.Contains(runtime, "Node.js") {
				found.Value += ", " + runtime
				found.Source += "; " + runtime + ": " + p.Version.Source
			}
		}
		p.Version = found
	}
}

// clockOrDate reports numbers that are a time of day or a date: "03.15.22", "21.11.2026".
func clockOrDate(numbers string) bool {
	pairs := 0
	for _, n := range strings.Split(numbers, ".") {
		switch {
		case len(n) > 1 && n[0] == '0', len(n) > 3:
			return true
		case len(n) == 2:
			pairs++
		}
	}
	return pairs == 3
}

type versionForm int

const (
	// plainVersion is v1.5, v1.5.2-rc1 or 1.5.2; shortVersion 1.5.
	plainVersion versionForm = iota
	shortVersion
	commitHash
)

// versionWord is a version in a name.
type versionWord struct {
	form        versionForm
	value, name string
}

var (
	// nameVersion is a version between separators, with the word before it.
	nameVersion = expression.Lazy(`(?i)(?:^|[-_. +@])(v?)(\d+(?:\.\d+){1,3})(-?(?:rc|alpha|beta|pre|dev)[.-]?\d*)?(?:\+[0-9a-z]+)?(?:$|[-_. @])`)
	// hashInName is the hash of a commit: alone, or behind words.
	hashInName = expression.Lazy(`(?:^|[-_.@])([0-9a-f]{7,40})(?:$|[-_.])`)
	wordBefore = expression.Lazy(`(?i)([a-z]+)[-_. ]*$`)
	// archiveEnding ends the name of a file or archive.
	archiveEnding = expression.Lazy(`(?i)\.(tar|tgz|tbz2|txz|zip|gz|zst|xz|bz2|lz4|txt|log|json|pb|out|html)$`)
	uuid          = expression.Lazy(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// notOfProgram are words before the version of a runtime, a system or a tool of captures.
var notOfProgram = map[string]bool{
	"go": true, "golang": true, "jdk": true, "jre": true, "java": true, "openjdk": true, "temurin": true, "graalvm": true, "node": true, "nodejs": true,
	"python": true, "linux": true, "kernel": true, "glibc": true, "musl": true, "ubuntu": true, "debian": true, "alpine": true, "centos": true, "rhel": true,
	"fedora": true, "suse": true, "pprof": true, "leakdiff": true, "lsof": true, "ip": true, "host": true, "debug": true, "schema": true, "api": true,
}

// beforeHash are words that may stand before the hash of a commit.
var beforeHash = map[string]bool{
	"good": true, "bad": true, "commit": true, "sha": true, "rev": true, "revision": true, "git": true, "g": true, "build": true, "at": true, "old": true, "new": true,
	"before": true, "after": true, "fix": true, "fixed": true, "broken": true, "main": true, "master": true, "head": true, "step": true, "bisect": true, "version": true,
}

// nameReader remembers what names state, by name and program: most snapshots share theirs.
type nameReader map[[2]string]versionWord

// words are the versions in the names above and of the evidence of a snapshot, the
// innermost first.
func (r nameReader) words(s *analysis.Snapshot) []versionWord {
	var out []versionWord
	for _, a := range s.Artifacts {
		if a.Members == 0 && a.Watches == 0 {
			continue
		}
		parts := strings.Split(strings.ReplaceAll(strings.TrimSuffix(a.Path, "/"), "!/", "/"), "/")
		if s.Upload != "" {
			parts = append([]string{s.Upload}, parts...)
		}
		for i := len(parts) - 1; i >= 0; i-- {
			if host := s.Process.Host; parts[i] == host.Value && host.Source != byDirectory {
				continue
			}
			key := [2]string{parts[i], s.Process.Name.Value}
			w, known := r[key]
			if !known {
				w = versionIn(parts[i], s.Process.Name.Value)
				r[key] = w
			}
			if w.value != "" && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// versionIn finds the version in one name; its value is empty for none.
//
//	"app-v1.5.2-t0.tgz" = v1.5.2, "good-3f2a1bc" = 3f2a1bc, "jdk-17.0.1", "2026.11.21", "10.0.0.1" = none
func versionIn(name, program string) versionWord {
	if !strings.ContainsAny(name, "0123456789") {
		return versionWord{}
	}
	bare := name
	for archiveEnding.MatchString(bare) {
		bare = strings.TrimSuffix(bare, path.Ext(bare))
	}
	for rest, from := bare, 0; ; {
		at := nameVersion.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		v, numbers := rest[at[2]:at[3]], rest[at[4]:at[5]]
		value := rest[at[2]:at[5]]
		if at[6] >= 0 {
			value = rest[at[2]:at[7]]
		}
		before := ""
		if m := wordBefore.FindStringSubmatch(bare[:from+at[2]]); m != nil {
			before = strings.ToLower(m[1])
		}
		dots := strings.Count(numbers, ".")
		major, _, _ := strings.Cut(numbers, ".")
		form := shortVersion
		if v != "" || dots == 2 {
			form = plainVersion
		}
		switch {
		case notOfProgram[before], dots == 3 && v == "": // a runtime, an address
		case len(major) > 3, v == "" && clockOrDate(numbers):
		case form == shortVersion && before == "" && from+at[2] > 0: // "3-1.5" counts something
		case form == shortVersion && len(before) == 1: // "t1.5"
		default:
			return versionWord{form, value, name}
		}
		from += at[5]
		rest = bare[from:]
	}
	if uuid.MatchString(bare) {
		return versionWord{}
	}
	for _, at := range hashInName.FindAllStringSubmatchIndex(bare, -1) {
		hash := bare[at[2]:at[3]]
		if !strings.ContainsAny(hash, "0123456789") || !strings.ContainsAny(hash, "abcdef") {
			continue // a number, a date or a word
		}
		before := strings.ToLower(strings.Trim(bare[:at[2]], "-_.@"))
		last := before[strings.LastIndexAny(before, "-_.@")+1:]
		if before == "" || beforeHash[last] || program != "" && strings.HasSuffix(before, strings.ToLower(program)) {
			return versionWord{commitHash, hash, name}
		}
	}
	return versionWord{}
}
