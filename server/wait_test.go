package server

import (
	"fmt"
	"strings"
	"testing"

	"leakdiff/server/intake"
)

// The list of cases is asked once, right after the answer.
func TestTheListHasTheSentenceWhenAnUploadThatWaitedIsAnswered(t *testing.T) {
	s := newSite(t)
	files := map[string]string{}
	for _, process := range []string{"api", "worker", "mailer"} {
		for round := range 4 {
			files[fmt.Sprintf("node/%s/t%d/goroutines.txt", process, round)] = wideDump(500, round)
		}
	}
	body, kind := form(t, files, nil)
	up := decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	list := decode[struct {
		Cases []struct{ ID, Headline string }
	}](t, s.do("GET", "/api/v1/cases", nil).body)
	if up.Status != "done" || len(up.Snapshots) != 12 || len(list.Cases) != 1 || list.Cases[0].ID != up.Case || !strings.HasSuffix(list.Cases[0].Headline, ".") {
		t.Errorf("status %s, %d snapshots, the list has %+v; want a sentence for %s", up.Status, len(up.Snapshots), list.Cases, up.Case)
	}
}
