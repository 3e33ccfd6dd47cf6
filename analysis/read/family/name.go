package family

import (
	"slices"
	"strings"
)

// naming is a function name on its way through the steps of nameOf.
type naming struct {
	// exact is the name after the steps of exactName, loose after all of them.
	exact, loose string
	// closure is true if the name was one of a function literal or wrapper inside the
	// loose function.
	closure bool
	// owner is who the loose name belongs to: the standard library, a module or the program.
	owner owner
	// rules are the steps that changed the name, in words. Frames of one function
	// share them; what is appended later must not reach the others.
	rules []string
}

// exactName returns a function name without what changes from goroutine to
// goroutine: arguments, offset, the creator's number, vendor prefix and escapes.
//
//	"k8s.io/kubernetes/vendor/k8s.io/klog.Info(0x1)" = "k8s.io/klog.Info"
func exactName(printed string) string { return nameOf(printed).exact }

// LooseName returns a function name that also survives another compiler and
// build: no type arguments, closure or wrapper numbers, known renames followed.
//
//	"main.(*Stack[...]).Spawn.func1" = "main.(*Stack).Spawn"
func LooseName(printed string) string { return nameOf(printed).loose }

func nameOf(printed string) naming {
	n := naming{exact: printed}
	for before := ""; before != n.exact; {
		before = n.exact
		n.take(&n.exact, "arguments and offset cut", cutArguments(n.exact))
		n.take(&n.exact, "goroutine number cut", cutGoroutine(n.exact))
		n.take(&n.exact, "vendor prefix cut", cutVendor(n.exact))
		n.take(&n.exact, "dots unescaped", unescape(n.exact))
	}
	n.loose = n.exact
	for before := ""; before != n.loose; {
		before = n.loose
		n.take(&n.loose, "type arguments cut", cutTypeArguments(n.loose))
		n.take(&n.loose, "closure number cut", n.cutClosure(n.loose))
		n.take(&n.loose, "renamed (catalogue)", rename(n.loose))
		// Cutting type arguments can bring a prefix to light; real names do not.
		n.take(&n.loose, "vendor prefix cut", cutVendor(n.loose))
		n.take(&n.loose, "arguments and offset cut", cutArguments(n.loose))
		n.take(&n.loose, "goroutine number cut", cutGoroutine(n.loose))
		n.take(&n.loose, "dots unescaped", unescape(n.loose))
	}
	n.owner = ownerOf(n.loose)
	return n
}

// take makes after the name, if a rule changed it and left something of it. Rules are
// applied until none of them changes the name any more, so the names are their own
// normal form. This ends: each application shortens the name or follows a rename, and
// no rename leads to another one.
func (n *naming) take(name *string, rule, after string) {
	if after == *name || after == "" {
		return
	}
	*name = after
	n.note(rule)
}

func (n *naming) note(rule string) {
	if slices.Contains(n.rules, rule) {
		return
	}
	n.rules = append(slices.Clip(n.rules), rule)
}

// cutArguments cuts the last balanced groups of parentheses and offsets;
// receivers stay.
//
//	"main.(*T).Do({0x1?, 0x2})" = "main.(*T).Do"
//	"main.hold.func7+0x4b"      = "main.hold.func7"
func cutArguments(name string) string {
	for {
		start := offset(name)
		if strings.HasSuffix(name, ")") {
			start = openingParenthesis(name)
		}
		if start <= 0 || start == len(name) {
			return name
		}
		name = name[:start]
	}
}

// offset finds the offset at the end of name, or the end of name if it has none.
//
//	"main.hold.func7+0x4b" = 15
func offset(name string) int {
	const mark, digits = "+0x", 16
	hex := strings.TrimRight(name, "0123456789abcdef")
	if n := len(name) - len(hex); n < 1 || n > digits || !strings.HasSuffix(hex, mark) {
		return len(name)
	}
	return len(hex) - len(mark)
}

// openingParenthesis finds the partner of the parenthesis that ends name, or the end of
// name if there is none.
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
	if strings.IndexByte(name, ' ') < 0 {
		return name
	}
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

// unescape restores the dots of the last path element, the only ones that the linker
// escapes.
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

// literal finds the first mark that compilers append for function literals, wrappers
// and range-over-func bodies; -1 if there is none.
//
//	"(*T).Do.func1.2" = 7, "Do-range1" = 2, "Do-fm" = 2, "Do.function1" = -1
func literal(name string) int {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '.', '-', dwrap[0]:
		default:
			continue
		}
		for _, mark := range literalMarks {
			rest, ok := strings.CutPrefix(name[i:], mark.word)
			if !ok {
				continue
			}
			after := rest
			if mark.numbered {
				after = strings.TrimLeft(rest, "0123456789")
			}
			if mark.numbered == (len(after) < len(rest)) && (after == "" || after[0] == '.' || after[0] == '-') {
				return i
			}
		}
	}
	return -1
}

const dwrap = "·dwrap·"

var literalMarks = [...]struct {
	word     string
	numbered bool
}{{".func", true}, {".gowrap", true}, {".deferwrap", true}, {"-range", true}, {"-fm", false}, {dwrap, true}}

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
	if at := literal(after); at > 0 {
		n.closure = n.closure || after[at] != '-'
		after = after[:at]
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

// cutNumbered cuts a closure that is named for the inlined function it was written in.
// The number separates it from a method.
//
//	"hold.Gen.1" = "hold"
//	"(*T).Do.seq.2" = "(*T).Do"
//	"seq.1" = "seq"
//	"init.0" = "init.0"
func cutNumbered(rest string) string {
	if !digitBehindDot(rest) {
		return rest // nearly all names: nothing to take apart
	}
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

func digitBehindDot(name string) bool {
	for i := 1; i < len(name); i++ {
		if name[i-1] == '.' && name[i]-'0' < 10 {
			return true
		}
	}
	return false
}

// importPath is the name's text before the first parenthesis or bracket, up to
// the package name.
//
//	"net/http.(*conn).serve" = "net/http"
func importPath(name string) string {
	head, _ := splitPackage(name)
	return strings.TrimSuffix(head, ".")
}

// splitPackage cuts a name after the dot that ends its import path. The linker escapes
// the dots inside a last path element, people do not; of those, the dots of versions
// and of "nats.go" are known.
//
//	"net/http.(*conn).serve"       = "net/http.", "(*conn).serve"
//	"gopkg.in/yaml.v2.(*D).Parse"  = "gopkg.in/yaml.v2.", "(*D).Parse"
//	"panic"                        = "", "panic"
func splitPackage(name string) (head, rest string) {
	slash, dot, stop := 0, -1, len(name)
	for i := 0; i < stop; i++ {
		switch name[i] {
		case '/':
			slash, dot = i+1, -1
		case '.':
			if dot < 0 {
				dot = i
			}
		case '[', '(':
			stop = i
		}
	}
	if dot < 0 {
		return name[:slash], name[slash:]
	}
	end := dot + 1
	if slash > 0 {
		end += dotted(name[end:stop])
	}
	return name[:end], name[end:]
}

// dotted is the length of a suffix of the last path element, such as a version,
// including the dot after it; 0 if there is none.
//
//	"v2.(*D).Parse" = 3, "go.(*Conn).readLoop" = 3, "(*D).Parse" = 0
func dotted(rest string) int {
	part, _, more := strings.Cut(rest, ".")
	version, ok := strings.CutPrefix(part, "v")
	numbered := ok && version != "" && strings.Trim(version, "0123456789") == ""
	if more && (numbered || part == "go") {
		return len(part) + 1
	}
	return 0
}
