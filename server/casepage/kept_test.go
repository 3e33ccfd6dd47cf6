package casepage

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/server/response"
)

func TestKeptPagesAreWeighedWithTheirAddresses(t *testing.T) {
	c := newShownCache()
	long := strings.Repeat("x", 50_000)
	for i := range 1000 {
		c.put(fmt.Sprint(long, i), shown{Content: response.Content{Body: []byte("short")}})
	}
	if n := len(c.by); c.size > maxShown || n > maxShown/len(long) {
		t.Errorf("%d pages with addresses of 50 kB are kept, weighed as %d bytes", n, c.size)
	}
}
