package simulation

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// capture is what was taken at one time, under one directory.
type capture struct {
	directory string
	files     []file
	modified  time.Time
}

type file struct {
	name string
	body []byte
}

// dating is the way in which a series says when its captures were taken.
type dating int

const (
	byManifest dating = iota
	byDirectory
	byFileTime
	datings
)

// clock is the calendar time of an hour of the window.
func (w *world) clock(at float64) time.Time {
	return time.Date(2026, 11, 3, 9, 20, 0, 0, time.UTC).Add(time.Duration(at * float64(time.Hour)))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// captures writes all that was taken, in the order of time.
func (w *world) captures(f form, flaw flaw) []capture {
	dated := dating(w.r.IntN(int(datings)))
	if dated == byDirectory && w.span < 0.1 {
		dated = byManifest // names say no part of a second
	}
	if f == sockets || f == watches || f == node {
		w.descriptors = w.numbered()
	}
	identified := w.r.IntN(2) == 0 || len(w.starts) > 1 && f != debug2
	style := w.r.IntN(wrappings)
	odd := 1 + w.r.IntN(max(1, len(w.times)-2)) // the capture with a flaw of its own
	interval := w.span / float64(len(w.times))
	var out []capture
	for i, at := range w.times {
		off := 0.0
		if flaw == skewed {
			off = 5
			if i == odd {
				off += interval / 3
			}
		}
		taken := w.clock(at + off)
		c := capture{directory: fmt.Sprintf("t%d/%s", i, w.program), modified: taken}
		c.files = w.evidence(f, at, identified)
		switch dated {
		case byManifest:
			c.files = append(c.files, file{"captured_at.txt", []byte(taken.Format("2006-01-02T15:04:05.000Z07:00") + "\n")})
			c.modified = w.clock(0) // an unpacked copy
		case byDirectory:
			c.directory = taken.Format("2006-01-02T15-04-05Z") + "/" + w.program
			c.modified = w.clock(0)
		}
		again := false
		switch {
		case flaw == cut && w.r.IntN(4) == 0:
			body := c.files[0].body
			c.files[0].body = body[:int(float64(len(body))*w.between(0.5, 0.95))]
		case flaw == wrapped:
			c.files[0].body = wrap(style, c.files[0].body, taken)
		case flaw == repeated && i == odd && len(w.times) > 4:
			c.files[0].body = nil
		case flaw == repeated:
			again = w.r.IntN(4) == 0
		}
		if again {
			c.files = append(c.files, file{"copy-of-" + c.files[0].name, c.files[0].body})
		}
		out = append(out, c)
	}
	return out
}

// evidence are the files of one capture, the dump first.
func (w *world) evidence(f form, at float64, identified bool) []file {
	var files []file
	switch f {
	case debug2:
		files = append(files, file{"goroutines.txt", w.dump2(at)})
	case debug1:
		files = append(files, file{"goroutines.debug1.txt", w.dump1(at)})
	case java:
		files = append(files, file{"jstack.txt", w.threads(at)})
	case sockets:
		files = append(files, file{"lsof.txt", w.lsof(at)})
	case watches:
		files = append(files, w.fdinfo(at)...)
	case node:
		return []file{{"report.json", w.nodeReport(at)}}
	case totals:
		return []file{{"metrics.txt", w.metrics(at)}}
	}
	if identified || f == watches {
		files = append(files, file{"status", w.status(at)})
	}
	if (identified && f != java) || len(w.loads) > 0 || len(w.versions) > 0 {
		files = append(files, file{"metrics.txt", w.metrics(at)})
	}
	return files
}

// wrappings is the number of forms that wrap knows.
const wrappings = 4

// wrap puts every line into a line of a log.
func wrap(style int, body []byte, at time.Time) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSuffix(line, "\n")
		at = at.Add(137 * time.Microsecond)
		switch style {
		case 0:
			fmt.Fprintf(&b, "%s node-7 billing[4242]: %s\n", at.Format("2006-01-02T15:04:05-0700"), line)
		case 1:
			fmt.Fprintf(&b, "%s stderr F %s\n", at.Format("2006-01-02T15:04:05.000000000Z"), line)
		case 2:
			fmt.Fprintf(&b, "{\"log\":%q,\"stream\":\"stderr\",\"time\":%q}\n", line+"\n", at.Format(time.RFC3339Nano))
		default:
			fmt.Fprintf(&b, "%s %s\n", at.Format("2006-01-02T15:04:05.000000000Z"), line)
		}
	}
	return b.Bytes()
}

// Pack writes the first n captures as one archive.
func (s *Series) Pack(w io.Writer, n int) error {
	archive := tar.NewWriter(w)
	for _, c := range s.captures[:n] {
		for _, f := range c.files {
			header := &tar.Header{Name: c.directory + "/" + f.name, Mode: 0o644, Size: int64(len(f.body)), ModTime: c.modified, Format: tar.FormatPAX}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			if _, err := archive.Write(f.body); err != nil {
				return err
			}
		}
	}
	return archive.Close()
}
