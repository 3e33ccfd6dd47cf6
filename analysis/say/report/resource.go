package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
)

// resources are the objects that no dump of goroutines shows: connections and other
// descriptors, which the kernel identifies, and the clients of a JVM's thread pools.
// Those of pools whose clients monitors show are added to these.
func (j *JudgedSeries) resources(monitors []Object) []Object {
	var out []Object
	paired := map[string]bool{}
	for _, f := range j.Trend.Families {
		if o, other := j.connection(f); o != nil && !paired[f.Fingerprint] {
			paired[f.Fingerprint], paired[other] = true, true
			out = append(out, *o)
		}
	}
	if o := j.instances("inotify instance", "inotify"); o != nil {
		out = append(out, *o)
	}
	return append(out, j.pools(monitors)...)
}

// connection is the object of a family of sockets that changes: one socket, or both ends of a
// connection where this process has accepted as many as it has dialled. other is the family
// of the accepted ends.
func (j *JudgedSeries) connection(f *analysis.Family) (o *Object, other string) {
	if f.Kind != analysis.KindDescriptor || f.Attributes["protocol"] == "" || !j.identified(f) || j.acceptedEnds(f, true) != nil {
		return nil, ""
	}
	counts := j.Trend.Counts(f.Fingerprint)
	if counts.Rise() < leastResources {
		return nil, ""
	}
	o = &Object{
		Name: j.Titles[f.Fingerprint], Type: f.Attributes["protocol"] + " connection", Counts: counts, Verdict: j.Judged[f.Fingerprint].Verdict,
		Level: analysis.ByInode, Families: []string{f.Fingerprint},
	}
	for id := range j.last(f.Fingerprint).Members.Identities() {
		if id.Sub == 0 && id.Hash != 0 {
			o.Level = analysis.ByEnds
		}
	}
	o.Born, o.Ended = j.lives(f.Fingerprint)
	role := ObjectRole{Role: "socket", N: 1, Level: o.Level}
	if end := j.acceptedEnds(f, false); end != nil {
		o.Name = fmt.Sprintf("%s connection to %s with both ends in this process", f.Attributes["protocol"], f.Attributes["remote"])
		o.Level, o.Families, other = analysis.ByEndpoint, append(o.Families, end.Fingerprint), end.Fingerprint
		role.N, role.Level = 2, analysis.ByEndpoint
	}
	o.Each = []ObjectParts{{Kind: analysis.KindDescriptor, N: role.N, Roles: []ObjectRole{role}}}
	return o, other
}

// leastResources is by how many the descriptors of a kind must grow to be listed as objects.
const leastResources = 3

func (j *JudgedSeries) identified(f *analysis.Family) bool {
	g := j.last(f.Fingerprint)
	return g != nil && g.Members.Identified()
}

// acceptedEnds is the family with the other ends of dialled connections: accepted at the
// address that these dial, in this state, and as many in every snapshot. With reverse it is
// the family of the dialled ends of accepted ones.
func (j *JudgedSeries) acceptedEnds(f *analysis.Family, reverse bool) *analysis.Family {
	mine, theirs := "client", "server"
	at, of := "remote", "local"
	if reverse {
		mine, theirs, at, of = theirs, mine, of, at
	}
	if f.Attributes["role"] != mine || f.Attributes["state"] != "ESTABLISHED" || f.Attributes[at] == "" {
		return nil
	}
	counts := j.Trend.Counts(f.Fingerprint)
	for _, o := range j.Trend.Families {
		if o.Kind == f.Kind && o.Attributes["role"] == theirs && o.Attributes["state"] == "ESTABLISHED" && o.Attributes["protocol"] == f.Attributes["protocol"] &&
			o.Attributes[of] == f.Attributes[at] && slices.Equal(counts, j.Trend.Counts(o.Fingerprint)) {
			return o
		}
	}
	return nil
}

// lives counts the members of a family that came and that went in each snapshot, nil where
// they cannot be followed from the snapshot before.
func (j *JudgedSeries) lives(fingerprint string) (born, ended analysis.Counts) {
	n := len(j.Snapshots)
	born, ended = make(analysis.Counts, n), make(analysis.Counts, n)
	followed := func(i int) bool {
		g := j.Trend.Groups(fingerprint)[i]
		return j.Trend.Counts(fingerprint)[i].Known() && (g == nil || g.Members.Identified())
	}
	shown := make([]bool, n)
	for i := range n {
		shown[i] = followed(i)
		if i > 0 && shown[i] && shown[i-1] && j.Trend.Epochs[i] == j.Trend.Epochs[i-1] {
			born[i], ended[i] = analysis.Counted(0), analysis.Counted(0)
		}
	}
	for _, l := range j.Trend.Lifelines(fingerprint, -1) {
		if born[l.First].Known() {
			born[l.First].N++
		}
		end := l.Last + 1
		for end < n && shown[end] && j.Snapshots[end].Bounded(j.Trend.Groups(fingerprint)[l.Last].Family.Kind) {
			end++ // what a cut listing lacks has not ended
		}
		if end < n && ended[end].Known() {
			ended[end].N++
		}
	}
	return born, ended
}

// instances are the anonymous descriptors of one name whose families differ by what they hold
// alone.
func (j *JudgedSeries) instances(name, anon string) *Object {
	o := Object{Name: name, Type: name, Counts: make(analysis.Counts, len(j.Snapshots)), Verdict: analysis.TooFewPoints, Level: analysis.ByInode, Families: []string{}}
	for _, f := range j.Trend.Families {
		if f.Kind != analysis.KindDescriptor || f.Attributes["name"] != anon {
			continue
		}
		o.Families = append(o.Families, f.Fingerprint)
		for i, n := range j.Trend.Counts(f.Fingerprint) {
			if n.Known() {
				o.Counts.Add(i, n.N)
			}
		}
		if v := j.Judged[f.Fingerprint].Verdict; v.Rank() < o.Verdict.Rank() {
			o.Verdict = v
		}
	}
	if o.Counts.Rise() < leastResources {
		return nil
	}
	o.Born, o.Ended = j.livesOfAll(o.Families, o.Counts)
	o.Each = []ObjectParts{{Kind: analysis.KindDescriptor, N: 1, Roles: []ObjectRole{{Role: name, N: 1, Level: analysis.ByInode}}}}
	return &o
}

// livesOfAll is lives for members that may change between some families.
func (j *JudgedSeries) livesOfAll(families []string, counts analysis.Counts) (born, ended analysis.Counts) {
	n := len(j.Snapshots)
	born, ended = make(analysis.Counts, n), make(analysis.Counts, n)
	var before map[analysis.Identity]bool
	for i := range n {
		if i > 0 && j.Trend.Epochs[i] != j.Trend.Epochs[i-1] {
			before = nil
		}
		if j.Snapshots[i].Bounded(analysis.KindDescriptor) {
			continue // what a cut listing lacks has not ended
		}
		now, listed := map[analysis.Identity]bool{}, 0
		for _, print := range families {
			if g := j.Trend.Groups(print)[i]; g != nil {
				listed += g.Count
				for id := range g.Members.Identities() {
					now[id] = true
				}
			}
		}
		if !counts[i].Known() || len(now) < listed {
			before = nil // nobody can be followed
			continue
		}
		if before != nil {
			stayed := 0
			for id := range now {
				if before[id] {
					stayed++
				}
			}
			came, went := len(now)-stayed, len(before)-stayed
			born[i], ended[i] = analysis.Counted(came), analysis.Counted(went)
		}
		before = now
	}
	return born, ended
}

// pools are the owners of thread pools: families of threads in lockstep whose names begin
// with the same word, by equal numbers alone.
func (j *JudgedSeries) pools(monitors []Object) []Object {
	var out []Object
	for _, u := range j.Trend.Units() {
		if !u.Countable() {
			continue
		}
		var words []string
		byWord := map[string][]trend.Share{}
		for _, s := range u.Families {
			word, _, _ := strings.Cut(j.Titles[s.Fingerprint], " ")
			if s.Kind != analysis.KindThread || word == "" {
				continue
			}
			if byWord[word] == nil {
				words = append(words, word)
			}
			byWord[word] = append(byWord[word], s)
		}
		for _, word := range words {
			if o := j.pool(word, byWord[word], u.Verdict); o != nil && !j.ownersProven(o, monitors) {
				out = append(out, *o)
			}
		}
	}
	return out
}

// pool is the owner of several families of threads, of which one has one thread for each.
func (j *JudgedSeries) pool(word string, shares []trend.Share, verdict analysis.Verdict) *Object {
	one := slices.IndexFunc(shares, func(s trend.Share) bool { return s.Ratio == 1 })
	if one < 0 || len(shares) < 2 {
		return nil
	}
	o := &Object{
		Name: word, Type: word + " thread pools", Counts: j.Trend.Counts(shares[one].Fingerprint), Verdict: verdict, Level: analysis.ByStep,
	}
	o.Born, o.Ended = j.lives(shares[one].Fingerprint)
	parts := ObjectParts{Kind: analysis.KindThread}
	for _, s := range shares {
		n := int(math.Round(s.Ratio))
		parts.N += n
		parts.Roles = append(parts.Roles, ObjectRole{Role: j.Titles[s.Fingerprint], N: n, Level: analysis.ByStep})
		o.Families = append(o.Families, s.Fingerprint)
	}
	o.Each = []ObjectParts{parts}
	return o
}
