package page

import (
	"cmp"
	"context"
	"slices"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
	"leakdiff/web/view"
)

// inotifyInstances is the key of the things that inotify watches belong to.
const inotifyInstances = "Inotify instances"

// fleetThings joins the families of a page that people call the same. Descriptors add up. Of
// goroutines and threads the group that grew most counts, because each may be a part of one object.
// Inotify watches belong to the instances, if those are on the page.
func fleetThings(nouns report.Nouns, found []store.FleetFamily, c view.FleetChoice) []view.FleetThing {
	at := map[string]int{}
	var out []view.FleetThing
	instances := slices.ContainsFunc(found, func(f store.FleetFamily) bool { return isInotify(&f.Family) })
	for i := range found {
		f := &found[i]
		words, called := report.ThingsFirst(nouns, &f.Family)
		title, key := f.Family.Title, f.Family.Fingerprint
		if f.Family.Kind == analysis.KindWatch {
			title = wording.Lower(words) // without its mask
		}
		switch {
		case isInotify(&f.Family), instances && f.Family.Kind == analysis.KindWatch && f.Family.Attributes["handle"] == "":
			key, words = inotifyInstances, inotifyInstances
		case called:
			key = string(f.Family.Kind) + words
		}
		n, known := at[key]
		if !known {
			n = len(out)
			at[key] = n
			out = append(out, view.FleetThing{Words: words, Called: called || key == inotifyInstances, First: f.First})
		}
		addToThing(&out[n], f, title)
	}
	slices.SortStableFunc(out, func(a, b view.FleetThing) int {
		if c.Sort == "hosts" {
			return cmp.Or(b.Hosts-a.Hosts, b.Growth-a.Growth)
		}
		return b.Growth - a.Growth
	})
	return out
}

func isInotify(f *analysis.Family) bool {
	return f.Kind == analysis.KindDescriptor && f.Attributes["type"] == "anon_inode" && f.Attributes["name"] == "inotify"
}

func addToThing(x *view.FleetThing, f *store.FleetFamily, title string) {
	x.Families = append(x.Families, view.FleetFamily{Title: title, Type: f.Family.ObjectType(), Kind: f.Family.Kind, Fingerprint: f.Family.Fingerprint, Growth: f.Growth})
	switch {
	case f.Family.Kind == analysis.KindDescriptor:
		x.Growth += f.Growth
	case f.Family.Kind != analysis.KindWatch || !x.Called:
		if len(x.Families) == 1 || f.Growth > x.Growth {
			x.Growth = f.Growth
		}
	}
	x.Hosts, x.Unnamed, x.Series = max(x.Hosts, f.Hosts), max(x.Unnamed, f.Unnamed), max(x.Series, f.Series)
	x.New = f.New && (x.New || len(x.Families) == 1)
	if f.First.Before(x.First) {
		x.First = f.First
	}
	if f.Last.After(x.Last) {
		x.Last = f.Last
	}
}

// Bounds of the heat: things, hosts of each, and days.
const (
	mostHeatThings = 3
	mostHeatHosts  = 5
	mostHeatDays   = 14
)

// fleetHeat is where and when the first things grew.
func (s *Service) fleetHeat(ctx context.Context, things []view.FleetThing, c view.FleetChoice, since time.Time) (view.FleetHeat, error) {
	of := map[string]int{} // the families that count, and their thing
	for i, x := range things[:min(len(things), mostHeatThings)] {
		for _, f := range x.Counted() {
			of[f.Fingerprint] = i
		}
	}
	prints := make([]string, 0, len(of))
	for print := range of {
		prints = append(prints, print)
	}
	found, err := s.store.FleetDays(ctx, prints, since)
	if err != nil || len(found) == 0 {
		return view.FleetHeat{}, err
	}
	return heatOf(things, c, of, found), nil
}

// heatOf adds up growth by thing, host and day.
func heatOf(things []view.FleetThing, c view.FleetChoice, of map[string]int, found []store.FleetDay) view.FleetHeat {
	var out view.FleetHeat
	for _, x := range found {
		if !slices.ContainsFunc(out.Days, x.Day.Equal) {
			out.Days = append(out.Days, x.Day)
		}
	}
	slices.SortFunc(out.Days, time.Time.Compare)
	out.Days = out.Days[max(0, len(out.Days)-mostHeatDays):]
	out.Things = make([]view.HeatThing, min(len(things), mostHeatThings))
	for i := range out.Things {
		out.Things[i].Words, out.Things[i].URL = things[i].Words, things[i].URL(c)
	}
	for _, x := range found {
		day := slices.IndexFunc(out.Days, x.Day.Equal)
		if day < 0 {
			continue
		}
		hosts := &out.Things[of[x.Fingerprint]].Hosts
		n := slices.IndexFunc(*hosts, func(h view.HeatHost) bool { return h.Host == x.Host })
		if n < 0 {
			n = len(*hosts)
			*hosts = append(*hosts, view.HeatHost{Host: x.Host, Growth: make([]int, len(out.Days))})
		}
		(*hosts)[n].Growth[day] += x.Growth
	}
	for i := range out.Things {
		x := &out.Things[i]
		slices.SortStableFunc(x.Hosts, func(a, b view.HeatHost) int { return b.Total() - a.Total() })
		x.More = max(0, len(x.Hosts)-mostHeatHosts)
		x.Hosts = x.Hosts[:len(x.Hosts)-x.More]
	}
	out.Things = slices.DeleteFunc(out.Things, func(x view.HeatThing) bool { return len(x.Hosts) == 0 })
	return out
}
