package ingest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestArgumentsThatMayBePointersAreRead(t *testing.T) {
	for line, want := range map[string]string{
		"main.move(0xc000012345, 0xc000012350?, 0x1)":                 "c000012345 c000012350?",
		"main.(*Catalog).Get(0x3f9de8132000, {0x55ae68, 0x1})":        "3f9de8132000 55ae68",
		"main.f({0xc000010000, 0xc000020000}, {{0xc000030000, 0x2}})": "c000010000 c000020000 c000030000",
		"main.f(0xfff, 0x1000)":                                       "1000",
		"main.f(0x1000000000000000, 0x10000000000000000)":             "1000000000000000",
		"main.f(0xfffffffffffffff0)":                                  "fffffffffffffff0",
		"main.f(...)":                                                 "",
		"main.f()":                                                    "",
		"main.f(0xc00001g000, 12345678)":                              "",
		"main.f(0xc000010000, ...)":                                   "c000010000",
		"no call":                                                     "",
		"main.f(0xc000010000":                                         "",
	} {
		var got []string
		for address, stale := range addresses([]byte(line)) {
			got = append(got, fmt.Sprintf("%x%s", address, strings.Repeat("?", map[bool]int{true: 1}[stale])))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", line, got, want)
		}
	}
}

func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{"main.move(0xc000012345, 0xc000012350?, 0x1)", "main.f({0x1000, {0x2000?}})", "(0x", "f(0x1000", ",0x1000,"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		for address, stale := range addresses(line) {
			// What is read stands there, in hexadecimal and as a whole argument.
			text := bytes.ToLower(line)
			end := []string{",", ")", "}"}
			if stale {
				end = []string{"?"}
			}
			found := slices.ContainsFunc(end, func(end string) bool { return bytes.Contains(text, fmt.Appendf(nil, "%x%s", address, end)) })
			if address < 4096 || !found {
				t.Errorf("%q: %x", line, address)
			}
		}
		if !bytes.Equal(line, before) {
			t.Errorf("%q became %q", before, line)
		}
	})
}

func TestArgumentsNearAnAwaitedLockAreKept(t *testing.T) {
	dump := func(id int, state string, frames ...string) string {
		return fmt.Sprintf("goroutine %d [%s]:\n%s\n\t/src/main.go:10 +0x1d\ncreated by main.main\n\t/src/main.go:9 +0x2a\n\n", id, state, strings.Join(frames, "\n\t/src/main.go:10 +0x1d\n"))
	}
	move := func(id int, arguments string) string {
		return dump(id, "sync.Mutex.Lock", "internal/sync.(*Mutex).lockSlow(0xc000010008)", "main.move("+arguments+")")
	}
	snapshot := func(text string) *analysis.Snapshot {
		return &run(t, map[string]string{"goroutine.txt": text}).Snapshots[0]
	}
	passed := func(s *analysis.Snapshot) (out []string) {
		for _, objects := range s.Passed {
			for _, o := range objects {
				out = append(out, fmt.Sprintf("%s %x %d %v", o.Func, o.Address, o.Count, o.Members))
			}
		}
		slices.Sort(out)
		return out
	}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"each of two waiters":                      {move(7, "0x1, 0xc000010000") + move(8, "0x1, 0xc000010000"), []string{"main.move c000010000 2 [7 8]"}},
		"the object 4096 bytes below the lock":     {move(7, "0xc00000f008"), []string{"main.move c00000f008 1 [7]"}},
		"4097 bytes below the lock":                {move(7, "0xc00000f007"), nil},
		"above the lock":                           {move(7, "0xc000010009"), nil},
		"what may be stale, of a waiter":           {move(7, "0xc000010000?"), nil},
		"what may be stale, of one that waits not": {move(7, "") + dump(9, "IO wait", "main.audit(0xc000010000?)"), []string{"main.audit c000010000 1 [9]"}},
		"nobody waits for a lock":                  {dump(9, "IO wait", "main.audit(0xc000010000)"), nil},
	} {
		if got := passed(snapshot(test.text)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	// The objects do not know of it: those of one waiter are the same with and without arguments.
	with, without := snapshot(move(7, "0x1, 0xc000010000")), snapshot(move(7, "0x1, 0x1"))
	if fmt.Sprint(slices.Collect(maps.Values(with.Objects))) != fmt.Sprint(slices.Collect(maps.Values(without.Objects))) {
		t.Errorf("objects differ: %v and %v", with.Objects, without.Objects)
	}
}
