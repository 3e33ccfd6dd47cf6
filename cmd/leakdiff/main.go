// Command leakdiff finds the families of goroutines, descriptors and watches that grow in
// support bundles: as a web app (serve) or in a terminal (report), offline.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	_ "time/tzdata" // people enter zones by name, and the machine may have no zone files

	"github.com/alecthomas/kong"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// version is printed by `leakdiff version` and in every report.
const version = "1.0"

// Exit statuses.
const (
	exitDone    = 0
	exitVerdict = 1
	exitError   = 2
)

func main() {
	m := &Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(m.Run(context.Background(), os.Args[1:]))
}

// Main is the program with its environment, so that tests can start it.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Ready, when set, receives the address that serve listens on.
	Ready func(address string)
}

type commands struct {
	Demo      demoCommand      `cmd:"" help:"Open the answer of a sample in the browser. Nothing is kept."`
	Serve     serveCommand     `cmd:"" help:"Start the web app."`
	Report    reportCommand    `cmd:"" help:"Read files, directories and archives as one case and print what leaks."`
	Open      openCommand      `cmd:"" help:"Read files as one case and open the answer in the browser. Nothing is kept."`
	Pprof     pprofCommand     `cmd:"" help:"Take goroutine dumps of a Go program by its address and print what leaks."`
	Run       runCommand       `cmd:"" help:"Start a program, capture it until it ends, and print what leaked."`
	Diff      diffCommand      `cmd:"" help:"Compare two captures group by group."`
	Export    exportCommand    `cmd:"" help:"Write the answers of files as a site that needs no server."`
	Redact    redactCommand    `cmd:"" help:"Copy captures without names of hosts, users, pods, paths and the like, before they leave the house."`
	Follow    followCommand    `cmd:"" help:"Print where one goroutine, thread, descriptor or watch was in each capture."`
	Push      pushCommand      `cmd:"" help:"Upload files, directories and archives to a server and print the link of what it found."`
	Fleet     fleetCommand     `cmd:"" help:"Ask a server which families grow most, or are on most hosts."`
	Ready     readyCommand     `cmd:"" hidden:"" help:"Ask a server whether it takes uploads."`
	Collect   collectCommand   `cmd:"" help:"On a node: make a bundle of running processes, in rounds, that loses nothing. Exit status: 0 done or ended by a signal, 2 nothing captured, 3 the verdict of --until was not reached."`
	Watch     watchCommand     `cmd:"" help:"On a node: capture running processes for ever, and send them when a leak begins."`
	Token     tokenCommand     `cmd:"" help:"Make, list and revoke API tokens."`
	Password  passwordCommand  `cmd:"" help:"Make a line of a password file."`
	Retention retentionCommand `cmd:"" help:"Show what policies of retention drop of a data directory, or drop it."`
	Check     checkCommand     `cmd:"" help:"Verify a data directory, and say what could be mended."`
	Backup    backupCommand    `cmd:"" help:"Copy a data directory, also while a server runs on it."`
	Restore   restoreCommand   `cmd:"" help:"Make a data directory of a backup. What was there before is kept."`
	Migrate   migrateCommand   `cmd:"" help:"Move a data directory to PostgreSQL, or back."`
	MCP       mcpCommand       `cmd:"" name:"mcp" help:"Answer an agent over standard input and output, by the Model Context Protocol."`
	Version   versionCommand   `cmd:"" hidden:"" help:"Print the version."`

	Completion completionCommand `cmd:"" help:"Print the script that completes words in a shell."`
	// Those of scripts and of make generate.
	Complete completeCommand `cmd:"" hidden:"" help:"Print what a shell may complete."`
	Manual   manualCommand   `cmd:"" hidden:"" help:"Print the manual page, or its twin in Markdown."`

	PrintVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version with the commit."`
}

type versionCommand struct{}

func (versionCommand) Run(m *Main) error {
	fmt.Fprintln(m.Stdout, fullVersion())
	return nil
}

// fullVersion is the version with the commit that the program was built from, where the
// build says it.
func fullVersion() string {
	text, commit, changed := "leakdiff "+version, "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = ", changed since"
			}
		}
	}
	if commit != "" {
		text += " (commit " + commit + changed + ")"
	}
	return text
}

// errVerdictReached ends report with status 1.
var errVerdictReached = errors.New("the --fail-on verdict was reached")

// firstHelp is for who does not know a command yet.
const firstHelp = `leakdiff tells what leaks.

  leakdiff demo                       opens the answer of a sample in the browser
  leakdiff report FILE...             prints what leaks in dumps, listings and archives
  leakdiff open FILE...               opens the answer of files in the browser
  leakdiff pprof URL                  takes dumps of a Go program and prints what leaks
  leakdiff serve                      takes files in the browser and keeps the answers
  leakdiff collect --pid PID          captures a process in rounds
  leakdiff --help                     lists all commands
`

// helpOf names the help of the command whose line was wrong.
func helpOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Selected() != nil {
		return "run " + wrong.Context.Selected().FullPath() + " --help for what it takes"
	}
	return "run leakdiff --help for the commands"
}

// Run executes one command line and returns the exit status.
func (m *Main) Run(ctx context.Context, args []string) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c, kong.Name("leakdiff"),
		kong.Description("Offline analyzer of goroutine dumps, descriptors and inotify watches over time."),
		kong.DefaultEnvars("LEAKDIFF"), kong.Vars{"version": fullVersion()}, kong.Writers(m.Stdout, m.Stderr), kong.UsageOnError(),
		kong.Exit(func(status int) { exit = status }),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fmt.Fprintln(m.Stderr, "leakdiff:", err)
		return exitError
	}
	if len(args) == 0 {
		fmt.Fprint(m.Stdout, firstHelp)
		return exitDone
	}
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	line, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		fmt.Fprintln(m.Stderr, "leakdiff:", err)
		fmt.Fprintln(m.Stderr, helpOf(err))
		if bisects(args) {
			return exitAbort
		}
		return exitError
	}
	err = line.Run(m)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errVerdictReached):
		return exitVerdict
	}
	status := exitError
	var own *statusError
	if errors.As(err, &own) {
		if status, err = own.status, own.err; err == nil {
			return status
		}
	}
	var fault *analysis.Fault
	if errors.As(err, &fault) {
		err = fault
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = wording.Printable(line)
	}
	fmt.Fprintln(m.Stderr, "leakdiff:", strings.Join(lines, "\n"))
	return status
}

// say prints a line that may hold names of processes and files.
func (m *Main) say(text string) { fmt.Fprintln(m.Stderr, "leakdiff:", wording.Printable(text)) }

// collectAt sets GOGC, unless the environment does. Dumps are streamed, so a low figure
// keeps the program small on shared nodes and costs only time of the collector. It suits
// small and large heaps alike.
func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
