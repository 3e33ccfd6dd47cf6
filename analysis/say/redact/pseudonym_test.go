package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARealTextThatLooksLikeAPseudonymIsReplaced(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a user", "worker of user-84920192", "worker of name-1"},
		{"an id", "tenant id-4929384756102938 waits", "tenant user-1 waits"},
		{"a token", "token-99817263544 is old", "name-1 is old"},
		{"a name", "name-1234567", "host-1"},
		{"a pod in a pair", "pod=pod-7712345678", "pod=pod-1"},
		{"a mail address", "user-84920192@qoppa.example", "user-1"},
		{"an argument", "--tenant=arg-99817263", "--tenant=host-1"},
		{"another argument", "--seat=arg-99817263", "--seat=arg-1"},
		{"a home directory", "/home/user-84920192/x", "/home/user-1/x"},
		{"one that would be issued next", "user=user-1", "user=user-2"},
		{"one that would be issued to another", "user=user-2 user=user-1 user=bob", "user=user-3 user=user-4 user=user-5"},
		{"a small number, as that of a pool", "host-3 and path-12", "host-3 and path-12"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRedactor()
			r.LearnSaid(tc.in)
			got := r.Text(tc.in)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if again := r.Text(tc.in); again != got {
				t.Errorf("the same text became %q, then %q", got, again)
			}
		})
	}
}

func TestARedactedTextStaysWhenItIsRedactedAgain(t *testing.T) {
	for _, s := range []string{
		"token=abcdef --password hunter2 https://bob:pw12@kappahost/x user=alice a@b.example --seat=zulu",
		"/home/carol/x of 10.1.2.3 and Wolpertinger, 0xc000123456 418726354092",
		"user=user-2 user=bob user-84920192",
	} {
		r := newRedactor()
		r.LearnSaid(s)
		once := r.Text(s)
		r.LearnSaid(once)
		if again := r.Text(once); again != once {
			t.Errorf("%q became %q", once, again)
		}
	}
}
