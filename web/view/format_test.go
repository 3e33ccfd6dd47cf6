package view

import (
	"leakdiff/analysis/say/document"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plainSpaces makes expected values readable.
func plainSpaces(s string) string {
	return strings.NewReplacer("\u202f", " ", hardSpace, " ").Replace(s)
}

func TestTextIsShownAsItIs(t *testing.T) {
	tests := map[string]struct{ got, want string }{
		"a short function keeps the last element": {ShortFunc("k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"), "kubelet.(*podWorkers).UpdatePod"},
		"escape sequences are shown":              {Visible("a\x1b[31mb"), `a\x1b[31mb`},
		"bidirectional controls are shown":        {Visible("a\u202eb"), `a\xe2\x80\xaeb`},
		"C1 controls are shown":                   {Visible("a\u009bb"), `a\x9bb`},
		"zero width characters are shown":         {Visible("a\u200bb"), `a\xe2\x80\x8bb`},
		"bytes that are not UTF-8 are shown":      {Visible("a\xffb"), `a\xffb`},
		"tabs go to the next stop":                {Visible("ab\tc"), "ab      c"},
		"letters of every script stay":            {Visible("größe 時 ا"), "größe 時 ا"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFuncNameSplitsAtThePackage(t *testing.T) {
	tests := []struct{ full, path, name string }{
		{"k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", "k8s.io/kubernetes/pkg/kubelet.", "(*podWorkers).UpdatePod"},
		{"main.main", "main.", "main"},
		{"main.(*T[go.shape.int]).run", "main.", "(*T[go.shape.int]).run"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml%2ev3.", "Unmarshal"},
		{"example.com/a.F[example.com/b/c.T]", "example.com/a.", "F[example.com/b/c.T]"},
		{"net/http.(*conn).serve.func1", "net/http.", "(*conn).serve.func1"},
		{"inotify watches on descriptor 25", "", "inotify watches on descriptor 25"},
		{"", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.full, func(t *testing.T) {
			path, name := document.FunctionName(tt.full)
			if diff := cmp.Diff([]string{tt.path, tt.name}, []string{path, name}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFormatsLoseNothing(t *testing.T) {
	t.Run("the parts of a function are the function", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			full := rapid.String().Draw(t, "full")
			if path, name := document.FunctionName(full); path+name != full {
				t.Errorf("FuncName(%q) = %q, %q", full, path, name)
			}
		})
	})
	t.Run("visible text holds no control and is stable", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			got := Visible(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
			for _, r := range got {
				if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Bidi_Control, r) {
					t.Errorf("%q holds %U", got, r)
				}
			}
			if Visible(got) != got {
				t.Errorf("%q changes again", got)
			}
		})
	})
}
