package redact

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// everyName tries every name at every position, the longest first.
func everyName(r *Redactor, s string) string {
	names := []string{}
	for n := range r.known.names {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	var b strings.Builder
	done := 0
	for from := 0; from < len(s); from++ {
		for _, name := range names {
			to := from + len(name) // the texts below keep their lengths in lower case
			if to <= len(s) && strings.ToLower(s[from:to]) == name && stands(s, from, to, r.known.names[name], name) && (!r.whole[name] || apart(s, from, to)) {
				b.WriteString(s[done:from] + r.name(r.known.names[name], words[r.known.names[name]], name))
				done, from = to, to-1
				break
			}
		}
	}
	return b.String() + s[done:]
}

func TestNamesAreFoundAsIfEachWereTriedAtEveryPlace(t *testing.T) {
	piece := rapid.SampledFrom([]string{"node", "Node-1", "node-10", "1", "0", "-", "/", " ", "müller", "MÜLLER", "cart", ".", "x"})
	rapid.Check(t, func(t *rapid.T) {
		one, two := newRedactor(), newRedactor()
		for i, n := range rapid.SliceOfN(rapid.SliceOfN(piece, 1, 4), 1, 12).Draw(t, "names") {
			rule := []Rule{Hosts, Pods, Paths, Users}[i%4]
			one.know(rule, strings.Join(n, ""))
			two.know(rule, strings.Join(n, ""))
		}
		text := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "text"), "")
		if got, want := one.tableNames(&one.known, text), everyName(two, text); got != want {
			t.Fatalf("%q became %q, want %q", text, got, want)
		}
	})
}

func TestALetterOfAnotherLengthInLowerCaseMovesNothing(t *testing.T) {
	r := newRedactor("node-7")
	// The lower case of the first two is shorter and longer than they are.
	if got, want := r.Text("\u212a\u023a at NODE-7, \xff node-7"), "\u212a\u023a at host-1, \\xff host-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestANameWithInvisibleCharactersIsHiddenWhole compares names of threads as a dump has them and as
// a page shows them: each is hidden to its end, and in both forms by one pseudonym.
func TestANameWithInvisibleCharactersIsHiddenWhole(t *testing.T) {
	for what, name := range map[string]string{
		"a zero-width non-joiner": "پرداخت\u200cمشتری", "a zero-width space": "acme\u200bkeller", "a soft hyphen": "kunden\u00admueller", "a byte order mark": "\ufeffschmidtbank",
		"a control character": "krause\x01schneider", "a Latin-1 byte": "m\xfcllerkoeln",
	} {
		t.Run(what, func(t *testing.T) {
			r := newRedactor()
			r.allow(free, name+"-worker-1")
			raw, shown := r.Text(name+"-worker-1"), r.Text("12 threads “"+wording.Printable(name)+"-worker-1” wait")
			if want := "name-1-worker-1"; raw != want || shown != "12 threads “"+want+"” wait" {
				t.Errorf("it is %q in data and %q on a page", raw, shown)
			}
		})
	}
}

// Many names hardly slow down the search of a text: each is looked up by its first
// bytes.
func BenchmarkKnownNames(b *testing.B) {
	text := strings.Repeat("goroutine 7 at 0xc0defeed waits for an abacus. ", 200)
	for _, n := range []int{1, 3000} {
		b.Run(fmt.Sprintf("names=%d", n), func(b *testing.B) {
			r := newRedactor()
			for i := range n {
				r.know(Pods, fmt.Sprintf("%x-%d", sha256.Sum256([]byte{byte(i), byte(i >> 8)}), i))
			}
			for b.Loop() {
				r.tableNames(&r.known, text)
			}
		})
	}
}

func TestDirectoriesThatLeadToAProgramAreHiddenAndItsPackagesAreNot(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"a checkout of somebody", "/home/alice/quagga/app/cmd/x/main.go", "/home/user-1/path-1/app/cmd/x/main.go"},
		{"a directory above all", "/okapiworks/app/main.go", "/path-1/app/main.go"},
		{"a package that functions name", "/builds/okapi/db/pool/pool.go", "/builds/path-1/db/pool/pool.go"},
		{"a drive", `C:\okapi\app\main.go`, `C:\path-1\app\main.go`},
		{"a cache of modules says where it is, not what is in it", "/zebra/pkg/mod/github.com/quagga/lib@v1.2.3/x.go", "/path-1/pkg/mod/github.com/quagga/lib@v1.2.3/x.go"},
		{"a GOPATH", "/go/src/github.com/quagga/app/main.go", "/go/src/github.com/path-1/app/main.go"},
		{"Go itself", "/usr/local/go/src/internal/poll/fd_unix.go", "/usr/local/go/src/internal/poll/fd_unix.go"},
		{"a path that begins with its module", "informer.local/x/main.go", "informer.local/x/main.go"},
		{"a file of a JVM", "OkHttpClient.java", "OkHttpClient.java"},
		{"none", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRedactor()
			r.keep("example.com/okapishop/db/pool.(*Pool).Get")
			r.learnSource(tc.file)
			if got := r.Text(tc.file); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheNameOfAProgramStaysInNamesOfCode(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"wombat", "program-1"},
		{"t0/wombat/lsof.txt and wombat.tar.gz", "t0/program-1/lsof.txt and program-1.tar.gz"},
		{"Wombat.Open, of wombat: shop/wombat.(*Ledger).run <- wombat.Open", "Wombat.Open, of program-1: shop/wombat.(*Ledger).run <- wombat.Open"},
		{"/src/wombat/a.go, /src/wombat/main.go, /x/shop/wombat", "/src/wombat/a.go, /src/program-1/main.go, /x/shop/wombat"},
		{"shop wombat Open", "shop program-1 Open"},
		{"wombat.", "program-1."},
		{"/wombat", "/program-1"},
	} {
		r := newRedactor()
		r.know(Programs, "wombat")
		r.keepFunction("shop/wombat.(*Ledger).run", "shop/wombat.Open")
		r.keepFile(analysis.Frame{Func: "shop/wombat.Open", File: "/src/shop/wombat/a.go"})
		r.keepFile(analysis.Frame{Func: "main.main", File: "/src/wombat/main.go"})
		if got := r.Text(tc.in); got != tc.want {
			t.Errorf("%q became %q, want %q", tc.in, got, tc.want)
		}
	}
}
