package page

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/store"
	"leakdiff/web/view"
)

func TestTheOddHostIsTheOneThatDiffersFromAllOthers(t *testing.T) {
	host := func(name, verdict string, growth int) view.FleetHost {
		return view.FleetHost{Host: name, Verdict: verdict, Growth: growth}
	}
	for _, c := range []struct {
		name  string
		hosts []view.FleetHost
		want  string
	}{
		{"one leaks, the others do not", []view.FleetHost{host("a", "leaking", 40), host("b", "stable", 0), host("c", "stable", 0), host("d", "stable", 0)}, "a differs: leaking there, stable on the other 3 hosts."},
		{"one does not leak, the others do", []view.FleetHost{host("b", "leaking", 9), host("c", "leaking", 9), host("d", "leaking", 9), host("a", "stable", 0)}, "a differs: stable there, leaking on the other 3 hosts."},
		{"two of them leak", []view.FleetHost{host("a", "leaking", 9), host("b", "leaking", 9), host("c", "stable", 0), host("d", "stable", 0)}, ""},
		{"of one it is open", []view.FleetHost{host("a", "", 5), host("b", "stable", 0), host("c", "stable", 0), host("d", "stable", 0)}, ""},
		{"one grew and no other did", []view.FleetHost{host("a", "", 40), host("b", "", 0), host("c", "", -3), host("d", "", 0)}, "a differs: it grew by 40, no other host grew."},
		{"one grew by far more", []view.FleetHost{host("a", "", 40), host("b", "", 8), host("c", "", 0), host("d", "", 0)}, "a differs: it grew by 40, the next host by 8."},
		{"one grew by more", []view.FleetHost{host("a", "", 40), host("b", "", 9), host("c", "", 0), host("d", "", 0)}, ""},
		{"one grew by a few", []view.FleetHost{host("a", "", 9), host("b", "", 0), host("c", "", 0), host("d", "", 0)}, ""},
		{"three are too few", []view.FleetHost{host("a", "leaking", 40), host("b", "stable", 0), host("c", "stable", 0)}, ""},
		{"series without a name are no hosts", []view.FleetHost{host("a", "leaking", 40), host("", "stable", 0), host("", "stable", 0), host("", "stable", 0)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := oddHost(c.hosts); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestProcessesOfOneHostAreOneHost(t *testing.T) {
	var processes []view.FleetHost
	for _, p := range []string{"agent", "kubelet", "containerd", "proxyd"} {
		verdict, growth := "stable", 0
		if p == "agent" {
			verdict, growth = "leaking", 80
		}
		processes = append(processes, view.FleetHost{Host: "solo", Process: p, Version: "v1", Verdict: verdict, Growth: growth})
	}
	if got := oddHost(processes); got != "" {
		t.Errorf("one host differs from itself: %q", got)
	}
	for _, name := range []string{"b", "c", "d"} {
		for _, p := range []string{"agent", "kubelet"} {
			processes = append(processes, view.FleetHost{Host: name, Process: p, Version: "v2", Verdict: "stable"})
		}
	}
	if got := oddHost(processes); got != "solo differs: leaking there, stable on the other 3 hosts." {
		t.Errorf("it says %q", got)
	}
	want := []view.FleetVersion{
		{Version: "v1", Hosts: 1, Growth: 80, Verdicts: map[string]int{"leaking": 1}},
		{Version: "v2", Hosts: 3, Verdicts: map[string]int{"stable": 3}},
	}
	if diff := cmp.Diff(want, fleetVersions(processes)); diff != "" {
		t.Error(diff)
	}
	named := view.NewFleetFamily(view.FleetFamilyInput{Hosts: processes})
	if !strings.Contains(named.Body.Text(), "Processes of hosts by growth") {
		t.Error("rows of processes are called hosts")
	}
}

func TestTheVerdictOfAHostIsThatOfItsLatestSeriesThatDecides(t *testing.T) {
	day := func(n int, verdict string, decisive, recovered bool) store.FleetSeries {
		at := time.Date(2026, 11, n, 8, 0, 0, 0, time.UTC)
		return store.FleetSeries{Host: "a", Process: "kubelet", First: at, Last: at.Add(time.Hour), Verdict: verdict, Decisive: decisive, Recovered: recovered}
	}
	for _, c := range []struct {
		name   string
		series []store.FleetSeries
		want   string
	}{
		{"a case has just begun", []store.FleetSeries{day(1, "leaking", true, false), day(2, "", false, false)}, "leaking"},
		{"a short case shows no growth", []store.FleetSeries{day(1, "leaking", true, false), day(2, "stable", false, false)}, "leaking"},
		{"a later case still grows", []store.FleetSeries{day(1, "leaking", true, false), day(2, "grew", true, false)}, "leaking"},
		{"a later case is stable", []store.FleetSeries{day(1, "leaking", true, false), day(2, "stable", true, false)}, "stable"},
		{"its cause went away", []store.FleetSeries{day(1, "leaking", true, true), day(2, "", false, false)}, ""},
		{"it begins to leak", []store.FleetSeries{day(1, "stable", true, false), day(2, "leaking", true, false)}, "leaking"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fleetHosts(c.series); len(got) != 1 || got[0].Verdict != c.want {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
}

func TestVersionsAreCountedByVerdict(t *testing.T) {
	got := fleetVersions([]view.FleetHost{
		{Host: "a", Version: "v2", Verdict: "leaking", Growth: 40}, {Host: "b", Version: "v1", Verdict: "stable"},
		{Host: "c", Version: "v2", Growth: 2}, {Host: "d"}, {Host: "e", Version: "v2", Verdict: "leaking", Growth: 1},
	})
	want := []view.FleetVersion{
		{Hosts: 1, Verdicts: map[string]int{"open": 1}},
		{Version: "v1", Hosts: 1, Verdicts: map[string]int{"stable": 1}},
		{Version: "v2", Hosts: 3, Growth: 43, Verdicts: map[string]int{"leaking": 2, "open": 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := fleetVersions([]view.FleetHost{{Host: "a"}, {Host: "b"}}); got != nil {
		t.Errorf("no version is known, and there are %d", len(got))
	}
}

// largeFamily has two series, and reports whether there are more.
type largeFamily bool

func (cut largeFamily) FleetSeries(context.Context, string, time.Time) (analysis.Family, []store.FleetSeries, bool, error) {
	return analysis.Family{Kind: analysis.KindGoroutine, Title: "worker"}, []store.FleetSeries{{Host: "a"}, {Host: "b"}}, bool(cut), nil
}

func TestAPageSaysThatOlderSeriesAreLeftOut(t *testing.T) {
	for _, cut := range []bool{false, true} {
		in, err := FleetOf(t.Context(), largeFamily(cut), nil, "g1:0", nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		v := view.NewFleetFamily(in)
		if got := strings.Contains(v.Body.Text(), "The 2 that were seen last are counted here"); got != cut {
			t.Errorf("cut %t, said %t", cut, got)
		}
	}
}
