package main

import (
	"context"
	"net/http"
	"time"

	"leakdiff/analysis"
)

// demoTitle is that of the sample that is opened: two processes, of which one holds the other.
const demoTitle = "kubelet behind a stuck runtime"

type demoCommand struct {
	passingServer
}

// Help stands below the flags in the help of the command.
func (*demoCommand) Help() string {
	return `Starts a server over a temporary directory, for this machine alone unless --listen says else, and prints the link of a sample's answer. Ctrl-C ends it and removes the directory.`
}

func (c *demoCommand) Run(ctx context.Context, m *Main) error {
	return c.during(ctx, m, nil, c.answer)
}

// answer waits until the sample is read, and shows its answer.
func (c *demoCommand) answer(ctx context.Context, m *Main, server remote) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var list struct {
			Cases []struct {
				Title, Link string
				Snapshots   int
			}
		}
		if err := server.call(ctx, http.MethodGet, "/api/v1/cases", nil, &list); err != nil {
			return err
		}
		for _, found := range list.Cases {
			// The snapshots of a bundle become visible together, when it is read.
			if found.Title == demoTitle && found.Snapshots > 0 {
				return c.show(ctx, m, server, found.Link, "the demo")
			}
		}
		if len(list.Cases) == 0 {
			return &analysis.Fault{Code: "internal", What: "the server has no samples", Where: server.address, Why: "they come with the program", Hint: "report this as a bug"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

type openCommand struct {
	Paths []string `arg:"" name:"path" help:"Files, directories and archives; - reads standard input."`
	passingServer
}

// Help stands below the flags in the help of the command.
func (*openCommand) Help() string {
	return `Reads files as one case on a server over a temporary directory, for this machine alone unless --listen says else, prints the link of the answer and opens it in the browser. Ctrl-C ends it and removes the directory: nothing is kept.

Example:
  leakdiff open captures/`
}

func (c *openCommand) Run(ctx context.Context, m *Main) error {
	inputs, err := inputsOf(m, c.Paths) // what cannot be read is said before a server starts
	if err != nil {
		return err
	}
	return c.during(ctx, m, []string{"--no-samples"}, func(ctx context.Context, m *Main, server remote) error {
		push := pushCommand{Server: server.address, Paths: c.Paths}
		up, err := push.upload(ctx, inputs)
		if err == nil {
			up, err = push.settled(ctx, up)
		}
		if err != nil {
			return err
		}
		if len(up.Snapshots) == 0 && push.inventory(ctx, up.ID).empty() {
			return nothingRead("no dump was found", "`leakdiff report` of the same files says what each is")
		}
		return c.show(ctx, m, server, up.Link, "it")
	})
}
