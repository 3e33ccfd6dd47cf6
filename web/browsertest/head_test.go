package browsertest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
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

func TestPaperBeginsWithTheAddress(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	up := uploadSample(t, tb.base)
	for name, path := range map[string]string{
		"case":       up.address(),
		"comparison": "/diff/" + up.kubelet("t1") + ".." + up.kubelet("t6") + up.query(),
		"compare":    "/compare" + up.query(),
	} {
		t.Run(name, func(t *testing.T) {
			tb.open(t, path)
			const line = `(e => [e.innerText, e.getClientRects().length > 0])(document.querySelector('main > :first-child'))`
			if seen := ask[[]any](t, tb, line); seen[1] == true {
				t.Errorf("the screen shows %q", seen[0])
			}
			tb.do(t, media("print"))
			defer tb.do(t, media(""))
			seen := ask[[]any](t, tb, line)
			said, _ := seen[0].(string)
			for _, want := range []string{tb.base + path, "engine", "captured 2026-11-21 02:58", "UTC"} {
				if seen[1] != true || !strings.Contains(said, want) {
					t.Errorf("paper begins with %q, without %q", said, want)
				}
			}
		})
	}
}

// media shows the page as a medium does, "" for the screen.
func media(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name})
		return err
	})
}

// TestNarrowAndWidePagesHaveRoomForWhatTheyList looks at what once did not fit: the unit
// of a row, the last column of twelve snapshots, percentages, and words without blanks.
func TestNarrowAndWidePagesHaveRoomForWhatTheyList(t *testing.T) {
	t.Parallel()
	base := startProgram(t)
	tb := openTab(t, base)
	up := uploadSample(t, base)
	look := func(name string, width int64, path, question string) {
		t.Run(name, func(t *testing.T) {
			tb.do(t, chromedp.EmulateViewport(width, 900))
			tb.open(t, path)
			if !ask[bool](t, tb, question) {
				t.Error("it does not")
			}
		})
	}
	look("a unit stands on the line of the name", narrow, "/compare"+up.query(), `[...document.querySelectorAll('.many-s tbody .chip')].every(c => Math.abs(c.getBoundingClientRect().y - c.parentElement.querySelector('.ft .p, .ft .n').getClientRects()[0].y) < 12)`)
	look("cards have percentages", narrow, "/diff/"+up.kubelet("t1")+".."+up.kubelet("t6")+up.query(), `[...document.querySelectorAll('.diff td[data-l="%"]')].some(e => e.getClientRects().length > 0)`)
	long := manyFamilies(t, base, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	look("the last of many columns is seen", wide, "/compare"+long.query(), `(e => e.querySelectorAll('thead th').length >= 14 && e.scrollWidth <= e.clientWidth)(document.querySelector('.scroll:has(> .many-s)'))`)
	look("names without blanks fit a phone", narrow, long.address()+"?open=all", `document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll('.finding .text')].every(e => { e.textContent += ' java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject'; return e.scrollWidth <= e.clientWidth; })`)
}

// manyFamilies uploads snapshots of a process with n families of goroutines, which have
// so many members each in one snapshot after the other; one and three where nothing is
// said. Their names are long and differ at their ends.
func manyFamilies(t *testing.T, base string, n int, counts ...int) uploaded {
	t.Helper()
	var body bytes.Buffer
	w := tar.NewWriter(&body)
	if len(counts) == 0 {
		counts = []int{1, 3}
	}
	for i, members := range counts {
		var dump bytes.Buffer
		id := 10
		for f := range n {
			for range members {
				fmt.Fprintf(&dump, "goroutine %d [select, 3 minutes]:\nexample.org/operator/controllers.(*VeryLongDescriptiveReconcilerControllerManager).ReconcileResourcesWithExponentialBackoff%03d(0x1)\n\t/src/a.go:%d +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:2 +0x2d\n\n", id, f, f+1)
				id++
			}
		}
		for name, content := range map[string]string{"goroutine.txt": dump.String(), "captured_at": fmt.Sprintf("2026-11-20T%02d:00:00Z\n", i)} {
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("long/t%02d/operator/%s", i, name), Mode: 0o644, Size: int64(len(content))}); err != nil {
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
