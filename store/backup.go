package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/store/blob"
)

// A backup is a directory, or a tar of it, with the manifest, a copy of the database that
// needs no log, the uploads that this copy refers to, and the knowledge of the server.
const (
	manifestFile   = "leakdiff.backup.json"
	manifestSchema = "leakdiff.backup/1"
	knowledgeDir   = "knowledge"
	tarSuffix      = ".tar"
	partSuffix     = ".part"
)

// Manifest lists a backup. Its file names have forward slashes.
type Manifest struct {
	Schema   string       `json:"schema"`
	Made     time.Time    `json:"made_at"`
	Database int          `json:"database"`
	Files    []BackupFile `json:"files"`
	// Missing are the hashes of uploads that were already missing or damaged.
	Missing []string `json:"missing"`
	// InBucket is how many uploads of the database are in a bucket, and not in the backup.
	InBucket int `json:"in_bucket,omitempty"`
}

// BackupFile is one file of a backup, with the hash of its bytes as they lie there.
type BackupFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Size is the sum over the files, in bytes.
func (m *Manifest) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Uploads is the number of uploads in it.
func (m *Manifest) Uploads() (n int) {
	for _, f := range m.Files {
		if strings.HasPrefix(f.Path, blobDir+"/") {
			n++
		}
	}
	return n
}

// BackupConfig says what is copied where. Dir and To are required.
type BackupConfig struct {
	// Dir is a data directory; a server may run on it.
	Dir string
	// To is a new directory, or a new file if it ends in .tar.
	To  string
	Now func() time.Time
	// between runs after each copy of the database; tests set it.
	between func()
}

// Backup copies a data directory while a server may run on it. The copy is that of one
// moment: the database is copied in one transaction, then the uploads that this copy refers
// to. If a case was deleted in between, the database is copied again. To appears at once,
// when everything in it was verified and is durable.
func Backup(ctx context.Context, cfg BackupConfig) (*Manifest, error) {
	if err := errors.Join(isDataDir(cfg.Dir), refuseOlder(cfg.Dir)); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(cfg.To); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, &analysis.Fault{Code: "exists", What: "the backup was not made", Where: cfg.To, Why: "there is something by this name", Hint: "Give --to another name."})
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &backup{cfg: cfg, part: cfg.To + partSuffix, copied: map[string]bool{},
		from: blob.OpenReadOnly(blob.Config{Dir: filepath.Join(cfg.Dir, blobDir), Log: slog.New(slog.DiscardHandler)})}
	if err := os.RemoveAll(b.part); err != nil {
		return nil, err
	}
	m, err := b.make(ctx)
	if err != nil {
		return nil, errors.Join(b.full(err), os.RemoveAll(b.part))
	}
	return m, nil
}

type backup struct {
	cfg  BackupConfig
	part string
	from *blob.Directory
	// copied are the uploads in part, by hash. They never change.
	copied map[string]bool
}

// mostTries bounds how often the database is copied again because a case was deleted.
const mostTries = 5

func (b *backup) make(ctx context.Context) (*Manifest, error) {
	for _, dir := range []string{b.part, filepath.Join(b.part, blobDir)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	m := &Manifest{Schema: manifestSchema, Made: b.cfg.Now().UTC().Truncate(time.Second), Missing: []string{}}
	for try := 1; ; try++ {
		used, version, err := b.copyDatabase(ctx)
		if err != nil {
			return nil, err
		}
		m.Database = version
		if b.cfg.between != nil {
			b.cfg.between()
		}
		lost, err := b.copyUploads(ctx, used)
		if err != nil {
			return nil, err
		}
		again, err := b.deletedMeanwhile(ctx, lost)
		if err != nil {
			return nil, err
		}
		if again && try < mostTries {
			continue
		}
		m.Missing = append(m.Missing, lost...)
		for _, u := range used {
			if u.Object != "" {
				m.InBucket++
			}
		}
		if err := b.dropUnused(used); err != nil {
			return nil, err
		}
		break
	}
	if err := b.copyOthers(ctx); err != nil {
		return nil, err
	}
	if err := list(ctx, b.part, m); err != nil {
		return nil, err
	}
	if err := writeManifest(b.part, m); err != nil {
		return nil, err
	}
	if err := syncTree(b.part); err != nil {
		return nil, err
	}
	if _, err := verifyBackup(ctx, b.part); err != nil {
		return nil, err
	}
	return m, b.place(ctx, m)
}

// copyDatabase copies the database in one transaction, and returns the uploads that the copy
// refers to and its version.
func (b *backup) copyDatabase(ctx context.Context) ([]usedBlob, int, error) {
	file, err := filepath.Abs(filepath.Join(b.cfg.Dir, databaseFile))
	if err != nil {
		return nil, 0, err
	}
	to := filepath.Join(b.part, databaseFile)
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	if err := makePrivate(to); err != nil {
		return nil, 0, err
	}
	db, err := connect(file, 1, "mode=ro")
	if err != nil {
		return nil, 0, err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, to)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, 0, fault("copying the database", err)
	}
	copied, version, err := openReadOnly(ctx, b.part, false)
	if err != nil {
		return nil, 0, err
	}
	defer copied.Close()
	tx, err := copied.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, err
	}
	defer tx.Rollback()
	used, err := usedBlobs(ctx, tx)
	return used, version, err
}

// copyUploads copies the uploads that are not copied yet, and returns the hashes of those
// that are missing or damaged.
func (b *backup) copyUploads(ctx context.Context, used []usedBlob) (lost []string, err error) {
	for _, u := range used {
		if b.copied[u.SHA256] || u.Object != "" {
			continue
		}
		err := b.copyUpload(ctx, u.SHA256)
		var known *analysis.Fault
		switch {
		case err == nil:
			b.copied[u.SHA256] = true
		case errors.As(err, &known) && (known.Code == blob.Damaged || known.Code == "not_found"):
			lost = append(lost, u.SHA256)
		case errors.Is(err, fs.ErrNotExist): // deleted between looking and opening
			lost = append(lost, u.SHA256)
		default:
			return nil, err
		}
	}
	return lost, nil
}

// copyUpload copies the stored file of an upload and verifies the copy.
func (b *backup) copyUpload(ctx context.Context, sha string) error {
	from, err := b.from.Path(sha)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.part, blobDir, sha[:2])
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	to := filepath.Join(dir, filepath.Base(from))
	if err := copyFile(ctx, from, to); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	if err := b.to().Verify(ctx, blob.Name{SHA256: sha}); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

func (b *backup) to() *blob.Directory {
	return blob.OpenReadOnly(blob.Config{Dir: filepath.Join(b.part, blobDir), Log: slog.New(slog.DiscardHandler)})
}

// deletedMeanwhile reports whether the database no longer refers to an upload that was not
// there: then the copy of the database is older than the deletion.
func (b *backup) deletedMeanwhile(ctx context.Context, lost []string) (deleted bool, err error) {
	if len(lost) == 0 {
		return false, nil
	}
	db, _, err := openReadOnly(ctx, b.cfg.Dir, true)
	if err != nil {
		return false, err
	}
	defer db.Close()
	hashes, err := json.Marshal(lost)
	if err != nil {
		return false, err
	}
	var left int
	err = db.QueryRowContext(ctx, `SELECT count(DISTINCT sha256) FROM bundle_file WHERE sha256 IN (SELECT value FROM json_each(?))`, string(hashes)).Scan(&left)
	return left < len(lost), fault("copying uploads", err)
}

// dropUnused removes copies of uploads that only an earlier copy of the database referred to.
func (b *backup) dropUnused(used []usedBlob) error {
	unused := maps.Clone(b.copied)
	for _, u := range used {
		delete(unused, u.SHA256)
	}
	var errs []error
	for sha := range unused {
		file, err := b.to().Path(sha)
		errs = append(errs, err, os.Remove(file))
	}
	return errors.Join(errs...)
}

// copyOthers copies the files of the server beside database and uploads: its knowledge.
func (b *backup) copyOthers(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(b.cfg.Dir, knowledgeDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(b.part, knowledgeDir), 0o700)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && err == nil {
			err = copyFile(ctx, filepath.Join(b.cfg.Dir, knowledgeDir, e.Name()), filepath.Join(b.part, knowledgeDir, e.Name()))
		}
	}
	return err
}

// place gives the finished backup its name.
func (b *backup) place(ctx context.Context, m *Manifest) error {
	if !strings.HasSuffix(b.cfg.To, tarSuffix) {
		return renameDurably(b.part, b.cfg.To)
	}
	archive := b.cfg.To + tarSuffix + partSuffix
	err := packTar(ctx, archive, b.part, m)
	if err == nil {
		err = verifyTar(ctx, archive, m)
	}
	if err == nil {
		err = renameDurably(archive, b.cfg.To)
	}
	if err != nil {
		return errors.Join(err, os.Remove(archive))
	}
	return os.RemoveAll(b.part)
}

// full words the error of a full volume.
func (b *backup) full(err error) error {
	if IsFull(err) || strings.Contains(err.Error(), "no space left") {
		return &analysis.Fault{Code: diskFull, What: "the backup was not made", Where: b.cfg.To, Why: "its volume is full", Hint: "Free space there, or give --to another volume; nothing was kept of it.", Err: err}
	}
	return err
}

// list adds every file of a backup to its manifest, by name.
func list(ctx context.Context, dir string, m *Manifest) error {
	m.Files = nil
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == manifestFile {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		sum, size, err := hashFile(ctx, file)
		m.Files = append(m.Files, BackupFile{filepath.ToSlash(name), size, sum})
		return err
	})
}

func writeManifest(dir string, m *Manifest) error {
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestFile), append(text, '\n'), 0o600)
}

// mostManifest bounds a manifest, in bytes: a million uploads.
const mostManifest = 256 << 20

func readManifest(dir string) (*Manifest, error) {
	f, err := os.Open(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, notABackup(dir, "it has no "+manifestFile)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostManifest))
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, notABackup(dir, "its "+manifestFile+" is damaged: "+err.Error())
	}
	if m.Schema != manifestSchema {
		return nil, notABackup(dir, fmt.Sprintf("its form is %.40q, this program knows %q", m.Schema, manifestSchema))
	}
	for _, f := range m.Files {
		if !backupName(f.Path) {
			return nil, notABackup(dir, fmt.Sprintf("it lists the file %.100q", f.Path))
		}
	}
	return m, nil
}

func notABackup(where, why string) error {
	return &analysis.Fault{Code: "damaged", What: "this is no sound backup", Where: where, Why: why, Hint: "Give another backup with --from. Nothing was changed."}
}

// backupName reports whether a backup may have a file of this name.
func backupName(name string) bool {
	if name == databaseFile || name == manifestFile {
		return true
	}
	dir, base := path.Split(name)
	switch {
	case !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsAny(name, "\\:"):
		return false
	case dir == knowledgeDir+"/":
		return true
	}
	return len(dir) == len(blobDir)+4 && strings.HasPrefix(dir, blobDir+"/") && blob.IsName(base) && base[:2] == dir[len(blobDir)+1:len(dir)-1]
}

// verifyBackup compares every file of a backup with its manifest, and checks the whole.
func verifyBackup(ctx context.Context, dir string) (*Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Files {
		sum, size, err := hashFile(ctx, filepath.Join(dir, filepath.FromSlash(f.Path)))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || size != f.Size || sum != f.SHA256 {
			return nil, notABackup(dir, f.Path+" differs from what the manifest says, or is missing")
		}
	}
	found, err := check(ctx, checkConfig{dir: dir, leaveBucket: true})
	if err != nil {
		return nil, err
	}
	for _, x := range found.Findings {
		if x.Note || x.sha != "" && slices.Contains(m.Missing, x.sha) {
			continue
		}
		if x.Subject == OfDatabase || x.Subject == OfReference || x.sha != "" {
			return nil, notABackup(dir, x.What+": "+x.Where+": "+x.Why)
		}
	}
	return m, nil
}
