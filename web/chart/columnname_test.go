package chart

import (
	"strings"
	"testing"
)

func TestNamesBelowAnAxisLoseWhatAllShare(t *testing.T) {
	for _, tc := range []struct{ name, labels, want string }{
		{"names with room stay", "orders-1 orders-2", "orders-1 orders-2"},
		{"one that is too long shortens all", "orders-073353 orders-1", "073353 1"},
		{"days that are the same", "goroutines-20261129-104500 goroutines-20261129-110000", "104500 110000"},
		{"a word is not broken", "service-10733 service-10734", "10733 10734"},
		{"what follows the time", "t0-goroutines-of-orders t1-goroutines-of-orders", "t0 t1"},
		{"equal names keep their text", "goroutine.txt goroutine.txt", "goroutine.t… goroutine.t…"},
		{"one name is a part of the other", "checkout-before checkout-before-restart", "before before-rest…"},
		{"names that share no word are cut", "before-the-restart after-the-release", "before-the-… after-the-r…"},
		{"one alone is cut", "goroutines-073353", "goroutines-…"},
		{"letters of several bytes", "größe-während-1 größe-während-2", "1 2"},
	} {
		if got := strings.Join(columnNames(strings.Fields(tc.labels), 12), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
