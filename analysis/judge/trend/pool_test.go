package trend

import (
	"math"
	"testing"

	"leakdiff/analysis"
)

func TestAPoolIsSaturatedWhileItIsFullAndOthersWait(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name                   string
		running, queued, limit []float64
		full, queues           int
	}{
		{"it is full and its queue grows", []float64{12, 32, 32, 32, 32}, []float64{0, 0, 9, 26, 48}, []float64{32, 32, 32, 32, 32}, 1, 2},
		{"it is full and its queue never empties", []float64{32, 32}, []float64{5, 5}, []float64{32, 32}, 0, 0},
		{"it is full once", []float64{12, 32}, []float64{0, 9}, []float64{32, 32}, -1, -1},
		{"its queue emptied and is not longer than at first", []float64{32, 32, 32}, []float64{4, 0, 4}, []float64{32, 32, 32}, -1, -1},
		{"its queue drains", []float64{32, 32, 32}, []float64{20, 10, 2}, []float64{32, 32, 32}, -1, -1},
		{"no limit is stated and the queue is as at first", []float64{5, 5, 5}, []float64{1, 2, 1}, nil, -1, -1},
		{"its queue emptied and is longer than at first", []float64{32, 32, 32}, []float64{4, 0, 5}, []float64{32, 32, 32}, 0, 0},
		{"nobody waits at the end", []float64{32, 32, 32}, []float64{4, 5, 0}, []float64{32, 32, 32}, -1, -1},
		{"one place is free at the end", []float64{32, 32, 31}, []float64{4, 5, 6}, []float64{32, 32, 32}, -1, -1},
		{"the limit was raised above what runs", []float64{32, 32, 32}, []float64{4, 5, 6}, []float64{32, 32, 64}, -1, -1},
		{"a snapshot without figures lies between", []float64{32, nan, 32}, []float64{4, nan, 6}, []float64{32, nan, 32}, 0, 0},
		{"no limit is stated and it runs at its most", []float64{20, 32, 32}, []float64{0, 0, 14}, nil, 1, 2},
		{"no limit is stated and it ran more before", []float64{33, 32, 32}, []float64{0, 3, 14}, nil, -1, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Series{}
			for i := range test.running {
				figures := map[string]float64{}
				for name, values := range map[string][]float64{"hikaricp_connections_active{main}": test.running, "hikaricp_connections_pending{main}": test.queued, "hikaricp_connections_max{main}": test.limit} {
					if values != nil && !math.IsNaN(values[i]) {
						figures[name] = values[i]
					}
				}
				s.Snapshots = append(s.Snapshots, &analysis.Snapshot{Figures: figures})
			}
			s.Epochs = make([]int, len(s.Snapshots))
			pools := s.Pools()
			if len(pools) != 1 || pools[0].Name != "hikari" || pools[0].Label != "main" {
				t.Fatalf("pools: %+v", pools)
			}
			if p := pools[0]; p.Full != test.full || p.Queues != test.queues || p.Stated != (test.limit != nil) {
				t.Errorf("full since %d, queue since %d, limit stated %v; wanted %d, %d, %v", p.Full, p.Queues, p.Stated, test.full, test.queues, test.limit != nil)
			}
		})
	}
}

func TestAPoolIsThatOfOneProcess(t *testing.T) {
	full := func(queued float64) *analysis.Snapshot {
		return &analysis.Snapshot{Figures: map[string]float64{"jetty_threads_busy": 9, "jetty_threads_jobs": queued, "jetty_threads_config_max": 9}}
	}
	for epochs, want := range map[[3]int]int{{0, 0, 0}: 0, {0, 1, 1}: 1, {0, 0, 1}: -1} {
		s := &Series{Snapshots: []*analysis.Snapshot{full(3), full(7), full(9)}, Epochs: epochs[:]}
		if p := s.Pools()[0]; p.Full != want {
			t.Errorf("epochs %v: full since %d, want %d", epochs, p.Full, want)
		}
	}
}

func TestTheOpenFilesOfAMachineAreALimitFromATenthOn(t *testing.T) {
	for used, told := range map[float64]bool{6553: false, 6554: true} {
		s := &Series{Snapshots: []*analysis.Snapshot{{Figures: map[string]float64{"fs.file-nr.allocated": used, "fs.file-nr.max": 65536}}}, Epochs: []int{0}}
		if limits := s.Limits(); (len(limits) == 1) != told {
			t.Errorf("%g of 65536: %+v", used, limits)
		}
	}
}
