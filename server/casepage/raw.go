package casepage

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strconv"

	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// contextBytes is how much of the artifact an excerpt shows before and after the lines
// asked for.
const contextBytes = 1200

// artifact opens the unpacked bytes of the artifact that the request names.
func (s *Service) artifact(r *http.Request) (store.Bundle, io.ReadCloser, error) {
	b, err := s.store.Bundle(r.Context(), response.PathValue(r, "bundle"))
	if err != nil {
		return b, nil, err
	}
	path := r.URL.Query().Get("path")
	if path == "" {
		return b, nil, response.Refuse("bad_request", "no file was named", "", "the address has no path=", "open raw lines from a page")
	}
	body, err := s.raw.OpenArtifact(r.Context(), b, path)
	return b, body, err
}

// RawExcerpt shows the lines of a row, at most 64 KiB of them.
func (s *Service) RawExcerpt(w http.ResponseWriter, r *http.Request) {
	b, body, err := s.artifact(r)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	defer body.Close()
	offset := max(0, number(r, "offset"))
	length := min(max(0, number(r, "length")), view.MaxExcerpt-2*contextBytes)
	from := max(0, offset-contextBytes)
	excerpt, firstLine, size, err := cutOut(body, from, int(offset-from+length+contextBytes))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	path := r.URL.Query().Get("path")
	v := view.NewRaw(view.RawInput{
		Bundle: b.ID, BundleName: b.Name, Path: path, Excerpt: excerpt.text, Offset: excerpt.offset, FirstLine: firstLine,
		Size: size, MarkOffset: offset, MarkLength: length, Download: "/raw/" + b.ID + "/download?path=" + queryEscape(path),
	})
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v.Page()))
}

type excerpt struct {
	text   []byte
	offset int64
}

// cutOut reads n bytes from an offset on, moved forward to the start of a line. It also
// returns the number of that line and the size of the artifact.
func cutOut(body io.Reader, from int64, n int) (excerpt, int64, int64, error) {
	lines := int64(1)
	last := byte('\n')
	in := bufio.NewReaderSize(body, 64<<10)
	var at int64
	for at < from {
		chunk, err := in.Peek(int(min(32<<10, from-at)))
		if len(chunk) == 0 {
			if err == io.EOF {
				return excerpt{offset: at}, lines, at, nil
			}
			return excerpt{}, 0, 0, err
		}
		lines += int64(bytes.Count(chunk, []byte("\n")))
		last = chunk[len(chunk)-1]
		in.Discard(len(chunk))
		at += int64(len(chunk))
	}
	text := make([]byte, n)
	got, err := io.ReadFull(in, text)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return excerpt{}, 0, 0, err
	}
	text = text[:got]
	rest, err := io.Copy(io.Discard, in)
	if err != nil {
		return excerpt{}, 0, 0, err
	}
	size := at + int64(got) + rest
	if last != '\n' {
		if cut := bytes.IndexByte(text, '\n'); cut >= 0 && cut < contextBytes {
			text, at, lines = text[cut+1:], at+int64(cut)+1, lines+1
		}
	}
	return excerpt{text, at}, lines, size, nil
}

func number(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
