package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"leakdiff/analysis/say/report"
	"leakdiff/samples"
	"leakdiff/samples/corpus"
)

// A recorder is a transport that keeps the messages of both directions. It keeps a message
// before it is sent, as its answer could else be kept first; the SDK's own LoggingTransport
// writes it after.
type recorder struct {
	sdk.Transport

	mu       sync.Mutex
	messages []string // each begins with "-> " or "<- "
}

func (r *recorder) Connect(ctx context.Context) (sdk.Connection, error) {
	connection, err := r.Transport.Connect(ctx)
	return &recorded{connection, r}, err
}

func (r *recorder) keep(direction string, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, line, "", " "); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, direction+" "+pretty.String()+"\n")
	return nil
}

// conversation returns the messages so far, in their order.
func (r *recorder) conversation() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.messages, "")
}

// recorded is a connection whose messages a recorder keeps.
type recorded struct {
	sdk.Connection
	by *recorder
}

func (c *recorded) Write(ctx context.Context, message jsonrpc.Message) error {
	if err := c.by.keep("->", message); err != nil {
		return err
	}
	return c.Connection.Write(ctx, message)
}

func (c *recorded) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	return message, c.by.keep("<-", message)
}

// agent starts `leakdiff mcp` in a directory with the samples and connects the SDK's client
// to it. It returns what it records of their messages, and the directory.
func agent(t *testing.T) (*sdk.ClientSession, *recorder, string) {
	t.Helper()
	dir := t.TempDir()
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := os.WriteFile(filepath.Join(dir, s.Name+".tar.gz"), s.Archive, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(binary(t), "mcp")
	command.Dir, command.Env = dir, environment()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	record := &recorder{Transport: &sdk.CommandTransport{Command: command, TerminateDuration: stopLimit}}
	session, err := client.Connect(t.Context(), record, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the program did not end well: %v\n%s", err, &stderr)
		}
		if stderr.Len() > 0 {
			t.Errorf("the program wrote to standard error:\n%s", &stderr)
		}
	})
	return session, record, dir
}

// callTool calls a tool and decodes its answer.
func callTool(t *testing.T, session *sdk.ClientSession, tool string, in map[string]any, out any) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		t.Fatalf("%s: %s", tool, textOf(result))
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if len(structured) > 12_000 {
		t.Errorf("%s answers with %d bytes", tool, len(structured))
	}
	reflect.ValueOf(out).Elem().SetZero()
	if err := json.Unmarshal(structured, out); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, structured)
	}
}

// refusedTool calls a tool that must refuse and returns its words.
func refusedTool(t *testing.T, session *sdk.ClientSession, tool string, in map[string]any) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return err.Error()
	}
	if !result.IsError {
		t.Errorf("%s with %v answers: %s", tool, in, textOf(result))
	}
	return textOf(result)
}

func textOf(result *sdk.CallToolResult) string {
	var out []string
	for _, c := range result.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			out = append(out, text.Text)
		}
	}
	return strings.Join(out, "\n")
}

func TestAnAgentDiagnosesABundleOverStandardInputAndOutput(t *testing.T) {
	session, _, dir := agent(t)
	var d struct {
		Case      string
		Diagnosis report.Diagnosis
		Finding   report.Finding
	}
	callTool(t, session, "diagnose", map[string]any{"paths": []string{filepath.Join(dir, "kubelet-probe-leak.tar.gz")}}, &d)
	if want := "8 shim calls that never returned blocked 24 pod starts in containerd, until t8."; d.Diagnosis.Sentence != want || d.Diagnosis.Verdict != "leaking" {
		t.Errorf("the diagnosis is %+v", d.Diagnosis)
	}
	if !slices.ContainsFunc(d.Finding.Stack, func(f report.StackFrame) bool {
		return f.Function == "sync.(*Mutex).Lock" && f.File == "sync/mutex.go" && f.Line == 90
	}) {
		t.Errorf("the stack shows no lock with its line: %v", d.Finding.Stack)
	}

	var found struct {
		Findings []struct {
			Process, Mark string
			Finding       report.Finding
		}
		Total int
		More  string
	}
	callTool(t, session, "findings", map[string]any{"case": d.Case, "limit": 2}, &found)
	if len(found.Findings) != 2 || found.Total != 11 || found.More != "9 more: ask again with from=2" {
		t.Errorf("two findings of 11 are %+v", found)
	}
	callTool(t, session, "findings", map[string]any{"case": d.Case, "from": 10}, &found)
	if len(found.Findings) != 1 || found.More != "" {
		t.Errorf("the last finding is %+v", found)
	}
	callTool(t, session, "findings", map[string]any{"case": d.Case, "process": "CONTAINERD", "verdict": "leaking", "limit": 20}, &found)
	for _, f := range found.Findings {
		if f.Process != "containerd" || f.Mark != "leaking" || f.Finding.Verdict != "leaking" {
			t.Errorf("a finding that was not asked for: %+v", f)
		}
	}

	var family struct {
		Family report.Membership
		More   string
	}
	main := d.Finding.Families[0]
	callTool(t, session, "family", map[string]any{"case": d.Case, "family": main, "limit": 3}, &family)
	if f := &family.Family; f.Counts.Highest() != 24 || f.Counts.Last() != 0 || f.MembersTotal != 24 || f.At != "t7" || family.More != "21 more: ask again with from=3" {
		t.Errorf("the family is %+v", family)
	}
	if m := family.Family.Members[0]; *m.ID != 14140 || m.Path != "kubelet-probe-leak/t7/containerd/goroutine-debug2.txt" || m.Line != 2319 {
		t.Errorf("its first member is %+v", m)
	}
	byName := family
	callTool(t, session, "family", map[string]any{"case": d.Case, "family": family.Family.Handle, "limit": 3}, &byName)
	if diff := cmp.Diff(family, byName, cmpopts.IgnoreUnexported(report.StackFrame{})); diff != "" {
		t.Errorf("the family by its short name differs:\n%s", diff)
	}

	var object struct {
		Object report.ObjectMembership
		More   string
	}
	callTool(t, session, "object", map[string]any{"case": d.Case, "object": "o1", "series": 0}, &object)
	if o := &object.Object; o.Type != "github.com/google/cadvisor/manager.(*containerData)" || o.MembersTotal != 64 || len(o.Members) != 10 || object.More != "54 more: ask again with from=10" || len(o.Holders) != 1 || o.Holders[0].Text() != "60 started by manager.(*containerData).Start" {
		t.Errorf("the objects are %+v", object)
	}

	var compared struct {
		Process            string
		A, B               struct{ Label string }
		Changed, Unchanged int
		Comparison         report.Comparison
	}
	callTool(t, session, "compare", map[string]any{"case": d.Case, "a": "t2", "b": "t7", "limit": 100}, &compared)
	rows := compared.Comparison.Rows
	at := slices.IndexFunc(rows, func(r report.ComparisonRow) bool { return r.Fingerprint == main })
	if compared.Process != "containerd" || at < 0 || rows[at].A != 4 || rows[at].B != 24 || *rows[at].Survived != 4 {
		t.Errorf("t2 to t7 shows %+v", compared)
	}

	var next struct {
		Next   *report.Action
		Limits []string `json:"verdict_limits"`
	}
	callTool(t, session, "next_capture", map[string]any{"case": d.Case}, &next)
	if next.Next == nil || len(next.Limits) == 0 {
		t.Errorf("what to do next is %+v", next)
	}
}

// callTool holds each answer against its bound.
func TestNoAnswerToAnAgentIsLongerThanItsBound(t *testing.T) {
	session, _, _ := agent(t)
	for _, name := range []string{"clientgo-informer-recreate", "inotify-leak", "prometheus-hanging-targets"} {
		t.Run(name, func(t *testing.T) {
			var d struct {
				Case      string
				Diagnosis report.Diagnosis
				Finding   report.Finding
			}
			callTool(t, session, "diagnose", map[string]any{"paths": []string{corpus.Path(t, "series", name)}}, &d)
			ask := func(tool string, in map[string]any) {
				var out any
				in["case"] = d.Case
				callTool(t, session, tool, in, &out)
			}
			ask("next_capture", map[string]any{})
			ask("compare", map[string]any{"limit": 100})
			ask("findings", map[string]any{"limit": 20})
			for _, f := range d.Finding.Families {
				ask("family", map[string]any{"family": f, "limit": 100})
			}
			if d.Diagnosis.Object != "" {
				ask("object", map[string]any{"object": d.Diagnosis.Object, "series": *d.Diagnosis.Series, "limit": 100})
			}
		})
	}
}

func TestAnAgentIsToldWhatWasForgotten(t *testing.T) {
	session, _, _ := agent(t)
	var read struct {
		Case      string
		Forgotten []string
	}
	for i := range mostRead + 1 {
		if len(read.Forgotten) > 0 {
			t.Errorf("case %d made others be forgotten: %v", i, read.Forgotten)
		}
		callTool(t, session, "read_dump", map[string]any{"paths": []string{"two-dumps.tar.gz"}}, &read)
	}
	if !slices.Equal(read.Forgotten, []string{"case-1"}) {
		t.Errorf("forgotten is %v", read.Forgotten)
	}
	var listed struct {
		Cases []struct{ Case string }
		Total int
		More  string
	}
	callTool(t, session, "list_cases", map[string]any{"limit": 3}, &listed)
	if listed.Total != mostRead || len(listed.Cases) != 3 || listed.Cases[0].Case != read.Case || listed.More != "1 more: ask again with page=2" {
		t.Errorf("listed are %+v", listed)
	}
	callTool(t, session, "list_cases", map[string]any{"page": 1 << 62, "limit": 3}, &listed)
	if listed.Total != mostRead || len(listed.Cases) != 0 || listed.More != "" {
		t.Errorf("a page behind the last one is %+v", listed)
	}
	if words := refusedTool(t, session, "diagnose", map[string]any{"case": "case-1"}); words != "case-1: there is no such case (it was not read, or made room for others: the last 4 stay). read_dump reads files, list_cases names what was read" {
		t.Errorf("the forgotten case answers: %s", words)
	}
}

func TestAnAgentIsRefusedWithWhatWhereAndWhatToDo(t *testing.T) {
	session, _, dir := agent(t)
	if err := os.WriteFile(filepath.Join(dir, "nothing.txt"), []byte("no dump at all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		for _, path := range []string{"/proc/kmsg", "/proc/self"} { // kmsg is a regular file without end
			if got := refusedTool(t, session, "read_dump", map[string]any{"paths": []string{path}}); !strings.Contains(got, path+": cannot be read (the kernel makes it") {
				t.Errorf("%s is refused with %q", path, got)
			}
		}
	}
	var read struct{ Case string }
	callTool(t, session, "read_dump", map[string]any{"paths": []string{"two-dumps.tar.gz"}}, &read)
	for _, c := range []struct {
		tool string
		in   map[string]any
		want string
	}{
		{"read_dump", map[string]any{"paths": []string{"missing.txt"}}, "missing.txt: cannot be read (there is no such file or directory)"},
		{"read_dump", map[string]any{"paths": []string{"nothing.txt"}}, "no dump was found in nothing.txt"},
		{"read_dump", map[string]any{"paths": []string{"-"}}, "the agent speaks there"},
		{"read_dump", map[string]any{"paths": []string{}}, "no path was given"},
		{"read_dump", map[string]any{"path": "two-dumps.tar.gz"}, `unexpected additional properties ["path"]`},
		{"diagnose", map[string]any{"case": read.Case, "paths": []string{"two-dumps.tar.gz"}}, "a case and paths were given"},
		{"diagnose", map[string]any{"case": "case-9"}, "case-9: there is no such case"},
		{"diagnose", map[string]any{"case": "case-\x1b[31m9"}, `case-\x1b[31m9: there is no such case`},
		{"findings", map[string]any{}, `required: missing properties: ["case"]`},
		{"family", map[string]any{"case": read.Case, "family": "g1:0"}, "g1:0: the case has no such family"},
		{"family", map[string]any{"case": read.Case, "family": "g-1", "series": 99}, "series 99: the case has no such process (it has"},
		{"family", map[string]any{"case": read.Case, "family": "g-1", "series": -1}, "series -1: the case has no such process"},
		{"object", map[string]any{"case": read.Case, "object": "o999"}, "o999: the case has no such objects"},
		{"compare", map[string]any{"case": read.Case, "a": "t99"}, "t99: the process has no such snapshot"},
	} {
		if got := refusedTool(t, session, c.tool, c.in); !strings.Contains(got, c.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s %v is refused with %q, want %q", c.tool, c.in, got, c.want)
		}
	}
}

func TestAnAgentIsRefusedPipesAndDevices(t *testing.T) {
	session, _, dir := agent(t)
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, "/dev/null", "/dev/zero", "/dev/stdin", "/proc/self/fd/0"} {
		for _, tool := range []string{"read_dump", "diagnose"} {
			want := path + ": cannot be read (it is neither a file nor a directory, but a pipe, a socket or a device). write what comes from there"
			if got := refusedTool(t, session, tool, map[string]any{"paths": []string{"two-dumps.tar.gz", path}}); !strings.Contains(got, want) {
				t.Errorf("%s of %s is refused with %q", tool, path, got)
			}
		}
	}
	var read struct{ Case string }
	callTool(t, session, "read_dump", map[string]any{"paths": []string{"two-dumps.tar.gz"}}, &read)
	if read.Case != "case-1" {
		t.Errorf("after them the first case is %q", read.Case)
	}
}

func TestAReadingThatHangsGivesUpItsTurnWhenItsRequestIsCancelled(t *testing.T) {
	c := &readCases{turn: make(chan struct{}, 1), panicked: (&Main{Stderr: new(bytes.Buffer)}).panicked}
	ctx, cancel := context.WithCancel(t.Context())
	begun, end, hung := make(chan struct{}), make(chan struct{}), make(chan error)
	defer close(end)
	go func() {
		_, err := c.alone(ctx, func() (*report.Case, error) {
			close(begun)
			<-end
			return nil, nil
		})
		hung <- err
	}()
	<-begun
	waiting, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := c.alone(waiting, func() (*report.Case, error) { panic("two read at once") }); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the turn ended with %v", err)
	}
	cancel()
	if err := <-hung; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the request was cancelled") {
		t.Errorf("the cancelled one ended with %v", err)
	}
	want := new(report.Case)
	if got, err := c.alone(t.Context(), func() (*report.Case, error) { return want, nil }); got != want || err != nil {
		t.Errorf("the next one got %v, %v", got, err)
	}
	if _, err := c.alone(t.Context(), func() (*report.Case, error) { panic("by one file") }); err == nil || !strings.Contains(err.Error(), "something went wrong inside leakdiff") {
		t.Errorf("one that panics ended with %v", err)
	}
}

func TestALineThatIsNoMessageIsAnsweredAndTheSessionGoesOn(t *testing.T) {
	command := exec.CommandContext(t.Context(), binary(t), "mcp")
	command.Env = environment()
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	const ping = `{"jsonrpc": "2.0", "id": 4, "method": "ping"}`
	long := `{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"_meta": {"x": "` + strings.Repeat("x", 30<<20) + `"}}}`
	if _, err := in.Write([]byte("no message\n\n{\"jsonrpc\":\r\n{}\n7\n[" + ping + "]\n[]\n" + long + "\n" + ping + "\n")); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		ID    any
		Error struct {
			Code    int
			Message string
		}
	}
	var got []answer
	for lines := bufio.NewScanner(out); len(got) < 8 && lines.Scan(); {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		got = append(got, a)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	want := make([]answer, 8)
	for i, refused := range []struct {
		code    int
		message string
	}{
		{-32700, "parse error: the line is no JSON; send each message as one line"},
		{-32700, "parse error: the line is no JSON; send each message as one line"},
		{-32600, "invalid request: the line is no message of JSON-RPC 2.0"},
		{-32600, "invalid request: the line is no message of JSON-RPC 2.0"},
		{-32600, "invalid request: several messages came at once; send each by itself, as one line"},
		{-32600, "invalid request: several messages came at once; send each by itself, as one line"},
		{-32600, "invalid request: the line is longer than 16 MiB; name files by their paths"},
	} {
		want[i].Error.Code, want[i].Error.Message = refused.code, refused.message
	}
	want[7].ID = float64(4)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
}

func TestTheDocumentOfAgentsListsEveryTool(t *testing.T) {
	text, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	session, _, _ := agent(t)
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if !strings.Contains(string(text), "\n| `"+tool.Name+"` | ") {
			t.Errorf("docs/mcp.md does not list %s", tool.Name)
		}
	}
	if listed := strings.Count(string(text), "\n| `"); listed != len(tools.Tools) {
		t.Errorf("docs/mcp.md lists %d tools of %d", listed, len(tools.Tools))
	}
}

// TestTheConversationWithAnAgentStaysAsItWasRecorded compares the JSON exchanged for one
// bundle with the recorded one.
func TestTheConversationWithAnAgentStaysAsItWasRecorded(t *testing.T) {
	session, record, _ := agent(t)
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	prompts, err := session.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: prompts.Prompts[0].Name, Arguments: map[string]string{"paths": "two-dumps.tar.gz"}}); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Case    string
		Finding report.Finding
	}
	callTool(t, session, "diagnose", map[string]any{"paths": []string{"two-dumps.tar.gz"}}, &d)
	var out any
	callTool(t, session, "findings", map[string]any{"case": d.Case, "limit": 2}, &out)
	callTool(t, session, "family", map[string]any{"case": d.Case, "family": d.Finding.Families[0], "limit": 2}, &out)
	callTool(t, session, "compare", map[string]any{"case": d.Case, "limit": 2}, &out)
	callTool(t, session, "next_capture", map[string]any{"case": d.Case}, &out)
	refusedTool(t, session, "object", map[string]any{"case": d.Case, "object": "o77"})
	got := record.conversation()
	golden := filepath.Join("testdata", "mcp", "two-dumps.txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the conversation differs from %s (-want +got); write it anew with -update:\n%s", golden, diff)
	}
}
