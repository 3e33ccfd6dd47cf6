// Package cluster is for tests alone: it starts a real PostgreSQL server with an empty
// directory and creates databases on it.
package cluster

import (
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"leakdiff/samples/corpus"
)

// Cluster is a PostgreSQL server that trusts everybody on a port of this machine.
type Cluster struct {
	// Address is that of its first database, postgres://….
	Address string

	dir, bin, port string
	as             *syscall.SysProcAttr
	server         *exec.Cmd
	made           int
}

// Start starts a server until the test ends. It leaves the test out where PostgreSQL is not
// installed, unless CI is true.
func Start(t testing.TB) *Cluster {
	t.Helper()
	bin := programs()
	if bin == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("PostgreSQL is not installed and CI=true")
		}
		corpus.LeaveOut(t, "PostgreSQL is not installed (Debian: postgresql)")
	}
	dir, err := os.MkdirTemp("", "leakdiff-cluster")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{dir: dir, bin: bin, port: freePort(t)}
	t.Cleanup(func() {
		c.Stop(t)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	c.withoutRoot(t)
	c.run(t, "initdb", "--pgdata", c.data(), "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
	c.Address = fmt.Sprintf("postgres://postgres@127.0.0.1:%s/postgres?sslmode=disable", c.port)
	c.Run(t)
	return c
}

// programs is the directory of the newest server, "" without one.
func programs() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// withoutRoot runs the server as the user of the package, because it refuses to be root.
func (c *Cluster) withoutRoot(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	c.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := os.Chown(c.dir, uid, gid); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.SysProcAttr, cmd.Dir = c.as, c.dir
	return cmd
}

func (c *Cluster) run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := c.command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Run starts the server, also again after Stop, and waits until it answers.
func (c *Cluster) Run(t testing.TB) {
	t.Helper()
	c.server = c.command("postgres", "-D", c.data(), "-p", c.port, "-k", c.dir, "-h", "127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200")
	var said strings.Builder
	c.server.Stdout, c.server.Stderr = &said, &said
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	db := open(t, c.Address)
	defer db.Close()
	for end := time.Now().Add(time.Minute); db.Ping() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("PostgreSQL does not answer: %v", db.Ping())
		}
	}
}

// Stop ends the server and its connections.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	if c.server == nil {
		return
	}
	if err := c.server.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	_ = c.server.Wait()
	c.server = nil
}

// Database creates an empty database and returns its address.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	c.made++
	name := fmt.Sprint("made", c.made)
	return Create(t, c.Address, name)
}

// Create creates an empty database on a server and drops it when the test ends.
func Create(t testing.TB, server, name string) string {
	t.Helper()
	db := open(t, server)
	defer db.Close()
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db := open(t, server)
		defer db.Close()
		if _, err := db.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	return address.String()
}

func open(t testing.TB, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
