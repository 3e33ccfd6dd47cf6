package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestASiteOfCasesLeadsToEachOfThem(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/shop.d", "b/shop.d"} {
		for i := range 4 {
			put(t, filepath.Join(dir, name, fmt.Sprintf("2026-11-26T10-0%d-00Z/umbrella-prod.txt", i)), goroutines(map[string]int{"watch": 20 + 10*i}))
		}
	}
	site := filepath.Join(dir, "site")
	got := execute(t, nil, "export", site, filepath.Join(dir, "a", "shop.d"), filepath.Join(dir, "b", "shop.d"))
	if got.status != exitDone || got.stdout != "2 cases in "+filepath.Join(site, "index.html")+"\n" {
		t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	index, err := os.ReadFile(filepath.Join(site, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	var led []string
	for _, found := range regexp.MustCompile(`href="([^"#]+)"`).FindAllStringSubmatch(string(index), -1) {
		led = append(led, found[1])
		if info, err := os.Stat(filepath.Join(site, filepath.FromSlash(found[1]))); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", found[1], err)
		}
	}
	var want []string
	for _, name := range []string{"shop", "shop-2"} {
		for _, file := range []string{"index.html", "ticket.md", "report.md", "report.json", "lanes.svg"} {
			want = append(want, name+"/"+file)
		}
	}
	if !slices.Equal(led, want) {
		t.Errorf("the index leads to %q, want %q", led, want)
	}
	page, err := os.ReadFile(filepath.Join(site, "shop-2", "index.html"))
	const answer = "shop created 30 store.Cart objects and none ended."
	if text := string(page); err != nil || !strings.Contains(text, answer) || !strings.Contains(string(index), answer) {
		t.Errorf("%v, or the page lacks its answer: %s", err, regexp.MustCompile(`<h1>.*?</h1>`).FindString(text))
	}
}

func TestASiteIsOfDumpsAlone(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "full", "x"), "x")
	put(t, filepath.Join(dir, "words.txt"), "no dump\n")
	put(t, filepath.Join(dir, "dump.txt"), goroutines(map[string]int{"watch": 2}))
	if got := execute(t, nil, "export", filepath.Join(dir, "half"), filepath.Join(dir, "dump.txt"), filepath.Join(dir, "words.txt")); got.status != exitError {
		t.Errorf("a case without a dump among others: status %d", got.status)
	}
	if _, err := os.Stat(filepath.Join(dir, "half")); !os.IsNotExist(err) {
		t.Errorf("a half site was left: %v", err)
	}
	if got := execute(t, nil, "export", filepath.Join(dir, "one"), filepath.Join(dir, "dump.txt")); got.status != exitDone {
		t.Errorf("one dump: status %d: %s", got.status, got.stderr)
	}
	if index, err := os.ReadFile(filepath.Join(dir, "one", "index.html")); err != nil || strings.Contains(string(index), "lanes.svg") {
		t.Errorf("the index of one dump leads to a drawing, or %v", err)
	}
	for _, c := range []struct{ name, to, from, want string }{
		{"a directory with other files", "full", "dump.txt", "the directory of the site is not empty"},
		{"a file without a dump", "new", "words.txt", "no dump was found in "},
		{"a path that is not there", "new", "none.txt", "none.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := execute(t, nil, "export", filepath.Join(dir, c.to), filepath.Join(dir, c.from)); got.status != exitError || !strings.Contains(got.stderr, c.want) {
				t.Errorf("status %d: %s", got.status, got.stderr)
			}
		})
	}
}

func TestARedactedSiteNamesNoHost(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		put(t, filepath.Join(dir, "case", "umbrella-prod-7", "shop", fmt.Sprintf("t%d.txt", i)), strings.ReplaceAll(goroutines(map[string]int{"watch": 20 + 10*i}), "/src/shop/", "/home/wesker/shop/"))
	}
	site := filepath.Join(dir, "site")
	put(t, filepath.Join(dir, "umbrella-prod-7.txt"), goroutines(map[string]int{"watch": 3}))
	if got := execute(t, nil, "export", "--redact", site, filepath.Join(dir, "case"), filepath.Join(dir, "umbrella-prod-7.txt")); got.status != exitDone || !strings.Contains(got.stderr, "redacted: ") {
		t.Fatalf("status %d: %s", got.status, got.stderr)
	}
	err := filepath.WalkDir(site, func(path string, d os.DirEntry, err error) error {
		if strings.Contains(path, "umbrella-prod-7") {
			t.Errorf("the name of %s", path)
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{"umbrella-prod-7", "wesker"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds %q", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
