package knowledge

import (
	"path"
	"strings"

	"leakdiff/analysis/read/family"
)

// pattern is a function as a catalogue names it, normalised like the functions of
// families.
type pattern struct {
	text string
	// An open pattern matches every name that begins with it. A short one lacks leading
	// elements of its import path and matches after a slash or dot.
	open, short bool
}

// newPattern reads a function of a catalogue. A trailing "*", and a name that ends
// before its method, are open; closure numbers are dropped.
//
//	"k8s.io/kubernetes/vendor/github.com/docker/spdystream.(*Connection).Serve.func2" = github.com/moby/spdystream.(*Connection).Serve
//	"v3rpc.(*serverWatchStream)" = v3rpc.(*serverWatchStream)…, short and open
//	"k8s.io/kubelet/pkg/cri/streaming*" = k8s.io/kubelet/pkg/cri/streaming…, open
func newPattern(text string) pattern {
	text = strings.TrimSuffix(text, ".func")
	bare, star := strings.CutSuffix(text, "*")
	p := pattern{open: star || strings.HasSuffix(bare, ".") || strings.HasSuffix(bare, ")")}
	switch {
	case !p.open:
		p.text = family.LooseName(bare)
	case strings.HasSuffix(bare, ".") || strings.HasSuffix(bare, "/"):
		p.text = strings.TrimSuffix(family.LooseName(bare+"X"), "X")
	case strings.HasSuffix(bare, ")"):
		p.text = strings.TrimSuffix(family.LooseName(bare+".X"), ".X")
	default:
		// The rest may be the rest of a name or of a path.
		p.text = strings.TrimSuffix(family.LooseName(bare+".X"), ".X")
	}
	p.short = short(p.text)
	return p
}

// javaPattern is newPattern for a method of a Java class.
func javaPattern(text string) pattern {
	bare, star := strings.CutSuffix(text, "*")
	if star {
		return pattern{text: bare, open: true}
	}
	return pattern{text: family.LooseMethod(bare)}
}

// short reports whether a name lacks leading elements of its import path: its first
// element has no dot and is no directory of the standard library.
//
//	"net/http.(*conn).serve" = false, "main.main" = false, "server.(*streamAndReply).Read" = true
func short(name string) bool {
	head, _, slashed := strings.Cut(name, "/")
	if slashed {
		return !strings.Contains(head, ".") && !standardTop[head]
	}
	pkg, _, _ := strings.Cut(name, ".")
	return pkg != "main" && !standardTop[pkg]
}

// standardTop are the top directories of the standard library (Go 1.26, go list std).
var standardTop = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go
		hash html image index internal io iter log maps math mime net os panic path plugin reflect regexp runtime slices sort strconv strings structs sync
		syscall testing text time unicode unique unsafe weak`) {
		out[name] = true
	}
	return out
}()

// matches compares the pattern with a loose name.
func (p pattern) matches(name string) bool {
	if !p.short {
		return name == p.text || p.open && strings.HasPrefix(name, p.text)
	}
	for rest, from := name, 0; ; {
		at := strings.Index(rest, p.text)
		if at < 0 {
			return false
		}
		start := from + at
		if (start == 0 || name[start-1] == '/' || name[start-1] == '.') && (p.open || start+len(p.text) == len(name)) {
			return true
		}
		from = start + 1
		rest = name[from:]
	}
}

// leads reports whether a creator begins with the pattern.
func (p pattern) leads(name string) bool {
	p.open = true
	return p.matches(name)
}

// glob reports whether a value fits one of the globs that "|" separates: "*" stands
// for any text, slashes included.
//
//	glob("/run/containerd/fifo/*-stdout", "/run/containerd/fifo/<n>/x-stdout") = true
func glob(globs, value string) bool {
	for one := range strings.SplitSeq(globs, "|") {
		if wild(one, value) {
			return true
		}
	}
	return false
}

func wild(pattern, value string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == value
	}
	rest, ok := strings.CutPrefix(value, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, last)
}

// oneOf reports whether a program fits any of the globs. Without globs every program
// fits, including one without a known name.
func oneOf(globs []string, program string) bool {
	if len(globs) == 0 {
		return true
	}
	program = path.Base(strings.ReplaceAll(program, `\`, "/"))
	for _, g := range globs {
		if glob(g, program) {
			return true
		}
	}
	return false
}

// fits reports whether a family's attributes fit every glob.
func fits(globs, attributes map[string]string) bool {
	for name, g := range globs {
		if !glob(g, attributes[name]) {
			return false
		}
	}
	return true
}
