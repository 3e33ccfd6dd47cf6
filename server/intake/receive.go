package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/store/blob"
)

// Spare is the number of bytes an upload must leave free on the volume, besides what the store
// reserves for ends of jobs and deletions.
const Spare = 32 << 20

// received is an upload whose bytes are durable but not yet part of a case.
type received struct {
	name  string
	files []store.File
	// hash is over the names and hashes of all files.
	hash string
	size int64
	// key is the owner key of the case, if the form sent one.
	key string
}

// roomFor refuses an upload before its body is read if it is over the limit or the volume
// has no room.
func (s *Service) roomFor(size int64) error {
	if size > s.cfg.UploadLimit {
		return response.Refuse("too_large", "the upload is too large", "", fmt.Sprintf("%s were announced and the limit is %s", wording.Bytes(size), wording.Bytes(s.cfg.UploadLimit)), "upload the dumps alone instead of the whole bundle, or start the server with a higher --upload-limit")
	}
	free, err := s.blobs.Free()
	if err != nil {
		return err
	}
	if free < Spare+max(size, 0) {
		return response.Refuse("disk_full", "the disk of this server is full", "", fmt.Sprintf("%s are free and %s must stay free", wording.Bytes(free), wording.Bytes(Spare)), "delete cases that are no longer needed, or free the disk, and upload again; nothing was kept of this upload")
	}
	return nil
}

// receiveBody stores a raw request body as one file.
func (s *Service) receiveBody(r *http.Request, name string) (received, error) {
	modified, err := modifiedAt(r.URL.Query().Get("modified"))
	if err != nil {
		return received{}, err
	}
	body := &senderReader{r: r.Body}
	ref, err := s.blobs.Put(r.Context(), body, s.cfg.UploadLimit)
	if err != nil {
		return received{}, s.interrupted(r, errors.Join(err, body.err))
	}
	if ref.Size == 0 {
		s.discard(r, []store.File{{SHA256: ref.SHA256, Object: ref.Object}})
		return received{}, response.Refuse("empty", "the upload is empty", name, "not a single byte arrived", "check the path given to curl -T, and that the dump was written before it was sent")
	}
	return finish(name, []store.File{{Name: name, SHA256: ref.SHA256, Object: ref.Object, Size: ref.Size, Modified: modified}}), nil
}

// modifiedAt reads the time at which the sender says that a file was last written.
func modifiedAt(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, response.Refuse("bad_request", "the time of a file cannot be read", "modified", text+" is no time of RFC 3339", "send it as 2026-11-01T10:00:00Z, with + as %2B in a URL, or leave it out")
	}
	return at, nil
}

// senderReader marks errors of reading the body, to tell them from errors of storing it.
type senderReader struct {
	r   io.Reader
	err error
}

func (b *senderReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		b.err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
	}
	return n, err
}

// interrupted explains to the sender that the body ended early.
func (s *Service) interrupted(r *http.Request, err error) error {
	var fault *analysis.Fault
	if errors.As(err, &fault) && (fault.Code == "too_large" || fault.Code == "disk_full" || fault.Code == blob.Unreachable || fault.Code == "stopping") {
		return err
	}
	if isStopping(r.Context()) {
		return stopping()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || r.Context().Err() != nil {
		return response.Refuse("interrupted", "the upload stopped before its end", "", "the connection was closed by the sender", "send it again; nothing was kept")
	}
	return err
}

// receiveForm stores the files and the pasted text of a multipart form, one after the
// other as they arrive.
func (s *Service) receiveForm(r *http.Request) (up received, err error) {
	form, err := r.MultipartReader()
	if err != nil {
		return received{}, badForm(r)
	}
	var files []store.File
	var pasteName, key string
	var modified time.Time
	left := s.cfg.UploadLimit
	empty := 0
	defer func() {
		if err != nil {
			s.discard(r, files)
		}
	}()
	for {
		p, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return received{}, s.interrupted(r, fmt.Errorf("reading the form: %w", errors.Join(err, io.ErrUnexpectedEOF)))
		}
		name := fileName(p)
		field := p.FormName()
		switch {
		case field == "paste-name" || field == "name" || field == "key" || field == "modified":
			text, err := io.ReadAll(io.LimitReader(p, 512))
			if err != nil {
				return received{}, s.interrupted(r, err)
			}
			value := strings.TrimSpace(string(text))
			switch field {
			case "key":
				key = value
			case "modified": // that of the next file
				if modified, err = modifiedAt(value); err != nil {
					return received{}, err
				}
			default:
				pasteName = value
			}
			continue
		case name == "" && field != "text" && field != "paste":
			continue
		}
		body := &senderReader{r: p}
		ref, err := s.blobs.Put(r.Context(), body, left)
		if err != nil {
			return received{}, s.interrupted(r, errors.Join(err, body.err))
		}
		if name == "" {
			if ref.Size == 0 {
				s.discard(r, []store.File{{SHA256: ref.SHA256, Object: ref.Object}})
				continue
			}
			name = "pasted.txt"
			if pasteName != "" {
				name = response.SafeName(pasteName)
			}
		}
		if ref.Size == 0 {
			empty++
		}
		left -= ref.Size
		files = append(files, store.File{Name: name, SHA256: ref.SHA256, Object: ref.Object, Size: ref.Size, Modified: modified})
		modified = time.Time{}
		if len(files) > maxFormFiles {
			return received{}, response.Refuse("too_large", "the upload has too many files", "", fmt.Sprintf("the limit is %d files in one form", maxFormFiles), "pack the directory as tar.gz and upload that")
		}
	}
	if len(files) == 0 {
		return received{}, response.Refuse("empty", "nothing was uploaded", "", "the form held no file and no pasted text", "choose one or more files, or paste a dump, and try again")
	}
	if empty == len(files) {
		return received{}, response.Refuse("empty", "every uploaded file is empty", files[0].Name, "not a single byte arrived", "files of /proc state the size 0: copy them with cp -r first, then upload the copy")
	}
	up = finish(titleOf(files), files)
	up.key = key
	return up, nil
}

// isForm reports whether the header of a request announces a form.
func isForm(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return strings.HasPrefix(kind, "multipart/")
}

// noForm refuses a request that is no form.
func noForm(r *http.Request) error {
	if isForm(r) {
		return nil
	}
	return badForm(r)
}

func badForm(r *http.Request) error {
	return response.Refuse("bad_request", "the request is no upload form", r.URL.Path, "its Content-Type is not multipart/form-data with a boundary", "send multipart/form-data with one or more files, or a raw body with PUT")
}

// discard releases the bytes of an upload that belongs to no case.
func (s *Service) discard(r *http.Request, files []store.File) {
	if err := s.store.Discard(context.WithoutCancel(r.Context()), files); err != nil {
		s.log.Error("removing what a refused upload brought failed", "request", response.RequestID(r), "error", err)
	}
}

// maxFormFiles bounds the files of one form. Larger sets can come as an archive.
const maxFormFiles = 20_000

// fileName returns the name with its directories. Browsers send them for a folder;
// mime/multipart cuts them off.
func fileName(p *multipart.Part) string {
	_, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	if err != nil || params["filename"] == "" {
		return ""
	}
	return response.SafeName(params["filename"])
}

// hashes returns those of the files, in order.
func (r received) hashes() []string {
	out := make([]string, len(r.files))
	for i, f := range r.files {
		out[i] = f.SHA256
	}
	return out
}

func finish(name string, files []store.File) received {
	sum := sha256.New()
	r := received{name: name, files: files}
	for _, f := range files {
		fmt.Fprintf(sum, "%s\x00%s\n", f.Name, f.SHA256)
		r.size += f.Size
	}
	r.hash = hex.EncodeToString(sum.Sum(nil))
	return r
}

// titleOf names an upload of several files: by their common directory, or by the first
// file.
func titleOf(files []store.File) string {
	first, _, folder := strings.Cut(files[0].Name, "/")
	var names []string
	for _, f := range files {
		names = append(names, path.Base(f.Name))
		if !strings.HasPrefix(f.Name, first+"/") {
			folder = false
		}
	}
	switch {
	case folder:
		return first
	case len(files) > 1:
		return wording.Commas(names, 1)
	}
	return files[0].Name
}
