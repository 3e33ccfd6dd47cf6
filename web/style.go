package web

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"sync"
)

// Style is the whole style of the pages, for a file that stands alone.
var Style = sync.OnceValue(func() string {
	return string(assets()["page.css"].content) + string(assets()["chart.css"].content)
})

// StyleHash is the source expression of a content security policy that allows Style
// and no other: "'sha256-…'".
var StyleHash = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(Style()))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
})

var (
	token     = regexp.MustCompile(`(--[\w-]+):\s*([^;}]+?)\s*[;}]`)
	variable  = regexp.MustCompile(`var\((--[\w-]+)\)`)
	lightDark = regexp.MustCompile(`light-dark\(([^,()]+),\s*([^,()]+)\)`)
)

// tokens are the values of the custom properties of the style by their names.
var tokens = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, m := range token.FindAllStringSubmatch(style("token"), -1) {
		out[m[1]] = m[2]
	}
	return out
})

// Light is the colour of a token in the light theme: "#17191C" of "--ink".
func Light(token string) string { return lightDark.ReplaceAllString(tokens()[token], "$1") }

// DrawingStyle is the style of a drawing that stands alone. Every token is written out,
// since many programs that show drawings know neither variables nor light-dark(), and the
// dark colours follow the system.
var DrawingStyle = sync.OnceValue(func() string {
	rules := "svg { background: var(--canvas); font-family: var(--sans) }\n" + style("drawing")
	for variable.MatchString(rules) {
		rules = variable.ReplaceAllStringFunc(rules, func(v string) string { return tokens()[variable.FindStringSubmatch(v)[1]] })
	}
	return lightDark.ReplaceAllString(rules, "$1") + "@media (prefers-color-scheme: dark) {\n" + lightDark.ReplaceAllString(rules, "$2") + "}"
})
