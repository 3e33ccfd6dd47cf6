package server

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"leakdiff/analysis"
	"leakdiff/store"
)

// ending is a storage in which every end of a job succeeds.
type ending struct{ Storage }

func (ending) PostponeJob(context.Context, store.Job, *analysis.Fault) error { return nil }
func (ending) FailJob(context.Context, store.Job, *analysis.Fault) error     { return nil }

func TestOnlyEndsWithAReasonCountAsFailures(t *testing.T) {
	full := &analysis.Fault{Code: "store_full"}
	for name, tt := range map[string]struct {
		end  func(*observed) error
		want float64
	}{
		"the quick worker hands a job on": {func(o *observed) error { return o.PostponeJob(t.Context(), store.Job{ID: "j"}, nil) }, 0},
		"the volume is full":              {func(o *observed) error { return o.PostponeJob(t.Context(), store.Job{ID: "j"}, full) }, 1},
		"a job fails":                     {func(o *observed) error { return o.FailJob(t.Context(), store.Job{ID: "j"}, full) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observed{Storage: ending{}, counts: newCounts(), now: time.Now, claimed: map[string]time.Time{"j": time.Now()}}
			if err := tt.end(o); err != nil {
				t.Fatal(err)
			}
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(o.counts.failures)
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			got := 0.0
			for _, f := range families {
				for _, m := range f.GetMetric() {
					got += m.GetCounter().GetValue()
				}
			}
			if got != tt.want {
				t.Errorf("%v failures are counted, want %v", got, tt.want)
			}
			if len(o.claimed) > 0 {
				t.Error("the job is still claimed")
			}
		})
	}
}
