package browsertest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTheHeadOfALongTableStaysInSight scrolls as readers do: the page, or the box that
// the table scrolls in, until the middle of the table is in the middle of the window.
func TestTheHeadOfALongTableStaysInSight(t *testing.T) {
	t.Parallel()
	base := startProgram(t)
	tb := openTab(t, base)
	up := manyFamilies(t, base, 150)
	for name, path := range map[string]string{
		"comparison": "/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[1].ID + "?all=1&case=" + up.Case,
		"compare":    "/compare?all=1&case=" + up.Case,
		"snapshot":   "/snapshots/" + up.Snapshots[1].ID + "?case=" + up.Case,
		"case":       "/cases/" + up.Case + "?q=kind:goroutine",
	} {
		for _, width := range []int64{800, 1000, wide, 1440} {
			t.Run(fmt.Sprintf("%s at %d px", name, width), func(t *testing.T) {
				tb.do(t, chromedp.EmulateViewport(width, 900))
				tb.open(t, path)
				got := ask[struct{ Rows, Head, Row float64 }](t, tb, `(() => {
					const table = [...document.querySelectorAll('main table')].sort((a, b) => b.rows.length - a.rows.length)[0];
					const row = table.rows[table.rows.length >> 1];
					row.scrollIntoView({ block: 'center' });
					return { Rows: table.rows.length, Head: table.tHead.rows[0].cells[1].getBoundingClientRect().y, Row: row.getBoundingClientRect().y };
				})()`)
				if got.Rows < 100 {
					t.Fatalf("the longest table has %g rows", got.Rows)
				}
				if got.Head < 0 || got.Head > got.Row || got.Row > 900 {
					t.Errorf("the head stands at %g where the row in the middle stands at %g of 900", got.Head, got.Row)
				}
			})
		}
	}
}

func TestTheEndOfALongNameIsSeen(t *testing.T) {
	t.Parallel()
	base := startProgram(t)
	tb := openTab(t, base)
	up := manyFamilies(t, base, 12)
	for name, path := range map[string]string{
		"comparison": "/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[1].ID + "?case=" + up.Case,
		"snapshot":   "/snapshots/" + up.Snapshots[1].ID + "?case=" + up.Case,
		"compare":    "/compare?case=" + up.Case,
	} {
		for _, width := range []int64{narrow, wide} {
			t.Run(fmt.Sprintf("%s at %d px", name, width), func(t *testing.T) {
				tb.do(t, chromedp.EmulateViewport(width, 900))
				tb.open(t, path)
				got := ask[struct{ Names, Cut int }](t, tb, `(() => {
					const names = [...document.querySelectorAll('main table .ft')];
					const cut = e => getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth;
					return { Names: names.length, Cut: names.filter(e => [e, ...e.querySelectorAll('*')].some(cut) || e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1).length };
				})()`)
				if got.Names < 12 || got.Cut > 0 {
					t.Errorf("%d of %d names are cut", got.Cut, got.Names)
				}
			})
		}
	}
}

// manyFamilies uploads two snapshots of a process with n families of goroutines that
// grow from one member to three. Their names are long and differ at their ends.
func manyFamilies(t *testing.T, base string, n int) uploaded {
	t.Helper()
	var body bytes.Buffer
	w := tar.NewWriter(&body)
	for i, members := range []int{1, 3} {
		var dump bytes.Buffer
		id := 10
		for f := range n {
			for range members {
				fmt.Fprintf(&dump, "goroutine %d [select, 3 minutes]:\nexample.org/operator/controllers.(*VeryLongDescriptiveReconcilerControllerManager).ReconcileResourcesWithExponentialBackoff%03d(0x1)\n\t/src/a.go:%d +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:2 +0x2d\n\n", id, f, f+1)
				id++
			}
		}
		for name, content := range map[string]string{"goroutine.txt": dump.String(), "captured_at": fmt.Sprintf("2026-11-20T1%d:00:00Z\n", i)} {
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("long/t%d/operator/%s", i, name), Mode: 0o644, Size: int64(len(content))}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var up uploaded
	send(t, http.MethodPut, base+"/api/v1/bundles/long.tar?wait=1", &body, &up)
	return up
}
