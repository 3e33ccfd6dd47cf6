package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/column"
	"leakdiff/store/blob"
)

// Manifest says what is in a backup.
type Manifest struct {
	Schema string    `json:"schema"`
	Made   time.Time `json:"made_at"`
	// Database is the version of the rows.
	Database int              `json:"database"`
	Tables   map[string]tally `json:"tables"`
	// Uploads are those in the backup, Bytes the size of its files without the manifest.
	Uploads int   `json:"uploads"`
	Bytes   int64 `json:"bytes"`
	// Missing are the hashes of uploads that were already missing or damaged.
	Missing []string `json:"missing"`
	// InBucket is how many uploads of the database are in a bucket, and not in the backup.
	InBucket int `json:"in_bucket,omitempty"`
}

// BackupConfig says what is copied where. Dir and To are required.
type BackupConfig struct {
	// Dir is a data directory; a server may run on it.
	Dir string
	// To is a new directory, or a new file if it ends in .tar.
	To  string
	Now func() time.Time
	// copying runs before each upload is copied; tests set it.
	copying func(sha string)
}

// Backup copies a data directory while a server may run on it. The copy is that of one
// moment: the rows are read in one transaction, then the uploads that they name. If a case was
// deleted in between, the rows are read again. To appears at once, when everything in it was
// verified and is durable.
func Backup(ctx context.Context, cfg BackupConfig) (*Manifest, error) {
	if err := errors.Join(isDataDir(cfg.Dir), refuseOlder(cfg.Dir)); err != nil {
		return nil, err
	}
	if err := refuseDamagedLog(cfg.Dir); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(cfg.To); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, &analysis.Fault{Code: "exists", What: notBackedUp, Where: cfg.To, Why: "there is something by this name", Hint: "Give --to another name."})
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	part := cfg.To + partSuffix
	if err := os.RemoveAll(part); err != nil {
		return nil, err
	}
	m, err := backup(ctx, cfg, part)
	if err != nil {
		if IsFull(err) || strings.Contains(err.Error(), "no space left") {
			err = &analysis.Fault{Code: diskFull, What: notBackedUp, Where: cfg.To, Why: "its volume is full", Hint: "Free space there, or give --to another volume; nothing was kept of it.", Err: err}
		}
		return nil, errors.Join(err, os.RemoveAll(part), os.RemoveAll(cfg.To+tarSuffix+partSuffix))
	}
	return m, nil
}

const notBackedUp = "the backup was not made"

// mostTries bounds how often the rows are read again because a case was deleted.
const mostTries = 5

func backup(ctx context.Context, cfg BackupConfig, part string) (*Manifest, error) {
	to := &staging{dir: part, copying: cfg.copying, blobs: blob.OpenReadOnly(blob.Config{Dir: filepath.Join(part, blobDir), Log: slog.New(slog.DiscardHandler)})}
	defer to.packer.close()
	m := &Manifest{Schema: manifestSchema, Made: cfg.Now().UTC().Truncate(time.Second)}
	var found *checker
	for try := 1; ; try++ {
		err := to.begin()
		if err == nil {
			found, err = check(ctx, checkConfig{dir: cfg.Dir, inUse: true, leaveBucket: true, to: to})
		}
		if err != nil {
			return nil, err
		}
		if !found.deleted || try == mostTries {
			break
		}
	}
	for _, f := range found.Findings {
		if f.Subject == OfDatabase || f.Subject == OfReference {
			return nil, &analysis.Fault{Code: "damaged", What: notBackedUp, Where: f.Where, Why: f.What + ": " + f.Why, Hint: f.Hint}
		}
	}
	m.Database, m.Tables, m.Missing = found.Database, found.tallies, append([]string{}, found.lost...)
	if err := to.complete(ctx, cfg.Dir, found, m); err != nil {
		return nil, err
	}
	finished := part
	if strings.HasSuffix(cfg.To, tarSuffix) {
		finished = cfg.To + tarSuffix + partSuffix
		if err := packTar(ctx, finished, part, m); err != nil {
			return nil, err
		}
	}
	if _, err := readBackup(ctx, finished, nil); err != nil {
		return nil, err
	}
	return m, errors.Join(renameDurably(finished, cfg.To), os.RemoveAll(part))
}

// staging is a backup that is being made.
type staging struct {
	dir     string
	blobs   *blob.Directory
	copying func(sha string)
	packer  packer
	// files counts those of rows, which have bytes.
	files int
	bytes int64
}

// begin drops the rows of an earlier try. Uploads stay, since they never change.
func (s *staging) begin() error {
	s.files, s.bytes = 0, 0
	rows := filepath.Join(s.dir, rowsDir)
	return errors.Join(os.RemoveAll(rows), os.MkdirAll(rows, 0o700), os.MkdirAll(filepath.Join(s.dir, blobDir), 0o700))
}

func (s *staging) rows(ctx context.Context, b *batch) error {
	c := column.Writer(bytesOfBatch)
	if b.code(c); c.Err() != nil {
		return c.Err()
	}
	sealed, err := s.packer.seal(c.Data())
	if err != nil {
		return err
	}
	s.files++
	s.bytes += int64(len(sealed))
	return writeFile(ctx, filepath.Join(s.dir, filepath.FromSlash(rowsFile(s.files))), bytes.NewReader(sealed))
}

// upload copies the stored file of an upload, unless it has none, or an earlier try did.
func (s *staging) upload(ctx context.Context, from *blob.Directory, sha string) error {
	if s.copying != nil {
		s.copying(sha)
	}
	if s.blobs.Has(sha) {
		return nil
	}
	file, err := from.Path(sha)
	if code := codeOf(err); code == "not_found" || code == blob.Damaged {
		return nil
	}
	if err != nil {
		return err
	}
	in, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	dir := filepath.Join(s.dir, blobDir, sha[:2])
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return writeFile(ctx, filepath.Join(dir, filepath.Base(file)), in)
}

// complete adds the knowledge and the manifest. It drops uploads that cannot be read, and those
// that only rows of an earlier try named: somebody deleted them.
func (s *staging) complete(ctx context.Context, data string, found *checker, m *Manifest) error {
	for _, u := range found.used {
		if u.Object != "" {
			m.InBucket++
		}
	}
	for _, sha := range m.Missing {
		delete(found.used, sha)
	}
	copied, err := s.blobs.List()
	if err != nil {
		return err
	}
	for _, e := range copied {
		if found.used[e.SHA256] == nil {
			if err := s.blobs.Delete(ctx, blob.Name{SHA256: e.SHA256}); err != nil {
				return err
			}
			continue
		}
		m.Uploads++
		m.Bytes += e.Stored
	}
	own, err := knowledgeOf(data)
	if err != nil {
		return err
	}
	if len(own.rows) > 0 {
		var sum tally
		if err := errors.Join(s.rows(ctx, own), sum.add(own)); err != nil {
			return err
		}
		m.Tables[own.table] = sum
	}
	m.Bytes += s.bytes
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(s.dir, manifestFile), append(text, '\n'), 0o600), syncTree(s.dir))
}

// knowledgeOf are the files with the own knowledge of a server, as rows.
func knowledgeOf(data string) (*batch, error) {
	out := &batch{table: knowledgeDir, columns: []string{"name", "content"}}
	dir := filepath.Join(data, knowledgeDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || err != nil {
			continue
		}
		var content []byte
		content, err = os.ReadFile(filepath.Join(dir, e.Name()))
		out.rows = append(out.rows, []any{e.Name(), content})
	}
	return out, err
}
