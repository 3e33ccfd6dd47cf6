package line

import (
	"path"
	"strings"
)

// CountsThreads reports whether a command has ps list threads, each with the pid of its
// process first, and counts the rows of each process.
//
//	"ps -eLo pid,user,comm --no-headers | sort | uniq -c"   true
//	"ps -eo user | sort | uniq -c"                          false
func CountsThreads(command string) bool {
	list, rest, counted := strings.Cut(command, "|")
	if !counted || !strings.Contains(rest, "uniq -c") {
		return false
	}
	words := strings.Fields(list)
	threads, columns := false, ""
	for i, word := range words {
		flags, dashed := strings.CutPrefix(word, "-")
		switch {
		case strings.HasPrefix(word, "--"):
		case path.Base(word) == "ps":
			threads, columns = false, "?"
		case columns == "" || !dashed:
		case strings.ContainsAny(flags, "oO"):
			if _, columns, _ = strings.Cut(strings.ToLower(flags), "o"); columns == "" && i+1 < len(words) {
				columns = words[i+1]
			}
			threads = threads || strings.ContainsAny(flags[:strings.IndexAny(flags, "oO")], "LTm")
		default:
			threads = threads || strings.ContainsAny(flags, "LTm")
		}
	}
	first, _, _ := strings.Cut(columns, ",")
	first, _, _ = strings.Cut(first, "=")
	return threads && first == "pid"
}

// ThreadColumns are the titles of a table of ps that shows threads: a row for each, or their
// number for each process. Rows is true for the former.
//
//	"PID NLWP COMMAND"          false, true
//	"PID SPID TTY TIME CMD"     true, true
//	"PID TTY TIME CMD"          false, false
func ThreadColumns(titles []string) (rows, ok bool) {
	pid, command, counted := false, false, false
	for _, title := range titles {
		switch title {
		case "PID":
			pid = true
		case "LWP", "SPID", "TID":
			rows = true
		case "NLWP", "THCNT":
			counted = true
		case "CMD", "COMMAND":
			command = true
		}
	}
	all := len(titles) <= mostColumns || strings.Join(titles, " ") == "UID PID PPID LWP C NLWP STIME TTY TIME CMD"
	return rows, pid && command && (rows || counted) && all
}

// mostColumns bounds the columns that a table has that somebody made to count threads: what lists
// all of a system in many columns is asked for something else.
const mostColumns = 5
