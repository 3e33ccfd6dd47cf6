// Package redact replaces what a shared result must not reveal by consistent
// pseudonyms, and counts the replacements. Equal values stay equal, so that stacks and
// addresses still align. It learns names from the evidence of cases. It takes text and
// returns text. It knows neither pages nor formats.
package redact

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"sort"
	"strings"
	"unicode/utf8"

	"leakdiff/analysis/expression"
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
	Files      Rule = "names of uploaded files"
	Paths      Rule = "paths of data"
	Ids        Rule = "pod, container and request ids"
	Pointers   Rule = "pointers"
	Programs   Rule = "names of programs"
	Names      Rule = "words that nobody knows to be harmless"
)

// rules lists every rule in order.
func rules() []Rule {
	return []Rule{Tokens, Arguments, Hosts, Pods, Namespaces, Users, Addresses, Homes, Files, Paths, Ids, Pointers, Programs, Names}
}

// mostFirst is the number of values of a rule whose places a receipt lists.
const mostFirst = 20

// Redactor replaces secrets in the texts of one result. It is not safe for concurrent
// use.
type Redactor struct {
	// known are names with the rule that hides them.
	known table
	// public are words that are no secret: those of programs and functions. neighbours are
	// two of them, one after the other in such a name.
	public     map[string]bool
	neighbours map[[2]string]bool
	// same are synonyms that share the pseudonym of another name: the file "x.tgz" and
	// the snapshot "x". Those in whole are found only as words of their own.
	same  map[string]string
	whole map[string]bool
	// unknown are words that no rule knows and that are not known to be harmless. They
	// are replaced last. pending are texts that may hold more of them, searched the
	// parts of texts that were searched, while probing.
	unknown  table
	pending  []unknownText
	searched map[unknownText]bool
	probing  bool
	// names are the pseudonyms by their first word. Rules with the same word share
	// them.
	names map[string]map[string]string
	// issued are the pseudonyms that stand for a value. real are texts of the evidence
	// that look like one and are never issued.
	issued map[string]bool
	real   map[string]bool
	// hidden are the pseudonyms of each rule in order. listed reports which are in it.
	hidden map[Rule][]string
	listed map[[2]string]bool
	places map[Rule]int
	// origins are the places of values in the evidence, by word and value. from is the
	// place of the text that is searched for them.
	origins map[[2]string]place
	from    *place
	// forms is set where pseudonyms keep the form of their values.
	forms *forms
}

// place is a line of an artifact, 0 if unknown.
type place struct {
	path string
	line int64
}

const secretWord = `(?:access[_-]?|auth[_-]?|api[_-]?)?(?:token|key|secret|password|passwd|passphrase|pwd|signature|sig|credential|cookie|jsessionid|session[_-]?id)`

var (
	// token is a secret with its key: "token=abc", "Authorization: Bearer x",
	// "--password hunter2".
	token = expression.Lazy(`(?i)((?:authorization:\s*(?:bearer|basic)\s+|\bbearer\s+|` + secretWord + `["']?\s*[=:]\s*["']?|--?` + secretWord + `\s+))([^\s"'&,;)}\]]{4,})`)
	// userinfo is the name and password of a URL, or of a driver's data source:
	// "shop:s3cret@tcp(db:3306)".
	userinfo = expression.Lazy(`(://)([^/\s:@]*(?::[^/\s@]*)?)(@)|()([\w.-]+:[^\s:@/]+)(@(?:tcp|udp|unix)\()`)
	// key is a secret with a known form: a JSON web token, a key of AWS, GitHub,
	// GitLab, Slack, npm, Google, Stripe or Vault, a private key.
	key = expression.Lazy(`\beyJ[\w-]{10,}\.[\w-]{6,}\.[\w-]*|\b(?:AKIA|ASIA)[0-9A-Z]{12,}\b|\bgh[oprsu]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{12,}|\bxox[a-z]-[\w-]{8,}` +
		`|\b[sr]k[-_][\w-]{16,}|\bnpm_\w{20,}|\bAIza[\w-]{20,}|\bya29\.[\w-]{16,}|\bhvs\.[\w-]{16,}|(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)
	// resource is the name of a cloud resource, with the number of its account.
	resource = expression.Lazy(`\barn:[\w-]+:[^\s"'<>,;)}\]]+`)
	// card is the hardware address of a network card.
	card = expression.Lazy(`(?i)\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b`)
	// mail is the mail address of a person. unit and version look like one.
	mail    = expression.Lazy(`\b[\w.+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b`)
	notMail = expression.Lazy(`@v\d|\.(?:service|socket|timer|slice|scope|mount|target|path|device)$`)
	ipv4    = expression.Lazy(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	// ipv6 has at least two colons and hex digits. Text that is no address stays.
	ipv6 = expression.Lazy(`(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:%[0-9a-z]+)?`)
	home = expression.Lazy(`(/home/|/Users/|\\Users\\|/var/home/)([^/\\\s:"']+)`)
	// Ids touch other words: "pod6f1c…", "shop_cart-7_6f1c…".
	uuid    = expression.Lazy(`(?i)[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}`)
	longHex = expression.Lazy(`[0-9a-f]{32,64}`)
	pointer = expression.Lazy(`\b0x[0-9a-f]{6,16}\b`)
	// print is a fingerprint of a family. It identifies nobody and must stay.
	print = expression.Lazy(`\b[gtdwe]\d+:[0-9a-f]{32}\b`)
)

// newRedactor makes a redactor that knows only the names of these hosts.
func newRedactor(hosts ...string) *Redactor {
	r := &Redactor{known: table{names: map[string]Rule{}}, unknown: table{names: map[string]Rule{}}, searched: map[unknownText]bool{}, public: map[string]bool{}, neighbours: map[[2]string]bool{}, same: map[string]string{}, whole: map[string]bool{},
		names: map[string]map[string]string{}, issued: map[string]bool{}, real: map[string]bool{}, hidden: map[Rule][]string{}, listed: map[[2]string]bool{}, places: map[Rule]int{}, origins: map[[2]string]place{}}
	r.know(Hosts, hosts...)
	return r
}

// Text replaces every secret in s: "dial 10.1.2.3:443" becomes "dial ip-1:443".
func (r *Redactor) Text(s string) string {
	if len(r.pending) > 0 && !r.probing {
		r.settle()
	}
	s = shown(s)
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
	s = resource.ReplaceAllStringFunc(s, func(m string) string { return r.name(Ids, "id", m) })
	s = joined.ReplaceAllStringFunc(s, func(m string) string {
		p := joined.FindStringSubmatch(m)
		return p[1] + r.name(Tokens, "token", p[2])
	})
	s = r.pairs(s)
	s = mail.ReplaceAllStringFunc(s, func(m string) string {
		if name, _, _ := strings.Cut(m, "@"); notMail.MatchString(m) || r.pseudonym(name) {
			return m
		}
		return r.name(Users, "user", strings.ToLower(m))
	})
	s = argument.ReplaceAllStringFunc(s, func(m string) string {
		p := argument.FindStringSubmatch(m)
		if plainValue.MatchString(p[2]) {
			return m
		}
		return p[1] + r.name(Arguments, "arg", p[2])
	})
	s = r.tableNames(&r.known, s)
	s = card.ReplaceAllStringFunc(s, func(m string) string { return r.name(Addresses, "mac", strings.ToLower(m)) })
	s = ipv4.ReplaceAllStringFunc(s, r.address)
	s = r.ipv6(s)
	s = home.ReplaceAllStringFunc(s, func(m string) string {
		p := home.FindStringSubmatch(m)
		return p[1] + r.name(Homes, "user", strings.ToLower(p[2]))
	})
	s = uuid.ReplaceAllStringFunc(s, func(m string) string { return r.name(Ids, "id", m) })
	s = r.hex(s)
	s = pointer.ReplaceAllStringFunc(s, func(m string) string { return r.name(Pointers, "ptr", m) })
	if r.probing {
		return s
	}
	return r.cutWords(r.tableNames(&r.unknown, s))
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

// ipv6 replaces addresses of version 6 that no letter or digit touches:
// "arn:aws:iam::123" has none. A colon before one is a separator.
func (r *Redactor) ipv6(s string) string {
	var b strings.Builder
	done := 0
	for _, at := range ipv6.FindAllStringIndex(s, -1) {
		before, _ := utf8.DecodeLastRuneInString(s[:at[0]])
		after, _ := utf8.DecodeRuneInString(s[at[1]:])
		if alphanumeric(before) || alphanumeric(after) || after == '.' && alphanumeric(rune(byteAt(s, at[1]+1))) {
			continue
		}
		m := s[at[0]:at[1]]
		if rest, ok := strings.CutPrefix(m, ":"); ok && !strings.HasPrefix(rest, ":") {
			m = ":" + r.address(rest)
		} else {
			m = r.address(m)
		}
		b.WriteString(s[done:at[0]] + m)
		done = at[1]
	}
	return b.String() + s[done:]
}

// address replaces what parses as an address and identifies something. Loopback and
// unspecified addresses stay, and so does a time such as 12:30:01.
func (r *Redactor) address(m string) string {
	a, err := netip.ParseAddr(strings.Trim(m, " "))
	if err != nil || a.IsLoopback() || a.IsUnspecified() {
		return m
	}
	return r.name(Addresses, "ip", a.Unmap().String())
}

// name is the pseudonym of a value. The same value always gets the same one. That of a
// pseudonym is itself.
func (r *Redactor) name(rule Rule, word, value string) string {
	if r.pseudonym(value) {
		return value
	}
	if full, ok := r.same[value]; ok {
		value = full
	}
	if r.probing {
		return word + "-0"
	}
	if r.from != nil {
		if _, have := r.origins[[2]string{word, value}]; !have {
			r.origins[[2]string{word, value}] = *r.from
		}
		return word + "-0"
	}
	r.places[rule]++
	known := r.names[word]
	if known == nil {
		known = map[string]string{}
		r.names[word] = known
	}
	n, ok := known[value]
	if !ok {
		r.keepApart(value)
		if r.forms != nil {
			n = r.formed(word, value, len(known)+1)
			r.issued[n] = true
		} else {
			n = r.unused(word, len(known)+1)
		}
		known[value] = n
	}
	if at := [2]string{string(rule), n}; !r.listed[at] {
		r.listed[at], r.hidden[rule] = true, append(r.hidden[rule], n)
	}
	return n
}

// unused issues the first pseudonym from a number on that no real text looks like.
func (r *Redactor) unused(word string, from int) string {
	for ; ; from++ {
		if n := fmt.Sprintf("%s-%d", word, from); !r.real[n] && !r.issued[n] {
			r.issued[n] = true
			return n
		}
	}
}

// keepApart notes a real text that looks like a pseudonym, so that none is mistaken for
// it.
func (r *Redactor) keepApart(value string) {
	if value = strings.ToLower(value); made.MatchString(value) {
		r.real[value] = true
	}
}

// Locate records the place of a text in the evidence for the values in it that no
// earlier text had. It replaces and counts nothing. All names must be known before.
func (r *Redactor) Locate(s, path string, line int64) {
	r.from = &place{path, line}
	r.Text(s)
	r.from = nil
}

// Value replaces secrets in every string that v refers to, and in the keys of its maps.
// A string of a named type is one of a few words and stays. A field URL that would change
// becomes empty: it would lead elsewhere.
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

// Copy is a copy of v, made through JSON, in which Value has replaced secrets. With a
// nil r it is v itself. Parts of v may share memory: each part of the copy is replaced
// once.
func Copy[T any](r *Redactor, v T) (T, error) {
	if r == nil {
		return v, nil
	}
	var out T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	r.Value(&out)
	return out, err
}

var plain = reflect.TypeFor[string]()

// walk replaces every string of v by the result of f. v must be settable. It leaves
// time.Time and other types with private fields unchanged.
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
			field := v.Type().Field(i)
			switch {
			case !field.IsExported():
			case field.Name == "URL" && field.Type == plain:
				if address := v.Field(i).String(); f(address) != address {
					v.Field(i).SetString("")
				}
			default:
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

// Receipt returns the counts of all rules, including rules without a hit.
func (r *Redactor) Receipt() []Receipt {
	out := make([]Receipt, 0, len(rules()))
	values := map[string][2]string{}
	for word, known := range r.names {
		for value, n := range known {
			values[n] = [2]string{word, value}
		}
	}
	for _, rule := range rules() {
		x := Receipt{Rule: rule, Places: r.places[rule], Distinct: len(r.hidden[rule])}
		for _, n := range r.hidden[rule] {
			if at, ok := r.origins[values[n]]; ok && len(x.First) < mostFirst {
				x.First = append(x.First, First{Name: n, At: at.path})
				if at.line > 0 {
					x.First[len(x.First)-1].At += fmt.Sprintf(":%d", at.line)
				}
			}
		}
		out = append(out, x)
	}
	// Paths are evidence themselves, but no places of the result.
	places, hidden, listed := r.places, r.hidden, r.listed
	r.places, r.hidden, r.listed = map[Rule]int{}, map[Rule][]string{}, map[[2]string]bool{}
	for i := range out {
		for k := range out[i].First {
			out[i].First[k].At = r.Text(out[i].First[k].At)
		}
	}
	r.places, r.hidden, r.listed = places, hidden, listed
	return out
}

// homeOf is the name below the first home directory of a path, in lower case: "alice"
// for "/home/alice/x.go". It is "" without one.
func homeOf(path string) string {
	if !strings.Contains(path, "home") && !strings.Contains(path, "Users") {
		return ""
	}
	m := home.FindStringSubmatch(path)
	if m == nil {
		return ""
	}
	return strings.ToLower(m[2])
}
