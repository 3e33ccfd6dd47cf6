package chart

import "strings"

// columnNames are the names of captures below an axis, of at most n characters each. Where one is longer,
// all lose the words that all begin and end with: "orders-073353" and "orders-073359" are 073353 and 073359.
func columnNames(labels []string, n int) []string {
	out := append([]string(nil), labels...)
	long := false
	for _, label := range labels {
		long = long || len([]rune(label)) > n
	}
	if long && len(labels) > 1 {
		head, tail := labels[0], labels[0]
		for _, label := range labels[1:] {
			for !strings.HasPrefix(label, head) {
				head = head[:len(head)-1]
			}
			for !strings.HasSuffix(label, tail) {
				tail = tail[1:]
			}
		}
		head = head[:strings.LastIndexAny(head, joints)+1]
		at := strings.IndexAny(tail, joints)
		if at < 0 {
			at = len(tail)
		}
		tail = tail[at:]
		for i, label := range labels {
			if len(head)+len(tail) < len(label) {
				out[i] = label[len(head) : len(label)-len(tail)]
			}
		}
	}
	for i := range out {
		out[i] = clip(out[i], n)
	}
	return out
}

// joints are between the words of a name.
const joints = "-_./ "

// clip shortens s to n characters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
