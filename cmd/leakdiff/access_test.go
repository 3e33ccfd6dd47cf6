package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
	"leakdiff/server/access"
	"leakdiff/store"
)

func TestAnAddressThatOthersReachNeedsADecision(t *testing.T) {
	passwords := filepath.Join(t.TempDir(), "passwords")
	line, err := access.PasswordLine("alice", access.Admin, "correct horse")
	if err != nil || os.WriteFile(passwords, []byte(line), 0o600) != nil {
		t.Fatal(err)
	}
	const here, everywhere = "127.0.0.1:8080", ":8080"
	for name, c := range map[string]struct {
		flags           accessFlags
		listen, baseURL string
		refused, said   string
		secure          bool
	}{
		"this machine":                     {accessFlags{Access: "loopback"}, here, "", "", "", false},
		"others without a decision":        {accessFlags{Access: "loopback"}, everywhere, "", "nobody has decided", "", false},
		"everybody":                        {accessFlags{Access: "open"}, everywhere, "", "", "everybody who reaches", false},
		"passwords on this machine":        {accessFlags{Access: "password", PasswordFile: passwords}, here, "", "", "", false},
		"passwords without a file":         {accessFlags{Access: "password"}, here, "", "--password-file", "", false},
		"passwords in the clear":           {accessFlags{Access: "password", PasswordFile: passwords}, everywhere, "", "unencrypted", "", false},
		"passwords in the clear, accepted": {accessFlags{Access: "password", PasswordFile: passwords, InsecureHTTP: true}, everywhere, "", "", "unencrypted", false},
		"passwords with TLS":               {accessFlags{Access: "password", PasswordFile: passwords, TLSCert: "c", TLSKey: "k"}, everywhere, "", "", "", true},
		"passwords behind https":           {accessFlags{Access: "password", PasswordFile: passwords}, everywhere, "https://leaks.example.org", "", "", true},
		"passwords behind http":            {accessFlags{Access: "password", PasswordFile: passwords}, everywhere, "http://leaks.example.org", "unencrypted", "", false},
		"a certificate without its key":    {accessFlags{Access: "loopback", TLSCert: "c"}, here, "", "TLS needs", "", false},
		"a proxy":                          {accessFlags{Access: "proxy", TrustedProxy: []string{"10.0.0.0/8"}, Role: []string{"a=b=admin"}}, everywhere, "", "", "", false},
		"a proxy of no address":            {accessFlags{Access: "proxy"}, everywhere, "", "--trusted-proxy", "", false},
		"a proxy of a wrong address":       {accessFlags{Access: "proxy", TrustedProxy: []string{"proxy"}}, everywhere, "", "neither an IP address", "", false},
		"a role that is none":              {accessFlags{Access: "proxy", TrustedProxy: []string{"::1"}, Role: []string{"alice=root"}}, everywhere, "", "no such role", "", false},
		"a role without a name":            {accessFlags{Access: "proxy", TrustedProxy: []string{"::1"}, Role: []string{"admin"}}, everywhere, "", "not understood", "", false},
		"a group without its header":       {accessFlags{Access: "proxy", TrustedProxy: []string{"::1"}, Role: []string{"group:sre=admin"}}, everywhere, "", "--groups-header", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			p, err := c.flags.policy(&Main{Stderr: &said}, c.listen, c.baseURL, slog.New(slog.DiscardHandler))
			var f *analysis.Fault
			switch {
			case c.refused == "" && (err != nil || string(p.Mode) != c.flags.Access || p.Secure != c.secure):
				t.Errorf("got %+v, %v", p, err)
			case c.refused != "" && (!errors.As(err, &f) || !strings.Contains(f.Error(), c.refused) || f.Hint == ""):
				t.Errorf("got %v, want %q", err, c.refused)
			}
			if c.said != "" && !strings.Contains(said.String(), c.said) {
				t.Errorf("it says %q, want %q", said.String(), c.said)
			}
		})
	}
}

// command runs one command line and returns what it printed.
func command(stdin string, args ...string) (status int, out, said string) {
	var stdout, stderr bytes.Buffer
	m := &Main{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr}
	status = m.Run(context.Background(), args)
	return status, stdout.String(), stderr.String()
}

func TestTokensAreMadeListedAndRevokedBesideAServer(t *testing.T) {
	dir := t.TempDir()
	if status, _, said := command("", "token", "list", "--data", dir); status != exitError || !strings.Contains(said, "no data directory") {
		t.Errorf("without a server: %d %s", status, said)
	}
	st, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	status, secret, said := command("", "token", "create", "--data", dir, "--name", "ci", "--role", "read", "--expires", "30d")
	if status != exitDone || !strings.HasPrefix(secret, "ld_") || !strings.Contains(said, "expires on "+time.Now().AddDate(0, 0, 30).UTC().Format("2 Jan 2006")) {
		t.Fatalf("creating: %d %s", status, said)
	}
	got, known, err := st.Accounts().Token(t.Context(), strings.TrimSpace(secret))
	if !known || err != nil || got.Role != "read" {
		t.Errorf("the server knows %+v, %v, %v", got, known, err)
	}
	for _, bad := range [][]string{{"--name", "ci"}, {"--name", ""}, {"--name", "x", "--expires", "soon"}, {"--name", "x", "--expires", "0d"}, {"--name", "x", "--role", "root"}, {}} {
		if status, out, _ := command("", append([]string{"token", "create", "--data", dir}, bad...)...); status != exitError || out != "" {
			t.Errorf("%v: %d %q", bad, status, out)
		}
	}
	if status, _, _ := command("", "token", "revoke", "--data", dir, "ci"); status != exitDone {
		t.Errorf("revoking: %d", status)
	}
	if _, out, _ := command("", "token", "list", "--data", dir); !strings.Contains(out, "revoked on") || strings.Contains(out, strings.TrimSpace(secret)[3:]) {
		t.Errorf("listing: %s", out)
	}
	log, err := st.Accounts().AuditLog(t.Context(), store.AuditQuery{Limit: 9})
	if err != nil || len(log) != 2 || log[0].Action != access.RevokeToken || log[1].Subject != "token ci" || !strings.HasPrefix(log[1].Account, "command line") {
		t.Errorf("the audit log is %+v, %v", log, err)
	}
}

func TestAPasswordBecomesALineOfTheFile(t *testing.T) {
	status, out, said := command("correct horse\nnot this\n", "password", "alice", "--role", "admin")
	if status != exitDone || !strings.HasPrefix(out, "alice:admin:$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(out+said, "horse") {
		t.Errorf("%d %s %s", status, out, said)
	}
	if status, out, _ := command("short\n", "password", "alice"); status != exitError || out != "" {
		t.Errorf("a short one: %d %s", status, out)
	}
}

// writeCertificate makes a certificate with a serial number, as files of a time.
func writeCertificate(t *testing.T, cert, key string, serial int64, at time.Time) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	made, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	secret, keyErr := x509.MarshalPKCS8PrivateKey(private)
	err = errors.Join(err, keyErr,
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), 0o600), os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600),
		os.Chtimes(cert, at, at), os.Chtimes(key, at, at))
	if err != nil {
		t.Fatal(err)
	}
}

func TestAChangedCertificateCountsAtOnce(t *testing.T) {
	dir := t.TempDir()
	files := &certificate{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), log: slog.New(slog.DiscardHandler)}
	if _, err := files.read(); err == nil {
		t.Error("no file is a certificate")
	}
	serial := func() int64 {
		made, err := files.current(nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.Leaf.SerialNumber.Int64()
	}
	writeCertificate(t, files.cert, files.key, 1, time.Unix(1, 0))
	first := serial()
	writeCertificate(t, files.cert, files.key, 2, time.Unix(2, 0))
	second := serial()
	os.WriteFile(files.key, []byte("half"), 0o600)
	if third := serial(); first != 1 || second != 2 || third != 2 {
		t.Errorf("the certificates are %d, %d and %d, want 1, 2 and 2", first, second, third)
	}
}
