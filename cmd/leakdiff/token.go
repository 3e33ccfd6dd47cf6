package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/server/access"
	"leakdiff/store"
)

type tokenCommand struct {
	Create tokenCreate `cmd:"" help:"Make a token and print it: it is shown only now."`
	List   tokenList   `cmd:"" help:"List the tokens."`
	Revoke tokenRevoke `cmd:"" help:"End a token at once."`
}

// Help stands below the flags in the help of the command.
func (*tokenCommand) Help() string {
	return `A script sends it as Authorization: Bearer; leakdiff push takes it as LEAKDIFF_TOKEN. The server may run meanwhile.

Examples:
  leakdiff token create --data /var/lib/leakdiff --name ci --role upload --expires 90d
  leakdiff token revoke --data /var/lib/leakdiff ci`
}

type tokenData struct {
	Data     string `help:"Data directory of the server." default:"leakdiff-data" type:"path"`
	Database string `help:"PostgreSQL database of a server that has one in place of a file." placeholder:"URL"`
}

type tokenCreate struct {
	tokenData
	Name    string `required:"" env:"-" help:"Name of the token, for example that of the job that uses it."`
	Role    string `env:"-" help:"What it may do: read, upload or admin." enum:"read,upload,admin" default:"upload"`
	Expires string `env:"-" help:"Time until it ends, in days such as 90d, or never." default:"90d"`
}

type tokenList struct{ tokenData }

type tokenRevoke struct {
	tokenData
	Name string `arg:"" help:"Name of the token."`
}

// longestTokenName is in bytes.
const longestTokenName = 60

func (c *tokenCreate) Run(ctx context.Context, m *Main) (err error) {
	if c.Name == "" || len(c.Name) > longestTokenName || wording.Printable(c.Name) != c.Name {
		return &analysis.Fault{Code: "invalid", What: "the name of the token is not valid", Where: wording.Printable(c.Name), Why: fmt.Sprintf("it is empty, has more than %d bytes, or characters that cannot be printed", longestTokenName), Hint: "use a short name such as ci"}
	}
	var expires time.Time
	if c.Expires != "never" {
		days, err := strconv.Atoi(strings.TrimSuffix(c.Expires, "d"))
		if err != nil || days < 1 || days > 3660 || !strings.HasSuffix(c.Expires, "d") {
			return &analysis.Fault{Code: "invalid", What: "the time was not understood", Where: wording.Printable(c.Expires), Why: "it is no number of days from 1d to 3660d", Hint: "write --expires 90d, or never"}
		}
		expires = time.Now().AddDate(0, 0, days)
	}
	return c.with(ctx, func(a *store.Accounts) error {
		secret, err := a.AddToken(ctx, c.Name, c.Role, expires)
		if err != nil {
			return err
		}
		if err := audited(ctx, a, access.MakeToken, c.Name); err != nil {
			return err
		}
		until := "it does not expire"
		if !expires.IsZero() {
			until = "it expires on " + wording.Day(expires)
		}
		fmt.Fprintf(m.Stderr, "token %s with the role %s, shown only now; %s\n", c.Name, c.Role, until)
		fmt.Fprintln(m.Stdout, secret)
		return nil
	})
}

func (c *tokenList) Run(ctx context.Context, m *Main) error {
	return c.with(ctx, func(a *store.Accounts) error {
		all, err := a.Tokens(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "NAME\tROLE\tMADE\tSTATE")
		for _, t := range all {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.Name, t.Role, wording.Day(t.Created), wording.TokenState(t.Expires, t.Revoked, time.Now()))
		}
		return table.Flush()
	})
}

func (c *tokenRevoke) Run(ctx context.Context, m *Main) error {
	return c.with(ctx, func(a *store.Accounts) error {
		if err := a.RevokeToken(ctx, c.Name); err != nil {
			return err
		}
		fmt.Fprintf(m.Stderr, "token %s is revoked\n", c.Name)
		return audited(ctx, a, access.RevokeToken, c.Name)
	})
}

// with opens the tokens of the data directory.
func (c tokenData) accounts(ctx context.Context) (*store.Accounts, error) {
	if c.Database != "" {
		return store.OpenAccountsOf(ctx, c.Database)
	}
	return store.OpenAccounts(ctx, c.Data)
}

func (c tokenData) with(ctx context.Context, f func(*store.Accounts) error) error {
	a, err := c.accounts(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(a), a.Close())
}

// audited records what the command line did.
func audited(ctx context.Context, a *store.Accounts, action, token string) error {
	who := "command line"
	if u, err := user.Current(); err == nil {
		who += ", " + u.Username
	}
	return a.Audit(ctx, store.AuditEntry{Account: who, Action: action, Subject: "token " + token, Status: 200, Sender: "this machine"})
}

type passwordCommand struct {
	User string `arg:"" help:"Name of the account."`
	Role string `env:"-" help:"What it may do: read, upload or admin." enum:"read,upload,admin" default:"upload"`
}

// Help stands below the flags in the help of the command.
func (*passwordCommand) Help() string {
	return `Asks for the password, or reads its first line from standard input, and prints a line for the file of serve --password-file.

Example:
  leakdiff password alice --role admin >> passwords`
}

func (c *passwordCommand) Run(m *Main) error {
	password, err := m.password()
	if err != nil {
		return err
	}
	role, _ := access.RoleNamed(c.Role)
	line, err := access.PasswordLine(c.User, role, password)
	if err == nil {
		fmt.Fprintln(m.Stdout, line)
	}
	return err
}

// password asks twice on a terminal. Otherwise it reads one line.
func (m *Main) password() (string, error) {
	file, ok := m.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(m.Stdin, 4096)).ReadString('\n')
		if err != nil && err != io.EOF {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for i, ask := range []string{"password: ", "again: "} {
		fmt.Fprint(m.Stderr, ask)
		text, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(m.Stderr)
		if err != nil {
			return "", err
		}
		typed[i] = string(text)
	}
	if typed[0] != typed[1] {
		return "", &analysis.Fault{Code: "invalid", What: "the two passwords differ", Hint: "try again"}
	}
	return typed[0], nil
}
