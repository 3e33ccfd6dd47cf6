//go:build linux

package capture_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"leakdiff/cmd/leakdiff/capture"
	"leakdiff/cmd/leakdiff/internal/testprogram"

	"leakdiff/samples/corpus"
)

// nobody is a user that is not root.
const nobody = 65534

// fakeJVM starts a program called java, as a user, in a directory of its own with the
// given programs beside it, all of them of one owner.
func fakeJVM(t *testing.T, user, owner int, beside map[string]string) *program {
	t.Helper()
	dir := t.TempDir()
	for name := range beside {
		if err := testprogram.Write(filepath.Join(dir, name), []byte(beside[name])); err != nil {
			t.Fatal(err)
		}
		own(t, filepath.Join(dir, name), owner)
	}
	text, err := os.ReadFile(tool(t, "sleep"))
	if err != nil {
		t.Fatal(err)
	}
	java := filepath.Join(dir, "java")
	if err := testprogram.Write(java, text); err != nil {
		t.Fatal(err)
	}
	own(t, dir, owner)
	letIn(t, dir)
	cmd := exec.Command(java, "1h")
	cmd.Dir = dir // jcmd leaves a file there while it waits
	if user != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	}
	return start(t, cmd)
}

// letIn lets other users into a directory of the test.
func letIn(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
}

func own(t *testing.T, name string, user int) {
	t.Helper()
	if user == os.Getuid() {
		return
	}
	if err := os.Chown(name, user, user); err != nil {
		t.Fatal(err)
	}
}

// asNobody is a taker as another user than root.
func asNobody(t *testing.T, by taker) taker {
	t.Helper()
	name := by.name
	by.take = func(t *testing.T, cfg capture.Config) string {
		t.Helper()
		file, _ := nobodyTakes(t, name, cfg)
		return file
	}
	return by
}

// nobodyTakes is the archive that a taker makes as nobody, and what it says.
func nobodyTakes(t *testing.T, by string, cfg capture.Config) (file, said string) {
	t.Helper()
	dir := t.TempDir()
	letIn(t, dir)
	own(t, dir, nobody)
	file = filepath.Join(dir, "capture.tar.gz")
	cmd := nobodyCommand(t, by, dir, file, cfg)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file, string(out)
}

// nobodyCommand is the program of a taker: the script, or this test program in the role
// of leakdiff collect.
func nobodyCommand(t *testing.T, by, dir, file string, cfg capture.Config) *exec.Cmd {
	t.Helper()
	if by == "leakdiff collect" {
		readable(t, os.Args[0])
		asked, err := json.Marshal(collection{file, cfg.Targets, cfg.Budget, cfg.SIGQUIT, cfg.Pair})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"=collector", configVariable+"="+string(asked))
		return cmd
	}
	script := filepath.Join(dir, "collect.sh")
	if err := os.WriteFile(script, capture.Script(), 0o644); err != nil {
		t.Fatal(err)
	}
	shell, env := tool(t, "dash"), os.Environ()
	if strings.Contains(by, "BusyBox") {
		env = busyboxOnly(t, tool(t, "busybox"))
		shell = filepath.Join(strings.TrimPrefix(env[0], "PATH="), "sh")
	}
	cmd := exec.Command(shell, append(append([]string{script}, arguments(cfg)...), "-o", file)...)
	cmd.Env = env
	return cmd
}

// What may not be read is not said to be nothing.
func TestWhatNobodyMayReadIsNotCounted(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		corpus.LeaveOut(t, "only root has processes that others may not read")
	}
	p, _ := server(t)
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			file, told := nobodyTakes(t, by.name, one(p.pid(), ""))
			if !strings.Contains(told, "t0 of 1: ") || strings.Contains(told, " descriptors") || strings.Contains(told, " watches") {
				t.Errorf("it says %s", told)
			}
			if r := read(t, file); !said(r, "fdinfo at t0 was not captured") || !said(r, "fd at t0 was not captured") {
				t.Errorf("problems %q", problems(r))
			}
		})
	}
}

// readable lets other users run a program of the test.
func readable(t *testing.T, program string) {
	t.Helper()
	for name := program; name != "/" && name != os.TempDir(); name = filepath.Dir(name) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o005 != 0o005 {
			if err := os.Chmod(name, mode|0o055); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// member is the only file of a name in an archive, "" without one.
func member(t *testing.T, file, name string) string {
	t.Helper()
	for full, text := range members(t, file) {
		if path.Base(full) == name {
			return text
		}
	}
	return ""
}

// Whoever may start a program called java must not get root's rights by a jcmd beside it.
func TestRootRunsNoProgramThatTheProcessChose(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		corpus.LeaveOut(t, "only root has rights to lose")
	}
	beside := map[string]string{"jcmd": "#!/bin/sh\necho chosen by the process\nid -u\nid -G\npwd\n"}
	for _, c := range []struct {
		name        string
		user, owner int
		want        string
	}{
		{"as another user it is run as that user", nobody, nobody, fmt.Sprintf("chosen by the process\n%[1]d\n%[1]d\n/\n", nobody)},
		{"as root it is not run where others can change it", 0, nobody, ""},
		{"as root it is run where only root can", 0, 0, "chosen by the process\n0\n"},
	} {
		for _, by := range collectOnly() {
			t.Run(c.name+", "+by.name, func(t *testing.T) {
				t.Parallel()
				p := fakeJVM(t, c.user, c.owner, beside)
				cfg := capture.Config{Targets: []capture.Target{{PID: p.pid()}}}
				if c.want == "" {
					cfg.Budget = short // the real jcmd waits for what is no JVM
				}
				got := member(t, by.take(t, cfg), "thread-dump.txt")
				if !strings.HasPrefix(got, c.want) || c.want == "" && strings.Contains(got, "chosen") {
					t.Errorf("the dump of threads is %q, want %q", got, c.want)
				}
			})
		}
	}
}

func TestAJcmdThatFailsIsToldAndJstackIsTried(t *testing.T) {
	t.Parallel()
	const failing = "#!/bin/sh\necho 4711:\necho 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g' >&2\necho 'cannot attach' >&2\nexit 1\n"
	for _, c := range []struct {
		name   string
		beside map[string]string
		want   string
		lost   string
	}{
		{"jstack gives the dump", map[string]string{"jcmd": failing, "jstack": "#!/bin/sh\necho the dump of jstack\n"}, "the dump of jstack\n", ""},
		{"an old jstack knows no -e", map[string]string{"jcmd": failing, "jstack": "#!/bin/sh\n[ \"$2\" = -e ] && exit 1\necho the dump of jstack\n"}, "the dump of jstack\n", ""},
		{"neither does", map[string]string{"jcmd": failing, "jstack": failing}, "", "cannot attach"},
		{"what came before the failure is kept", map[string]string{"jcmd": strings.Replace(failing, "4711:", "4711:; echo half a dump", 1), "jstack": failing}, "4711:\nhalf a dump\n", "cannot attach"},
	} {
		for _, by := range collectOnly() {
			t.Run(c.name+", "+by.name, func(t *testing.T) {
				t.Parallel()
				p := fakeJVM(t, os.Getuid(), os.Getuid(), c.beside)
				file := by.take(t, capture.Config{Targets: []capture.Target{{PID: p.pid()}}})
				if got := member(t, file, "thread-dump.txt"); got != c.want {
					t.Errorf("the dump of threads is %q, want %q", got, c.want)
				}
				r := read(t, file)
				if c.lost != "" && !said(r, c.lost) {
					t.Errorf("%q is not among the problems %q", c.lost, problems(r))
				}
				if c.lost == "" && said(r, "cannot attach") {
					t.Errorf("problems %q", problems(r))
				}
			})
		}
	}
}

func TestAJVMThatCannotBeAskedIsALostStep(t *testing.T) {
	t.Parallel()
	java := tool(t, "java")
	tool(t, "jcmd")
	file := filepath.Join(t.TempDir(), "Leak.java")
	if err := os.WriteFile(file, []byte(threadsProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(java, "-XX:+DisableAttachMechanism", file)
	cmd.Dir = filepath.Dir(file)
	p := start(t, cmd)
	p.line()
	for _, by := range collectOnly() {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			archive := by.take(t, capture.Config{Targets: []capture.Target{{PID: p.pid()}}})
			if r := read(t, archive); !said(r, "threads at t0 was not captured") {
				t.Errorf("problems %q, and the dump is %q", problems(r), member(t, archive, "thread-dump.txt"))
			}
		})
	}
}
