package wait

import "testing"

func TestReceiverTypes(t *testing.T) {
	tests := map[string]string{
		"github.com/docker/go-metrics.(*Namespace).Collect":           "github.com/docker/go-metrics.Namespace",
		"k8s.io/kubernetes/vendor/golang.org/x/net/http2.(*Conn).Run": "golang.org/x/net/http2.Conn",
		"net/http.Header.Get":           "net/http.Header",
		"main.(*T).run.func1":           "",
		"main.run":                      "",
		"main.main.func1":               "",
		"sync.(*Mutex).lockSlow":        "sync.Mutex",
		"main.(*Set[go.shape.int]).Add": "main.Set",
	}
	for function, want := range tests {
		if got := ReceiverType(function); got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
}
