package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"leakdiff/cmd/leakdiff/manual"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help stands below the flags in the help of the command.
func (*completionCommand) Help() string {
	return `Examples:
  source <(leakdiff completion bash)
  leakdiff completion zsh > "${fpath[1]}/_leakdiff"
  leakdiff completion fish > ~/.config/fish/completions/leakdiff.fish`
}

func (c *completionCommand) Run(m *Main) error {
	script, err := manual.Script(c.Shell)
	if err == nil {
		_, err = m.Stdout.Write(script)
	}
	return err
}

// completeCommand is what the script of a shell asks.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after the name of the program; the last one is completed."`
}

// Run prints a candidate a line, with its help after a tab, and :files where names of files
// fit.
func (c *completeCommand) Run(m *Main, line *kong.Context) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	found, files := manual.Complete(line.Model.Node, words)
	for _, candidate := range found {
		help, _, _ := strings.Cut(candidate.Help, ". ")
		fmt.Fprintf(m.Stdout, "%s\t%s\n", candidate.Word, strings.TrimSuffix(help, "."))
	}
	if files {
		fmt.Fprintln(m.Stdout, ":files")
	}
	return nil
}

// manualCommand writes docs/leakdiff.1 and docs/cli.md.
type manualCommand struct {
	Form string `arg:"" enum:"man,markdown" help:"man or markdown."`
}

func (c *manualCommand) Run(m *Main, line *kong.Context) error {
	text := manual.Markdown(line.Model.Node)
	if c.Form == "man" {
		text = manual.Man(line.Model.Node, version)
	}
	_, err := fmt.Fprint(m.Stdout, text)
	return err
}
