package share

import (
	"strings"
	"testing"
)

func TestAViewIsOfTheCaseThatIsNamed(t *testing.T) {
	for _, tc := range []struct{ name, view, caseID, want, refused string }{
		{"no case", "/diff/a..b?x=1", "", "/diff/a..b?x=1", ""},
		{"no view", "", "c1", "/cases/c1", ""},
		{"a view without a case gets it", "/diff/a..b?x=1", "c1", "/diff/a..b?case=c1&x=1", ""},
		{"the case of A is not the case", "/diff/a..b?acase=c2", "c1", "/diff/a..b?acase=c2&case=c1", ""},
		{"the same case", "/cases/c1?q=x", "c1", "/cases/c1?q=x", ""},
		{"a case that begins alike", "/cases/c12", "c1", "", "another case"},
		{"another case in the query", "/diff/a..b?case=c2", "c1", "", "another case"},
		{"no address", "%zz", "c1", "", "no address"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := viewOf(tc.view, tc.caseID)
			if got != tc.want || (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tc.want, tc.refused)
			}
		})
	}
}
