package family

import (
	"regexp"
	"strings"
)

// naming is a function name on its way through the steps of goroutine.md
// section 8.
type naming struct {
	// exact is the name after steps 1, 3 and 4, loose after all of them.
	exact, loose string
	// closure says that the name was one of a function literal or wrapper inside
	// the loose function.
	closure bool
	// rules are the steps that changed the name, in words.
	rules []string
}

// ExactName returns a function name without what changes from goroutine to
// goroutine: arguments, offset, the creator's number, vendor prefix and escapes.
//
//	"k8s.io/kubernetes/vendor/k8s.io/klog.Info(0x1)" = "k8s.io/klog.Info"
func ExactName(printed string) string { return nameOf(printed).exact }

// LooseName returns a function name that also survives another compiler and
// build: no type arguments, closure or wrapper numbers, known renames followed.
//
//	"main.(*Stack[...]).Spawn.func1" = "main.(*Stack).Spawn"
func LooseName(printed string) string { return nameOf(printed).loose }

func nameOf(printed string) naming {
	n := naming{exact: printed}
	n.repeat(&n.exact, []step{
		{"arguments and offset cut", cutArguments},
		{"goroutine number cut", cutGoroutine},
		{"vendor prefix cut", cutVendor},
		{"dots unescaped", unescape},
	})
	n.loose = n.exact
	n.repeat(&n.loose, []step{
		{"type arguments cut", cutTypeArguments},
		{"closure number cut", n.cutClosure},
		{"renamed (catalogue)", rename},
		// Cutting type arguments can bring a prefix to light; real names do not.
		{"vendor prefix cut", cutVendor},
		{"arguments and offset cut", cutArguments},
		{"goroutine number cut", cutGoroutine},
		{"dots unescaped", unescape},
	})
	return n
}

// step is one rule about names. Each application shortens the name or follows a
// rename, and no rename leads to another one, so that repeat ends.
type step struct {
	rule  string
	apply func(string) string
}

// repeat applies steps until none of them changes the name any more, which makes
// the names their own normal form.
func (n *naming) repeat(name *string, steps []step) {
	for changed := true; changed; {
		changed = false
		for _, s := range steps {
			after := s.apply(*name)
			if after == *name || after == "" {
				continue
			}
			*name, changed = after, true
			n.note(s.rule)
		}
	}
}

func (n *naming) note(rule string) {
	for _, have := range n.rules {
		if have == rule {
			return
		}
	}
	n.rules = append(n.rules, rule)
}

// cutArguments cuts the last balanced groups of parentheses and offsets;
// receivers stay.
//
//	"main.(*T).Do({0x1?, 0x2})" = "main.(*T).Do"
//	"main.hold.func7+0x4b"      = "main.hold.func7"
func cutArguments(name string) string {
	for {
		start := len(name)
		if strings.HasSuffix(name, ")") {
			start = openingParenthesis(name)
		} else if at := offset.FindStringIndex(name); at != nil {
			start = at[0]
		}
		if start <= 0 || start == len(name) {
			return name
		}
		name = name[:start]
	}
}

var offset = regexp.MustCompile(`\+0x[0-9a-f]{1,16}$`)

// openingParenthesis finds the partner of the parenthesis that ends name, or
// the end of name where there is none.
func openingParenthesis(name string) int {
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return len(name)
}

// cutGoroutine cuts the creator's number, which would make every goroutine a
// family of its own.
//
//	"main.main in goroutine 17" = "main.main"
func cutGoroutine(name string) string {
	at := strings.LastIndex(name, " in goroutine ")
	if at <= 0 || strings.Trim(name[at+len(" in goroutine "):], "0123456789") != "" {
		return name
	}
	return name[:at]
}

// cutVendor cuts everything up to the last vendor directory of the import path,
// and the one that the standard library begins with.
//
//	"k8s.io/kubernetes/vendor/k8s.io/klog.Info" = "k8s.io/klog.Info"
//	"vendor/golang.org/x/net/http2.f"           = "golang.org/x/net/http2.f"
func cutVendor(name string) string {
	path := importPath(name)
	cut := 0
	for _, mark := range []string{"/vendor/", "Godeps/_workspace/src/"} {
		if at := strings.LastIndex(path, mark); at >= 0 {
			cut = max(cut, at+len(mark))
		}
	}
	if cut == 0 && strings.HasPrefix(path, "vendor/") {
		cut = len("vendor/")
	}
	return name[cut:]
}

// unescape gives the dots of the last path element back, the only ones that the
// linker escapes.
//
//	"gopkg.in/yaml%2ev2.(*D).Parse" = "gopkg.in/yaml.v2.(*D).Parse"
func unescape(name string) string { return strings.ReplaceAll(name, "%2e", ".") }

// cutTypeArguments cuts every group of brackets, nested ones included; one that
// never ends is cut to the end.
//
//	"main.(*Stack[go.shape.int]).Push" = "main.(*Stack).Push"
func cutTypeArguments(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	var b strings.Builder
	depth := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '[':
			depth++
		case c == ']' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// literal finds what compilers append for function literals, wrappers and
// range-over-func bodies.
var literal = regexp.MustCompile(`(?:\.(?:func|gowrap|deferwrap)[0-9]+|-range[0-9]+|-fm|·dwrap·[0-9]+)(?:[.\-]|$)`)

// cutClosure cuts the first mark of a function literal or wrapper and all that
// follows, so that a chain of inlined closures folds into its outermost
// function. Numbers come and go with compilers and builds.
//
//	"main.hold.gowrap13.Gen.1" = "main.hold"
//	"main.glob..func1.1"       = "main.init"
//	"kubelet.func·018"         = "kubelet.func"
func (n *naming) cutClosure(name string) string {
	head, rest := splitPackage(name)
	after := rest
	if at := literal.FindStringIndex(after); at != nil && at[0] > 0 {
		n.closure = n.closure || after[at[0]] == '.' || strings.HasPrefix(after[at[0]:], "·")
		after = after[:at[0]]
	}
	if at := strings.Index(after, "func·"); at >= 0 && strings.Trim(after[at+len("func·"):], "0123456789") == "" {
		n.closure = true
		after = after[:at+len("func")]
	}
	after = cutNumbered(cutInlined(after))
	if after == "glob." || strings.HasPrefix(after, "init.") && strings.Trim(after[len("init."):], "0123456789.") == "" {
		after = "init"
	}
	if after == "" {
		return name
	}
	return head + after
}

// cutInlined cuts a method that was inlined into another one before its closure
// was named: no name has two receivers.
//
//	"(*controller).Run.(*Group).Start" = "(*controller).Run"
func cutInlined(rest string) string {
	first := strings.Index(rest, "(*")
	if first < 0 {
		return rest
	}
	if second := strings.Index(rest[first+1:], ".(*"); second >= 0 {
		return rest[:first+1+second]
	}
	return rest
}

// cutNumbered cuts a closure that is named for the inlined function it was
// written in. The number tells it from a method.
//
//	"hold.Gen.1" = "hold"
//	"(*T).Do.seq.2" = "(*T).Do"
//	"seq.1" = "seq"
//	"init.0" = "init.0"
func cutNumbered(rest string) string {
	parts := strings.Split(rest, ".")
	if parts[0] == "init" {
		return rest
	}
	receiver := 0
	if strings.HasPrefix(parts[0], "(") {
		receiver = 1
	}
	for i := receiver + 1; i < len(parts); i++ {
		if parts[i] == "" || strings.Trim(parts[i], "0123456789") != "" {
			continue
		}
		return strings.Join(parts[:max(i-1, receiver+1)], ".")
	}
	return rest
}

// importPath is the name's text before the first parenthesis or bracket, up to
// the package name.
//
//	"net/http.(*conn).serve" = "net/http"
func importPath(name string) string {
	head, _ := splitPackage(name)
	return strings.TrimSuffix(head, ".")
}

// splitPackage cuts a name behind the dot that ends its import path. Of the dots
// inside a last path element, which the linker escapes and people do not, those
// of versions and of "nats.go" are known.
//
//	"net/http.(*conn).serve"       = "net/http.", "(*conn).serve"
//	"gopkg.in/yaml.v2.(*D).Parse"  = "gopkg.in/yaml.v2.", "(*D).Parse"
//	"panic"                        = "", "panic"
func splitPackage(name string) (head, rest string) {
	path := name
	if at := strings.IndexAny(path, "[("); at >= 0 {
		path = path[:at]
	}
	slash := strings.LastIndexByte(path, '/') + 1
	dot := strings.IndexByte(path[slash:], '.')
	if dot < 0 {
		return name[:slash], name[slash:]
	}
	end := slash + dot + 1
	if at := dotted.FindString(path[end:]); at != "" && slash > 0 {
		end += len(at)
	}
	return name[:end], name[end:]
}

var dotted = regexp.MustCompile(`^(v[0-9]+|go)\.`)
