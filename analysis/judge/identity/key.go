package identity

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
)

// A mark names the evidence of a snapshot. Its text is the key:
//
//	e1.21630.1.k3xqa7mbnoaab-zz2laqp4c7aqc
//
// is pid 21630, the first of the snapshots that look like this, and two anchors.
// An anchor is a file with evidence: ten characters for its content and three for
// the numbers in its path, which tell t3/ from t4/ where an idle process left the
// same bytes twice. A newer engine may find more files for a snapshot or lose a
// few: half of the anchors are enough to find it again.
type mark struct {
	pid     string
	nth     int
	anchors []anchor
	// text is the key, once nth is known.
	text string
}

type anchor struct{ content, place string }

const (
	keyVersion   = "e1"
	contentChars = 10
	placeChars   = 3
	// maxAnchors bounds a key. The smallest anchors are kept, so that two readings of
	// one snapshot keep mostly the same.
	maxAnchors = 8
)

// markOf names the evidence of a snapshot by the hashes of its files, the numbers in
// their paths and the pid. Every engine that finds the same evidence returns the same
// mark. Several snapshots of one process in one file share it; marksOf numbers them.
func markOf(s *analysis.Snapshot) mark {
	m := mark{nth: 1}
	if pid := s.Process.PID.Value; isNumber(pid) {
		m.pid = pid
	}
	for _, a := range s.Artifacts {
		if a.Members > 0 || a.Watches > 0 {
			m.anchors = append(m.anchors, anchorOf(a))
		}
	}
	if len(m.anchors) == 0 {
		for _, a := range s.Artifacts {
			m.anchors = append(m.anchors, anchorOf(a))
		}
	}
	slices.SortFunc(m.anchors, func(a, b anchor) int {
		return strings.Compare(a.content+a.place, b.content+b.place)
	})
	m.anchors = slices.Compact(m.anchors)
	return m
}

func anchorOf(a analysis.Artifact) anchor {
	content := a.SHA256
	if content == "" {
		content = "path " + a.Path
	}
	return anchor{digest(content)[:contentChars], digest(numbersIn(a.Path))[:placeChars]}
}

// numbersIn returns the numbers of a path without leading zeros:
//
//	t03/kubelet/goroutine-debug2.txt  ->  3,2
func numbersIn(path string) string {
	fields := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	for i, f := range fields {
		fields[i] = strings.TrimLeft(f, "0")
	}
	return strings.Join(fields, ",")
}

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return encoding.EncodeToString(sum[:])
}

func (m mark) String() string {
	parts := make([]string, 0, maxAnchors)
	for _, a := range m.anchors[:min(len(m.anchors), maxAnchors)] {
		parts = append(parts, a.content+a.place)
	}
	return strings.Join([]string{keyVersion, m.pid, strconv.Itoa(m.nth), strings.Join(parts, "-")}, ".")
}

// parseMark reads what String wrote.
func parseMark(key string) (mark, bool) {
	parts := strings.Split(key, ".")
	if len(parts) != 4 || parts[0] != keyVersion || parts[1] != "" && !isNumber(parts[1]) {
		return mark{}, false
	}
	nth, err := strconv.Atoi(parts[2])
	if err != nil || nth < 1 {
		return mark{}, false
	}
	m := mark{pid: parts[1], nth: nth, text: key}
	if parts[3] == "" {
		return m, true
	}
	for _, text := range strings.Split(parts[3], "-") {
		if len(text) != contentChars+placeChars || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") != "" {
			return mark{}, false
		}
		m.anchors = append(m.anchors, anchor{text[:contentChars], text[contentChars:]})
	}
	return m, len(m.anchors) <= maxAnchors
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 19 && strings.Trim(s, "0123456789") == ""
}

// marksOf numbers the snapshots with equal marks in their own order.
func marksOf(snapshots []analysis.Snapshot) []mark {
	out := make([]mark, len(snapshots))
	alike := map[string][]int{}
	for i := range snapshots {
		out[i] = markOf(&snapshots[i])
		base := out[i].String()
		alike[base] = append(alike[base], i)
	}
	for _, list := range alike {
		slices.SortStableFunc(list, func(a, b int) int { return snapshots[a].Order - snapshots[b].Order })
		for n, i := range list {
			out[i].nth = n + 1
			out[i].text = out[i].String()
		}
	}
	return out
}

// find returns the snapshot with this evidence: by the same key, else the only best
// match.
func find(marks []mark, wanted mark) (int, bool) {
	text := wanted.String()
	best, at, twice := 0, -1, false
	for i, m := range marks {
		if m.text == text {
			return i, true
		}
		switch score := m.fits(wanted); {
		case score > best:
			best, at, twice = score, i, false
		case score == best:
			twice = true
		}
	}
	return at, at >= 0 && !twice
}

// fits rates how well the evidence of m matches the wanted one, 0 for no match. Files
// count most, then the numbers in their paths, pid and position.
func (m mark) fits(wanted mark) int {
	if m.pid != "" && wanted.pid != "" && m.pid != wanted.pid {
		return 0
	}
	files, places := 0, 0
	for _, w := range wanted.anchors {
		if slices.ContainsFunc(m.anchors, func(a anchor) bool { return a.content == w.content }) {
			files++
		}
		if slices.Contains(m.anchors, w) {
			places++
		}
	}
	if files == 0 || 2*files < len(wanted.anchors) {
		return 0
	}
	score := files*1000 + places*10
	if m.pid == wanted.pid {
		score += 4
	}
	if m.nth == wanted.nth {
		score++
	}
	return score
}

// WholeCase is the target of a zone.
const WholeCase = "case"

// nameOf writes the name of a process as a reference carries it.
//
//	node-1, kubelet  ->  node-1/kubelet
func nameOf(p analysis.Process) string {
	return url.QueryEscape(p.Host.Value) + "/" + url.QueryEscape(p.Name.Value)
}

// reference is a target or value split into its parts.
type reference struct {
	// scope is "", from, series, into, before or after.
	scope      string
	mark       mark
	host, name string
}

var errReference = errors.New("it names no snapshot")

// parseReference reads "from:e1.…", "series:e1.…:host/name" and the like.
func parseReference(text string) (reference, error) {
	var r reference
	rest := text
	if !strings.HasPrefix(text, keyVersion+".") {
		var ok bool
		if r.scope, rest, ok = strings.Cut(text, ":"); !ok {
			return r, errReference
		}
	}
	key, name, named := strings.Cut(rest, ":")
	m, ok := parseMark(key)
	if !ok || named != (r.scope == "series" || r.scope == "into") {
		return r, errReference
	}
	r.mark = m
	if !named {
		return r, nil
	}
	host, program, ok := strings.Cut(name, "/")
	var errHost, errName error
	r.host, errHost = url.QueryUnescape(host)
	r.name, errName = url.QueryUnescape(program)
	if !ok || errHost != nil || errName != nil {
		return r, errReference
	}
	return r, nil
}

// Snapshot is the id of the snapshot that a target or value names, for people. ok is
// false if it names none that still exists.
func (o Outcome) Snapshot(text string) (id string, ok bool) {
	ref, err := parseReference(text)
	if err != nil {
		return "", false
	}
	ids := slices.Sorted(maps.Keys(o.Keys))
	marks := make([]mark, len(ids))
	for i, id := range ids {
		marks[i], _ = parseMark(o.Keys[id])
	}
	at, ok := find(marks, ref.mark)
	if !ok {
		return "", false
	}
	return ids[at], true
}
