//go:build linux

package capture_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/cmd/leakdiff/capture"
	"leakdiff/cmd/leakdiff/internal/testprogram"
)

// short is the time of a step that is meant to run out: every other one of the same
// capture has it as well, on a busy machine too.
const short = 5 * time.Second

func TestAnEndpointThatHangsCostsItsOwnStepOnly(t *testing.T) {
	t.Parallel()
	for _, by := range takers(t) {
		for _, c := range []struct {
			name, hang string
			// want are the leaked goroutines that are still told.
			want   int
			lost   []string
			absent []string
		}{
			{"debug=2 alone", "debug2", 30, []string{"goroutines debug=2 at t0 was not captured: no end within 5s"}, nil},
			{"debug=2 in its middle", "half2", 30, []string{"goroutines debug=2 at t0 is not whole: no end within 5s"}, nil},
			{"every profile", "debug1", -1, []string{"goroutines debug=1 at t0 was not captured: no end within 5s"},
				[]string{"goroutine.pb", "goroutine.debug2.txt"}},
		} {
			t.Run(by.name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				p, about := server(t)
				p.ask("leak 30", &about)
				p.ask("hang "+c.hang, &about)
				cfg := one(p.pid(), about.Address)
				cfg.Budget = short
				file := by.take(t, cfg)
				r := read(t, file)
				if len(r.Snapshots) != 1 {
					t.Fatalf("%d snapshots: %q", len(r.Snapshots), problems(r))
				}
				s := &r.Snapshots[0]
				got := counted(s, analysis.KindGoroutine, "(*profileServer).leak")
				if s.Totals.Goroutines == nil {
					got = -1
				}
				if got != c.want {
					t.Errorf("%d leaked goroutines, want %d", got, c.want)
				}
				if s.Totals.Descriptors == nil || *s.Totals.Descriptors == 0 {
					t.Error("the descriptors were lost as well")
				}
				for _, text := range c.lost {
					if !said(r, text) {
						t.Errorf("%q is not among the problems: %q", text, problems(r))
					}
				}
				for name := range members(t, file) {
					if slices.Contains(c.absent, path.Base(name)) {
						t.Errorf("%s was asked for, after debug=1 hung", name)
					}
				}
			})
		}
	}
}

// Ten thousand files in each round would be more than a reader takes.
func TestManyDescriptorsAreFewFiles(t *testing.T) {
	t.Parallel()
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			p, about := server(t)
			p.ask("open 1500", &about)
			file := by.take(t, one(p.pid(), about.Address))
			r := read(t, file)
			if lost := problems(r); len(lost) > 0 {
				t.Errorf("problems: %q", lost)
			}
			s := &r.Snapshots[0]
			if got := counted(s, analysis.KindDescriptor, "/dev/zero"); got != 1500 {
				t.Errorf("%d descriptors of /dev/zero, want 1500", got)
			}
			if got, want := *s.Totals.Descriptors, settled(t, p, about); got != want {
				t.Errorf("%d descriptors, want %d", got, want)
			}
			for _, a := range s.Artifacts {
				if strings.HasPrefix(a.Kind, "fd") && a.Members != settled(t, p, about) {
					t.Errorf("%s has %d descriptors", a.Path, a.Members)
				}
			}
			if n := len(members(t, file)); n > 100 {
				t.Errorf("the archive has %d files", n)
			}
		})
	}
}

// What a descriptor leads to is told as it is, and not by a program for each.
func TestTheTargetsOfDescriptorsAreWhatTheyAre(t *testing.T) {
	t.Parallel()
	names := []string{"two\nlines", "what?", "ü→", " 7 -> x ", "lrwxrwxrwx 1 0 0 64 Nov 22 00:00 3 -> x"}
	for _, by := range takers(t) {
		for _, n := range []int{0, 1200} {
			t.Run(fmt.Sprintf("%s, %d more", by.name, n), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				cmd := exec.Command(tool(t, "sleep"), "1h")
				for _, name := range names {
					f, err := os.Create(filepath.Join(dir, name))
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
					cmd.ExtraFiles = append(cmd.ExtraFiles, f)
				}
				null, err := os.Open(os.DevNull)
				if err != nil {
					t.Fatal(err)
				}
				defer null.Close()
				for range n {
					cmd.ExtraFiles = append(cmd.ExtraFiles, null)
				}
				p := start(t, cmd)
				// While it starts it has its libraries open.
				for before := -1; before != p.descriptors(); time.Sleep(50 * time.Millisecond) {
					before = p.descriptors()
				}
				file := by.take(t, one(p.pid(), ""))
				if r := read(t, file); len(problems(r)) > 0 || *r.Snapshots[0].Totals.Descriptors != p.descriptors() {
					t.Errorf("%d descriptors, problems %q", *r.Snapshots[0].Totals.Descriptors, problems(r))
				}
				for i, name := range names {
					fd, target := fmt.Sprint(3+i), filepath.Join(dir, name)
					if n == 0 && !by.isScript() {
						if got := member(t, file, fd); !strings.HasPrefix(got, "pos:") && got != "-> "+target {
							t.Errorf("%s leads to %q, want %q", fd, got, target)
						}
						continue
					}
					want := fd + " -> " + strings.ReplaceAll(target, "\n", " ")
					if got := strings.Split(member(t, file, "fd.txt"), "\n"); !slices.Contains(got, want) {
						t.Errorf("no line is %q", want)
					}
				}
			})
		}
	}
}

func TestTheScriptStartsNoProgramForEachDescriptor(t *testing.T) {
	t.Parallel()
	p, about := server(t)
	p.ask("open 1500", &about)
	bin, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	real := tool(t, "readlink")
	if err := testprogram.Write(filepath.Join(bin, "readlink"), []byte("#!/bin/sh\necho >>"+calls+"\nexec "+real+" \"$@\"\n")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	cmd := scriptCommand(t, tool(t, "dash"), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), append(arguments(one(p.pid(), "")), "-o", file)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(calls); err != nil || len(text) > 100 {
		t.Errorf("readlink was started %d times, %v", len(text), err)
	}
	if got := counted(&read(t, file).Snapshots[0], analysis.KindDescriptor, "/dev/zero"); got != 1500 {
		t.Errorf("%d descriptors of /dev/zero, want 1500", got)
	}
}

func TestAProcessThatDiesInBetweenIsToldOnce(t *testing.T) {
	p, about := server(t)
	cfg := one(p.pid(), about.Address)
	cfg.Count, cfg.Every = 6, time.Millisecond
	cfg.Say = func(text string) {
		if strings.HasPrefix(text, "t1 ") {
			p.kill()
		}
	}
	file, sum, err := collect(t, t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := read(t, file)
	if len(r.Snapshots) != 2 || sum.Captures != 2 {
		t.Errorf("%d snapshots, %+v", len(r.Snapshots), sum)
	}
	if d := cmp.Diff([]string{"process at t2 was not captured: the process has ended"}, problems(r)); d != "" {
		t.Error(d)
	}
}

func TestTheScriptTellsAProcessThatDiesInBetween(t *testing.T) {
	dash := tool(t, "dash")
	p, about := server(t)
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	cfg := one(p.pid(), about.Address)
	cfg.Count, cfg.Every = 4, 2*time.Second
	script := scriptSaying(t, dash, append(arguments(cfg), "-o", file)...)
	script.until("t0 of 4")
	p.kill()
	if err := script.end(); err != nil {
		t.Fatal(err)
	}
	r := read(t, file)
	if len(r.Snapshots) == 0 || !said(r, "the process has ended") {
		t.Errorf("%d snapshots, problems %q", len(r.Snapshots), problems(r))
	}
}

// saying is a script whose standard error is read line by line.
type saying struct {
	*program
	t *testing.T
}

func scriptSaying(t *testing.T, shell string, args ...string) saying {
	t.Helper()
	cmd := scriptCommand(t, shell, nil, args...)
	// program reads standard output: the script has none of its own.
	inner := exec.Command("/bin/sh", append([]string{"-c", `exec "$0" "$@" 2>&1`, cmd.Path}, cmd.Args[1:]...)...)
	inner.Env = cmd.Env
	return saying{start(t, inner), t}
}

// shell is a program that behaves as a shell when it is called so.
func shell(t *testing.T, name string) string {
	t.Helper()
	program := tool(t, name)
	if name != "busybox" {
		return program
	}
	sh := filepath.Join(t.TempDir(), "sh")
	if err := os.Symlink(program, sh); err != nil {
		t.Fatal(err)
	}
	return sh
}

func (s saying) until(text string) {
	s.t.Helper()
	for !strings.Contains(s.line(), text) {
	}
}

// end reads the rest and waits.
func (s saying) end() error {
	s.out.WriteTo(os.Stderr)
	return s.cmd.Wait()
}

func TestACaptureThatIsInterruptedIsWhole(t *testing.T) {
	p, about := server(t)
	// So many that a connection more or less is no difference between two files.
	p.ask("leak 50", &about)
	t.Run("between two rounds", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cfg := one(p.pid(), about.Address)
		cfg.Count, cfg.Every = 3, time.Hour
		cfg.Say = func(string) { cancel() }
		file, sum, err := collect(t, ctx, cfg)
		if err != nil || !sum.Interrupted || sum.Rounds != 1 {
			t.Fatalf("%v, %+v", err, sum)
		}
		if r := read(t, file); len(r.Snapshots) != 1 || len(problems(r)) > 0 {
			t.Errorf("%d snapshots, problems %q", len(r.Snapshots), problems(r))
		}
	})
	t.Run("while an endpoint hangs", func(t *testing.T) {
		p.ask("hang debug2", &about)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := one(p.pid(), about.Address)
		cfg.Count, cfg.Every, cfg.Budget = 3, time.Hour, time.Hour
		go func() {
			p.out.ReadString('\n') // it says that a request hangs
			cancel()
		}()
		file, sum, err := collect(t, ctx, cfg)
		if err != nil || !sum.Interrupted {
			t.Fatalf("%v, %+v", err, sum)
		}
		r := read(t, file)
		if len(r.Snapshots) != 1 || !said(r, "goroutines debug=2 at t0 was not captured: the capture was ended here") {
			t.Errorf("%d snapshots, problems %q", len(r.Snapshots), problems(r))
		}
		for name, text := range members(t, file) {
			if path.Base(name) == "manifest.json" && !strings.Contains(text, `"interrupted": true`) {
				t.Errorf("the manifest does not say that it was interrupted: %s", text)
			}
		}
	})
}

func TestTheScriptFinishesItsArchiveOnASignal(t *testing.T) {
	for _, name := range []string{"dash", "busybox"} {
		t.Run(name, func(t *testing.T) {
			p, about := server(t)
			file := filepath.Join(t.TempDir(), "capture.tar.gz")
			cfg := one(p.pid(), about.Address)
			cfg.Count, cfg.Every = 3, time.Hour
			args := append(arguments(cfg), "-o", file)
			script := scriptSaying(t, shell(t, name), args...)
			script.until("t0 of 3")
			if err := script.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := script.end(); err != nil {
				t.Fatal(err)
			}
			if r := read(t, file); len(r.Snapshots) != 1 {
				t.Errorf("%d snapshots", len(r.Snapshots))
			}
		})
	}
}

func TestALargeDumpIsNotAskedFor(t *testing.T) {
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			p, about := server(t)
			p.ask("leak 60", &about)
			cfg := one(p.pid(), about.Address)
			cfg.MaxGoroutines = 50
			file := by.take(t, cfg)
			r := read(t, file)
			if got := counted(&r.Snapshots[0], analysis.KindGoroutine, "(*profileServer).leak"); got != 60 {
				t.Errorf("%d leaked goroutines by debug=1, want 60", got)
			}
			if !said(r, "the limit is 50") {
				t.Error("nothing says why there is no debug=2")
			}
			for name, text := range members(t, file) {
				switch path.Base(name) {
				case "goroutine.debug2.txt":
					t.Error("debug=2 was asked for")
				case "manifest.json":
					var m capture.Manifest
					if err := json.Unmarshal([]byte(text), &m); err != nil {
						t.Fatal(err)
					}
					if m.Load.Goroutines < 60 || m.Load.MaxGoroutines != 50 {
						t.Errorf("load %+v", m.Load)
					}
				}
			}
		})
	}
	t.Run("unless it is forced", func(t *testing.T) {
		p, about := server(t)
		p.ask("leak 60", &about)
		cfg := one(p.pid(), about.Address)
		cfg.MaxGoroutines = -1
		if r := read(t, runCollect(t, cfg)); r.Snapshots[0].MaxGoroutineID == 0 {
			t.Error("there are no ids: debug=2 is missing")
		}
	})
}

func TestTheHeaderFileLetsIn(t *testing.T) {
	t.Parallel()
	const token = "gate-0pen-5esame"
	for _, by := range append(takers(t), fetchers(t)...) {
		if strings.Contains(by.name, "wget") {
			continue // it is refused: TestTheScriptRefusesWhatItCannotDo
		}
		for name, header := range map[string]string{"a header line": "Authorization: Bearer " + token + "\n", "a bare token": token} {
			t.Run(by.name+", "+name, func(t *testing.T) {
				t.Parallel()
				p, about := server(t)
				p.ask("token "+token, &about)
				p.ask("leak 5", &about)
				cfg := one(p.pid(), about.Address)
				if r := read(t, by.take(t, cfg)); !said(r, "401") {
					t.Errorf("without it: %q", problems(r))
				}
				cfg.HeaderFile = filepath.Join(t.TempDir(), "header")
				if err := os.WriteFile(cfg.HeaderFile, []byte(header), 0o600); err != nil {
					t.Fatal(err)
				}
				file := by.take(t, cfg)
				if got := counted(&read(t, file).Snapshots[0], analysis.KindGoroutine, "(*profileServer).leak"); got != 5 {
					t.Errorf("%d leaked goroutines, want 5", got)
				}
				for name, text := range members(t, file) {
					if strings.Contains(text, token) {
						t.Errorf("%s holds the token", name)
					}
				}
			})
		}
	}
}

func TestSecretsOfTheProcessStayBehind(t *testing.T) {
	given := []string{
		"--api-token=hidden-2", "--password", "hidden-3", "--db", "postgres://me:hidden-4@db/x", "--token-file=/etc/token", "--level=5",
		"--cache", "redis://:hidden-5@cache:6379", "--api_key=hidden-6", "--secret-rotation", "--db-password=hidden-7",
		"--queue=amqp://me:hidden-8@hidden-9@mq/x", "--Secret-PATH", "/etc/secret", "https://hidden-10@git/x",
	}
	want := []string{
		"--api-token=***", "--password", "***", "--db", "postgres://***@db/x", "--token-file=/etc/token", "--level=5",
		"--cache", "redis://***@cache:6379", "--api_key=***", "--secret-rotation", "--db-password=***",
		"--queue=amqp://***@mq/x", "--Secret-PATH", "/etc/secret", "https://***@git/x",
	}
	programs := map[string]func(t *testing.T) (p *program, before []string){
		"a Go program": func(t *testing.T) (*program, []string) {
			p, _ := server(t, given...)
			return p, []string{os.Args[0]}
		},
		"Node in many lines": func(t *testing.T) (*program, []string) { return reporting(t, given) },
		"Node in one line":   func(t *testing.T) (*program, []string) { return reporting(t, given, "--report-compact") },
	}
	t.Setenv("DATABASE_PASSWORD", `hidden-1 "}, {`)
	for _, by := range takers(t) {
		for name, begin := range programs {
			t.Run(by.name+", "+name, func(t *testing.T) {
				p, before := begin(t)
				file := by.take(t, one(p.pid(), ""))
				for name, text := range members(t, file) {
					if strings.Contains(text, "hidden-") || strings.Contains(text, "environmentVariables") {
						t.Errorf("%s holds a secret: %q", name, text)
					}
				}
				if by.isScript() {
					return // it takes no command line
				}
				got := strings.Split(member(t, file, "cmdline"), "\x00")
				if d := cmp.Diff(append(append(before, want...), ""), got); d != "" {
					t.Error(d)
				}
				if report := member(t, file, "node-report.json"); len(before) > 1 && !json.Valid([]byte(report)) {
					t.Errorf("the report is %q, problems %q", report, problems(read(t, file)))
				}
			})
		}
	}
}

// reporting is a Node that answers SIGUSR2 with a report, and the begin of its
// command line.
func reporting(t *testing.T, args []string, options ...string) (*program, []string) {
	t.Helper()
	before := append([]string{tool(t, "node"), "--report-on-signal", "--report-directory=" + t.TempDir()}, options...)
	before = append(before, "-e", clientProgram, "--")
	cmd := exec.Command(before[0], append(before[1:], args...)...)
	cmd.Stderr = io.Discard // it tells that it writes a report
	p := start(t, cmd)
	p.line()
	return p, before
}

func TestALogThatCannotBeReadCostsItsOwnStepOnly(t *testing.T) {
	for _, by := range collectOnly() {
		t.Run(by.name, func(t *testing.T) {
			if os.Getuid() == 0 {
				by = asNobody(t, by) // root reads every file
			}
			p, about := logging(t, 0)
			p.ask("leak 5", &about)
			cfg := one(p.pid(), "")
			cfg.SIGQUIT = true
			r := read(t, by.take(t, cfg))
			if !said(r, "sigquit at t0 was not captured") || len(r.Snapshots) != 1 {
				t.Errorf("%d snapshots, problems %q", len(r.Snapshots), problems(r))
			}
			p.ask("leak 1", &about) // it got no signal
		})
	}
}

// logging is a server that writes its standard error to a file with a mode; where the
// test is root, both are nobody's.
func logging(t *testing.T, mode os.FileMode) (*program, served) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Chmod(mode); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=server")
	cmd.Stderr = log
	if os.Getuid() == 0 {
		readable(t, os.Args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	p := start(t, cmd)
	var about served
	if err := json.Unmarshal([]byte(p.line()), &about); err != nil {
		t.Fatal(err)
	}
	return p, about
}

// A signal to the collector ends the capture, not the process that is captured.
func TestACaptureThatIsEndedSendsNoSignal(t *testing.T) {
	t.Parallel()
	const told = "the capture was ended before the signal was sent"
	t.Run("leakdiff collect", func(t *testing.T) {
		t.Parallel()
		p, about := server(t)
		p.ask("hang debug1", &about)
		cfg := one(p.pid(), about.Address)
		cfg.SIGQUIT = true
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			p.out.ReadString('\n') // it says that a request hangs
			cancel()
		}()
		file, _, err := collect(t, ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r := read(t, file); !said(r, told) {
			t.Errorf("problems %+v", r.Problems)
		}
		p.ask("leak 1", &about)
	})
}

func TestSIGQUITEndsWithTheStacks(t *testing.T) {
	t.Parallel()
	for _, by := range collectOnly() {
		for _, waited := range []bool{true, false} {
			name := by.name
			if !waited {
				name += ", of a process that nobody waits for"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				quits(t, by, waited)
			})
		}
	}
}

// quits captures a process that ends by it; where it is not waited for it stays there, as
// a zombie.
func quits(t *testing.T, by taker, waited bool) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	fmt.Fprintln(log, "what the program wrote before")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=server", "GOTRACEBACK=all")
	cmd.Stderr = log
	p := start(t, cmd)
	p.line()
	var about served
	p.ask("leak 23", &about)
	if waited {
		go p.cmd.Wait()
	}
	cfg := one(p.pid(), "")
	cfg.SIGQUIT = true
	r := read(t, by.take(t, cfg))
	if got := counted(&r.Snapshots[0], analysis.KindGoroutine, "(*profileServer).leak"); got != 23 {
		t.Errorf("%d leaked goroutines, want 23; problems %q", got, problems(r))
	}
	// That it ends is what was asked for.
	if len(problems(r)) > 0 || said(r, "another process") {
		t.Errorf("problems %+v", r.Problems)
	}
}

func TestAZombieHasEnded(t *testing.T) {
	t.Parallel()
	const told = "the process has ended during this round"
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			p, about := server(t)
			p.ask("hang debug1", &about)
			go func() {
				p.out.ReadString('\n') // it says that a request hangs
				p.cmd.Process.Kill()
			}()
			if r := read(t, by.take(t, one(p.pid(), about.Address))); !said(r, told) || said(r, "another process") {
				t.Errorf("problems %q", problems(r))
			}
		})
	}
}

func TestARoundThatComesLateSaysSo(t *testing.T) {
	t.Parallel()
	const told = "warning: t1 begins "
	for _, by := range takers(t) {
		t.Run(by.name, func(t *testing.T) {
			t.Parallel()
			p, about := server(t)
			p.ask("hang debug1", &about)
			cfg := one(p.pid(), about.Address)
			cfg.Count, cfg.Every, cfg.Budget = 2, time.Second, 3*time.Second
			cfg.Say = func(text string) {
				if strings.HasPrefix(text, told) {
					p.t.Log(text)
				}
			}
			late := map[int]float64{}
			for name, text := range members(t, by.take(t, cfg)) {
				if path.Base(name) != "manifest.json" {
					continue
				}
				var m capture.Manifest
				var at struct {
					Late float64 `json:"late_seconds"`
				}
				if err := errors.Join(json.Unmarshal([]byte(text), &m), json.Unmarshal([]byte(text), &at)); err != nil {
					t.Fatal(err)
				}
				late[m.Round] = at.Late
			}
			if late[0] != 0 || late[1] < 2 || len(late) != 2 {
				t.Errorf("late by %v s", late)
			}
		})
	}
}

// What is told of a process that has ended is that process', even where its pid is
// another's by then.
func TestAPidThatIsUsedAgainKeepsTheStartOfItsFirstProcess(t *testing.T) {
	proc := t.TempDir()
	dir := filepath.Join(proc, "4711")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	begin := func(ticks string) {
		text := "4711 (reused) S 1" + strings.Repeat(" 0", 17) + " " + ticks + strings.Repeat(" 0", 30) + "\n"
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begin("1000")
	file := filepath.Join(t.TempDir(), "capture.tar.gz")
	script := scriptSaying(t, tool(t, "dash"), "--pid", "4711", "--proc", proc, "--hostname", "h", "--count", "2", "--every", "1", "-o", file)
	script.until("t0 of 2")
	begin("2000")
	if err := script.end(); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for name, text := range members(t, file) {
		if path.Base(name) == "manifest.json" {
			var m capture.Manifest
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			got[path.Join(path.Base(path.Dir(path.Dir(name))), path.Base(path.Dir(name)))] = m.Process.StartTicks
		}
	}
	want := map[string]uint64{"t0/reused-4711": 1000, "t1/reused-4711": 2000, "t1/reused-4711-ended": 1000}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
