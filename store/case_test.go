package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestACaseComesBackAsCreated(t *testing.T) {
	f := open(t)
	want, _, _, err := f.OpenCase(f.ctx, "TICKET-1 kubelet \x00 'grows'", "kubelet-probe-leak", "bundle.tar.gz", []File{f.file("bundle.tar.gz", "1")})
	f.ok(err)
	want.Revision = 1
	if f.database != "" {
		want.Title = strings.ReplaceAll(want.Title, "\x00", "\uFFFD") // text of PostgreSQL has no NUL
	}
	got, err := f.Case(f.ctx, want.ID)
	f.ok(err)
	wantEqual(t, want, got)
	if got.Created.Location() != time.UTC {
		t.Errorf("created at %v, want UTC", got.Created)
	}
	_, err = f.Case(f.ctx, "c"+want.ID)
	wantCode(t, err, "not_found")
}

func TestCasesAreListedNewestFirstInPages(t *testing.T) {
	f := open(t)
	for i := range 5 {
		f.newCase(fmt.Sprint(i))
	}
	titles := func(limit, offset int) (out []string) {
		cases, _, err := f.Cases(f.ctx, CaseQuery{Limit: limit, Offset: offset})
		f.ok(err)
		for _, c := range cases {
			out = append(out, c.Title)
		}
		return out
	}
	wantEqual(t, []string{"4", "3"}, titles(2, 0))
	wantEqual(t, []string{"2", "1"}, titles(2, 2))
	wantEqual(t, []string{"0"}, titles(2, 4))
	wantEqual(t, []string(nil), titles(2, 6))
	wantEqual(t, []string(nil), titles(-1, 0))
}

func TestACaseCountsItsBundlesAndVisibleSnapshots(t *testing.T) {
	f := open(t)
	c, other := f.newCase("a"), f.newCase("b")
	f.filled(c.ID, "1", kubeletResult("2", "3"))
	f.filled(c.ID, "2", kubeletResult("3", "4"))
	f.filled(other.ID, "4", kubeletResult("5"))
	f.upload(c.ID, "3")
	listed, _, err := f.Cases(f.ctx, CaseQuery{Limit: 2})
	f.ok(err)
	got := listed[1]
	if got.ID != c.ID || got.Bundles != 3 || got.Snapshots != 3 {
		t.Errorf("got %d bundles and %d snapshots, want 3 and 3 (one snapshot is in two bundles)", got.Bundles, got.Snapshots)
	}
	for n, want := range map[int]bool{2: true, 3: true, 4: false} { // rows, of which one is there twice
		if longer, err := f.LongerThan(f.ctx, c.ID, n); err != nil || longer != want {
			t.Errorf("more than %d: got %t, %v", n, longer, err)
		}
	}
}

func TestRenamingChangesTitleAndTime(t *testing.T) {
	f := open(t)
	c := f.newCase("before")
	f.ok(f.RenameCase(f.ctx, c.ID, "after"))
	got, err := f.Case(f.ctx, c.ID)
	f.ok(err)
	if got.Title != "after" || !got.Updated.After(c.Updated) || !got.Created.Equal(c.Created) {
		t.Errorf("got %+v", got)
	}
	wantCode(t, f.RenameCase(f.ctx, "cnone", "x"), "not_found")
}

func TestTheSummaryIsCached(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	want := Summary{Headline: "+412 goroutines", Verdict: string(analysis.Leaking), Lowest: 88, Highest: 500, Spark: []int{88, 91, 500}, Lower: []bool{false, true, false}, Aside: 2}
	f.ok(f.SetCaseSummary(f.ctx, c.ID, want))
	cases, _, err := f.Cases(f.ctx, CaseQuery{Limit: 10})
	f.ok(err)
	wantEqual(t, want, cases[0].Summary)
	f.ok(f.SetCaseSummary(f.ctx, c.ID, Summary{}))
	got, err := f.Case(f.ctx, c.ID)
	f.ok(err)
	wantEqual(t, Summary{}, got.Summary)
	wantCode(t, f.SetCaseSummary(f.ctx, "cnone", want), "not_found")
}

func TestOnlyTheOwnersKeyFits(t *testing.T) {
	f := open(t)
	a, _, keyA, err := f.OpenCase(f.ctx, "a", "", "bundle.tar.gz", []File{f.file("bundle.tar.gz", "1")})
	f.ok(err)
	_, _, keyB, err := f.OpenCase(f.ctx, "b", "", "bundle.tar.gz", []File{f.file("bundle.tar.gz", "1")})
	f.ok(err)
	for _, tc := range []struct {
		name, id, key string
		want          bool
	}{
		{"the owner's key", a.ID, keyA, true},
		{"another case's key", a.ID, keyB, false},
		{"no key", a.ID, "", false},
		{"a part of the key", a.ID, keyA[:31], false},
		{"no such case", "cnone", keyA, false},
		{"no such case and no key", "cnone", "", false},
	} {
		if got, err := f.CheckOwner(f.ctx, tc.id, tc.key); got != tc.want || err != nil {
			t.Errorf("%s: got %v, %v", tc.name, got, err)
		}
	}
}

func TestDeletingACaseRemovesEveryTraceOfIt(t *testing.T) {
	f := open(t)
	c := f.newCase("a title with words")
	r := kubeletResult("2", "3")
	r.Snapshots[0].Groups[0].Variants[0].Stack.Frames[0].File = "/home/alice/secret-project/main.go"
	b := f.filled(c.ID, "raw upload", r)
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	_, err := f.Case(f.ctx, c.ID)
	wantCode(t, err, "not_found")
	_, err = f.Bundle(f.ctx, b.ID)
	wantCode(t, err, "not_found")
	f.reap()
	f.wantEmpty("cases", "bundle", "bundle_file", "job", "snapshot", "snapshot_members", "series", "family_seen", "family_span",
		"family", "stack", "frame", "function", "function_family")
	if n := f.stored(); n != 0 {
		t.Errorf("%d blobs are left", n)
	}
	f.wantSound()
	for _, text := range []string{"a title with words", "secret-project", "prober"} {
		if files := grep(t, f.dir, text); len(files) > 0 {
			t.Errorf("%q still stands in %v", text, files)
		}
	}
	wantCode(t, f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks), "not_found")
}

func TestDeletingACaseLeavesOtherCasesWhole(t *testing.T) {
	f := open(t)
	a, b := f.newCase("a"), f.newCase("b")
	ra, rb := kubeletResult("2"), kubeletResult("3")
	ra.Snapshots[0].Groups = append(ra.Snapshots[0].Groups, analysis.Group{
		Family: &analysis.Family{Fingerprint: "g1:only-a", Kind: analysis.KindGoroutine, Title: "only.in.a", Loose: []string{"only.in.a"}}, OldestWait: -1})
	f.filled(a.ID, "same bytes", ra)
	f.filled(b.ID, "same bytes", rb)
	f.upload(a.ID, "bytes of a alone")
	f.ok(f.DeleteCase(f.ctx, a.ID, WithdrawPermalinks))
	got, err := f.full(b.ID)
	f.ok(err)
	wantEqual(t, rb.Snapshots, got)
	if n := f.stored(); n != 1 {
		t.Errorf("%d blobs are left, want the shared one", n)
	}
	found, err := f.SearchFunctions(f.ctx, "only.in.a", nil, 10, 0)
	f.ok(err)
	if len(found.Families) != 0 {
		t.Errorf("search still finds %v", found.Families)
	}
	f.wantSound()
}

func TestTheDatabaseShrinksWhenCasesAreDeleted(t *testing.T) {
	f := openFile(t)
	pages := func() (n int) {
		f.ok(f.writer.QueryRowContext(f.ctx, `PRAGMA page_count`).Scan(&n))
		return n
	}
	empty := pages()
	c := f.newCase("a")
	r := kubeletResult("2")
	for i := range 3000 {
		r.Artifacts = append(r.Artifacts, analysis.Artifact{Path: fmt.Sprint(i*7919, "/", i*104729), Reason: fmt.Sprint(i * i)})
	}
	f.filled(c.ID, "x", r)
	full := pages()
	f.ok(f.DeleteCase(f.ctx, c.ID, WithdrawPermalinks))
	f.reap()
	if after := pages(); after >= full || after > empty+8 {
		t.Errorf("%d pages when empty, %d when full, %d after deleting", empty, full, after)
	}
}

func TestTheListOfCasesIsChosenByWhatTheyHold(t *testing.T) {
	f := open(t)
	kubelet, empty := f.newCase("Node down"), f.newCase("Another")
	f.filled(kubelet.ID, "a", kubeletResult("1"))
	process := kubeletResult("1").Snapshots[0].Process
	f.ok(f.SetCaseSummary(f.ctx, kubelet.ID, Summary{Verdict: string(analysis.Leaking)}))
	put := f.newCase("put away")
	for _, field := range []struct{ id, name, value string }{{put.ID, "archived", "yes"}, {empty.ID, "ticket", "INC-4711"}} {
		_, err := f.SetField(f.ctx, field.id, field.name, field.value)
		f.ok(err)
	}
	for name, tc := range map[string]struct {
		q    CaseQuery
		want []string
	}{
		"all but archived ones":      {CaseQuery{}, []string{empty.ID, kubelet.ID}},
		"archived ones alone":        {CaseQuery{Archived: true}, []string{put.ID}},
		"everything":                 {CaseQuery{Everything: true}, []string{put.ID, empty.ID, kubelet.ID}},
		"a word of the title":        {CaseQuery{Text: "NODE"}, []string{kubelet.ID}},
		"a ticket":                   {CaseQuery{Text: "inc-47"}, []string{empty.ID}},
		"a process":                  {CaseQuery{Process: process.Name.Value[:4]}, []string{kubelet.ID}},
		"a process on another host":  {CaseQuery{Process: process.Name.Value, Host: "no-such-host"}, nil},
		"a verdict":                  {CaseQuery{Verdict: "leaking"}, []string{kubelet.ID}},
		"since a later day":          {CaseQuery{Since: f.clock.now.Add(time.Hour)}, nil},
		"until an earlier day":       {CaseQuery{Until: kubelet.Created}, nil},
		"two conditions at once":     {CaseQuery{Verdict: "leaking", Text: "another"}, nil},
		"a percent sign is a letter": {CaseQuery{Text: "%"}, nil},
	} {
		tc.q.Limit = 10
		cases, total, err := f.Cases(f.ctx, tc.q)
		f.ok(err)
		var got []string
		for _, c := range cases {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, tc.want) || total != len(tc.want) {
			t.Errorf("%s: got %v (%d in all), want %v", name, got, total, tc.want)
		}
	}
	cases, total, err := f.Cases(f.ctx, CaseQuery{Limit: 1, Offset: 1})
	f.ok(err)
	if len(cases) != 1 || cases[0].ID != kubelet.ID || total != 2 {
		t.Errorf("the second page holds %+v of %d", cases, total)
	}
	if listed, _, err := f.Cases(f.ctx, CaseQuery{Text: "inc", Limit: 1}); err != nil || listed[0].Ticket != "INC-4711" || listed[0].Archived {
		t.Errorf("listed %+v, %v", listed, err)
	}
}
