package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestServeRefusesAWebhookWithoutRepeatingItsAddress(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		args    []string
		want    string
	}{
		"another scheme":           {"ftp://hooks.example.org/secret", nil, "the address of the webhook was not understood"},
		"a negative number":        {"https://hooks.example.org/secret", []string{"--alert-hosts=-1"}, "a number of hosts is not negative"},
		"a number that is a word":  {"https://hooks.example.org/secret", []string{"--alert-hosts", "many"}, "--alert-hosts"},
		"a template for nobody":    {"", []string{"--alert-template", "none.tmpl"}, "a template of alerts needs a webhook"},
		"a missing template":       {"https://hooks.example.org/secret", []string{"--alert-template", "none.tmpl"}, "there is no such file"},
		"an address with a space ": {"https://hooks.example.org:x y/secret", nil, "the address of the webhook was not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LEAKDIFF_ALERT_URL", c.address)
			var out bytes.Buffer
			m := &Main{Stdout: &out, Stderr: &out}
			status := m.Run(t.Context(), append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, c.args...))
			if said := out.String(); status != exitError || !strings.Contains(said, c.want) || strings.Contains(said, "secret") {
				t.Errorf("status %d: %s", status, said)
			}
		})
	}
}
