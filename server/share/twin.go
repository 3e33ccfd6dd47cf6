package share

import (
	"net/http"
	"net/url"
	"strings"

	"leakdiff/analysis/say/redact"
	"leakdiff/server/response"
	"leakdiff/web/view"
)

// OrRedacted answers requests for a twin with the query redact=1 by the redacted form of
// the live page, which is what a permalink would freeze. It leaves all others to next.
func (s *Service) OrRedacted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		path, suffix := response.Twin(r.URL.Path)
		if suffix == "" || query.Get(view.RedactParameter) == "" {
			next(w, r)
			return
		}
		query.Del(view.RedactParameter)
		made, err := s.redactedTwin(r, path, query, suffix)
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		made.Tagged(w, r)
	}
}

func (s *Service) redactedTwin(r *http.Request, path string, query url.Values, suffix string) (response.Content, error) {
	if suffix == ".folded" || suffix == ".pb.gz" {
		return response.Content{}, response.Refuse("not_found", "there is no redacted twin "+suffix, "", "only what a permalink can hold is redacted", "share the page, or take its .md")
	}
	f, _, err := s.safe(r, strings.TrimSuffix(path+"?"+query.Encode(), "?"))
	if err != nil {
		return response.Content{}, err
	}
	if suffix == ".json" {
		return response.Content{Kind: response.JSONType, Body: append([]byte(f.Data), '\n')}, nil
	}
	e, err := f.Unpack()
	if err != nil {
		return response.Content{}, err
	}
	e.Shell = s.respond.Copied(view.Shell{Title: f.Headline})
	e.Shell.Seal.Redaction = redact.Sum(f.Receipt)
	e.Name, e.Link, e.Note = "redacted "+f.Kind, s.respond.Base(r)+path, redact.Sum(f.Receipt)
	return s.respond.TwinOf(r, suffix, e)
}
