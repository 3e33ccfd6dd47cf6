package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
)

// sharesOf has so many connections at each moment up to the one from which they are gone, however
// many streams there are. ports are those of the client, near says that the rows are its own.
func sharesOf(connections, gone, ports int, near bool) func(n, moment int) []string {
	return func(_, moment int) (rows []string) {
		if !near {
			rows = append(rows, "127.0.0.1:80 (LISTEN)")
		}
		for k := range connections {
			switch {
			case moment >= gone:
			case near:
				rows = append(rows, fmt.Sprintf("127.0.0.1:%d->127.0.0.1:80 (ESTABLISHED)", ports+k))
			default:
				rows = append(rows, fmt.Sprintf("127.0.0.1:80->127.0.0.1:%d (ESTABLISHED)", ports+k))
			}
		}
		return rows
	}
}

func TestTheProcessThatOpenedStreamsOverSharedConnectionsIsNamed(t *testing.T) {
	feed, session := []string{"example.org/feed.(*Stream).run"}, []string{"example.org/hub.(*session).serve"}
	opened := []int{0, 40, 80, 120, 160, 200, 240, 280, -1}
	served := []int{0, 40, 80, 120, 160, 200, 240, 280, 0}
	steady := []int{4, 4, 4, 4, 4, 4, 4, 4, -1}
	halves := []int{0, 20, 40, 60, 80, 100, 120, 140, -1}
	const sentence = "ordersync opened 280 feed streams and closed none; hub served them until ordersync was gone."
	for _, tt := range []struct {
		name                   string
		sides                  []side
		state, sentence, cause string
		do, chain, until       string
	}{
		{"it opened them and is gone when they end",
			[]side{{"ordersync", feed, opened, sharesOf(56, 8, 40000, true)}, {"hub", session, served, sharesOf(56, 8, 40000, false)}},
			"leaking until t7", sentence, "likely, 280 in hub ended in the interval in which ordersync ended",
			"In ordersync, end each of them. hub itself is healthy: back at 0 at t8.", "280 feed streams (); 280 goroutines in hub.(*session).serve (hub)", "t8, 03:08:00"},
		{"nothing grew in it, and it is gone when they end",
			[]side{{"ordersync", feed, steady, sharesOf(56, 8, 40000, true)}, {"hub", session, served, sharesOf(56, 8, 40000, false)}},
			"leaking until t7", "280 goroutines in hub.(*session).serve were started in hub and none ended until ordersync was gone.",
			"likely, ordersync, with 56 connections to hub, ended in the interval in which they ended",
			"ordersync ended between 03:07:00 and 03:08:00 and held them: look at what it opens to hub and never closes.", "56 connections (ordersync); 280 goroutines in hub.(*session).serve ()", "t8, 03:08:00"},
		{"nothing grew in it, and it is gone one interval before they end",
			[]side{{"ordersync", feed, []int{4, 4, 4, 4, 4, 4, 4, -1, -1}, sharesOf(56, 7, 40000, true)}, {"hub", session, served, sharesOf(56, 7, 40000, false)}},
			"leaking until t7", "hub started 280 goroutines in hub.(*session).serve and none ended until t7.", "open, the stack shows where they wait, not who should end them",
			"Something released all 280 between 03:07:00 and 03:08:00: check what restarted or was deleted.", "", "t8, 03:08:00"},
		{"they merely rise and end together",
			[]side{{"ordersync", feed, opened, nil}, {"hub", session, served, nil}},
			"leaking until t7", "hub started 280 goroutines in hub.(*session).serve and none ended until t7.", "open, the stack shows where they wait, not who should end them",
			"Something released all 280 between 03:07:00 and 03:08:00: check what restarted or was deleted.", "", "t8, 03:08:00"},
		{"it opened half of them, and another client stays with the other half",
			[]side{{"ordersync", feed, halves, sharesOf(56, 8, 40000, true)}, {"billing", feed, []int{0, 20, 40, 60, 80, 100, 120, 140, 140}, sharesOf(56, 9, 50000, true)},
				{"hub", session, []int{0, 40, 80, 120, 160, 200, 240, 280, 140}, func(n, moment int) []string {
					return append(sharesOf(56, 8, 40000, false)(n, moment), sharesOf(56, 9, 50000, false)(n, moment)[1:]...)
				}}},
			"", "", "", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inputs := captured(tt.sides...)
			r, stored := built(t, inputs).Report, joined(t, inputs)
			for _, d := range []report.Diagnosis{r.Diagnosis, stored.Diagnosis} {
				var chain []string
				for _, l := range d.Chain {
					chain = append(chain, fmt.Sprintf("%s %s (%s)", l.Figure, l.Noun, l.Process))
				}
				if got := strings.Join(chain, "; "); got != tt.chain {
					t.Errorf("chain %q, want %q", got, tt.chain)
				}
				if len(r.Order) > 0 != strings.Contains(tt.sentence, "served") {
					t.Errorf("order %+v", r.Order)
				}
				if tt.sentence == "" {
					continue
				}
				if d.Cause == nil || d.Next == nil {
					t.Errorf("%s: %s, cause %v, next %v", d.State, d.Sentence, d.Cause, d.Next)
					continue
				}
				if got := d.Cause.Word + ", " + d.Cause.Reason; d.State != tt.state || d.Sentence != tt.sentence || got != tt.cause || d.Next.Text != tt.do || d.Until != tt.until {
					t.Errorf("got  %s: %s\n%s\n%s\nuntil %s\nwant %s: %s\n%s\n%s", d.State, d.Sentence, got, d.Next.Text, d.Until, tt.state, tt.sentence, tt.cause, tt.do)
				}
			}
		})
	}
}

func TestWhatEndsInAnIntervalWithItsPeerIsNotLookedForInLogs(t *testing.T) {
	steady := []int{4, 4, 4, 4, 4, 4, 4, 4, -1}
	c := built(t, captured(side{"ordersync", watching, steady, sharesOf(56, 8, 40000, true)}, side{"hub", []string{"example.org/hub.(*session).serve"}, []int{0, 40, 80, 120, 160, 200, 240, 280, 0}, sharesOf(56, 8, 40000, false)}))
	var ticket, machine bytes.Buffer
	text := strings.ToLower(pageText(c))
	if err := report.JSON(&machine, c.Report); err != nil {
		t.Fatal(err)
	}
	for _, f := range report.NewTicket(&c.Report).Facts {
		fmt.Fprintln(&ticket, f.Name, f.Text)
	}
	const ended = "ordersync, which had dialled 56 connections to hub, ended in the interval in which they ended"
	for name, got := range map[string]string{"text": text, "JSON": machine.String(), "ticket": ticket.String()} {
		if strings.Contains(got, "omething released") {
			t.Errorf("%s says that something released them:\n%s", name, got)
		}
		if !strings.Contains(got, "ordersync ended between") {
			t.Errorf("%s does not say who ended:\n%s", name, got)
		}
	}
	if !strings.Contains(text, ended) {
		t.Errorf("the finding does not say who ended:\n%s", text)
	}
	f := c.Report.Series[*c.Report.Diagnosis.Series].Findings[0]
	if e := f.Evidence[0]; e.Rule != "peer_ended" || e.N != 56 || e.At == nil || *e.At != 8 || f.EndedWith == nil || f.EndedWith.Connections != 56 {
		t.Errorf("evidence %+v, ended with %+v", e, f.EndedWith)
	}
}

// streamed are nine captures of a client and a server. Each stream is an object of several
// goroutines at both, and all of them run over 56 connections. The client is gone in the last one.
func streamed() (out []bundle.Input) {
	file := func(name, text string) {
		out = append(out, bundle.Input{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	for i := range 9 {
		at := time.Date(2026, 11, 21, 3, i, 0, 0, time.UTC).Format(time.RFC3339)
		for _, p := range []struct {
			name, object, creator string
			methods               []string
			rows                  []string
		}{
			{"client", "feed.(*Stream)", "feed.(*Client).Open", []string{"run", "read", "write", "keep"}, sharesOf(56, 8, 40000, true)(0, i)},
			{"server", "hub.(*session)", "hub.(*Server).accept", []string{"serve", "pump", "watch"}, sharesOf(56, 8, 40000, false)(0, i)},
		} {
			n := 40 * i
			if i == 8 && p.name == "client" {
				continue
			} else if i == 8 {
				n = 0
			}
			var dump, listing strings.Builder
			fmt.Fprintf(&dump, "goroutine %d [running]:\nmain.tick()\n\t/src/main.go:8 +0x1\n\n", 9000+i)
			for k := range 32 {
				fmt.Fprintf(&dump, "goroutine %d [select]:\nmain.idle()\n\t/src/main.go:9 +0x1\n\n", 5000+k)
			}
			for k := range n {
				for g, method := range p.methods {
					fmt.Fprintf(&dump, "goroutine %d [select]:\nexample.org/%s.%s(0x%x)\n\t/src/x.go:%d +0x1\ncreated by example.org/%s in goroutine 1\n\t/src/x.go:9 +0x1\n\n", 10+len(p.methods)*k+g, p.object, method, 0xc000100000+k*0x400, 40+g, p.creator)
				}
			}
			fmt.Fprintf(&listing, "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n%s %d root cwd DIR 254,0 4096 9978228 /\n", p.name, 1000+len(p.methods))
			for k, row := range p.rows {
				fmt.Fprintf(&listing, "%s %d root %du IPv4 %d 0t0 TCP %s\n", p.name, 1000+len(p.methods), 3+k, 1_000_000*len(p.methods)+k, row)
			}
			dir := fmt.Sprintf("t%d/%s/", i, p.name)
			file(dir+"captured_at", at+"\n")
			file(dir+"goroutine-debug2.txt", dump.String())
			file(dir+"lsof.txt", listing.String())
		}
	}
	return out
}

func TestStreamsOfSeveralGoroutinesAreCountedAsStreams(t *testing.T) {
	d := built(t, streamed()).Report.Diagnosis
	if want := "client opened 280 feed streams and closed none; server served them until client was gone."; d.Sentence != want {
		t.Errorf("got  %s\nwant %s", d.Sentence, want)
	}
	var chain []string
	for _, l := range d.Chain {
		chain = append(chain, strings.TrimSpace(l.Figure+" "+l.Noun+" "+l.Process))
	}
	if got, want := strings.Join(chain, "; "), "1 feed.(*Client).Open; 280 feed streams; each 4 goroutines; 280 hub.session objects server"; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
	if want := "server itself is healthy: back at 0 at t8."; !strings.HasSuffix(d.Next.Text, want) {
		t.Errorf("do %q, want an end of %q", d.Next.Text, want)
	}
	if want := "280 of 280 opened since t0 were still there at t7."; d.Proof != want {
		t.Errorf("proof %q, want %q", d.Proof, want)
	}
}
