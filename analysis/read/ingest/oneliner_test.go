package ingest

import (
	"strings"
	"testing"
)

// Rows as the tools print them: links by ls -l, by their paths, watches by grep.
const (
	links50 = "lrwx------ 1 root root 64 Nov 21 03:00 0 -> /dev/null\nl-wx------ 1 root root 64 Nov 21 03:00 1 -> pipe:[501]\n"
	links60 = "lrwx------ 1 root root 64 Nov 21 03:00 0 -> /dev/null\nlrwx------ 1 root root 64 Nov 21 03:00 3 -> socket:[603]\nlr-x------ 1 root root 64 Nov 21 03:00 7 -> anon_inode:inotify\n"
	here    = "total 0\ndr-x------ 2 root root  0 Nov 21 03:00 .\ndr-xr-xr-x 9 root root  0 Nov 21 02:00 ..\n"
	paths   = "lrwx------ 1 root root 64 Nov 21 03:00 /proc/50/fd/0 -> /dev/null\nl-wx------ 1 root root 64 Nov 21 03:00 /proc/50/fd/1 -> pipe:[501]\n" +
		"lrwx------ 1 root root 64 Nov 21 03:00 /proc/60/fd/0 -> /dev/null\nlrwx------ 1 root root 64 Nov 21 03:00 /proc/60/fd/3 -> socket:[603]\nlr-x------ 1 root root 64 Nov 21 03:00 /proc/60/fd/7 -> anon_inode:inotify\n"
	foundLS = "    5001      0 lrwx------   1 root     root           64 Nov 21 03:00 /proc/50/fd/0 -> /dev/null\n" +
		"    5002      0 l-wx------   1 root     root           64 Nov 21 03:00 /proc/50/fd/1 -> pipe:[501]\n" +
		"    6003      0 lr-x------   1 root     root           64 Nov 21 03:00 /proc/60/fd/7 -> anon_inode:inotify\n"
	foundInotify = "    5001      0 lr-x------   1 root     root           64 Nov 21 03:00 /proc/50/fd/5 -> anon_inode:inotify\n" +
		"    6003      0 lr-x------   1 root     root           64 Nov 21 03:00 /proc/60/fd/7 -> anon_inode:inotify\n" +
		"    6004      0 lr-x------   1 root     root           64 Nov 21 03:00 /proc/60/fd/8 -> anon_inode:inotify\n"
	watch   = "inotify wd:2 ino:2 sdev:fe00000 mask:fc6 ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:0200000000000000\n"
	watches = "/proc/50/fdinfo/5:" + watch + "/proc/60/fdinfo/7:" + watch + "/proc/60/fdinfo/7:inotify wd:1 ino:3 sdev:fe00000 mask:fc6 ignored_mask:0 \n"
	atThree = "Sat Nov 21 03:00:00 UTC 2026\n"
	later   = "Sat Nov 21 03:00:05 UTC 2026\n"
)

// scriptHeader is what the first script of a field report prints above its counts, targets and
// script2 what the two scripts of it print of the watches of one process.
const (
	countsOfReport = "COUNT\tPID\tUSER\tCOMMAND\n7491\t8412\troot /home/kubernetes/bin/kubelet --v=2 --cloud-provide=gce\n2620\t1\troot /sbin/init\n"
	firstScript    = "kubelet pid=2430\n10b 1 1 10b 3f327\nCount: 5\n1 10b 3f327\n1      1          3      Inode   Pathname\n10b    267        1      267 /etc/systemd/system/\n3f327  258855     1      258855 /etc/srv/kubernetes/pki/ca-certificates.crt\n"
	secondScript   = "Kubelet Pid: 8412\nCount: 9\nUnique target 4\nINUM       DEV        COUNT  TARGET\n" +
		"Can't find mount info for 0:100\nCan't find mount info for 0:101\n1          0:26       2      /sys/fs/cgroup\n258855     8:1        5      /etc/srv/kubernetes/pki/ca-certificates.crt\n"
)

func TestOneLinersOverProcGiveEachProcessItsCountAndTime(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		// ls
		{"ls -l of two directories", "/proc/50/fd:\ntotal 0\n" + links50 + "\n/proc/60/fd:\ntotal 0\n" + links60, []string{"pid 50: 2d", "pid 60: 3d"}},
		{"ls -la of two directories", "/proc/50/fd:\n" + here + links50 + "\n/proc/60/fd:\n" + here + links60, []string{"pid 50: 2d", "pid 60: 3d"}},
		{"ls -l /proc/*/fd/*", paths, []string{"pid 50: 2d", "pid 60: 3d"}},
		{"ls -l /proc/*/fd/* below its command", "[root@node1 ~]# ls -l /proc/*/fd/*\n" + paths, []string{"node1/ pid 50: 2d", "node1/ pid 60: 3d"}},
		{"ls -l of a directory below a prompt with user and host", "me@node1:~$ sudo ls -l /proc/60/fd\n[sudo] password for me: \ntotal 0\n" + links60, []string{"node1/ pid 60: 3d"}},
		{"ls -l with the pid looked up", "$ sudo ls -l /proc/$(pidof kubelet)/fd\ntotal 0\n" + links60, []string{"kubelet: 3d"}},
		{"ls -l below an arrow", "➜  ~ ls -l /proc/60/fd\ntotal 0\n" + links60 + "➜  ~ \n", []string{"pid 60: 3d"}},
		{"two commands", "# ls -l /proc/50/fd\n" + links50 + "# ls -la /proc/60/fd\n" + here + links60 + "#\n", []string{"pid 50: 2d", "pid 60: 3d"}},
		{"a loop over pids with headings", "$ for p in 50 60; do echo \"== $p\"; ls -l /proc/$p/fd; done\n== 50\ntotal 0\n" + links50 + "== 60\ntotal 0\n" + links60, []string{"pid 50: 2d", "pid 60: 3d"}},
		{"a loop with while and sleep", "$ while sleep 5; do date; ls -l /proc/50/fd; done\n" + atThree + "total 0\n" + links50 + later + "total 0\n" + links50, []string{"pid 50: 2d at 03:00:00", "pid 50: 2d at 03:00:05"}},
		{"a loop over all processes with date", "$ while sleep 5; do date; ls -l /proc/*/fd/*; done\n" + atThree + paths + later + paths,
			[]string{"pid 50: 2d at 03:00:00", "pid 60: 3d at 03:00:00", "pid 50: 2d at 03:00:05", "pid 60: 3d at 03:00:05"}},
		{"a loop without date", "/proc/50/fd:\ntotal 0\n" + links50 + "\n/proc/50/fd:\ntotal 0\n" + links50, []string{"pid 50: 2d", "pid 50: 2d"}},
		{"watch", "Every 5.0s: ls -l /proc/50/fd                         node1: Sat Nov 21 03:00:00 2026\n\ntotal 0\n" + links50, []string{"node1/ pid 50: 2d at 03:00:00"}},
		{"ls that was refused one of two directories", "/proc/50/fd:\ntotal 0\n" + links50 + "ls: cannot open directory '/proc/60/fd': Permission denied\n", []string{"pid 50: 2d"}},
		{"ls with line ends of Windows", strings.ReplaceAll("$ ls -l /proc/50/fd\ntotal 0\n"+links50+"$ ls -l /proc/60/fd\ntotal 0\n"+links60, "\n", "\r\n"), []string{"pid 50: 2d", "pid 60: 3d"}},
		{"ls in a container", "$ docker exec web sh -c 'ls -l /proc/*/fd'\n/proc/1/fd:\ntotal 0\n" + links50 + "\n/proc/7/fd:\ntotal 0\n" + links60, []string{"web/ pid 1: 2d", "web/ pid 7: 3d"}},
		{"stat -c %N", "'/proc/50/fd/0' -> '/dev/null'\n'/proc/50/fd/1' -> 'pipe:[501]'\n'/proc/60/fd/3' -> 'socket:[603]'\n", []string{"pid 50: 2d", "pid 60: 1d"}},
		// find
		{"find -ls", foundLS, []string{"pid 50: 2d", "pid 60: 1d"}},
		{"find -lname -ls", "# find /proc/*/fd -lname anon_inode:inotify -ls\n" + foundInotify, []string{"pid 50: 1d", "pid 60: 2d"}},
		{"find -lname -ls in a loop", atThree + foundInotify + later + foundInotify, []string{"pid 50: 1d at 03:00:00", "pid 60: 2d at 03:00:00", "pid 50: 1d at 03:00:05", "pid 60: 2d at 03:00:05"}},
		{"find -lname", "$ sudo find /proc/*/fd -lname anon_inode:inotify\n/proc/50/fd/5\n/proc/60/fd/7\n/proc/60/fd/8\n", []string{"pid 50: 1d", "pid 60: 2d"}},
		{"find -lname without its command", "/proc/50/fd/5\n/proc/60/fd/7\n/proc/60/fd/8\n", []string{"pid 50: 1d", "pid 60: 2d"}},
		{"find -printf of directory, name and target", "$ find /proc/*/fd -type l -printf '%h %f %l\\n'\n/proc/50/fd 0 /dev/null\n/proc/50/fd 1 pipe:[501]\n/proc/60/fd 7 anon_inode:inotify\n", []string{"pid 50: 2d", "pid 60: 1d"}},
		{"find -printf of path and target", "/proc/50/fd/0 /dev/null\n/proc/50/fd/1 pipe:[501]\n/proc/60/fd/7 anon_inode:inotify\n", []string{"pid 50: 2d", "pid 60: 1d"}},
		{"find -printf with an arrow", "/proc/50/fd/0 -> /dev/null\n/proc/50/fd/1 -> pipe:[501]\n/proc/60/fd/7 -> anon_inode:inotify\n", []string{"pid 50: 2d", "pid 60: 1d"}},
		{"find -printf of directory and target", "# find /proc/*/fd -lname 'anon_inode:inotify' -printf '%h %l\\n'\n/proc/50/fd anon_inode:inotify\n/proc/60/fd anon_inode:inotify\n/proc/60/fd anon_inode:inotify\n", []string{"pid 50: 1d", "pid 60: 2d"}},
		{"find -printf of directory and target without its command", "/proc/50/fd /dev/null\n/proc/50/fd pipe:[501]\n/proc/60/fd /dev/null\n", []string{"pid 50: 2d", "pid 60: 1d"}},
		{"find -printf of directories alone, counted", "$ find /proc/*/fd -lname anon_inode:inotify -printf '%h\\n' | sort | uniq -c\n      2 /proc/501/fd\n      1 /proc/777/fd\n", []string{"pid 501: 2d", "pid 777: 1d"}},
		{"directories that another command counted", "$ find /proc/*/fd -printf '%h\\n' | sort | uniq -c\n      2 /proc/501/fd\n      1 /proc/777/fd\n", nil},
		{"find -lname below its command without a prompt", "find /proc/*/fd -lname anon_inode:inotify\n/proc/50/fd/5\nfind: ‘/proc/9/fd/5’: No such file or directory\n", []string{"pid 50: 1d"}},
		{"find below messages", strings.Repeat("find: '/proc/77/fd': Permission denied\n", 3) + "/proc/50/fd/5\n/proc/60/fd/7\n", []string{"pid 50: 1d", "pid 60: 1d"}},
		{"find below messages alone", strings.Repeat("find: '/proc/77/fd': Permission denied\n", 3), nil},
		{"ls -R, with the directories of threads", "/proc/50/fd:\ntotal 0\n" + links50 + "\n/proc/50/task/50/fd:\ntotal 0\n" + links50 + "\n/proc/50/task/51/fd:\ntotal 0\n" + links50 + "\n/proc/60/fd:\ntotal 0\n" + links60, []string{"pid 50: 2d", "pid 60: 3d"}},
		{"the directories of threads alone", "/proc/50/task/50/fd:\ntotal 0\n" + links50 + "\n/proc/50/task/51/fd:\ntotal 0\n" + links50, []string{"pid 50: 2d"}},
		{"find, with the directories of threads", "/proc/50/fd/5 -> anon_inode:inotify\n/proc/50/task/50/fd/5 -> anon_inode:inotify\n/proc/50/task/51/fd/5 -> anon_inode:inotify\n", []string{"pid 50: 1d"}},
		{"ls in a ticket with fences and titles", "## Before\n/proc/50/fd:\ntotal 0\n" + links50 + "\n## Other\n/proc/60/fd:\ntotal 0\n" + links60, []string{"pid 50: 2d", "pid 60: 3d"}},
		{"find -printf with a tab", "/proc/50/fd/0\t/dev/null\n/proc/50/fd/1\tpipe:[501]\n/proc/60/fd/7\tanon_inode:inotify\n", []string{"pid 50: 2d", "pid 60: 1d"}},
		{"find -printf of names below a command", "$ find /proc/60/fd -type l -printf '%f -> %l\\n'\n0 -> /dev/null\n3 -> socket:[603]\n7 -> anon_inode:inotify\n", []string{"pid 60: 3d"}},
		// grep
		{"grep over all", watches, []string{"pid 50: 1d 1w", "pid 60: 1d 2w"}},
		{"grep -r over all, with messages", "grep: /proc/61/fdinfo: Permission denied\n" + watches, []string{"pid 50: 1d 1w", "pid 60: 1d 2w"}},
		{"grep with messages between", "/proc/50/fdinfo/5:" + watch + "grep: /proc/44/fdinfo/3: No such file or directory\n/proc/60/fdinfo/7:" + watch, []string{"pid 50: 1d 1w", "pid 60: 1d 1w"}},
		{"grep -c below messages", "grep: /proc/1/fdinfo/5: Permission denied\ngrep: /proc/2/fdinfo/7: No such file or directory\n/proc/50/fdinfo/5:12\n", []string{"pid 50: 1d 12w"}},
		{"grep -c with messages between", "$ grep -c inotify /proc/*/fdinfo/*\n/proc/50/fdinfo/5:12\ngrep: /proc/51/fdinfo/5: No such file or directory\n/proc/60/fdinfo/5:3\n", []string{"pid 50: 1d 12w", "pid 60: 1d 3w"}},
		{"grep with messages alone", strings.Repeat("grep: /proc/1/fdinfo/5: Permission denied\n", 3), nil},
		{"grep -r below its command", "[root@node1 ~]# grep -r ^inotify /proc/*/fdinfo 2>/dev/null\n" + watches, []string{"node1/ pid 50: 1d 1w", "node1/ pid 60: 1d 2w"}},
		{"grep -r in the directory of one process", "$ cd /proc/60 && grep -r ^inotify fdinfo\nfdinfo/7:" + watch + "fdinfo/8:" + watch, []string{"pid 60: 2d 2w"}},
		{"grep -n", "/proc/50/fdinfo/5:5:" + watch + "/proc/50/fdinfo/5:6:inotify wd:1 ino:3 sdev:fe00000 mask:fc6 ignored_mask:0 \n", []string{"pid 50: 1d 2w"}},
		{"grep -c with the files that hold none", "$ grep -c ^inotify /proc/50/fdinfo/* /proc/60/fdinfo/*\n/proc/50/fdinfo/0:0\n/proc/50/fdinfo/1:0\n/proc/50/fdinfo/5:12\n/proc/60/fdinfo/0:0\n/proc/60/fdinfo/7:800\n", []string{"pid 50: 3d 12w", "pid 60: 2d 800w"}},
		{"grep -rc sorted", "/proc/60/fdinfo/7:800\n/proc/50/fdinfo/5:12\n", []string{"pid 60: 1d 800w", "pid 50: 1d 12w"}},
		{"grep -c in a loop with date", "$ while :; do date; grep -c inotify /proc/50/fdinfo/5 /proc/50/fdinfo/6; sleep 5; done\n" + atThree + "/proc/50/fdinfo/5:12\n/proc/50/fdinfo/6:1\n" + later + "/proc/50/fdinfo/5:14\n/proc/50/fdinfo/6:1\n",
			[]string{"pid 50: 2d 13w at 03:00:00", "pid 50: 2d 15w at 03:00:05"}},
		{"grep -c in a loop without date", "/proc/50/fdinfo/5:12\n/proc/60/fdinfo/7:800\n/proc/50/fdinfo/5:14\n/proc/60/fdinfo/7:801\n", []string{"pid 50: 1d 12w", "pid 60: 1d 800w", "pid 50: 1d 14w", "pid 60: 1d 801w"}},
		{"xargs grep", "$ find /proc/[0-9]*/fdinfo -type f 2>/dev/null | sudo xargs grep ^inotify\n" + watches, []string{"pid 50: 1d 1w", "pid 60: 1d 2w"}},
		{"xargs grep -c of the instances", "$ find /proc/*/fd -lname anon_inode:inotify -printf '%hinfo/%f\\n' 2>/dev/null | xargs grep -c '^inotify' | sort -t: -n -k2 -r\n/proc/60/fdinfo/7:800\n/proc/50/fdinfo/5:12\n", []string{"pid 60: 1d 800w", "pid 50: 1d 12w"}},
		{"grep of one file, which prints no name", "$ grep inotify /proc/60/fdinfo/7\n" + watch + "inotify wd:1 ino:3 sdev:fe00000 mask:fc6 ignored_mask:0 \n", []string{"pid 60: 1d 2w"}},
		{"grep -c of one file in a loop, which prints no name", "$ while sleep 5; do date; grep -c inotify /proc/60/fdinfo/7; done\n" + atThree + "12\n" + later + "14\n", []string{"pid 60: 1d 12w at 03:00:00", "pid 60: 1d 14w at 03:00:05"}},
		{"cat of one file", "# cat /proc/60/fdinfo/7\npos:\t0\nflags:\t02004000\nmnt_id:\t15\n" + watch, []string{"pid 60: 1d 1w"}},
		// counts by process
		{"uniq -c of instances with ps", "# find /proc/*/fd -lname anon_inode:inotify | cut -d/ -f3 | xargs -I '{}' -- ps --no-headers -o '%p %U %c' -p '{}' | sort | uniq -c | sort -rn\n      5   6795 root     kubelet\n      1      1 root     systemd\n", []string{"kubelet pid 6795: 5d", "systemd pid 1: 1d"}},
		{"uniq -c of instances by pid", "me@node1:~$ sudo ls -l /proc/*/fd/* 2>/dev/null | grep inotify | cut -d/ -f3 | sort | uniq -c | sort -rn\n     12 6795\n      1 1\n", []string{"node1/ pid 6795: 12d", "node1/ pid 1: 1d"}},
		{"uniq -c of watches by pid", "$ grep -r ^inotify /proc/*/fdinfo 2>/dev/null | cut -d/ -f3 | sort | uniq -c | sort -rn\n   7491 8412\n   2620 1\n", []string{"pid 8412: 7491w", "pid 1: 2620w"}},
		{"uniq -c in a loop with date", "$ while sleep 5; do date; find /proc/*/fd -lname anon_inode:inotify 2>/dev/null | cut -d/ -f3 | sort | uniq -c; done\n" + atThree + "      5 50\n      2 60\n" + later + "      6 50\n      2 60\n",
			[]string{"pid 50: 5d at 03:00:00", "pid 60: 2d at 03:00:00", "pid 50: 6d at 03:00:05", "pid 60: 2d at 03:00:05"}},
		{"five outputs of one loop are never added up", strings.Repeat("COUNT\tPID\tUSER\tCOMMAND\n12\t50\troot /usr/bin/kubelet\n", 5), []string{"kubelet pid 50: 12w", "kubelet pid 50: 12w", "kubelet pid 50: 12w", "kubelet pid 50: 12w", "kubelet pid 50: 12w"}},
		{"uniq -c of links that are read", "$ for l in /proc/*/fd/*; do readlink -f $l; done | grep inotify | sort | uniq -c | sort -nr\n     12 /proc/1404/fd/anon_inode:inotify\n      3 /proc/50/fd/anon_inode:inotify\n", []string{"pid 1404: 12d", "pid 50: 3d"}},
		{"uniq -c of such links without the command", "     12 /proc/1404/fd/anon_inode:inotify\n      3 /proc/50/fd/anon_inode:inotify\n", []string{"pid 1404: 12d", "pid 50: 3d"}},
		{"uniq -c of files of watches", "# grep inotify /proc/*/fdinfo/* | cut -d: -f1 | sort | uniq -c | sort -rn\n    800 /proc/60/fdinfo/7\n     12 /proc/50/fdinfo/5\n      2 /proc/50/fdinfo/6\n", []string{"pid 60: 800w", "pid 50: 14w"}},
		{"awk over files of watches, twice", strings.Repeat("$ sudo awk '/^inotify/ {n[FILENAME]++} END {for (f in n) print n[f], f}' /proc/*/fdinfo/*\n800 /proc/60/fdinfo/7\n12 /proc/50/fdinfo/5\n", 2), []string{"pid 60: 800w", "pid 50: 12w", "pid 60: 800w", "pid 50: 12w"}},
		{"uniq -c of names of programs", "$ find /proc/*/fd -lname anon_inode:inotify | cut -d/ -f3 | xargs -I{} ps -o comm= -p {} | sort | uniq -c | sort -rn\n      5 kubelet\n      2 systemd\n", []string{"kubelet: 5d", "systemd: 2d"}},
		{"find -printf of names and targets", "$ find /proc/60/fd -type l -printf '%f %l\\n'\n0 /dev/null\n3 socket:[603]\n7 anon_inode:inotify\n", []string{"pid 60: 3d"}},
		{"a count in a loop of one file", "$ while sleep 5; do grep -c inotify /proc/50/fdinfo/*; done\n/proc/50/fdinfo/5:12\n/proc/50/fdinfo/5:14\n", []string{"pid 50: 1d 12w", "pid 50: 1d 14w"}},
		// field report 002
		{"the counts of field report 002", countsOfReport, []string{"kubelet pid 8412: 7491w", "init pid 1: 2620w"}},
		{"the first script of field report 002", firstScript, []string{"kubelet pid 2430: 5w"}},
		{"the second script of field report 002", secondScript, []string{"kubelet pid 8412: 9w"}},
		{"the second script below its command", "[root@node1 ~]# date; ./inotify_watchers.sh\n" + atThree + secondScript, []string{"node1/kubelet pid 8412: 9w at 03:00:00"}},
		{"the lines of the second script about mounts that are gone", "Can't find mount info for 0:100\nCan't find mount info for 0:101\n", []string{": 2w"}},
		{"the lines about mounts that are gone above the count", "kubelet pid=8412\nCan't find mount info for 0:100\nCan't find mount info for 0:101\nCount: 7491\n1   1   6649    Inode   Pathname\n", []string{"kubelet pid 8412: 7491w"}},
		{"those lines above two counts", strings.Repeat("kubelet pid=8412\nCan't find mount info for 0:100\nCount: 7491\n1   1   6649    Inode   Pathname\n", 2), []string{"kubelet pid 8412: 7491w", "kubelet pid 8412: 7491w"}},
		{"the second script twice, with date", atThree + secondScript + later + strings.ReplaceAll(secondScript, "Count: 9", "Count: 11"), []string{"kubelet pid 8412: 9w at 03:00:00", "kubelet pid 8412: 11w at 03:00:05"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantOwners(t, map[string]string{"a.txt": tc.text}, tc.want)
		})
	}
}
