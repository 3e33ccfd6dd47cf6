package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"leakdiff/analysis/say/wording"
	"leakdiff/server/intake"
)

// healthz reports whether the database answers.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	if err := s.cfg.Store.Ping(r.Context()); err != nil {
		s.cfg.Log.Error("the database does not answer", "error", err)
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}

// mostQueued is how long an upload may wait to be read before the server is not ready for
// more.
const mostQueued = 15 * time.Minute

// Readiness is the answer of /readyz.
type Readiness struct {
	// Status is ready, degraded or not ready. A degraded server takes uploads: they mend it.
	Status string           `json:"status"`
	Checks []ReadinessCheck `json:"checks"`
}

// ReadinessCheck is one of database, disk, queue and uploads, and of bucket if there is one.
type ReadinessCheck struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"`
}

// readyz answers 503 if an upload would be refused or not be read soon, with the reasons.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ready := s.readiness(r.Context())
	body, err := json.MarshalIndent(ready, "", " ")
	if err != nil {
		s.respond.FailAPI(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if ready.Status == "not ready" {
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	w.Write(append(body, '\n'))
}

func (s *Server) readiness(ctx context.Context) Readiness {
	out := Readiness{Status: "ready"}
	add := func(name, why, status string) {
		out.Checks = append(out.Checks, ReadinessCheck{name, why == "", why})
		if why != "" && out.Status != "not ready" {
			out.Status = status
		}
	}
	database, queue := s.waiting(ctx)
	add("database", database, "not ready")
	add("disk", s.diskLeft(), "not ready")
	add("queue", queue, "not ready")
	if away := s.uploadsAway(); away != "" {
		add("uploads", away, "not ready")
	} else {
		add("uploads", s.damagedUploads(), "degraded")
	}
	if s.cfg.Bucket != nil {
		add("bucket", s.bucketAway(ctx), "not ready")
	}
	return out
}

// waiting asks the database what waits, and says why it is too much.
func (s *Server) waiting(ctx context.Context) (database, queue string) {
	state, err := s.cfg.Store.State(ctx)
	if err != nil {
		s.cfg.Log.Error("the database does not answer", "error", err)
		return "the database does not answer", "unknown"
	}
	if age := s.cfg.Now().Sub(state.OldestQueued); !state.OldestQueued.IsZero() && age > mostQueued {
		return "", "the oldest of " + wording.Plural(state.Queued, "upload", "uploads") + " has waited " + wording.PageDuration(age) + " to be read"
	}
	return "", ""
}

func (s *Server) diskLeft() string {
	free, err := s.cfg.Blobs.Free()
	switch {
	case err != nil:
		return "the volume of the uploads does not answer"
	case free < intake.Spare:
		return wording.Bytes(free) + " are free and uploads are refused below " + wording.Bytes(intake.Spare)
	}
	return ""
}

// bucketTime is how long a bucket may take to answer.
const bucketTime = 5 * time.Second

func (s *Server) bucketAway(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, bucketTime)
	defer cancel()
	if s.cfg.Bucket.Ping(ctx) != nil {
		return "the bucket of the uploads does not answer: uploads are refused, and what is queued waits; the log of the server says more"
	}
	return ""
}

func (s *Server) uploadsAway() string {
	if s.cfg.Blobs.Answers() != nil {
		return "the directory of the uploads cannot be used: uploads are refused, and what is queued waits; the log of the server says more"
	}
	return ""
}

func (s *Server) damagedUploads() string {
	damaged, err := s.cfg.Blobs.Damaged()
	switch {
	case err != nil:
		return "the volume of the uploads does not answer"
	case damaged > 0:
		return wording.Plural(damaged, "upload is", "uploads are") + " damaged: the same upload puts each back, leakdiff check names them"
	}
	return ""
}
