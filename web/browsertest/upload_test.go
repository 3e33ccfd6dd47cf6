package browsertest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// firstDump has two goroutines, laterDump three.
const (
	firstDump = `goroutine 1 [chan receive, 12 minutes]:
main.main()
	/src/app/main.go:41 +0x1d

goroutine 7 [select, 12 minutes]:
main.worker(0x1)
	/src/app/worker.go:12 +0x2a
created by main.main in goroutine 1
	/src/app/main.go:30 +0x9
`
	laterDump = firstDump + `
goroutine 8 [select]:
main.worker(0x2)
	/src/app/worker.go:12 +0x2a
created by main.main in goroutine 1
	/src/app/main.go:30 +0x9
`
)

// A server that others reach takes changes of a case from whoever has its key.
func TestTheKeyOfANewCaseIsShownOnceAndOpensIt(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t, "--listen", "0.0.0.0:0", "--access", "open"))
	tb.open(t, "/")
	tb.do(t, paste(firstDump), see("#kept-key"))
	key := ask[string](t, tb, `document.getElementById('kept-key').value`)
	if len(key) < 20 {
		t.Fatalf("the key is %q", key)
	}
	tb.follow(t, chromedp.Click(chromedp.CSS("#kept-open")))
	tb.do(t, see(answerShown))
	if ask[bool](t, tb, `document.documentElement.outerHTML.includes(`+strconv.Quote(key)+`)`) {
		t.Error("the key is shown a second time")
	}
	ask[chromedp.Void](t, tb, dropOf(t, map[string]string{"t1.txt": laterDump}))
	tb.do(t, see("#refused"))
	if told := run(t, tb, chromedp.Text(chromedp.CSS("#refused"))); !strings.Contains(told, "needs its owner key") {
		t.Errorf("a drop without the key: %s", told)
	}
	tb.do(t, fill("#key-add", key))
	tb.follow(t, chromedp.Click(chromedp.CSS("#upload button")))
	wantSnapshots(t, tb, map[string]string{"#1": "2", "t1": "3"})
	tb.do(t, fill("#case-ticket", "INC-4711"), fill("#key-about", key)) // the part stays open
	tb.follow(t, chromedp.Click(chromedp.CSS("#about button")))
	if said := run(t, tb, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(said, "INC-4711") {
		t.Errorf("the page does not show the ticket: %.400s", said)
	}
}

func TestUploadsWithoutTheFileDialog(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))

	t.Run("a pasted dump becomes a case with one snapshot", func(t *testing.T) {
		tb.open(t, "/")
		tb.do(t, paste(firstDump))
		wantSnapshots(t, tb, map[string]string{"#1": "2"})
	})
	t.Run("a paste without text is refused in words", func(t *testing.T) {
		tb.open(t, "/")
		tb.do(t, paste(""), see("#refused"))
		if got := run(t, tb, chromedp.Text(chromedp.CSS("#refused"))); !strings.Contains(got, "no text yet") {
			t.Errorf("the refusal says %q", got)
		}
	})
	t.Run("two dropped files become a case with two snapshots", func(t *testing.T) {
		tb.open(t, "/")
		ask[chromedp.Void](t, tb, dropOf(t, map[string]string{"t0.txt": firstDump, "t1.txt": laterDump}))
		wantSnapshots(t, tb, map[string]string{"t0": "2", "t1": "3"})
	})
	t.Run("a folder dragged from the desktop keeps its directories as snapshots", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "bundle")
		write(t, filepath.Join(dir, "t0", "app", "goroutine-debug2.txt"), firstDump)
		write(t, filepath.Join(dir, "t1", "app", "goroutine-debug2.txt"), laterDump)
		tb.open(t, "/")
		tb.do(t, drag(input.DispatchDragEventTypeDragEnter, dir), drag(input.DispatchDragEventTypeDragOver, dir), see("body.dropping"), drag(input.DispatchDragEventTypeDrop, dir))
		wantSnapshots(t, tb, map[string]string{"t0": "2", "t1": "3"})
	})
}

// paste has a text read.
func paste(text string) chromedp.Action[chromedp.Void] {
	steps := []chromedp.Action[chromedp.Void]{chromedp.Click(`//summary[normalize-space()="Paste a dump"]`, chromedp.NodeVisible)}
	if text != "" {
		steps = append(steps, chromedp.SetValue(chromedp.CSS("#paste"), text))
	}
	return chromedp.Steps(append(steps, chromedp.Click(`//button[normalize-space()="Read the text"]`, chromedp.NodeVisible))...)
}

// wantSnapshots waits for the answer that the upload lands on, and demands these snapshots
// with their numbers of goroutines.
func wantSnapshots(t *testing.T, tb *tab, want map[string]string) {
	t.Helper()
	tb.do(t, see(answerShown))
	got := ask[map[string]string](t, tb, `(() => {
		const rows = [...document.querySelectorAll('table.snaps tr')], text = el => el.textContent.trim();
		const counts = rows.find(tr => text(tr.cells[0]) === 'Goroutines');
		return Object.fromEntries([...rows[0].cells].slice(1).map((th, i) => [text(th), text(counts.cells[i + 1])]));
	})()`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("goroutines of each snapshot (-want +got):\n%s\n%s", diff, tb.where())
	}
}

// dropOf is a script that drops files with these names and texts on the page.
func dropOf(t *testing.T, files map[string]string) string {
	t.Helper()
	list, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	return `{
		const dataTransfer = new DataTransfer();
		for (const [name, text] of Object.entries(` + string(list) + `)) dataTransfer.items.add(new File([text], name, {type: 'text/plain'}));
		for (const type of ['dragenter', 'dragover', 'drop']) document.querySelector('h1').dispatchEvent(new DragEvent(type, {dataTransfer, bubbles: true, cancelable: true}));
	}`
}

// drag is a drag of one file or directory of the disk over the middle of the page.
func drag(phase input.DispatchDragEventType, path string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		const mayCopy = 1
		_, err := cdp.Call(ctx, target, input.DispatchDragEvent, input.DispatchDragEventParams{
			Type: phase, X: 640, Y: 300,
			Data: &input.DragData{Items: []*input.DragDataItem{}, Files: []string{path}, DragOperationsMask: mayCopy},
		})
		return err
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
