package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"leakdiff/analysis/bundle"
	"leakdiff/store"
	"leakdiff/web/page"
	"leakdiff/web/view"
)

// recentCases is how many cases the start page lists.
const recentCases = 100

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	cases, err := s.store.Cases(r.Context(), recentCases, 0)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	total, err := s.store.CaseCount(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	free, err := s.blobs.Free()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	in := view.HomeInput{
		Base: s.base(r), Limits: s.limits(), Total: total,
		Upload: view.UploadInput{MaxBytes: s.cfg.UploadLimit, Free: free, Reserved: spare},
	}
	for _, c := range cases {
		in.Cases = append(in.Cases, view.CaseSummary{ID: c.ID, Title: sampleTitle(c), Sentence: c.Headline, Verdict: c.Verdict, Points: c.Spark, Snapshots: c.Snapshots})
	}
	for _, sample := range s.cfg.Samples {
		in.Samples = append(in.Samples, view.Sample{ID: sample.Name, Name: sample.Title, Text: sample.Text, Size: view.Bytes(int64(len(sample.Data)))})
	}
	v := view.NewHome(in)
	v.Shell.Engine = s.engine()
	s.render(w, r, http.StatusOK, page.Home(v))
}

// limits are the budgets of one bundle in words.
func (s *Server) limits() []view.Limit {
	b := s.budget()
	return []view.Limit{
		{Name: "One upload", Value: view.Bytes(s.cfg.UploadLimit)},
		{Name: "Unpacked", Value: fmt.Sprintf("%s, at most %d : 1", view.Binary(b.Bytes), b.Ratio)},
		{Name: "Files in a bundle", Value: view.Number(int64(b.Entries))},
		{Name: "Archives in archives", Value: fmt.Sprintf("%d levels, %d in all", b.Depth, b.Archives)},
		{Name: "Reading time", Value: view.Duration(b.Duration)},
	}
}

// budget is what one upload may use, as configured or by default.
func (s *Server) budget() bundle.Budget {
	if s.cfg.Budget != (bundle.Budget{}) {
		return s.cfg.Budget
	}
	return bundle.DefaultBudget()
}

// LoadSamples makes a case of each sample when the store has never held them.
func (s *Server) LoadSamples(ctx context.Context) error {
	const mark = "samples loaded"
	_, have, err := s.store.Setting(ctx, mark)
	if err != nil || have {
		return err
	}
	for _, sample := range s.cfg.Samples {
		// A crash between two samples must not load the first one twice.
		_, loaded, err := s.sampleCase(ctx, sample.Name)
		if err != nil {
			return err
		}
		if loaded {
			continue
		}
		if _, err := s.addSample(ctx, sample); err != nil {
			return err
		}
	}
	return s.store.SetSetting(ctx, mark, "yes")
}

func (s *Server) addSample(ctx context.Context, sample Sample) (store.Bundle, error) {
	ref, err := s.blobs.Put(ctx, bytes.NewReader(sample.Data), s.cfg.UploadLimit)
	if err != nil {
		return store.Bundle{}, err
	}
	name := sample.Name + ".tar.gz"
	_, b, _, err := s.store.OpenCase(ctx, sample.Title, sample.Name, name, []store.File{{Name: name, SHA256: ref.SHA256, Size: ref.Size}})
	s.worker.nudge()
	return b, err
}

// sampleCase is the case that shows a sample, if there is one.
func (s *Server) sampleCase(ctx context.Context, name string) (store.Case, bool, error) {
	const page = 200
	for offset := 0; ; offset += page {
		cases, err := s.store.Cases(ctx, page, offset)
		if err != nil {
			return store.Case{}, false, err
		}
		for _, c := range cases {
			if c.Sample == name && name != "" {
				return c, true, nil
			}
		}
		if len(cases) < page {
			return store.Case{}, false, nil
		}
	}
}

// trySample opens the case of a sample, made anew if it was deleted.
func (s *Server) trySample(w http.ResponseWriter, r *http.Request) {
	name := pathValue(r, "name")
	c, loaded, err := s.sampleCase(r.Context(), name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if loaded {
		http.Redirect(w, r, "/cases/"+c.ID, http.StatusSeeOther)
		return
	}
	for _, sample := range s.cfg.Samples {
		if sample.Name != name {
			continue
		}
		b, err := s.addSample(r.Context(), sample)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		http.Redirect(w, r, "/bundles/"+b.ID, http.StatusSeeOther)
		return
	}
	s.fail(w, r, refuse("not_found", "there is no such sample", name, "", "choose one from the start page"))
}

func (s *Server) help(w http.ResponseWriter, r *http.Request) {
	v := view.NewHelp(s.base(r))
	v.Shell.Engine = s.engine()
	s.render(w, r, http.StatusOK, page.Help(v))
}

// search looks for functions, processes and case titles on the whole server.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	var families, cases []view.Hit
	if query != "" {
		found, err := s.store.SearchFunctions(r.Context(), query, 100)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		for _, f := range found.Families {
			seen := fmt.Sprintf("%s, at most %s in one snapshot, %s", f.Family.Kind, view.Number(int64(f.Highest)), view.Plural(int64(f.Cases), "case", "cases"))
			families = append(families, view.NewFunctionHit(f.Family.Title, seen, "/families/"+f.Family.Fingerprint, ""))
		}
		for _, c := range found.Cases {
			cases = append(cases, view.NewHit(c.Title, c.Headline, "/cases/"+c.ID, c.Verdict))
		}
	}
	v := view.NewSearch(query, families, cases, "")
	v.Shell.Engine = s.engine()
	s.render(w, r, http.StatusOK, page.Search(v))
}

// sampleTitle marks the cases that come with the program.
func sampleTitle(c store.Case) string {
	if c.Sample == "" {
		return c.Title
	}
	return c.Title + " (sample)"
}
