package server

import (
	"context"
	"errors"
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
