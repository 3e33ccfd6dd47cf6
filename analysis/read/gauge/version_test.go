package gauge_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/read/gauge"
)

func TestVersionsOfLists(t *testing.T) {
	type parser func(io.Reader, string, func(string) bool) (*gauge.Versions, []analysis.Problem, error)
	for _, test := range []struct {
		name, text string
		parse      parser
		want       string
	}{
		{"dpkg -l", "ii  containerd  1.6.20~ds1-1+b1  amd64  open and reliable container runtime\nii  kubelet:amd64     1.27.9-1.1       amd64  Node agent\nrc  runc 1.1 amd64 x\n", gauge.ParseVersions, "deb:containerd 1.6.20~ds1-1+b1, deb:kubelet 1.27.9-1.1 of 2"},
		{"rpm -qa", "containerd-1.6.20-3.1.el9.x86_64\nkernel-core-5.14.0-362.el9.x86_64\n", gauge.ParseVersions, "rpm:containerd 1.6.20, rpm:kernel-core 5.14.0 of 2"},
		{"npm ls", "watch-agent@4.2.0 /srv/watch-agent\n+-- @kubernetes/client-node@1.3.0\n│ └── pino@9.4.0 deduped\n`-- undici@5.21.0\n", gauge.ParseVersions, "npm:watch-agent 4.2.0, npm:@kubernetes/client-node 1.3.0, npm:pino 9.4.0, npm:undici 5.21.0 of 4"},
		{"plugins of Jenkins", "kubernetes:1.26.4\ndurable-task:1.28:not-pinned\n", gauge.ParseVersions, "jenkins:kubernetes 1.26.4, jenkins:durable-task 1.28 of 2"},
		{"go version -m", "agent: go1.24.1\n\tpath\texample.com/agent\n\tmod\texample.com/agent\tv1.4.0\t\n\tdep\tk8s.io/client-go\tv0.31.1\th1:abc=\n", gauge.ParseVersions, "go:example.com/agent v1.4.0, go:k8s.io/client-go v0.31.1 of 2"},
		{"go version -m with a module that stands in for another", "\tdep\tgithub.com/quic-go/quic-go\tv0.30.0\n\t=>\texample.com/fork\tv0.99.0\th1:x=\n\tdep\tk8s.io/api\tv0.31.1\n", gauge.ParseVersions, "go:k8s.io/api v0.31.1 of 1"},
		{"kubectl version", "Client Version: v1.31.2\nServer Version: v1.27.9\n", gauge.ParseVersions, "program:Client v1.31.2, program:Server v1.27.9 of 2"},
		{"kubelet --version", "Kubernetes v1.27.9\n", gauge.ParseVersions, "program:Kubernetes v1.27.9 of 1"},
		{"package.json, in which a range is no version", `{"dependencies": {"@kubernetes/client-node": "1.3.0", "undici": "^5.0.0"}}`, gauge.ParsePackageJSON, "npm:@kubernetes/client-node 1.3.0 of 2"},
		{"package-lock.json", `{"lockfileVersion": 3, "packages": {"": {"version": "4.2.0"}, "node_modules/undici": {"version": "5.21.0"}, "node_modules/a/node_modules/undici": {"version": "5.20.0"}}}`, gauge.ParsePackageJSON, "npm:undici 5.20.0, npm:undici 5.21.0 of 2"},
		{"a lock file of npm 6", `{"dependencies": {"undici": {"version": "5.21.0", "requires": {}}}}`, gauge.ParsePackageJSON, "npm:undici 5.21.0 of 1"},
		{"JSON that is cut", `{"dependencies": {`, gauge.ParsePackageJSON, " of 0, the list of packages is not whole"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, problems, err := test.parse(strings.NewReader(test.text), "x", func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, p := range found.Kept {
				words = append(words, p.Name+" "+p.Version)
			}
			if got := fmt.Sprint(strings.Join(words, ", "), " of ", found.Rows); got != test.want && got+", "+problemsOf(problems) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if !gauge.Wanted("jenkins:kubernetes") || !gauge.Wanted("rpm:containerd") || gauge.Wanted("npm:pino") {
		t.Error("what is wanted")
	}
	if head := strings.Split("Desired=Unknown/Install\n| Status=Not/Inst\n|/ Err?=(none)\n||/ Name  Version\n+++-====-====\nii  kubelet  1.29.3-1.1  amd64  x", "\n"); !gauge.IsVersions(head) {
		t.Error("a short list of dpkg below its head is none")
	}
	if gauge.IsVersions([]string{"web:8080", "localhost:443", "see kubernetes:1.26.4 there"}) {
		t.Error("addresses are a list of versions")
	}
}

func problemsOf(problems []analysis.Problem) string {
	var words []string
	for _, p := range problems {
		words = append(words, p.What)
	}
	return strings.Join(words, ", ")
}

func TestAListHasABoundedNumberOfVersions(t *testing.T) {
	var text strings.Builder
	for i := range 1002 {
		fmt.Fprintf(&text, "undici@5.0.%d\n", i)
	}
	text.WriteString("undici@5.0.0\nno package\n")
	found, problems, _ := gauge.ParseVersions(strings.NewReader(text.String()), "x", func(string) bool { return true })
	if len(found.Kept) != 1000 || found.Left != 2 || found.Rows != 1003 || problemsOf(problems) != "a line is no package with a version" {
		t.Errorf("%d kept and %d left of %d, %v", len(found.Kept), found.Left, found.Rows, problems)
	}
}

func FuzzVersions(f *testing.F) {
	f.Add("ii  containerd  1.6.20  amd64\nkubernetes:1.26.4\n+-- a@1.2.3\n", `{"dependencies": {"a": "1.2.3"}, "packages": {"node_modules/a": {"version": "1.2.3"}}}`)
	f.Fuzz(func(t *testing.T, list, json string) {
		all := func(string) bool { return true }
		found, _, err := gauge.ParseVersions(strings.NewReader(list), "x", all)
		if err != nil || len(found.Kept)+found.Left > found.Rows || found.Rows > strings.Count(list, "\n")+1 {
			t.Errorf("%d of %d rows: %v", len(found.Kept), found.Rows, err)
		}
		if found, _, err = gauge.ParsePackageJSON(strings.NewReader(json), "package.json", all); err != nil || len(found.Kept)+found.Left > found.Rows {
			t.Errorf("%d of %d rows: %v", len(found.Kept), found.Rows, err)
		}
		if slices.ContainsFunc(found.Kept, func(p analysis.Package) bool { return p.Name == "" || p.Version == "" }) {
			t.Error("a package without name or version")
		}
	})
}
