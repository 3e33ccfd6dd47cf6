package intake

import (
	"context"
	"errors"
	"path"
	"strings"

	"leakdiff/store"
	"leakdiff/store/blob"
)

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

// placed is the case and bundle of an upload.
type placed struct {
	bundle   store.Bundle
	ownerKey string
	// again is true if the case already held the same bytes.
	again bool
}

// place records an upload in a case, a new one if none is named, and its job in the same
// transaction, as its receipts are. Only then may the upload be acknowledged.
func (s *Service) place(ctx context.Context, caseID, sender string, up received, receipts ...store.Receipt) (p placed, err error) {
	defer func() {
		if err == nil && !p.again {
			s.queue.from(p.bundle.ID, sender)
		}
		s.queue.Notify()
	}()
	if caseID == "" {
		_, b, key, err := s.store.OpenCase(ctx, caseTitle(up.name), "", up.name, up.files, receipts...)
		if err == nil {
			s.requeueDamaged(ctx, up)
		}
		return placed{bundle: b, ownerKey: key}, err
	}
	s.placing.Lock() // of two equal uploads, the second finds the first
	defer s.placing.Unlock()
	for {
		if p, err := s.placeAgain(ctx, caseID, up); err != nil || p.again {
			return p, err
		}
		b, _, err := s.store.AddBundle(ctx, caseID, up.name, up.files, receipts...)
		if errors.Is(err, store.ErrThere) {
			continue // another server was faster
		}
		if err == nil {
			s.requeueDamaged(ctx, up)
		}
		return placed{bundle: b}, err
	}
}

// placeAgain finds an upload that its case has already, and nothing if it has not.
func (s *Service) placeAgain(ctx context.Context, caseID string, up received) (placed, error) {
	have, ok, err := s.store.FindBundle(ctx, caseID, up.hashes())
	if err != nil || !ok {
		return placed{}, err
	}
	if err := s.store.PutBack(ctx, up.files); err != nil {
		return placed{}, err
	}
	s.requeueDamaged(ctx, up)
	if have.Error != nil && have.Error.Code == store.Crashed {
		// Its hint is to upload again if something else stopped the server.
		if _, err := s.store.Requeue(ctx, have.ID); err != nil {
			return placed{}, err
		}
	}
	have, err = s.store.Bundle(ctx, have.ID)
	return placed{bundle: have, again: true}, err
}

// requeueDamaged queues bundles of all cases that failed because the bytes of this upload were
// damaged. The upload restored them.
func (s *Service) requeueDamaged(ctx context.Context, up received) {
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
