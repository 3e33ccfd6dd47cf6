package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// member is a file or link of an archive of leakdiff collect:
// leakdiff-HOST-TIME/tROUND/PROGRAM-PID/FILE.
type member struct {
	header *tar.Header
	data   []byte
}

// round is the number of the round that a member is of, -1 if it is of none.
func (m member) round() int {
	parts := strings.Split(m.header.Name, "/")
	if len(parts) < 2 || !strings.HasPrefix(parts[1], "t") {
		return -1
	}
	n, err := strconv.Atoi(parts[1][1:])
	if err != nil {
		return -1
	}
	return n
}

func unpack(raw []byte) ([]member, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	var out []member
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		out = append(out, member{header, data})
	}
}

func pack(members []member) ([]byte, error) {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zipped)
	for _, m := range members {
		if err := w.WriteHeader(m.header); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = zipped.Close()
	return out.Bytes(), err
}

// leftOut are files that describe the machine and not the program, and the second form of
// the goroutine dump, which makes captures larger.
var leftOut = []string{"goroutine.pb", "mountinfo", "cgroup", "proc_net_netlink", "proc_net_packet", "proc_net_unix"}

// steps finds the step of a file in a manifest.
var steps = regexp.MustCompile(`(?s),?\n  \{[^{}]*"file": "([^"]*)"[^{}]*\}`)

// judged leaves out what is not needed, from the files and from the manifest's list.
func judged(members []member) []member {
	out := slices.DeleteFunc(slices.Clone(members), func(m member) bool {
		return slices.Contains(leftOut, path.Base(m.header.Name))
	})
	for i, m := range out {
		if path.Base(m.header.Name) != "manifest.json" {
			continue
		}
		out[i].data = steps.ReplaceAllFunc(m.data, func(step []byte) []byte {
			if slices.Contains(leftOut, string(steps.FindSubmatch(step)[1])) {
				return nil
			}
			return step
		})
		header := *m.header
		header.Size = int64(len(out[i].data))
		out[i].header = &header
	}
	return out
}

// first returns the members of the first n rounds.
func first(members []member, n int) []member {
	return slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.round() >= n })
}

// file returns the file of a name of a round, nil if it is not there.
func file(members []member, round int, name string) []byte {
	for _, m := range members {
		if m.round() == round && path.Base(m.header.Name) == name {
			return m.data
		}
	}
	return nil
}

// descriptors returns the targets of the descriptors of a round.
func descriptors(members []member, round int) []string {
	var out []string
	for _, m := range members {
		if m.round() == round && path.Base(path.Dir(m.header.Name)) == "fd" {
			out = append(out, m.header.Linkname)
		}
	}
	return out
}
