package rule

import "testing"

func TestHigh(t *testing.T) {
	if !high(12) || high(10) || high(15) || !low(0) {
		t.Fail()
	}
}
