package store

import (
	"testing"
	"time"
)

func TestTheCasesOfAHostAreFoundTheNewestCapturesFirst(t *testing.T) {
	f := open(t)
	first := f.leaks("node-a", 21, 3, "")
	f.clock.advance(time.Second)
	second := f.leaks("node-a", 22, 3, "")
	f.clock.advance(time.Second)
	f.leaks("node-b", 21, 3, "")
	f.newCase("without captures")
	ids := func(hosts ...string) (out []string) {
		found, err := f.CasesOnHosts(f.ctx, hosts, "said by the customer")
		f.ok(err)
		for _, c := range found {
			if c.Process != "kubelet" {
				t.Errorf("the process is %q", c.Process)
			}
			out = append(out, c.ID)
		}
		return out
	}
	wantEqual(t, []string{second.ID, first.ID}, ids("Node-A", "node-x"))
	wantEqual(t, []string(nil), ids("node"))
	wantEqual(t, []string(nil), ids(""))
	wantEqual(t, []string(nil), ids())
	f.clock.advance(time.Second)
	f.ok(f.RenameCase(f.ctx, first.ID, "again"))
	wantEqual(t, []string{second.ID, first.ID}, ids("node-a"))
	f.edit(first.ID, "zone", "case", "UTC")
	wantEqual(t, []string{first.ID, second.ID}, ids("node-a"))
	f.ok(f.DeleteCase(f.ctx, first.ID, KeepPermalinks))
	wantEqual(t, []string{second.ID}, ids("node-a"))
}
