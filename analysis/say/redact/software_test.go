package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOfAPathOfSoftwareOnlyWhatIsKnownStays(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a class path", "/usr/lib/x.jar:/srv/zorblebank/y.jar", "/usr/lib/x.jar:/srv/name-1/y.jar"},
		{"one with semicolons", "/usr/lib/x.jar;/srv/zorblebank/y.jar", "/usr/lib/x.jar;/srv/name-1/y.jar"},
		{"one that begins with data", "/srv/zorblebank/y.jar:/usr/lib/x.jar", "/srv/path-1/y.jar:/usr/lib/x.jar"},
		{"data of somebody", "/usr/lib/zorblebank/customers.db", "/usr/lib/path-1/path-2"},
		{"data of a known program", "/usr/lib/postgresql/salaries.csv", "/usr/lib/postgresql/path-1"},
		{"a directory of somebody with a library", "/usr/lib/zorblebank/libzq.so.3", "/usr/lib/path-1/libzq.so.3"},
		{"a script below it", "/usr/lib64/python3/zorblebank/x.py", "/usr/lib64/python3/path-1/x.py"},
		{"a directory of somebody for programs", "/usr/bin/zorblebank/run", "/usr/bin/path-1/run"},
		{"a file of no known kind", "/lib/zorblebank.conf", "/lib/path-1"},
		{"libraries", "/usr/lib/x86_64-linux-gnu/libzq.so.3 and /usr/lib/zq.jar", "/usr/lib/x86_64-linux-gnu/libzq.so.3 and /usr/lib/zq.jar"},
		{"a module of the kernel", "/lib/modules/zq.ko", "/lib/modules/zq.ko"},
		{"a program", "/usr/bin/zqd /sbin/zqctl", "/usr/bin/zqd /sbin/zqctl"},
		{"a virtual machine", "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"},
		{"only a directory", "/lib/ /usr/bin/ /usr/lib", "/lib/ /usr/bin/ /usr/lib"},
		{"Go itself", "/usr/local/go/src/net/http/client.go", "/usr/local/go/src/net/http/client.go"},
		{"a listing's row", "mem REG 8,1 /usr/lib/zorblebank/x.so (deleted)", "mem REG 8,1 /usr/lib/path-1/x.so (deleted)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRedactor()
			r.LearnEvidence(tc.in)
			if d := cmp.Diff(tc.want, r.Text(tc.in)); d != "" {
				t.Error(d)
			}
		})
	}
}
