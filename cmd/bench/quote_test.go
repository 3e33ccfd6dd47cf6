package main

import (
	"os"
	"strings"
	"testing"
)

func TestTheDocumentQuotesTheTable(t *testing.T) {
	readme, err := os.ReadFile("../../docs/speed.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("bench.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := quote(string(readme), string(table))
	if err != nil {
		t.Fatal(err)
	}
	if want != string(readme) {
		t.Errorf("the figures of docs/speed.md are not those of bench.md; make bench writes them. They would be:\n%s", want[strings.Index(want, quoteBegins):strings.Index(want, quoteEnds)])
	}
}

func TestOnlyRowsOfTheTableAreQuoted(t *testing.T) {
	const table = "| what | ours | peer | bound | ratio | target | met |\n| ---- | --- | --- | --- | --- | --- | --- |\n| a  | 2 ms | 4 ms |  | 2× | ≥ 1× | yes |\n|   b | 3 ms | | | | | |\n"
	got, err := quote("x\n"+quoteBegins+"| what | | | |\n| --- | --- | --- | --- |\n| b | 1 | 1 | 1 |\n| a | 9 ms | 9× | ≥ 9× |\n"+quoteEnds+"y\n", table)
	want := "x\n" + quoteBegins + "| what | ours | ratio | target |\n| --- | --- | --- | --- |\n| b | 3 ms |  |  |\n| a | 2 ms | 2× | ≥ 1× |\n" + quoteEnds + "y\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	for name, text := range map[string]string{
		"a row that the table lacks": quoteBegins + "| c | | | |\n" + quoteEnds,
		"no rows":                    "x\n",
		"rows without an end":        quoteBegins + "| a | | | |\n",
	} {
		if _, err := quote(text, table); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
