package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"

	"leakdiff/cmd/leakdiff/internal/testprogram"
)

// action is what a runner knows of an action.yml.
type action struct {
	Inputs map[string]struct {
		Default  string `json:"default"`
		Required bool   `json:"required"`
	} `json:"inputs"`
	Outputs map[string]struct {
		Value string `json:"value"`
	} `json:"outputs"`
	Runs struct {
		Steps []struct {
			Name, ID, If, Shell, Run string
			Env                      map[string]string
		} `json:"steps"`
	} `json:"runs"`
}

// runner runs the steps of an action as a machine of pipelines does.
type runner struct {
	t      *testing.T
	action action
	dir    string
	// values are those of expressions such as inputs.load.
	values map[string]string
	env    []string
}

var reference = regexp.MustCompile(`\$\{\{ *([a-z_.-]+) *\}\}`)

func (r *runner) resolved(text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		name := reference.FindStringSubmatch(found)[1]
		value, ok := r.values[name]
		if !ok && !strings.HasPrefix(name, "steps.") {
			r.t.Errorf("nobody sets %s", name)
		}
		return value
	})
}

// run returns the status of the step that failed, 0 if none did.
func (r *runner) run() (status int, failed string) {
	outputs := filepath.Join(r.dir, "outputs")
	for _, step := range r.action.Runs.Steps {
		switch step.If {
		case "":
		case "inputs.comment == 'true' && github.event_name == 'pull_request'":
			if r.values["inputs.comment"] != "true" {
				continue
			}
		default:
			r.t.Fatalf("an unknown condition: %s", step.If)
		}
		cmd := exec.CommandContext(r.t.Context(), step.Shell, "-eo", "pipefail", "-c", r.resolved(step.Run))
		cmd.Dir, cmd.Env = r.dir, append(r.env, "GITHUB_OUTPUT="+outputs, "GITHUB_STEP_SUMMARY="+filepath.Join(r.dir, "summary"))
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+r.resolved(value))
		}
		text, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			if ended.ExitCode() > 1 {
				r.t.Logf("%s:\n%s", step.Name, text)
			}
			return ended.ExitCode(), step.Name
		}
		if err != nil {
			r.t.Fatal(err)
		}
		written, err := os.ReadFile(outputs)
		if err != nil && !os.IsNotExist(err) {
			r.t.Fatal(err)
		}
		for line := range strings.Lines(string(written)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			r.values["steps."+step.ID+".outputs."+name] = value
		}
	}
	return 0, ""
}

// leaky serves profiles of this process, and /leak, each request for which leaves goroutines
// until the test ends.
func leaky(t *testing.T) string {
	t.Helper()
	end := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/leak", func(w http.ResponseWriter, _ *http.Request) {
		for range 40 {
			go func() { <-end }()
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { close(end); server.Close() })
	return server.URL
}

func TestTheActionFailsWhereTheLoadLeavesGoroutines(t *testing.T) {
	whole, err := filepath.Abs("../../.github/actions/leakdiff")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(whole, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var read action
	if _, err := yaml.Unmarshal(text, &read, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, failOn string
		status             int
		failed             string
		want               string
		// baseline is a file of the baseline in place of the capture before the load.
		baseline string
		// listed are the ids of the comments with its marker, said how it comments.
		listed, said string
	}{
		{"a load that leaves some fails", "/leak", "grew", 1, "Verdict", "40 goroutines", "", "", "--method POST repos/example/shop/issues/7/comments"},
		{"it does not where only leaks do", "/leak", "leaking", 0, "", "40 goroutines", "", "31\n57\n", "--method PATCH repos/example/shop/issues/comments/31"},
		{"a load that leaves none passes", "/", "grew", 0, "", "Nothing is new or more than in the baseline.", "", "", "--method POST repos/example/shop/issues/7/comments"},
		{"a report that fails leaves the comment", "/", "nothing", 2, "Report", "", "", "31\n", ""},
		{"what was not captured again is commented and fails", "/", "leaking", 2, "Verdict", "the baseline has descriptors of", "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\nshop 7 u 5u REG 8,1 0 77 /var/shop/data\n", "", "--method POST repos/example/shop/issues/7/comments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, dir := leaky(t), t.TempDir()
			gh := "#!/bin/sh\necho \"$@\" >> " + dir + "/said\ncase \"$*\" in *--paginate*) echo \"$MARKER\" > " + dir + "/marker; cat " + dir + "/listed ;; esac\n"
			put(t, filepath.Join(dir, "listed"), c.listed)
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755), testprogram.Write(filepath.Join(dir, "bin", "gh"), []byte(gh))); err != nil {
				t.Fatal(err)
			}
			r := &runner{t: t, action: read, dir: dir, env: append(environment(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))}
			r.values = map[string]string{
				"runner.temp": filepath.Join(dir, "temp"), "github.action_path": whole, "github.token": "secret",
				"github.event.pull_request.number": "7", "github.repository": "example/shop",
			}
			given := map[string]string{"load": "curl -s -o " + dir + "/answer " + url + c.path, "pprof": url, "fail-on": c.failOn, "count": "2", "every": "1s", "leakdiff": binary(t)}
			if c.baseline != "" {
				given["baseline"] = filepath.Join(dir, "lsof.txt")
				put(t, given["baseline"], c.baseline)
			}
			for name, in := range read.Inputs {
				value, ok := given[name]
				if in.Required && !ok {
					t.Errorf("%s is required", name)
				}
				if !ok {
					value = in.Default
				}
				r.values["inputs."+name] = value
			}
			status, failed := r.run()
			answer, err := os.ReadFile(filepath.Join(dir, "temp", "leakdiff", "answer.md"))
			if err != nil {
				t.Fatal(err)
			}
			if status != c.status || failed != c.failed || !strings.Contains(string(answer), c.want) {
				t.Errorf("step %q ended with %d, want %q with %d\n%s", failed, status, c.failed, c.status, answer)
			}
			said, err := os.ReadFile(filepath.Join(dir, "said"))
			if c.said == "" {
				if !os.IsNotExist(err) {
					t.Errorf("gh was told %q, %v", said, err)
				}
				return
			}
			comment := filepath.Join(dir, "temp", "leakdiff", "comment.md")
			if want := fmt.Sprintf("api --silent %s --field body=@%s\n", c.said, comment); err != nil || !strings.HasSuffix(string(said), "\n"+want) || !strings.Contains(string(said), "startswith(env.MARKER)") {
				t.Errorf("gh was told %q, %v, want %q", said, err, want)
			}
			const marker = "<!-- leakdiff action: leakdiff -->\n"
			written, err := os.ReadFile(comment)
			if err != nil || string(written) != marker+string(answer) {
				t.Errorf("the comment is %q, %v", written, err)
			}
			if sought, err := os.ReadFile(filepath.Join(dir, "marker")); err != nil || string(sought) != marker {
				t.Errorf("it looks for %q, %v", sought, err)
			}
			for name, out := range read.Outputs {
				if path := r.resolved(out.Value); path == "" {
					t.Errorf("the output %s is empty", name)
				} else if _, err := os.Stat(path); err != nil {
					t.Errorf("the output %s: %v", name, err)
				}
			}
		})
	}
}

func TestTheActionSaysThatNothingWasCaptured(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "../../.github/actions/leakdiff/gate.sh", "capture", "before.tar.gz")
	cmd.Env = append(environment(), "LEAKDIFF="+binary(t), "DIR="+dir, "PPROF="+silentAddress(t), "COUNT=1")
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exitError {
		t.Errorf("it ended with %v, want status %d", err, exitError)
	}
	for _, want := range []string{"nothing was captured", "connection refused", "::error title=leakdiff::before.tar.gz was not captured"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
}

func TestTheExampleOfATestMainFailsWhereGoroutinesStay(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(binary(t), filepath.Join(dir, "leakdiff")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, forget, want string
		fails              bool
	}{
		{"carts are closed", "", "ok", false},
		{"carts are forgotten", "FORGET=1", "5 now; the budget allows 0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./...")
			cmd.Dir, cmd.Env = "../../docs/ci/testmain", append(os.Environ(), c.forget, "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails || !strings.Contains(string(out), c.want) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
