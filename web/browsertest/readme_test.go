package browsertest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the pictures of the README anew")

// pictures is where the pictures of the README are, and what their first screen says.
const pictures = "../../.github"

// firstSaid is what the first screen of a case says, a line for each line of the page.
const firstSaid = `(() => {
	const below = [...document.querySelectorAll('main *')].filter(e => e.matches('svg, .vh, .crumb') || e.getBoundingClientRect().top >= 900);
	for (const e of below) e.style.display = 'none';
	return document.querySelector('main').innerText.replace(/\u200b/g, '');
})()`

// The pictures themselves depend on the fonts of the machine; what they say does not.
func TestThePictureOfTheREADMESaysWhatTheProgramSays(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.do(t, chromedp.EmulateViewport(wide, 900))
	address := uploadSample(t, tb.base).address()
	for theme, name := range map[string]string{"light": "answer.png", "dark": "answer-dark.png"} {
		tb.do(t, prefer(theme))
		tb.open(t, address)
		tb.do(t, settled)
		file := filepath.Join(pictures, name)
		if *update {
			if err := os.WriteFile(file, run(t, tb, firstScreenPicture), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if _, err := os.Stat(file); err != nil {
			t.Errorf("the README shows %s: %v", name, err)
		}
	}
	var lines []string
	for line := range strings.SplitSeq(ask[string](t, tb, firstSaid), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	said, file := strings.Join(lines, "\n")+"\n", filepath.Join(pictures, "answer.txt")
	if *update {
		if err := os.WriteFile(file, []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != said {
		t.Errorf("the picture of the README is out of date (%v), `make pictures` takes it anew; it says\n%s\nand the page\n%s", err, want, said)
	}
}

// firstScreenPicture is the window as PNG.
func firstScreenPicture(ctx context.Context, target *chromedp.Target) ([]byte, error) {
	shot, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	return shot.Data, err
}
