package main

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretCapture writes captures in three rounds in which secrets stand everywhere. It returns the part of
// each that may not be found, by the text that holds it.
func secretCapture(t *testing.T) (dir string, secrets map[string]string) {
	t.Helper()
	secrets = map[string]string{
		"ghp_q7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9MnP1r": "ghp_q7z", "Wolpertinger Bank": "wolpertinger", "/srv/qoppabank/ledgerqz.db": "qoppabank", "kappa-db-3.qoppa.internal": "kappa-db-3",
		"zulaa.berg@qoppa.example": "zulaa", "203.0.113.91": "203.0.113.91", "2001:db8:77::9a": "db8:77", "postgres://qz:zulupass2@kappahost/x": "zulupass2", "--password zulupass4": "zulupass4",
		"customer=nachtfalke": "nachtfalke", "tenant 418726354092": "418726354092", "4b825dc6-42cb-4eb9-a060-e54bf8d69288": "4b825dc6", "zulu!q$s6": "zulu!q",
		"/usr/lib/x.jar:/srv/zorblebank/y.jar": "zorblebank", "李明": "李明",
	}
	type peer struct{ family, address string }
	peers := map[string]peer{"kappa-db-3.qoppa.internal": {"IPv4", "kappa-db-3.qoppa.internal"}, "203.0.113.91": {"IPv4", "203.0.113.91"}, "2001:db8:77::9a": {"IPv6", "[2001:db8:77::9a]"}}
	root := t.TempDir()
	dir = filepath.Join(root, "qoppaclient-capture")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		at := fmt.Sprintf("t%d/", round)
		write(at+"hostname", "kappahost7\n")
		write(at+"captured_at", fmt.Sprintf("2026-07-01T0%d:00:00Z\n", round))
		var dump, threads, files strings.Builder
		fmt.Fprintf(&threads, "2026-07-01 0%d:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n", round)
		files.WriteString("COMMAND   PID USER   FD   TYPE DEVICE SIZE/OFF    NODE NAME\n")
		dump.WriteString("panic: lost Wolpertinger Bank\n\n")
		n := 0
		for text := range secrets {
			for range 2*round + 1 {
				n++
				fmt.Fprintf(&dump, "goroutine %d [select, %d minutes, labels:{\"job\":%q}]:\nmain.(*basket).wait(0xc000010000)\n\t/build/%s/basket.go:20 +0x1d\ncreated by main.serve in goroutine 1\n\t/opt/app/main.go:9 +0x1d\n\n", n, 300-round, text, strings.ReplaceAll(text, " ", "-"))
				fmt.Fprintf(&threads, "\"%s-%d\" #%d daemon prio=5 os_prio=0 cpu=1.0ms elapsed=10.0s tid=0x00007f%08x nid=0x%x waiting on condition  [0x00007f1100000001]\n   java.lang.Thread.State: WAITING (parking)\n\tat java.lang.Thread.run(java.base@17/Thread.java:840)\n\n", text, n, n, n, n)
				fmt.Fprintf(&files, "shopd    4711 zulaa %4du  REG  254,1     4096 %7d /srv/data/%s\n", n+2, 9000+n, text)
				if peer, ok := peers[text]; ok {
					fmt.Fprintf(&files, "shopd    4711 zulaa %4du  %s  %d  0t0 TCP 10.0.0.5:%d->%s:5432 (ESTABLISHED)\n", 5000+n, peer.family, 90000+n, 30000+n, peer.address)
				}
			}
		}
		write(at+"goroutines.txt", dump.String())
		write(at+"java/jstack.txt", threads.String())
		write(at+"lsof.txt", files.String())
	}
	secrets["the host"], secrets["the directory"], secrets["the user"], secrets["the program"] = "kappahost7", "qoppaclient", "zulaa", "shopd"
	return dir, secrets
}

func TestAReportIsRedactedInEveryFormat(t *testing.T) {
	dir, secrets := secretCapture(t)
	forms := func(text string) string {
		plain := html.UnescapeString(text)
		var unescaped string
		if json.Unmarshal([]byte(`"`+strings.ReplaceAll(text, `"`, `\"`)+`"`), &unescaped) != nil {
			unescaped = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\u0026`, `&`, `\_`, `_`, `\-`, `-`).Replace(text)
		}
		return strings.ToLower(text + plain + unescaped)
	}
	seen := map[string]bool{}
	for _, format := range []string{"text", "md", "json", "html", "csv", "jira", "ticket", "ticket-jira"} {
		open, hidden := execute(t, nil, "report", "--verbose", "--format", format, dir), execute(t, nil, "report", "--verbose", "--redact", "--format", format, dir)
		if hidden.status != 0 || !strings.Contains(hidden.stderr, "redacted: ") {
			t.Fatalf("%s: exit status %d, %s", format, hidden.status, hidden.stderr)
		}
		for what, needle := range secrets {
			if strings.Contains(forms(open.stdout), needle) {
				seen[what] = true
			}
			for where, text := range map[string]string{"the report": hidden.stdout, "the receipt": hidden.stderr} {
				if at := strings.Index(forms(text), needle); at >= 0 {
					t.Errorf("%s as %s has %s: …%s…", where, format, what, forms(text)[max(0, at-60):min(len(forms(text)), at+60)])
				}
			}
		}
		if !strings.Contains(hidden.stdout, "basket") {
			t.Errorf("%s does not name the function any more", format)
		}
	}
	// Keys have UUIDs and long numbers replaced, whatever holds them.
	seen["4b825dc6-42cb-4eb9-a060-e54bf8d69288"], seen["tenant 418726354092"] = true, true
	for what := range secrets {
		if !seen[what] {
			t.Errorf("%s is in no open report: that it is in no redacted one proves nothing", what)
		}
	}
}
