package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAValueOfShortPartsIsHidden(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a card with blanks", "card 4111 1111 1111 1111 now", "card name-1 now"},
		{"a card with dashes", "card 4111-1111-1111-1111", "card name-1"},
		{"a social security number", "of 078-05-1120", "of name-1"},
		{"a code", "code 739 204", "code name-1"},
		{"the sort code of a bank", "sort 20-44-17", "sort name-1"},
		{"a telephone with slashes", "call 0171 / 234 56 78 now", "call name-1 now"},
		{"a day of birth", "born 12.03.1984", "born name-1"},
		{"a day of birth as machines write it", "born 1984-03-12", "born name-1"},
		{"a day of birth with slashes", "born 12/03/1984", "born name-1"},
		{"an amount with points", "of 1.234.567,89", "of name-1"},
		{"a telephone with points", "call 0171.234.56.78", "call name-1"},
		{"a number in a pair of signs", "(4111 1111 1111 1111)", "(name-1)"},
		{"in quotes", `"739 204"`, `"name-1"`},
		{"a code in a name of a thread", "worker-739-204", "worker-name-1"},
		{"a place in a pair", "pos=52.520008,13.404954", "pos=name-1"},
		{"a place to the south", "at -33.868820,151.209290", "at -name-1"},
		{"a place", "at 52.520008,13.404954", "at name-1"},
		{"half a place", "at 52.520008", "at name-1"},
		{"an address with zeros", "to 010.020.030.040", "to name-1"},
		{"an account number with blanks", "to DE89 3704 0044 0532 0130 00 now", "to name-1 now"},
		{"one of a bank with letters", "to GB29 NWBK 6016 1331 9268 19", "to name-1"},
		{"groups behind letters", "id ab4111 1111 1111", "id name-1"},
		{"groups behind a date", "2026-11-21 4111 1111", "2026-11-21 name-1"},
		{"a sort code behind a date", "2026-11-21 20-44-17", "2026-11-21 name-1"},
		{"groups that a date touches", "2026-11-21-4111-1111", "2026-11-21-name-1"},
		{"groups that a time touches", "12:30:4111 1111", "12:30:name-1"},
		{"groups before a unit", "4111 1111 1111 1111 s", "name-1 1111 s"},
		{"a short name and password", "login li pw x9", "login name-1 pw name-2"},
		{"a short name between others", "li-pool", "name-1"},
		{"a short name in a name written together", "LiPool", "name-1"},
		{"a name of two signs", "worker of 李明", "worker of name-1"},
		{"a name of one sign", "worker of 李", "worker of name-1"},
		{"a name with marks that combine", "राहुल शर्मा", "name-1 name-2"},
		{"a name of two signs of Korea", "이순", "name-1"},
		{"short names of one person", "xu wu", "name-1 name-2"},
		{"a password with one digit", "pw q7", "pw name-1"},
		{"letters before a number", "pin zq4711", "pin name-1"},
		{"letters behind a number", "pin 4711zq", "pin name-1"},
		{"a letter beyond ASCII", "of é", "of name-1"},
		{"a name of Thailand", "สมชาย", "name-1"},
		{"a name with a sign that joins", "علی\u200cرضا", "name-1"},
		{"a letter with a mark of its own", "Jose\u0301", "name-1"},
		{"a name with an invisible blank", "of glo\u200brpbank now", "of name-1 now"},
		{"one that is shown escaped", `of glo\xe2\x80\x8brpbank now`, "of name-1 now"},
		{"a known word with an invisible blank", "worker\u200bli", "name-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRedactor()
			r.allow(free, tc.in)
			if d := cmp.Diff(tc.want, r.Text(tc.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAValueOfShortPartsIsHiddenInAListing(t *testing.T) {
	const row = "12u /srv/data/4111 1111 1111 1111 of pipe:[1234567]"
	r := newRedactor()
	r.allow(listings, row)
	if got, want := r.Text(row), "12u /srv/data/name-1 of pipe:[1234567]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheRestOfAValueThatWasCutIsHidden(t *testing.T) {
	for in, want := range map[string]string{
		"card 4111 1111 11…": "card name-1…", "…1 1111 1111 now": "…name-1 now", "took 10 20…": "took 10 20…", "since 2026-11-21…": "since 2026-11-21…",
	} {
		r := newRedactor()
		r.allow(free, "card 4111 1111 1111 1111")
		if got := r.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestFiguresOfNormalEvidenceStay(t *testing.T) {
	for _, s := range []string{
		"pool-7-thread-12", "http-nio-8080-exec-3", "GC Thread#3", "t0", "C2 CompilerThread0", "C1 CompilerThread12", "GC Thread#12", "G1 Conc#0", "VM Thread", "http2 v2 h2 c10 s3 k8s",
		"at 12:34:56, 12:34:56.123456", "2026-11-21", "2026-11-21T03:04:05Z", "2026-11-21T03-04-05Z", "2026-11-21 03:04:05.123", "2026/07/01 03:00:02 log",
		"17.0.15+6", "v1.2.3", "v1.34.456", "go1.26.1", "6.8.0-1021-aws", "5.15.0-112-generic", "2.17.290", "OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode)",
		"500ms, 3.5s, 86400.125s, 12345.678ms, 10u, 4096k", "1024.25 MB, 123.4567 KiB", "12\u202f345\u202f678 of 1\u00a0234\u00a0567", "0x1d 0xfefe", "127.0.0.1:8080", "3 of 12, 4/5, 10 µs, 5µs",
		"Executor #0", "goroutine 12345 [select, 300 minutes]", "x86_64", "12u REG 254,1", "main.go:20 +0x1d",
	} {
		r := newRedactor()
		r.allow(free, s)
		if d := cmp.Diff(s, r.Text(s)); d != "" {
			t.Error(d)
		}
	}
}
