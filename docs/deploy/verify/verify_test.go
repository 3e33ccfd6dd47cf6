// Package verify reads the files of docs/deploy as their own programs do. It is a module of
// its own, so that the program does not depend on them.
package verify

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// TestManifestsAreWhatKubernetesKnows decodes strictly: a field that there is not is an error.
func TestManifestsAreWhatKubernetesKnows(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for _, path := range files(t, "../kubernetes/*.yaml") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range bytes.Split(content, []byte("\n---\n")) {
			object, _, err := strict.Decode(document, nil, nil)
			if err != nil {
				t.Errorf("%s, document %d: %v", path, i+1, err)
				continue
			}
			for _, pod := range podsOf(object) {
				followsItself(t, path, pod)
			}
		}
	}
}

func podsOf(object runtime.Object) []corev1.PodTemplateSpec {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return []corev1.PodTemplateSpec{o.Spec.Template}
	case *appsv1.StatefulSet:
		return []corev1.PodTemplateSpec{o.Spec.Template}
	case *appsv1.DaemonSet:
		return []corev1.PodTemplateSpec{o.Spec.Template}
	}
	return nil
}

// followsItself finds mounts of volumes and ports of probes that the pod does not have.
func followsItself(t *testing.T, path string, pod corev1.PodTemplateSpec) {
	t.Helper()
	for _, c := range pod.Spec.Containers {
		ports := map[string]bool{}
		for _, p := range c.Ports {
			ports[p.Name] = true
		}
		if len(ports) > 0 { // else nobody asks it
			if p := c.ReadinessProbe; p == nil || p.HTTPGet == nil || !ports[p.HTTPGet.Port.StrVal] {
				t.Errorf("%s: nobody asks %s whether it is ready", path, c.Name)
			}
			// Pages and /healthz are 503 without a database, which no restart mends.
			for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe} {
				if p == nil || p.TCPSocket == nil || !ports[p.TCPSocket.Port.StrVal] {
					t.Errorf("%s: an outage of the database restarts %s", path, c.Name)
				}
			}
		}
		if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			t.Errorf("%s: %s may write to its image", path, c.Name)
		}
	}
}

func TestComposeFilesLoad(t *testing.T) {
	for _, path := range files(t, "../compose*.yaml") {
		options, err := cli.NewProjectOptions([]string{path}, cli.WithName("leakdiff"), cli.WithEnv([]string{"POSTGRES_PASSWORD=p", "S3_ACCESS_KEY=a", "S3_SECRET_KEY=s"}))
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(context.Background())
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if project.Services["leakdiff"].Image != "leakdiff" {
			t.Errorf("%s: there is no service leakdiff", path)
		}
		if restart := project.Services["leakdiff"].Restart; restart != "unless-stopped" {
			t.Errorf("%s: a server that ends without its database is restarted %q", path, restart)
		}
	}
}

// TestAServerIsStartedUntilItsDatabaseAnswers reads the unit: systemd gives up after five starts
// within ten seconds unless it is told not to.
func TestAServerIsStartedUntilItsDatabaseAnswers(t *testing.T) {
	content, err := os.ReadFile("../systemd/leakdiff.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\nRestart=on-failure\n", "\nStartLimitIntervalSec=0\n"} {
		if !strings.Contains(string(content), line) {
			t.Errorf("the unit has no line %q", line)
		}
	}
}

// TestUnitsAreWhatSystemdKnows gives systemd-analyze units whose program exists.
func TestUnitsAreWhatSystemdKnows(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("systemd-analyze is not installed and CI=true: make tools installs it")
		}
		t.Skip("systemd-analyze is not installed (Debian: systemd)")
	}
	dir := t.TempDir()
	var units []string
	for _, path := range files(t, "../systemd/*") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unit := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(content), "/usr/bin/leakdiff", "/bin/true")), 0o644); err != nil {
			t.Fatal(err)
		}
		units = append(units, unit)
	}
	out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, units...)...).CombinedOutput()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no file is %s: %v", pattern, err)
	}
	return found
}

// TestRulesAreThoseOfPrometheus reads the alerts as promtool check rules does.
func TestRulesAreThoseOfPrometheus(t *testing.T) {
	groups, errs := rulefmt.ParseFile("../../monitoring/alerts.yml", false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil || len(groups.Groups) == 0 {
		t.Fatal("there are no rules")
	}
	for _, g := range groups.Groups {
		for _, rule := range g.Rules {
			if rule.Annotations["summary"] == "" || rule.Annotations["action"] == "" {
				t.Errorf("%s says not what is wrong and what to do", rule.Alert)
			}
		}
	}
}
