package intake

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"leakdiff/server/response"
	"leakdiff/store"
)

// LoadSamples makes a case of each sample if the store never held them, and if no other server
// is doing so.
func (s *Service) LoadSamples(ctx context.Context) error {
	const mark = "samples loaded"
	_, have, err := s.store.Setting(ctx, mark)
	if err != nil || have {
		return err
	}
	if mine, err := s.store.TakeDuty(ctx, "loading samples"); err != nil || !mine {
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

func (s *Service) addSample(ctx context.Context, sample Sample) (store.Bundle, error) {
	ref, err := s.blobs.Put(ctx, bytes.NewReader(sample.Data), s.cfg.UploadLimit)
	if err != nil {
		return store.Bundle{}, err
	}
	files := []store.File{{Name: sample.Name + ".tar.gz", SHA256: ref.SHA256, Object: ref.Object, Size: ref.Size}}
	_, b, _, err := s.store.OpenCase(ctx, sample.Title, sample.Name, files[0].Name, files)
	if err != nil {
		return b, errors.Join(err, s.store.Discard(context.WithoutCancel(ctx), files))
	}
	s.queue.Notify()
	return b, nil
}

// sampleCase finds the case of a sample.
func (s *Service) sampleCase(ctx context.Context, name string) (store.Case, bool, error) {
	const page = 200
	for offset := 0; ; offset += page {
		cases, _, err := s.store.Cases(ctx, store.CaseQuery{Everything: true, Limit: page, Offset: offset})
		if err != nil {
			return store.Case{}, false, err
		}
		for _, c := range cases {
			if c.Sample == name && name != "" {
				return c.Case, true, nil
			}
		}
		if len(cases) < page {
			return store.Case{}, false, nil
		}
	}
}

// TrySample opens the case of a sample, and makes it again if it was deleted.
func (s *Service) TrySample(w http.ResponseWriter, r *http.Request) {
	name := response.PathValue(r, "name")
	c, loaded, err := s.sampleCase(r.Context(), name)
	if err != nil {
		s.respond.Fail(w, r, err)
		return
	}
	if loaded {
		s.respond.Redirect(w, r, "/cases/"+c.ID)
		return
	}
	for _, sample := range s.cfg.Samples {
		if sample.Name != name {
			continue
		}
		b, err := s.addSample(r.Context(), sample)
		if err != nil {
			s.respond.Fail(w, r, err)
			return
		}
		s.await(r.Context(), b.ID)
		s.respond.Redirect(w, r, "/cases/"+b.CaseID)
		return
	}
	s.respond.Fail(w, r, response.Refuse("not_found", "there is no such sample", name, "", "choose one from the start page"))
}

// Sample is a bundle that comes with the program.
type Sample struct {
	Name, Title, Text string
	Data              []byte
}
