package cluster

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"leakdiff/samples/corpus"
)

// poolerSettings are those of docs/operation.md: a connection to the server is lent for one
// transaction, so that no statement is prepared and no setting of a session is kept. A server
// that is paused in a transaction would hold its locks for ever without a timeout here.
const poolerSettings = `[databases]
* = host=127.0.0.1 port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 4
ignore_startup_parameters = idle_in_transaction_session_timeout
idle_transaction_timeout = 10
server_login_retry = 1
`

// Pooled starts pgbouncer before the server until the test ends, and returns the address of the
// first database behind it. It leaves the test out where pgbouncer is not installed, unless
// CI is true.
func (c *Cluster) Pooled(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("pgbouncer is not installed and CI=true")
		}
		corpus.LeaveOut(t, "pgbouncer is not installed (Debian: pgbouncer)")
	}
	port, users, settings := freePort(t), filepath.Join(c.dir, "users"), filepath.Join(c.dir, "pgbouncer.ini")
	for path, text := range map[string]string{users: `"postgres" ""`, settings: fmt.Sprintf(poolerSettings, c.port, port, users)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pooler := exec.Command(program, "--quiet", settings)
	pooler.SysProcAttr, pooler.Dir = c.as, c.dir
	if err := pooler.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pooler.Process.Kill()
		_ = pooler.Wait()
	})
	address, err := url.Parse(c.Address)
	if err != nil {
		t.Fatal(err)
	}
	address.Host = "127.0.0.1:" + port
	query := address.Query()
	query.Set("default_query_exec_mode", "exec")
	address.RawQuery = query.Encode()
	db := open(t, address.String())
	defer db.Close()
	for end := time.Now().Add(time.Minute); db.Ping() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("pgbouncer does not answer: %v", db.Ping())
		}
	}
	return address.String()
}
