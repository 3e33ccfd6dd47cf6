package intake

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/ingest"
	"leakdiff/server/response"
	"leakdiff/store"
)

// setKind stores the kind that a file is to be read as, and queues its bundle.
func (s *Service) setKind(r *http.Request, bundleID, path, kind, key string) error {
	b, err := s.store.Bundle(r.Context(), bundleID)
	if err != nil {
		return err
	}
	if _, err := s.access.Edit(r, b.CaseID, key); err != nil {
		return err
	}
	if !b.Dropped.IsZero() {
		return store.UploadDropped(b.Name, b.Dropped)
	}
	if b.Status != store.Done {
		return response.Refuse("still_reading", "this bundle is being read", b.Name, "a reading that has begun does not take the choice in", "choose again when it is done")
	}
	artifacts, err := s.store.Artifacts(r.Context(), b.ID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(artifacts, func(a analysis.Artifact) bool { return a.Path == path && assignable(a) }) {
		return response.Refuse("not_found", "the bundle has no such file", path, "only single files are read as another kind", "take the path from the inventory")
	}
	if kind != "" && kind != ingest.Ignore && !slices.Contains(ingest.Kinds(), kind) {
		return response.Refuse("bad_request", "this kind is not known", kind, "it is none that a file can be read as", "use one of "+strings.Join(ingest.Kinds(), ", ")+", "+ingest.Ignore+", or nothing for the recognised one")
	}
	if err := s.store.SetKind(r.Context(), b.ID, path, kind); err != nil {
		return err
	}
	if _, err := s.store.Requeue(r.Context(), b.ID); err != nil {
		return err
	}
	s.queue.Notify()
	return nil
}

// assignable reports whether a file can be read as another kind. A directory of fdinfo
// files is one artifact; a link or device has no content.
func assignable(a analysis.Artifact) bool {
	return !strings.HasSuffix(a.Path, "/") && a.SHA256 != ""
}

// KindForm handles the form of the inventory.
func (s *Service) KindForm(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	r.Body = http.MaxBytesReader(w, r.Body, response.MaxForm)
	if err := r.ParseForm(); err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	path, err := url.QueryUnescape(r.PostForm.Get("path"))
	if err != nil {
		s.respond.Fail(w, r, response.FormFault(err))
		return
	}
	if err := s.setKind(r, id, path, r.PostForm.Get("kind"), r.PostForm.Get("key")); err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	s.respond.Redirect(w, r, "/bundles/"+id)
}

// KindAPI is PUT /api/v1/bundles/{id}/kinds with {"path", "kind"}. An empty kind takes the
// choice back. The bundle is read again.
func (s *Service) KindAPI(w http.ResponseWriter, r *http.Request) {
	id := response.PathValue(r, "id")
	var in struct{ Path, Kind string }
	if err := response.ReadJSON(w, r, &in, `{"path": "t0/dump.txt", "kind": "thread-dump"}`); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	if err := s.setKind(r, id, in.Path, in.Kind, ""); err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.Header().Set("Location", s.respond.Path()+"/api/v1/bundles/"+id)
	response.WriteJSON(w, http.StatusAccepted, map[string]any{"bundle": id, "path": in.Path, "kind": in.Kind})
}
