package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"leakdiff/analysis/read/bundle"
)

// nested is a dump of a program in which Report locks Ledger then Account, and Close the other way.
// waiting stand behind each lock; the dump prints no receiver of the two that hold them.
func nested(waiting int, holders [2]int) string {
	const ledger, account = "0xc000010000", "0xc000020000"
	text := goroutineText(1, "sleep", "", "time.Sleep(0x1)", "main.main()") +
		goroutineText(holders[0], "sync.Mutex.Lock", "main.main", atLock(account, "main.(*Account).Balance(0x1?)", "main.(*Ledger).Report(0x0?, 0x0?)")...) +
		goroutineText(holders[1], "sync.Mutex.Lock", "main.main", atLock(ledger, "main.(*Ledger).Remove(0x0?)", "main.(*Account).Close(0x0?, 0x0?)")...)
	for i := range waiting {
		text += goroutineText(40+2*i, "sync.Mutex.Lock", "main.main", atLock(account, "main.(*Account).Close("+account+")")...)
	}
	return text
}

func TestTwoThatWaitForEachOtherInAllDumpsLeadAndTheGrowthIsTheirConsequence(t *testing.T) {
	for _, test := range []struct {
		name     string
		holders  [5][2]int
		sentence string
	}{
		{"the same two", [5][2]int{{9, 18}, {9, 18}, {9, 18}, {9, 18}, {9, 18}}, "Possible deadlock: goroutines 9 and 18 wait for each other; 30 to 70 goroutines in main.(*Account).Close wait behind them."},
		{"others in each dump", [5][2]int{{5, 6}, {9, 18}, {11, 12}, {13, 14}, {19, 20}}, ""},
		{"others in the dump before the last", [5][2]int{{9, 18}, {9, 18}, {9, 18}, {11, 12}, {9, 18}}, ""},
	} {
		var inputs []bundle.Input
		for i, holders := range test.holders {
			text := nested(30+10*i, holders)
			inputs = append(inputs, bundle.Input{Name: fmt.Sprintf("t%d/goroutines.txt", i), Size: -1, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
		}
		d := built(t, inputs).Report.Diagnosis
		if (d.State == "deadlock") != (test.sentence != "") || test.sentence != "" && d.Sentence != test.sentence {
			t.Errorf("%s: %s: %s", test.name, d.State, d.Sentence)
		}
	}
}
