package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tenants writes dumps of a program that has n goroutines at each of eight snapshots, each in
// a function of its own, the first with the given id.
func tenants(t *testing.T, at func(i int) (n, id int)) string {
	t.Helper()
	root, begin := t.TempDir(), time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 8 {
		dir := filepath.Join(root, fmt.Sprintf("t%d", i), "tenantd")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var dump strings.Builder
		fmt.Fprintf(&dump, "goroutine 1 [chan receive, %d minutes]:\nmain.main()\n\t/src/app/main.go:20 +0x1d\n", 5*i+30)
		n, id := at(i)
		for k := range n {
			fmt.Fprintf(&dump, "\ngoroutine %d [chan receive]:\nexample.com/app/tenant.(*T%d).run(0xc000%06x)\n\t/src/app/tenant/t%d.go:33 +0x45\ncreated by example.com/app/tenant.Open in goroutine 1\n\t/src/app/tenant/open.go:18 +0x99\n", id+k, id+k, 64*k, id+k)
		}
		for name, text := range map[string]string{filepath.Join(dir, "goroutine.txt"): dump.String(), filepath.Join(root, fmt.Sprintf("t%d", i), "captured_at"): begin.Add(time.Duration(i) * 5 * time.Minute).Format(time.RFC3339)} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestALeakThatMakesANewFamilyEachTimeIsFoundByItsCreator(t *testing.T) {
	for _, tt := range []struct {
		name   string
		at     func(i int) (n, id int)
		status int
		want   string
	}{
		{"tenants stay, 15 more each time", func(i int) (int, int) { return 10 + 15*i, 100 }, exitVerdict, "tenantd started 105 goroutines of tenant.Open and none ended."},
		{"as many tenants, others each time", func(i int) (int, int) { return 40, 100 + 40*i }, exitDone, "No leak seen in tenantd: no goroutines grew in 35 min."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			m := &Main{Stdout: &out, Stderr: &out}
			if status := m.Run(t.Context(), []string{"report", "--fail-on", "suspicious", tenants(t, tt.at)}); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, out.String())
			}
		})
	}
}
