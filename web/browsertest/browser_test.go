package browsertest

import _ "github.com/chromedp/chromedp"
