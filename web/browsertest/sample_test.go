package browsertest

import (
	"net/http"
	"os"
	"testing"
)

// uploaded is a sample on the program: its bundle, its case and its snapshots.
type uploaded struct {
	ID, Case, Status string
	Snapshots        []struct{ ID, Label, Process string }
}

// uploadSample uploads the kubelet sample and waits until it was read.
func uploadSample(t testing.TB, base string) uploaded {
	t.Helper()
	archive, err := os.Open(kubeletSample)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var up uploaded
	send(t, http.MethodPut, base+"/api/v1/bundles/kubelet-probe-leak.tar.gz?wait=1", archive, &up)
	if up.Status != "done" {
		t.Fatalf("the sample is %q after waiting for it", up.Status)
	}
	return up
}

// address is the case's, query what names the case to other pages.
func (u uploaded) address() string { return "/cases/" + u.Case }
func (u uploaded) query() string   { return "?case=" + u.Case }

// kubelet is the id of the kubelet's snapshot of a label, "t6".
func (u uploaded) kubelet(label string) string {
	for _, s := range u.Snapshots {
		if s.Process == "kubelet" && s.Label == label {
			return s.ID
		}
	}
	return ""
}
