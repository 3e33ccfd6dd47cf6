package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// watchers is a profile of goroutines of which so many stand in one function.
func watchers(n, others int, function string) string {
	return fmt.Sprintf("goroutine profile: total %d\n%d @ 0x46128e 0xdde6be\n#\t0xdde6bd\t%s+0x5d\t/src/app/watch.go:52\n\n%d @ 0x46128e 0x494c01\n#\t0x494c00\texample.org/app.serve+0x5d\t/src/app/serve.go:9\n\n", n+others, n, function, others)
}

func TestAGroupThatMakesUpMostOfFewCapturesIsNotAcquitted(t *testing.T) {
	const own, library = "example.org/app.(*Meter).watch", "net/http.(*persistConn).readLoop"
	for name, tt := range map[string]struct {
		function string
		each     []int
		others   int
		undated  bool
		want     string
	}{
		"two captures without times":               {own, []int{5067, 5067}, 104, true, "Cannot tell whether goroutines leak: 5067 of 5171 (98 %) are in app.(*Meter).watch, and 2 captures without times cannot show slow growth."},
		"two captures with times":                  {own, []int{5067, 5067}, 104, false, "Cannot tell whether goroutines leak: 5067 of 5171 (98 %) are in app.(*Meter).watch, and 2 captures cannot show slow growth."},
		"five captures without times":              {own, []int{5067, 5067, 5067, 5067, 5067}, 104, true, "Cannot tell whether goroutines leak: 5067 of 5171 (98 %) are in app.(*Meter).watch, and 5 captures without times cannot show slow growth."},
		"nine of ten of a thousand":                {own, []int{900, 900}, 100, false, "Cannot tell whether goroutines leak: 900 of 1000 (90 %) are in app.(*Meter).watch, and 2 captures cannot show slow growth."},
		"fewer than nine of ten":                   {own, []int{899, 899}, 101, false, "No leak seen: no goroutines grew in 1 h."},
		"fewer than a thousand":                    {own, []int{899, 899}, 99, false, "No leak seen: no goroutines grew in 1 h."},
		"a pool that stands in four with times":    {own, []int{5067, 5067, 5067, 5067}, 104, false, "No leak seen: no goroutines grew in 3 h."},
		"idle connections of the standard library": {library, []int{5067, 5067}, 104, false, "No leak seen: no goroutines grew in 1 h."},
	} {
		t.Run(name, func(t *testing.T) {
			var captures []map[string]string
			for _, n := range tt.each {
				captures = append(captures, map[string]string{"goroutine.txt": watchers(n, tt.others, tt.function)})
			}
			read := every
			if tt.undated {
				read = undated
			}
			d := read(t, captures).Diagnosis
			tells := strings.HasPrefix(tt.want, "Cannot tell")
			if d.Sentence != tt.want || (d.State == "cannot tell") != tells {
				t.Errorf("%s: %s\nwant %s", d.State, d.Sentence, tt.want)
			}
			if next := d.Next; tells && (next == nil || !strings.HasPrefix(next.Text, "Take five captures over an hour") || !strings.Contains(next.Command, "--every 15m")) || !tells && next != nil {
				t.Errorf("do %+v", next)
			}
		})
	}
}
