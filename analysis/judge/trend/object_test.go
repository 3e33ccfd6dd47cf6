package trend

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/wait"
	"leakdiff/samples/corpus"
)

// withArguments reads the part of a debug=2 dump that held locks need: who waits for
// which lock, and the first argument of every frame.
func withArguments(t *testing.T, name string) (*analysis.Snapshot, map[string][]Object) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	header := regexp.MustCompile(`^goroutine (\d+) \[([^,\]]+)(?:, (\d+) minutes)?`)
	call := regexp.MustCompile(`^(\S+)\(((0x[0-9a-f]+)[,)])?`)
	groups := map[string]*analysis.Group{}
	objects := map[string][]Object{}
	snap := &analysis.Snapshot{Label: filepath.Base(filepath.Dir(filepath.Dir(name)))}
	var id int64
	var state string
	wait := -1
	var stack *analysis.Stack
	type argument struct {
		function string
		address  uint64
	}
	var arguments []argument
	flush := func() {
		if stack == nil {
			return
		}
		var key strings.Builder
		for _, f := range stack.Frames {
			key.WriteString(f.Func + "\n")
		}
		key.WriteString(stack.CreatedBy.Func)
		group := groups[key.String()]
		if group == nil {
			group = &analysis.Group{
				Family: &analysis.Family{Fingerprint: fmt.Sprintf("f%d", len(groups)), Kind: analysis.KindGoroutine},
				States: map[string]int{}, Variants: []analysis.Variant{{Stack: stack}},
			}
			groups[key.String()] = group
		}
		group.Count++
		group.Variants[0].Count++
		group.States[state]++
		group.Members.Fill().ID = append(group.Members.Fill().ID, id)
		group.Members.Fill().Wait = append(group.Members.Fill().Wait, int32(wait))
		group.Members.Fill().Variant = append(group.Members.Fill().Variant, 0)
		for k, a := range arguments {
			lock := k < 3 && (a.function == "sync.(*Mutex).lockSlow" || strings.HasPrefix(a.function, "sync.(*RWMutex)."))
			if a.address != 0 {
				objects[group.Family.Fingerprint] = addObject(objects[group.Family.Fingerprint], Object{Address: a.address, Func: a.function, Lock: lock}, id)
			}
		}
		stack = nil
	}
	for scan := bufio.NewScanner(file); scan.Scan(); {
		line := scan.Text()
		if m := header.FindStringSubmatch(line); m != nil {
			flush()
			id, _ = strconv.ParseInt(m[1], 10, 64)
			state, wait, stack, arguments = m[2], -1, &analysis.Stack{}, nil
			if m[3] != "" {
				wait, _ = strconv.Atoi(m[3])
			}
			continue
		}
		if stack == nil || line == "" || line[0] == '\t' {
			continue
		}
		if creator, ok := strings.CutPrefix(line, "created by "); ok {
			creator, _, _ = strings.Cut(creator, " in goroutine")
			stack.CreatedBy.Func = creator
			continue
		}
		function := line[:strings.LastIndexByte(line, '(')]
		if open := strings.Index(line, "({"); open > 0 {
			function = line[:open]
		}
		// The arguments begin after the last parenthesis of the name.
		if m := call.FindStringSubmatch(line[strings.LastIndexByte(function, '.')+1:]); m != nil {
			function = line[:strings.LastIndexByte(function, '.')+1] + strings.SplitN(m[0], "(", 2)[0]
			address, _ := strconv.ParseUint(strings.TrimPrefix(m[3], "0x"), 16, 64)
			arguments = append(arguments, argument{function, address})
		}
		stack.Frames = append(stack.Frames, analysis.Frame{Func: function})
	}
	flush()
	for _, key := range sortedGroups(groups) {
		snap.Groups = append(snap.Groups, *groups[key])
	}
	return snap, objects
}

func sortedGroups(groups map[string]*analysis.Group) []string {
	var keys []string
	for k := range groups {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func addObject(list []Object, o Object, id int64) []Object {
	for k := range list {
		if list[k].Address == o.Address && list[k].Func == o.Func && list[k].Lock == o.Lock {
			list[k].Count++
			list[k].Members = append(list[k].Members, id)
			return list
		}
	}
	o.Count, o.Members = 1, []int64{id}
	return append(list, o)
}

// TestTheHolderOfTheMetricsLock has a real holder: containerd's growing WithConstLabels
// waiters and the one constant goroutine that holds their lock, in every dump.
func TestTheHolderOfTheMetricsLock(t *testing.T) {
	waiters := map[string]int{"t2": 4, "t3": 9, "t4": 14, "t5": 19, "t6": 24, "t7": 29}
	for _, label := range sortedCounts(waiters) {
		name := corpus.Path(t, "series", "kubelet-probe-leak", label, "containerd", "goroutine-debug2.txt")
		snap, objects := withArguments(t, name)
		s := NewSeries(Input{Snapshots: []*analysis.Snapshot{snap}, Objects: []map[string][]Object{objects}})
		var waiting string
		for _, g := range snap.Groups {
			if slices.ContainsFunc(g.Variants[0].Stack.Frames, func(f analysis.Frame) bool {
				return strings.HasSuffix(f.Func, "go-metrics.(*Namespace).WithConstLabels")
			}) {
				waiting = g.Family.Fingerprint
			}
		}
		holds := s.Holds(waiting, 0)
		if len(holds) != 1 {
			t.Fatalf("%s: %d locks, want 1: %+v", label, len(holds), holds)
		}
		h := holds[0]
		if h.Address != 0xc00009c898 || h.Waiters != waiters[label] {
			t.Errorf("%s: lock 0x%x with %d waiters, want 0xc00009c898 with %d", label, h.Address, h.Waiters, waiters[label])
		}
		if len(h.Holders) != 1 || h.Holders[0].ID != 13927 {
			t.Fatalf("%s: holders %+v, want goroutine 13927 alone", label, h.Holders)
		}
		holder := h.Holders[0]
		if diff := cmp.Diff("github.com/containerd/containerd/metrics/cgroups/v1.(*Collector).Collect", holder.At); diff != "" {
			t.Errorf("%s: frame (-want +got):\n%s", label, diff)
		}
		eight := slices.ContainsFunc(holder.Children, func(o wait.Offspring) bool { return o.Count == 8 })
		if !eight {
			t.Errorf("%s: children %+v, want a family of 8", label, holder.Children)
		}
	}
}

func sortedCounts(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// convoy is a dump with waiters for one lock, a holder inside the object, and a
// bystander in another object of the same type.
func convoy() (*analysis.Snapshot, map[string][]Object) {
	stack := func(names ...string) []analysis.Variant {
		s := &analysis.Stack{CreatedBy: analysis.Frame{Func: "main.serve"}}
		for _, n := range names {
			s.Frames = append(s.Frames, analysis.Frame{Func: n})
		}
		return []analysis.Variant{{Stack: s, Count: 1}}
	}
	group := func(print string, waits []int32, variants []analysis.Variant, ids ...int64) analysis.Group {
		return analysis.Group{
			Family: &analysis.Family{Fingerprint: print, Kind: analysis.KindGoroutine}, Count: len(ids), Variants: variants,
			States:  map[string]int{"sync.Mutex.Lock": len(ids)},
			Members: analysis.Members{Columns: &analysis.Columns{ID: ids, Wait: waits}},
		}
	}
	snap := &analysis.Snapshot{Label: "t0", MaxGoroutineID: 99, Groups: []analysis.Group{
		group("waiters", []int32{5, 4, 3}, stack("sync.(*Mutex).lockSlow", "main.(*Pool).Get"), 20, 21, 22),
		group("holder", []int32{9}, stack("syscall.Read", "main.(*Pool).Put"), 7),
		group("other", []int32{9}, stack("syscall.Write", "main.(*Pool).Put"), 8),
		group("young", []int32{-1}, stack("syscall.Read", "main.(*Pool).Put", "main.late"), 30),
	}}
	return snap, map[string][]Object{
		"waiters": {{Address: 0xc0108, Func: "sync.(*Mutex).lockSlow", Lock: true, Count: 3, Members: []int64{20, 21, 22}},
			{Address: 0xc0100, Func: "main.(*Pool).Get", Count: 3, Members: []int64{20, 21, 22}}},
		"holder": {{Address: 0xc0100, Func: "main.(*Pool).Put", Count: 1, Members: []int64{7}}},
		"other":  {{Address: 0xc0900, Func: "main.(*Pool).Put", Count: 1, Members: []int64{8}}},
		"young":  {{Address: 0xc0100, Func: "main.(*Pool).Put", Count: 1, Members: []int64{30}}},
	}
}

func TestOnlyTheOldOneInsideTheSameObjectMayHoldItsLock(t *testing.T) {
	snap, objects := convoy()
	s := NewSeries(Input{Snapshots: []*analysis.Snapshot{snap}, Objects: []map[string][]Object{objects}})
	holds := s.Holds("waiters", 0)
	if len(holds) != 1 || len(holds[0].Holders) != 1 || holds[0].Holders[0].ID != 7 {
		t.Fatalf("%+v, want goroutine 7 alone", holds)
	}
	wantEvidence(t, s.JudgeAll()["waiters"], ruleObjects, "holders 3 at=t0 holder 7 in syscall.Read of main.(*Pool).Put")
}

func TestWithoutArgumentsNobodyIsNamed(t *testing.T) {
	snap, _ := convoy()
	if holds := seriesOf([]*analysis.Snapshot{snap}).Holds("waiters", 0); len(holds) != 0 {
		t.Errorf("%+v", holds)
	}
}

func TestAsManyLocksAsWaitersAreAsManyObjects(t *testing.T) {
	snap, objects := convoy()
	objects["waiters"] = nil
	for k, id := range []int64{20, 21, 22} {
		objects["waiters"] = append(objects["waiters"], Object{Address: 0xc0100 + uint64(64*k), Func: "sync.(*Mutex).lockSlow", Lock: true, Count: 1, Members: []int64{id}})
	}
	s := NewSeries(Input{Snapshots: []*analysis.Snapshot{snap}, Objects: []map[string][]Object{objects}})
	wantEvidence(t, s.JudgeAll()["waiters"], ruleObjects, "one_each 3/3 at=t0")
}

// growingConvoy is four snapshots in which more and more goroutines wait for the
// holder.
func growingConvoy() Input {
	in := Input{}
	for i := range 4 {
		snap, objects := convoy()
		snap.Label, snap.CapturedAt = "t"+strconv.Itoa(i), hour(float64(i))
		snap.Process.PID.Value = "1"
		waiters := &snap.Groups[0]
		for id := int64(40); id < 40+int64(12*i); id++ {
			waiters.Members.Fill().ID = append(waiters.Members.Fill().ID, id)
			waiters.Members.Fill().Wait = append(waiters.Members.Fill().Wait, 1)
		}
		waiters.Count = len(waiters.Members.Fill().ID)
		waiters.States = map[string]int{"sync.Mutex.Lock": waiters.Count}
		objects["waiters"][0].Count = waiters.Count
		total := waiters.Count + 3
		snap.Totals.Goroutines = &total
		in.Snapshots = append(in.Snapshots, snap)
		in.Objects = append(in.Objects, objects)
	}
	return in
}

func TestTheHolderIsToldRightAfterItsVictims(t *testing.T) {
	s := NewSeries(growingConvoy())
	suspects := s.Suspects("waiters")
	if len(suspects) == 0 || suspects[0].Fingerprint != "holder" || !slices.Equal(suspects[0].Members, []int64{7}) {
		t.Fatalf("suspects %+v, want goroutine 7 first", suspects)
	}
	points := s.Explain()
	if len(points) < 2 || points[0].Section != WhatGrows || points[0].Families[0] != "waiters" ||
		points[1].Section != MayHold || points[1].Families[0] != "holder" || points[1].Of != "waiters" {
		t.Errorf("points %+v, want the waiters and then their possible holder", points)
	}
	roles := s.Roles()
	if roles["waiters"] != Victim || roles["holder"] != PossibleCulprit {
		t.Errorf("roles %v", roles)
	}
	if got := s.JudgeAll()["holder"].Verdict; got != analysis.Stable {
		t.Errorf("the holder is %s: a culprit is no verdict", got)
	}
}

func TestTheObserversOwnGrowthIsToldLast(t *testing.T) {
	sc := lockstep(map[string]string{"scrape": "0 30 60 90 120 150", "leak": "0 10 10 25 30 44"})
	s := NewSeries(Input{Snapshots: sc.snapshots(t), Observer: map[string]bool{"scrape": true}})
	var got []string
	for _, p := range s.Explain() {
		got = append(got, string(p.Section)+" "+p.Families[0])
	}
	if diff := cmp.Diff([]string{"grows leak", "observer_effect scrape"}, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// manyLocks is a dump in which every family has many locks with a queue each. Its other
// members are in methods of the type that the locks guard.
func manyLocks(families, locks, members int) Input {
	snap := &analysis.Snapshot{Objects: map[string][]Object{}}
	total, id := 0, int64(0)
	for f := range families {
		fingerprint := fmt.Sprintf("f%d", f)
		group := analysis.Group{
			Family: &analysis.Family{Fingerprint: fingerprint, Kind: analysis.KindGoroutine}, Count: members,
			Variants: []analysis.Variant{{Stack: &analysis.Stack{Frames: []analysis.Frame{{Func: "sync.(*Mutex).lockSlow"}, {Func: "main.(*Pool).Get", Line: f + 1}}}, Count: members}},
		}
		packed := &analysis.Packed{}
		for k := range members {
			id++
			packed.Append(analysis.PackedMember{ID: id, Wait: 5, Line: 1, Offset: 1, Length: 100})
			if k < wait.FewestWaiters*locks {
				if k%wait.FewestWaiters == 0 {
					snap.Objects[fingerprint] = append(snap.Objects[fingerprint], Object{Address: uint64(0x10000 * id), Func: "sync.(*Mutex).lockSlow", Lock: true, Count: wait.FewestWaiters})
				}
				last := &snap.Objects[fingerprint][k/wait.FewestWaiters]
				last.Members = append(last.Members, id)
			}
		}
		group.Members = analysis.Members{States: []string{"sync.Mutex.Lock"}, Packed: []analysis.Packing{{Packed: packed}}}
		snap.Groups = append(snap.Groups, group)
		total += members
	}
	snap.Totals.Goroutines = &total
	return Input{Snapshots: []*analysis.Snapshot{snap}, Objects: []map[string][]Object{snap.Objects}}
}

func TestTheMembersOfADumpAreNotReadOnceForEachLock(t *testing.T) {
	// Each pass over all members collects those inside the locked object: ten thousand
	// of them, a megabyte. One pass for each of 500 locks takes 600 MB and more, one
	// pass for all takes 8 MB.
	s := NewSeries(manyLocks(50, 10, 200))
	holds := 0
	taken := allocated(func() {
		for _, f := range s.Families {
			for _, h := range s.Holds(f.Fingerprint, 0) {
				holds++
				// Those that wait for another lock on the line of the waiters are in front of it.
				if h.Waiters != wait.FewestWaiters || len(h.Families) != 49 || slices.Contains(h.Families, f.Fingerprint) {
					t.Fatalf("%s: %+v, want 3 waiters and the 49 other families inside", f.Fingerprint, h)
				}
			}
		}
	})
	t.Logf("%d locks with %d KiB", holds, taken>>10)
	if holds != 500 || taken > 32<<20 {
		t.Errorf("%d locks with %d MiB, want 500 with some", holds, taken>>20)
	}
}

// allocated counts the bytes that f allocates. This measure of work does not depend on
// the machine.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
