package procfs

import (
	"io"
	"strconv"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// maxPairs bounds the pairs of one file.
const maxPairs = 200_000

// ParsePairs reads which goroutine waits for which descriptor, as leakdiff collect writes
// it: lines "GOROUTINE FD". A goroutine waits for one descriptor. The error is that of r
// only.
func ParsePairs(r io.Reader, path string) ([]analysis.Pair, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var out []analysis.Pair
	seen := map[int64]bool{}
	for l := range in.All() {
		if l.Text == "" {
			continue
		}
		p, ok := pairLine(l.Text)
		switch {
		case !l.Ended && ok:
			probs.Add(analysis.Warning, l, "the last pair is cut off", "the file ends without a line end, so the number may have lost digits", "upload the archive as leakdiff collect wrote it")
			continue
		case !ok:
			probs.Add(analysis.Warning, l, "a pair is not understood", line.Quote(l.Text)+" is no goroutine id and descriptor", "nothing: the other lines were read")
			continue
		case seen[p.Goroutine]:
			probs.Add(analysis.Warning, l, "a goroutine is listed twice", "goroutine "+strconv.FormatInt(p.Goroutine, 10)+" can wait for one descriptor only", "nothing: the first line counts")
			continue
		}
		if len(out) >= maxPairs {
			probs.Add(analysis.Warning, l, "too many pairs", "only the first "+strconv.Itoa(maxPairs)+" are read", "nothing: the other goroutines have no descriptor")
			break
		}
		seen[p.Goroutine] = true
		out = append(out, p)
	}
	return out, probs.All(), in.Failure(path)
}

// pairLine reads one line.
//
//	"4711 12"                      4711, 12
//	"0 12", "4711 -1", "4711"      no
func pairLine(text string) (analysis.Pair, bool) {
	digits, rest := leadingDigits(text)
	id, err1 := strconv.ParseInt(digits, 10, 64)
	if rest == "" || rest[0] != ' ' {
		return analysis.Pair{}, false
	}
	digits, rest = leadingDigits(rest[1:])
	fd, err2 := strconv.ParseInt(digits, 10, 32)
	return analysis.Pair{Goroutine: id, FD: int(fd)}, err1 == nil && err2 == nil && rest == "" && id > 0
}
