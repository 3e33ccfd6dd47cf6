package join

import "testing"

func TestTheReceiverIsOfMethodsWithAPointerAlone(t *testing.T) {
	for function, want := range map[string]string{
		"example.org/pool.(*Pool).Get":       "example.org/pool.(*Pool)",
		"example.org/pool.(*Pool).Get.func1": "",
		"example.org/pool.Pool.Get":          "",
		"main.main":                          "",
		"":                                   "",
		// A damaged dump has such names too.
		"main.a).(*conn":     "",
		"main.(*conn":        "",
		".(*conn).read":      "",
		"main.(*a).(*b).run": "",
	} {
		if got := receiver(function); got != want {
			t.Errorf("receiver(%q) = %q, want %q", function, got, want)
		}
	}
}
