package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// demoTitle is that of the sample that is opened: two processes, of which one holds the other.
const demoTitle = "kubelet behind a stuck runtime"

type demoCommand struct {
	Open bool `help:"Open the answer in the browser of the desktop, if there is one." default:"true" negatable:"" env:"-"`
}

// Help stands below the flags in the help of the command.
func (*demoCommand) Help() string {
	return `Starts a server for this machine alone, on a free port and over a temporary directory, and prints the link of a sample's answer. Ctrl-C ends it and removes the directory.`
}

func (c *demoCommand) Run(ctx context.Context, m *Main) (err error) {
	// A terminal that is closed ends the demo as Ctrl-C does.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dir, err := os.MkdirTemp("", "leakdiff-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	serve, err := demoServer(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answering sync.WaitGroup
	var failed error
	server := &Main{Stdout: io.Discard, Stderr: m.Stderr, Ready: func(address string) {
		answering.Go(func() {
			if failed = c.answer(ctx, m, "http://"+address); failed != nil {
				cancel()
			}
		})
	}}
	err = serve.Run(ctx, server)
	cancel()
	answering.Wait()
	if errors.Is(failed, context.Canceled) {
		failed = nil // it was ended before the sample was read
	}
	return errors.Join(err, failed)
}

// demoServer is serve with its defaults. Settings of the environment are for other servers.
func demoServer(dir string) (*serveCommand, error) {
	var c serveCommand
	parser, err := kong.New(&c)
	if err != nil {
		return nil, err
	}
	_, err = parser.Parse([]string{"--listen=127.0.0.1:0", "--data=" + dir})
	return &c, err
}

// answer waits until the sample is read, prints its link and opens it.
func (c *demoCommand) answer(ctx context.Context, m *Main, address string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var list struct {
			Cases []struct {
				Title, Link string
				Snapshots   int
			}
		}
		if err := (remote{address: address}).call(ctx, http.MethodGet, "/api/v1/cases", nil, &list); err != nil {
			return errors.Join(ctx.Err(), err)
		}
		for _, found := range list.Cases {
			// The snapshots of a bundle become visible together, when it is read.
			if found.Title != demoTitle || found.Snapshots == 0 {
				continue
			}
			var read struct{ Diagnosis struct{ Sentence string } }
			if err := (remote{address: address}).call(ctx, http.MethodGet, found.Link+".json", nil, &read); err != nil {
				return errors.Join(ctx.Err(), err)
			}
			fmt.Fprintf(m.Stdout, "%s\n\n%s\n\nCtrl-C ends the demo and removes what it stored.\n", wording.Printable(read.Diagnosis.Sentence), address+found.Link)
			if c.Open {
				browse(address + found.Link)
			}
			return nil
		}
		if len(list.Cases) == 0 {
			return &analysis.Fault{Code: "internal", What: "the server has no samples", Where: address, Why: "they come with the program", Hint: "report this as a bug"}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// browse opens a link where a desktop is. The link was printed, so that nothing is lost where
// that fails.
func browse(link string) {
	opener := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		opener = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	command := exec.Command(opener, link)
	if command.Start() == nil {
		go command.Wait()
	}
}
