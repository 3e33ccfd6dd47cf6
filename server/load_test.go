package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

func TestRequestsForOneCaseThatComeTogetherComputeItOnce(t *testing.T) {
	heavy := &loaded{}
	began, finish := make(chan struct{}), make(chan struct{})
	for _, tc := range []struct {
		name  string
		fails bool
		want  int // computations
	}{
		{"the first one succeeds", false, 1},
		{"the first one fails", true, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCaseCache()
			computed := 0
			first := make(chan error)
			go func() {
				_, err := c.once(t.Context(), "state", func() (*loaded, error) {
					computed++
					began <- struct{}{}
					<-finish
					if tc.fails {
						return nil, errors.New("no")
					}
					return heavy, nil
				})
				first <- err
			}()
			<-began
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.once(gone, "state", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
			}
			second := make(chan *loaded)
			go func() {
				l, _ := c.once(t.Context(), "state", func() (*loaded, error) { computed++; return heavy, nil })
				second <- l
			}()
			finish <- struct{}{}
			if err := <-first; (err != nil) != tc.fails {
				t.Errorf("the first one got %v", err)
			}
			if got := <-second; got != heavy || computed != tc.want {
				t.Errorf("the second one got %p of %d computations, want %p of %d", got, computed, heavy, tc.want)
			}
		})
	}
}

// TestWhatWasReadOfAMovingCaseIsNotKept lets an upload end between the question for the
// state of a case and the reading of its snapshots, and takes it away again.
func TestWhatWasReadOfAMovingCaseIsNotKept(t *testing.T) {
	x := newSite(t)
	dump := func(n int) []byte {
		return []byte(fmt.Sprintf("goroutine 7 [select]:\nmain.main()\n\t/src/main.go:7 +0x1\n\ngoroutine %d [select]:\nmain.work()\n\t/src/main.go:9 +0x1\n\n", n))
	}
	up := x.put("t0.txt", dump(8))
	before, err := x.s.caseState(t.Context(), up.Case)
	if err != nil {
		t.Fatal(err)
	}
	r := x.do("PUT", "/api/v1/bundles/t1.txt?wait=1&case="+up.Case, bytes.NewReader(dump(9)))
	if r.status != http.StatusCreated {
		t.Fatalf("adding to the case gave %d: %s", r.status, r.body)
	}
	known, _ := x.s.catalogue.Current()
	key := before.key + "/" + known.Version()
	_, err = x.s.cases.once(t.Context(), key, func() (*loaded, error) { return x.s.compute(t.Context(), before, known) })
	if !errors.Is(err, errMoved) || x.s.cases.get(key) != nil {
		t.Errorf("got %v, want errMoved and nothing kept", err)
	}
	if r := x.do("DELETE", "/api/v1/bundles/"+decode[uploaded](t, r.body).ID, nil); r.status != http.StatusNoContent {
		t.Fatalf("deleting gave %d: %s", r.status, r.body)
	}
	now, err := x.s.loadCase(t.Context(), up.Case)
	if err != nil || now.Snapshots != 1 || len(now.said.Snapshots) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}
