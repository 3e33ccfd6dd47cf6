package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// BenchmarkFirstDiffPage opens comparisons that nobody has asked for before and gives
// what the browser measures from the click to the end of the load event, by which the
// page is laid out: ms/page.
func BenchmarkFirstDiffPage(b *testing.B) {
	tb := openTab(b, startProgram(b))
	up := uploadSample(b, tb.base)
	address := up.address()
	answer, err := http.Get(tb.base + "/api/v1" + address)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	var doc struct {
		Series []struct{ Snapshots []string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&doc); err != nil {
		b.Fatal(err)
	}
	var pairs []string
	for _, s := range doc.Series {
		for i := range s.Snapshots {
			for j := i + 1; j < len(s.Snapshots); j++ {
				pairs = append(pairs, "/diff/"+s.Snapshots[i]+".."+s.Snapshots[j]+up.query())
			}
		}
	}
	tb.open(b, address)
	total, n := 0.0, 0
	for b.Loop() {
		// A query value that means nothing makes another page of the same comparison.
		tb.open(b, fmt.Sprintf("%s&n=%d", pairs[n%len(pairs)], n))
		total += ask[float64](b, tb, `performance.getEntriesByType('navigation')[0].loadEventEnd`)
		n++
	}
	b.ReportMetric(total/float64(n), "ms/page")
	b.ReportMetric(0, "ns/op")
}
