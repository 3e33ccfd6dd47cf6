package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/identity"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
	"leakdiff/store/blob"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// spare is how much of the volume an upload must leave free, beside what the store reserves
// for ends of jobs and deletions.
const spare = 32 << 20

// waitLimit is the longest that ?wait=1 holds a request.
const waitLimit = 60 * time.Second

// received is an upload whose bytes are durable but not yet part of a case.
type received struct {
	name  string
	files []store.File
	// hash is over the names and hashes of all files.
	hash string
	size int64
	// key is the owner key of the case, where the form had a field for it.
	key string
}

// roomFor refuses an upload before its body is read when its size is over the
// limit or the volume has no room for it.
func (s *Server) roomFor(size int64) error {
	if size > s.cfg.UploadLimit {
		return refuse("too_large", "the upload is too large", "", fmt.Sprintf("%s were announced and the limit is %s", wording.Bytes(size), wording.Bytes(s.cfg.UploadLimit)), "upload the dumps alone instead of the whole bundle, or start the server with a higher --upload-limit")
	}
	free, err := s.blobs.Free()
	if err != nil {
		return err
	}
	if free < spare+max(size, 0) {
		return refuse("disk_full", "the disk of this server is full", "", fmt.Sprintf("%s are free and %s must stay free", wording.Bytes(free), wording.Bytes(spare)), "delete cases that are no longer needed, or free the disk, and upload again; nothing was kept of this upload")
	}
	return nil
}

// receiveBody stores a raw request body as one file.
func (s *Server) receiveBody(r *http.Request, name string) (received, error) {
	if err := s.roomFor(r.ContentLength); err != nil {
		return received{}, err
	}
	body := &senderReader{r: r.Body}
	ref, err := s.blobs.Put(r.Context(), body, s.cfg.UploadLimit)
	if err != nil {
		return received{}, s.interrupted(r, errors.Join(err, body.err))
	}
	if ref.Size == 0 {
		s.discard(r, []store.File{{SHA256: ref.SHA256}})
		return received{}, refuse("empty", "the upload is empty", name, "not a single byte arrived", "check the path given to curl -T, and that the dump was written before it was sent")
	}
	return finish(name, []store.File{{Name: name, SHA256: ref.SHA256, Size: ref.Size}}), nil
}

// senderReader tells errors of the request's body from those of storing it.
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

// interrupted says that a body ended early in words that help the sender.
func (s *Server) interrupted(r *http.Request, err error) error {
	var fault *analysis.Fault
	if errors.As(err, &fault) && (fault.Code == "too_large" || fault.Code == "disk_full") {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || r.Context().Err() != nil {
		return refuse("interrupted", "the upload stopped before its end", "", "the connection was closed by the sender", "send it again; nothing was kept")
	}
	return err
}

// receiveForm stores the files and the pasted text of a multipart form, one
// after the other as they arrive.
func (s *Server) receiveForm(r *http.Request) (up received, err error) {
	if err := s.roomFor(r.ContentLength); err != nil {
		return received{}, err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return received{}, refuse("bad_request", "the request is no upload form", r.URL.Path, "its Content-Type is not multipart/form-data with a boundary", "send multipart/form-data with one or more files, or a raw body with PUT")
	}
	var files []store.File
	var pasteName, key string
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
		case field == "paste-name" || field == "name" || field == "key":
			text, err := io.ReadAll(io.LimitReader(p, 512))
			if err != nil {
				return received{}, s.interrupted(r, err)
			}
			if field == "key" {
				key = strings.TrimSpace(string(text))
			} else {
				pasteName = strings.TrimSpace(string(text))
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
				s.discard(r, []store.File{{SHA256: ref.SHA256}})
				continue
			}
			name = "pasted.txt"
			if pasteName != "" {
				name = safeName(pasteName)
			}
		}
		if ref.Size == 0 {
			empty++
		}
		left -= ref.Size
		files = append(files, store.File{Name: name, SHA256: ref.SHA256, Size: ref.Size})
		if len(files) > maxFormFiles {
			return received{}, refuse("too_large", "the upload has too many files", "", fmt.Sprintf("the limit is %d files in one form", maxFormFiles), "pack the directory as tar.gz and upload that")
		}
	}
	if len(files) == 0 {
		return received{}, refuse("empty", "nothing was uploaded", "", "the form held no file and no pasted text", "choose one or more files, or paste a dump, and try again")
	}
	if empty == len(files) {
		return received{}, refuse("empty", "every uploaded file is empty", files[0].Name, "not a single byte arrived", "files of /proc state the size 0: copy them with cp -r first, then upload the copy")
	}
	up = finish(titleOf(files), files)
	up.key = key
	return up, nil
}

// discard gives up the bytes of an upload that no case will have.
func (s *Server) discard(r *http.Request, files []store.File) {
	if err := s.store.Discard(context.WithoutCancel(r.Context()), files); err != nil {
		s.log.Error("removing what a refused upload brought failed", "request", requestID(r), "error", err)
	}
}

// maxFormFiles bounds the files of one form; larger sets come as an archive.
const maxFormFiles = 20_000

// fileName is the name with its directories, which the browser sends for a
// folder and mime/multipart cuts off.
func fileName(p *multipart.Part) string {
	_, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	if err != nil || params["filename"] == "" {
		return ""
	}
	return safeName(params["filename"])
}

// safeName is a display name: slashes, no empty, "." or ".." elements, no
// control characters, bounded. It is never used as a file's name on disk.
func safeName(name string) string {
	name = report.Printable(strings.ReplaceAll(name, `\`, "/"))
	var keep []string
	for _, e := range strings.Split(name, "/") {
		if e != "" && e != "." && e != ".." {
			keep = append(keep, e)
		}
	}
	name = strings.Join(keep, "/")
	if len(name) > 400 {
		name = strings.ToValidUTF8(name[len(name)-400:], "")
	}
	if name == "" {
		return "upload"
	}
	return name
}

// hashes are those of the files, in order.
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

// titleOf names an upload of several files: their common directory, or the
// first file.
func titleOf(files []store.File) string {
	first, _, folder := strings.Cut(files[0].Name, "/")
	for _, f := range files {
		if !strings.HasPrefix(f.Name, first+"/") {
			folder = false
		}
	}
	switch {
	case folder:
		return first
	case len(files) > 1:
		return fmt.Sprintf("%s and %d more", path.Base(files[0].Name), len(files)-1)
	}
	return files[0].Name
}

// caseTitle is an upload's name without archive extensions.
func caseTitle(name string) string {
	base := path.Base(name)
	for {
		short := base
		for _, ext := range []string{".gz", ".tgz", ".tar", ".zip", ".zst", ".xz", ".bz2", ".lz4", ".txt"} {
			short = strings.TrimSuffix(short, ext)
		}
		if short == base || short == "" {
			return base
		}
		base = short
	}
}

// placed is where an upload ended up.
type placed struct {
	bundle   store.Bundle
	ownerKey string
	// again says that the same bytes were in the case already.
	again bool
}

// place records an upload in a case, a new one when none is named, and its job
// in the same transaction. Only then it may be acknowledged.
func (s *Server) place(ctx context.Context, caseID string, up received) (placed, error) {
	defer s.worker.nudge()
	if caseID == "" {
		_, b, key, err := s.store.OpenCase(ctx, caseTitle(up.name), "", up.name, up.files)
		if err == nil {
			s.heal(ctx, up)
		}
		return placed{bundle: b, ownerKey: key}, err
	}
	s.placing.Lock() // of two that come together one finds the other
	defer s.placing.Unlock()
	have, ok, err := s.store.FindBundle(ctx, caseID, up.hashes())
	if err != nil {
		return placed{}, err
	}
	if ok {
		s.heal(ctx, up)
		if have.Error != nil && have.Error.Code == store.Crashed {
			// Whoever sends it again has been told to where something else stopped the server.
			if _, err := s.store.Requeue(ctx, have.ID); err != nil {
				return placed{}, err
			}
		}
		have, err = s.store.Bundle(ctx, have.ID)
		return placed{bundle: have, again: true}, err
	}
	b, _, err := s.store.AddBundle(ctx, caseID, up.name, up.files)
	if err == nil {
		s.heal(ctx, up)
	}
	return placed{bundle: b}, err
}

// heal has bundles of all cases read again that failed because bytes of an upload were
// damaged: the upload put them back.
func (s *Server) heal(ctx context.Context, up received) {
	ctx = context.WithoutCancel(ctx)
	ids, err := s.store.FailedOn(ctx, blob.Damaged, up.hashes())
	for _, id := range ids {
		_, failed := s.store.Requeue(ctx, id)
		err = errors.Join(err, failed)
	}
	if err != nil {
		s.log.Error("having bundles read again whose bytes were put back failed", "error", err)
	}
}

// upload takes the form of the start page and of a case.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	caseID := r.URL.Query().Get("case")
	up, err := s.inSlot(w, r, func() (received, error) { return s.receiveForm(r) })
	if err != nil {
		s.fail(w, r, err)
		return
	}
	recorded := false
	defer func() {
		if !recorded {
			s.discard(r, up.files)
		}
	}()
	if err := s.mayAdd(r, caseID, up.key); err != nil {
		s.fail(w, r, err)
		return
	}
	p, err := s.place(r.Context(), caseID, up)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	recorded = !p.again
	address := "/bundles/" + p.bundle.ID
	if p.ownerKey == "" || s.loopback() {
		s.redirect(w, r, address)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.render(w, r, http.StatusOK, page.Stored(view.NewStored(s.engine(), p.ownerKey, address)))
}

// uploaded is the answer of the upload API (DESIGN.md section 8).
type uploaded struct {
	ID        string            `json:"id"`
	Link      string            `json:"link"`
	URL       string            `json:"url"`
	Case      string            `json:"case"`
	OwnerKey  string            `json:"owner_key,omitempty"`
	Status    string            `json:"status"`
	Snapshots []report.Snapshot `json:"snapshots"`
	Problems  int               `json:"problems"`
	Error     string            `json:"error,omitempty"`
}

// putBundle takes curl -T FILE URL/api/v1/bundles/.
func (s *Server) putBundle(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/bundles/")
	if name == "" || name == "-" {
		name = "upload"
	}
	s.acceptUpload(w, r, func() (received, error) { return s.receiveBody(r, safeName(name)) })
}

// postBundle takes a multipart form, or a raw body.
func (s *Server) postBundle(w http.ResponseWriter, r *http.Request) {
	s.acceptUpload(w, r, func() (received, error) {
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); strings.HasPrefix(kind, "multipart/") {
			return s.receiveForm(r)
		}
		return s.receiveBody(r, "upload")
	})
}

func (s *Server) acceptUpload(w http.ResponseWriter, r *http.Request, receive func() (received, error)) {
	ctx := r.Context()
	caseID := r.URL.Query().Get("case")
	if err := s.mayAdd(r, caseID, ""); err != nil {
		s.failAPI(w, r, err)
		return
	}
	up, err := s.inSlot(w, r, receive)
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	recorded := false
	defer func() {
		if !recorded {
			s.discard(r, up.files)
		}
	}()
	key := r.Header.Get("Idempotency-Key")
	if key != "" {
		if err := s.keys.lock(ctx, key); err != nil {
			s.failAPI(w, r, err)
			return
		}
		defer s.keys.unlock(key)
		known, ok, err := s.store.Recall(ctx, key)
		if err != nil {
			s.failAPI(w, r, err)
			return
		}
		if ok && known.RequestHash != up.hash+caseID {
			s.failAPI(w, r, refuse("mismatched_body", "the Idempotency-Key was used for another upload", "", "the bytes or the case differ from those of the first request", "use a new key for a new upload"))
			return
		}
		if ok {
			writeJSONBytes(w, known.Status, known.Body)
			return
		}
	}
	p, err := s.place(ctx, caseID, up)
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	recorded = !p.again
	status := http.StatusCreated
	if p.again {
		status = http.StatusOK
	}
	b := p.bundle
	if r.URL.Query().Get("wait") != "" {
		defer s.worker.attend(b.ID)()
		waiting, cancel := context.WithTimeout(ctx, waitLimit)
		b, err = s.worker.settled(waiting, b.ID)
		cancel()
		if ctx.Err() != nil {
			return // the client left; the ingest goes on
		}
		if errors.Is(err, context.DeadlineExceeded) {
			status, err = http.StatusAccepted, nil
			w.Header().Set("Retry-After", "5")
		}
		if err != nil {
			s.failAPI(w, r, err)
			return
		}
	}
	answer, err := s.answer(ctx, b)
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	answer.OwnerKey, answer.URL = p.ownerKey, s.base(r)+answer.Link
	w.Header().Set("Location", pathOf(s.cfg.BaseURL)+"/api/v1/bundles/"+b.ID)
	body, err := json.Marshal(answer)
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	if key != "" {
		if err := s.store.Remember(ctx, key, store.Answer{RequestHash: up.hash + caseID, Status: status, Body: body}); err != nil {
			s.log.Error("remembering an idempotency key failed", "error", err)
		}
	}
	writeJSONBytes(w, status, append(body, '\n'))
}

// keyLocks lets one request at a time go on with a key: a repetition waits for the answer
// that it repeats.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits until nobody else holds the key, or ctx ends.
func (k *keyLocks) lock(ctx context.Context, key string) error {
	for {
		k.mu.Lock()
		free, held := k.held[key]
		if !held {
			if k.held == nil {
				k.held = map[string]chan struct{}{}
			}
			k.held[key] = make(chan struct{})
			k.mu.Unlock()
			return nil
		}
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-free:
		}
	}
}

func (k *keyLocks) unlock(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.held[key])
	delete(k.held, key)
}

// mayAdd demands the owner key of a case that an upload is added to, unless only
// this machine can reach the server: then everybody has the upload role.
func (s *Server) mayAdd(r *http.Request, caseID, formKey string) error {
	if caseID == "" {
		return nil
	}
	if _, err := s.store.Case(r.Context(), caseID); err != nil {
		return err
	}
	_, err := s.mayEdit(r, caseID, formKey)
	return err
}

func bearer(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// answer says what became of a bundle so far.
func (s *Server) answer(ctx context.Context, b store.Bundle) (uploaded, error) {
	out := uploaded{ID: b.ID, Link: "/cases/" + b.CaseID, Case: b.CaseID, Status: string(b.Status), Snapshots: []report.Snapshot{}, Problems: b.Problems, Error: faultText(b.Error)}
	if b.Status != store.Done {
		return out, nil
	}
	built, err := s.briefly(ctx, b.CaseID, false)
	if err != nil {
		return out, err
	}
	owners, err := s.store.SnapshotBundles(ctx, b.CaseID)
	if err != nil {
		return out, err
	}
	for _, snap := range built.Report.Snapshots {
		if owners[snap.ID] == b.ID {
			out.Snapshots = append(out.Snapshots, snap)
		}
	}
	return out, nil
}

// briefly is the report of a case for what speaks of no single member. Only series
// of several snapshots follow members; where there is none, a million of them are not
// loaded: aged gives as much of them as verdicts need, and nothing is read of them
// for a list.
func (s *Server) briefly(ctx context.Context, caseID string, aged bool) (report.Case, error) {
	found, err := s.store.SnapshotHeads(ctx, caseID)
	if err != nil {
		return report.Case{}, err
	}
	edits, err := s.store.Edits(ctx, caseID)
	if err != nil {
		return report.Case{}, err
	}
	said := identity.Resolve(found, edits)
	if slices.ContainsFunc(report.Group(said.Snapshots), func(l report.JudgedSeries) bool { return len(l.Snapshots) > 1 }) {
		l, err := s.load(ctx, caseID)
		if err != nil {
			return report.Case{}, err
		}
		return l.built, nil
	}
	if aged {
		if found, err = s.store.SnapshotsAged(ctx, caseID); err != nil {
			return report.Case{}, err
		}
		said = identity.Resolve(found, edits)
	}
	for i := range said.Snapshots {
		said.Snapshots[i].Objects = nil // they name members
	}
	marks, err := s.store.Marks(ctx, caseID)
	if err != nil {
		return report.Case{}, err
	}
	known, _ := s.knowledge()
	return report.Build(said.Snapshots, nil, report.Options{Version: s.cfg.Version, Events: happened(said), Loads: said.Loads, Triage: sorted(marks), Knowledge: known}), nil
}

// getBundleAPI is the state of an upload, for those who do not wait.
func (s *Server) getBundleAPI(w http.ResponseWriter, r *http.Request) {
	b, err := s.store.Bundle(r.Context(), pathValue(r, "id"))
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	answer, err := s.answer(r.Context(), b)
	if err != nil {
		s.failAPI(w, r, err)
		return
	}
	answer.URL = s.base(r) + answer.Link
	writeJSON(w, http.StatusOK, answer)
}

// readJSON reads the body of a request into v; a member that v does not have is refused.
// The example is what the sender may send.
func readJSON(w http.ResponseWriter, r *http.Request, v any, example string) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxForm))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if tooLarge := (*http.MaxBytesError)(nil); err == nil || errors.As(err, &tooLarge) {
		return err
	}
	return refuse("bad_request", "the body is not the expected JSON", "", wrongJSON(err), "send "+example)
}

// wrongJSON says in words of JSON why a body cannot be read.
//
//	[]                 ->  "it is an array, and an object is expected"
//	{"keep": 7}        ->  "keep is a number, and a string is expected"
//	{"colour": "red"}  ->  "there is no member \"colour\""
func wrongJSON(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	member, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case err == io.EOF:
		return "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it breaks off before its end"
	case errors.As(err, &syntax):
		return fmt.Sprintf("byte %d is not what JSON may have there", syntax.Offset)
	case unknown:
		return "there is no member " + member
	case errors.As(err, &kind):
		got, _, _ := strings.Cut(kind.Value, " ")
		wanted, what := wantedKind(kind.Type.Kind()), "it"
		if wanted != "an object" {
			what = "a value"
		}
		return fmt.Sprintf("%s is %s, and %s is expected", cmp.Or(kind.Field, what), jsonWords[got], wanted)
	}
	return "a value does not have the form that it needs"
}

// jsonWords are the kinds of values that a body may hold.
var jsonWords = map[string]string{"array": "an array", "object": "an object", "string": "a string", "number": "a number", "bool": "true or false"}

// wantedKind is the kind of value that is read into a Go value.
func wantedKind(k reflect.Kind) string {
	switch k {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		http.Error(w, "encoding failed", http.StatusInternalServerError)
		return
	}
	writeJSONBytes(w, status, append(body, '\n'))
}

func writeJSONBytes(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
