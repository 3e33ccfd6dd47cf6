package redact

import (
	"fmt"

	"leakdiff/analysis/say/wording"
)

// Receipt counts the replacements of one rule and the different values that it found,
// with the places of the first values in the evidence.
type Receipt struct {
	Rule     Rule    `json:"rule"`
	Places   int     `json:"places"`
	Distinct int     `json:"distinct"`
	First    []First `json:"first,omitempty"`
}

// First is where a value occurs first in the evidence, as far as known: "host-1" at
// "path-1/t0/lsof.txt:2".
type First struct {
	Name string `json:"name"`
	At   string `json:"at"`
}

// become describes the replacement of a value, by rule.
var become = map[Rule]string{
	Tokens: "become token-1, token-2 …", Hosts: "become host-1, host-2 …", Addresses: "become ip-1, ip-2 …; ports and loopback stay",
	Arguments: "become arg-1, arg-2 …; numbers and switches stay", Pods: "become pod-1, pod-2 …", Namespaces: "become namespace-1 …", Users: "become user-1, user-2 …",
	Paths: "names in paths become path-1, path-2 …; directories of the system and names of source files stay",
	Files: "become file-1, file-2 …; names that say only the kind of evidence and the round stay",
	Homes: "become user-1, user-2 …", Ids: "become id-1, id-2 …; equal stays equal", Programs: "become program-1 …; well-known programs stay", Names: "become name-1, name-2 …; words of these pages, of functions and of well-known programs stay",
	Pointers: "become ptr-1, ptr-2 …; equal stays equal, so a lock can still be followed",
}

// Title is the rule as a heading: "Host names".
func (x Receipt) Title() string {
	return wording.Capital(string(x.Rule))
}

// Become describes the replacement of the values: "become host-1, host-2 …".
func (x Receipt) Become() string { return become[x.Rule] }

// Count is "67 places, 25 different", or "nothing found".
func (x Receipt) Count() string {
	if x.Places == 0 {
		return "nothing found"
	}
	return fmt.Sprintf("%s, %d different", wording.PagePlural(int64(x.Places), "place", "places"), x.Distinct)
}

// FirstPlaces lists where the values of a rule occur first: "host-1:
// path-1/lsof.txt:2".
func (x Receipt) FirstPlaces() []string {
	var out []string
	for _, f := range x.First {
		out = append(out, f.Name+": "+f.At)
	}
	if more := x.Distinct - len(out); len(out) > 0 && more > 0 {
		out = append(out, fmt.Sprintf("%d more, or of no known place", more))
	}
	return out
}

// Sum words a whole receipt: "redacted: 67 places by 12 rules".
func Sum(receipt []Receipt) string {
	places := 0
	for _, x := range receipt {
		places += x.Places
	}
	return fmt.Sprintf("redacted: %s by %d rules", wording.PagePlural(int64(places), "place", "places"), len(receipt))
}
