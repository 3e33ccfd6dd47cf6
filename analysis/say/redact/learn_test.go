package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// shopCase is a case whose every part names something.
func shopCase() Case {
	stack := &analysis.Stack{
		Frames:    []analysis.Frame{{Func: "shop/basket.(*Cart).Wait", File: "/home/gundula/quagga/shop/basket/cart.go"}},
		CreatedBy: analysis.Frame{Func: "main.main", File: "/okapibuild/shop/main.go"},
	}
	snap := analysis.Snapshot{
		Label: "megabank-t0", Users: []string{"alicia"},
		Process:   analysis.Process{Name: analysis.Fact{Value: "shopd"}, Host: analysis.Fact{Value: "node-umbrella-7", Source: "hostname"}},
		Artifacts: []analysis.Artifact{{Path: "umbrella-prod/t0/hostname"}, {Path: "umbrella-prod/t0/lsof.txt"}},
		Watched:   map[string][]analysis.Target{"w1:00": {{What: "/srv/harbour-7/x", Pod: "checkout-eu/basket-77f9"}}},
		Groups: []analysis.Group{
			{
				Family:   &analysis.Family{Fingerprint: "g1:00", Kind: analysis.KindGoroutine, Title: "basket.Wait", Loose: []string{"shop/basket.(*Cart).Wait"}, LooseCreator: "main.main"},
				Variants: []analysis.Variant{{Stack: stack}},
			},
			{
				Family:  &analysis.Family{Fingerprint: "d1:00", Kind: analysis.KindDescriptor, Title: "file /srv/acme-payroll/*", Attributes: map[string]string{"namespace": "payments-prod", "path": "/home/carolina/notes.txt"}},
				Members: analysis.Members{Columns: &analysis.Columns{Offset: []int64{0}, Artifact: []int32{1}, Line: []int64{2}, Detail: []string{"12u /srv/acme-payroll/salaries-2026.db"}}},
			},
		},
	}
	return Case{
		Series:   [][]*analysis.Snapshot{{&snap}},
		Problems: []analysis.Problem{{What: "no answer from vault.zebra.internal:8200", Path: "okapi-team/kudubank.tgz"}},
		Hosts:    []string{"bastion-9"},
		Files:    []string{"wombatbank.tgz"},
		Said:     []string{"ask mallory@caracal-3 about till4.umbrella.io"},
	}
}

func TestEveryPartOfACaseTeachesItsNames(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a host of an edit", "on bastion-9", "on host-1"},
		{"a host of a problem", "at vault.zebra.internal", "at host-1"},
		{"the file of a problem", "okapi-team/kudubank.tgz", "path-1/file-1"},
		{"a user of a process", "of alicia", "of user-1"},
		{"a label", "megabank-t0", "file-1"},
		{"a directory of an upload", "umbrella-prod/t0", "path-1/t0"},
		{"the name of an upload", "wombatbank", "file-1"},
		{"a watched path", "/srv/harbour-7/y", "/srv/path-1/y"},
		{"a pod and its namespace", "basket-77f9 of checkout-eu", "pod-1 of namespace-1"},
		{"an attribute", "payments-prod", "namespace-1"},
		{"a path in a title", "/srv/acme-payroll/*", "/srv/path-1/*"},
		{"the detail of a member", "salaries-2026.db", "path-1"},
		{"who built a program, and where", "/home/gundula/quagga/x and /okapibuild/x", "/home/user-1/path-1/x and /path-2/x"},
		{"a user of a directory, by itself", "by carolina", "by user-1"},
		{"what people wrote", "mallory, caracal-3, till4.umbrella.io", "user-1, host-1, host-2"},
		{"the program that nobody knows", "shopd in /srv/shopd/basket", "program-1 in /srv/program-1/basket"},
		{"its functions stay", "/srv/basket/cart, basket.(*Cart).Wait", "/srv/basket/cart, basket.(*Cart).Wait"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, New(shopCase()).Text(tc.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTypesAndFunctionsOfObjectsStay(t *testing.T) {
	c := shopCase()
	c.Said = append(c.Said, "namespace=ledgerbook", "namespace=quokkans")
	objects := &analysis.Objects{Kinds: []analysis.ObjectKind{{
		Name: "*ledgerbook.Page", Type: "shop/ledgerbook.(*Page)",
		Each:    []analysis.ObjectRole{{Role: "golang.org/x/group.Go.func1 < shop/ledgerbook.(*Page).turn", N: 2}},
		Holders: []analysis.ObjectHolder{{Type: "shop/shelf.(*Board)", Role: analysis.CreatedBy, N: 3}},
	}}}
	const said = "2 × ledgerbook.(*Page).turn on shelf.(*Board) in quokkans at 0xc0000a1b20"
	if got, want := New(c).Text(said), "2 × namespace-1.(*Page).turn on shelf.(*Board) in namespace-2 at ptr-1"; got != want {
		t.Errorf("without objects %q, want %q: the test proves nothing", got, want)
	}
	c.Series[0][0].Joined = objects
	if got, want := New(c).Text(said), "2 × ledgerbook.(*Page).turn on shelf.(*Board) in namespace-1 at ptr-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAProgramCalledAsAUserIsHidden(t *testing.T) {
	c := shopCase()
	c.Series[0][0].Users = []string{"Shopd"}
	if got, want := New(c).Text("shopd"), "user-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOneCaseHidesTheNamesOfAnother(t *testing.T) {
	r := New(Case{Said: []string{"ssh okapi@rival-4"}}, shopCase())
	if got, want := r.Text("rival-4 of alicia"), "host-1 of user-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheReceiptSaysWhereAValueStandsFirst(t *testing.T) {
	r := New(shopCase())
	if got, want := r.Text("node-umbrella-7: salaries-2026.db on node-umbrella-7"), "host-1: path-1 on host-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	receipt := r.Receipt()
	got := map[Rule]Receipt{}
	for _, x := range receipt {
		if x.Places > 0 {
			got[x.Rule] = x
		}
	}
	// The directory of the upload is hidden there as well.
	want := map[Rule]Receipt{
		Hosts: {Rule: Hosts, Places: 2, Distinct: 1, First: []First{{Name: "host-1", At: "path-2/t0/hostname"}}},
		Paths: {Rule: Paths, Places: 1, Distinct: 1, First: []First{{Name: "path-1", At: "path-2/t0/lsof.txt:2"}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, want := Sum(receipt), "redacted: 3\u00a0places by 14 rules"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := got[Hosts].Count(), "2\u00a0places, 1 different"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
