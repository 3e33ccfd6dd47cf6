package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"leakdiff/analysis"
)

// connectionsDump has a reader and a writer for each of some connections.
func connectionsDump(n int) string {
	var text strings.Builder
	text.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1d\n\n")
	for i := range n {
		for k, method := range []string{"read", "write"} {
			fmt.Fprintf(&text, "goroutine %d [select]:\nex.org/srv.(*conn).%s(0x%x)\n\t/src/conn.go:%d +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", 10+2*i+k, method, 0xc000010000+256*i, 20+k)
		}
	}
	return text.String()
}

func joined(t *testing.T, cfg Config, text string) []analysis.Snapshot {
	t.Helper()
	return runWith(t, cfg, map[string]string{"goroutine.txt": text}).Snapshots
}

func TestObjectsOfEachDumpOfAFileAreInItsSnapshot(t *testing.T) {
	text := "2026-11-21 02:58:00\n" + connectionsDump(5) + "2026-11-21 02:59:00\n" + connectionsDump(8)
	snapshots := joined(t, Config{Objects: true}, text)
	if len(snapshots) != 2 {
		t.Fatalf("got %d snapshots, want 2", len(snapshots))
	}
	for i, want := range []int{5, 8} {
		objects := snapshots[i].Joined
		if objects == nil || len(objects.Kinds) != 1 || objects.Kinds[0].Name != "*srv.conn" || objects.Kinds[0].Count != want || objects.Kinds[0].Parts != 2 {
			t.Errorf("snapshot %d has %+v, want %d *srv.conn of 2 goroutines", i, objects, want)
		}
	}
}

func TestObjectsAreMadeOnDemandAndInNoOutput(t *testing.T) {
	text := connectionsDump(5)
	without, with := joined(t, Config{}, text), joined(t, Config{Objects: true}, text)
	if without[0].Joined != nil {
		t.Error("objects were made that nobody asked for")
	}
	a, err := json.Marshal(without)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(with)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("got %s\nwant %s", b, a)
	}
}
