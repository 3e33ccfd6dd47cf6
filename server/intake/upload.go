package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/access"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// waitLimit bounds how long ?wait=1 holds a request.
const waitLimit = 60 * time.Second

// Upload handles the forms of the start page and of a case.
func (s *Service) Upload(w http.ResponseWriter, r *http.Request) {
	caseID := r.URL.Query().Get("case")
	up, err := s.inSlot(w, r, noForm(r), func() (received, error) { return s.receiveForm(r) })
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	recorded := false
	defer func() {
		if !recorded {
			s.discard(r, up.files)
		}
	}()
	if err := s.mayAdd(r, caseID, up.key); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	p, err := s.place(r.Context(), caseID, s.access.Party(r), up)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	recorded = !p.again
	s.owned(r, p)
	address := "/cases/" + p.bundle.CaseID
	s.await(r.Context(), p.bundle.ID)
	if p.ownerKey == "" || !s.access.NeedsKey(r.Context(), p.bundle.CaseID) {
		s.respond.Redirect(w, r, address)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.respond.Page(w, r, http.StatusOK, page.HTML(view.NewStored(s.respond.Engine(), p.ownerKey, address).Page()))
}

// Uploaded is the answer of the upload API.
type Uploaded struct {
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

// PutBundle takes curl -T FILE URL/api/v1/bundles/.
func (s *Service) PutBundle(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/bundles/")
	if name == "" || name == "-" {
		name = "upload"
	}
	s.acceptUpload(w, r, func() (received, error) { return s.receiveBody(r, response.SafeName(name)) })
}

// PostBundle takes a multipart form or a raw body.
func (s *Service) PostBundle(w http.ResponseWriter, r *http.Request) {
	s.acceptUpload(w, r, func() (received, error) {
		if isForm(r) {
			return s.receiveForm(r)
		}
		return s.receiveBody(r, "upload")
	})
}

// acceptUpload stores what receive takes, and answers with the bundle. A repeated
// Idempotency-Key gets the first answer again.
func (s *Service) acceptUpload(w http.ResponseWriter, r *http.Request, receive func() (received, error)) {
	ctx := r.Context()
	caseID := r.URL.Query().Get("case")
	if err := s.mayAdd(r, caseID, ""); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	up, err := s.inSlot(w, r, nil, receive)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	recorded := false
	defer func() {
		if !recorded {
			s.discard(r, up.files)
		}
	}()
	key, hash := r.Header.Get("Idempotency-Key"), up.hash+caseID
	if key != "" {
		done, err := s.ownKey(ctx, key)
		if err != nil {
			s.respond.FailAPI(w, r, err)
			return
		}
		defer done()
		known, ok, err := s.recall(ctx, key, hash)
		if err != nil {
			s.respond.FailAPI(w, r, err)
			return
		}
		if ok {
			s.writeAnswer(w, r, known.Status, known.Body)
			return
		}
	}
	p, err := s.place(ctx, caseID, s.access.Party(r), up, s.receipts(r, key, hash)...)
	if isAnswered(err) {
		if known, ok, recalled := s.recall(ctx, key, hash); ok && recalled == nil {
			s.writeAnswer(w, r, known.Status, known.Body)
			return
		}
	}
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	recorded = !p.again
	s.owned(r, p)
	status := http.StatusCreated
	if p.again {
		status = http.StatusOK
	}
	b := p.bundle
	if r.URL.Query().Get("wait") != "" {
		defer s.queue.addWaiter(b.ID)()
		b, err = s.settled(ctx, b.ID)
		if ctx.Err() != nil {
			return // the client left; the ingest goes on
		}
		if errors.Is(err, context.DeadlineExceeded) {
			status, err = http.StatusAccepted, nil
			w.Header().Set("Retry-After", "5")
		}
		if err != nil {
			s.respond.FailAPI(w, r, err)
			return
		}
		if b.Status == store.Done {
			s.sumUp(ctx, b)
		}
	}
	answer, err := s.answer(ctx, b)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.Header().Set("Location", s.respond.Path()+"/api/v1/bundles/"+b.ID)
	body, err := s.answerBody(r, answer, p.ownerKey)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	if key != "" {
		s.remember(ctx, key, store.Answer{RequestHash: hash, Status: status, Body: body}, p.again)
	}
	s.writeAnswer(w, r, status, append(body, '\n'))
}

// sumUp stores the row of a bundle's case in the list of cases, which the worker may still be
// at: who asks for the list after the answer finds the sentence. Of several bundles that are
// queued for a case the last one does it, once the case has a sentence.
func (s *Service) sumUp(ctx context.Context, b store.Bundle) {
	waits, err := s.store.Waits(ctx, b.CaseID)
	if c, unknown := s.store.Case(ctx, b.CaseID); err == nil && unknown == nil && waits && c.Headline != "" {
		return
	}
	if err := s.summaries.Summarise(ctx, b.CaseID); err != nil && ctx.Err() == nil && !response.IsNotFound(err) {
		s.log.Error("summing up a case failed", "case", b.CaseID, "error", err)
	}
}

// receipts has an upload with an Idempotency-Key answered when it is recorded, as one that waits
// to be read.
func (s *Service) receipts(r *http.Request, key, hash string) []store.Receipt {
	if key == "" {
		return nil
	}
	return []store.Receipt{{Key: key, Answer: func(b store.Bundle, ownerKey string) (store.Answer, error) {
		body, err := s.answerBody(r, unread(b), ownerKey)
		return store.Answer{RequestHash: hash, Status: http.StatusCreated, Body: body}, err
	}}}
}

func (s *Service) answerBody(r *http.Request, answer Uploaded, ownerKey string) ([]byte, error) {
	answer.OwnerKey, answer.URL = ownerKey, s.respond.Base(r)+answer.Link
	return json.Marshal(answer)
}

// writeAnswer writes the answer about an upload, which is JSON unless the sender asks for
// text: then the sentence of the case, once it was read, and its link and owner key on lines
// of their own.
func (s *Service) writeAnswer(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	var up Uploaded
	if !wantsText(r) || json.Unmarshal(body, &up) != nil {
		response.WriteJSONBytes(w, status, body)
		return
	}
	var text strings.Builder
	if up.Status == string(store.Done) {
		// The worker may still be at it, or the sentence be that of before this upload.
		if err := s.summaries.Summarise(r.Context(), up.Case); err != nil {
			s.log.Error("summing up a case failed", "case", up.Case, "error", err)
		}
		if c, err := s.store.Case(r.Context(), up.Case); err == nil && c.Headline != "" {
			fmt.Fprintln(&text, c.Headline)
		}
	}
	if up.Error != "" {
		fmt.Fprintln(&text, up.Error)
	}
	fmt.Fprintln(&text, up.URL)
	if up.OwnerKey != "" {
		fmt.Fprintln(&text, "owner key", up.OwnerKey)
	}
	if problems, err := s.store.Problems(r.Context(), up.ID); err == nil && len(up.Snapshots) > 0 && slices.ContainsFunc(problems, wording.Lost) {
		fmt.Fprintln(&text, wording.Printable(wording.DumpsRead(len(up.Snapshots), problems)))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, text.String())
}

// wantsText reports that a request accepts text and does not name JSON.
func wantsText(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "text/plain") && !strings.Contains(accept, "json")
}

// formWait is how long the answer to a form waits for the reading: most uploads are read
// before it is over, and the browser lands on the answer at once.
const formWait = time.Second

// await waits for the end of a reading, for formWait at most.
func (s *Service) await(ctx context.Context, bundleID string) {
	ctx, stop := untilStop(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, formWait)
	defer cancel()
	s.worker.Settled(ctx, bundleID) // if it is not read by then, the page of the case shows how far it is
}

// settled waits for the end of a reading, for waitLimit at most.
func (s *Service) settled(ctx context.Context, bundleID string) (store.Bundle, error) {
	waiting, stop := untilStop(ctx)
	defer stop()
	waiting, cancel := context.WithTimeout(waiting, waitLimit)
	defer cancel()
	b, err := s.worker.Settled(waiting, bundleID)
	if err != nil && ctx.Err() == nil && isStopping(ctx) {
		err = context.DeadlineExceeded // it is kept, and read after the next start
	}
	return b, err
}

// mayAdd demands the owner key of the case that an upload is added to. If only this
// machine can reach the server, everybody may add.
func (s *Service) mayAdd(r *http.Request, caseID, formKey string) error {
	if caseID == "" {
		return nil
	}
	if _, err := s.store.Case(r.Context(), caseID); err != nil {
		return err
	}
	_, err := s.access.Edit(r, caseID, formKey)
	return err
}

// owned says whose a new case is.
func (s *Service) owned(r *http.Request, p placed) {
	if p.ownerKey != "" {
		s.access.Own(r, p.bundle.CaseID)
	}
	access.About(r, "bundle", p.bundle.ID)
}

// unread describes a bundle without its snapshots.
func unread(b store.Bundle) Uploaded {
	return Uploaded{ID: b.ID, Link: "/cases/" + b.CaseID, Case: b.CaseID, Status: string(b.Status), Snapshots: []report.Snapshot{}, Problems: b.Problems, Error: faultText(b.Error)}
}

// answer describes a bundle as it is now.
func (s *Service) answer(ctx context.Context, b store.Bundle) (Uploaded, error) {
	out := unread(b)
	if b.Status != store.Done {
		return out, nil
	}
	built, err := s.cases.Snapshots(ctx, b.CaseID)
	if err != nil {
		return out, err
	}
	own, err := s.store.BundleSnapshots(ctx, b.ID)
	if err != nil {
		return out, err
	}
	for _, snap := range built.Report.Snapshots {
		if own[snap.ID] {
			out.Snapshots = append(out.Snapshots, snap)
		}
	}
	return out, nil
}

// GetBundleAPI is GET /api/v1/bundles/{id}, the state of an upload.
func (s *Service) GetBundleAPI(w http.ResponseWriter, r *http.Request) {
	b, err := s.store.Bundle(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	answer, err := s.answer(r.Context(), b)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	answer.URL = s.respond.Base(r) + answer.Link
	response.WriteJSON(w, http.StatusOK, answer)
}
