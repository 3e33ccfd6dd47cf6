package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"leakdiff/web"
)

func get(t *testing.T, method, path string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	web.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Result()
}

func TestAnAssetMayBeKeptForEver(t *testing.T) {
	for name, kind := range map[string]string{"app.css": "text/css", "upload.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		t.Run(name, func(t *testing.T) {
			r := get(t, http.MethodGet, web.Asset(name))
			if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), kind) {
				t.Errorf("status %d, type %q, want 200 and %s", r.StatusCode, r.Header.Get("Content-Type"), kind)
			}
			if got := r.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
				t.Errorf("Cache-Control is %q, want immutable", got)
			}
		})
	}
}

func TestTheAddressOfAnOlderReleaseLeadsToTheCurrentContent(t *testing.T) {
	r := get(t, http.MethodGet, "/assets/0123456789abcdef/app.css")
	if r.StatusCode != http.StatusFound || r.Header.Get("Location") != web.Asset("app.css") {
		t.Errorf("status %d to %q, want 302 to %q", r.StatusCode, r.Header.Get("Location"), web.Asset("app.css"))
	}
	if got := r.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
}

func TestOnlyAssetsAreServed(t *testing.T) {
	for _, path := range []string{"/assets/", "/assets/x", "/assets/x/", "/assets/x/web.go", "/assets/x/../web.go", "/assets/x/asset/app.css", "/other"} {
		t.Run(path, func(t *testing.T) {
			if r := get(t, http.MethodGet, path); r.StatusCode != http.StatusNotFound {
				t.Errorf("status %d, want 404", r.StatusCode)
			}
		})
	}
	if r := get(t, http.MethodPost, web.Asset("app.css")); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST gives %d, want 405", r.StatusCode)
	}
}

func TestStyleAndScriptsOfAPageStaySmall(t *testing.T) {
	everywhere := []string{"app.css", "chart.css", "copy.js", "keys.js", "theme.js"}
	for page, more := range map[string][]string{"the first page": {"upload.js"}, "a bundle": {"progress.js"}, "a comparison": {"diff.css"}} {
		total := int64(0)
		for _, name := range append(slices.Clone(everywhere), more...) {
			total += get(t, http.MethodGet, web.Asset(name)).ContentLength
		}
		if total > 60_000 {
			t.Errorf("%s: %d bytes of style and scripts, want at most 60 000", page, total)
		}
		t.Logf("%s: %d bytes", page, total)
	}
}

func TestStyleIsServedWithoutCommentsAndAsItIsWritten(t *testing.T) {
	for _, name := range []string{"app.css", "chart.css", "diff.css"} {
		written, err := os.ReadFile("asset/" + name)
		if err != nil {
			t.Fatal(err)
		}
		r := get(t, http.MethodGet, web.Asset(name))
		served, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		bare := regexp.MustCompile(`(?s)/\*.*?\*/|\s`)
		if want, got := bare.ReplaceAllString(string(written), ""), bare.ReplaceAllString(string(served), ""); got != want {
			t.Errorf("%s is served with other rules than it has", name)
		}
		if strings.Contains(string(served), "/*") || strings.Contains(string(served), "\n") {
			t.Errorf("%s is served with comments or lines", name)
		}
		for _, quoted := range regexp.MustCompile(`"[^"]*"`).FindAllString(bare.ReplaceAllString(string(written), " "), -1) {
			if strings.ContainsAny(quoted, "{};") {
				t.Errorf("%s holds the string %s, in which blanks would be lost", name, quoted)
			}
		}
	}
}
