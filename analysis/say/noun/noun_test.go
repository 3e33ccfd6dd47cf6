package noun

import "testing"

func TestNounsOf(t *testing.T) {
	for _, c := range []struct{ name, what, want string }{
		{"a type", "k8s.io/client-go/informers.(*sharedInformerFactory)", "informer factory"},
		{"its method", "k8s.io/client-go/informers.(*sharedInformerFactory).Start", "informer factory"},
		{"the same, vendored", "example.org/app/vendor/k8s.io/client-go/informers.(*sharedInformerFactory).Start", "informer factory"},
		{"another type whose name begins alike", "k8s.io/client-go/informers.(*sharedInformerFactoryOptions)", ""},
		{"a pool of threads", "OkHttp ConnectionPool", "OkHttp client"},
		{"a pool whose name begins alike", "OkHttpish", ""},
		{"nothing", "", ""},
	} {
		got := ""
		if n := Of(c.what); n != nil {
			got = n.One
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if n := Of("main.run", "net/http.(*persistConn)"); n == nil || n.Words(2) != "2 HTTP connections" || n.Words(1) != "1 HTTP connection" {
		t.Errorf("the second of two names: %+v", n)
	}
}

func TestTheListIsComplete(t *testing.T) {
	list, err := all()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, n := range list {
		for _, m := range n.Match {
			if seen[m] {
				t.Errorf("%s stands twice", m)
			}
			seen[m] = true
		}
	}
	for name, text := range map[string]string{
		"an unknown member":    `[{"match": ["x"], "one": "x", "many": "xs", "began": "a", "ended": "b", "source": "c", "more": 1}]`,
		"an entry without one": `[{"match": ["x"], "many": "xs", "began": "a", "ended": "b", "source": "c"}]`,
	} {
		if _, err := read([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
