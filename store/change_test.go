package store

import "testing"

func TestChangesStayTheSameUntilSomethingIsWritten(t *testing.T) {
	s := open(t)
	ctx := s.ctx
	changes := func() int64 {
		t.Helper()
		n, err := s.Changes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	read := func() {
		t.Helper()
		if _, _, err := s.Setting(ctx, "none"); err != nil {
			t.Fatal(err)
		}
	}
	changes()
	read() // opens a connection, which counts as a change
	first := changes()
	read()
	if again := changes(); again != first {
		t.Errorf("reading changed %d to %d", first, again)
	}
	for _, value := range []string{"one", "two"} {
		before := changes()
		if err := s.SetSetting(ctx, "some", value); err != nil {
			t.Fatal(err)
		}
		if after := changes(); after == before {
			t.Errorf("%d is the same after a write", after)
		}
	}
}
