package source

import (
	"slices"
	"strconv"
	"strings"
)

// host is a public host of repositories.
type host int

const (
	github host = iota
	gitlab
	gitiles // go.googlesource.com
)

// repository is where a module lies: its host, the path there, and the directory of the
// module inside.
type repository struct {
	host host
	path string
	dir  []string
}

// moved are the modules whose path is no address, with their repositories; * stands for one
// element. The hosts publish these in their go-import tags.
var moved = []struct {
	module string
	host   host
	path   string
}{
	{"golang.org/x/*", gitiles, "*"},
	{"k8s.io/*", github, "kubernetes/*"},
	{"sigs.k8s.io/*", github, "kubernetes-sigs/*"},
	{"go.etcd.io/*", github, "etcd-io/*"},
	{"google.golang.org/grpc", github, "grpc/grpc-go"},
	{"google.golang.org/protobuf", github, "protocolbuffers/protobuf-go"},
	{"google.golang.org/genproto", github, "googleapis/go-genproto"},
	{"google.golang.org/api", github, "googleapis/google-api-go-client"},
	{"cloud.google.com/go", github, "googleapis/google-cloud-go"},
	{"go.opentelemetry.io/otel", github, "open-telemetry/opentelemetry-go"},
	{"go.opentelemetry.io/contrib", github, "open-telemetry/opentelemetry-go-contrib"},
	{"go.uber.org/zap", github, "uber-go/zap"},
	{"go.uber.org/fx", github, "uber-go/fx"},
	{"go.uber.org/goleak", github, "uber-go/goleak"},
	{"go.mongodb.org/mongo-driver", github, "mongodb/mongo-go-driver"},
}

// repository finds where the module lies, false if its host is not known.
func (m module) repository() (r repository, ok bool) {
	switch m.path[0] {
	case "github.com":
		if len(m.path) < 3 {
			return r, false
		}
		r = repository{github, strings.Join(m.path[1:3], "/"), m.path[3:]}
	case "gitlab.com":
		// Repositories may lie in groups of groups: only one of two elements is certain.
		if len(m.path) != 3 && !(len(m.path) == 4 && majorElement.MatchString(m.path[3])) {
			return r, false
		}
		r = repository{gitlab, strings.Join(m.path[1:3], "/"), m.path[3:]}
	case "gopkg.in":
		name, below, ok := gopkg(m.path)
		return repository{github, name, below}, ok
	default:
		found := false
		for _, x := range moved {
			pattern := strings.Split(x.module, "/")
			if star, match := matches(pattern, m.path); match {
				r, found = repository{x.host, strings.Replace(x.path, "*", star, 1), m.path[len(pattern):]}, true
				break
			}
		}
		if !found {
			return r, false
		}
	}
	if n := len(r.dir); n > 0 && majorElement.MatchString(r.dir[n-1]) {
		r.dir = r.dir[:n-1]
	}
	return r, true
}

// matches reports a path that begins with a pattern, and what its star stands for.
func matches(pattern, path []string) (star string, ok bool) {
	if len(path) < len(pattern) {
		return "", false
	}
	for i, p := range pattern {
		if p == "*" {
			star = path[i]
		} else if p != path[i] {
			return "", false
		}
	}
	return star, true
}

// gopkg is the repository of a module of gopkg.in.
//
//	gopkg.in/yaml.v3 = go-yaml/yaml; gopkg.in/natefinch/lumberjack.v2 = natefinch/lumberjack
func gopkg(path []string) (name string, below []string, ok bool) {
	at := slices.IndexFunc(path, func(e string) bool { return strings.Contains(e, ".v") })
	if at != 1 && at != 2 {
		return "", nil, false
	}
	dot := strings.LastIndex(path[at], ".v")
	if _, err := strconv.ParseUint(path[at][dot+2:], 10, 16); err != nil || dot == 0 {
		return "", nil, false
	}
	name = path[at][:dot]
	if at == 1 {
		return "go-" + name + "/" + name, path[2:], true
	}
	return path[1] + "/" + name, path[3:], true
}

// address is that of a line of a file of the module. A pseudo-version names its commit;
// the tags of a module in a directory begin with the directory.
func (r repository) address(m module, line int) string {
	at, tagged := "", true
	if found := pseudoVersion.FindStringSubmatch(m.version); found != nil {
		at, tagged = found[1], false
	} else {
		at = strings.Join(append(slices.Clone(r.dir), strings.TrimSuffix(m.version, "+incompatible")), "/")
	}
	file := strings.Join(append(slices.Clone(r.dir), m.file...), "/")
	number := strconv.Itoa(line)
	switch r.host {
	case github:
		return "https://github.com/" + escaped(r.path, "blob", at, file) + "#L" + number
	case gitlab:
		return "https://gitlab.com/" + escaped(r.path, "-", "blob", at, file) + "#L" + number
	case gitiles:
		if tagged {
			at = "refs/tags/" + at
		}
		return "https://go.googlesource.com/" + escaped(r.path, "+", at, file) + "#" + number
	}
	return ""
}
