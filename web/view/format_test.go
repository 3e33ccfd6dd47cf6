package view

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plainSpaces makes expected values readable.
func plainSpaces(s string) string {
	return strings.NewReplacer(thinSpace, " ", hardSpace, " ").Replace(s)
}

func TestFiguresAreWrittenAsThePagesSayThem(t *testing.T) {
	tests := map[string]struct{ got, want string }{
		"a rise has a plus":                         {Signed(412), "+412"},
		"a fall has a true minus":                   {Signed(-3), "−3"},
		"no change has no sign":                     {Signed(0), "0"},
		"a large rise is grouped":                   {Signed(100305), "+100 305"},
		"four digits stay together":                 {Number(9999), "9999"},
		"five digits are grouped":                   {Number(10000), "10 000"},
		"negative counts too":                       {Number(-12345), "−12 345"},
		"file counts are grouped from one thousand": {Exact(1470), "1 470"},
		"small sizes are bytes":                     {Bytes(999), "999 B"},
		"kilobytes have one digit below ten":        {Bytes(1400), "1.4 kB"},
		"and none above":                            {Bytes(876123), "876 kB"},
		"a rounded thousand is the next unit":       {Bytes(999600), "1.0 MB"},
		"nine point nine five is ten":               {Bytes(9960), "10 kB"},
		"gigabytes":                                 {Bytes(48_100_000_000), "48 GB"},
		"seconds":                                   {Duration(12 * time.Second), "12 s"},
		"minutes and seconds":                       {Duration(440 * time.Second), "7 min 20 s"},
		"whole hours":                               {Duration(3 * time.Hour), "3 h"},
		"days and hours":                            {Duration(52 * time.Hour), "2 d 4 h"},
		"only two units":                            {Duration(25*time.Hour + 3*time.Second), "1 d 1 h"},
		"below a second":                            {Duration(120 * time.Millisecond), "120 ms"},
		"a rise in per cent":                        {Percent(115, 243), "+111 %"},
		"a fall in per cent":                        {Percent(100, 92), "−8 %"},
		"new instead of infinity":                   {Percent(0, 40), "new"},
		"nothing of nothing":                        {Percent(0, 0), "0 %"},
		"a rise below one per cent is not nought":   {Percent(10000, 10001), "< +1 %"},
		"a fall below one per cent is not nought":   {Percent(10000, 9999), "> −1 %"},
		"a wait is a lower bound":                   {Wait(3), "≥ 3 min"},
		"a long wait":                               {Wait(61), "≥ 1 h 1 min"},
		"no printed minute is less than one":        {Wait(0), "< 1 min"},
		"a kind without waits":                      {Wait(-1), "n/a"},
		"an unknown time is said":                   {Time(time.Time{}), "time unknown"},
		"times are UTC":                             {Time(time.Date(2026, 11, 21, 3, 58, 10, 0, time.FixedZone("", 3600))), "2026-11-21 02:58:10"},
		"one is singular":                           {Plural(1, "problem", "problems"), "1 problem"},
		"many are plural":                           {Plural(1470, "file", "files"), "1 470 files"},
		"a short function keeps the last element":   {ShortFunc("k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"), "kubelet.(*podWorkers).UpdatePod"},
		"escape sequences are shown":                {Visible("a\x1b[31mb"), `a\x1b[31mb`},
		"bidirectional controls are shown":          {Visible("a\u202eb"), `a\xe2\x80\xaeb`},
		"C1 controls are shown":                     {Visible("a\u009bb"), `a\x9bb`},
		"zero width characters are shown":           {Visible("a\u200bb"), `a\xe2\x80\x8bb`},
		"bytes that are not UTF-8 are shown":        {Visible("a\xffb"), `a\xffb`},
		"tabs go to the next stop":                  {Visible("ab\tc"), "ab      c"},
		"letters of every script stay":              {Visible("größe 時 ا"), "größe 時 ا"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, plainSpaces(tt.got)); diff != "" {
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
			path, name := FuncName(tt.full)
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
			if path, name := FuncName(full); path+name != full {
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
	t.Run("digits survive grouping", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.Int64Range(0, 1<<62).Draw(t, "n")
			var back int64
			for _, r := range Exact(n) {
				if r >= '0' && r <= '9' {
					back = back*10 + int64(r-'0')
				}
			}
			if back != n {
				t.Errorf("Exact(%d) reads %d", n, back)
			}
		})
	})
}

func TestAPartIsNeverRoundedToTheWhole(t *testing.T) {
	for _, tt := range []struct {
		part, whole float64
		decimals    int
		want        string
	}{{19910, 20000, 0, "99 %"}, {20000, 20000, 0, "100 %"}, {99999, 100000, 1, "99.9 %"}, {1, 3, 1, "33.3 %"}, {24, 20, 0, "120 %"}} {
		if got := strings.ReplaceAll(percentOf(tt.part, tt.whole, tt.decimals), hardSpace, " "); got != tt.want {
			t.Errorf("%v of %v is %q, want %q", tt.part, tt.whole, got, tt.want)
		}
	}
}
