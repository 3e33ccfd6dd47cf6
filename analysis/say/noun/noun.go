// Package noun says what a person calls the thing behind a type, a function, a thread pool
// or a connection: "informer factory" for informers.(*sharedInformerFactory). The words are
// data, each with its source. Nothing is guessed: without an entry there is no noun.
package noun

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// Noun is what a person calls one kind of things.
type Noun struct {
	// Match are the names that it stands for, with import paths as dumps print them: a type
	// ("k8s.io/client-go/informers.(*sharedInformerFactory)"), which stands for its methods
	// too, a function, or, for threads, the beginning of a pool's name.
	Match []string `json:"match"`
	One   string   `json:"one"`
	Many  string   `json:"many"`
	// Began and Ended are participles: started and stopped, opened and closed.
	Began string `json:"began"`
	Ended string `json:"ended"`
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

//go:embed nouns.json
var builtin []byte

var all = sync.OnceValues(func() ([]Noun, error) { return read(builtin) })

// read reads a list of nouns. It refuses incomplete ones.
func read(text []byte) ([]Noun, error) {
	var list []Noun
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("nouns: %w", err)
	}
	for i, n := range list {
		if len(n.Match) == 0 || n.One == "" || n.Many == "" || n.Began == "" || n.Ended == "" || n.Source == "" {
			return nil, fmt.Errorf("nouns: entry %d (%s) is not complete", i, n.One)
		}
	}
	return list, nil
}

// Of returns the noun of the first of the names that has one, or nil. Of several entries for
// one name the longest match counts.
func Of(names ...string) *Noun {
	list, err := all()
	if err != nil {
		return nil // a test reads the list
	}
	for _, name := range names {
		name = withoutVendor(name)
		var found *Noun
		longest := 0
		for i := range list {
			for _, m := range list[i].Match {
				if len(m) > longest && matches(name, m) {
					found, longest = &list[i], len(m)
				}
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// matches reports that name is m, or that m names the type or function it belongs to:
//
//	k8s.io/client-go/informers.(*sharedInformerFactory).Start   its type
//	main.run.func1                                              its function
//	OkHttp ConnectionPool                                       its first word
func matches(name, m string) bool {
	rest, ok := strings.CutPrefix(name, m)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == ' ' || rest[0] == '-' || rest[0] == '[')
}

func withoutVendor(name string) string {
	if at := strings.LastIndex(name, "/vendor/"); at >= 0 {
		return name[at+len("/vendor/"):]
	}
	return name
}
