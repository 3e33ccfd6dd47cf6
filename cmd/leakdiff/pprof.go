package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

type pprofCommand struct {
	URL    string        `arg:"" name:"url" help:"Where the process serves /debug/pprof: a URL, host:port, or unix:/path."`
	Every  time.Duration `help:"Time between two dumps." default:"10s"`
	Count  int           `help:"Number of dumps." default:"4"`
	Output string        `short:"o" help:"Keep the dumps in this archive." placeholder:"FILE"`

	HeaderFile string `help:"File with header lines for the address (Authorization: Bearer ...), or with a bare token."`
	CAFile     string `name:"ca-file" help:"Certificates that the address is checked against."`
	Insecure   bool   `help:"Take any certificate, as a kubelet's own one."`
}

// Help stands below the flags in the help of the command.
func (*pprofCommand) Help() string {
	return `Takes goroutine dumps of a Go program, and prints what leaks as report does. Nothing is kept without -o.
More dumps over a longer time tell more: growth that ends by itself takes longer than a minute.

Examples:
  leakdiff pprof http://127.0.0.1:6060
  leakdiff pprof --every 1m --count 10 -o dumps.tar.gz 127.0.0.1:6060`
}

func (c *pprofCommand) Run(ctx context.Context, m *Main) error {
	if c.Count < 2 {
		return badCollect("--count must be at least 2: one dump shows no growth", "leakdiff pprof "+c.URL)
	}
	archive := c.Output
	if archive == "" {
		dir, err := os.MkdirTemp("", "leakdiff-pprof-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		archive = filepath.Join(dir, "pprof.tar.gz")
	}
	collect, err := parsed[collectCommand]("--pprof="+c.URL, "--every="+c.Every.String(), "--count="+strconv.Itoa(c.Count), "--output="+archive)
	if err != nil {
		return err
	}
	collect.HeaderFile, collect.CAFile, collect.Insecure = c.HeaderFile, c.CAFile, c.Insecure
	collect.passing = c.Output == ""
	m.say(fmt.Sprintf("taking %d dumps in %s", c.Count, c.Every*time.Duration(c.Count-1)))
	if err := collect.Run(ctx, m); err != nil {
		return err
	}
	return reported(ctx, m, archive)
}

// reported prints the report of an archive.
func reported(ctx context.Context, m *Main, archive string) error {
	answer, err := parsed[reportCommand](archive)
	if err != nil {
		return err
	}
	return answer.Run(ctx, m)
}
