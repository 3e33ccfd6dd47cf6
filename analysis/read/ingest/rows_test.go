package ingest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/lsof"
)

// TestPackedRowsAreTheDescriptors packs any descriptors, those of several processes
// with the words of one file.
func TestPackedRowsAreTheDescriptors(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-c:>-]{0,6}`), rapid.String(), rapid.StringMatching(`x{250,260}`))
	one := rapid.Custom(func(t *rapid.T) analysis.Descriptor {
		d := analysis.Descriptor{
			FD: rapid.Int().Draw(t, "fd"), Type: text.Draw(t, "type"), Access: text.Draw(t, "access"), Inode: rapid.Uint64().Draw(t, "inode"),
			Device: text.Draw(t, "device"), Name: text.Draw(t, "name"), Protocol: text.Draw(t, "protocol"), State: text.Draw(t, "state"),
			Local: text.Draw(t, "local"), Remote: text.Draw(t, "remote"),
			Deleted: rapid.Bool().Draw(t, "deleted"), Idle: rapid.Bool().Draw(t, "idle"), Unread: rapid.Bool().Draw(t, "unread"),
			Place: analysis.Place{Artifact: rapid.Int().Draw(t, "artifact"), Line: rapid.Int64().Draw(t, "line"), Offset: rapid.Int64().Draw(t, "offset"), Length: rapid.Int64().Draw(t, "length")},
		}
		if rapid.Bool().Draw(t, "named") {
			d.Name = d.Local + "->" + d.Remote
		}
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		words := newRowWords()
		for range rapid.IntRange(1, 3).Draw(t, "processes") {
			want := rapid.SliceOfN(one, 0, 20).Draw(t, "rows")
			packed := &rows{words: words}
			for i := range want {
				packed.add(&want[i])
			}
			if diff := cmp.Diff(want, list{packed: packed}.unpacked()); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if packed.len() != len(want) {
				t.Fatalf("%d rows, want %d", packed.len(), len(want))
			}
		}
	})
}

// TestPackedRowsDoNotKeepTheirLines measures what is held of rows with long lines.
func TestPackedRowsDoNotKeepTheirLines(t *testing.T) {
	const count = 9_999
	var in strings.Builder
	in.WriteString("COMMAND     PID   USER   FD      TYPE             DEVICE SIZE/OFF       NODE NAME\n")
	for i := range count {
		fmt.Fprintf(&in, "kubelet    1000   root %4du     unix 0xffff888012345678      0t0 %10d type=STREAM (CONNECTED)%400s\n", i, 70_000_000+i, "")
	}
	text := in.String()
	kept := &rows{words: newRowWords()}
	before := inUse()
	_, _, err := lsof.ParseTable(strings.NewReader(text), "x", func(_ int, row *lsof.Row) error {
		kept.add(&row.Descriptor)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	held := inUse() - before
	if kept.len() != 9999 || held > 20*9999 {
		t.Errorf("%d rows hold %d bytes", kept.len(), held)
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(text)
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
