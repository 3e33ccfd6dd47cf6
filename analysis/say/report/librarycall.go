package report

import (
	"strings"

	"leakdiff/analysis/judge/wait"
)

// libraryCalls are calls of Go's libraries that wait for another process, by functions of their
// stacks, with what is waited for: the goroutine itself stands at a channel.
var libraryCalls = []struct{ function, io string }{
	{"net/http.(*persistConn).", "HTTP request"}, {"net/http.(*Transport).", "HTTP request"},
	{"net/http.(*http2", "HTTP request"}, {"golang.org/x/net/http2.(*", "HTTP request"}, {"net/http.(*body).", "HTTP request"},
	{"google.golang.org/grpc.", "gRPC call"}, {"google.golang.org/grpc/", "gRPC call"},
	{"net/rpc.(*Client).", "call of net/rpc"},
	{"database/sql.(*DB).conn", "connection of the database pool"}, {"database/sql.", "database query"}, {"github.com/jackc/pgx/", "database query"},
	{"github.com/redis/go-redis/", "Redis command"}, {"github.com/gomodule/redigo/", "Redis command"},
	{"net.(*Resolver).", "name lookup"}, {"net.(*Dialer).", "connection to open"}, {"net.(*sysDialer).", "connection to open"},
	{"os/exec.(*Cmd).", "child process"}, {"os.(*Process).", "child process"},
}

// waitsInside is what a goroutine waits for in a call of a library that its own code made, "" for
// something else. above are the frames above its own, the innermost first.
func waitsInside(reason wait.Reason, above []StackFrame) string {
	if reason != wait.ForChannel && reason != wait.ForIO && reason != wait.ForSyscall {
		return ""
	}
	for i := range above {
		for _, call := range libraryCalls {
			if strings.HasPrefix(above[i].Function, call.function) {
				return call.io
			}
		}
	}
	return ""
}

// withArticle is a noun with "a" or "an", for the nouns of libraryCalls and of sockets.
func withArticle(noun string) string {
	if strings.HasPrefix(noun, "HTTP") {
		return "an " + noun
	}
	return "a " + noun
}
