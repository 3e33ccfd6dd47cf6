package web_test

import (
	"net/http"
	"net/http/httptest"
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
	for name, kind := range map[string]string{"page.css": "text/css", "upload.js": "text/javascript", "icon.svg": "image/svg+xml"} {
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
	r := get(t, http.MethodGet, "/assets/0123456789abcdef/page.css")
	if r.StatusCode != http.StatusFound || r.Header.Get("Location") != web.Asset("page.css") {
		t.Errorf("status %d to %q, want 302 to %q", r.StatusCode, r.Header.Get("Location"), web.Asset("page.css"))
	}
	if got := r.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
}

func TestOnlyAssetsAreServed(t *testing.T) {
	for _, path := range []string{"/assets/", "/assets/x", "/assets/x/", "/assets/x/web.go", "/assets/x/../web.go", "/assets/x/asset/page.css", "/other"} {
		t.Run(path, func(t *testing.T) {
			if r := get(t, http.MethodGet, path); r.StatusCode != http.StatusNotFound {
				t.Errorf("status %d, want 404", r.StatusCode)
			}
		})
	}
	if r := get(t, http.MethodPost, web.Asset("page.css")); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST gives %d, want 405", r.StatusCode)
	}
}
