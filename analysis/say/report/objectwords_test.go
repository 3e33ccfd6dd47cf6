package report

import (
	"testing"

	"leakdiff/analysis"
)

func TestTheShapeOfAnObjectCountsEachKindOnce(t *testing.T) {
	goroutines := func(n int) []ObjectParts { return []ObjectParts{{Kind: analysis.KindGoroutine, N: n}} }
	step := func(k analysis.Kind, ratio float64) InStep { return InStep{Kind: k, Ratio: ratio} }
	for name, tc := range map[string]struct {
		object Object
		want   string
	}{
		"identity alone":             {Object{Each: goroutines(1)}, "1 goroutine"},
		"a descriptor in step":       {Object{Each: goroutines(12), InStep: []InStep{step(analysis.KindDescriptor, 1)}}, "12 goroutines + 1 descriptor"},
		"several watches in step":    {Object{Each: goroutines(1), InStep: []InStep{step(analysis.KindWatch, 1), step(analysis.KindDescriptor, 2), step(analysis.KindWatch, 3)}}, "1 goroutine + 2 descriptors + 4 watches"},
		"no whole ratio":             {Object{Each: goroutines(2), InStep: []InStep{step(analysis.KindDescriptor, 0.5)}}, "2 goroutines"},
		"goroutines without a proof": {Object{Each: goroutines(2), InStep: []InStep{step(analysis.KindGoroutine, 1)}}, "2 goroutines"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.object.Shape(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHoldersAndRolesInWords(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{(&HolderOf{Type: "k8s.io/client-go/informers.(*factory).Start", Role: analysis.CreatedBy, N: 60}).Text(), "60 started by informers.(*factory).Start"},
		{(&HolderOf{Type: "example.org/rpc.(*serverConn)", Role: "rpc.serve", N: 3}).Text(), "3 hang on one rpc.(*serverConn)"},
		{(&ObjectRole{Role: "example.org/wait.Start.func1 < example.org/cache.(*Reflector).watch"}).Short(), "wait.Start.func1 < cache.(*Reflector).watch"},
		{(&ObjectRole{Role: "example.org/wait.Start.func1 < example.org/cache.(*Reflector).watch"}).Tail(), "cache.(*Reflector).watch"},
		{(&ObjectRole{Role: "main.main"}).Tail(), "main.main"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

func TestAConnectionKeepsItsDescriptorAndNotOneOfItself(t *testing.T) {
	s := &Series{Families: []Family{{Fingerprint: "d1:c", Kind: analysis.KindDescriptor, Attributes: map[string]string{"protocol": "TCP", "remote": "10.0.0.2:80"}}}}
	o := Object{Each: []ObjectParts{{N: 2, Kind: analysis.KindGoroutine}}, InStep: []InStep{{Fingerprint: "d1:c", Kind: analysis.KindDescriptor, Ratio: 1}}}
	for itself, want := range map[string]string{"session": "2 goroutines and 1 connection", "HTTP connection": "2 goroutines and 1 descriptor"} {
		if got := o.keeps(s, itself, nil); got != want {
			t.Errorf("%s: %q, want %q", itself, got, want)
		}
	}
}
