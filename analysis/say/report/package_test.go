package report

import (
	"testing"

	"leakdiff/analysis"
)

func TestPartsOfKubernetesBeyondOneMinorVersionAreTold(t *testing.T) {
	for _, test := range []struct {
		name string
		all  []analysis.Package
		want string
	}{
		{"two apart", []analysis.Package{{Name: "program:Client", Version: "v1.31.2"}, {Name: "deb:kubelet", Version: "1.29.9-1.1"}}, "Kubectl v1.31.2 and kubelet 1.29.9-1.1 are 2 minor versions apart"},
		{"one apart", []analysis.Package{{Name: "program:Client", Version: "v1.31.2"}, {Name: "program:Server", Version: "v1.30.0"}}, ""},
		{"the furthest of three", []analysis.Package{{Name: "program:Server", Version: "v1.29.0"}, {Name: "program:Client", Version: "v1.31.2"}, {Name: "program:Kubernetes", Version: "v1.27.9"}}, "Kubectl v1.31.2 and kubelet v1.27.9 are 4 minor versions apart"},
		{"a kubelet that is older than its control plane", []analysis.Package{{Name: "program:Server", Version: "v1.31.0"}, {Name: "program:Kubernetes", Version: "v1.28.9"}}, ""},
		{"two lists of one part", []analysis.Package{{Name: "deb:kubelet", Version: "1.27.9"}, {Name: "program:kubelet", Version: "v1.31.0"}}, ""},
		{"other programs", []analysis.Package{{Name: "deb:containerd", Version: "1.6.20"}, {Name: "deb:kubelet", Version: "1.27.9"}}, ""},
		{"a version that is none", []analysis.Package{{Name: "program:Client", Version: "v1.x"}, {Name: "deb:kubelet", Version: "1.27.9"}}, ""},
	} {
		if got := skew(test.all); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
