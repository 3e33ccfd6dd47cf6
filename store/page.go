package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// CasePage is the page of a case as it was last made, in one of its forms. The store
// looks at nothing of it.
type CasePage struct {
	// Form is "html" or "json".
	Form string
	// State is a hash of all that the page was made of.
	State string
	// Recalls are the families of which the page says what other cases know.
	Recalls []string
	// Elsewhere says that the page may hold words of other cases.
	Elsewhere bool
	// Slot encloses names in Body where something else belongs.
	Slot string
	Body []byte
}

// KeepCasePage keeps the page of a case in place of an older one of its form; a case that is gone
// has none.
func (s *Store) KeepCasePage(ctx context.Context, caseID string, page CasePage) error {
	recalls, err := json.Marshal(append([]string{}, page.Recalls...))
	if err != nil {
		return err
	}
	var p packer
	defer p.close()
	body, err := p.pack(page.Body)
	if err != nil {
		return err
	}
	_, err = s.writer.ExecContext(ctx, keepCasePageSQL, caseID, page.Form, page.State, string(recalls), page.Elsewhere, page.Slot, body)
	return fault("keeping a page", err)
}

const keepCasePageSQL = `
INSERT OR REPLACE INTO case_page (case_seq, form, state, recalls, elsewhere, slot, page)
SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7 FROM cases WHERE id = ?1`

// CasePage returns the page of a case in a form that was made of this state, and whether
// there is one.
func (s *Store) CasePage(ctx context.Context, caseID, form, state string) (page CasePage, found bool, err error) {
	var recalls string
	var body []byte
	err = s.reader.QueryRowContext(ctx, casePageSQL, caseID, form, state).Scan(&page.Form, &page.State, &recalls, &page.Elsewhere, &page.Slot, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return CasePage{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(recalls), &page.Recalls)
	}
	if err == nil {
		var p packer
		defer p.close()
		page.Body, err = p.unpack(body, nil)
	}
	if err != nil {
		return CasePage{}, false, fault("reading a page", err)
	}
	return page, true, nil
}

const casePageSQL = `
SELECT cp.form, cp.state, cp.recalls, cp.elsewhere, cp.slot, cp.page
FROM case_page cp
JOIN cases c ON c.seq = cp.case_seq
WHERE c.id = ? AND cp.form = ? AND cp.state = ?`

// ForgetCasePage drops the pages of a case that were made of this state.
func (s *Store) ForgetCasePage(ctx context.Context, caseID, state string) error {
	_, err := s.writer.ExecContext(ctx, forgetCasePageSQL, caseID, state)
	return fault("forgetting a page", err)
}

const forgetCasePageSQL = `
DELETE FROM case_page
WHERE case_seq = (SELECT seq FROM cases WHERE id = ?) AND state = ?`

// forgetPagesSQL drops the pages that may tell what is being deleted: those of its case,
// and those of others that may quote it.
const forgetPagesSQL = `
DELETE FROM case_page
WHERE elsewhere OR case_seq = (SELECT seq FROM cases WHERE id = ?)`

const forgetPagesOfBundleSQL = `
DELETE FROM case_page
WHERE elsewhere OR case_seq = (SELECT case_seq FROM bundle WHERE id = ?)`
