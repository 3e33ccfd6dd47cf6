package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/store/blob"
)

// logSuffix names the log beside a database, keptSuffix the copy of a damaged one while a repair
// has not adopted what it lost.
const (
	logSuffix  = "-wal"
	keptSuffix = logSuffix + ".damaged"
)

// logDamage is a place of the log that was changed after it was written. SQLite takes it for the
// end of the log, and drops the transactions after it without a word.
type logDamage struct {
	file string
	// frame is the first damaged one, from 1; 0 is the header. offset is its place.
	frame, offset int64
	// after is how many ends of transactions follow it with frames that are all whole. Each was
	// written when those before it were durable; one alone may be a write that a crash cut.
	after int
	// copied is true if the database file has all that the log has: a checkpoint came before
	// the damage. Then the log is left out, and nothing is lost.
	copied bool
}

// surelyLost is how many whole ends prove that a transaction was lost which was durable.
const surelyLost = 2

// lost reports a damage of what was durable. It is nil-safe.
func (d *logDamage) lost() bool { return d != nil && d.after >= surelyLost && !d.copied }

func (d *logDamage) where() string {
	return filepath.Base(d.file) + ", frame " + strconv.FormatInt(d.frame, 10) + ", byte " + strconv.FormatInt(d.offset, 10)
}

func (d *logDamage) why() string {
	return fmt.Sprintf("its checksum is not that of its bytes; %s after it are whole, which SQLite drops", wording.Plural(d.after, "transaction", "transactions"))
}

// The layout of a log (https://sqlite.org/fileformat2.html#walformat): a header, then frames of
// a head and a page. Numbers and checksums are big-endian; the magic says in which order the
// bytes of a checksum were added up.
const (
	logHeader, logHead   = 32, 24
	littleSums, bigSums  = 0x377f0682, 0x377f0683
	leastPage, largePage = 512, 65536
)

// logSum is a checksum of a log.
type logSum [2]uint32

func (s logSum) add(order binary.ByteOrder, bytes []byte) logSum {
	for i := 0; i+8 <= len(bytes); i += 8 {
		s[0] += order.Uint32(bytes[i:]) + s[1]
		s[1] += order.Uint32(bytes[i+4:]) + s[0]
	}
	return s
}

func storedSum(bytes []byte) logSum {
	return logSum{binary.BigEndian.Uint32(bytes), binary.BigEndian.Uint32(bytes[4:])}
}

// damagedLog looks for a damage in the log of a database that nobody has open, or in the copy that
// an interrupted repair kept. It returns nil for none.
func damagedLog(database string) (*logDamage, error) {
	for _, suffix := range []string{keptSuffix, logSuffix} {
		pages := logPages{}
		d, err := scanLog(database+suffix, pages)
		if d != nil && err == nil && suffix == logSuffix {
			d.copied, err = pages.areIn(database)
		}
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

// logPages are the newest frames of each page, without their pages.
type logPages map[uint32]logFrame

type logFrame struct {
	// before is the stored checksum of the frame before.
	before, stored logSum
	head           [8]byte
	order          binary.ByteOrder
	size           int64
	whole          bool
}

// areIn reports whether a database file has these pages. The checksum of a frame vouches for the
// page in the file also where that in the log is damaged.
func (p logPages) areIn(database string) (bool, error) {
	f, err := os.Open(database)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for number, frame := range p {
		page := make([]byte, frame.size)
		if number == 0 {
			return false, nil
		}
		if _, err := f.ReadAt(page, (int64(number)-1)*frame.size); err != nil {
			return false, endOfLog(err)
		}
		if frame.stored != frame.before.add(frame.order, frame.head[:]).add(frame.order, page) {
			return false, nil
		}
	}
	return len(p) > 0, nil
}

// scanLog verifies each frame by the stored checksum of the one before it, so that those after a
// damage are verified too. Frames with other salts are left of an older log. It collects the
// pages up to the last whole end of a transaction, without those by which the database shrank.
func scanLog(file string, pages logPages) (*logDamage, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	var header [logHeader]byte
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return nil, endOfLog(err)
	}
	var order binary.ByteOrder
	switch binary.BigEndian.Uint32(header[:]) {
	case littleSums:
		order = binary.LittleEndian
	case bigSums:
		order = binary.BigEndian
	default:
		return nil, nil
	}
	page := binary.BigEndian.Uint32(header[8:])
	if page < leastPage || page > largePage || page&(page-1) != 0 {
		return nil, nil
	}
	before, salts := storedSum(header[24:]), string(header[16:24])
	var found *logDamage
	run, pending, size := 0, logPages{}, uint32(0)
	if before != (logSum{}).add(order, header[:24]) {
		found = &logDamage{file: file}
	}
	frame := make([]byte, logHead+page)
	for n := int64(1); ; n++ {
		if _, err := io.ReadFull(in, frame); err != nil {
			if found != nil && found.after == 0 {
				found = nil // the end of a write that a crash cut
			}
			maps.DeleteFunc(pages, func(number uint32, f logFrame) bool { return f.whole && number > size })
			return found, endOfLog(err)
		}
		stored := storedSum(frame[16:])
		whole := string(frame[8:16]) == salts && stored == before.add(order, frame[:8]).add(order, frame[logHead:])
		switch ends := binary.BigEndian.Uint32(frame[4:]) != 0; {
		case !whole && found == nil:
			found = &logDamage{file: file, frame: n, offset: logHeader + (n-1)*int64(len(frame))}
		case !whole:
			run = 0
		case found != nil && ends:
			run++
			found.after = max(found.after, run)
		}
		pending[binary.BigEndian.Uint32(frame)] = logFrame{before, stored, [8]byte(frame), order, int64(page), whole}
		if whole && binary.BigEndian.Uint32(frame[4:]) != 0 {
			maps.Copy(pages, pending)
			clear(pending)
			size = binary.BigEndian.Uint32(frame[4:])
		}
		before = stored
	}
}

func endOfLog(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// refuseDamagedLog refuses a data directory whose log is damaged, because what opens the database
// sees nothing after the damage. A server that runs there has read its log.
func refuseDamagedLog(dir string) error {
	held, err := lock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil
	}
	defer held.Close()
	d, err := damagedLog(filepath.Join(dir, databaseFile))
	if err != nil || d == nil || !d.lost() && !d.copied {
		return err
	}
	return d.fault()
}

func (d *logDamage) fault() error {
	return &analysis.Fault{Code: "damaged_log", What: "the log of the database is damaged", Where: d.where(), Why: d.why(), Hint: repairLogHint}
}

const repairLogHint = "Run leakdiff check --repair: it keeps the log aside and adopts the uploads that lost their case. Or restore the data directory from a backup (leakdiff restore)."

// log notes a damage of the log before anything opens the database.
func (c *checker) log() error {
	d, err := damagedLog(filepath.Join(c.dir, databaseFile))
	if err != nil || d == nil {
		return err
	}
	f := Finding{Subject: OfLog, Note: !d.lost(), What: "the log of the database is damaged", Where: d.where(), Why: d.why()}
	switch c.withoutLog = d.copied; {
	case d.copied:
		f.Mend, f.Hint = "keep the log under another name, and go on without it", "The database has all of it: nothing is lost."
	case d.lost():
		c.cut = d
		f.Mend = "keep a copy of the log, and go on with what stands before the damage"
		f.Hint = "What people entered and what was deleted after it is lost; a backup may have it (leakdiff restore)."
	default:
		f.Hint = "A crash within a write leaves this too: then nothing is lost that was acknowledged."
	}
	c.add(f)
	return nil
}

// withoutCase is the finding about an upload that no case refers to while transactions are lost.
func withoutCase(e blob.Entry) Finding {
	return Finding{Subject: OfLog, sha: e.SHA256, What: "an upload has no case", Where: "sha256 " + e.SHA256 + ", " + wording.Bytes(e.Stored) + " stored",
		Why:  "what the log lost named its case, or a crash came before it was acknowledged",
		Mend: "adopt it into the case " + strconv.Quote(adoptedTitle) + ", to be read when serve starts"}
}

const adoptedTitle = "recovered uploads"

// keepLog copies a damaged log, which opening the database may change, and makes the copy durable.
// It stands until all uploads are adopted, so that an interrupted repair is repeated.
func keepLog(ctx context.Context, d *logDamage) error {
	database, isLog := strings.CutSuffix(d.file, logSuffix)
	if !isLog {
		return nil // the copy of an interrupted repair
	}
	in, err := os.Open(d.file)
	if err != nil {
		return err
	}
	defer in.Close()
	part := database + keptSuffix + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeFile(ctx, part, in); err != nil {
		return err
	}
	return renameDurably(part, database+keptSuffix)
}

// adopt makes a case of the uploads that have none, each a bundle of its own, which waits to be
// read. Then the copy of the log needs no repair any more, and keeps another name.
func (s *Store) adopt(ctx context.Context, dir string, findings []Finding) error {
	caseID := ""
	for i := range findings {
		f := &findings[i]
		if f.Subject != OfLog || f.sha == "" {
			continue
		}
		size, err := s.sizeOfUpload(ctx, f.sha)
		if codeOf(err) == blob.Damaged || codeOf(err) == "not_found" {
			f.Why = err.Error()
			continue
		}
		if err != nil {
			return err
		}
		name := "upload-" + f.sha[:12]
		files := []File{{Name: name, SHA256: f.sha, Size: size}}
		if caseID == "" {
			var c Case
			c, _, _, err = s.OpenCase(ctx, adoptedTitle, "", name, files)
			caseID = c.ID
		} else {
			_, _, err = s.AddBundle(ctx, caseID, name, files)
		}
		if err != nil {
			return err
		}
		f.Mended = true
	}
	if err := s.keepLost(ctx, filepath.Join(dir, databaseFile+keptSuffix)); err != nil {
		return err
	}
	for i := range findings {
		if f := &findings[i]; f.Subject == OfLog && f.sha == "" {
			f.Mended = f.Mend != ""
		}
	}
	return nil
}

// sizeOfUpload reads an upload to its end, which verifies it.
func (s *Store) sizeOfUpload(ctx context.Context, sha string) (int64, error) {
	r, err := s.uploads.Open(ctx, sha)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, &untilDone{ctx, r})
}
