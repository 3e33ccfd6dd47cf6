package procfs

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/line"
)

// maxMounts bounds one mountinfo; the kernel's own default is 100,000 per
// namespace (fs.mount-max).
const maxMounts = 1 << 18

// ParseMountinfo reads /proc/PID/mountinfo (proc_pid_mountinfo(5)). One device may have
// many lines: all are kept, in order. Escapes of blanks in paths are undone. The mounts
// are those of one mount namespace. The error is that of r only.
func ParseMountinfo(r io.Reader, path string) ([]analysis.Mount, []analysis.Problem, error) {
	probs := &line.Problems{Path: path}
	in := line.NewReader(r)
	var mounts []analysis.Mount
	for l := range in.All() {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		if len(mounts) >= maxMounts {
			probs.Add(analysis.Warning, l, "too many mounts", "only the first "+strconv.Itoa(maxMounts)+" are read",
				"watches on the others will look as if they had no mount")
			break
		}
		m, err := mountLine(l.Text)
		if err == nil && !l.Ended && m.Source == "" {
			err = errors.New("the file ends inside it")
		}
		if err != nil {
			probs.Add(analysis.Warning, l, "a mount is not understood", err.Error(),
				"watches on its device will look as if they had no mount")
			continue
		}
		mounts = append(mounts, m)
	}
	return mounts, probs.All(), in.Failure(path)
}

// mountLine reads one mount. Zero or more optional fields stand before the "-".
//
//	44 43 254:0 / /a\040b rw,relatime shared:1 - ext4 /dev/vda rw
//	ID 44, Parent 43, Major 254, Minor 0, Root "/", Point "/a b", FSType "ext4", Source "/dev/vda"
func mountLine(text string) (analysis.Mount, error) {
	fields := strings.Fields(text)
	if len(fields) < 7 {
		return analysis.Mount{}, errors.New("it has fewer than the 10 fields of a mount")
	}
	id, err1 := strconv.Atoi(fields[0])
	parent, err2 := strconv.Atoi(fields[1])
	if err := errors.Join(err1, err2); err != nil {
		return analysis.Mount{}, errors.New("it does not begin with the ids of mount and parent")
	}
	major, minor, ok := device(fields[2])
	if !ok {
		return analysis.Mount{}, errors.New(line.Quote(fields[2]) + " is no major:minor")
	}
	m := analysis.Mount{
		ID: id, Parent: parent, Major: major, Minor: minor,
		Root: unescape(fields[3]), Point: unescape(fields[4]),
	}
	for i, f := range fields[6:] {
		if f != "-" {
			continue
		}
		rest := fields[6+i+1:]
		if len(rest) == 0 {
			break
		}
		m.FSType = unescape(rest[0])
		if len(rest) > 1 {
			m.Source = unescape(rest[1])
		}
		return m, nil
	}
	return analysis.Mount{}, errors.New("no file system type follows a lone \"-\"")
}

// device reads a decimal device number.
//
//	"254:0"   254, 0, true
func device(s string) (major, minor uint32, ok bool) {
	a, b, _ := strings.Cut(s, ":")
	ma, err1 := strconv.ParseUint(a, 10, 32)
	mi, err2 := strconv.ParseUint(b, 10, 32)
	return uint32(ma), uint32(mi), err1 == nil && err2 == nil
}

// unescape undoes the octal escapes of the kernel's seq_escape.
//
//	`/a\040b\134c`   "/a b\c"
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return strings.Clone(s)
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
