package web

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
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

// rule is one style rule outside of any condition.
type rule struct{ selectors, body string }

var rules = sync.OnceValue(func() []rule { return rulesOf(Style()) })

// rulesOf lists the rules of a squeezed style sheet that hold everywhere: those in
// @media are left out.
func rulesOf(css string) []rule {
	var out []rule
	for css != "" {
		open := strings.IndexByte(css, '{')
		if open < 0 {
			break
		}
		depth, end := 0, open
		for ; end < len(css); end++ {
			if css[end] == '{' {
				depth++
			} else if css[end] == '}' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if head := css[:open]; !strings.HasPrefix(head, "@") && end < len(css) {
			out = append(out, rule{head, css[open+1 : end]})
		}
		css = css[min(end+1, len(css)):]
	}
	return out
}

var (
	byClasses = regexp.MustCompile(`^(\.[\w-]+)+$`)
	variable  = regexp.MustCompile(`var\((--[\w-]+)\)`)
	lightDark = regexp.MustCompile(`light-dark\(([^,()]+),([^,()]+)\)`)
)

// ClassStyle is the part of the style that classes alone ask for, for a drawing that
// stands alone: every token is written out, since many programs that show drawings
// know neither variables nor light-dark(), and the dark colours follow the system.
func ClassStyle(classes []string) string {
	tokens := map[string]string{}
	for _, r := range rules() {
		if r.selectors != ":root" {
			continue
		}
		for _, d := range strings.Split(r.body, ";") {
			if name, value, ok := strings.Cut(d, ":"); ok && strings.HasPrefix(name, "--") && tokens[name] == "" {
				tokens[name] = strings.TrimSpace(value)
			}
		}
	}
	var light, dark strings.Builder
	add := func(selectors, body string) {
		var day, night []string
		for _, d := range strings.Split(body, ";") {
			if d == "" {
				continue
			}
			for variable.MatchString(d) {
				d = variable.ReplaceAllStringFunc(d, func(m string) string { return tokens[variable.FindStringSubmatch(m)[1]] })
			}
			day = append(day, lightDark.ReplaceAllString(d, "$1"))
			if lightDark.MatchString(d) {
				night = append(night, strings.TrimSpace(lightDark.ReplaceAllString(d, "$2")))
			}
		}
		light.WriteString(selectors + "{" + strings.Join(day, ";") + "}")
		if len(night) > 0 {
			dark.WriteString(selectors + "{" + strings.Join(night, ";") + "}")
		}
	}
	add("svg", "background:var(--canvas);font-family:var(--sans)")
	for _, r := range rules() {
		var kept []string
		for _, s := range strings.Split(r.selectors, ",") {
			if byClasses.MatchString(s) && !slices.ContainsFunc(strings.Split(s[1:], "."), func(c string) bool { return !slices.Contains(classes, c) }) {
				kept = append(kept, s)
			}
		}
		if len(kept) > 0 {
			add(strings.Join(kept, ","), r.body)
		}
	}
	return light.String() + "@media (prefers-color-scheme:dark){" + dark.String() + "}"
}
