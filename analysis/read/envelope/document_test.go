package envelope_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis/read/envelope"
)

// records adds a time to each line, as the servers of logs hold them.
type entry struct {
	at   time.Time
	line string
}

func entries(plain string) (out []entry) {
	var clock stamps
	for line := range strings.Lines(plain) {
		out = append(out, entry{clock.next(), strings.TrimSuffix(line, "\n")})
	}
	return out
}

func encoded(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func indented(v any) string {
	out, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		panic(err)
	}
	return string(out)
}

func journalRecord(e entry) map[string]any {
	return map[string]any{"__CURSOR": "s=1;i=2", "__REALTIME_TIMESTAMP": fmt.Sprint(e.at.UnixMicro()), "_HOSTNAME": "node-1", "_PID": "1234",
		"SYSLOG_IDENTIFIER": "kubelet", "_SYSTEMD_UNIT": "kubelet.service", "MESSAGE": e.line, "_AUDIT": nil, "TAGS": []any{"a", map[string]any{"b": 1}}}
}

// journalPretty is what journalctl -o json-pretty prints; every third message is
// spelled in bytes, as those are that hold colours.
func journalPretty(plain string) string {
	var out strings.Builder
	for i, e := range entries(plain) {
		r := journalRecord(e)
		if i%3 == 2 && !strings.HasPrefix(e.line, "goroutine ") {
			bytes := []int{}
			for _, b := range []byte("\x1b[31m" + e.line + "\x1b[0m") {
				bytes = append(bytes, int(b))
			}
			r["MESSAGE"] = bytes
		}
		out.WriteString(indented(r) + "\n")
	}
	return out.String()
}

// framed puts something around each record of journalctl -o json.
func framed(before, behind string) func(string) string {
	return func(plain string) string {
		var out strings.Builder
		for _, e := range entries(plain) {
			out.WriteString(before + encoded(journalRecord(e)) + behind)
		}
		return out.String()
	}
}

var webLabels = map[string]any{"pod": "web-0", "container": "app", "namespace": "shop", "node_name": "node-1"}

func loki(plain string, change func([]any)) string {
	values := []any{}
	for _, e := range entries(plain) {
		values = append(values, []any{fmt.Sprint(e.at.UnixNano()), e.line})
	}
	if change != nil {
		change(values)
	}
	return encoded(map[string]any{"status": "success", "data": map[string]any{"resultType": "streams", "stats": map[string]any{"summary": map[string]any{"values": []int{1, 2}}},
		"result": []any{map[string]any{"stream": webLabels, "values": values}}}})
}

func logcli(plain string) string {
	var out strings.Builder
	out.WriteString("2026/11/21 03:00:00 Common labels: {namespace=\"shop\"}\n")
	for i, e := range entries(plain) {
		padding := strings.Repeat(" ", i%2*2)
		fmt.Fprintf(&out, "%s {container=\"app\", path=\"/a\\\"}\", pod=\"web-0\"}%s %s\n", e.at.Format(time.RFC3339Nano), padding, e.line)
	}
	return out.String()
}

func googleRecord(e entry) map[string]any {
	return map[string]any{"insertId": "x", "receiveTimestamp": "2026-11-21T04:00:00Z", "resource": map[string]any{"type": "k8s_container", "labels": map[string]any{
		"pod_name": "web-0", "container_name": "app", "namespace_name": "shop"}}, "labels": map[string]any{"compute.googleapis.com/resource_name": "node-1"},
		"textPayload": e.line, "timestamp": e.at.Format(time.RFC3339Nano)}
}

func google(plain string, change func([]any)) string {
	var all []any
	for _, e := range entries(plain) {
		all = append(all, googleRecord(e))
	}
	if change != nil {
		change(all)
	}
	return indented(all) + "\n"
}

func googleStructured(plain string) string {
	var out strings.Builder
	for _, e := range entries(plain) {
		r := googleRecord(e)
		delete(r, "textPayload")
		r["jsonPayload"] = map[string]any{"message": e.line, "pid": "1"}
		out.WriteString(encoded(r) + "\n")
	}
	return out.String()
}

func cloudWatch(plain string) string {
	var events []any
	for _, e := range entries(plain) {
		events = append(events, map[string]any{"timestamp": e.at.UnixMilli(), "message": e.line, "ingestionTime": e.at.UnixMilli() + 5000})
	}
	return indented(map[string]any{"events": events, "nextForwardToken": "f/1", "nextBackwardToken": "b/2"})
}

func elastic(plain string) string {
	var hits []any
	for _, e := range entries(plain) {
		hits = append(hits, map[string]any{"_index": "logs", "_id": "1", "sort": []any{1}, "_source": map[string]any{"@timestamp": e.at.Format(time.RFC3339Nano), "message": e.line,
			"kubernetes": map[string]any{"pod": map[string]any{"name": "web-0"}, "node": map[string]any{"name": "node-1"}, "container": map[string]any{"name": "app"}, "namespace": "shop"}}})
	}
	return encoded(map[string]any{"took": 3, "hits": map[string]any{"total": map[string]any{"value": 3}, "hits": hits}})
}

// The servers of logs give the newest lines first unless they are asked otherwise;
// the times may all be one.
func TestADumpWhoseLastLineComesFirstIsTurnedRound(t *testing.T) {
	one, two := dump(1, "running", "select", "IO wait"), dump(50, "running", "select", "select", "select")
	lines := func(wrap func(string) string) func(string) string {
		return func(plain string) string {
			all := strings.SplitAfter(strings.TrimSuffix(wrap(plain), "\n")+"\n", "\n")
			all = all[:len(all)-1]
			slices.Reverse(all)
			return strings.Join(all, "")
		}
	}
	sameTime := func(all []any) {
		slices.Reverse(all)
		for _, r := range all {
			r.(map[string]any)["timestamp"] = begin.Format(time.RFC3339Nano)
		}
	}
	for name, c := range map[string]struct {
		wrap func(string) string
		want []string
	}{
		"Loki":                             {func(s string) string { return loki(s, slices.Reverse[[]any]) }, []string{"1 2 3", "50 51 52 53"}},
		"Google Cloud Logging":             {func(s string) string { return google(s, slices.Reverse[[]any]) }, []string{"1 2 3", "50 51 52 53"}},
		"Google Cloud Logging in one time": {func(s string) string { return google(s, sameTime) }, []string{"1 2 3", "50 51 52 53"}},
		"logcli":                           {lines(logcli), []string{"1 2 3", "50 51 52 53"}},
		"a list of journald's records": {func(s string) string {
			return "[" + strings.Join(strings.Split(strings.TrimSpace(lines(framed("", "\n"))(s)), "\n"), ",\n") + "]"
		}, []string{"1 2 3", "50 51 52 53"}},
	} {
		t.Run(name, func(t *testing.T) {
			sections, _, problems := unwrap(t, []byte(c.wrap(one+"\n"+two)), envelope.Config{})
			if diff := cmp.Diff(c.want, found(t, sections)); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v, -want +got\n%s", problems, diff)
			}
		})
	}
}

func TestALongLogThatStandsUpsideDownIsTurnedInParts(t *testing.T) {
	line := strings.Repeat("x", 1000)
	values := strings.Builder{}
	for i := range 30_000 {
		fmt.Fprintf(&values, `["%d","%s"],`, begin.Add(-time.Duration(i)*time.Second).UnixNano(), line)
	}
	text := `{"data":{"result":[{"stream":{"pod":"web-0"},"values":[` + strings.TrimSuffix(values.String(), ",") + `]}]}}`
	_, _, problems := unwrap(t, []byte(text), envelope.Config{Path: "x.json"})
	if len(problems) != 1 || !strings.Contains(problems[0].Hint, "direction=forward") || problems[0].Path != "x.json" {
		t.Errorf("got %+v", problems)
	}
}

func TestRecordsOfADocumentAreToldApart(t *testing.T) {
	a, b := entries(dump(1, "running", "select", "select")), entries(dump(50, "running", "select", "select"))
	var mixed []any
	for i := range a {
		for _, c := range []struct {
			e   entry
			pod string
		}{{a[i], "web-0"}, {b[i], "web-1"}} {
			r := googleRecord(c.e)
			r["resource"] = map[string]any{"labels": map[string]any{"pod_name": c.pod}}
			mixed = append(mixed, r)
		}
	}
	sections, _, _ := unwrap(t, []byte(encoded(mixed)), envelope.Config{})
	if diff := cmp.Diff([]string{"1 2 3", "50 51 52"}, found(t, sections)); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	if sections[0].Source.Pod != "web-0" || sections[1].Source.Pod != "web-1" || sections[0].Source.Host != "node-1" {
		t.Errorf("got %+v and %+v", sections[0].Source, sections[1].Source)
	}
}

func TestDocumentsThatAreBrokenAreBorne(t *testing.T) {
	three := dump(1, "running", "select", "select")
	pretty := journalPretty(three)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a string that does not end": {strings.Replace(pretty, `"__CURSOR": "s=1;i=2",`, `"__CURSOR": "s=1;i=2,`, 1), []string{"1 2 3"}},
		"brackets without end":       {`[{"@timestamp":1,"message":` + strings.Repeat("[{", 5000), nil},
		"brackets that close more":   {`[{"@timestamp":1,"message":"x"}` + strings.Repeat("]}", 5000), nil},
		"no value":                   {`[{"@timestamp":,"message":}]`, nil},
		"values without a key":       {`[{"@timestamp","message","a"}]`, nil},
		"bytes that are no bytes":    {`[{"@timestamp":1,"message":[256,-1,"x",1e3]}]`, nil},
		"a text in a text":           {`[{"@timestamp":"2026-11-21T03:00:00Z","message":"dump","attributes":{"message":"` + strings.ReplaceAll(three, "\n", `\n`) + `"}}]`, nil},
		"a whole dump in a record":   {`[{"@timestamp":"2026-11-21T03:00:00Z","message":` + jsonQuoted(three) + `}]`, []string{"1 2 3"}},
		"a dump in a field of a log": {`[{"@timestamp":"2026-11-21T03:00:00Z","message":` + jsonQuoted(`time="2026-11-21T03:00:00Z" msg=`+jsonQuoted(three)) + `}]`, []string{"1 2 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			sections, _, _ := unwrap(t, []byte(c.text), envelope.Config{})
			if diff := cmp.Diff(c.want, found(t, sections)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
