package line

import "testing"

func TestLinesBesideRows(t *testing.T) {
	type kinds struct{ message, command, fence bool }
	for text, want := range map[string]kinds{
		"grep: /proc/50/fdinfo/3: No such file or directory":             {message: true},
		"find: ‘/proc/9/fd/5’: Permission denied":                        {message: true},
		"ls: cannot read symbolic link '/proc/50/fd/3': No such process": {message: true},
		"/proc/50/fdinfo/3: Permission denied":                           {},
		"grep: /proc/50/fdinfo/3:inotify wd:1 ino:2 sdev:3":              {},
		"find /proc/*/fd -lname anon_inode:inotify":                      {command: true},
		"sudo ss -tan state close-wait":                                  {command: true},
		"for p in 50 60; do ls -l /proc/$p/fd; done":                     {command: true},
		"$ ls": {command: true},
		"find    77 root    3u  REG  8,1  0 12 /proc/50": {},
		"while the process runs, descriptors grow":       {},
		"```console":        {fence: true},
		"~~~":               {fence: true},
		"## After":          {fence: true},
		"{noformat}":        {fence: true},
		"==== after ====":   {fence: true},
		"**After an hour**": {fence: true},
		"lrwx------ 1 root root 64 Feb  2 02:02 4 -> /tmp/=== a": {},
		"-rw------- 1 root root 64 Feb  2 02:02 4":               {},
		"===": {},
		"---------- 1 root root 64 Feb  2 02:02 4 -> /var/lib/a---------": {},
	} {
		if got := (kinds{IsMessage(text), IsCommand(text), IsFence(text)}); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}
