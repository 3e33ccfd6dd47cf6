package browsertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// slowly has the tab send so many bytes a second.
func slowly(perSecond float64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{UploadThroughput: perSecond, DownloadThroughput: -1}},
		})
		return err
	})
}

// bigDump is a dump of many goroutines with as many stacks as there are numbers below kinds.
func bigDump(n, kinds int) string {
	var b strings.Builder
	b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n")
	for id := range n {
		fmt.Fprintf(&b, "goroutine %d [chan receive]:\nmain.wait%d()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id+7, id%kinds)
	}
	return b.String()
}

// said keeps what a progress says at each change, in the session of the tab.
func said(id string) string {
	return `{
		const el = document.getElementById('` + id + `'), keep = () => { if (el.textContent) sessionStorage.said = (sessionStorage.said || '') + el.textContent + '\\n'; };
		new MutationObserver(keep).observe(el, {childList: true, characterData: true, subtree: true}); keep();
	}`
}

func TestAnUploadShowsItsProgressAndLandsOnTheAnswer(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.do(t, slowly(400_000))
	tb.open(t, "/")
	ask[chromedp.Void](t, tb, said("sending-text"))
	ask[chromedp.Void](t, tb, dropOf(t, map[string]string{"t0.txt": bigDump(4000, 3), "t1.txt": bigDump(4100, 3)}))
	tb.do(t, see("#sending"))
	write(t, filepath.Join("screenshots", fmt.Sprintf("uploading-light-%d.png", wide)), string(run(t, tb, picture)))
	tb.do(t, see(answerShown))
	if at := tb.path(t); !strings.HasPrefix(at, "/cases/") {
		t.Fatalf("the upload lands on %s", at)
	}
	texts := ask[string](t, tb, `sessionStorage.said`)
	for _, want := range []string{"Uploading 2 files: ", "\u00a0%, ", "\u00a0kB of 1.0\u00a0MB, ", "/s", " s left", "sent; the server is storing them", "Stored. Reading"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the progress never said %q:\n%s", want, texts)
		}
	}
}

func TestAnUploadWithoutAnyDumpLandsOnWhatToDo(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.open(t, "/")
	ask[chromedp.Void](t, tb, dropOf(t, map[string]string{"hello.txt": "hello\n"}))
	tb.do(t, see(".prob"))
	if got := run(t, tb, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(got, "hello.txt holds no dump.") || !strings.Contains(got, "upload a goroutine dump") {
		t.Errorf("the page says %s", got)
	}
	t.Run("a dump that is dropped there is the answer", func(t *testing.T) {
		ask[chromedp.Void](t, tb, dropOf(t, map[string]string{"t0.txt": firstDump}))
		wantSnapshots(t, tb, map[string]string{"t0": "2"})
	})
}

// What somebody writes on the page of a case while more of it is read must not be lost.
func TestACaseShowsWhatIsReadAndKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	var up uploaded
	send(t, http.MethodPut, tb.base+"/api/v1/bundles/t0.txt?wait=1", strings.NewReader(firstDump), &up)
	// What is read first leaves time to type: it takes longer to read than to send.
	var others []bytes.Buffer
	for n := range 6 {
		others = append(others, bytes.Buffer{})
		w, _ := gzip.NewWriterLevel(&others[n], gzip.BestSpeed)
		if _, err := io.WriteString(w, bigDump(600_000+n, 3)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range others {
		var other uploaded
		send(t, http.MethodPut, tb.base+"/api/v1/bundles/other.txt.gz", &others[n], &other)
	}
	send(t, http.MethodPut, tb.base+"/api/v1/bundles/t1.txt?case="+strings.TrimPrefix(up.address(), "/cases/"), strings.NewReader(bigDump(200_000, 3)), &up)
	tb.open(t, up.address())
	tb.do(t, see("#progress"))
	write(t, filepath.Join("screenshots", fmt.Sprintf("reading-light-%d.png", wide)), string(run(t, tb, picture)))
	tb.do(t, openPart("Files"), fill("#case-ticket", "INC-4711"))
	run(t, tb, chromedp.Evaluate[chromedp.Void](`document.querySelector('#case-ticket').focus()`))
	tb.do(t, chromedp.WaitNotPresent(chromedp.CSS("#progress")), see("#case-ticket"))
	got := ask[struct {
		Ticket, Focus string
		Scrolled      bool
	}](t, tb, `({Ticket: document.querySelector('#case-ticket').value, Focus: document.activeElement.id, Scrolled: scrollY > 0})`)
	if diff := cmp.Diff(struct {
		Ticket, Focus string
		Scrolled      bool
	}{"INC-4711", "case-ticket", true}, got); diff != "" {
		t.Errorf("after the page loaded again (-want +got):\n%s", diff)
	}
}

// waitForSentences waits until each case of the list has its sentence: an upload is done a
// moment before that of its case is stored.
func waitForSentences(t *testing.T, base string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var all struct {
			Cases []struct{ Title, Headline string }
		}
		send(t, http.MethodGet, base+"/api/v1/cases", strings.NewReader(""), &all)
		without := ""
		for _, c := range all.Cases {
			if c.Headline == "" {
				without = c.Title
			}
		}
		if without == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no sentence", without)
		}
	}
}

func TestTheListOfCasesIsSortedAndFilteredInPlace(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	for name, body := range map[string]string{"one.txt": firstDump, "two.txt": laterDump, "notes.txt": "hello\n"} {
		var up uploaded
		send(t, http.MethodPut, tb.base+"/api/v1/bundles/"+name+"?wait=1", strings.NewReader(body), &up)
	}
	waitForSentences(t, tb.base)
	tb.open(t, "/")
	list := func() []string {
		return ask[[]string](t, tb, `[...document.querySelectorAll('#cases tbody tr')].filter(r => r.checkVisibility()).map(r => r.querySelector('.by span').textContent.trim())`)
	}
	all := list()
	if len(all) < 4 { // the samples, too
		t.Fatalf("the list holds %q", all)
	}
	run(t, tb, chromedp.Evaluate[chromedp.Void](`window.stays = true`))
	tb.do(t, chromedp.SetValue(chromedp.CSS(`#choice [name=sort]`), "name"))
	run(t, tb, chromedp.Evaluate[chromedp.Void](`document.querySelector('#choice [name=sort]').dispatchEvent(new Event('change', {bubbles: true}))`))
	if got := list(); len(got) != len(all) || got[0] == all[0] && got[1] == all[1] && got[2] == all[2] {
		t.Errorf("sorted by name: %q, before %q", got, all)
	}
	tb.do(t, chromedp.SendKeys(chromedp.CSS(`#choice [name=find]`), "holds no"))
	if diff := cmp.Diff([]string{"notes"}, list()); diff != "" {
		t.Errorf("filtered (-want +got):\n%s", diff)
	}
	if at := ask[string](t, tb, `location.search`); at != "?find=holds+no&sort=name" {
		t.Errorf("the address has %q", at)
	}
	tb.do(t, chromedp.SendKeys(chromedp.CSS(`#choice [name=find]`), "such"))
	if n := len(list()); n != 0 || !ask[bool](t, tb, `document.getElementById('cases-none').checkVisibility() && window.stays`) {
		t.Errorf("%d cases left, want none and a line that says so, on the same page", n)
	}
}

func TestTheChosenThemeIsWrittenIntoThePage(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.do(t, prefer("light"))
	tb.open(t, "/")
	tb.do(t, chromedp.Click(chromedp.CSS("#theme")))
	tb.do(t, withoutScripts)
	tb.open(t, "/help")
	if got := ask[string](t, tb, `document.documentElement.dataset.theme ?? ''`); got != "dark" {
		t.Errorf("the page without scripts has the theme %s", strconv.Quote(got))
	}
}
