package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/cmd/leakdiff/capture"
	"leakdiff/server"
)

type readyCommand struct {
	Server  string        `required:"" help:"Address of the server, http://HOST:PORT, with its path where it has one."`
	Timeout time.Duration `default:"5s" help:"The most that the server may take to answer."`
}

// Help stands below the flags in the help of the command.
func (*readyCommand) Help() string {
	return `It is the health check of a container, which has neither a shell nor curl. Exit
status: 0 the server takes uploads, 2 it does not, or does not answer.

Examples:
  leakdiff ready --server http://127.0.0.1:8080`
}

// Run asks /readyz, whose answer says why also with status 503.
func (c *readyCommand) Run(ctx context.Context, m *Main) error {
	address, err := serverAddress(c.Server)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return &analysis.Fault{Code: "unreachable", What: "the server does not answer", Where: capture.Shown(address), Why: reason(err), Hint: "check the address, and that leakdiff serve runs there", Err: err}
	}
	defer res.Body.Close()
	var answer server.Readiness
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Status == "" {
		return &analysis.Fault{Code: "unreachable", What: "this is not a leakdiff server", Where: capture.Shown(address), Why: "the answer of /readyz has status " + res.Status, Hint: "check the address, with the path of a proxy"}
	}
	var why []string
	for _, check := range answer.Checks {
		if !check.OK {
			why = append(why, check.Name+": "+wording.Printable(check.Why))
		}
	}
	if res.StatusCode != http.StatusOK {
		return &analysis.Fault{Code: "not_ready", What: "the server takes no uploads", Where: capture.Shown(address), Why: strings.Join(why, "; "), Hint: "wait, or mend what it names"}
	}
	fmt.Fprintln(m.Stdout, strings.Join(append([]string{wording.Printable(answer.Status)}, why...), "\n"))
	return nil
}
