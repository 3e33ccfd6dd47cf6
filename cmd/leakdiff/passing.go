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

	"github.com/alecthomas/kong"

	"leakdiff/analysis/say/wording"
)

// passingServer is a server over a temporary directory, which ends with its command.
type passingServer struct {
	Open   bool   `help:"Open the answer in the browser of the desktop, if there is one." default:"true" negatable:"" env:"-"`
	Listen string `help:"Address to listen on. Whoever can reach it sees everything." default:"127.0.0.1:0" env:"-"`
}

// during runs answer while the server listens. The server ends with a signal, or with the error of
// answer, and leaves nothing.
func (p *passingServer) during(ctx context.Context, m *Main, flags []string, answer func(context.Context, *Main, remote) error) (err error) {
	// A terminal that is closed ends it as Ctrl-C does.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dir, err := os.MkdirTemp("", "leakdiff-passing-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	serve, err := parsed[serveCommand](append([]string{"--listen=" + p.Listen, "--data=" + dir}, flags...)...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answering sync.WaitGroup
	var failed error
	server := &Main{Stdout: io.Discard, Stderr: m.Stderr, Ready: func(address string) {
		answering.Go(func() {
			if failed = answer(ctx, m, remote{address: "http://" + address}); failed != nil {
				failed = errors.Join(ctx.Err(), failed)
				cancel()
			}
		})
	}}
	err = serve.Run(ctx, server)
	cancel()
	answering.Wait()
	if errors.Is(failed, context.Canceled) {
		failed = nil // it was ended before the answer was there
	}
	return errors.Join(err, failed)
}

// parsed is a command with the flags given and the defaults of the others. Settings of the environment
// are for commands of their own.
func parsed[Command any](flags ...string) (*Command, error) {
	var c Command
	parser, err := kong.New(&c)
	if err != nil {
		return nil, err
	}
	_, err = parser.Parse(flags)
	return &c, err
}

// show prints the sentence and the link of a case, and opens it.
func (p *passingServer) show(ctx context.Context, m *Main, server remote, link, what string) error {
	var read struct{ Diagnosis struct{ Sentence string } }
	if err := server.call(ctx, http.MethodGet, link+".json", nil, &read); err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "%s\n\n%s\n\nCtrl-C ends %s and removes what it stored.\n", wording.Printable(read.Diagnosis.Sentence), server.address+link, what)
	if p.Open {
		browse(server.address + link)
	}
	return nil
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
