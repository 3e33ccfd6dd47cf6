package memory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// waits reports whether Enter does not return while nothing leaves.
func waits(t *testing.T, g *Gate, bytes int64) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entered := false
	go func() {
		if leave, err := g.Enter(ctx, bytes); err == nil {
			entered = true
			leave()
		}
	}()
	synctest.Wait()
	waited := !entered
	cancel()
	synctest.Wait()
	return waited
}

func enter(t *testing.T, g *Gate, bytes int64) (leave func()) {
	t.Helper()
	leave, err := g.Enter(t.Context(), bytes)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

func TestGate(t *testing.T) {
	const memory = rest + 2*Reading
	tests := map[string]struct {
		inside []int64
		asks   int64
		waits  bool
	}{
		"a second reading fits":                               {[]int64{Reading}, Reading, false},
		"a third one waits":                                   {[]int64{Reading, Reading}, Reading, true},
		"small work does not wait for large":                  {[]int64{Reading, Reading}, smallWork, false},
		"a byte more is large":                                {[]int64{Reading, Reading}, smallWork + 1, true},
		"small work is bounded too":                           {[]int64{smallWork, smallWork, smallWork, smallWork}, 1, true},
		"next to nothing counts as something":                 {[]int64{smallWork, smallWork, smallWork, smallWork - leastWork + 1}, 1, true},
		"and large work does not wait for small":              {[]int64{smallWork, smallWork, smallWork, smallWork}, Reading, false},
		"what is larger than all room comes in alone":         {nil, 10 * memory, false},
		"and waits for the one inside":                        {[]int64{Reading}, 10 * memory, true},
		"what is inside and asks for more does not wait here": {[]int64{2 * Reading}, smallWork, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(memory)
				for _, bytes := range test.inside {
					defer enter(t, g, bytes)()
				}
				if got := waits(t, g, test.asks); got != test.waits {
					t.Errorf("waits: %v, want %v", got, test.waits)
				}
			})
		})
	}
}

func TestRoomIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(rest + Reading)
		first := enter(t, g, Reading)
		if leave, fits := g.EnterAlso(Reading); fits {
			t.Error("a second reading fits")
		} else {
			leave() // gives nothing back
		}
		if !waits(t, g, Reading) {
			t.Error("the gate let in more than its room")
		}
		first()
		if waits(t, g, Reading) {
			t.Error("room that was given back was not let")
		}
		leave, fits := g.EnterAlso(Reading)
		if !fits {
			t.Error("the only reading does not fit")
		}
		leave()
		if waits(t, g, Reading) {
			t.Error("room that was taken beside other work was not given back")
		}
	})
}

func TestWorkThatIsGivenUpLeavesTheQueue(t *testing.T) {
	g := New(rest + Reading)
	defer enter(t, g, Reading)()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Enter(ctx, Reading); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestReadings(t *testing.T) {
	for _, test := range []struct {
		memory int64
		want   int
	}{{0, 1}, {128 << 20, 1}, {rest + 2*Reading - 1, 1}, {rest + 2*Reading, 2}, {1 << 30, 14}} {
		if got := New(test.memory).Readings(); got != test.want {
			t.Errorf("%d bytes: %d readings at once, want %d", test.memory, got, test.want)
		}
	}
}
