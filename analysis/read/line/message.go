package line

import "leakdiff/analysis/expression"

// message is what a program prints about a file that it could not read, above and between the
// rows of a listing.
var message = expression.Lazy(`^[a-z][\w.-]*: .*(No such (file or directory|process)|Permission denied|Operation not permitted|Input/output error|Invalid argument|(Is|Not) a directory|Stale file handle|Too many open files)\)?$`)

// IsMessage reports whether a program printed the line about a file that it could not read.
//
//	"grep: /proc/50/fdinfo/3: No such file or directory"   true
func IsMessage(text string) bool { return message.MatchString(text) }

// bareCommand is a command that prints a listing, copied without its prompt. A row of lsof has
// the pid behind the name of a program.
var bareCommand = expression.Lazy(`^(?:sudo )?(?:(?:find|grep|ls|stat|readlink|lsof|lsfd|ss|netstat) (?:-|/proc/)|(?:for|while) .*; ?do )`)

// IsCommand reports whether a line is a shell prompt, or a command that prints a listing.
//
//	"$ lsof"   "find /proc/*/fd -lname anon_inode:inotify"   true
func IsCommand(text string) bool { return IsPrompt(text) || bareCommand.MatchString(text) }

// fence is a line that a ticket has around a listing and between listings.
var fence = expression.Lazy("^(?:`{3,}|~{3,}|#{2,6} |\\{(?:code|noformat|quote)\\b|<(?:/?(?:pre|code|details|summary))\\b|(?:={3,}|-{3,}|\\*{3,}) ?[^<>]* ?(?:={3,}|-{3,}|\\*{3,})$|\\*\\*[^*]+\\*\\*:?$)")

// IsFence reports whether a line is markup of the ticket around a listing, or a title in a frame.
//
//	"```console"   "## Before"   "{noformat}"   "==== pod web-1 ===="   true
func IsFence(text string) bool { return fence.MatchString(text) }
