package join

import (
	"strings"

	"leakdiff/analysis"
)

// receiver is the type of a method with a pointer receiver, "" for all other functions:
// the first word of a closure or wrapper is an argument.
//
//	"example.org/pool.(*Pool).Get"       = "example.org/pool.(*Pool)"
//	"example.org/pool.(*Pool).Get.func1" = ""
func receiver(function string) string {
	end := strings.LastIndexByte(function, ')')
	if end < 0 || end+2 >= len(function) || function[end+1] != '.' || strings.ContainsAny(function[end+2:], ".-·") {
		return ""
	}
	begin := strings.Index(function, ".(*")
	if begin <= 0 || begin > end || strings.Contains(function[begin+1:end], ".(*") {
		return ""
	}
	return function[:end+1]
}

// packageOf is the import path of a function or type.
//
//	"net/http.(*conn).serve" = "net/http"
func packageOf(name string) string {
	end := len(name)
	if i := strings.IndexAny(name, "([{"); i >= 0 {
		end = i
	}
	slash := strings.LastIndexByte(name[:end], '/') + 1
	dot := strings.IndexByte(name[slash:end], '.')
	if dot < 0 {
		return name[:end]
	}
	dot += slash
	// The dots of a version belong to the path: "gopkg.in/yaml.v2.(*D).Parse".
	if rest := name[dot+1 : end]; slash > 0 && len(rest) > 1 && rest[0] == 'v' && rest[1]-'0' < 10 {
		if i := strings.IndexByte(rest, '.'); i > 0 && strings.Trim(rest[1:i], "0123456789") == "" {
			dot += 1 + i
		}
	}
	return name[:dot]
}

// standard reports whether a package is one of the standard library.
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return first != "main" && !strings.Contains(first, ".")
}

// cutVendor cuts everything up to the last vendor directory.
//
//	"example.org/app/vendor/k8s.io/klog.Info" = "k8s.io/klog.Info"
func cutVendor(name string) string {
	if !strings.Contains(name, "vendor/") {
		return name
	}
	pkg := packageOf(name)
	if i := strings.LastIndex(pkg, "/vendor/"); i >= 0 {
		return name[i+len("/vendor/"):]
	}
	return strings.TrimPrefix(name, "vendor/")
}

// RoleOf is what a goroutine does: its entry function and, if a frame above it belongs to
// another package outside the standard library, the first such function. Without that the
// goroutines of a wrapper would have one role. The stack has a frame.
func RoleOf(stack *analysis.Stack) string {
	last := len(stack.Frames) - 1
	entry := cutVendor(stack.Frames[last].Func)
	if last > 0 && entry == "runtime.goexit" {
		last--
		entry = cutVendor(stack.Frames[last].Func)
	}
	own := packageOf(entry)
	for i := last - 1; i >= 0; i-- {
		function := cutVendor(stack.Frames[i].Func)
		if pkg := packageOf(function); pkg != own && !standard(pkg) {
			return entry + roleMark + function
		}
	}
	return entry
}

const roleMark = " < "

func entryOf(role string) string {
	entry, _, _ := strings.Cut(role, roleMark)
	return entry
}

// workOf is the function of a role that distinguishes it: not that of a wrapper.
func workOf(role string) string {
	entry, work, wraps := strings.Cut(role, roleMark)
	if wraps {
		return work
	}
	return entry
}

// leftOut reports whether the receivers of a type never join: locks, conditions and wait
// groups are wait edges, contexts and the runtime's own belong to many.
func leftOut(typ string) bool {
	switch packageOf(typ) {
	case "sync", "internal/sync", "context", "runtime", "reflect", "testing", "log", "syscall", "os/signal":
		return true
	}
	return typ == "internal/poll.(*pollDesc)"
}

// incidental reports whether a type names no object if it has another one.
func incidental(typ string) bool {
	switch packageOf(typ) {
	case "bufio", "io", "internal/poll":
		return true
	}
	return typ == "net.(*conn)"
}

// shortName is a function or type without its import path.
//
//	"k8s.io/client-go/tools/cache.(*Reflector)" = "*cache.Reflector"
//	"net/http.(*conn).serve"                    = "http.(*conn).serve"
func shortName(name string) string {
	pkg := packageOf(name)
	rest := name[len(pkg):]
	short := pkg[strings.LastIndexByte(pkg, '/')+1:]
	if typ, ok := strings.CutPrefix(rest, ".(*"); ok && strings.HasSuffix(typ, ")") {
		return "*" + short + "." + strings.TrimSuffix(typ, ")")
	}
	return short + rest
}
