package server

import (
	"fmt"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// leastCompressed is the size in bytes from which an answer is compressed.
const leastCompressed = 2 << 10

// compressed compresses pages and their twins, which shrink to a tenth. Downloads of raw
// bytes go out as they are. A few random bytes hide how long the compressed answer is, since
// pages repeat what their addresses hold beside keys.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.RandomJitter(32, 0, false),
		gzhttp.ContentTypes([]string{"text/html", "application/json", "text/markdown", "text/csv", "image/svg+xml"}))
	if err != nil {
		panic(fmt.Sprintf("the options of compression: %v", err)) // constants
	}
	return wrap(next)
}
