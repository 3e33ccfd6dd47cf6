package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// wide and narrow are the widths, in CSS pixels, at which pages are looked at: a
// laptop and a phone.
const (
	wide   = 1280
	narrow = 390
)

// sight is a page to look at, by the name of its pictures and its address.
type sight struct{ name, path string }

func TestPagesFitAPhoneAndAreDrawnForPeople(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	sights := everyPage(t, tb.base)
	for _, s := range sights {
		t.Run(s.name+" does not scroll sideways", func(t *testing.T) {
			looksGood(t, tb, s)
		})
	}
}

// looksGood fails where a page scrolls sideways, and writes its pictures.
func looksGood(t *testing.T, tb *tab, s sight) {
	t.Helper()
	if err := os.MkdirAll("screenshots", 0o755); err != nil {
		t.Fatal(err)
	}
	tb.open(t, s.path)
	for _, width := range []int64{wide, narrow} {
		tb.do(t, chromedp.EmulateViewport(width, 900))
		if diff := cmp.Diff([]string{}, tooWide(t, tb)); diff != "" {
			t.Errorf("at %d px these reach over the edge (-want +got):\n%s", width, diff)
		}
		for _, theme := range []string{"light", "dark"} {
			tb.do(t, prefer(theme), settled)
			write(t, filepath.Join("screenshots", fmt.Sprintf("%s-%s-%d.png", s.name, theme, width)), string(run(t, tb, picture)))
		}
	}
}

// everyPage uploads the kubelet sample, freezes a comparison of it and gives the
// address of each page.
func everyPage(t *testing.T, base string) []sight {
	t.Helper()
	up := uploadSample(t, base)
	var found struct {
		Series []struct {
			Process  string
			Families []struct{ Fingerprint, Kind, Title string }
			Objects  []struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(get(t, base+"/cases/"+up.Case+".json")), &found); err != nil {
		t.Fatal(err)
	}
	family := map[string]string{}
	objects := "/objects/none"
	for _, series := range found.Series {
		if len(series.Objects) > 0 {
			objects = "/objects/" + series.Objects[0].ID + "?case=" + up.Case
		}
		for _, f := range series.Families {
			if key := f.Kind; series.Process == "kubelet" && family[key] == "" {
				family[key] = f.Fingerprint
			}
		}
	}
	pair := "/diff/" + up.kubelet("t1") + ".." + up.kubelet("t6")
	diff := pair + "?case=" + up.Case
	var frozen struct{ Link string }
	send(t, http.MethodPost, base+"/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"case": %q, "view": %q, "redact": true, "keep": "90d", "preview": "counts"}`, up.Case, diff)), &frozen)
	var nothing uploaded
	send(t, http.MethodPut, base+"/api/v1/bundles/hello.txt?wait=1", strings.NewReader("hello\n"), &nothing)
	return []sight{
		{"home", "/"},
		{"home-filtered", "/?find=holds&since=2026-01-01&text=hello"},
		{"nothing", nothing.address()},
		{"api", "/api"},
		{"bundle", "/bundles/" + up.ID},
		{"case", "/cases/" + up.Case},
		{"case-open", "/cases/" + up.Case + "?open=all"},
		{"identity", "/cases/" + up.Case + "/identity"},
		{"diff", diff},
		{"diff-open", diff + "&open=" + family["goroutine"]},
		{"diff-figures", diff + "&show=base&stacks=split&q=fun:x&open=" + family["goroutine"]},
		{"diff-why", diff + "&why=" + family["goroutine"]},
		{"compare", "/compare?case=" + up.Case + "&show=previous"},
		{"compare-elsewhere", "/diff-other?case=" + up.Case + "&b=" + up.kubelet("t6")},
		{"family", "/families/" + family["goroutine"] + "?case=" + up.Case},
		{"objects", objects},
		{"snapshot", "/snapshots/" + up.kubelet("t6") + "?case=" + up.Case},
		{"flame", "/snapshots/" + up.kubelet("t6") + "/flame?case=" + up.Case},
		{"flame-diff", pair + "/flame?case=" + up.Case},
		{"case-charts", "/cases/" + up.Case + "?charts=1"},
		{"share", "/share?view=" + strings.NewReplacer("?", "%3F", "&", "%26").Replace(diff)},
		{"permalink", frozen.Link},
		{"knowledge", "/knowledge"},
		{"knowledge-found", "/knowledge?q=spdystream"},
		{"help", "/help"},
		{"search", "/search?q=housekeeping"},
		{"server", "/server"},
		{"fleet", "/fleet?days=3650"},
		{"fleet-objects", "/fleet?kind=object&days=3650"},
		{"fleet-none", "/fleet?q=nosuchword"},
		{"fleet-family", "/fleet/" + family["goroutine"] + "?days=3650"},
		{"search-hosts", "/search?q=realnode1"},
		{"search-none", "/search?q=nosuchword"},
	}
}

// send sends a body and reads the JSON answer, which must say 200 or 201.
func send(t testing.TB, method, url string, body interface{ Read([]byte) (int, error) }, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s: %s", method, url, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// tooWide names what makes the page scroll sideways; it is empty when nothing does.
func tooWide(t *testing.T, tb *tab) []string {
	t.Helper()
	return ask[[]string](t, tb, `(() => {
		if (document.documentElement.scrollWidth <= innerWidth) return [];
		const held = e => { for (e = e.parentElement; e && e !== document.documentElement; e = e.parentElement) if (getComputedStyle(e).overflowX !== 'visible') return true; };
		return ['the page: ' + document.documentElement.scrollWidth + ' px'].concat([...document.body.querySelectorAll('*')]
			.filter(e => e.getBoundingClientRect().right > innerWidth && !held(e)).slice(0, 10)
			.map(e => e.tagName.toLowerCase() + (e.id && '#' + e.id) + (e.getAttribute('class') ? '.' + e.getAttribute('class') : '') + ': ' + Math.round(e.getBoundingClientRect().right) + ' px'));
	})()`)
}

// prefer makes the browser prefer a colour scheme, "light" or "dark".
func prefer(theme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		return err
	})
}

// settled ends what fades: colours change gradually, and a browser without a window may draw no
// frame for them, so that they would never begin.
var settled = chromedp.Evaluate[chromedp.Void](`document.getAnimations().forEach(a => a.finish())`)

// picture is the whole page as PNG, as wide as the window.
func picture(ctx context.Context, target *chromedp.Target) ([]byte, error) {
	yes := true
	shot, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &yes, OptimizeForSpeed: &yes,
	})
	return shot.Data, err
}
