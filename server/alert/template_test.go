package alert

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/store"
)

var at = time.Date(2026, 11, 25, 21, 10, 38, 0, time.UTC)

// bodiesOf returns what the template of a file makes of an alert that begins and of one that ends.
func bodiesOf(t *testing.T, path, title string) (began, ended string) {
	t.Helper()
	template, err := ReadTemplate(path)
	if err != nil {
		t.Fatal(err)
	}
	a := New(Config{Template: template, Hosts: 3, BaseURL: "https://leaks.example.org", Version: "1.0"})
	of := store.Alert{ID: "d1", Started: true, Fingerprint: "g1:2e", Title: title, Kind: analysis.KindGoroutine, Hosts: 4, Named: []string{"node-a", "node-b"}, At: at, Since: at}
	first, err := a.body(of)
	if err != nil {
		t.Fatal(err)
	}
	of.Started, of.Hosts, of.Named = false, 0, nil
	second, err := a.body(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(first), string(second)
}

func TestTheTemplatesOfTheDocumentsSayWhatTheirReceiversRead(t *testing.T) {
	const began = `say "hi" leaks on 4 hosts, more than 3: node-a, node-b and 2 more. https://leaks.example.org/fleet/g1:2e`
	const ended = `say "hi" leaks on no host now. The alert has ended. https://leaks.example.org/fleet/g1:2e`
	card := func(title, text string) map[string]any {
		block := func(more map[string]any, text string) map[string]any {
			more["type"], more["wrap"], more["text"] = "TextBlock", true, text
			return more
		}
		return map[string]any{"type": "message", "attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": map[string]any{
			"type": "AdaptiveCard", "version": "1.4", "body": []any{block(map[string]any{"weight": "bolder"}, title), map[string]any{"type": "RichTextBlock", "inlines": []any{map[string]any{"type": "TextRun", "text": text}}}},
			"actions": []any{map[string]any{"type": "Action.OpenUrl", "title": "Open in leakdiff", "url": "https://leaks.example.org/fleet/g1:2e"}},
		}}}}
	}
	page := func(action, text string, hosts ...any) map[string]any {
		return map[string]any{
			"routing_key": "YOUR-INTEGRATION-KEY", "dedup_key": "leakdiff g1:2e", "event_action": action,
			"payload": map[string]any{"summary": text, "source": "leakdiff", "severity": "warning", "component": "g1:2e", "custom_details": map[string]any{"hosts": append([]any{}, hosts...)}},
			"links":   []any{map[string]any{"href": "https://leaks.example.org/fleet/g1:2e", "text": "leakdiff"}},
		}
	}
	for name, want := range map[string][2]any{
		"slack": {map[string]any{"text": began}, map[string]any{"text": ended}},
		"teams": {card("A leak on many hosts", began), card("A leak has ended", ended)},
		"jira": {map[string]any{"fields": map[string]any{
			"project": map[string]any{"key": "OPS"}, "issuetype": map[string]any{"name": "Bug"}, "labels": []any{"leakdiff"}, "summary": `Leak on 4 hosts: say "hi"`,
			"description": strings.Replace(began, "://", ":&#47;/", 1) + "\n[Open in leakdiff|https://leaks.example.org/fleet/g1:2e]",
		}}, nil},
		"pagerduty": {page("trigger", began, "node-a", "node-b"), page("resolve", ended)},
	} {
		first, second := bodiesOf(t, filepath.Join("..", "..", "docs", "monitoring", name+".tmpl"), `say "hi"`)
		for i, text := range []string{first, second} {
			var got any
			if text != "" {
				if err := json.Unmarshal([]byte(text), &got); err != nil {
					t.Errorf("%s: %v in %s", name, err, text)
				}
			}
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestANameIsNoMarkupToAReceiver(t *testing.T) {
	const title = `<!channel> & <https://e.example|x> [x](https://e.example) {code} [~admin] !x.png!`
	// Where texts are plain, the title is as it is.
	for name, want := range map[string]string{
		"slack":     `"&lt;!channel&gt; &amp; &lt;https://e.example|x&gt; [x](https://e.example) {code} [~admin] !x.png! leaks`,
		"jira":      `"<\!channel> & <https:&#47;/e.example\|x> \[x\](https:&#47;/e.example) \{code\} \[\~admin\] \!x.png! leaks`,
		"teams":     `"type": "TextRun", "text": "` + title + ` leaks`,
		"pagerduty": `"summary": "` + title + ` leaks`,
	} {
		body, _ := bodiesOf(t, filepath.Join("..", "..", "docs", "monitoring", name+".tmpl"), title)
		body = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\\`, `\`).Replace(body)
		if !strings.Contains(body, want) {
			t.Errorf("%s reads %s, want %s", name, body, want)
		}
	}
}

func TestATemplateThatCannotBeUsedIsRefusedWithItsReason(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no action":             {`{{.text`, "unclosed action"},
		"a field that is not":   {`{{.txt}}`, `map has no entry for key "txt"`},
		"a field of a sample":   {`{{len .title}}`, "len"}, // an alert that ended may have none
		"a value that no quote": {`{"text": "{{.text}}"}`, "is no JSON"},
		"a list without an end": {`[{{json .text}}`, "is no JSON"},
		"nothing":               {"\n", "it makes nothing of any alert"},
		"too much":              {strings.Repeat("x", mostTemplate+1), "the limit is 65536"},
	} {
		path := filepath.Join(t.TempDir(), "a.tmpl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTemplate(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--alert-template "+path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadTemplate(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("a missing file: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dev/zero", pipe, t.TempDir()} {
		if _, err := ReadTemplate(path); err == nil || !strings.Contains(err.Error(), "it is no regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestATemplateMayWriteText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tmpl")
	if err := os.WriteFile(path, []byte("{{.event}}: {{.text}}{{range .host_names}} #{{.}}{{end}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	began, _ := bodiesOf(t, path, `say "hi"`)
	if want := `started: say "hi" leaks on 4 hosts, more than 3: node-a, node-b and 2 more. https://leaks.example.org/fleet/g1:2e #node-a #node-b`; began != want {
		t.Errorf("%q, want %q", began, want)
	}
}
