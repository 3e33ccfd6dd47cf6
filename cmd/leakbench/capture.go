package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	rounds = 6
	port   = "18400"
)

type captureConfig struct {
	binary string
	work   string
	again  bool
}

// captureAll builds and captures each version of each case. One that fails is named at the
// end and does not stop the others.
func captureAll(cases []leakCase, config captureConfig) error {
	var failed []string
	for _, c := range cases {
		for _, suffix := range c.versions() {
			if _, err := os.Stat(kept(c, suffix)); err == nil && !config.again {
				continue
			}
			begun := time.Now()
			seen, err := captureOne(c, suffix, config)
			if err != nil {
				failed = append(failed, c.name+"-"+suffix)
				fmt.Printf("%s %s: %v\n", c.name, suffix, err)
				continue
			}
			fmt.Printf("%s %s: %s (%.0f s)\n", c.name, suffix, seen, time.Since(begun).Seconds())
		}
	}
	if failed != nil {
		return fmt.Errorf("not captured: %s", strings.Join(failed, ", "))
	}
	return nil
}

// kept is where the captures of a version are kept.
func kept(c leakCase, suffix string) string {
	return filepath.Join("testdata", "captures", c.name+"-"+suffix+".tgz")
}

// captureOne builds a version, captures it in a network and a host of its own and keeps what
// judging needs. It returns what was seen, for the person who runs it.
func captureOne(c leakCase, suffix string, config captureConfig) (string, error) {
	dir := filepath.Join(config.work, c.name+"-"+suffix)
	words, err := build(c, suffix, dir)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, append([]string{"inside", config.binary, dir}, words...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS}
	if os.Getuid() != 0 {
		id := []syscall.SysProcIDMap{{HostID: os.Getuid(), ContainerID: 0, Size: 1}}
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = id, []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	raw, err := os.ReadFile(filepath.Join(dir, "capture.tgz"))
	if err != nil {
		return "", err
	}
	members, err := unpack(raw)
	if err != nil {
		return "", err
	}
	members = judged(members)
	packed, err := pack(members)
	if err != nil {
		return "", err
	}
	counts := any(held(c, members))
	if c.parts != nil {
		counts = heldByPart(c, members)
	}
	seen := fmt.Sprintf("%v of the holder, %s triggers, %d bytes", counts, strings.TrimSpace(stdout.String()), len(packed))
	return seen, os.WriteFile(kept(c, suffix), packed, 0o644)
}

// inside runs in the new network and host: it starts the program, captures it, asks for the
// number of triggers, prints it and ends the program.
func inside(args []string) error {
	binary, dir, words := args[0], args[1], args[2:]
	if err := syscall.Sethostname([]byte("leakbench")); err != nil {
		return fmt.Errorf("name of the host: %w", err)
	}
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	closeInherited()
	log, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return err
	}
	program := exec.Command(words[0], append(words[1:], port)...)
	program.Dir, program.Stdout, program.Stderr = dir, log, log
	program.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := program.Start(); err != nil {
		return err
	}
	defer func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	}()
	if err := untilReady(); err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w: %s", err, text[:min(len(text), 600)])
	}
	time.Sleep(2 * time.Second)
	flags := []string{"collect", "--pid", fmt.Sprint(program.Process.Pid), "--every", "4s", "--count", fmt.Sprint(rounds), "--no-lsof", "-o", "capture.tgz"}
	switch words[0] {
	case "node":
		flags = append(flags, "--node-report")
	case "./app":
		flags = append(flags, "--pprof", "http://127.0.0.1:"+port)
	}
	collect := exec.Command(binary, flags...)
	collect.Dir = dir
	if text, err := collect.CombinedOutput(); err != nil {
		return fmt.Errorf("collect: %w: %s", err, text)
	}
	n, err := triggers()
	fmt.Println(n)
	return err
}

// untilReady waits for the program's port.
func untilReady() error {
	var err error
	for range 300 {
		if _, err = triggers(); err == nil {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

// triggers asks the program how often it triggered.
func triggers() (string, error) {
	answer, err := http.Get("http://127.0.0.1:" + port + "/triggers")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return strings.TrimSpace(string(text)), err
}

// raiseLoopback sets the interface lo of a new network up, as ip link set lo up does.
func raiseLoopback() error {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(s)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// closeInherited keeps descriptors of the shell that runs this from the program.
func closeInherited() {
	for fd := 3; fd < 1024; fd++ {
		syscall.CloseOnExec(fd)
	}
}
