package ingest

import "testing"

func TestTheReasonOfACrashInAFewWords(t *testing.T) {
	for line, want := range map[string]string{
		"panic: runtime error: invalid memory address or nil pointer dereference": "nil pointer dereference",
		"panic: runtime error: index out of range [5] with length 3":              "index out of range [5] with length 3",
		"panic: runtime error: integer divide by zero [recovered]":                "integer divide by zero",
		"panic: boom: EOF [recovered, repanicked]":                                "panic “boom: EOF”",
		"panic: main.Code(5)":                         "panic “main.Code(5)”",
		"panic: (main.T) (0x45e0a0,0xc42000e1e0)":     "panic “(main.T)”",
		"panic: (*main.T) 0xc000012345":               "panic “(*main.T)”",
		"fatal error: concurrent map writes":          "concurrent map writes",
		"fatal error: sync: unlock of unlocked mutex": "unlock of unlocked mutex",
		"fatal error: runtime: out of memory":         "out of memory",
		"SIGSEGV: segmentation violation":             "segmentation violation",
	} {
		if got := reason(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
