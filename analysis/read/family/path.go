package family

import (
	"strings"

	"leakdiff/analysis/expression"
)

// pathRule replaces what differs between the pods, containers and files of one sort.
// Later rules see the placeholders of earlier ones.
type pathRule struct {
	find    *expression.Expression
	replace string
}

var (
	// Pod UIDs and other UUIDs; systemd writes them with underscores.
	uuid = pathRule{expression.Lazy(`[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{12}`), "<uid>"}
	// The API server appends five characters to the names of token volumes.
	volume = pathRule{expression.Lazy(`(kube-api-access|-token)-[0-9a-z]{5}(/|$)`), "$1-<x>$2"}
	// mktemp fills ten characters of its default template.
	temporary = pathRule{expression.Lazy(`/tmp\.[0-9A-Za-z]{10}(/|$)`), "/tmp.<x>$1"}
	// The kubelet names log directories NAMESPACE_POD_UID and log links
	// POD_NAMESPACE_CONTAINER-ID.log.
	podDirectory = pathRule{expression.Lazy(`/([^/_]+)_[^/_]+_<uid>(/|$)`), "/${1}_<pod>_<uid>$2"}
	podLink      = pathRule{expression.Lazy(`/[^/_]+_([^/_]+)_([^/_]+-<id>\.log)`), "/<pod>_${1}_$2"}
)

// PathPattern returns the path without the parts that differ from pod to pod and file
// to file: UUIDs and 32 hex digits become <uid>, other long hex ids <id>, digit runs
// <n>, random suffixes <x>, pod names in log paths <pod>. Short numbers that belong to
// a word stay ("k8s.io", "v2"). A pattern is its own pattern.
//
//	"/var/lib/kubelet/pods/5c3b6279-0177-caef-1f22-230719c1760e/volumes/kubernetes.io~projected/kube-api-access-5c3b6"
//	= "/var/lib/kubelet/pods/<uid>/volumes/kubernetes.io~projected/kube-api-access-<x>"
func PathPattern(p string) string {
	for {
		folded := foldPath(p)
		if folded == p {
			return p
		}
		p = folded
	}
}

// foldPath applies every rule once. Placeholders hold no digits, so that each
// round leaves fewer of them or nothing to do.
func foldPath(p string) string {
	for _, r := range []pathRule{uuid, volume, temporary} {
		p = r.find.ReplaceAllString(p, r.replace)
	}
	p = foldWords(p)
	for _, r := range []pathRule{podDirectory, podLink} {
		p = r.find.ReplaceAllString(p, r.replace)
	}
	return p
}

var (
	word = expression.Lazy(`x86_64|[0-9A-Za-z]+`)
	// Numbers of three digits and more are counters even after a word.
	counter = expression.Lazy(`[0-9]{3,}`)
	podHex  = expression.Lazy(`^pod[0-9a-f]{32}$`)
)

// foldWords replaces ids and numbers word by word.
//
//	"io.containerd.runtime.v2.task/k8s.io/<64 hex digits>/log" = "io.containerd.runtime.v2.task/k8s.io/<id>/log"
func foldWords(p string) string {
	return word.ReplaceAllStringFunc(p, func(w string) string {
		switch {
		case strings.Trim(w, "0123456789") == "":
			return "<n>"
		case podHex.MatchString(w):
			return "pod<uid>"
		case len(w) == 32 && isHex(w):
			return "<uid>"
		case len(w) >= 12 && isHex(w):
			return "<id>"
		case fixedWord(w):
			return w
		}
		return counter.ReplaceAllString(w, "<n>")
	})
}

// isHex reports whether w is written in hex digits of one case, some of them
// decimal.
func isHex(w string) bool {
	digit := strings.ContainsAny(w, "0123456789")
	return digit && (strings.Trim(w, "0123456789abcdef") == "" || strings.Trim(w, "0123456789ABCDEF") == "")
}

// fixedWord lists words whose numbers count nothing.
func fixedWord(w string) bool {
	switch strings.ToLower(w) {
	case "x86_64", "i386", "i486", "i586", "i686", "sha224", "sha256", "sha384", "sha512":
		return true
	}
	return false
}
