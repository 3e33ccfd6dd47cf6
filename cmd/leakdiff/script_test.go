package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"leakdiff/samples"
)

var update = flag.Bool("update", false, "write what the program prints into the scripts' golden files; read the difference before committing it")

// TestScripts runs the scripts in testdata/script.
func TestScripts(t *testing.T) {
	program := binary(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			bin := filepath.Join(e.WorkDir, ".bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				return err
			}
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			return os.Symlink(program, filepath.Join(bin, "leakdiff"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"sample": writeSample,
			"bytes":  writeBytes,
			"cut":    writeCut,

			"captures": writeCaptures,
		},
	})
}

// exits STATUS PROGRAM ARGS... runs a program that must end with that status.
func exits(s *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		s.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	s.Check(err)
	got := 0
	err = s.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got, err = exit.ExitCode(), nil
	}
	s.Check(err)
	if got != want {
		s.Fatalf("%q ended with status %d, want %d", args[1:], got, want)
	}
}

// sample NAME FILE writes the archive of a sample.
func writeSample(s *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		s.Fatalf("usage: sample NAME FILE")
	}
	all, err := samples.All()
	s.Check(err)
	for _, sample := range all {
		if sample.Name == args[0] {
			s.Check(os.WriteFile(s.MkAbs(args[1]), sample.Archive, 0o600))
			return
		}
	}
	s.Fatalf("there is no sample %s", args[0])
}

// bytes FILE TEXT writes TEXT. \x1b and \n in it mean what they mean in Go.
func writeBytes(s *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		s.Fatalf("usage: bytes FILE TEXT")
	}
	name, err := strconv.Unquote(`"` + args[0] + `"`)
	s.Check(err)
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	s.Check(err)
	s.Check(os.WriteFile(s.MkAbs(name), []byte(text), 0o600))
}

// cut FILE PERCENT writes FILE.cut, the beginning of FILE.
func writeCut(s *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		s.Fatalf("usage: cut FILE PERCENT")
	}
	percent, err := strconv.Atoi(args[1])
	s.Check(err)
	content, err := os.ReadFile(s.MkAbs(args[0]))
	s.Check(err)
	s.Check(os.WriteFile(s.MkAbs(args[0]+".cut"), content[:len(content)*percent/100], 0o600))
}
