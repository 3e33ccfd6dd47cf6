package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/read/family"
	"leakdiff/analysis/read/ingest"
	"leakdiff/analysis/read/lsof"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/read/thread"
)

//go:embed testdata/lsof.txt
var realListing string

//go:embed testdata/fdinfo-inotify.txt
var inotifyFile string

//go:embed testdata/fdinfo-plain.txt
var plainFile string

//go:embed testdata/threads.txt
var realThreads string

// wanted is how much faster than the plain implementations the parsers shall be.
const wanted = 3

// compare runs a reader of another format and the plain program that somebody would
// write for the same figures in turns, and demands the same counts. The plain ones
// keep no places and bear no damage. least is how much faster ours shall be, 0 where
// it does more than the plain program.
func compare(s *suite, what string, count int, least float64, ours, plain func() (families, error)) error {
	defer onOneCore()()
	var times [2]series
	for range s.size.rounds {
		var got, want families
		var err, plainErr error
		times[0].time(func() { got, err = ours() })
		times[1].time(func() { want, plainErr = plain() })
		if err != nil || plainErr != nil {
			return fmt.Errorf("%s: %v, %v", what, err, plainErr)
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("%s: counted %v, the plain implementation %v", what, got, want)
		}
	}
	s.add(row{
		what: what, ours: fmt.Sprintf("%s, %.0f a ms", rounded(times[0].median()), float64(count)/times[0].median().Seconds()/1e3),
		peer: "bufio.Scanner " + rounded(times[1].median()),
	}.judged(ratio(times[1], times[0]), atLeast(least)))
	return nil
}

// listing prints rows of lsof for as many processes as it takes, each with the
// descriptors of the real one under other numbers.
func listing(rows int) string {
	head, body, _ := strings.Cut(realListing, "\n")
	var out strings.Builder
	out.WriteString(head + "\n")
	for pid := 10_000; rows > 0; pid++ {
		for line := range strings.Lines(strings.ReplaceAll(body, " 18123 ", " "+strconv.Itoa(pid)+" ")) {
			if rows == 0 {
				break
			}
			out.WriteString(line)
			rows--
		}
	}
	return out.String()
}

func measureListing(s *suite) error {
	text := listing(s.size.rows)
	parsed := func() (families, error) { return parsedListing(strings.NewReader(text)) }
	what := fmt.Sprintf("lsof, %d rows: descriptors by type", s.size.rows)
	err := compare(s, what, s.size.rows, wanted, parsed, func() (families, error) { return plainListing(strings.NewReader(text)) })
	if err != nil {
		return err
	}
	return compare(s, "  against a plain program that keeps no rows", s.size.rows, 0, parsed, func() (families, error) { return passingListing(strings.NewReader(text)) })
}

// parsedListing counts the descriptors of a table of lsof by type, as it reads them.
func parsedListing(r io.Reader) (families, error) {
	out := families{}
	_, _, err := lsof.ParseTable(r, "lsof.txt", func(_ int, r *lsof.Row) error {
		if r.IsDescriptor {
			out[r.Type]++
		}
		return nil
	})
	return out, err
}

// plainRow is a row of lsof as a plain program would keep it.
type plainRow struct {
	command, user, access, kind, device, size, name string
	pid, fd                                         int
	inode                                           uint64
	protocol, local, remote, state                  string
}

// plainListing reads the rows of a table of lsof, then counts descriptors by type.
func plainListing(r io.Reader) (families, error) {
	var rows []plainRow
	err := eachPlainRow(r, func(row *plainRow) { rows = append(rows, *row) })
	out := families{}
	for i := range rows {
		out[rows[i].kind]++
	}
	return out, err
}

// passingListing is plainListing for somebody who wants these counts alone: it reads
// the same of each row and keeps none.
func passingListing(r io.Reader) (families, error) {
	out := families{}
	err := eachPlainRow(r, func(row *plainRow) { out[row.kind]++ })
	return out, err
}

// eachPlainRow gives the rows of a table of lsof that are descriptors. Each is valid
// until the next.
func eachPlainRow(r io.Reader, visit func(*plainRow)) error {
	var row plainRow
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		fields := strings.Fields(scanner.Text())
		if len(fields) < 9 || fields[0] == "COMMAND" {
			continue
		}
		row = plainRow{command: fields[0], user: fields[2], kind: fields[4], device: fields[5], size: fields[6], name: strings.Join(fields[8:], " ")}
		row.pid, _ = strconv.Atoi(fields[1])
		number := strings.TrimRight(fields[3], "rwuRWUN ")
		fd, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		row.fd, row.access = fd, strings.TrimPrefix(fields[3], number)
		row.inode, _ = strconv.ParseUint(fields[7], 10, 64)
		if fields[7] == "TCP" || fields[7] == "UDP" {
			row.protocol = fields[7]
			row.local, row.remote, _ = strings.Cut(fields[8], "->")
			if len(fields) > 9 {
				row.state = strings.Trim(fields[9], "()")
			}
		}
		visit(&row)
	}
	return scanner.Err()
}

// directory packs an fdinfo directory as tar.gz: every fourth file is an inotify
// instance with four watches.
func directory(files int) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for fd := range files {
		body := fdinfo(fd)
		err := archive.WriteHeader(&tar.Header{Name: "capture/fdinfo/" + strconv.Itoa(fd), Mode: 0o400, Size: int64(len(body))})
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(archive, body); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func fdinfo(fd int) string {
	if fd%4 != 0 {
		return plainFile
	}
	body, watch, _ := strings.Cut(inotifyFile, "inotify ")
	for wd := range 4 {
		body += "inotify " + strings.Replace(watch, "wd:1 ino:1 ", fmt.Sprintf("wd:%x ino:%x ", wd+1, fd*4+wd), 1)
	}
	return body
}

func measureDirectory(s *suite) error {
	packed, err := directory(s.size.files)
	if err != nil {
		return err
	}
	defer onOneCore()()
	var unpacking, hashing, walking series
	for range s.size.rounds {
		unpacking.time(func() { err = cmp.Or(err, eachFile(packed, func([]byte) {})) })
		hashing.time(func() { err = cmp.Or(err, eachFile(packed, func(content []byte) { sha256.Sum256(content) })) })
		walking.time(func() { err = cmp.Or(err, walked(packed, func(*bundle.Member) error { return nil })) })
	}
	if err != nil {
		return err
	}
	s.note("Of the fdinfo files, compress/gzip and archive/tar alone, with which the plain program unpacks, take %s; the unpacker of ours alone takes %s. Neither side of the first row hashes. The second row is of a whole ingest, which does, against the same plain program, which does not: a SHA-256 of each file makes the %[1]s %[3]s.",
		rounded(unpacking.median()), rounded(walking.median()), rounded(hashing.median()))
	what := fmt.Sprintf("fdinfo, %d files in a tar.gz: descriptors and watches", s.size.files)
	plain := func() (families, error) { return plainDirectory(bytes.NewReader(packed)) }
	err = compare(s, what, s.size.files, wanted, func() (families, error) { return parsedDirectory(packed) }, plain)
	if err != nil {
		return err
	}
	return compare(s, "  and hashed, named, grouped, with every member kept", s.size.files, 0, func() (families, error) { return ingested(packed) }, plain)
}

// eachFile reads the files of a tar.gz and does nothing else.
func eachFile(packed []byte, do func(content []byte)) error {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	archive := tar.NewReader(zip)
	var content bytes.Buffer
	for {
		if _, err := archive.Next(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		content.Reset()
		if _, err := content.ReadFrom(archive); err != nil {
			return err
		}
		do(content.Bytes())
	}
}

// parsedDirectory unpacks an archive and parses its files as an upload's are. It hashes
// nothing, as the plain program does not.
func parsedDirectory(packed []byte) (families, error) {
	var infos []procfs.FDInfo
	visit := func(m *bundle.Member) error {
		fd, err := strconv.Atoi(path.Base(m.Path))
		if err != nil {
			return nil
		}
		info, usual := procfs.ParseUsual(m.Head, fd)
		if !usual || !m.Whole() {
			if info, _, err = procfs.ParseFDInfo(m.Body, m.Path, fd); err != nil {
				return err
			}
		}
		if len(infos) == cap(infos) {
			infos = slices.Grow(infos, max(16, len(infos))) // as an ingest keeps them
		}
		infos = append(infos, info)
		return nil
	}
	if err := walked(packed, visit); err != nil {
		return nil, err
	}
	out := families{}
	for i := range infos {
		out["descriptors"]++
		out["watches"] += len(infos[i].Watches)
	}
	return out, nil
}

// walked unpacks an archive as an upload is.
func walked(packed []byte, visit func(*bundle.Member) error) error {
	_, _, err := bundle.Walk(context.Background(), bundle.Config{}, []bundle.Input{input(packed)}, visit)
	return err
}

func input(packed []byte) bundle.Input {
	return bundle.Input{Name: "fdinfo.tar.gz", Size: int64(len(packed)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)), nil
	}}
}

// ingested reads an upload as the server does, hashes and families included.
func ingested(packed []byte) (families, error) {
	result, err := ingest.Run(context.Background(), ingest.Config{Packed: true}, []bundle.Input{input(packed)})
	if err != nil {
		return nil, err
	}
	out := families{}
	for _, snap := range result.Snapshots {
		if n := snap.Totals.Descriptors; n != nil {
			out["descriptors"] += *n
		}
		if n := snap.Totals.Watches; n != nil {
			out["watches"] += *n
		}
	}
	return out, nil
}

// plainInfo is a file of fdinfo as a plain program would keep it.
type plainInfo struct {
	fd, mount         int
	pos, flags, inode uint64
	watches           []plainWatch
}

type plainWatch struct {
	wd, inode, device, mask uint64
	handle                  string
}

// plainDirectory reads the files of an archive and counts them and their watches.
func plainDirectory(r io.Reader) (families, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var infos []plainInfo
	archive := tar.NewReader(zip)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		info, err := plainFDInfo(archive)
		if err != nil {
			return nil, err
		}
		if info.fd, err = strconv.Atoi(path.Base(h.Name)); err == nil {
			infos = append(infos, info)
		}
	}
	out := families{}
	for _, info := range infos {
		out["descriptors"]++
		out["watches"] += len(info.watches)
	}
	return out, nil
}

func plainFDInfo(r io.Reader) (info plainInfo, err error) {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		fields := strings.Fields(scanner.Text())
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "pos:":
			info.pos, err = strconv.ParseUint(fields[1], 10, 64)
		case "flags:":
			info.flags, err = strconv.ParseUint(fields[1], 8, 64)
		case "mnt_id:":
			info.mount, err = strconv.Atoi(fields[1])
		case "ino:":
			info.inode, err = strconv.ParseUint(fields[1], 10, 64)
		case "inotify":
			var w plainWatch
			for _, f := range fields[1:] {
				key, value, _ := strings.Cut(f, ":")
				switch key {
				case "wd":
					w.wd, err = strconv.ParseUint(value, 16, 64)
				case "ino":
					w.inode, err = strconv.ParseUint(value, 16, 64)
				case "sdev":
					w.device, err = strconv.ParseUint(value, 16, 64)
				case "mask":
					w.mask, err = strconv.ParseUint(value, 16, 64)
				case "f_handle":
					w.handle = value
				}
			}
			info.watches = append(info.watches, w)
		}
		if err != nil {
			return info, err
		}
	}
	return info, scanner.Err()
}

// threads prints a dump of a JVM: the real threads again and again, under other
// ids.
func threads(count int) string {
	blocks := strings.Split(strings.TrimSpace(realThreads), "\n\n")
	var out strings.Builder
	out.WriteString("2026-11-21 02:47:13\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):\n\n")
	for i := range count {
		block := blocks[i%len(blocks)]
		from := strings.Index(block, "tid=0x")
		nid := strings.Index(block, " nid=0x")
		fmt.Fprintf(&out, "%stid=0x%016x nid=0x%x%s\n\n", block[:from], 0x7f33d0000000+i*64, 4096+i, block[nid+len(" nid=0x")+strings.IndexByte(block[nid+len(" nid=0x"):], ' '):])
	}
	return out.String()
}

func measureThreads(s *suite) error {
	text := threads(s.size.threads)
	s.note("The threads of jstack are %d real ones again and again, under their own names: ours does not work out again what a name or a stack is that came before.", strings.Count(strings.TrimSpace(realThreads), "\n\n")+1)
	parsed := func() (families, error) { return parsedThreads(strings.NewReader(text)) }
	what := fmt.Sprintf("jstack, %d threads: by state, grouped by name and stack", s.size.threads)
	err := compare(s, what, s.size.threads, wanted, parsed, func() (families, error) { return plainThreads(strings.NewReader(text)) })
	if err != nil {
		return err
	}
	err = compare(s, "  against a plain program that keeps no threads", s.size.threads, 0, parsed, func() (families, error) { return passingThreads(strings.NewReader(text)) })
	if err != nil {
		return err
	}
	own := numbered(text)
	return compare(s, "  each thread with a number in its name, as of a leaking pool", s.size.threads, 0,
		func() (families, error) { return parsedThreads(strings.NewReader(own)) },
		func() (families, error) { return plainThreads(strings.NewReader(own)) })
}

// numbered gives each thread of a dump a number of its own behind its name.
func numbered(text string) string {
	var out strings.Builder
	count := 0
	for line := range strings.Lines(text) {
		if end := strings.LastIndexByte(line, '"'); line[0] == '"' && end > 0 {
			line = fmt.Sprintf("%s-%d%s", line[:end], count, line[end:])
			count++
		}
		out.WriteString(line)
	}
	return out.String()
}

// threadCounts are what both sides count of a dump.
type threadCounts struct {
	threads, frames int
	// states are by word, groups by whatever a side tells them apart by.
	states, groups map[string]int
}

// threadStates are the words of java.lang.Thread.State. Threads of the virtual machine
// have none; ours gives them the native condition that they have instead.
var threadStates = [...]string{"NEW", "RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "TERMINATED"}

// compared are the counts by names that both sides have. The sides name groups
// differently: these are compared by how many there are of each size. On the real
// threads the families of ours and the groups of the plain program are the same.
func (c *threadCounts) compared() families {
	out := families{"threads": c.threads, "frames": c.frames}
	for _, word := range threadStates {
		out["state "+word] = c.states[word]
	}
	for _, n := range c.groups {
		out["groups of "+strconv.Itoa(n)]++
	}
	return out
}

// parsedThreads counts threads, frames, states and families as it reads them.
func parsedThreads(r io.Reader) (families, error) {
	c := threadCounts{states: map[string]int{}, groups: map[string]int{}}
	var known family.Threads
	members := map[*analysis.Family]int{}
	_, _, err := thread.ParseText(r, thread.Config{}, func(_ int, t *analysis.Thread) error {
		members[known.OfThread(t)]++
		c.threads++
		c.frames += len(t.Stack.Frames)
		c.states[t.State]++
		return nil
	})
	for f, n := range members {
		c.groups[f.Fingerprint] += n
	}
	return c.compared(), err
}

// plainThread is a thread as a plain program would keep it.
type plainThread struct {
	name, id, native, state string
	frames                  []plainFrame
}

type plainFrame struct {
	function, file string
	line           int
}

// plainThreads reads the threads of a dump, then counts them.
func plainThreads(r io.Reader) (families, error) {
	var all []*plainThread
	err := eachPlainThread(r, func(t *plainThread) *plainThread {
		all = append(all, t)
		return &plainThread{}
	})
	c := newPlainCounter()
	for _, t := range all {
		c.add(t)
	}
	return c.compared(), err
}

// passingThreads is plainThreads for somebody who wants these counts alone: it reads the
// same of each thread and keeps none.
func passingThreads(r io.Reader) (families, error) {
	c := newPlainCounter()
	err := eachPlainThread(r, func(t *plainThread) *plainThread {
		c.add(t)
		return t
	})
	return c.compared(), err
}

// plainCounter counts threads, frames and states, and groups threads by name without
// its digits and by stack.
type plainCounter struct {
	threadCounts
	digits *strings.Replacer
}

func newPlainCounter() *plainCounter {
	return &plainCounter{
		threadCounts{states: map[string]int{}, groups: map[string]int{}},
		strings.NewReplacer("0", "", "1", "", "2", "", "3", "", "4", "", "5", "", "6", "", "7", "", "8", "", "9", ""),
	}
}

func (c *plainCounter) add(t *plainThread) {
	c.threads++
	c.frames += len(t.frames)
	c.states[t.state]++
	var key strings.Builder
	key.WriteString(c.digits.Replace(t.name))
	for _, f := range t.frames {
		key.WriteString("\n" + f.function)
	}
	c.groups[key.String()]++
}

// eachPlainThread gives the threads of a dump. visit returns what the next one is
// written to, which may be the same.
func eachPlainThread(r io.Reader, visit func(*plainThread) *plainThread) error {
	t, begun := &plainThread{}, false
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		line := scanner.Text()
		switch {
		case strings.HasPrefix(line, `"`):
			if begun {
				t = visit(t)
			}
			begun = true
			*t = plainThread{name: line[1:strings.LastIndexByte(line, '"')], frames: t.frames[:0]}
			for _, f := range strings.Fields(line) {
				if value, ok := strings.CutPrefix(f, "tid="); ok {
					t.id = value
				}
				if value, ok := strings.CutPrefix(f, "nid="); ok {
					t.native = value
				}
			}
		case strings.HasPrefix(line, "   java.lang.Thread.State: "):
			t.state = strings.Fields(line)[1]
		case strings.HasPrefix(line, "\tat "):
			function, place, _ := strings.Cut(strings.TrimSuffix(line[len("\tat "):], ")"), "(")
			file, number, _ := strings.Cut(place, ":")
			n, _ := strconv.Atoi(number)
			t.frames = append(t.frames, plainFrame{function, file, n})
		}
	}
	if begun {
		visit(t)
	}
	return scanner.Err()
}
