package redact

import (
	"strings"

	"leakdiff/analysis/say/wording"
)

// shown writes a text as pages show it, in which names are learned and looked for: invisible and
// control characters and bytes that are no UTF-8 are parts of a name and not its end. Line ends and
// tabs stay: they lie between names.
func shown(s string) string {
	at := strings.IndexAny(s, "\n\r\t")
	if at < 0 {
		return wording.Printable(s)
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexAny(s, "\n\r\t") {
		b.WriteString(wording.Printable(s[:at]))
		b.WriteByte(s[at])
		s = s[at+1:]
	}
	b.WriteString(wording.Printable(s))
	return b.String()
}
