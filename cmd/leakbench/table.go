package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// never stands for no number of captures.
const never = 99

// foundFrom is the least number of captures from which on the leak is called leaking.
func (r caseResult) foundFrom() int {
	return from(func(n int) bool { return r.versions["bad"].leakdiff[n].leaking })
}

// eachFrom is that from which on each part of a second case is named.
func (r caseResult) eachFrom() int {
	return from(func(n int) bool { return r.versions["bad"].leakdiff[n].parts == len(r.parts) })
}

// holderFrom is that from which on the first finding names the holder.
func (r caseResult) holderFrom() int {
	return from(func(n int) bool { return r.versions["bad"].leakdiff[n].holderFirst })
}

func from(holds func(n int) bool) int {
	out := never
	for i := len(captures) - 1; i >= 0 && holds(captures[i]); i-- {
		out = captures[i]
	}
	return out
}

// knownNamed is that the catalogue's entry is named on the bad version at 6 captures, and on
// the good one at none.
func (r caseResult) knownNamed() bool {
	for _, n := range captures {
		if r.versions["good"].leakdiff[n].named {
			return false
		}
	}
	return r.entry != "" && r.versions["bad"].leakdiff[rounds].named
}

// accused lists the numbers of captures at which a version without a leak is called leaking.
func (r caseResult) accused() []int {
	var out []int
	for _, n := range captures {
		if r.versions["good"].leakdiff[n].leaking || r.versions["healthy"].leakdiff[n].leaking {
			out = append(out, n)
		}
	}
	return out
}

// printTable writes the figures in Markdown: over all cases, then each case.
func printTable(w io.Writer, results []caseResult) {
	var second []caseResult
	for _, r := range results {
		if r.parts != nil {
			second = append(second, r)
		}
	}
	results = slices.DeleteFunc(slices.Clone(results), func(r caseResult) bool { return r.parts != nil })
	var pairs, healthy, entries int
	for _, r := range results {
		if r.kind == "healthy" {
			healthy++
			continue
		}
		pairs++
		if r.entry != "" {
			entries++
		}
	}
	fmt.Fprintf(w, "# LeakBench\n\n`make leakbench` writes this page. %d pairs of releases, one that leaks and one that does not, %d healthy programs under changing load, and %d programs of several leaks. ", pairs, healthy, len(second))
	fmt.Fprintf(w, "Six captures each, 4 s apart; a row judges the first 2, 3, 4 and 6 of them. `cases.tsv` has what is true of each case, `left-out.md` the pairs that do not hold. A case of the JVM takes its jars from a package of Node.js, which is its module.\n\n")
	fmt.Fprintf(w, "| of %d pairs, %d programs without a leak | n = 2 | 3 | 4 | 6 |\n|---|---|---|---|---|\n", pairs, pairs+healthy)
	figure := func(words string, counts func(caseResult, int) bool) {
		fmt.Fprintf(w, "| %s |", words)
		for _, n := range captures {
			sum := 0
			for _, r := range results {
				if counts(r, n) {
					sum++
				}
			}
			fmt.Fprintf(w, " %d |", sum)
		}
		fmt.Fprintln(w)
	}
	figure("leakdiff: found (leaking)", func(r caseResult, n int) bool { return r.versions["bad"].leakdiff[n].leaking })
	figure("leakdiff: found, at least grew", func(r caseResult, n int) bool { return r.versions["bad"].leakdiff[n].grew })
	figure("leakdiff: the first finding names the holder", func(r caseResult, n int) bool { return r.versions["bad"].leakdiff[n].holderFirst })
	figure("leakdiff: accused without a leak", func(r caseResult, n int) bool {
		return r.versions["good"].leakdiff[n].leaking || r.versions["healthy"].leakdiff[n].leaking
	})
	figure("leakdiff: at least grew without a leak", func(r caseResult, n int) bool {
		return r.versions["good"].leakdiff[n].grew || r.versions["healthy"].leakdiff[n].grew
	})
	figure(fmt.Sprintf("leakdiff: known leak named, of %d entries", entries), func(r caseResult, n int) bool { return r.versions["bad"].leakdiff[n].named })
	figure("leakdiff: known leak named on the good version", func(r caseResult, n int) bool { return r.versions["good"].leakdiff[n].named })
	for _, x := range rules {
		figure(x.name+": found", func(r caseResult, n int) bool { return r.versions["bad"].rules[x.name][n].leaking })
		figure(x.name+": names the holder", func(r caseResult, n int) bool { return r.versions["bad"].rules[x.name][n].holderFirst })
		figure(x.name+": accused without a leak", func(r caseResult, n int) bool {
			return r.versions["good"].rules[x.name][n].leaking || r.versions["healthy"].rules[x.name][n].leaking
		})
	}
	fmt.Fprintln(w)
	for _, x := range rules {
		fmt.Fprintf(w, "- %s %s.\n", x.name, x.words)
	}
	fmt.Fprint(w, "\n| case | module | bad, good | holder, members at the captures | found from | holder first from | known leak | version on bad, on good |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.kind == "healthy" {
			continue
		}
		bad, good := r.versions["bad"], r.versions["good"]
		fmt.Fprintf(w, "| %s | %s | %s, %s | `%s` %s; %s | %s | %s | %s | %s, %s |\n", r.name, r.module, r.bad, r.good,
			strings.ReplaceAll(strings.Join(r.holders, "`, `"), "|", ""), joined(bad.held), joined(good.held), number(r.foundFrom()), number(r.holderFrom()), r.knownWord(),
			orDash(bad.leakdiff[rounds].versions), orDash(good.leakdiff[rounds].versions))
	}
	fmt.Fprint(w, "\n| without a leak | accused at n | first finding at 6 captures |\n|---|---|---|\n")
	for _, r := range results {
		v := r.versions["good"]
		if r.kind == "healthy" {
			v = r.versions["healthy"]
		}
		fmt.Fprintf(w, "| %s %s | %s | %s |\n", r.name, r.good, joined(r.accused()), orDash(strings.ReplaceAll(v.leakdiff[rounds].first, "|", "")))
	}
	printSecond(w, second)
}

// printSecond writes the programs of several leaks.
func printSecond(w io.Writer, results []caseResult) {
	fmt.Fprint(w, "\n| several leaks in one program | members of each at the captures | named at n = 2, 3, 4, 6 | each named from | first finding at 6 captures |\n|---|---|---|---|---|\n")
	for _, r := range results {
		bad := r.versions["bad"]
		var counts, named []string
		for _, c := range bad.heldByPart {
			counts = append(counts, joined(c))
		}
		for _, n := range captures {
			named = append(named, fmt.Sprintf("%d of %d", bad.leakdiff[n].parts, len(r.parts)))
		}
		fmt.Fprintf(w, "| %s: %s | %s | %s | %s | %s |\n", r.name, strings.ReplaceAll(r.module, "+", ", "), strings.Join(counts, "; "), strings.Join(named, ", "),
			number(r.eachFrom()), orDash(strings.ReplaceAll(bad.leakdiff[rounds].first, "|", "")))
	}
}

// printEntries lists what the pairs do not show of the catalogue.
func printEntries(w io.Writer, results []caseResult, open []string) {
	var failing []string
	for _, r := range results {
		if r.entry != "" && !r.knownNamed() {
			failing = append(failing, fmt.Sprintf("%s (%s)", r.entry, r.name))
		}
	}
	fmt.Fprintf(w, "\nEntries of the catalogue that are not named on the bad version of their pair, or are named on the good one: %s.\n", orDash(strings.Join(failing, ", ")))
	fmt.Fprintf(w, "\nEntries of libraries that have a first good release and no pair, %d not benched: %s.\n", len(open), orDash(strings.Join(open, ", ")))
}

func (r caseResult) knownWord() string {
	switch {
	case r.entry == "":
		return "no entry"
	case r.knownNamed():
		return r.entry
	}
	return "not " + r.entry
}

func number(n int) string {
	if n == never {
		return "–"
	}
	return fmt.Sprint(n)
}

func joined(counts []int) string {
	return orDash(strings.Trim(fmt.Sprint(counts), "[]"))
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// heldRow is what a later run must reach again: name, found from (of several leaks: each named
// from), holder first from, whether the known leak is named.
func heldRow(r caseResult) string {
	known := "-"
	if r.entry != "" {
		known = map[bool]string{true: "yes", false: "no"}[r.knownNamed()]
	}
	found := r.foundFrom()
	if r.parts != nil {
		found = r.eachFrom()
	}
	return fmt.Sprintf("%s\t%d\t%d\t%s", r.name, found, r.holderFrom(), known)
}

// writeResults writes leakbench.md for people and held.tsv for the test.
func writeResults(results []caseResult) error {
	open, err := notBenched(casesOf(results))
	if err != nil {
		return err
	}
	var page, held strings.Builder
	printTable(&page, results)
	printEntries(&page, results, open)
	fmt.Fprintf(&held, "name\tfound\tholder\tknown\n")
	for _, r := range results {
		fmt.Fprintln(&held, heldRow(r))
	}
	if err := os.WriteFile("leakbench.md", []byte(page.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile("held.tsv", []byte(held.String()), 0o644)
}

func casesOf(results []caseResult) []leakCase {
	var out []leakCase
	for _, r := range results {
		out = append(out, r.leakCase)
	}
	return out
}
