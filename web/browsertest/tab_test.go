package browsertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long one action may take on a busy machine.
const patience = time.Minute

// tab is one tab of a browser with a profile of its own.
type tab struct {
	ctx  context.Context
	base string

	mu      sync.Mutex
	trouble []string
}

// openTab starts a browser with an empty profile, 1280 pixels wide. At the end
// of the test it fails when a page wrote an error or asked another host.
func openTab(t testing.TB, base string) *tab {
	t.Helper()
	tb := openUnwatchedTab(t, base)
	t.Cleanup(func() {
		for _, said := range tb.troubles() {
			t.Errorf("a page made trouble: %s", said)
		}
	})
	return tb
}

// openUnwatchedTab is openTab without the check at the end.
func openUnwatchedTab(t testing.TB, base string) *tab {
	t.Helper()
	// The allocator makes a new user data directory and removes it at the end.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
		// A page out of the back/forward cache loads without the events that
		// chromedp waits for.
		chromedp.Flag("disable-features", "Translate,BackForwardCache"),
		chromedp.WindowSize(1280, 900))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	tb := &tab{ctx: ctx, base: base}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting chromium: %v", err)
	}
	if err := chromedp.Listen(ctx, tb.hear); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return tb
}

// hear keeps what must not happen on any page. It runs on the goroutine that
// reads the browser's messages.
func (tb *tab) hear(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		tb.note("exception: %v", &chromedp.ExceptionError{ExceptionDetails: ev.ExceptionDetails})
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.ConsoleAPICalledTypeError || ev.Type == runtime.ConsoleAPICalledTypeWarning || ev.Type == runtime.ConsoleAPICalledTypeAssert {
			tb.note("console.%s: %s", ev.Type, arguments(ev.Args))
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError || ev.Entry.Level == log.EntryLevelWarning {
			tb.note("%s %s: %s (%s)", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if d := ev.Issue.Details.ContentSecurityPolicyIssueDetails; d != nil {
			tb.note("content security policy: %s refused %s", d.ViolatedDirective, d.BlockedURL)
		}
	case *network.EventRequestWillBeSent:
		if url := ev.Request.URL; !strings.HasPrefix(url, tb.base+"/") && !strings.HasPrefix(url, "data:") {
			tb.note("request to another host: %s", url)
		}
	}
}

// arguments joins what a page gave to console.error.
func arguments(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		words = append(words, string(a.Value)+a.Description)
	}
	return strings.Join(words, " ")
}

func (tb *tab) note(format string, args ...any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.trouble = append(tb.trouble, fmt.Sprintf(format, args...))
}

// ignore forgets what was heard with these words in it: the answer to a form that
// was refused on purpose.
func (tb *tab) ignore(words string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.trouble = slices.DeleteFunc(tb.trouble, func(said string) bool { return strings.Contains(said, words) })
}

// troubles returns what was heard so far.
func (tb *tab) troubles() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return append([]string(nil), tb.trouble...)
}

// run runs an action and ends the test when it fails or takes too long.
func run[T any](t testing.TB, tb *tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("%v\n%s", err, tb.where())
	}
	return value
}

// where says which page the tab is on, for messages of failures.
func (tb *tab) where() string {
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + '\n' + (document.querySelector('main') || document.body).innerText.slice(0, 1500)`))
	if err != nil {
		return "the page could not be asked: " + err.Error()
	}
	return "at " + text
}

func (tb *tab) do(t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	run(t, tb, chromedp.Steps(steps...))
}

// open loads a page of the program, "/help", and demands status 200.
func (tb *tab) open(t testing.TB, path string) {
	t.Helper()
	if answer := run(t, tb, chromedp.NavigateResponse(tb.base+path)); answer.Status != 200 {
		t.Fatalf("GET %s: status %d\n%s", path, answer.Status, tb.where())
	}
}

// follow does what loads another page, and waits until that is there.
func (tb *tab) follow(t testing.TB, action chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, action)
	if err != nil {
		t.Fatalf("%v\n%s", err, tb.where())
	}
	if answer.Status != 200 {
		t.Fatalf("the next page has status %d\n%s", answer.Status, tb.where())
	}
}

// press clicks the first link, button or label with exactly these visible words.
func press(words string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(`(//main//*[self::a or self::button or self::label][normalize-space()=`+strconv.Quote(words)+`])[1]`, chromedp.NodeVisible)
}

// openPart opens a folded part of a case page by its summary, as without scripts.
func openPart(title string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(`//details[contains(@class,"part")][not(@open)]/summary[b[normalize-space()=`+strconv.Quote(title)+`]]`, chromedp.NodeVisible)
}

// see waits until an element is visible; it survives reloads of the page.
func see(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.WaitVisible(chromedp.CSS(selector))
}

// ask evaluates an expression on the page. It works without the page's scripts
// as well, because the question is the test's own.
func ask[T any](t testing.TB, tb *tab, expression string) T {
	t.Helper()
	return run(t, tb, chromedp.Evaluate[T](expression))
}

// path is the address of the page without its host.
func (tb *tab) path(t testing.TB) string {
	t.Helper()
	return ask[string](t, tb, `location.pathname + location.search`)
}

// choose gives these files to the file dialog that an action opens.
func (tb *tab) choose(t *testing.T, action chromedp.Action[chromedp.Void], files ...string) {
	t.Helper()
	tb.do(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true}); err != nil {
			return err
		}
		opened, err := chromedp.WaitEvent(page.FileChooserOpened, nil, action)(ctx, target)
		if err != nil {
			return err
		}
		if opened.Mode != page.FileChooserOpenedModeSelectMultiple {
			return errors.New("the file dialog takes one file only")
		}
		_, err = cdp.Call(ctx, target, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, BackendNodeID: opened.BackendNodeID})
		return err
	}))
}

// waitFor waits until an expression holds on the page.
func waitFor(t testing.TB, tb *tab, expression string) {
	t.Helper()
	run(t, tb, chromedp.Poll[bool](expression))
}
