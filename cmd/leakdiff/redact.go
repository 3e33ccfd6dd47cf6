package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
)

type redactCommand struct {
	In  string `arg:"" name:"in" help:"A file, directory or archive with captures."`
	Out string `arg:"" name:"out" help:"The masked copy: a .tar.gz or .tgz that is not there yet, or a directory that is new or empty."`
}

// Help stands below the flags in the help of the command.
func (*redactCommand) Help() string {
	return `Copies captures without names of hosts, users and pods, addresses, paths, secrets and every word that is not known to be harmless, before they leave the house. Equal names become equal pseudonyms in all files, and each has the form of what it stands for, so that leakdiff report says the same of the copy: it is read again, and what it says is compared. Ids of goroutines, processes, descriptors and inodes, ports, times and the names of functions and modules stay. Files that are no text, profiles excepted, are left out and named.

Exit status: 0 done and the copy says the same, 1 it does not, 2 error, or no dump was found.

Example:
  leakdiff redact incident/ incident-masked.tar.gz`
}

func (c *redactCommand) Run(ctx context.Context, m *Main) (err error) {
	inputs, err := inputsOf(m, []string{c.In})
	if err != nil {
		return err
	}
	if c.In == "-" {
		return &analysis.Fault{Code: "usage", What: "standard input cannot be masked", Why: "it is read twice", Hint: "keep it in a file first"}
	}
	collectAt(reportPercent)
	before, found, err := c.judged(ctx, m, inputs, "reading")
	if err != nil {
		return err
	}
	if len(before) == 0 {
		return nothingRead("no dump was found", "leakdiff report says what each file is")
	}
	copied, err := newCopy(c.Out)
	if err != nil {
		return err
	}
	masking := &masking{raw: redact.NewRaw(found.names), kinds: found.kinds, to: &nesting{levels: []level{{to: copied}}}, paths: map[string]bool{}}
	problems, err := masking.run(ctx, inputs)
	if err = errors.Join(err, masking.to.leave(0), copied.close()); err != nil {
		return err
	}
	for _, x := range masking.raw.Receipt() {
		if x.Distinct > 0 {
			fmt.Fprintf(m.Stderr, "  %s: %d replaced\n", x.Title(), x.Distinct)
		}
	}
	masking.add(problems)
	for _, line := range masking.refused {
		m.say("left out: " + line)
	}
	again, err := inputsOf(m, []string{c.Out})
	if err != nil {
		return err
	}
	after, _, err := c.judged(ctx, m, again, "reading the copy")
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "%s in %s, %d left out\n", wording.Plural(masking.copied, "file", "files"), c.Out, masking.left)
	if missing := lacking(before, after); len(missing) > 0 || len(before) != len(after) {
		fmt.Fprintf(m.Stdout, "The copy does not say the same: %s of %d differ.\n", wording.Plural(max(len(missing), len(lacking(after, before))), "statement", "statements"), len(before))
		for _, line := range append(prefixed("only here: ", missing), prefixed("only in the copy: ", lacking(after, before))...) {
			fmt.Fprintln(m.Stdout, " ", line)
		}
		return errVerdictReached
	}
	fmt.Fprintf(m.Stdout, "The copy says the same: %s with the same verdicts and counts.\n", wording.Plural(found.groups, "group", "groups"))
	return nil
}

// found is where names may be in captures, what each file is, by its path, and how many groups there are.
type found struct {
	names  redact.Case
	kinds  map[string]string
	groups int
}

// judged reads captures. It returns a line for each group of each process, with verdict and counts and
// without names.
func (c *redactCommand) judged(ctx context.Context, m *Main, inputs []bundle.Input, doing string) ([]string, found, error) {
	result, err := read(ctx, m, inputs, doing)
	if err != nil {
		return nil, found{}, err
	}
	known, _, err := knowledgeIn("")
	if err != nil {
		return nil, found{}, err
	}
	built := report.Build(result.Snapshots, result.Problems, report.Options{Version: version, Knowledge: known})
	out := found{names: (&reportCommand{Paths: []string{c.In}}).names(built), kinds: map[string]string{}}
	for i := range built.Report.Series {
		out.groups += len(built.Report.Series[i].Families)
	}
	for _, a := range result.Artifacts {
		out.kinds[a.Path] = a.Kind
	}
	return sayings(&built.Report), out, nil
}

// sayings are what a report says of the case and of each group, without names, in order.
func sayings(r *report.Report) []string {
	if r.Diagnosis.State == string(report.NothingRead) {
		return nil
	}
	out := []string{"the answer " + r.Diagnosis.State}
	for i := range r.Snapshots {
		if s := &r.Snapshots[i]; s.Signal != "" {
			out = append(out, "a process ended by "+string(s.Signal))
		}
	}
	for i := range r.Series {
		for k := range r.Series[i].Families {
			f := &r.Series[i].Families[k]
			out = append(out, fmt.Sprint(f.Kind, " ", f.Verdict, " ", f.Counts))
		}
	}
	slices.Sort(out)
	return out
}

// mostDiffering bounds the groups that are listed.
const mostDiffering = 5

func prefixed(with string, lines []string) (out []string) {
	for _, line := range lines[:min(len(lines), mostDiffering)] {
		out = append(out, with+line)
	}
	return out
}

// lacking are the lines of a that b has not, or not as often.
func lacking(a, b []string) []string {
	left := map[string]int{}
	for _, line := range b {
		left[line]++
	}
	var out []string
	for _, line := range a {
		if left[line]--; left[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}

// masking copies the files of inputs without names: they are read once to learn what names there
// are, and again to replace them.
type masking struct {
	raw          *redact.Raw
	kinds        map[string]string
	to           *nesting
	paths        map[string]bool
	copied, left int
	refused      []string
}

func (x *masking) run(ctx context.Context, inputs []bundle.Input) ([]analysis.Problem, error) {
	config := bundle.Config{TempDir: os.TempDir()}
	if _, _, err := bundle.Walk(ctx, config, inputs, x.learn); err != nil {
		return nil, err
	}
	_, problems, err := bundle.Walk(ctx, config, inputs, x.mask)
	return problems, err
}

// content is how a file is masked.
type content int

const (
	lines content = iota
	profile
	unmasked
)

// contentOf tells texts and profiles from what cannot be masked.
func (x *masking) contentOf(m *bundle.Member) content {
	controls, text := 0, m.Head
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 && (m.Whole() || len(text) >= utf8.UTFMax) || r < 0x20 && !strings.ContainsRune("\n\r\t\x00\x1b\f", r) {
			controls++
		}
		text = text[n:]
	}
	if kind := x.kinds[m.Path]; controls > 0 && (strings.HasSuffix(kind, "-proto") || kind == "profile" || kind == "goroutine-debug3") {
		return profile
	}
	if controls*50 > len(m.Head) || bytes.Count(m.Head, []byte{0})*4 > len(m.Head) {
		return unmasked
	}
	return lines
}

// mostProfile bounds a profile, which is held as a whole.
const mostProfile = 1 << 30

func (x *masking) learn(m *bundle.Member) error {
	x.raw.LearnPath(m.Path)
	if m.Type != bundle.Regular {
		x.raw.Learn(m.Link)
		return nil
	}
	m.Parsing()
	switch x.contentOf(m) {
	case profile:
		b, err := io.ReadAll(io.LimitReader(m.Body, mostProfile))
		if err != nil {
			return m.Stop(err)
		}
		x.raw.LearnProfile(b) // one that cannot be read is left out
	case lines:
		return m.Stop(eachLine(m.Body, func(line, _ string) error {
			x.fields(m, line, func(text string) string { x.raw.Learn(text); return "" })
			return nil
		}))
	}
	return nil
}

func (x *masking) mask(m *bundle.Member) error {
	name := masked(x.raw, m.Path)
	switch {
	case x.paths[name]:
		x.refuse(name, "another file has this name without its names")
		return nil
	case m.Type == bundle.Symlink:
		x.take(name)
		to, below, err := x.to.at(name)
		if err != nil {
			return err
		}
		return to.link(below, x.raw.Line(m.Link), m.ModTime)
	case m.Type != bundle.Regular:
		x.refuse(name, "it is no file")
		return nil
	}
	m.Parsing()
	kind := x.contentOf(m)
	if kind == unmasked {
		x.refuse(name, "it is neither text nor a profile, so that names in it cannot be replaced")
		return nil
	}
	file, err := os.CreateTemp("", "leakdiff-redact-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	w, ended := packed(file, name, m.Compressed)
	if kind == profile {
		err = x.profile(w, m.Body)
		if err != nil {
			x.refuse(name, "the profile cannot be masked: "+err.Error())
			return nil
		}
	} else {
		err = eachLine(m.Body, func(line, end string) error {
			_, err := io.WriteString(w, x.fields(m, line, x.raw.Line)+end)
			return err
		})
	}
	if err := m.Stop(err); err != nil {
		return err
	}
	if err := ended(); err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	x.take(name)
	to, below, err := x.to.at(name)
	if err != nil {
		return err
	}
	return to.file(below, file, size, m.ModTime)
}

// fields calls text with the parts of a line that may hold names. In fields of lsof, a letter says what
// follows it.
func (x *masking) fields(m *bundle.Member, line string, text func(string) string) string {
	if x.kinds[m.Path] != "lsof-fields" {
		return text(line)
	}
	parts := strings.Split(line, "\x00")
	for i, p := range parts {
		if p != "" {
			parts[i] = p[:1] + text(p[1:])
		}
	}
	return strings.Join(parts, "\x00")
}

func (x *masking) profile(w io.Writer, r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, mostProfile))
	if err != nil {
		return err
	}
	if b, err = x.raw.Profile(b); err == nil {
		_, err = w.Write(b)
	}
	return err
}

// add names what the walk could not read, or not wholly, and does not know of yet.
func (x *masking) add(problems []analysis.Problem) {
	for _, p := range problems {
		name := masked(x.raw, p.Path)
		known := x.paths[name] || slices.ContainsFunc(x.refused, func(line string) bool { return strings.HasPrefix(line, name+": ") })
		if !known && p.Severity != analysis.Note {
			x.refuse(name, x.raw.Line(strings.TrimSuffix(p.What+": "+p.Why, ": ")))
		}
	}
}

func (x *masking) take(name string) { x.paths[name], x.copied = true, x.copied+1 }

func (x *masking) refuse(name, why string) {
	x.left++
	x.refused = append(x.refused, name+": "+why)
}

// masked is the path of a file without names, each of its elements by itself.
func masked(raw *redact.Raw, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(raw.Line(parts[i]), "/", "_")
	}
	return path.Clean(strings.Join(parts, "/"))
}

// packed writes with gzip what the file had around it; other packings are taken off.
func packed(w io.Writer, name string, packings []string) (io.Writer, func() error) {
	out := bufio.NewWriter(w)
	if len(packings) > 0 && packings[0] == "gzip" {
		zip := gzip.NewWriter(out)
		return zip, func() error { return errors.Join(zip.Close(), out.Flush()) }
	}
	return out, out.Flush
}

// mostLine is where a longer line is cut, after a sign that ends a value.
const mostLine = 1 << 18

// eachLine calls f with each line and what ends it.
func eachLine(r io.Reader, f func(line, end string) error) error {
	in := bufio.NewReaderSize(r, mostLine)
	for {
		text, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			if at := bytes.LastIndexAny(text, " ,;"); at > 0 {
				rest := bytes.Clone(text[at+1:])
				text, in = text[:at+1], bufio.NewReaderSize(io.MultiReader(bytes.NewReader(rest), in), mostLine)
			}
			err = nil
		}
		if len(text) > 0 {
			line := bytes.TrimRight(text, "\r\n")
			if err := f(string(line), string(text[len(line):])); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// copyTo takes the files of a copy: an archive or a directory.
type copyTo interface {
	file(name string, r io.Reader, size int64, at time.Time) error
	link(name, target string, at time.Time) error
	close() error
}

func newCopy(to string) (copyTo, error) {
	if strings.HasSuffix(to, ".tar.gz") || strings.HasSuffix(to, ".tgz") {
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		to := newArchive(f, true)
		to.f = f
		return to, nil
	}
	if present, err := os.ReadDir(to); err == nil && len(present) > 0 {
		return nil, &analysis.Fault{Code: "usage", What: "the directory of the copy is not empty", Where: to, Hint: "name a new directory, or empty it"}
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(to)
	return &directoryCopy{root}, err
}

// archiveCopy writes an archive. zip is nil for one that is not packed, f for one whose file stays
// open.
type archiveCopy struct {
	f   *os.File
	zip *gzip.Writer
	tar *tar.Writer
}

func newArchive(w io.Writer, zipped bool) *archiveCopy {
	if !zipped {
		return &archiveCopy{tar: tar.NewWriter(w)}
	}
	zip := gzip.NewWriter(w)
	return &archiveCopy{zip: zip, tar: tar.NewWriter(zip)}
}

func (a *archiveCopy) file(name string, r io.Reader, size int64, at time.Time) error {
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: at}); err != nil {
		return err
	}
	_, err := io.Copy(a.tar, r)
	return err
}

func (a *archiveCopy) link(name, target string, at time.Time) error {
	return a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o600, ModTime: at})
}

func (a *archiveCopy) close() error {
	err := a.tar.Close()
	if a.zip != nil {
		err = errors.Join(err, a.zip.Close())
	}
	if a.f != nil {
		err = errors.Join(err, a.f.Close())
	}
	return err
}

// nesting writes archives in archives. The files of one archive follow each other.
type nesting struct{ levels []level }

// level is an archive that is being written: its path, up to "!", and its file, which then goes to the
// level above.
type level struct {
	path string
	to   copyTo
	file *os.File
}

// at is where the file of a path belongs, and its name there.
func (n *nesting) at(name string) (copyTo, string, error) {
	depth, start := 0, 0
	for {
		end := strings.Index(name[start:], "!/")
		if end < 0 {
			break
		}
		end += start
		depth++
		if depth < len(n.levels) && n.levels[depth].path != name[:end] {
			if err := n.leave(depth - 1); err != nil {
				return nil, "", err
			}
		}
		if depth == len(n.levels) {
			f, err := os.CreateTemp("", "leakdiff-redact-")
			if err != nil {
				return nil, "", err
			}
			n.levels = append(n.levels, level{name[:end], newArchive(f, strings.HasSuffix(name[:end], "gz")), f})
		}
		start = end + len("!/")
	}
	if err := n.leave(depth); err != nil {
		return nil, "", err
	}
	return n.levels[depth].to, name[start:], nil
}

// leave ends the archives below a level.
func (n *nesting) leave(depth int) error {
	for last := len(n.levels) - 1; last > depth; last-- {
		done := n.levels[last]
		n.levels = n.levels[:last]
		defer os.Remove(done.file.Name())
		defer done.file.Close()
		if err := done.to.close(); err != nil {
			return err
		}
		size, err := done.file.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = done.file.Seek(0, io.SeekStart)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(done.path, n.levels[last-1].path), "!/")
		if err == nil {
			err = n.levels[last-1].to.file(name, done.file, size, time.Time{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// directoryCopy writes below a directory and follows no link out of it.
type directoryCopy struct{ root *os.Root }

func (d *directoryCopy) file(name string, r io.Reader, _ int64, at time.Time) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close()); err != nil || at.IsZero() {
		return err
	}
	return d.root.Chtimes(name, at, at)
}

func (d *directoryCopy) link(name, target string, _ time.Time) error {
	return errors.Join(d.root.MkdirAll(path.Dir(name), 0o700), d.root.Symlink(target, name))
}

func (d *directoryCopy) close() error { return d.root.Close() }
