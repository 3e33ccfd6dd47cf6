package page

import (
	"strings"
	"testing"

	"leakdiff/web/view"
)

func TestTargetsOfWatchesAreStackedOnAPhone(t *testing.T) {
	var b strings.Builder
	v := view.Family{At: "t8", Watched: []view.WatchedRow{{Watches: "3", What: "/kubepods/pod1", FSType: "cgroup", Still: "no, the cgroup was removed", Pod: "shop/cart"}}}
	if err := HTML(v.Page()).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`class="data members watched"`, `data-l="Watches"`, `data-l="Still there?"`, `data-l="Pod"`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("lacks %s:\n%s", part, b.String())
		}
	}
}
