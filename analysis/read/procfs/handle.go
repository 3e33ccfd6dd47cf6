package procfs

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// maxHandles bounds the handles of one file.
const maxHandles = 1 << 19

// ParseHandles reads the targets of watched file handles on the host: lines of JSON
// with the schema leakdiff.watches/1, whose numbers are hexadecimal as in fdinfo. The
// error is that of r only.
//
//	{"schema":"leakdiff.watches/1","sdev":"1b","ino":"4f","fhandle_type":"1","f_handle":"4f00…","state":"linked","path":"/run/x","mount":"/run","fstype":"tmpfs"}
func ParseHandles(r io.Reader, path string) ([]analysis.Handle, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var out []analysis.Handle
	for l := range in.All() {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		if len(out) >= maxHandles {
			probs.Add(analysis.Warning, l, "too many watched file handles", "only the first "+strconv.Itoa(maxHandles)+" are read", "the others are named by mountinfo and inode lists alone")
			break
		}
		h, err := handleLine(l.Text)
		if err != nil {
			probs.Add(analysis.Warning, l, "a watched file handle is not understood", err.Error(), "nothing: the other lines were read")
			continue
		}
		h.Place = l.Place()
		out = append(out, h)
	}
	return out, probs.All(), in.Failure(path)
}

func handleLine(text string) (analysis.Handle, error) {
	var raw struct {
		Device    string               `json:"sdev"`
		Inode     string               `json:"ino"`
		Type      string               `json:"fhandle_type"`
		Handle    string               `json:"f_handle"`
		State     analysis.HandleState `json:"state"`
		Path      string               `json:"path"`
		Mount     string               `json:"mount"`
		FSType    string               `json:"fstype"`
		Elsewhere string               `json:"elsewhere"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return analysis.Handle{}, err
	}
	device, err := strconv.ParseUint(raw.Device, 16, 32)
	if err != nil {
		return analysis.Handle{}, err
	}
	inode, err := strconv.ParseUint(raw.Inode, 16, 64)
	if err != nil {
		return analysis.Handle{}, err
	}
	h := analysis.Handle{
		Device: uint32(device), Inode: inode, Handle: clip(raw.Handle), State: raw.State,
		Path: clip(raw.Path), Mount: clip(raw.Mount), FSType: clip(raw.FSType), Elsewhere: clip(raw.Elsewhere),
	}
	if raw.Handle == "" {
		return h, nil
	}
	kind, err := strconv.ParseUint(raw.Type, 16, 32)
	h.Type = uint32(kind)
	return h, err
}
