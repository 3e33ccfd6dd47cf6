package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/response"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// DeleteBundleAPI is DELETE /api/v1/bundles/{id}.
func (s *Service) DeleteBundleAPI(w http.ResponseWriter, r *http.Request) {
	if _, err := s.dropBundle(r, response.PathValue(r, "id"), ""); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// BundlePage shows the stages of an ingest while it runs, and then the files of the bundle and the
// processes of its case.
func (s *Service) BundlePage(w http.ResponseWriter, r *http.Request) {
	id, suffix := response.Twin(response.PathValue(r, "id"))
	b, err := s.store.Bundle(r.Context(), id)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	switch suffix {
	case "":
	case ".json":
		response.WriteJSON(w, http.StatusOK, s.state(r.Context(), b))
		return
	default:
		s.respond.Fail(w, r, response.Refuse("not_found", "this page has no twin "+suffix, "", "a bundle has its state as .json", "open the case and take its "+suffix))
		return
	}
	c, err := s.store.Case(r.Context(), b.CaseID)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	state := s.state(r.Context(), b)
	in := view.BundleInput{
		ID: b.ID, CaseID: c.ID, CaseTitle: c.Title, Name: b.Name, Status: string(b.Status), Stage: state.Stage, Text: state.Text, Taken: state.Taken,
		Error: state.Error, Size: b.Size, Unpacked: b.Unpacked, Created: b.Created, Dropped: b.Dropped, Show: r.URL.Query().Get("show"), NeedsKey: s.access.NeedsKey(r.Context(), b.CaseID),
	}
	damaged := map[string]string{}
	if b.Status != store.Queued && b.Status != store.Running {
		if damaged, err = s.raw.damaged(r.Context(), b); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
	}
	for _, f := range b.Files {
		in.Files = append(in.Files, view.UploadedFile{Name: f.Name, SHA256: f.SHA256, Size: f.Size, Damage: damaged[f.SHA256]})
	}
	if b.Status == store.Done {
		if err := s.inventory(r, b, &in); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
	}
	v := view.NewBundle(in)
	v.Shell.Engine = s.respond.Engine()
	s.respond.Page(w, r, http.StatusOK, page.HTML(v.Page()))
}

// inventory adds the result of a finished ingest.
func (s *Service) inventory(r *http.Request, b store.Bundle, in *view.BundleInput) error {
	var err error
	if in.Artifacts, err = s.store.Artifacts(r.Context(), b.ID); err != nil {
		return err
	}
	if in.Chosen, err = s.store.Kinds(r.Context(), b.ID); err != nil {
		return err
	}
	in.Kinds = append(ingest.Kinds(), ingest.Ignore)
	if at, err := strconv.Atoi(r.URL.Query().Get("as")); err == nil && at > 0 && at <= len(in.Artifacts) && assignable(in.Artifacts[at-1]) {
		in.As = at
	}
	if in.Problems, err = s.store.Problems(r.Context(), b.ID); err != nil {
		return err
	}
	if in.Processes, err = s.cfg.Processes.Processes(r, b.CaseID); err != nil {
		return err
	}
	own, err := s.store.BundleSnapshots(r.Context(), b.ID)
	if err != nil {
		return err
	}
	said := &in.Processes.Said
	for _, snap := range slices.Concat(said.Snapshots, said.LeftOut) {
		if own[snap.ID] {
			in.Snapshots = append(in.Snapshots, snap)
		}
	}
	return nil
}

// BundleState is the progress of an ingest, for scripts.
type BundleState struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Stage  string `json:"stage"`
	Text   string `json:"text"`
	Error  string `json:"error,omitempty"`
	Link   string `json:"link"`
	// Done of Total files are read. Total is 0 before the end.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Files to Watches are what was read so far.
	Files       int   `json:"files"`
	Bytes       int64 `json:"bytes"`
	Goroutines  int   `json:"goroutines"`
	Descriptors int   `json:"descriptors"`
	Watches     int   `json:"watches"`
	Snapshots   int   `json:"snapshots"`
	// Taken of Size bytes of the upload are read.
	Taken int64 `json:"taken"`
	Size  int64 `json:"size"`
}

func (s *Service) state(ctx context.Context, b store.Bundle) BundleState {
	out := BundleState{ID: b.ID, Status: string(b.Status), Stage: string(b.Status), Error: faultText(b.Error), Link: "/cases/" + b.CaseID, Snapshots: b.Snapshots, Size: b.Size}
	p, _, reading := s.queue.progress(ctx, b)
	out.Text, out.Taken = s.queue.Progress(ctx, b)
	switch {
	case b.Status == store.Queued:
	case reading:
		out.Stage, out.Done = p.Stage, p.Files
		out.Files, out.Bytes, out.Goroutines, out.Descriptors, out.Watches = p.Files, p.Bytes, p.Goroutines, p.Descriptors, p.Watches
	case b.Status == store.Done:
		out.Text = fmt.Sprintf("done: %s", wording.PagePlural(int64(b.Snapshots), "snapshot", "snapshots"))
	default:
		out.Text = out.Error
	}
	return out
}

// BundleEvents streams the stages of an ingest until it ends.
func (s *Service) BundleEvents(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	b, err := s.store.Bundle(r.Context(), id)
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w)
	for {
		_, _, changed := s.queue.state(id)
		state := s.state(r.Context(), b)
		data, err := json.Marshal(state)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "event: progress\ndata: %s\n\n", data); err != nil || flush.Flush() != nil {
			return
		}
		if b.Status != store.Queued && b.Status != store.Running {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
			select {
			case <-r.Context().Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
		case <-time.After(500 * time.Millisecond):
		}
		if b, err = s.store.Bundle(r.Context(), id); err != nil {
			return
		}
	}
}

// BundleFile sends a file back as it was uploaded.
func (s *Service) BundleFile(w http.ResponseWriter, r *http.Request) {
	b, err := s.store.Bundle(r.Context(), response.PathValue(r, "id"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	for _, f := range b.Files {
		if f.SHA256 != response.PathValue(r, "sha") {
			continue
		}
		if !b.Dropped.IsZero() {
			s.respond.Fail(w, r, store.UploadDropped(f.Name, b.Dropped))
			return
		}
		err := s.raw.verify(r.Context(), f)
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		body, err := s.blobs.Open(r.Context(), f.SHA256)
		if err != nil {
			s.respond.Fail(w, r, damageOf(f, err))
			return
		}
		defer body.Close()
		response.AsAttachment(w, f.Name)
		w.Header().Set("Content-Length", strconv.FormatInt(f.Size, 10))
		response.Send(w, body)
		return
	}
	s.respond.Fail(w, r, response.Refuse("not_found", "the bundle has no such file", b.Name, "", "open the bundle's page"))
}

// CancelBundle stops an ingest. The upload stays and can be read again.
func (s *Service) CancelBundle(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	if _, err := s.mayRead(w, r, id); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	// Another server reads the bundle, or the end of its reading was not recorded.
	if !s.queue.Cancel(id) {
		if err := s.store.CancelOpenJob(r.Context(), id); err != nil {
			s.respond.Fail(w, r, err)
			return
		}
	}
	s.respond.Redirect(w, r, "/bundles/"+id)
}

// mayRead returns a bundle if the sender may start or stop its reading, which changes the
// report of its case.
func (s *Service) mayRead(w http.ResponseWriter, r *http.Request, id string) (store.Bundle, error) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	b, err := s.store.Bundle(r.Context(), id)
	if err == nil {
		_, err = s.access.Edit(r, b.CaseID, r.PostFormValue("key"))
	}
	return b, err
}

func faultText(f *analysis.Fault) string {
	if f == nil {
		return ""
	}
	return f.Error()
}

// RemoveBundle deletes a bundle with its snapshots from its case.
func (s *Service) RemoveBundle(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	caseID, err := s.dropBundle(r, response.PathValue(r, "id"), r.PostFormValue("key"))
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.respond.Redirect(w, r, "/cases/"+caseID)
}

func (s *Service) dropBundle(r *http.Request, id, key string) (caseID string, err error) {
	b, err := s.store.Bundle(r.Context(), id)
	if err != nil {
		return "", err
	}
	role, err := s.access.Edit(r, b.CaseID, key)
	if err != nil {
		return "", err
	}
	s.queue.Cancel(id)
	if err := s.store.RemoveBundle(context.WithoutCancel(r.Context()), id); err != nil {
		return "", err
	}
	s.log.Info("bundle removed", append(s.access.By(r, role), "bundle", id, "case", b.CaseID)...)
	s.queue.Notify() // a job that found no room may have it now
	if err := s.summaries.Summarise(r.Context(), b.CaseID); err != nil {
		s.log.Error("summing up a case failed", "case", b.CaseID, "error", err)
	}
	return b.CaseID, nil
}

// ReadAgain queues a bundle to be read with today's rules.
func (s *Service) ReadAgain(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	if _, err := s.mayRead(w, r, id); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if _, err := s.store.Requeue(r.Context(), id); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.queue.Notify()
	s.respond.Redirect(w, r, "/bundles/"+id)
}
