package knowledge

import "testing"

func TestACreatorThatWasInlinedIsItsMethod(t *testing.T) {
	for _, test := range []struct {
		name, creator string
		want          bool
	}{
		{"by its own name", "example.com/a/jsonrpc2.(*Connection).start", true},
		{"a closure of it", "example.com/a/jsonrpc2.(*Connection).start.func1", true},
		{"inlined into the constructor", "example.com/a/jsonrpc2.NewConnection.(*Connection).start.func1", true},
		{"inlined into a method", "example.com/a/jsonrpc2.(*Server).Serve.(*Connection).start.func1", true},
		{"a method of another type", "example.com/a/jsonrpc2.NewConnection.(*Reader).start.func1", false},
		{"of another package", "example.com/b/jsonrpc2.NewConnection.(*Connection).start.func1", false},
		{"the function that it was inlined into alone", "example.com/a/jsonrpc2.NewConnection.func1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := created(creators([]string{"example.com/a/jsonrpc2.(*Connection).start"}), test.creator); got != test.want {
				t.Errorf("%s: %v", test.creator, got)
			}
		})
	}
}
