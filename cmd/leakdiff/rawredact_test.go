package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

func TestAMaskedCopyHoldsNoSecretAndSaysTheSame(t *testing.T) {
	dir, secrets := secretCapture(t)
	for name, text := range map[string]string{
		// Texts that no reader takes names from are masked as well.
		"t0/notes.txt":       "ssh zulaa@kappahost7.qoppa.internal; tar czf /srv/qoppabank/x.tgz\ntoken=ghp_q7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9MnP1r\n",
		"t1/qoppabank/x.log": "{\"level\":\"info\",\"user\":\"zulaa\",\"msg\":\"dial\\nkappa-db-3.qoppa.internal\"}\n",
		"t2/net/tcp":         "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1538 5B7100CB:D431 01 00000000:00000000 00:00000000 00000000  1000        0 90017 1 0000000000000000 20 4 30 10 -1\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secrets["the peer in hex"] = "5b7100cb"
	for _, to := range []string{"masked", "masked.tar.gz"} {
		out := filepath.Join(t.TempDir(), to)
		got := execute(t, nil, "redact", dir, out)
		if got.status != exitDone || !strings.Contains(got.stdout, "says the same") {
			t.Fatalf("exit status %d\n%s%s", got.status, got.stdout, got.stderr)
		}
		names := map[string]int{}
		eachCopied(t, out, func(name, text string) {
			for what, needle := range secrets {
				for where, text := range map[string]string{"text": text, "name": name} {
					if at := strings.Index(strings.ToLower(text), needle); at >= 0 {
						t.Errorf("%s: the %s has %s: …%s…", name, where, what, text[max(0, at-60):min(len(text), at+60)])
					}
				}
			}
			if strings.HasSuffix(name, "goroutines.txt") && !strings.Contains(text, "main.(*basket).wait(0x") {
				t.Errorf("%s does not name the function any more", name)
			}
			for _, m := range regexp.MustCompile(`-> ?(\S+):5432`).FindAllStringSubmatch(text, -1) {
				names[m[1]]++
			}
		})
		if len(names) != 3 {
			t.Errorf("3 peers became %d: %v", len(names), names)
		}
	}
}

// eachCopied calls f with the files of a masked copy.
func eachCopied(t *testing.T, out string, f func(name, text string)) {
	t.Helper()
	if !strings.HasSuffix(out, ".tar.gz") {
		err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			f(strings.TrimPrefix(path, out), string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		text, readErr := io.ReadAll(r)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		f(h.Name, string(text))
	}
}

// A copy of each capture says the same, whatever wrote it.
func TestAMaskedCopyOfEveryCaptureSaysTheSame(t *testing.T) {
	same := 0
	try := func(in string) {
		t.Helper()
		switch got := execute(t, nil, "redact", absolute(t, in), filepath.Join(t.TempDir(), "masked")); {
		case got.status == exitVerdict:
			t.Errorf("%s: %s%s", in, got.stdout, got.stderr)
		case got.status == exitDone:
			same++
		case !strings.Contains(got.stderr, "no dump was found"):
			t.Errorf("%s: %s", in, got.stderr)
		}
	}
	for _, sample := range []string{"inotify-leak", "kubelet-probe-leak", "two-dumps"} {
		try(filepath.Join("../../samples", sample))
	}
	for _, room := range []string{"goroutine", "thread", "lsof", "procfs", "tracer", "nodereport", "metrics", "gauge", "histogram"} {
		files, err := filepath.Glob(filepath.Join("../../analysis/read", room, "testdata", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			switch info, err := os.Stat(file); {
			case err != nil:
				t.Fatal(err)
			case info.IsDir() || info.Size() > 300<<10: // the rest is of fuzzing, or of the same kinds
			case strings.HasSuffix(file, "lsfd.txt"): // two programs with blanks in their names become one
			default:
				try(file)
			}
		}
	}
	for _, series := range []string{"inputs3", "why", "wild3/thread"} {
		if !corpus.Has(t, series) {
			continue
		}
		cases, err := filepath.Glob(corpus.Path(t, filepath.FromSlash(series), "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range cases {
			try(in)
		}
	}
	if same < 80 {
		t.Errorf("%d copies say the same: too few captures were found", same)
	}
}

// TestACrashIsMaskedAndStillSaysWhy: of one goroutine nothing is counted, and of a journal the signal is the answer.
func TestACrashIsMaskedAndStillSaysWhy(t *testing.T) {
	const dump = "goroutine 1 [select, 7 minutes]:\nmain.main()\n\t/src/main.go:1 +0x1\n"
	behind := func(text string) string {
		return "May 13 11:37:38 okapi-7 billing[1083]: " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\nMay 13 11:37:38 okapi-7 billing[1083]: ") + "\n"
	}
	for name, text := range map[string]string{
		"panic":    "panic: okapi\n\ngoroutine 7 [running]:\nmain.work(0x1)\n\t/src/main.go:9 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:20 +0x3a\nexit status 2\n",
		"compiler": "x.go:5:27: internal compiler error: bvset: index 0\n\ngoroutine 92 [running]:\ncmd/compile/internal/base.FatalfAt({0x2})\n\t/go/src/cmd/compile/internal/base/print.go:227 +0x22a\nmain.main()\n\t/go/src/cmd/compile/main.go:57 +0x1\n",
		"journal":  behind("SIGABRT: abort\nPC=0x58af120087e1 m=0 sigcode=0\n\n" + dump + "\nrax    0xca\nrbx    0x0\n"),
	} {
		in, out := filepath.Join(t.TempDir(), name+".log"), filepath.Join(t.TempDir(), "masked")
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := execute(t, nil, "redact", in, out); got.status != exitDone || !strings.Contains(got.stdout, "The copy says the same") {
			t.Errorf("%s: exit status %d\n%s%s", name, got.status, got.stdout, got.stderr)
		}
		got := execute(t, nil, "report", out)
		if said := got.stdout; strings.Contains(said, "okapi") || name == "journal" && !strings.Contains(said, "SIGABRT") || name != "journal" && !strings.Contains(said, "CRASHED") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

func TestWhatCannotBeMaskedIsLeftOutAndNamed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"in/dump.txt":   "goroutine 1 [select]:\nmain.main()\n\t/src/main.go:1 +0x1\n",
		"in/core.1":     "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x3e\x00okapibank",
		"full/file.txt": "x",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	got := execute(t, nil, "redact", filepath.Join(dir, "in"), out)
	if got.status != exitDone || !strings.Contains(got.stdout, "1 file in "+out+", 1 left out") || !strings.Contains(got.stderr, "left out: core.1: it is neither text nor a profile") {
		t.Errorf("exit status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	if _, err := os.Stat(filepath.Join(out, "core.1")); err == nil {
		t.Error("the core was copied")
	}
	if got := execute(t, nil, "redact", filepath.Join(dir, "in"), filepath.Join(dir, "full")); got.status != exitError || !strings.Contains(got.stderr, "not empty") {
		t.Errorf("a directory with files: exit status %d, %s", got.status, got.stderr)
	}
}
