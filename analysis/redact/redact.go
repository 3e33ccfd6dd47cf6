// Package redact replaces what a shared result must not tell by consistent
// pseudonyms: equal values stay equal, so that stacks and addresses still
// align, and counts what it replaced. It takes text and gives text; it knows
// neither pages nor formats.
package redact

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"sort"
	"strings"
)

// Rule names one kind of secret.
type Rule string

// The rules, in the order in which they are applied.
const (
	Tokens     Rule = "tokens and passwords"
	Arguments  Rule = "values of command line arguments"
	Hosts      Rule = "host names"
	Pods       Rule = "pod names"
	Namespaces Rule = "namespaces"
	Users      Rule = "user names"
	Addresses  Rule = "network addresses"
	Homes      Rule = "home directories and user names in paths"
	Paths      Rule = "paths of data"
	Ids        Rule = "pod, container and request ids"
	Pointers   Rule = "pointers"
)

// Rules lists every rule in order.
func Rules() []Rule {
	return []Rule{Tokens, Arguments, Hosts, Pods, Namespaces, Users, Addresses, Homes, Paths, Ids, Pointers}
}

// Receipt says how often each rule replaced something, and how many different
// values it found.
type Receipt struct {
	Rule     Rule `json:"rule"`
	Places   int  `json:"places"`
	Distinct int  `json:"distinct"`
}

// Redactor replaces secrets in the texts of one result. It is not safe for
// concurrent use.
type Redactor struct {
	// known are names by the rule that hides them; named finds any of them and is
	// made when it is first needed.
	known map[string]Rule
	// public are words that are no secret: those of programs and functions.
	public map[string]bool
	named  *heads
	names  map[Rule]map[string]string
	places map[Rule]int
}

const secretWord = `(?:access[_-]?|auth[_-]?|api[_-]?)?(?:token|key|secret|password|passwd|pwd|signature|sig)`

var (
	// token is a secret named by its key: "token=abc", "Authorization: Bearer x",
	// "--password hunter2".
	token = regexp.MustCompile(`(?i)((?:authorization:\s*(?:bearer|basic)\s+|\bbearer\s+|` + secretWord + `["']?\s*[=:]\s*["']?|--?` + secretWord + `\s+))([^\s"'&,;)}\]]{4,})`)
	// userinfo is the name and password of a URL, or of a driver's data source:
	// "shop:s3cret@tcp(db:3306)".
	userinfo = regexp.MustCompile(`(://)([^/\s:@]*(?::[^/\s@]*)?)(@)|()([\w.-]+:[^\s:@/]+)(@(?:tcp|udp|unix)\()`)
	// key is one that is known by its form: a JSON web token, a key of AWS.
	key = regexp.MustCompile(`\beyJ[\w-]{10,}\.[\w-]{6,}\.[\w-]*|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)
	// mail is an address of a person; unit and version look like one.
	mail    = regexp.MustCompile(`\b[\w.+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b`)
	notMail = regexp.MustCompile(`@v\d|\.(?:service|socket|timer|slice|scope|mount|target|path|device)$`)
	ipv4    = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	// ipv6 has at least two colons and hex digits; what is no address stays.
	ipv6 = regexp.MustCompile(`(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:%[0-9a-z]+)?`)
	home = regexp.MustCompile(`(/home/|/Users/|\\Users\\|/var/home/)([^/\\\s:"']+)`)
	// Ids touch other words: "pod6f1c…", "shop_cart-7_6f1c…".
	uuid    = regexp.MustCompile(`(?i)[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}`)
	longHex = regexp.MustCompile(`[0-9a-f]{32,64}`)
	pointer = regexp.MustCompile(`\b0x[0-9a-f]{6,16}\b`)
	// print is a fingerprint of a family, which names no one and must stay.
	print = regexp.MustCompile(`\b[gtdwe]\d+:[0-9a-f]{32}\b`)
)

// New makes a redactor that also knows these host names.
func New(hosts []string) *Redactor {
	r := &Redactor{known: map[string]Rule{}, public: map[string]bool{}, names: map[Rule]map[string]string{}, places: map[Rule]int{}}
	r.Know(Hosts, hosts...)
	return r
}

// Text replaces every secret in s: "dial 10.1.2.3:443" gives "dial ip-1:443".
func (r *Redactor) Text(s string) string {
	s = token.ReplaceAllStringFunc(s, func(m string) string {
		p := token.FindStringSubmatch(m)
		return p[1] + r.name(Tokens, "token", p[2])
	})
	s = userinfo.ReplaceAllStringFunc(s, func(m string) string {
		p := userinfo.FindStringSubmatch(m)
		if p[2]+p[5] == "" {
			return m
		}
		return p[1] + r.name(Tokens, "token", p[2]+p[5]) + p[3] + p[6]
	})
	s = key.ReplaceAllStringFunc(s, func(m string) string { return r.name(Tokens, "token", m) })
	s = mail.ReplaceAllStringFunc(s, func(m string) string {
		if name, _, _ := strings.Cut(m, "@"); notMail.MatchString(m) || r.pseudonym(name) {
			return m
		}
		return r.name(Users, "user", strings.ToLower(m))
	})
	s = argument.ReplaceAllStringFunc(s, func(m string) string {
		p := argument.FindStringSubmatch(m)
		if plainValue.MatchString(p[2]) || r.pseudonym(p[2]) {
			return m
		}
		return p[1] + r.name(Arguments, "arg", p[2])
	})
	s = r.knownNames(s)
	s = ipv4.ReplaceAllStringFunc(s, r.address)
	s = ipv6.ReplaceAllStringFunc(s, r.address)
	s = home.ReplaceAllStringFunc(s, func(m string) string {
		p := home.FindStringSubmatch(m)
		return p[1] + r.name(Homes, "user", p[2])
	})
	s = uuid.ReplaceAllStringFunc(s, func(m string) string { return r.name(Ids, "id", m) })
	s = r.hex(s)
	return pointer.ReplaceAllStringFunc(s, func(m string) string { return r.name(Pointers, "ptr", m) })
}

// hex replaces long ids except in fingerprints.
func (r *Redactor) hex(s string) string {
	kept := print.FindAllStringIndex(s, -1)
	var b strings.Builder
	at := 0
	replace := func(part string) {
		b.WriteString(longHex.ReplaceAllStringFunc(part, func(m string) string { return r.name(Ids, "id", m) }))
	}
	for _, k := range kept {
		replace(s[at:k[0]])
		b.WriteString(s[k[0]:k[1]])
		at = k[1]
	}
	replace(s[at:])
	return b.String()
}

// address replaces what parses as an address and says something: loopback and
// unspecified ones stay, and so does a time such as 12:30:01.
func (r *Redactor) address(m string) string {
	a, err := netip.ParseAddr(strings.Trim(m, " "))
	if err != nil || a.IsLoopback() || a.IsUnspecified() {
		return m
	}
	return r.name(Addresses, "ip", a.Unmap().String())
}

// name is the pseudonym of a value; the same value always gets the same one.
func (r *Redactor) name(rule Rule, word, value string) string {
	r.places[rule]++
	known := r.names[rule]
	if known == nil {
		known = map[string]string{}
		r.names[rule] = known
	}
	if n, ok := known[value]; ok {
		return n
	}
	n := fmt.Sprintf("%s-%d", word, len(known)+1)
	known[value] = n
	return n
}

// Value replaces secrets in every string of what v points to, and in the keys of its
// maps. A string of a type of its own is one of a few words and stays.
func (r *Redactor) Value(v any) {
	type replaced struct {
		text string
		// places are those of the string alone, by rule.
		places map[Rule]int
	}
	have := map[string]replaced{}
	walk(reflect.ValueOf(v), func(s string) string {
		if x, ok := have[s]; ok {
			for rule, n := range x.places {
				r.places[rule] += n
			}
			return x.text
		}
		before := maps.Clone(r.places)
		x := replaced{text: r.Text(s)}
		for rule, n := range r.places {
			if n -= before[rule]; n > 0 {
				if x.places == nil {
					x.places = map[Rule]int{}
				}
				x.places[rule] = n
			}
		}
		have[s] = x
		return x.text
	})
}

var plain = reflect.TypeFor[string]()

// walk puts what f gives for it in the place of every string of v, which can be set.
// Of time.Time and its like, whose fields are their own, it leaves everything.
func walk(v reflect.Value, f func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), f)
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(walked(v.Elem(), f))
		}
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
		out := reflect.MakeMapWithSize(v.Type(), len(keys))
		for _, k := range keys {
			out.SetMapIndex(walked(k, f), walked(v.MapIndex(k), f))
		}
		if !v.IsNil() {
			v.Set(out)
		}
	case reflect.String:
		if v.Type() == plain {
			v.SetString(f(v.String()))
		}
	}
}

// walked is a copy of v after walk.
func walked(v reflect.Value, f func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	walk(out, f)
	return out
}

// Receipt says what was replaced, rules without a hit included.
func (r *Redactor) Receipt() []Receipt {
	out := make([]Receipt, 0, len(Rules()))
	for _, rule := range Rules() {
		out = append(out, Receipt{Rule: rule, Places: r.places[rule], Distinct: len(r.names[rule])})
	}
	return out
}
