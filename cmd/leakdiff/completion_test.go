package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"leakdiff/samples/corpus"
)

// TestTheManualPageAndItsTwinAreFresh also writes them, with -update; make generate does so.
func TestTheManualPageAndItsTwinAreFresh(t *testing.T) {
	for form, path := range map[string]string{"man": "../../docs/leakdiff.1", "markdown": "../../docs/cli.md"} {
		var out, errors bytes.Buffer
		m := Main{Stdout: &out, Stderr: &errors}
		if status := m.Run(t.Context(), []string{"manual", form}); status != exitDone {
			t.Fatalf("manual %s: status %d, %s", form, status, &errors)
		}
		if *update {
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(have, out.Bytes()) {
			t.Errorf("%s is not what the flags say now: make generate writes it anew (%v)", path, err)
		}
	}
}

// TestTheManualPageHasNoFault asks those who set it.
func TestTheManualPageHasNoFault(t *testing.T) {
	for _, command := range [][]string{{"mandoc", "-Tlint", "-Wwarning"}, {"groff", "-man", "-ww", "-z", "-Tascii"}} {
		t.Run(command[0], func(t *testing.T) {
			need(t, command[0])
			out, err := exec.Command(command[0], append(command[1:], "../../docs/leakdiff.1")...).CombinedOutput()
			for line := range strings.Lines(string(out)) {
				// The page has none, so that equal flags give equal bytes.
				if !strings.Contains(line, "missing date") {
					t.Error(line)
				}
			}
			if err != nil && len(out) == 0 {
				t.Error(err)
			}
		})
	}
}

// need leaves the test out where a program is not installed.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed and CI=true: make tools installs it", program)
	}
	corpus.LeaveOut(t, "%s is not installed", program)
}

// inShell runs a script in a directory with the program on its PATH and a file dump.txt.
func inShell(t *testing.T, shell ...string) string {
	t.Helper()
	need(t, shell[0])
	dir := t.TempDir()
	bin := filepath.Join(dir, ".bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary(t), filepath.Join(bin, "leakdiff")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dump.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell[0], shell[1:]...)
	cmd.Dir = dir
	cmd.Env = environment("PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell[0], err, out)
	}
	return string(out)
}

func TestBashCompletesWords(t *testing.T) {
	for words, want := range map[string]string{
		"pu":               "push\n",
		"token ":           "create\nlist\nrevoke\n",
		"report --fo":      "--format\n",
		"report --format=": "text\nmd\njson\n", // the first of them
		"report du":        "dump.txt\n",
		"serve --data ":    "dump.txt\n",
		"no-such-command ": "\n",
	} {
		// The words as bash parts them, the last one being that of the cursor.
		words := strings.ReplaceAll(words, "=", " = ")
		if strings.HasSuffix(words, " ") {
			words = strings.TrimSuffix(words, " ")
			if !strings.HasSuffix(words, "=") {
				words += ` ""`
			}
		}
		got := inShell(t, "bash", "--norc", "-c", `source <(leakdiff completion bash)
COMP_WORDS=(leakdiff `+words+`); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p leakdiff | sed 's/.*-F \([^ ]*\).*/\1/'); _leakdiff; printf '%s\n' "${COMPREPLY[@]}"`)
		if !strings.HasPrefix(got, want) {
			t.Errorf("bash makes %q of %q, want %q", got, words, want)
		}
	}
}

func TestFishCompletesWords(t *testing.T) {
	for line, want := range map[string]string{
		"pu":                 "push\tUpload files",
		"token ":             "create\tMake a token",
		"report --fo":        "--format\ttext, md",
		"report --format=js": "--format=json\n",
		"report --format js": "json\n",
		"report du":          "dump.txt",
		"serve --data=du":    "--data=dump.txt",
	} {
		got := inShell(t, "fish", "--private", "-c", `leakdiff completion fish | source; complete -C "leakdiff `+line+`"`)
		if !strings.HasPrefix(got, want) {
			t.Errorf("fish makes %q of %q, want %q", got, line, want)
		}
	}
}

// TestZshCompletesWords types into a zsh on a terminal of its own and waits for what it makes
// of a tab.
func TestZshCompletesWords(t *testing.T) {
	for line, want := range map[string]string{
		"leakdiff pu":                 "leakdiff push ",
		"leakdiff token cr":           "leakdiff token create ",
		"leakdiff report --form":      "leakdiff report --format ",
		"leakdiff report --format js": "leakdiff report --format json ",
		"leakdiff report du":          "leakdiff report dump.txt ",
	} {
		inShell(t, "zsh", "-f", "-c", `
zmodload zsh/zpty
zpty typed zsh -f -i
zpty -w typed 'PROMPT=; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; source <(leakdiff completion zsh); print $((6*7)) is ready'
zpty -r -m typed seen '*42 is ready*' || exit 3
zpty -w -n typed '`+line+`'$'\t''#'
zpty -r -m typed seen '*`+want+`*#*' || exit 4
`)
	}
}
