package wording

import (
	"strings"

	"leakdiff/analysis"
)

// Ranked are the nouns of what the fleet ranks: types of objects, or groups of other kinds and of
// all.
func Ranked(k analysis.Kind) (one, many string) {
	if k == analysis.KindObject {
		return "object type", "object types"
	}
	return "group", "groups"
}

// FleetTitle says of a list ranked by kind which things are the first ones, and why. No things are
// an empty list.
//
//	"Probe workers grew most: +19 on 2 hosts"
//	"Probe workers are on most hosts: 5000"
func FleetTitle(k analysis.Kind, things string, growth, hosts, unnamed, days int, byHosts bool) string {
	one, _ := Ranked(k)
	switch {
	case things == "":
		return "No " + one + " fits in the series seen in " + lastDays(days)
	case byHosts && hosts > 0:
		return things + " are on most hosts: " + Number(int64(hosts))
	case byHosts:
		return "No series seen in " + lastDays(days) + " names its host"
	case growth <= 0:
		return "No " + one + " grew in the series seen in " + lastDays(days)
	}
	return things + " grew most: " + Signed(growth) + " " + OnHosts(hosts, unnamed)
}

// FleetNothing is the title of a fleet without any capture of the last days, and what counts as one.
func FleetNothing(days int) (title, counts string) {
	return "Nothing was captured in " + lastDays(days), "A capture counts by its own time, not by when it was uploaded."
}

func lastDays(n int) string {
	if n == 1 {
		return "the last day"
	}
	return "the last " + Number(int64(n)) + " days"
}

// OnHosts says on how many hosts something was seen: "on 2 hosts and in 1 series that names
// no host".
func OnHosts(hosts, unnamed int) string {
	var parts []string
	if hosts > 0 {
		parts = append(parts, "on "+Plain(hosts, "host", "hosts"))
	}
	if unnamed > 0 {
		parts = append(parts, "in "+Plain(unnamed, "series that names no host", "series that name no host"))
	}
	return strings.Join(parts, " and ")
}

// Plain is a count with its noun, for sentences of pages and terminals alike.
func Plain(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + many
}

// FleetNew says how many families no capture showed before yesterday.
func FleetNew(k analysis.Kind, n int) string {
	one, many := Ranked(k)
	switch n {
	case 0:
		return "No " + one + " is new since yesterday."
	case 1:
		return "1 " + one + " is new since yesterday: no earlier capture shows it."
	}
	return Number(int64(n)) + " " + many + " are new since yesterday: no earlier capture shows them."
}

// FleetFamily says of the things of one family over all hosts by how much they grew.
func FleetFamily(things string, growth, hosts, unnamed, days int) string {
	where := OnHosts(hosts, unnamed) + ", over the series seen in " + lastDays(days)
	switch {
	case growth > 0:
		return things + " grew by " + Number(int64(growth)) + " " + where
	case growth < 0:
		return things + " fell by " + Number(int64(-growth)) + " " + where
	}
	return things + " are as many as at first " + where
}

// OddVerdict says which host alone ended otherwise than the others.
func OddVerdict(host, verdict, others string, n int) string {
	return host + " differs: " + fleetVerdict(verdict) + " there, " + fleetVerdict(others) + " on the other " + Plain(n, "host", "hosts") + "."
}

// OddGrowth says which host alone grew that much.
func OddGrowth(host string, growth, next int) string {
	if next <= 0 {
		return host + " differs: it grew by " + Number(int64(growth)) + ", no other host grew."
	}
	return host + " differs: it grew by " + Number(int64(growth)) + ", the next host by " + Number(int64(next)) + "."
}

func fleetVerdict(verdict string) string { return strings.ReplaceAll(verdict, "_", " ") }

// NoVersions says why there is no table of versions.
const NoVersions = "No capture says which version of the program runs."

// FleetCut says that a family is in more series than a page counts, n.
func FleetCut(k analysis.Kind, n int) string {
	one, _ := Ranked(k)
	return "More series show this " + one + ". The " + Number(int64(n)) + " that were seen last are counted here, the older ones are not."
}

// FleetGrowth explains how growth is counted.
func FleetGrowth(k analysis.Kind) string {
	one, _ := Ranked(k)
	return "Growth adds up, over the series, the count at the last capture with the " + one + " minus that at the first, or what rose before restarts if the report of the case says so. A series counts whole, with its captures of earlier days. A capture that is in several cases counts in each of them, one without a time in none."
}
