package main

import (
	"fmt"
	"strings"
)

// The lines around the rows that a text quotes from the table.
const (
	quoteBegins = "<!-- rows of bench.md, written by make bench -->\n"
	quoteEnds   = "<!-- end of the rows -->\n"
)

// quoted are the columns that are quoted: what, ours, ratio, target.
var quoted = [...]int{0, 1, 4, 5}

// quote writes the figures of a table into the rows that a text quotes, which are found
// by their first cell. Of rows with one name it is the first.
//
//	"| lsof, 100000 rows: descriptors by type | 22 ms | 3.9× | ≥ 3× |"
func quote(text, table string) (string, error) {
	before, rest, begun := strings.Cut(text, quoteBegins)
	rows, after, ended := strings.Cut(rest, quoteEnds)
	if !begun || !ended {
		return "", fmt.Errorf("the text has no rows between %q and %q", strings.TrimSpace(quoteBegins), strings.TrimSpace(quoteEnds))
	}
	known := map[string][]string{}
	for line := range strings.Lines(table) {
		if c := cellsOf(line); len(c) == len(row{}.cells()) && known[c[0]] == nil {
			known[c[0]] = c
		}
	}
	var out strings.Builder
	for line := range strings.Lines(rows) {
		c := cellsOf(line)
		if len(c) == 0 || strings.HasPrefix(c[0], "---") {
			out.WriteString(line)
			continue
		}
		found := known[c[0]]
		if found == nil {
			return "", fmt.Errorf("the table has no row %q, which the text quotes", c[0])
		}
		for _, i := range quoted {
			out.WriteString("| " + found[i] + " ")
		}
		out.WriteString("|\n")
	}
	return before + quoteBegins + out.String() + quoteEnds + after, nil
}

// cellsOf are the cells of a row of a table without the blanks around them.
func cellsOf(line string) []string {
	line, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !ok {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}
