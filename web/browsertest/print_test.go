package browsertest

import (
	"context"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// pageOfPDF is the object of a page.
var pageOfPDF = regexp.MustCompile(`/Type\s*/Page[^s]`)

func TestACaseIsPrintedOnTwoPages(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.open(t, uploadSample(t, tb.base).address())
	pdf := run(t, tb, printedPage)
	if n := len(pageOfPDF.FindAll(pdf, -1)); n < 1 || n > 2 {
		t.Errorf("%d pages, want two at most", n)
	}
}

// printedPage is the page as PDF.
func printedPage(ctx context.Context, target *chromedp.Target) ([]byte, error) {
	out, err := cdp.Call(ctx, target, page.PrintToPDF, page.PrintToPDFParams{})
	return out.Data, err
}
