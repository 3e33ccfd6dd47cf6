package migrations

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestTheEmbeddedMigrationsAreNumberedFromOne(t *testing.T) {
	for name, of := range map[string]func() ([]Migration, error){"SQLite": All, "PostgreSQL": Postgres} {
		all, err := of()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 || all[0].Version != 102 || all[0].SQL == "" {
			t.Errorf("%s: got %d migrations", name, len(all))
		}
	}
}

func TestReadOrdersAndNames(t *testing.T) {
	got, err := read(fstest.MapFS{
		"0002_more_words.sql": {Data: []byte("B")},
		"0001_start.sql":      {Data: []byte("A")},
		"migrations.go":       {Data: []byte("package migrations")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Migration{{102, "start", "A"}, {103, "more words", "B"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefusesFilesThatAreOutOfOrder(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"a gap":              {"0001_a.sql": {}, "0003_c.sql": {}},
		"a number twice":     {"0001_a.sql": {}, "0001_b.sql": {}},
		"a start at zero":    {"0000_a.sql": {}},
		"a narrow number":    {"1_a.sql": {}},
		"no number":          {"start.sql": {}},
		"a number alone":     {"0001.sql": {}},
		"a number with sign": {"-001_a.sql": {}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := read(fsys); err == nil {
				t.Errorf("no error, got %v", got)
			}
		})
	}
}
