package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// password is that of every account of the tests.
const password = "correct horse"

// passwordFile makes the accounts alice, who is admin, and rita, who reads.
func passwordFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "passwords")
	var lines []byte
	for _, who := range [][]string{{"alice", "admin"}, {"rita", "read"}} {
		make := exec.Command(os.Getenv(binaryVariable), "password", who[0], "--role", who[1])
		make.Stdin = strings.NewReader(password + "\n")
		line, err := make.Output()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line...)
	}
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// signIn fills in the login page that the tab shows.
func (tb *tab) signIn(t *testing.T, name string) {
	t.Helper()
	tb.do(t, chromedp.SetValue(chromedp.CSS("#user"), name), chromedp.SetValue(chromedp.CSS("#password"), password))
	tb.follow(t, chromedp.Click(`//button[normalize-space()="Sign in"]`, chromedp.NodeVisible))
}

func TestPeopleSignInAndOutWithoutScripts(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t, "--access", "password", "--password-file", passwordFile(t)))
	tb.do(t, withoutScripts)
	tb.open(t, "/search?q=main")
	if at := tb.path(t); at != "/login?next=%2Fsearch%3Fq%3Dmain" {
		t.Fatalf("nobody lands at %s", at)
	}
	tb.signIn(t, "rita")
	if at := tb.path(t); at != "/search?q=main" {
		t.Errorf("signing in leads to %s", at)
	}
	step(t, "who may only read is offered nothing else", func(t *testing.T) {
		tb.open(t, "/")
		for _, form := range []string{`form[method="post"]:not([action="/logout"])`, "#upload"} {
			if ask[bool](t, tb, "!!document.querySelector("+quoted(form)+")") {
				t.Errorf("the start page has %s", form)
			}
		}
		tb.follow(t, chromedp.Click(chromedp.CSS("#cases tbody a")))
		if ask[bool](t, tb, `[...document.querySelectorAll('form[method="post"]')].some(f => !f.action.endsWith('/logout')) || document.body.innerText.includes('Share…')`) {
			t.Error("the page of a case offers a change")
		}
	})
	step(t, "they sign out", func(t *testing.T) {
		tb.do(t, chromedp.Click(chromedp.CSS(".who > summary")))
		tb.follow(t, chromedp.Click(`//button[normalize-space()="Sign out"]`, chromedp.NodeVisible))
		tb.open(t, "/")
		if at := tb.path(t); at != "/login" {
			t.Errorf("after signing out the start page is %s", at)
		}
	})
}

func quoted(s string) string { return "`" + s + "`" }

func TestPagesOfAccountsFollowTheRulesAndFit(t *testing.T) {
	t.Parallel()
	script := axe(t)
	tb := openTab(t, startProgram(t, "--access", "password", "--password-file", passwordFile(t)))
	fits := func(name, path string) {
		t.Run(name, func(t *testing.T) {
			followsTheRules(t, tb, path, script)
			looksGood(t, tb, sight{name, path})
		})
	}
	fits("login", "/login")
	tb.open(t, "/login")
	tb.signIn(t, "alice")
	fits("server", "/server")
	fits("home-signed-in", "/")
}
