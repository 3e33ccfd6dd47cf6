// Package noun says what a person calls the thing behind a type, a function, a thread pool
// or a connection: "informer factory" for informers.(*sharedInformerFactory). The words are
// data, each with its source. Nothing is guessed: without an entry there is no noun.
package noun

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Noun is what a person calls one kind of things.
type Noun struct {
	// Match are the names that it stands for, with import paths as dumps print them: a type
	// ("k8s.io/client-go/informers.(*sharedInformerFactory)"), which stands for its methods
	// too, a function, or, for threads, the beginning of a pool's name. A major version
	// that is a directory of its own ("/v9/") is left out.
	Match []string `json:"match"`
	One   string   `json:"one"`
	Many  string   `json:"many"`
	// Began and Ended are participles: started and stopped, opened and closed.
	Began string `json:"began"`
	Ended string `json:"ended"`
	// Call says that each goroutine which is anywhere inside the function is one of them.
	// Without it the function or type is what the goroutine was started with.
	Call bool `json:"call,omitempty"`
	// Within says that they serve anything: a sentence adds the function that they are in.
	Within bool `json:"within,omitempty"`
	// Remedy is what ends them, an imperative. It is empty if nothing general is known.
	Remedy string `json:"remedy,omitempty"`
	// Source is the public page or file that uses these words.
	Source string `json:"source"`
}

// Words returns "1 informer factory" or "58 informer factories".
func (n *Noun) Words(count int) string {
	if count == 1 {
		return "1 " + n.One
	}
	return fmt.Sprintf("%d %s", count, n.Many)
}

// List is a list of nouns. Of two entries for the same name the first counts.
type List []Noun

// File is the name of the file with own nouns.
const File = "nouns.json"

//go:embed nouns.json
var builtin []byte

// Builtin is the list that comes with the program. A test reads it.
var Builtin = sync.OnceValue(func() List {
	list, _ := read(builtin)
	return list
})

// With returns the list of the program with own nouns, a file like nouns.json, before it. An
// own text with errors adds nothing.
func With(own []byte) (List, error) {
	if len(own) == 0 {
		return Builtin(), nil
	}
	list, err := read(own)
	return slices.Concat(list, Builtin()), err
}

// read reads a list of nouns. It refuses incomplete ones.
func read(text []byte) (List, error) {
	var list List
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("nouns: %w", err)
	}
	for i, n := range list {
		if len(n.Match) == 0 || slices.Contains(n.Match, "") || n.One == "" || n.Many == "" || n.Began == "" || n.Ended == "" || n.Source == "" {
			return nil, fmt.Errorf("nouns: entry %d (%s) needs match, one, many, began, ended and source", i+1, n.One)
		}
	}
	return list, nil
}

// Of returns the noun of the first of the names that has one, or nil. Of several entries for
// one name the longest match counts. What serves anything is the answer only if no other name
// has a noun.
func (l List) Of(names ...string) *Noun {
	var serving *Noun
	for _, name := range names {
		switch n := l.of(name); {
		case n == nil:
		case !n.Within:
			return n
		case serving == nil:
			serving = n
		}
	}
	return serving
}

// Call returns the noun of the outermost of the frames, the innermost first, whose callers
// are counted, or nil.
func (l List) Call(frames []string) *Noun {
	for _, frame := range slices.Backward(frames) {
		if n := l.of(frame); n != nil && n.Call {
			return n
		}
	}
	return nil
}

func (l List) of(name string) *Noun {
	name = plain(name)
	var found *Noun
	longest := 0
	for i := range l {
		for _, m := range l[i].Match {
			if len(m) > longest && matches(name, m) {
				found, longest = &l[i], len(m)
			}
		}
	}
	return found
}

// matches reports that name is m, or that m names the type or function it belongs to:
//
//	k8s.io/client-go/informers.(*sharedInformerFactory).Start   its type
//	main.run.func1                                              its function
//	OkHttp ConnectionPool                                       its first word
func matches(name, m string) bool {
	rest, ok := strings.CutPrefix(name, m)
	return ok && (rest == "" || strings.IndexByte(". -[(#:/", rest[0]) >= 0)
}

// plain is a name without what differs between programs that use the same module: the
// directory of vendored modules and the major version.
//
//	example.org/app/vendor/github.com/redis/go-redis/v9/internal/pool.NewConnPool
//	github.com/redis/go-redis/internal/pool.NewConnPool
func plain(name string) string {
	if at := strings.LastIndex(name, "/vendor/"); at >= 0 {
		name = name[at+len("/vendor/"):]
	}
	for from := 0; ; {
		at := strings.Index(name[from:], "/v")
		if at < 0 {
			return name
		}
		at += from
		end := at + len("/v")
		for end < len(name) && name[end] >= '0' && name[end] <= '9' {
			end++
		}
		if end > at+len("/v") && end < len(name) && name[end] == '/' {
			name = name[:at] + name[end:]
			continue
		}
		from = end
	}
}
