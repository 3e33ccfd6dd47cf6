package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/samples/corpus"
)

// checkUsual compares ParseUsual with ParseFDInfo, and reports whether it read the
// file.
func checkUsual(t interface {
	Fatalf(string, ...any)
	Helper()
}, raw []byte,
) bool {
	t.Helper()
	got, ok := ParseUsual(raw, 25)
	if !ok {
		return false
	}
	want, problems, err := ParseFDInfo(bytes.NewReader(raw), "25", 25)
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 || err != nil {
		t.Fatalf("%q: %v, %v (-ParseFDInfo +ParseUsual):\n%s", raw, problems, err, diff)
	}
	return true
}

func TestUsualFilesAreReadAsAllOthers(t *testing.T) {
	line := rapid.OneOf(
		rapid.StringMatching(`inotify wd:[0-9a-f]{1,9} ino:[0-9a-f]{1,17} sdev:[0-9a-f]{1,9} mask:[0-9a-f]{1,4} ignored_mask:0( fhandle-bytes:8 fhandle-type:81 f_handle:[0-9a-f]{1,20})?`),
		rapid.StringMatching(`inotify wd:[0-9a-f]{1,2} ino:1 sdev:1c mask:fce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:[0-9a-f]{8}`),
		rapid.StringMatching(`(inotify wd:1 ino:2|mnt_id:\t5|ino:\t7|tfd: 3| |pos:\t1|fanotify ino:1| inotify wd:1)`),
	)
	usual := 0
	rapid.Check(t, func(t *rapid.T) {
		if rapid.Bool().Draw(t, "usual") {
			ino := rapid.IntRange(0, 1<<30).Draw(t, "ino")
			if checkUsual(t, fmt.Appendf(nil, "pos:\t0\nflags:\t02004000\nmnt_id:\t15\nino:\t%d\n", ino)) {
				usual++
			}
			return
		}
		lines := []string{rapid.StringMatching(`pos:\t-?[0-9]{1,3}`).Draw(t, "pos"), rapid.StringMatching(`flags:\t0[0-8]{0,22}`).Draw(t, "flags")}
		lines = append(lines, rapid.SliceOfN(rapid.StringMatching(`(mnt_id|ino):\t[0-9]{1,20}`), 0, 2).Draw(t, "ids")...)
		lines = append(lines, rapid.SliceOfN(line, 0, 3).Draw(t, "lines")...)
		if checkUsual(t, []byte(strings.Join(lines, "\n")+rapid.SampledFrom([]string{"\n", "\n", "\n", "", "\r\n", "\n\n"}).Draw(t, "end"))) {
			usual++
		}
	})
	if usual == 0 {
		t.Errorf("%d usual files: nothing was compared", usual)
	}
}

func TestUsualFilesOfTheCorpusAreReadAsAllOthers(t *testing.T) {
	files, usual := 0, 0
	err := filepath.WalkDir(corpus.Path(t), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(filepath.Base(filepath.Dir(path)), "fdinfo") {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		if checkUsual(t, raw) {
			usual++
		}
		return err
	})
	if err != nil || usual*2 < files {
		t.Errorf("%d of %d files are usual, %v", usual, files, err)
	}
}
