package page

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/knowledge"
	"leakdiff/analysis/say/report"
	"leakdiff/store"
	"leakdiff/web/view"
)

func TestOneThingIsOneRow(t *testing.T) {
	nouns, _ := report.NounsOf(knowledge.Builtin())
	instance := func(watches string, growth int) store.FleetFamily {
		return store.FleetFamily{Growth: growth, Hosts: 1, Family: analysis.Family{Fingerprint: watches, Kind: analysis.KindDescriptor, Title: "inotify instance with " + watches, Attributes: map[string]string{"type": "anon_inode", "name": "inotify"}}}
	}
	watch := store.FleetFamily{Growth: 86, Hosts: 2, Family: analysis.Family{Fingerprint: "w", Kind: analysis.KindWatch, Title: "inotify watch inside ext4 /, IN_CREATE", Attributes: map[string]string{"fstype": "ext4", "mount": "/", "inode": "other", "status": "mounted"}}}
	shim := func(print string, growth int) store.FleetFamily {
		return store.FleetFamily{Growth: growth, Hosts: 1, Family: analysis.Family{Fingerprint: print, Kind: analysis.KindGoroutine, Title: "ttrpc.(*Client).run", Loose: []string{"github.com/containerd/ttrpc.(*Client).run"}}}
	}
	own := store.FleetFamily{Growth: 50, Family: analysis.Family{Fingerprint: "o", Kind: analysis.KindGoroutine, Title: "main.work", Loose: []string{"main.work"}}}
	for name, c := range map[string]struct {
		found []store.FleetFamily
		want  []string
	}{
		"instances add up, and their watches are none":  {[]store.FleetFamily{watch, own, instance("no watch", 42), instance("one watch", 44)}, []string{"Inotify instances +86 of 3", "Goroutines in main.work +50 of 1"}},
		"watches without instances stand alone":         {[]store.FleetFamily{watch}, []string{"Inotify watches inside ext4 / +86 of 1"}},
		"goroutines of one noun may be one object each": {[]store.FleetFamily{shim("a", 24), shim("b", 20)}, []string{"Shim connections +24 of 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, x := range fleetThings(nouns, c.found, view.FleetChoice{}) {
				got = append(got, fmt.Sprintf("%s %+d of %d", x.Words, x.Growth, len(x.Families)))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTheHeatHasTheHostsThatGrewMost(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	var found []store.FleetDay
	for n := range 20 {
		found = append(found, store.FleetDay{Fingerprint: "a", Host: fmt.Sprintf("node-%d", n%7), Day: day(1 + n), Growth: 1 + n})
	}
	things := []view.FleetThing{{Words: "A", Families: []view.FleetFamily{{Fingerprint: "a"}}}, {Words: "B", Families: []view.FleetFamily{{Fingerprint: "b"}}}}
	got := heatOf(things, view.FleetChoice{Days: 30}, map[string]int{"a": 0, "b": 1}, found)
	if len(got.Things) != 1 || len(got.Days) != mostHeatDays || !got.Days[0].Equal(day(7)) {
		t.Fatalf("%+v", got)
	}
	var hosts []string
	for _, h := range got.Things[0].Hosts {
		hosts = append(hosts, fmt.Sprintf("%s %d", h.Host, h.Total()))
	}
	if want := []string{"node-5 33", "node-4 31", "node-3 29", "node-2 27", "node-1 25"}; !slices.Equal(hosts, want) || got.Things[0].More != 2 {
		t.Errorf("got %q and %d more, want %q", hosts, got.Things[0].More, want)
	}
}
