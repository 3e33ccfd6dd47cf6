package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"leakdiff/internal/test/cluster"
)

func TestATokenIsKnownByItsSecretUntilItEnds(t *testing.T) {
	f := open(t)
	a := f.Accounts()
	secret := must[string](t)(a.AddToken(f.ctx, "ci", "upload", f.clock.now.Add(time.Hour)))
	if !strings.HasPrefix(secret, TokenPrefix) || len(secret) != len(TokenPrefix)+43 {
		t.Errorf("the secret has %d characters", len(secret))
	}
	if files := grep(t, f.dir, secret[len(TokenPrefix):]); len(files) > 0 {
		t.Errorf("the secret stands in %v", files)
	}
	got, known, err := a.Token(f.ctx, secret)
	f.ok(err)
	if !known || got.Name != "ci" || got.Role != "upload" || !got.Valid(f.clock.now) || got.Valid(f.clock.now.Add(time.Hour)) {
		t.Errorf("got %+v, %v", got, known)
	}
	if _, known, err := a.Token(f.ctx, secret+"x"); known || err != nil {
		t.Errorf("another secret: %v, %v", known, err)
	}
	_, err = a.AddToken(f.ctx, "ci", "admin", time.Time{})
	wantCode(t, err, "conflict")
	f.clock.advance(2 * time.Hour)
	must[string](t)(a.AddToken(f.ctx, "ci", "admin", time.Time{})) // the name of an expired one is free
	f.ok(a.RevokeToken(f.ctx, "ci"))
	wantCode(t, a.RevokeToken(f.ctx, "ci"), "not_found")
	all, err := a.Tokens(f.ctx)
	f.ok(err)
	if len(all) != 2 || all[0].Valid(f.clock.now) || all[1].Valid(f.clock.now) {
		t.Errorf("the tokens are %+v", all)
	}
}

func TestTokensAreMadeWhileAServerHasTheDirectory(t *testing.T) {
	f := openFile(t)
	a, err := OpenAccounts(context.Background(), f.dir)
	f.ok(err)
	secret := must[string](t)(a.AddToken(f.ctx, "ci", "read", time.Time{}))
	f.ok(a.Close())
	if _, known, err := f.Accounts().Token(f.ctx, secret); !known || err != nil {
		t.Errorf("the server does not know it: %v, %v", known, err)
	}
	_, err = OpenAccounts(context.Background(), t.TempDir())
	wantCode(t, err, "no_database")
	_, err = f.writer.ExecContext(f.ctx, `PRAGMA user_version = 3`)
	f.ok(err)
	_, err = OpenAccounts(context.Background(), f.dir)
	wantCode(t, err, "older_database")
}

func TestNobodyUsesADatabaseThatAMoveHasNotCompleted(t *testing.T) {
	for name, database := range map[string]string{"a file": "", "PostgreSQL": cluster.Start(t).Database(t)} {
		t.Run(name, func(t *testing.T) {
			f := openOn(t, database)
			f.ok(f.SetSetting(f.ctx, moveSetting, `{"origin": "d1"}`))
			f.close()
			opened := func() (*Accounts, error) { return OpenAccounts(f.ctx, f.dir) }
			if database != "" {
				opened = func() (*Accounts, error) { return OpenAccountsOf(f.ctx, database) }
			}
			if _, err := opened(); code(err) != "unfinished_move" {
				t.Errorf("tokens: %v", err)
			}
			if database != "" {
				return // check is of files
			}
			for _, check := range []func() (*Checked, error){
				func() (*Checked, error) { return Check(f.ctx, f.dir, "") },
				func() (*Checked, error) { return Repair(f.ctx, f.dir, "", slog.New(slog.DiscardHandler)) },
			} {
				found := must[*Checked](t)(check())
				if found.Sound() || len(found.Findings) != 1 || !strings.Contains(found.Findings[0].Hint, "Run leakdiff migrate again") {
					t.Errorf("found is %+v", found.Findings)
				}
			}
		})
	}
}

func TestASessionEndsByItselfAndByItsUser(t *testing.T) {
	f := open(t)
	a := f.Accounts()
	until := f.clock.now.Add(time.Hour)
	secret, other := must[string](t)(a.AddSession(f.ctx, "user alice", []byte("stamp"), until)), must[string](t)(a.AddSession(f.ctx, "user bob", []byte("x"), until))
	if files := grep(t, f.dir, secret); len(files) > 0 {
		t.Errorf("the secret stands in %v", files)
	}
	account, stamp, known, err := a.Session(f.ctx, secret)
	if account != "user alice" || string(stamp) != "stamp" || !known || err != nil {
		t.Errorf("got %q, %q, %v, %v", account, stamp, known, err)
	}
	f.ok(a.EndSession(f.ctx, secret))
	if _, _, known, _ := a.Session(f.ctx, secret); known {
		t.Error("it is known after signing out")
	}
	f.clock.advance(time.Hour)
	if _, _, known, _ := a.Session(f.ctx, other); known {
		t.Error("it is known after its time")
	}
}

func TestTheAuditLogIsReadInPagesAndTrimmed(t *testing.T) {
	f := open(t)
	a := f.Accounts()
	for i := range 5 {
		f.ok(a.Audit(f.ctx, AuditEntry{Account: fmt.Sprint("user ", i), Action: "edit", Subject: "case c1", Status: 200, Sender: "192.0.2.7"}))
	}
	f.ok(a.Audit(f.ctx, AuditEntry{Account: "user 1", Action: "delete", Subject: "case c2", Status: 303}))
	for name, c := range map[string]struct {
		q    AuditQuery
		want string
	}{
		"the newest first": {AuditQuery{Limit: 2}, "6 5"},
		"older ones":       {AuditQuery{Before: 5, Limit: 2}, "4 3"},
		"the oldest first": {AuditQuery{Oldest: true, After: 1, Limit: 2}, "2 3"},
		"one action":       {AuditQuery{Action: "delete", Limit: 9}, "6"},
		"one account":      {AuditQuery{Text: "user 1", Limit: 9}, "6 2"},
		"one case":         {AuditQuery{Text: "c1", Limit: 9}, "5 4 3 2 1"},
		"one sender":       {AuditQuery{Text: "192.0.2.7", Limit: 1}, "5"},
	} {
		got, err := a.AuditLog(f.ctx, c.q)
		f.ok(err)
		var numbers []string
		for _, e := range got {
			numbers = append(numbers, fmt.Sprint(e.Number))
		}
		if strings.Join(numbers, " ") != c.want {
			t.Errorf("%s: got %v, want %s", name, numbers, c.want)
		}
	}
	// Two batches and a half beyond the bound, without writing 100,000 rows.
	_, err := f.writer.ExecContext(f.ctx, `WITH RECURSIVE n (i) AS (SELECT 7 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
		INSERT INTO audit SELECT i, ?, '', '', '', '', '', 0, '', '' FROM n`, f.clock.now.UnixMicro())
	f.ok(err)
	_, err = f.writer.ExecContext(f.ctx, `INSERT INTO audit VALUES (102500, ?, '', '', '', '', '', 0, '', '')`, f.clock.now.UnixMicro())
	f.ok(err)
	left := func() (n int) {
		f.ok(f.reader.QueryRowContext(f.ctx, `SELECT count(*) FROM audit`).Scan(&n))
		return n
	}
	f.ok(a.TrimAudit(f.ctx))
	if got := left(); got != 1 {
		t.Errorf("%d rows are left of those beyond 100,000", got)
	}
	f.clock.advance(366 * 24 * time.Hour)
	f.ok(a.TrimAudit(f.ctx))
	if got := left(); got != 0 {
		t.Errorf("%d rows are left after a year", got)
	}
}
