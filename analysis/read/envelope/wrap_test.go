package envelope_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis/read/envelope"
	"leakdiff/samples/corpus"
)

// The wrappers below put round a plain text what real programs put round theirs.

var begin = time.Date(2026, 11, 21, 2, 58, 36, 123456789, time.UTC)

// stamps counts up by a millisecond for each line.
type stamps struct{ n int }

func (s *stamps) next() time.Time {
	s.n++
	return begin.Add(time.Duration(s.n-1) * time.Millisecond)
}

// each makes a wrapper that puts something before each line.
func each(prefix func(now time.Time) string) func(string) string {
	return func(plain string) string {
		var out strings.Builder
		var clock stamps
		for line := range strings.Lines(plain) {
			out.WriteString(prefix(clock.next()) + line)
		}
		return out.String()
	}
}

// field makes a wrapper that puts a whole text into one string.
func field(before string, quoted func(string) string, behind string) func(string) string {
	return func(plain string) string { return before + quoted(plain) + behind }
}

func asIs(s string) string { return s }

func jsonQuoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

func criWithParts(plain string) string {
	var out strings.Builder
	var clock stamps
	for line := range strings.Lines(plain) {
		line = strings.TrimSuffix(line, "\n")
		for len(line) > 50 {
			fmt.Fprintf(&out, "%s stderr P %s\n", clock.next().Format(time.RFC3339Nano), line[:50])
			line = line[50:]
		}
		fmt.Fprintf(&out, "%s stderr F %s\n", clock.next().Format(time.RFC3339Nano), line)
	}
	return out.String()
}

// dockerRecords cuts the text as the json-file driver does, in parts of 16 KiB and
// at newlines.
func dockerRecords(plain string, part int) string {
	var out strings.Builder
	var clock stamps
	for line := range strings.Lines(plain) {
		for len(line) > 0 {
			n := min(len(line), part)
			fmt.Fprintf(&out, `{"log":%s,"stream":"stderr","time":%q}`+"\n", jsonQuoted(line[:n]), clock.next().Format(time.RFC3339Nano))
			line = line[n:]
		}
	}
	return out.String()
}

func journalJSON(plain string) string {
	var out strings.Builder
	var clock stamps
	n := 0
	for line := range strings.Lines(plain) {
		line = strings.TrimSuffix(line, "\n")
		message := jsonQuoted(line)
		if n++; n%3 == 0 {
			message = strings.Join(strings.Fields(fmt.Sprint([]byte("\x1b[31m"+line+"\x1b[0m"))), ",")
		}
		fmt.Fprintf(&out, `{"__CURSOR":"s=1;i=%x","_PID":"1234","MESSAGE":%s,"_HOSTNAME":"node-1","SYSLOG_IDENTIFIER":"kubelet","_SYSTEMD_UNIT":"kubelet.service","__REALTIME_TIMESTAMP":"%d"}`+"\n",
			n, message, clock.next().UnixMicro())
	}
	return out.String()
}

func journalExport(plain string) string {
	var out strings.Builder
	var clock stamps
	n := 0
	for line := range strings.Lines(plain) {
		line = strings.TrimSuffix(line, "\n")
		fmt.Fprintf(&out, "__CURSOR=s=1;i=%x\n__REALTIME_TIMESTAMP=%d\n_HOSTNAME=node-1\n_PID=1234\n", n, clock.next().UnixMicro())
		if n++; n%3 == 0 {
			out.WriteString("MESSAGE\n")
			out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(line))))
			out.WriteString(line + "\n")
		} else {
			out.WriteString("MESSAGE=" + line + "\n")
		}
		out.WriteString("SYSLOG_IDENTIFIER=kubelet\n_SYSTEMD_UNIT=kubelet.service\n\n")
	}
	return out.String()
}

func journalVerbose(plain string) string {
	var out strings.Builder
	var clock stamps
	for line := range strings.Lines(plain) {
		fmt.Fprintf(&out, "%s [s=ab;i=1;b=2;m=3;t=4;x=5]\n    _HOSTNAME=node-1\n    MESSAGE=%s    _PID=1234\n    SYSLOG_IDENTIFIER=kubelet\n",
			clock.next().Format("Mon 2006-01-02 15:04:05.000000 UTC"), line)
	}
	return out.String()
}

// journalSplit is a long line as journald cuts it (LineMax=48K).
func journalSplit(plain string) string {
	line := `time="2026-11-21T02:58:36.123456789Z" level=info msg=` + strconv.Quote("=== BEGIN goroutine stack dump ===\n"+plain+"\n=== END goroutine stack dump ===")
	var out strings.Builder
	for len(line) > 0 {
		n := min(len(line), 48<<10)
		out.WriteString("Nov 21 02:58:36 node-1 containerd[77]: " + line[:n] + "\n")
		line = line[n:]
	}
	return out.String()
}

func compose(fs ...func(string) string) func(string) string {
	return func(s string) string {
		for _, f := range fs {
			s = f(s)
		}
		return s
	}
}

var kubelet = envelope.Source{Host: "node-1", Program: "kubelet", PID: 1234}

var web = envelope.Source{Host: "node-1", Namespace: "shop", Pod: "web-0", Container: "app"}

var wrappers = []struct {
	name string
	wrap func(string) string
	form string
	// source and the time of the first line; yearless and zoneless as the stamps are.
	source             envelope.Source
	timed              bool
	yearless, zoneless bool
	// logged says that a logger wrote it, who never does what a signal prints.
	logged bool
}{
	{name: "no wrapping", wrap: func(s string) string { return s }, form: "lines without a prefix"},
	{name: "lines with carriage returns", wrap: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, form: "lines without a prefix"},
	{name: "eight blanks for a tab", wrap: func(s string) string { return strings.ReplaceAll(s, "\t", "        ") }, form: "lines without a prefix"},
	{name: "blank lines lost", wrap: func(s string) string { return strings.ReplaceAll(s, "\n\n", "\n") }, form: "lines without a prefix"},
	{name: "quoted mail", wrap: each(func(time.Time) string { return "> " }), form: "constant prefix"},
	{name: "indented by four", wrap: each(func(time.Time) string { return "    " }), form: "indented"},
	{name: "an unknown prefix with a counter", wrap: each(func(now time.Time) string { return fmt.Sprintf("#%d@%x | ", now.UnixNano(), 7) }), form: "constant prefix"},
	{name: "journald short", wrap: each(func(now time.Time) string { return now.Format(time.Stamp) + " node-1 kubelet[1234]: " }), form: "journald", source: kubelet, timed: true, yearless: true, zoneless: true},
	{name: "journald short-precise", wrap: each(func(now time.Time) string { return now.Format(time.StampMicro) + " node-1 kubelet[1234]: " }), form: "journald", source: kubelet, timed: true, yearless: true, zoneless: true},
	{name: "journald short-iso", wrap: each(func(now time.Time) string { return now.Format("2006-01-02T15:04:05-0700") + " node-1 kubelet[1234]: " }), form: "journald", source: kubelet, timed: true},
	{name: "journald with-unit", wrap: each(func(now time.Time) string {
		return now.Format("Mon 2006-01-02 15:04:05 MST") + " node-1 kubelet.service[1234]: "
	}), form: "journald", source: envelope.Source{Host: "node-1", Program: "kubelet", Unit: "kubelet.service", PID: 1234}, timed: true},
	{name: "journald with trailing blanks and tabs lost", wrap: compose(each(func(now time.Time) string { return now.Format(time.Stamp) + " node-1 kubelet[1234]: " }), func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, ": \n", ":\n"), "\t", "        ")
	}), form: "journald", source: kubelet, timed: true, yearless: true, zoneless: true},
	{name: "one message of many lines in journald", wrap: func(s string) string {
		prefix := begin.Format(time.Stamp) + " node-1 kubelet[1234]: "
		return prefix + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+strings.Repeat(" ", len(prefix))) + "\n"
	}, form: "journald", source: kubelet, timed: true, yearless: true, zoneless: true},
	{name: "journald JSON", wrap: journalJSON, form: "journald JSON", source: envelope.Source{Host: "node-1", Program: "kubelet", Unit: "kubelet.service", PID: 1234}, timed: true},
	{name: "journald JSON, pretty", wrap: journalPretty, form: "journald JSON", source: envelope.Source{Host: "node-1", Program: "kubelet", Unit: "kubelet.service", PID: 1234}, timed: true},
	{name: "journald JSON, server-sent events", wrap: framed("data: ", "\n\n"), form: "journald JSON", source: envelope.Source{Host: "node-1", Program: "kubelet", Unit: "kubelet.service", PID: 1234}, timed: true},
	{name: "journald JSON, RFC 7464", wrap: framed("\x1e", "\n"), form: "journald JSON", source: envelope.Source{Host: "node-1", Program: "kubelet", Unit: "kubelet.service", PID: 1234}, timed: true},
	{name: "Loki", wrap: func(s string) string { return loki(s, nil) }, form: "Loki JSON", source: web, timed: true},
	{name: "logcli", wrap: logcli, form: "logcli", source: envelope.Source{Namespace: "shop", Pod: "web-0", Container: "app"}, timed: true},
	{name: "Google Cloud Logging", wrap: func(s string) string { return google(s, nil) }, form: "Google Cloud Logging JSON", source: web, timed: true},
	{name: "Google Cloud Logging, structured, on lines", wrap: googleStructured, form: "Google Cloud Logging JSON", source: web, timed: true},
	{name: "CloudWatch", wrap: cloudWatch, form: "CloudWatch JSON", timed: true},
	{name: "Elasticsearch", wrap: elastic, form: "Elasticsearch JSON", source: web, timed: true},
	{name: "journald export", wrap: journalExport, form: "journald export", source: envelope.Source{Host: "node-1", Program: "kubelet", Unit: "kubelet.service", PID: 1234}, timed: true},
	{name: "journald verbose", wrap: journalVerbose, form: "journald verbose", source: kubelet, timed: true},
	{name: "RFC 3164", wrap: each(func(now time.Time) string { return "<13>" + now.Format(time.Stamp) + " node-1 kubelet[1234]: " }), form: "journald", source: kubelet, timed: true, yearless: true, zoneless: true},
	{name: "RFC 5424", wrap: each(func(now time.Time) string {
		return "<165>1 " + now.Format(time.RFC3339Nano) + ` node-1 kubelet 1234 - [x@1 k="a\"]b"] `
	}), form: "syslog", source: kubelet, timed: true},
	{name: "CRI", wrap: each(func(now time.Time) string { return now.Format(time.RFC3339Nano) + " stderr F " }), form: "CRI", timed: true},
	{name: "CRI in parts", wrap: criWithParts, form: "CRI", timed: true},
	{name: "docker JSON", wrap: func(s string) string { return dockerRecords(s, 16<<10) }, form: "docker JSON", timed: true},
	{name: "docker JSON in parts", wrap: func(s string) string { return dockerRecords(s, 40) }, form: "docker JSON", timed: true},
	{name: "JSON lines of a shipper", wrap: func(s string) string {
		var out strings.Builder
		for line := range strings.Lines(s) {
			fmt.Fprintf(&out, `{"@timestamp":"2026-11-21T02:58:36.123Z","message":%s,"podName":"web-0","containerName":"app"}`+"\n", jsonQuoted(strings.TrimSuffix(line, "\n")))
		}
		return out.String()
	}, form: "JSON lines", source: envelope.Source{Pod: "web-0", Container: "app"}, timed: true},
	{name: "kubectl --timestamps", wrap: each(func(now time.Time) string { return now.Format(time.RFC3339Nano) + " " }), form: "time stamps", timed: true},
	// runit's manual page svlogd(8), option -tt; omnibus-gitlab runs its services so.
	{name: "svlogd -tt", wrap: each(func(now time.Time) string { return now.UTC().Format("2006-01-02_15:04:05.00000") + " " }), form: "time stamps", timed: true},
	{name: "kubectl --prefix", wrap: each(func(time.Time) string { return "[pod/web-0/app] " }), form: "kubectl --prefix", source: envelope.Source{Pod: "web-0", Container: "app"}},
	{name: "kubectl --prefix --timestamps", wrap: each(func(now time.Time) string { return "[pod/web-0/app] " + now.Format(time.RFC3339Nano) + " " }), form: "kubectl --prefix, time stamps", source: envelope.Source{Pod: "web-0", Container: "app"}, timed: true},
	{name: "stern", wrap: each(func(time.Time) string { return "web-7d4b9-x1 app " }), form: "stern", source: envelope.Source{Pod: "web-7d4b9-x1", Container: "app"}},
	{name: "stern in colours over all namespaces", wrap: each(func(time.Time) string {
		return "\x1b[36mshop\x1b[0m \x1b[91mweb-7d4b9-x1\x1b[0m \x1b[31mapp\x1b[0m "
	}), form: "stern", source: envelope.Source{Namespace: "shop", Pod: "web-7d4b9-x1", Container: "app"}},
	{name: "docker compose", wrap: each(func(time.Time) string { return "api-1  | " }), form: "docker compose", source: envelope.Source{Container: "api-1"}},
	{name: "klog before the first line", wrap: func(s string) string { return "E1121 02:58:36.123456    1234 panic.go:12] " + s }, logged: true, form: "klog", source: envelope.Source{PID: 1234}, timed: true, yearless: true, zoneless: true},
	{name: "klog before each line", wrap: each(func(now time.Time) string { return "E" + now.Format("0102 15:04:05.000000") + "    1234 panic.go:12] " }), logged: true, form: "klog", source: envelope.Source{PID: 1234}, timed: true, yearless: true, zoneless: true},
	{name: "the log package before the first line", wrap: func(s string) string { return "2026/11/21 02:58:36 " + s }, logged: true, form: "time stamps", timed: true, zoneless: true},
	{name: "logrus", wrap: field(`time="2026-11-21T02:58:36.123456789Z" level=info msg=`, func(s string) string {
		return strconv.Quote("=== BEGIN goroutine stack dump ===\n" + s + "\n=== END goroutine stack dump ===")
	}, "\n"), form: "escaped in a log field", timed: true},
	{name: "logrus in journald, split", wrap: journalSplit, form: "journald, escaped in a log field", source: envelope.Source{Host: "node-1", Program: "containerd", PID: 77}, timed: true},
	{name: "logrus in docker JSON, split", wrap: compose(field(`time="2026-11-21T02:58:36.123456789Z" level=info msg=`, strconv.Quote, "\n"), func(s string) string { return dockerRecords(s, 16<<10) }), form: "docker JSON, escaped in a log field", timed: true},
	{name: "slog text", wrap: field(`time=2026-11-21T02:58:36.123Z level=INFO msg=dump stack=`, strconv.Quote, "\n"), form: "escaped in a log field", timed: true},
	{name: "slog JSON", wrap: field(`{"time":"2026-11-21T02:58:36.123456789Z","level":"INFO","msg":"dump","stack":`, jsonQuoted, "}\n"), form: "escaped in a JSON string", timed: true},
	{name: "a collector's result", wrap: field(`{"response":{"status":200,"body":`, jsonQuoted, `,"headers":{"Date":"x"}}}`), form: "escaped in a JSON string"},
	{name: "a result that is indented", wrap: field("{\n  \"response\": {\n    \"status\": 200,\n    \"body\": ", jsonQuoted, "\n  }\n}\n"), form: "escaped in a JSON string"},
	{name: "a JSON string in a JSON string", wrap: field(`{"raw":`, func(s string) string { return jsonQuoted(`{"body":` + jsonQuoted(s) + `}`) }, "}\n"), form: "escaped in a JSON string"},
	{name: "HTML", wrap: func(s string) string {
		return "<html><body><pre>" + html.EscapeString(s) + "</pre></body></html>\n"
	}, form: "HTML"},
	{name: "HTML with breaks", wrap: func(s string) string {
		return "<!DOCTYPE html>\n<p>" + strings.ReplaceAll(html.EscapeString(s), "\n", "<br/>\n") + "</p>\n"
	}, form: "HTML"},
	// CommonMark 0.31, sections 4.4, 4.5 and 5.1; Jira's text formatting notation.
	{name: "a fence", wrap: field("Look:\n\n```text\n", asIs, "```\n\nWhy?\n"), form: "code block"},
	{name: "a fence in details", wrap: field("Look:\n<details>\n<summary>all</summary>\n\n```\n", asIs, "```\n</details>\n"), form: "code block"},
	{name: "a fence of tildes in a quotation", wrap: compose(field("Look:\n\n~~~\n", asIs, "~~~\n"), each(func(time.Time) string { return "> " })), form: "code block, constant prefix"},
	{name: "an indented code block", wrap: compose(each(func(time.Time) string { return "    " }), field("Look:\n\n", asIs, "\nWhy?\n")), form: "indented"},
	{name: "Jira's noformat", wrap: field("h2. Look\n{noformat}\n", asIs, "{noformat}\nWhy?\n"), form: "code block"},
	{name: "Jira's code", wrap: field("h2. Look\n{code:title=a.txt|borderStyle=solid}\n", asIs, "{code}\nWhy?\n"), form: "code block"},
	{name: "response headers", wrap: func(s string) string { return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + s }, form: "lines without a prefix"},
	{name: "colours", wrap: each(func(time.Time) string { return "\x1b[33m" }), form: "lines without a prefix"},
}

// plains are dumps of real programs: 87 goroutines of a kubelet, and test programs
// with labels, elided frames, ancestors and a signal.
func plains(t testing.TB) map[string]string {
	out := map[string]string{}
	for name, path := range map[string][]string{
		"kubelet":   {"series", "kubelet-probe-leak", "t7", "kubelet", "goroutine-debug2.txt"},
		"labels":    {"goroutine", "gen", "debug2-labels-go1.26.8.txt"},
		"labels 27": {"goroutine", "gen", "debug2-labels-go1.27.0.txt"},
		"ancestors": {"goroutine", "gen", "debug2-ancestors-go1.21.13.txt"},
		"signal":    {"goroutine", "gen", "sigquit-go1.26.8.txt"},
		"crash":     {"goroutine", "gen", "sigquit-crash-go1.27.0.txt"},
		"signal 18": {"goroutine", "gen", "sigabrt-busy-go1.18.10.txt"},
	} {
		out[name] = strings.TrimRight(string(content(t, corpus.Path(t, path...))), "\n") + "\n"
	}
	return out
}

func TestEveryFormGivesThePlainDumpBack(t *testing.T) {
	t.Parallel()
	for dump, plain := range plains(t) {
		want := parse(t, []byte(plain))
		for _, w := range wrappers {
			if w.logged && want[0].state != "running" {
				continue
			}
			t.Run(dump+"/"+w.name, func(t *testing.T) {
				wrapped := []byte(w.wrap(plain))
				sections, info, problems := unwrap(t, wrapped, envelope.Config{Path: "x", Now: begin.Add(48 * time.Hour)})
				if len(sections) != 1 || len(problems) > 0 || info.LoneHeaders > 0 {
					t.Fatalf("got %d sections, %d lone headers, problems %v", len(sections), info.LoneHeaders, problems)
				}
				s := &sections[0]
				same(t, parse(t, text(t, s)), want)
				if w.name != "logrus in docker JSON, split" { // headers may lie across records
					located(t, wrapped, s)
				}
				if s.Form != w.form || s.Source != w.source || s.Kind != envelope.KindGoroutine || s.Headers != len(want) {
					t.Errorf("got form %q, source %+v, kind %s, %d headers, want %q, %+v, %d", s.Form, s.Source, s.Kind, s.Headers, w.form, w.source, len(want))
				}
				if off := begin.Sub(s.Time); w.timed && (off < 0 || off > time.Second) || !w.timed && !s.Time.IsZero() || s.Yearless != w.yearless || s.Zoneless != w.zoneless {
					t.Errorf("got time %v (yearless %v, zoneless %v), want one %v (%v, %v)", s.Time, s.Yearless, s.Zoneless, w.timed, w.yearless, w.zoneless)
				}
			})
		}
	}
}

// first is the beginning of a dump, some blocks long.
func first(plain string, blocks int) string {
	parts := strings.SplitN(plain, "\n\n", blocks+1)
	return strings.Join(parts[:blocks], "\n\n") + "\n"
}

// TestLogLinesBetweenAreLeftOut puts the program's own lines between those of its
// dump.
func TestLogLinesBetweenAreLeftOut(t *testing.T) {
	t.Parallel()
	plain := first(plains(t)["kubelet"], 12)
	want := parse(t, []byte(plain))
	logs := []string{
		`I1121 02:58:36.123456    1234 kubelet.go:12] "SyncLoop (PLEG): event for pod"`,
		`time="2026-11-21T02:58:36Z" level=info msg="closing (goroutine 7 [running]) now"`,
		`{"level":"info","msg":"text"}`,
		`2026-11-21 02:58:36.123 INFO done (all)`,
	}
	prefixes := map[string]string{"raw": "", "CRI": "2026-11-21T02:58:36.1Z stderr F ", "journald": "Nov 21 02:58:36 node-1 kubelet[1234]: ", "compose": "api-1 | "}
	for name, prefix := range prefixes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				var out strings.Builder
				for line := range strings.Lines(plain) {
					if out.Len() > 0 && rapid.IntRange(0, 9).Draw(rt, "cut in") == 0 {
						out.WriteString(prefix + rapid.SampledFrom(logs).Draw(rt, "log") + "\n")
					}
					out.WriteString(prefix + line)
				}
				sections, _, _ := unwrap(t, []byte(out.String()), envelope.Config{})
				if len(sections) != 1 {
					rt.Fatalf("got %d sections", len(sections))
				}
				same(t, parse(t, text(t, &sections[0])), want)
			})
		})
	}
}

// TestSourcesAreToldApart mixes the lines of two pods, or of two processes, in any
// order.
func TestSourcesAreToldApart(t *testing.T) {
	t.Parallel()
	all := plains(t)
	all["kubelet"], all["signal"] = first(all["kubelet"], 12), first(all["signal"], 12)
	a, b := strings.SplitAfter(all["kubelet"], "\n"), strings.SplitAfter(all["signal"], "\n")
	for name, prefixes := range map[string][2]string{
		"stern":    {"web-7d4b9-x1 app ", "web-7d4b9-y2 app "},
		"journald": {"Nov 21 02:58:36 node-1 kubelet[1234]: ", "Nov 21 02:58:36 node-1 containerd[77]: "},
		"restart":  {"Nov 21 02:58:36 node-1 kubelet[1234]: ", "Nov 21 02:58:36 node-1 kubelet[1235]: "},
		"streams":  {"2026-11-21T02:58:36.1Z stderr F ", "2026-11-21T02:58:36.1Z stdout F "},
		"compose":  {"api-1  | ", "web-1  | "},
		"kubectl":  {"[pod/web-0/app] ", "[pod/web-0/sidecar] "},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				var out strings.Builder
				left := [2][]string{a, b}
				for len(left[0])+len(left[1]) > 0 {
					i := rapid.IntRange(0, 1).Draw(rt, "source")
					n := min(rapid.IntRange(1, 20).Draw(rt, "lines"), len(left[i]))
					for _, line := range left[i][:n] {
						if line != "" {
							out.WriteString(prefixes[i] + line)
						}
					}
					left[i] = left[i][n:]
				}
				sections, _, _ := unwrap(t, []byte(out.String()), envelope.Config{})
				if len(sections) != 2 {
					rt.Fatalf("got %d sections", len(sections))
				}
				got := [2][]block{parse(t, text(t, &sections[0])), parse(t, text(t, &sections[1]))}
				if got[0][0].id == 0 {
					got[0], got[1] = got[1], got[0]
				}
				same(t, got[0], parse(t, []byte(all["kubelet"])))
				same(t, got[1], parse(t, []byte(all["signal"])))
			})
		})
	}
}

// TestAnyPrefixGivesAPrefix cuts wrapped dumps anywhere.
func TestAnyPrefixGivesAPrefix(t *testing.T) {
	t.Parallel()
	plain := first(plains(t)["kubelet"], 40)
	want := parse(t, []byte(plain))
	for _, w := range wrappers {
		wrapped := w.wrap(plain)
		ends := rand.New(rand.NewPCG(1, 2))
		for range 15 {
			end := len(wrapped)/4 + ends.IntN(len(wrapped)*3/4)
			sections, _, _ := unwrap(t, []byte(wrapped[:end]), envelope.Config{})
			if len(sections) != 1 {
				t.Fatalf("%s cut at %d: got %d sections", w.name, end, len(sections))
			}
			got := parse(t, text(t, &sections[0]))
			same(t, got[:len(got)-1], want[:min(len(want), len(got)-1)])
			if len(got) < len(want)/5 {
				t.Fatalf("%s cut at %d of %d: got %d goroutines of %d", w.name, end, len(wrapped), len(got), len(want))
			}
		}
	}
}

// The prefix that a dump's own lines share was cut off the first header of the next
// dump, whose other lines begin with another stamp.
func TestTheNextDumpBehindStampsKeepsItsFirstGoroutine(t *testing.T) {
	dump := func(stamp string, n int) string {
		var b strings.Builder
		for i := range n {
			state := "select"
			if i == 0 {
				state = "running"
			}
			for line := range strings.Lines(fmt.Sprintf("goroutine %d [%s]:\nmain.f()\n\t/x/main.go:1 +0x1\ncreated by main.main in goroutine 1\n\t/x/main.go:2 +0x2\n\n", i+1, state)) {
				b.WriteString(stamp + " " + line)
			}
		}
		return b.String()
	}
	text := dump("2026-11-21T03:00:00.0Z", 6) + dump("2026-11-21T03:05:00.0Z", 7)
	sections, info, problems, err := envelope.Unwrap(strings.NewReader(text), envelope.Config{})
	if err != nil || len(problems) > 0 || info.LoneHeaders != 0 {
		t.Fatalf("%v, %v, %d lone headers", err, problems, info.LoneHeaders)
	}
	var got []string
	for _, s := range sections {
		got = append(got, fmt.Sprintf("%d at %s", s.Headers, s.Time.Format("15:04")))
	}
	if d := cmp.Diff([]string{"6 at 03:00", "7 at 03:05"}, got); d != "" {
		t.Error(d)
	}
}
