package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

var t0 = time.Date(2026, 11, 21, 2, 58, 10, 0, time.UTC)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func fact1(value, source string) analysis.Fact {
	if value == "" {
		return analysis.Fact{}
	}
	return analysis.Fact{Value: value, Source: source, Confidence: analysis.Medium}
}

// snap is a snapshot "t1" of a program with one dump and a file that does not change.
func snap(host, name, label string, order int) analysis.Snapshot {
	return analysis.Snapshot{
		ID: "s" + name + label, Label: label, Order: order,
		Process: analysis.Process{Host: fact1(host, "an option in cmdline"), Name: fact1(name, "directory name")},
		Artifacts: []analysis.Artifact{
			{Path: label + "/" + name + "/goroutine.txt", SHA256: sha(name + label), Members: 10 + order},
			{Path: label + "/" + name + "/mountinfo", SHA256: sha("mountinfo")},
		},
		Groups: []analysis.Group{{Family: &analysis.Family{Fingerprint: "g1:x"}, Count: 10 + order}},
	}
}

func timed(s analysis.Snapshot) analysis.Snapshot {
	s.CapturedAt = t0.Add(time.Duration(s.Order) * time.Minute)
	s.TimeFact = analysis.Fact{Value: s.CapturedAt.Format(time.RFC3339), Source: "file name", Confidence: analysis.Medium}
	return s
}

// series are n snapshots t0, t1, … of a program.
func series(host, name string, n int, with func(analysis.Snapshot) analysis.Snapshot) []analysis.Snapshot {
	var out []analysis.Snapshot
	for i := range n {
		out = append(out, with(snap(host, name, fmt.Sprintf("t%d", i), i)))
	}
	return out
}

func asIs(s analysis.Snapshot) analysis.Snapshot { return s }

// course writes the series of a case in one line each: "kubelet@node: t0 t1".
func course(snapshots []analysis.Snapshot) []string {
	lines := map[string]string{}
	var keys []string
	for _, s := range snapshots {
		key := s.Process.Name.Value + "@" + s.Process.Host.Value + ":"
		if lines[key] == "" {
			keys = append(keys, key)
		}
		lines[key] += " " + s.Label
	}
	slices.Sort(keys)
	var out []string
	for _, k := range keys {
		out = append(out, k+lines[k])
	}
	return out
}

func key(s analysis.Snapshot) string { return markOf(&s).String() }

// from, all, into, before and after are the references that an edit may contain.
func from(key string) string                     { return "from:" + key }
func all(key string, p analysis.Process) string  { return "series:" + key + ":" + nameOf(p) }
func into(key string, p analysis.Process) string { return "into:" + key + ":" + nameOf(p) }
func before(key string) string                   { return "before:" + key }
func after(key string) string                    { return "after:" + key }

func apply(snapshots []analysis.Snapshot, edits []Edit) ([]analysis.Snapshot, []analysis.Problem) {
	out := Resolve(snapshots, edits)
	return out.Snapshots, out.Problems
}

func TestEditsChangeWhatTheySay(t *testing.T) {
	kubelet, shim := series("", "kubelet", 3, timed), series("", "shim", 2, timed)
	named := series("", "dump", 3, asIs)
	for _, tc := range []struct {
		name  string
		in    []analysis.Snapshot
		edits []Edit
		want  []string
		why   []string
	}{
		{"nothing is said", append(kubelet, shim...), nil, []string{"kubelet@: t0 t1 t2", "shim@: t0 t1"}, nil},
		{"a whole series is renamed", kubelet, []Edit{{ID: 1, Kind: Process, Target: all(key(kubelet[1]), kubelet[1].Process), Value: "kubelet-2"}}, []string{"kubelet-2@: t0 t1 t2"}, nil},
		{"one snapshot is renamed", kubelet, []Edit{{ID: 1, Kind: Process, Target: key(kubelet[1]), Value: "other"}}, []string{"kubelet@: t0 t2", "other@: t1"}, nil},
		{"a series is split", kubelet, []Edit{{ID: 1, Kind: Series, Target: from(key(kubelet[1])), Value: "node-2/kubelet"}}, []string{"kubelet@: t0", "kubelet@node-2: t1 t2"}, nil},
		{"a series is merged into another", append(kubelet, shim...), []Edit{{ID: 1, Kind: Series, Target: all(key(shim[0]), shim[0].Process), Value: into(key(kubelet[0]), kubelet[0].Process)}}, []string{"kubelet@: t0 t0 t1 t1 t2"}, nil},
		{"one snapshot is merged into a series that was renamed", append(kubelet, shim...), []Edit{
			{ID: 1, Kind: Host, Target: all(key(kubelet[0]), kubelet[0].Process), Value: "node-1"},
			{ID: 2, Kind: Series, Target: key(shim[0]), Value: into(key(kubelet[0]), kubelet[0].Process)},
		}, []string{"kubelet@node-1: t0 t0 t1 t2", "shim@: t1"}, nil},
		{"the later of two names holds", kubelet, []Edit{
			{ID: 2, Kind: Process, Target: all(key(kubelet[0]), kubelet[0].Process), Value: "second"},
			{ID: 1, Kind: Process, Target: all(key(kubelet[0]), kubelet[0].Process), Value: "first"},
		}, []string{"second@: t0 t1 t2"}, nil},
		{"an undone edit is not applied", kubelet, []Edit{{ID: 1, Kind: LeaveOut, Target: key(kubelet[1]), Undone: true}}, []string{"kubelet@: t0 t1 t2"}, nil},
		{"a snapshot is left out", kubelet, []Edit{{ID: 1, Kind: LeaveOut, Target: key(kubelet[1])}}, []string{"kubelet@: t0 t2"}, nil},
		{"a snapshot is left out and taken back", kubelet, []Edit{{ID: 1, Kind: LeaveOut, Target: key(kubelet[1])}, {ID: 2, Kind: Keep, Target: key(kubelet[1])}}, []string{"kubelet@: t0 t1 t2"}, nil},
		{"a new time moves a snapshot", kubelet, []Edit{{ID: 1, Kind: Time, Target: key(kubelet[0]), Value: "2026-11-21T03:30:00Z"}}, []string{"kubelet@: t1 t2 t0"}, nil},
		{"a snapshot without a time gets one", named, []Edit{{ID: 1, Kind: Time, Target: key(named[2]), Value: "2026-11-21T03:30:00Z"}}, []string{"dump@: t0 t1 t2"}, nil},
		{"a snapshot without a time is moved up", named, []Edit{{ID: 1, Kind: Order, Target: key(named[2]), Value: before(key(named[0]))}}, []string{"dump@: t2 t0 t1"}, nil},
		{"moves add up", named, []Edit{
			{ID: 1, Kind: Order, Target: key(named[2]), Value: before(key(named[0]))},
			{ID: 2, Kind: Order, Target: key(named[0]), Value: after(key(named[1]))},
		}, []string{"dump@: t2 t1 t0"}, nil},
		{"a later move of one snapshot replaces the first", named, []Edit{
			{ID: 1, Kind: Order, Target: key(named[2]), Value: before(key(named[0]))},
			{ID: 2, Kind: Order, Target: key(named[2]), Value: before(key(named[1]))},
		}, []string{"dump@: t0 t2 t1"}, nil},
		{"a time is stronger than a place", kubelet, []Edit{{ID: 1, Kind: Order, Target: key(kubelet[2]), Value: before(key(kubelet[0]))}}, []string{"kubelet@: t0 t1 t2"}, nil},
		{"a place beside a snapshot of another series is none", append(named, shim...), []Edit{{ID: 1, Kind: Order, Target: key(named[2]), Value: before(key(shim[0]))}}, []string{"dump@: t0 t1 t2", "shim@: t0 t1"}, []string{"the snapshot beside which it was put is in another series"}},
		{"evidence that is gone changes nothing", kubelet, []Edit{{ID: 1, Kind: Host, Target: key(shim[0]), Value: "x"}}, []string{"kubelet@: t0 t1 t2"}, []string{"its evidence is no longer in the case"}},
		{"a series whose first evidence is gone is found by its name", kubelet[1:], []Edit{{ID: 1, Kind: Process, Target: all(key(kubelet[0]), kubelet[0].Process), Value: "x"}}, []string{"x@: t1 t2"}, nil},
		{"nonsense changes nothing and is said", kubelet, []Edit{
			{ID: 1, Kind: Host, Target: "e1.x", Value: "x"}, {ID: 2, Kind: "colour", Target: key(kubelet[0])}, {ID: 3, Kind: Time, Target: from(key(kubelet[0])), Value: "2026-11-21T03:30:00Z"},
			{ID: 4, Kind: Time, Target: key(kubelet[0]), Value: "noon"}, {ID: 5, Kind: Zone, Target: WholeCase, Value: "Mars/Olympus"}, {ID: 6, Kind: Series, Target: key(kubelet[0]), Value: "into:x"},
		}, []string{"kubelet@: t0 t1 t2"}, []string{"its target is not understood", "its kind is not known to this version of leakdiff", "a time is that of one snapshot", "its time is not understood", "there is no such time zone", "the series that it names is not understood"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := fmt.Sprint(tc.in)
			got, problems := apply(tc.in, tc.edits)
			if diff := cmp.Diff(tc.want, course(got)); diff != "" {
				t.Error(diff)
			}
			var why []string
			for _, p := range problems {
				why = append(why, p.Why)
				if p.What == "" || p.Hint == "" || p.Offset != -1 {
					t.Errorf("problem %+v", p)
				}
			}
			if diff := cmp.Diff(tc.why, why); diff != "" {
				t.Error(diff)
			}
			if fmt.Sprint(tc.in) != before {
				t.Error("the input was changed")
			}
			ids := map[string]bool{}
			for _, s := range tc.in {
				ids[s.ID] = true
			}
			for _, s := range got {
				if !ids[s.ID] {
					t.Errorf("id %s is new", s.ID)
				}
			}
		})
	}
}

func TestAnEnteredValueSaysWhatWasFound(t *testing.T) {
	in := series("", "kubelet", 2, timed)
	in[0].Times = map[analysis.Kind]time.Time{analysis.KindDescriptor: t0.Add(time.Hour)}
	out := Resolve(in, []Edit{
		{ID: 1, Kind: Host, Target: key(in[0]), Value: "node-7"},
		{ID: 2, Kind: Process, Target: key(in[0]), Value: "first"},
		{ID: 3, Kind: Process, Target: key(in[0]), Value: "kubelet-7"},
		{ID: 4, Kind: PID, Target: key(in[0]), Value: "21630"},
		{ID: 5, Kind: Time, Target: key(in[0]), Value: "2026-11-21T03:58:10Z"},
		{ID: 6, Kind: Time, Target: key(in[1]), Value: ""},
	})
	var s, other analysis.Snapshot
	for _, x := range out.Snapshots {
		if x.ID == in[0].ID {
			s = x
		} else {
			other = x
		}
	}
	for _, tc := range []struct {
		name string
		got  analysis.Fact
		want analysis.Fact
	}{
		{"host", s.Process.Host, analysis.Fact{Value: "node-7", Source: "entered by a person (was: not known)", Confidence: analysis.High}},
		{"process", s.Process.Name, analysis.Fact{Value: "kubelet-7", Source: "entered by a person (was: kubelet, directory name)", Confidence: analysis.High}},
		{"pid", s.Process.PID, analysis.Fact{Value: "21630", Source: "entered by a person (was: not known)", Confidence: analysis.High}},
		{"time", s.TimeFact, analysis.Fact{Value: "2026-11-21T03:58:10Z", Source: "entered by a person (was: 2026-11-21 02:58:10, file name)", Confidence: analysis.High}},
		{"no time", other.TimeFact, analysis.Fact{Source: "entered by a person (was: 2026-11-21 02:59:10, file name)", Confidence: analysis.High}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	if s.Times != nil || !s.CapturedAt.Equal(t0.Add(time.Hour)) || !other.CapturedAt.IsZero() {
		t.Errorf("times %v at %v and %v: an entered time holds for all evidence", s.Times, s.CapturedAt, other.CapturedAt)
	}
	want := map[int64]Effect{1: {Snapshots: []string{"skubelett0"}}, 2: {Snapshots: []string{"skubelett0"}, Was: "kubelet"}, 3: {Snapshots: []string{"skubelett0"}, Was: "first"},
		4: {Snapshots: []string{"skubelett0"}}, 5: {Snapshots: []string{"skubelett0"}, Was: "2026-11-21T02:58:10Z"}, 6: {Snapshots: []string{"skubelett1"}, Was: "2026-11-21T02:59:10Z"}}
	if diff := cmp.Diff(want, out.Effects); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"node-7"}, out.Hosts); diff != "" {
		t.Error(diff)
	}
}

func TestAZoneShiftsOnlyTimesWithoutOne(t *testing.T) {
	in := series("", "kubelet", 3, timed)
	in[0].Zoneless, in[1].Zoneless = true, true
	in[0].Times = map[analysis.Kind]time.Time{analysis.KindDescriptor: t0.Add(time.Minute)}
	edits := []Edit{
		{ID: 1, Kind: Zone, Target: WholeCase, Value: "Asia/Kolkata"},
		{ID: 2, Kind: Time, Target: key(in[1]), Value: "2026-11-21T05:00:00Z"},
		{ID: 3, Kind: Zone, Target: WholeCase, Value: "Europe/Berlin"},
	}
	out := Resolve(in, edits)
	got := map[string]string{}
	for _, s := range out.Snapshots {
		got[s.Label] = wording.Time(s.CapturedAt)
	}
	// Berlin is an hour ahead of UTC in November.
	want := map[string]string{"t0": "2026-11-21 01:58:10", "t1": "2026-11-21 05:00:00", "t2": "2026-11-21 03:00:10"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s := out.Snapshots[0]
	if at := s.Times[analysis.KindDescriptor]; wording.Time(at) != "2026-11-21 01:59:10" || !in[0].Times[analysis.KindDescriptor].Equal(t0.Add(time.Minute)) {
		t.Errorf("descriptors at %v, found at %v", at, in[0].Times)
	}
	if want := "file name, in the zone Europe/Berlin entered by a person (was: 2026-11-21 02:58:10, taken as UTC)"; s.TimeFact.Source != want || s.TimeFact.Confidence != analysis.Medium {
		t.Errorf("got %+v, want %q", s.TimeFact, want)
	}
	if out.Effects[1].Why == "" || len(out.Effects[3].Snapshots) != 2 || out.Zone.String() != "Europe/Berlin" {
		t.Errorf("effects %+v, zone %v", out.Effects, out.Zone)
	}
	if back := Resolve(in, append(edits, Edit{ID: 4, Kind: Zone, Target: WholeCase, Value: "UTC"})); !back.Snapshots[0].CapturedAt.Equal(t0) {
		t.Errorf("the last zone does not hold: %v", back.Snapshots[0].CapturedAt)
	}
}

func TestAnEditThatAnotherOneReplacesIsNoProblem(t *testing.T) {
	in := series("", "dump", 3, asIs)
	out := Resolve(in, []Edit{
		{ID: 1, Kind: Order, Target: key(in[2]), Value: before(key(in[0]))},
		{ID: 2, Kind: Order, Target: key(in[2]), Value: before(key(in[1]))},
		{ID: 3, Kind: Time, Target: key(in[2]), Value: "2026-11-21T03:00:00Z"},
		{ID: 4, Kind: Zone, Target: WholeCase, Value: "+01:00"},
		{ID: 5, Kind: Zone, Target: WholeCase, Value: "+02:00"},
	})
	want := map[int64]Effect{
		1: {Why: "a later edit moves the same snapshot", Harmless: true}, 2: {Why: timeHolds, Harmless: true}, 3: {Snapshots: []string{in[2].ID}},
		4: {Why: "a later edit gives another zone", Harmless: true}, 5: {Was: "UTC", Why: "every time of this case came with its zone", Harmless: true},
	}
	if diff := cmp.Diff(want, out.Effects); diff != "" || len(out.Problems) > 0 {
		t.Error(diff, out.Problems)
	}
}

func BenchmarkResolve(b *testing.B) {
	var in []analysis.Snapshot
	for p := range 100 {
		in = append(in, series("node", fmt.Sprintf("p%02d", p), 10, timed)...)
	}
	var edits []Edit
	for i := range 200 {
		s := in[i*7%len(in)]
		edits = append(edits, Edit{ID: int64(i + 1), Kind: Host, Target: all(key(s), s.Process), Value: fmt.Sprintf("node-%d", i%3)})
	}
	for b.Loop() {
		Resolve(in, edits)
	}
}

func TestALeftOutSnapshotStaysListed(t *testing.T) {
	in := series("", "kubelet", 3, timed)
	out := Resolve(in, []Edit{{ID: 1, Kind: LeaveOut, Target: key(in[1])}})
	if len(out.LeftOut) != 1 || out.LeftOut[0].ID != in[1].ID || out.LeftOut[0].Groups != nil || out.Keys[in[1].ID] != key(in[1]) {
		t.Errorf("left out: %+v", out.LeftOut)
	}
}

// reanalysed is the reading of the same bytes by a newer engine: other names, ids,
// labels, places and outcomes, and one more file in each snapshot.
func reanalysed(in []analysis.Snapshot) []analysis.Snapshot {
	var out []analysis.Snapshot
	for i, s := range in {
		s.Artifacts = append([]analysis.Artifact{{Path: s.Artifacts[0].Path + ".lsof", SHA256: sha(s.ID + "lsof"), Members: 3}}, s.Artifacts...)
		s.ID, s.Label, s.Order = "snew"+s.ID, "round "+s.Label, s.Order*2+1
		s.Process.Name = fact1(s.Process.Name.Value+"-v2", "stat")
		s.Process.Host = fact1("node-9", "kernel log")
		s.Process.PID = fact1(fmt.Sprint(100+i), "stat")
		out = append(out, s)
	}
	return out
}

func TestEditsSurviveReanalysis(t *testing.T) {
	in := append(series("", "kubelet", 3, timed), series("", "shim", 3, asIs)...)
	edits := []Edit{
		{ID: 1, Kind: Host, Target: all(key(in[0]), in[0].Process), Value: "node-1"},
		{ID: 2, Kind: LeaveOut, Target: key(in[1])},
		{ID: 3, Kind: Order, Target: key(in[5]), Value: before(key(in[3]))},
		{ID: 4, Kind: Series, Target: key(in[4]), Value: into(key(in[0]), in[0].Process)},
	}
	got, problems := apply(reanalysed(in), edits)
	want := []string{"kubelet-v2@node-1: round t0 round t1 round t2", "shim-v2@node-9: round t2 round t0"}
	if diff := cmp.Diff(want, course(got)); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
}

func TestSnapshotsOfOneFileAreToldApart(t *testing.T) {
	listing := func(pid, label string, order int) analysis.Snapshot {
		s := snap("", "p"+pid, label, order)
		s.Process.PID = fact1(pid, "lsof.txt")
		s.Artifacts = []analysis.Artifact{{Path: "lsof.txt", SHA256: sha("lsof"), Members: 100}}
		return s
	}
	// An idle process left the same bytes in t3 and t4.
	idle := func(label string, order int) analysis.Snapshot {
		s := snap("", "idle", label, order)
		s.Artifacts = []analysis.Artifact{{Path: label + "/idle.txt", SHA256: sha("idle"), Members: 5}}
		return s
	}
	in := []analysis.Snapshot{listing("1", "a", 0), listing("1", "a#2", 1), listing("2", "a", 2), idle("t3", 3), idle("t4", 4)}
	keys := Resolve(in, nil).Keys
	seen := map[string]string{}
	for i, s := range in {
		k := keys[s.ID]
		if seen[k] != "" {
			t.Errorf("%s and %s have the key %s", seen[k], s.ID, k)
		}
		seen[k] = s.ID
		got, problems := apply(in, []Edit{{ID: 1, Kind: Process, Target: k, Value: "hit"}})
		hits := 0
		for _, g := range got {
			if g.Process.Name.Value == "hit" {
				hits++
				if g.ID != s.ID {
					t.Errorf("the edit of %s hit %s", s.ID, g.ID)
				}
			}
		}
		if hits != 1 || len(problems) > 0 {
			t.Errorf("snapshot %d: %d hits, problems %v", i, hits, problems)
		}
	}
}

func TestProcessesOfOneNameAtOneTimeAreSeriesOfTheirOwn(t *testing.T) {
	var in []analysis.Snapshot
	for i, pid := range []string{"11", "12", "11", "12"} {
		s := timed(snap("node", "bash", fmt.Sprintf("t%d", i/2), i/2))
		s.ID, s.Process.PID = fmt.Sprint("s", i), fact1(pid, "lsof.txt")
		s.Artifacts = []analysis.Artifact{{Path: s.Label + "/lsof.txt", SHA256: sha(s.Label), Members: 9}}
		in = append(in, s)
	}
	keys := SeriesKeys(in)
	if keys[0] == keys[1] || keys[0] != keys[2] || keys[1] != keys[3] {
		t.Fatalf("%q", keys)
	}
	for name, edit := range map[string]Edit{
		"by evidence": {ID: 1, Kind: Process, Target: all(key(in[0]), in[0].Process), Value: "login"},
		"by name":     {ID: 1, Kind: Process, Target: all("e1.11.1."+strings.Repeat("a", 13), in[0].Process), Value: "login"},
	} {
		out := Resolve(in, []Edit{edit})
		if diff := cmp.Diff([]string{"s0", "s2"}, out.Effects[1].Snapshots); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	restarted := series("node", "bash", 2, timed)
	restarted[0].Process.PID, restarted[1].Process.PID = fact1("11", "stat"), fact1("12", "stat")
	if keys := SeriesKeys(restarted); keys[0] != keys[1] {
		t.Errorf("a restart is no second series: %q", keys)
	}
}

func TestAKeyIsReadBackAndStaysShort(t *testing.T) {
	s := snap("", "x", "t1", 0)
	for i := range 50 {
		s.Artifacts = append(s.Artifacts, analysis.Artifact{Path: fmt.Sprintf("f%d", i), SHA256: sha(fmt.Sprint(i)), Members: 1})
	}
	k := key(s)
	m, ok := parseMark(k)
	if !ok || m.String() != k || len(k) > 130 {
		t.Errorf("%d bytes, read back as %v: %s", len(k), ok, k)
	}
	for _, bad := range []string{"", "e1", "e1...", "e2..1.", "e1.x.1.", "e1..0.", "e1..1.short", "e1..1.aaaaaaaaaaaa!", "e1..1.aaaaaaaaaaaaa-", "e1..-1."} {
		if _, ok := parseMark(bad); ok {
			t.Errorf("%q is taken for a key", bad)
		}
	}
}

func FuzzReferencesAreReadWithoutPanic(f *testing.F) {
	s := snap("h", "x", "t1", 0)
	for _, seed := range []string{key(s), from(key(s)), all(key(s), s.Process), into(key(s), s.Process), before(key(s)), after(key(s)), WholeCase, "series:e1..1.:%zz/", "into:e1..1.:"} {
		f.Add(seed, seed)
	}
	in := series("h", "x", 3, asIs)
	f.Fuzz(func(t *testing.T, target, value string) {
		for _, k := range []Kind{Host, Series, Order, Time, Zone, Version, Happened, Load} {
			out := Resolve(in, []Edit{{ID: 1, Kind: k, Target: target, Value: value}})
			if n := len(out.Snapshots) + len(out.LeftOut); n != len(in) {
				t.Errorf("%d snapshots, want %d", n, len(in))
			}
		}
	})
}

// editOf draws an edit of one of the snapshots.
func editOf(rt *rapid.T, in []analysis.Snapshot, id int64) Edit {
	s := in[rapid.IntRange(0, len(in)-1).Draw(rt, "snapshot")]
	e := Edit{ID: id, Kind: rapid.SampledFrom([]Kind{Host, Process, PID, Version, Time, Order, LeaveOut, Keep, Series, Happened, Load}).Draw(rt, "kind")}
	e.Target = rapid.SampledFrom([]string{key(s), from(key(s)), all(key(s), s.Process)}).Draw(rt, "target")
	other := in[rapid.IntRange(0, len(in)-1).Draw(rt, "other")]
	switch e.Kind {
	case Time:
		e.Target = key(s)
		e.Value = rapid.SampledFrom([]string{"", "2026-11-21T02:58:40Z", "2026-11-21T05:00:00Z"}).Draw(rt, "time")
	case Order:
		e.Target = key(s)
		e.Value = rapid.SampledFrom([]string{before(key(other)), after(key(other))}).Draw(rt, "place")
	case Series:
		e.Value = rapid.SampledFrom([]string{into(key(other), other.Process), other.Process.Host.Value + "/" + other.Process.Name.Value}).Draw(rt, "into")
	case Host, Process:
		e.Value = other.Process.Name.Value + rapid.SampledFrom([]string{"", "-2"}).Draw(rt, "value")
	case PID:
		e.Value = "7"
	case Version:
		e.Value = rapid.SampledFrom([]string{"1.30", "1.31"}).Draw(rt, "version")
	case Happened:
		e.Target, e.Value = WholeCase, EventValue("2026-11-21T02:59:00Z", "deploy", rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "text"))
	case Load:
		e.Target, e.Value = all(key(s), s.Process), LoadValue("sessions", key(s)+"=12 "+key(other)+"=-")
	}
	return e
}

func drawEdits(rt *rapid.T, in []analysis.Snapshot, from int64) []Edit {
	var out []Edit
	for i := range rapid.IntRange(0, 8).Draw(rt, "edits") {
		out = append(out, editOf(rt, in, from+int64(i)))
	}
	return out
}

func TestUndoingEveryEditGivesTheOriginal(t *testing.T) {
	in := append(series("", "kubelet", 4, timed), series("n", "shim", 4, asIs)...)
	rapid.Check(t, func(rt *rapid.T) {
		edits := drawEdits(rt, in, 1)
		out := Resolve(in, edits)
		if n := len(out.Snapshots) + len(out.LeftOut); n != len(in) {
			rt.Fatalf("%d of %d snapshots are left", n, len(in))
		}
		again := Resolve(in, edits)
		if diff := cmp.Diff(course(out.Snapshots), course(again.Snapshots)); diff != "" {
			rt.Fatal("two runs differ:", diff)
		}
		for i := range edits {
			edits[i].Undone = true
		}
		back, problems := apply(in, edits)
		if diff := cmp.Diff(in, back); diff != "" || len(problems) > 0 {
			rt.Fatal(diff, problems)
		}
	})
}

func TestUnrelatedEditsDoNotTouchASeries(t *testing.T) {
	a, b := append(series("", "kubelet", 3, timed), series("", "dump", 3, asIs)...), append(series("x", "shim", 3, timed), series("x", "proxy", 3, asIs)...)
	rapid.Check(t, func(rt *rapid.T) {
		mine, theirs := drawEdits(rt, a, 1), drawEdits(rt, b, 100)
		only := func(list []analysis.Snapshot) (out []analysis.Snapshot) {
			for _, s := range list {
				if slices.ContainsFunc(a, func(x analysis.Snapshot) bool { return x.ID == s.ID }) {
					out = append(out, s)
				}
			}
			return out
		}
		alone, _ := apply(a, mine)
		together, _ := apply(append(slices.Clone(a), b...), append(slices.Clone(mine), theirs...))
		if slices.ContainsFunc(theirs, func(e Edit) bool { return e.Kind == Host || e.Kind == Process || e.Kind == Series }) {
			// A renamed series may meet another one. Positions in the merged series are
			// then new.
			byID := func(x, y analysis.Snapshot) int { return strings.Compare(x.ID, y.ID) }
			slices.SortFunc(alone, byID)
			slices.SortFunc(together, byID)
		}
		if diff := cmp.Diff(alone, only(together)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestEveryKeyOfReanalysedSnapshotsIsFoundAgain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := append(series("", "kubelet", rapid.IntRange(1, 6).Draw(rt, "n"), timed), series("", "shim", 2, asIs)...)
		s := in[rapid.IntRange(0, len(in)-1).Draw(rt, "which")]
		got, problems := apply(reanalysed(in), []Edit{{ID: 1, Kind: Process, Target: key(s), Value: "hit"}})
		for _, g := range got {
			if (g.Process.Name.Value == "hit") != (g.ID == "snew"+s.ID) {
				rt.Fatalf("%s was looked for, %s is called %s", s.ID, g.ID, g.Process.Name.Value)
			}
		}
		if len(problems) > 0 {
			rt.Fatal(problems)
		}
	})
}

func TestCheckKeepsWhatIsRightAndExplainsWhatIsWrong(t *testing.T) {
	in := append(series("node", "kubelet", 2, timed), snap("node", "kubelet", "t3", 3))
	in[0].ID, in[1].ID, in[2].ID = "sone", "stwo", "sthree"
	out := Resolve(in, []Edit{{ID: 1, Kind: Zone, Target: WholeCase, Value: "+02:00"}})
	k := key(in[0])
	for _, tc := range []struct {
		name  string
		in    Edit
		want  Edit
		field string
		what  string
	}{
		{name: "a name is trimmed", in: Edit{Kind: Process, Target: "sone", Value: "  kubelet "}, want: Edit{Kind: Process, Target: k, Value: "kubelet"}},
		{name: "a series is named by evidence", in: Edit{Kind: Host, Target: "series:sone", Value: "n1"}, want: Edit{Kind: Host, Target: "series:" + k + ":node/kubelet", Value: "n1"}},
		{name: "what is named by evidence stays", in: Edit{Kind: Host, Target: "series:" + k + ":node/kubelet", Value: "n1"}, want: Edit{Kind: Host, Target: "series:" + k + ":node/kubelet", Value: "n1"}},
		{name: "later ones", in: Edit{Kind: PID, Target: "from:stwo", Value: "0042"}, want: Edit{Kind: PID, Target: "from:" + key(in[1]), Value: "42"}},
		{name: "a time without a zone is of the case's", in: Edit{Kind: Time, Target: "sone", Value: "2026-11-21 04:58"}, want: Edit{Kind: Time, Target: k, Value: "2026-11-21T02:58:00Z"}},
		{name: "a time with a zone", in: Edit{Kind: Time, Target: "sone", Value: "2026-11-21 04:58:10 UTC"}, want: Edit{Kind: Time, Target: k, Value: "2026-11-21T04:58:10Z"}},
		{name: "a time with an offset", in: Edit{Kind: Time, Target: "sone", Value: "2026-11-21 04:58:10 -01:00"}, want: Edit{Kind: Time, Target: k, Value: "2026-11-21T05:58:10Z"}},
		{name: "RFC 3339", in: Edit{Kind: Time, Target: "sone", Value: "2026-11-21T04:58:10.25+02:00"}, want: Edit{Kind: Time, Target: k, Value: "2026-11-21T02:58:10.25Z"}},
		{name: "no time", in: Edit{Kind: Time, Target: "sone"}, want: Edit{Kind: Time, Target: k}},
		{name: "a zone needs no target", in: Edit{Kind: Zone, Value: "America/St_Johns"}, want: Edit{Kind: Zone, Target: WholeCase, Value: "America/St_Johns"}},
		{name: "a place", in: Edit{Kind: Order, Target: "sthree", Value: "after:stwo"}, want: Edit{Kind: Order, Target: key(in[2]), Value: "after:" + key(in[1])}},
		{name: "a merge", in: Edit{Kind: Series, Target: "stwo", Value: "into:sone"}, want: Edit{Kind: Series, Target: key(in[1]), Value: "into:" + k + ":node/kubelet"}},
		{name: "a split", in: Edit{Kind: Series, Target: "from:stwo", Value: "n2/kubelet"}, want: Edit{Kind: Series, Target: "from:" + key(in[1]), Value: "n2/kubelet"}},

		{name: "a version", in: Edit{Kind: Version, Target: "from:stwo", Value: " v1.31.2+rke2 (go1.22) "}, want: Edit{Kind: Version, Target: "from:" + key(in[1]), Value: "v1.31.2+rke2 (go1.22)"}},
		{name: "an event is of the whole case and of its zone", in: Edit{Kind: Happened, Value: "2026-11-21 04:58; deploy;  1.4; all nodes "}, want: Edit{Kind: Happened, Target: WholeCase, Value: "2026-11-21T02:58:00Z; deploy; 1.4; all nodes"}},
		{name: "an event of an own kind with an offset", in: Edit{Kind: Happened, Target: WholeCase, Value: "2026-11-21 04:58 -01:00;umzug-süd;x"}, want: Edit{Kind: Happened, Target: WholeCase, Value: "2026-11-21T05:58:00Z; umzug-süd; x"}},
		{name: "a load in the order of the series", in: Edit{Kind: Load, Target: "series:sone", Value: "open sessions; 12, 013.50 -"}, want: Edit{Kind: Load, Target: "series:" + k + ":node/kubelet", Value: "open sessions; " + k + "=12 " + key(in[1]) + "=13.5 " + key(in[2]) + "=-"}},
		{name: "a load by labels and ids", in: Edit{Kind: Load, Target: "series:stwo", Value: "pods; t3=0 sone=7"}, want: Edit{Kind: Load, Target: "series:" + key(in[1]) + ":node/kubelet", Value: "pods; " + k + "=7 " + key(in[1]) + "=- " + key(in[2]) + "=0"}},
		{name: "a load by evidence, as it is kept, with some that is gone", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; e1.7.1.aaaaaaaaaaaaa=3 " + key(in[2]) + "=2 " + k + "=1"}, want: Edit{Kind: Load, Target: "series:" + k + ":node/kubelet", Value: "pods; " + k + "=1 " + key(in[1]) + "=- " + key(in[2]) + "=2 e1.7.1.aaaaaaaaaaaaa=3"}},

		{name: "no version", in: Edit{Kind: Version, Target: "sone", Value: " "}, field: "value", what: "the version has no name"},
		{name: "a long version", in: Edit{Kind: Version, Target: "sone", Value: strings.Repeat("1", 101)}, field: "value", what: "the version's name is too long"},
		{name: "an event of one snapshot", in: Edit{Kind: Happened, Target: "sone", Value: "2026-11-21 04:58; deploy; x"}, field: "target", what: "an event is that of the whole case"},
		{name: "an event without a time", in: Edit{Kind: Happened, Value: "; deploy; x"}, field: "value.time", what: "the event has no time"},
		{name: "an event at no time", in: Edit{Kind: Happened, Value: "noon; deploy; x"}, field: "value.time", what: "this is no time"},
		{name: "an event of another age", in: Edit{Kind: Happened, Value: "1026-11-21 04:58; deploy; x"}, field: "value.time", what: "this time cannot be right"},
		{name: "an event without a kind", in: Edit{Kind: Happened, Value: "2026-11-21 04:58; ; x"}, field: "value.kind", what: "the event has no kind"},
		{name: "an event with a long kind", in: Edit{Kind: Happened, Value: "2026-11-21 04:58;" + strings.Repeat("k", 41) + "; x"}, field: "value.kind", what: "the kind of the event is too long"},
		{name: "an event of two kinds", in: Edit{Kind: Happened, Value: "2026-11-21 04:58; deploy config; x"}, field: "value.kind", what: "the kind of the event is not a single word"},
		{name: "an event without a text", in: Edit{Kind: Happened, Value: "2026-11-21 04:58; deploy"}, field: "value.text", what: "nothing says what happened"},
		{name: "an event with a long text", in: Edit{Kind: Happened, Value: "2026-11-21 04:58; deploy; " + strings.Repeat("x", 201)}, field: "value.text", what: "the text of the event is too long"},
		{name: "an event on two lines", in: Edit{Kind: Happened, Value: "2026-11-21 04:58; deploy; a\nb"}, field: "value", what: "the text holds a character that cannot be seen"},
		{name: "a load of one snapshot", in: Edit{Kind: Load, Target: "sone", Value: "pods; 1 2 3"}, field: "target", what: "a load is that of a whole series"},
		{name: "a load of a series that is not there", in: Edit{Kind: Load, Target: "series:sfour", Value: "pods; 1 2 3"}, field: "target", what: "there is no such snapshot in this case"},
		{name: "a load of evidence that is gone", in: Edit{Kind: Load, Target: "series:e1.7.1.aaaaaaaaaaaaa:x/y", Value: "pods; 1 2 3"}, field: "target", what: "no such snapshot counts in this case"},
		{name: "a load without a name", in: Edit{Kind: Load, Target: "series:sone", Value: "; 1 2 3"}, field: "value.name", what: "the load has no name"},
		{name: "a load with a long name", in: Edit{Kind: Load, Target: "series:sone", Value: strings.Repeat("p", 61) + "; 1 2 3"}, field: "value.name", what: "the load's name is too long"},
		{name: "a load that is no name", in: Edit{Kind: Load, Target: "series:sone", Value: "a=b; 1 2 3"}, field: "value.name", what: "the load's name holds an equals sign"},
		{name: "too few numbers", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; 1 2"}, field: "value.numbers", what: "these are 2 numbers for 3 snapshots"},
		{name: "no numbers", in: Edit{Kind: Load, Target: "series:sone", Value: "pods"}, field: "value.numbers", what: "these are 0 numbers for 3 snapshots"},
		{name: "one number alone", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; - 2 -"}, field: "value.numbers", what: "a load needs the numbers of two snapshots at least"},
		{name: "a decimal comma", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; 1,5 2,5 3,5"}, field: "value.numbers", what: "this is no number"},
		{name: "a negative number", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; 1 -2 3"}, field: "value.numbers", what: "this is no number"},
		{name: "no end", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; 1 Inf 3"}, field: "value.numbers", what: "this is no number"},
		{name: "a label that no snapshot has", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; t0=1 t7=2"}, field: "value.numbers", what: "this series has no such snapshot"},
		{name: "a snapshot twice", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; t0=1 sone=2"}, field: "value.numbers", what: "a snapshot has two numbers"},
		{name: "text behind the numbers", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; t0=1 t1=2 t3"}, field: "value.numbers", what: "something stands behind the last number"},
		{name: "a load without end", in: Edit{Kind: Load, Target: "series:sone", Value: "pods; " + strings.Repeat("1 ", 50_000)}, field: "value", what: "the text is too long"},

		{name: "no name", in: Edit{Kind: Process, Target: "sone", Value: " "}, field: "value", what: "the program has no name"},
		{name: "no host", in: Edit{Kind: Host, Target: "sone"}, field: "value", what: "the host has no name"},
		{name: "a host with a space", in: Edit{Kind: Host, Target: "sone", Value: "a b"}, field: "value", what: "this is no host name"},
		{name: "a long host", in: Edit{Kind: Host, Target: "sone", Value: strings.Repeat("a", 254)}, field: "value", what: "the host's name is too long"},
		{name: "a long name", in: Edit{Kind: Process, Target: "sone", Value: strings.Repeat("a", 201)}, field: "value", what: "the program's name is too long"},
		{name: "a split without a name", in: Edit{Kind: Series, Target: "from:stwo", Value: "n2"}, field: "value", what: "the program has no name"},
		{name: "a control character", in: Edit{Kind: Process, Target: "sone", Value: "a\x1bb"}, field: "value", what: "the text holds a character that cannot be seen"},
		{name: "text that turns around", in: Edit{Kind: Process, Target: "sone", Value: "a\u202eb"}, field: "value", what: "the text holds a character that cannot be seen"},
		{name: "no UTF-8", in: Edit{Kind: Process, Target: "sone", Value: "a\xff"}, field: "value", what: "the text is no valid UTF-8"},
		{name: "a long note", in: Edit{Kind: Process, Target: "sone", Value: "a", Note: strings.Repeat("a", 301)}, field: "note", what: "the text is too long"},
		{name: "a bad time", in: Edit{Kind: Time, Target: "sone", Value: "noon"}, field: "value", what: "this is no time"},
		{name: "an impossible day", in: Edit{Kind: Time, Target: "sone", Value: "2026-02-30 10:00"}, field: "value", what: "this is no time"},
		{name: "a time of another age", in: Edit{Kind: Time, Target: "sone", Value: "0026-11-21 10:00"}, field: "value", what: "this time cannot be right"},
		{name: "an unknown zone", in: Edit{Kind: Zone, Value: "Mars/Olympus"}, field: "value", what: "there is no such time zone"},
		{name: "a zone from outside", in: Edit{Kind: Zone, Value: "../../etc/passwd"}, field: "value", what: "there is no such time zone"},
		{name: "the server's own zone", in: Edit{Kind: Zone, Value: "Local"}, field: "value", what: "there is no such time zone"},
		{name: "an offset too far", in: Edit{Kind: Zone, Value: "+15:00"}, field: "value", what: "no zone is more than 14 hours away from UTC"},
		{name: "a zone of one snapshot", in: Edit{Kind: Zone, Target: "sone", Value: "UTC"}, field: "target", what: "a zone is that of the whole case"},
		{name: "no pid", in: Edit{Kind: PID, Target: "sone", Value: "-1"}, field: "value", what: "this is no pid"},
		{name: "pid zero", in: Edit{Kind: PID, Target: "sone", Value: "0"}, field: "value", what: "this is no pid"},
		{name: "a snapshot of another case", in: Edit{Kind: Host, Target: "sfour", Value: "x"}, field: "target", what: "there is no such snapshot in this case"},
		{name: "no target", in: Edit{Kind: LeaveOut}, field: "target", what: "there is no such snapshot in this case"},
		{name: "a time of a whole series", in: Edit{Kind: Time, Target: "series:sone", Value: "2026-11-21 04:58"}, field: "target", what: "only one snapshot can be given a time or a place"},
		{name: "a merge into nothing", in: Edit{Kind: Series, Target: "sone", Value: "into:sfour"}, field: "value", what: "there is no such snapshot in this case"},
		{name: "a place for what has a time", in: Edit{Kind: Order, Target: "sone", Value: "after:stwo"}, field: "value", what: "the snapshot has a time, which gives its place"},
		{name: "a place of nothing", in: Edit{Kind: Order, Target: "sthree", Value: "up"}, field: "value", what: "the new place is not understood"},
		{name: "a value where none is", in: Edit{Kind: LeaveOut, Target: "sone", Value: "x"}, field: "value", what: "this kind of edit has no value"},
		{name: "an unknown kind", in: Edit{Kind: "colour", Target: "sone", Value: "x"}, field: "kind", what: "there is no such kind of edit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := out.Check(tc.in)
			if tc.field == "" {
				if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
					t.Error(diff, err)
				}
				return
			}
			var f *analysis.Fault
			if !errors.As(err, &f) || f.Code != "invalid" || f.Where != tc.field || f.What != tc.what || f.Hint == "" {
				t.Errorf("got %+v, want %s: %s", f, tc.field, tc.what)
			}
		})
	}
}

// loadOf is a load as Check keeps it.
func loadOf(t *testing.T, out Outcome, id int64, target, value string) Edit {
	t.Helper()
	e, err := out.Check(Edit{Kind: Load, Target: target, Value: value})
	if err != nil {
		t.Fatal(err)
	}
	e.ID = id
	return e
}

func TestALoadHoldsForEvidence(t *testing.T) {
	in := append(series("", "kubelet", 3, timed), series("", "shim", 2, timed)...)
	out := Resolve(in, nil)
	kubelet, shim := "series:"+in[0].ID, "series:"+in[3].ID
	first := loadOf(t, out, 1, kubelet, "pods; 10 20 30")
	again := loadOf(t, out, 2, kubelet, "pods; 11 - 31")
	other := loadOf(t, out, 3, shim, "pods; 1 2")
	undone := again
	undone.Undone = true
	gone := Edit{ID: 4, Kind: Load, Target: first.Target, Value: "gone; e1.7.1.aaaaaaaaaaaaa=3"}
	more := append(slices.Clone(in), timed(snap("", "kubelet", "t3", 3)))
	for _, tc := range []struct {
		name  string
		in    []analysis.Snapshot
		edits []Edit
		want  map[string]map[string]float64
		why   map[int64]string
		lost  int
	}{
		{name: "nothing", in: in, want: map[string]map[string]float64{}},
		{name: "one", in: in, edits: []Edit{first}, want: map[string]map[string]float64{"pods": {"skubelett0": 10, "skubelett1": 20, "skubelett2": 30}}},
		{name: "a later one replaces all of it, even where it knows nothing", in: in, edits: []Edit{first, again}, want: map[string]map[string]float64{"pods": {"skubelett0": 11, "skubelett2": 31}}, why: map[int64]string{1: "a later edit gives this load anew"}},
		{name: "without the later one the first holds", in: in, edits: []Edit{first, undone}, want: map[string]map[string]float64{"pods": {"skubelett0": 10, "skubelett1": 20, "skubelett2": 30}}},
		{name: "that of another series stands beside it", in: in, edits: []Edit{again, other}, want: map[string]map[string]float64{"pods": {"skubelett0": 11, "skubelett2": 31, "sshimt0": 1, "sshimt1": 2}}},
		{name: "it holds when the files are read anew", in: reanalysed(in), edits: []Edit{first}, want: map[string]map[string]float64{"pods": {"snewskubelett0": 10, "snewskubelett1": 20, "snewskubelett2": 30}}},
		{name: "a new snapshot has no number", in: more, edits: []Edit{first}, want: map[string]map[string]float64{"pods": {"skubelett0": 10, "skubelett1": 20, "skubelett2": 30}}},
		{name: "other times and names do not move it", in: in, edits: []Edit{first, {ID: 5, Kind: Time, Target: key(in[0]), Value: "2026-11-21T05:00:00Z"}, {ID: 6, Kind: Process, Target: key(in[1]), Value: "x"}}, want: map[string]map[string]float64{"pods": {"skubelett0": 10, "skubelett1": 20, "skubelett2": 30}}},
		{name: "evidence that is gone", in: in, edits: []Edit{gone}, want: map[string]map[string]float64{}, why: map[int64]string{4: "its evidence is no longer in the case"}, lost: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Resolve(tc.in, tc.edits)
			if diff := cmp.Diff(tc.want, got.Loads); diff != "" {
				t.Error(diff)
			}
			why := map[int64]string{}
			for id, effect := range got.Effects {
				if effect.Why != "" {
					why[id] = effect.Why
				}
			}
			if len(tc.why)+len(why) > 0 {
				if diff := cmp.Diff(tc.why, why); diff != "" {
					t.Error(diff)
				}
			}
			if len(got.Problems) != tc.lost {
				t.Errorf("%d problems, want %d: %v", len(got.Problems), tc.lost, got.Problems)
			}
		})
	}
}

func TestAListOfNumbersIsInTheOrderOfTheSeries(t *testing.T) {
	// The files came in another order than their times.
	in := series("", "kubelet", 3, timed)
	slices.Reverse(in)
	out := Resolve(in, nil)
	e := loadOf(t, out, 1, "series:skubelett2", "pods; 10 20 30")
	if diff := cmp.Diff(map[string]float64{"skubelett0": 10, "skubelett1": 20, "skubelett2": 30}, Resolve(in, []Edit{e}).Loads["pods"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"10", "20", "30"}, LoadNumbers(e.Value)); diff != "" {
		t.Error(diff)
	}
	// A snapshot that was left out has no number and needs none.
	left := []Edit{{ID: 1, Kind: LeaveOut, Target: key(in[1])}}
	e = loadOf(t, Resolve(in, left), 2, "series:skubelett2", "pods; 10 30")
	if diff := cmp.Diff(map[string]float64{"skubelett0": 10, "skubelett2": 30}, Resolve(in, append(left, e)).Loads["pods"]); diff != "" {
		t.Error(diff)
	}
}

func TestEventsStandSideBySide(t *testing.T) {
	in := series("", "kubelet", 2, timed)
	edits := []Edit{
		{ID: 1, Kind: Happened, Target: WholeCase, Value: "2026-11-21T03:00:00Z; deploy; 1.4"},
		{ID: 2, Kind: Happened, Target: WholeCase, Value: "2026-11-21T02:58:00Z; outage; of the registry; short"},
		{ID: 3, By: Alertmanager, Kind: Happened, Target: WholeCase, Value: "2026-11-21T03:00:00Z; deploy; 1.5"},
		{ID: 4, Kind: Happened, Target: WholeCase, Value: "noon; deploy; 1.6"},
	}
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	want := []Event{
		{Edit: 2, At: at.Add(-2 * time.Minute), Kind: "outage", Text: "of the registry; short"},
		{Edit: 1, At: at, Kind: "deploy", Text: "1.4"}, {Edit: 3, At: at, Kind: "deploy", Text: "1.5", Alert: true},
	}
	out := Resolve(in, edits)
	if diff := cmp.Diff(want, out.Events); diff != "" {
		t.Error(diff)
	}
	if len(out.Problems) != 1 || out.Effects[4].Why != "its time is not understood" || out.Effects[1].Why != "" {
		t.Errorf("%v %v", out.Problems, out.Effects)
	}
	edits[0].Undone = true
	if diff := cmp.Diff([]Event{want[0], want[2]}, Resolve(in, edits).Events); diff != "" {
		t.Error("after undoing one:", diff)
	}
	untimed := Resolve(series("", "dump", 2, asIs), edits[1:2])
	if effect := untimed.Effects[2]; len(untimed.Events) != 1 || effect.Why == "" || !effect.Harmless {
		t.Errorf("without times: %+v", effect)
	}
}

func TestVersionsAreEntered(t *testing.T) {
	in := series("", "kubelet", 3, timed)
	in[2].Process.Version = fact1("1.29", "build info")
	got, problems := apply(in, []Edit{
		{ID: 1, Kind: Version, Target: all(key(in[0]), in[0].Process), Value: "1.30"},
		{ID: 2, Kind: Version, Target: from(key(in[1])), Value: "1.31"},
		{ID: 3, Kind: Version, Target: key(in[2]), Value: "1.32"},
	})
	want := []analysis.Fact{
		{Value: "1.30", Source: "entered by a person (was: not known)", Confidence: analysis.High},
		{Value: "1.31", Source: "entered by a person (was: not known)", Confidence: analysis.High},
		{Value: "1.32", Source: "entered by a person (was: 1.29, build info)", Confidence: analysis.High},
	}
	for i, s := range got {
		if diff := cmp.Diff(want[i], s.Process.Version); diff != "" {
			t.Error(diff)
		}
	}
	if len(problems) > 0 || in[2].Process.Version.Value != "1.29" {
		t.Error(problems, in[2].Process.Version)
	}
}

func TestACaseHoldsSoManyEventsAndLoads(t *testing.T) {
	in := append(series("", "kubelet", 2, timed), series("", "shim", 2, timed)...)
	var edits []Edit
	for i := range maxEvents {
		edits = append(edits, Edit{ID: int64(i + 1), Kind: Happened, Target: WholeCase, Value: EventValue("2026-11-21T03:00:00Z", "deploy", fmt.Sprint(i))})
	}
	out := Resolve(in, nil)
	for i := range maxLoads {
		target := "series:" + in[i%2*2].ID
		edits = append(edits, loadOf(t, out, int64(1000+i), target, fmt.Sprintf("load %d; 1 2", i/2)))
	}
	full := Resolve(in, edits)
	for _, tc := range []struct {
		name  string
		in    Edit
		field string
	}{
		{"one event more", Edit{Kind: Happened, Value: "2026-11-21 03:00; deploy; one more"}, "value.text"},
		{"one load more", Edit{Kind: Load, Target: "series:" + in[0].ID, Value: "one more; 1 2"}, "value.name"},
		{"a load that replaces another", Edit{Kind: Load, Target: "series:" + in[1].ID, Value: "load 3; 2 3"}, ""},
	} {
		_, err := full.Check(tc.in)
		var f *analysis.Fault
		if errors.As(err, &f); (f == nil) != (tc.field == "") || f != nil && (f.Where != tc.field || !strings.Contains(f.What, "too many")) {
			t.Errorf("%s: %v", tc.name, err)
		}
		edits[0].Undone, edits[len(edits)-1].Undone = true, true
		if _, err := Resolve(in, edits).Check(tc.in); err != nil {
			t.Errorf("%s after undoing one: %v", tc.name, err)
		}
		edits[0].Undone, edits[len(edits)-1].Undone = false, false
	}
}

func TestWhatCheckKeepsStaysTheSame(t *testing.T) {
	in := append(series("node", "kubelet", 4, timed), series("", "dump", 3, asIs)...)
	out := Resolve(in, []Edit{{ID: 1, Kind: Zone, Target: WholeCase, Value: "+02:00"}})
	rapid.Check(t, func(rt *rapid.T) {
		e := Edit{Kind: Happened, Value: rapid.StringMatching(`2026-11-2\d \d\d:[0-5]\d; ?[a-z]{1,8} ?;[a-z ;]{1,9}`).Draw(rt, "event")}
		if rapid.Bool().Draw(rt, "load") {
			e = Edit{Kind: Load, Target: "series:" + in[rapid.SampledFrom([]int{0, 4}).Draw(rt, "series")].ID, Value: rapid.StringMatching(`[a-z]{1,5};( (\d{1,3}(\.\d)?|-)){3,4}`).Draw(rt, "load value")}
		}
		once, err := out.Check(e)
		if err != nil {
			return
		}
		twice, err := out.Check(once)
		if diff := cmp.Diff(once, twice); diff != "" || err != nil {
			rt.Fatal(diff, err)
		}
	})
}

func BenchmarkResolveLoads(b *testing.B) {
	in := series("", "kubelet", maxAsked, timed)
	out := Resolve(in, nil)
	var edits []Edit
	for i := range maxLoads {
		numbers := strings.Repeat("1 ", maxAsked)
		e, err := out.Check(Edit{Kind: Load, Target: "series:" + in[0].ID, Value: fmt.Sprintf("load %d; %s", i, numbers)})
		if err != nil {
			b.Fatal(err)
		}
		e.ID = int64(i + 1)
		edits = append(edits, e)
	}
	for name, found := range map[string][]analysis.Snapshot{"as it was": in, "read anew": reanalysed(in)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if out := Resolve(found, edits); len(out.Loads) != maxLoads {
					b.Fatal(len(out.Loads))
				}
			}
		})
	}
}

func TestNumbersCountWhatAPersonSays(t *testing.T) {
	numbers := func(i int, s analysis.Snapshot) analysis.Snapshot {
		n := 10 + i
		s.Totals = analysis.Totals{Numbers: &n}
		return s
	}
	in := series("", "count", 3, timed)
	for i := range in {
		in[i] = numbers(i, in[i])
	}
	for _, tc := range []struct {
		what string
		kind analysis.Kind
	}{{"descriptors", analysis.KindDescriptor}, {"goroutines", analysis.KindGoroutine}, {"threads", analysis.KindThread}, {"watches", analysis.KindWatch}} {
		e, err := Resolve(in, nil).Check(Edit{ID: 1, Kind: Counts, Target: "series:" + in[0].ID, Value: tc.what})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range Resolve(in, []Edit{e}).Snapshots {
			if n := s.Totals.Of(tc.kind); n == nil || *n != 10+i || s.Totals.Numbers != nil {
				t.Errorf("%s of t%d: %+v", tc.what, i, s.Totals)
			}
		}
	}
	if in[0].Totals.Numbers == nil {
		t.Error("what was found changed")
	}
	if _, err := Resolve(in, nil).Check(Edit{Kind: Counts, Target: "series:" + in[0].ID, Value: "apples"}); err == nil {
		t.Error("apples are counted")
	}
	if _, err := Resolve(in, nil).Check(Edit{Kind: Counts, Target: in[0].ID, Value: "threads"}); err == nil {
		t.Error("one snapshot of a series counts something else")
	}
	known := series("", "kubelet", 2, timed)
	e, err := Resolve(known, nil).Check(Edit{ID: 1, Kind: Counts, Target: "series:" + known[0].ID, Value: "threads"})
	if err != nil {
		t.Fatal(err)
	}
	if got := Resolve(known, []Edit{e}).Problems; len(got) != 1 {
		t.Errorf("%d problems where nothing is without a name, want 1", len(got))
	}
}

func TestAProgramIsTheReadersOwnWhereAPersonSaysSo(t *testing.T) {
	in := series("", "kubelet", 2, timed)
	e, err := Resolve(in, nil).Check(Edit{ID: 1, Kind: Ours, Target: "series:" + in[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Resolve(in, []Edit{e}).Snapshots {
		if !s.Process.Ours {
			t.Errorf("%s is not", s.ID)
		}
	}
	if in[0].Process.Ours {
		t.Error("what was found changed")
	}
	if _, err := Resolve(in, nil).Check(Edit{Kind: Ours, Target: in[0].ID}); err == nil {
		t.Error("one snapshot of a series is another's program")
	}
	if _, err := Resolve(in, nil).Check(Edit{Kind: Ours, Target: "series:" + in[0].ID, Value: "x"}); err == nil {
		t.Error("it has a value")
	}
}
