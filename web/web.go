// Package web holds the assets of the pages: style sheet, scripts and icon. It
// takes a file's name and gives its address, which contains a hash of the
// content, so that browsers may keep it for ever. The pages themselves are in
// web/page, what they show in web/view, the drawings in web/chart; none of them
// knows storage or the network.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
)

//go:embed asset
var files embed.FS

type asset struct {
	content []byte
	url     string
}

// sheets are style sheets put together of files, each for a group of pages: none of
// them carries what only others need. What is for print comes last and wins.
var sheets = map[string][]string{
	"home.css":      {"token", "drawing", "base", "raw", "upload", "home", "print"},
	"page.css":      {"token", "drawing", "base", "case", "answer", "diff", "raw", "upload", "print"},
	"inventory.css": {"token", "drawing", "base", "case", "raw", "upload", "inventory", "print"},
}

// style puts a sheet together.
func style(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		content, err := fs.ReadFile(files, "asset/"+part+".css")
		if err != nil {
			panic(err) // the directory is part of the binary
		}
		b.Write(content)
	}
	return b.String()
}

// assets are read and hashed once, by their names.
var assets = sync.OnceValue(func() map[string]asset {
	found := map[string]asset{}
	entries, err := fs.ReadDir(files, "asset")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	add := func(name string, content []byte) {
		sum := sha256.Sum256(content)
		found[name] = asset{content, "/assets/" + hex.EncodeToString(sum[:8]) + "/" + name}
	}
	for name, parts := range sheets {
		add(name, []byte(style(parts...)))
	}
	for _, e := range entries {
		if name := e.Name(); path.Ext(name) == ".css" && name != "chart.css" {
			continue // a part of a sheet
		}
		content, err := fs.ReadFile(files, "asset/"+e.Name())
		if err != nil {
			panic(err)
		}
		add(e.Name(), content)
	}
	return found
})

// Asset returns the address of an embedded file, "/assets/0123456789abcdef/page.css".
// It panics on a name that does not exist, which the tests of the pages find.
func Asset(name string) string {
	a, ok := assets()[name]
	if !ok {
		panic("web: no asset " + name)
	}
	return a.url
}

// Handler serves every address that Asset returns, compressed and for ever cacheable. The
// address of an older release is redirected to the current content.
func Handler() http.Handler { return gzhttp.GzipHandler(http.HandlerFunc(serve)) }

func serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "assets can only be read", http.StatusMethodNotAllowed)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/assets/")
	_, name, deep := strings.Cut(rest, "/")
	a, known := assets()[name]
	if !ok || !deep || !known {
		http.NotFound(w, r)
		return
	}
	if a.url != r.URL.Path {
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, string(Link(r.Context(), a.url)), http.StatusFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(a.content))
}

// contentType does not ask the system's table, which differs between machines.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
