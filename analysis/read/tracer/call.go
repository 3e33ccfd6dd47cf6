package tracer

import (
	"strconv"
	"strings"
)

// call is one call of a task to the kernel, as strace prints it.
type call struct {
	name string
	args []string
	// result is the number that it returned, -1 for a failure; shown is what stands behind the
	// number between "<" and ">", the path of a descriptor.
	result int
	shown  string
}

// parseCall reads a whole call.
//
//	`openat(AT_FDCWD</srv>, "a", O_RDONLY) = 3</srv/a>`    openat, 3 arguments, 3, "/srv/a"
//	`close(3</srv/a>) = 0`                                close, 1 argument, 0
//	`open("a", O_RDONLY) = -1 ENOENT (No such file)`       open, 2 arguments, -1
func parseCall(text string) (c call, ok bool) {
	at := strings.IndexByte(text, '(')
	if at <= 0 || !isName(text[:at]) {
		return c, false
	}
	c.name = text[:at]
	args, rest, whole := cutArguments(text[at+1:])
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), "= ")
	if !whole || !ok {
		return c, false
	}
	c.args = args
	end := 0
	for end < len(rest) && (rest[end] >= '0' && rest[end] <= '9' || end == 0 && rest[end] == '-') {
		end++
	}
	n, err := strconv.Atoi(rest[:end])
	if err != nil { // "= ?" of a call that did not return
		n = -1
	}
	c.result, c.shown = n, decoded(rest[end:])
	return c, true
}

func isName(s string) bool {
	for i := range len(s) {
		if b := s[i]; (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '_' {
			return false
		}
	}
	return true
}

// cutArguments splits the text behind "(" at its commas, up to the ")" that belongs to it. Commas
// within strings, brackets and decoded paths are none.
func cutArguments(text string) (args []string, rest string, whole bool) {
	depth, begin := 0, 0
	for i := 0; i < len(text); i++ {
		switch b := text[i]; b {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '<':
			if i > 0 && isWord(text[i-1]) && i+1 < len(text) && text[i+1] != '<' {
				i += len(decoded(text[i:])) + 1
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				if last := strings.TrimSpace(text[begin:i]); last != "" {
					args = append(args, last)
				}
				return args, text[i+1:], b == ')'
			}
			depth--
		case ',':
			if depth == 0 {
				args, begin = append(args, strings.TrimSpace(text[begin:i])), i+1
			}
		}
	}
	return args, "", false
}

func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b == '_'
}

// decoded is what a text has between "<" at its beginning and ">". The arrow of a connection
// does not end it.
//
//	"<TCP:[10.0.0.1:4000->10.0.0.2:80]>" = "TCP:[10.0.0.1:4000->10.0.0.2:80]"
func decoded(text string) string {
	if !strings.HasPrefix(text, "<") {
		return ""
	}
	for i := 1; i < len(text); i++ {
		if text[i] == '>' && text[i-1] != '-' {
			return text[1:i]
		}
	}
	return ""
}

// number is the leading number of an argument, and what is decoded of it.
//
//	"3</srv/a>" = 3, "/srv/a"; "AT_FDCWD</srv>" = -1, "/srv"
func number(arg string) (int, string) {
	word, _, _ := strings.Cut(arg, "<")
	shown := decoded(arg[len(word):])
	n, err := strconv.Atoi(word)
	if err != nil {
		return -1, shown
	}
	return n, shown
}

// arg is an argument by its number, "" if there are fewer.
func (c *call) arg(i int) string {
	if i >= len(c.args) {
		return ""
	}
	return c.args[i]
}

// has reports a flag among the arguments.
func (c *call) has(flag string) bool {
	for _, a := range c.args {
		if !strings.HasPrefix(a, `"`) && strings.Contains(a, flag) {
			return true
		}
	}
	return false
}

// path is the path that an argument names below the directory of the one before it. It stays
// relative where strace does not show the directory.
func (c *call) path(i int) string {
	text, err := strconv.Unquote(c.arg(i))
	if err != nil {
		text = strings.Trim(c.arg(i), `".`)
	}
	if i > 0 && !strings.HasPrefix(text, "/") {
		if _, dir := number(c.arg(i - 1)); dir != "" {
			return strings.TrimSuffix(dir, "/") + "/" + text
		}
	}
	return text
}

// made are the names of what calls make that have no path, where strace does not decode it.
var made = map[string]string{
	"epoll_create": "anon_inode:[eventpoll]", "epoll_create1": "anon_inode:[eventpoll]", "eventfd": "anon_inode:[eventfd]", "eventfd2": "anon_inode:[eventfd]",
	"timerfd_create": "anon_inode:[timerfd]", "signalfd": "anon_inode:[signalfd]", "signalfd4": "anon_inode:[signalfd]",
	"inotify_init": "anon_inode:inotify", "inotify_init1": "anon_inode:inotify", "fanotify_init": "anon_inode:[fanotify]",
	"pidfd_open": "anon_inode:[pidfd]", "io_uring_setup": "anon_inode:[io_uring]", "perf_event_open": "anon_inode:[perf_event]",
	"socket": "socket", "socketpair": "socket", "accept": "socket", "accept4": "socket", "pipe": "pipe", "pipe2": "pipe",
}

// describe names what a call made: what is decoded of it, else what it was given.
func (c *call) describe(shown string) string {
	if shown != "" {
		return shown
	}
	switch c.name {
	case "open", "creat":
		return c.path(0)
	case "openat", "openat2":
		return c.path(1)
	case "memfd_create":
		return "/memfd:" + c.path(0)
	}
	return made[c.name]
}
