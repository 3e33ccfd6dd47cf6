package family

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis/expression"
)

// nameRule replaces what differs between the threads of one sort. The rule is
// tried on names that may hold such a text only: in a leaking pool each name is new,
// and most have a minus or a dot.
type nameRule struct {
	may     func(name string) bool
	find    *expression.Expression
	replace string
}

var nameRules = []nameRule{
	{mayHoldUUID, expression.Lazy(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`), "<uuid>"},
	{mayHoldAddress, expression.Lazy(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+\b)?`), "<addr>"},
	{mayHoldAddress6, expression.Lazy(`\[(?:[0-9a-fA-F]*:){2,7}[0-9a-fA-F.]*\](?::\d+\b)?`), "<addr>"},
	{func(name string) bool { return strings.Contains(name, "0x") }, expression.Lazy(`\b0x[0-9a-fA-F]+`), "<hex>"},
	{func(name string) bool { return strings.Contains(name, "@") }, expression.Lazy(`@[0-9a-f]{5,16}\b`), "@<hex>"},
}

func holdsDigit(name string) bool {
	for i := range len(name) {
		if isDigit(name[i]) {
			return true
		}
	}
	return false
}

func mayHoldUUID(name string) bool { return len(name) >= 36 && strings.Count(name, "-") >= 4 }

// mayHoldAddress reports whether a dot has digits on both sides.
func mayHoldAddress(name string) bool {
	for i := 1; i < len(name)-1; i++ {
		if name[i] == '.' && isDigit(name[i-1]) && isDigit(name[i+1]) {
			return true
		}
	}
	return false
}

func mayHoldAddress6(name string) bool {
	return strings.Contains(name, "[") && strings.Count(name, ":") >= 2
}

// ThreadName returns the name of a thread without what changes from one thread of a
// pool to the next: UUIDs, addresses, hashes and numbers. Host names stay. Endings
// about the current work are cut.
//
//	"OkHttp WebSocket http://localhost:43177/..."      = "OkHttp WebSocket http://localhost:N/..."
//	"-2073792911-pool-734325-thread-1"                 = "N-pool-N-thread-N"
//	"Executor #1 for master : executing job #18"       = "Executor #N for master"
//	"Handling GET /job/x from 10.0.0.1 : qtp42-17 ..." = "Handling GET /job/x"
func ThreadName(printed string) string {
	name := cutVolatile(printed)
	if !holdsDigit(name) && !strings.ContainsAny(name, "@:") {
		return name
	}
	for _, r := range nameRules {
		if r.may(name) {
			name = r.find.ReplaceAllString(name, r.replace)
		}
	}
	return cutNumbers(name)
}

// cutNumbers replaces every run of digits. A minus before it is part of the
// number unless it joins it to a word.
//
//	"-12-pool-7" = "N-pool-N"
func cutNumbers(name string) string {
	var out []byte
	from := 0 // what stands before is in out
	for i := 0; i < len(name); i++ {
		if !isDigit(name[i]) {
			continue
		}
		begin := i
		if i > from && name[i-1] == '-' {
			if before, size := utf8.DecodeLastRuneInString(name[:i-1]); size == 0 || !joins(before) {
				begin--
			}
		}
		if out == nil {
			out = make([]byte, 0, len(name)+1)
		}
		out = append(append(out, name[from:begin]...), 'N')
		for i < len(name) && isDigit(name[i]) {
			i++
		}
		from = i
	}
	if out == nil {
		return name
	}
	return string(append(out, name[from:]...))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// joins reports whether a minus after c joins a number to a word.
func joins(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune(")]>-", c)
}

// cutVolatile cuts the part of a name about the thread's current work.
func cutVolatile(name string) string {
	if at := strings.Index(name, " : executing"); at > 0 {
		name = name[:at]
	}
	if strings.HasPrefix(name, "Handling ") {
		if at := strings.Index(name, " from "); at > 0 {
			name = name[:at]
		}
	}
	return name
}

// lentTo is the own name of a thread that Jenkins names after the request it works on, "" for
// every other name.
//
//	"Handling GET /job/x from 10.0.0.1 : qtp42-17 Main/index.jelly" = "qtp42-17"
func lentTo(printed string) string {
	request, own, named := strings.Cut(printed, " : ")
	request, handles := strings.CutPrefix(request, "Handling ")
	if method, _, _ := strings.Cut(request, " "); !named || !handles || method != strings.ToUpper(method) {
		return ""
	}
	own, _, _ = strings.Cut(own, " ")
	return own
}

// counted is the counter of a thread within its pool, in a normalised name; after
// a slash or a colon a number is part of an address.
var (
	counted = expression.Lazy(`(?:-thread-N|\s*\[#N\]|-N|\s*#N)$|([\pL)])\s?N$`)
)

// threadPool is the pool of a thread, by its name as it was printed and normalised.
func threadPool(printed, name string) string {
	if own := lentTo(printed); own != "" {
		name = ThreadName(own)
	}
	return poolOf(name)
}

func poolOf(name string) string {
	pool := counted.ReplaceAllString(name, "$1")
	if pool == "" {
		return name
	}
	return pool
}
