package redact

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"an address keeps its port", "dial tcp 10.1.2.3:443: refused", "dial tcp ip-1:443: refused"},
		{"equal addresses stay equal and others differ", "10.1.2.3 10.9.9.9 10.1.2.3", "ip-1 ip-2 ip-1"},
		{"loopback says nothing and stays", "127.0.0.1:8080 [::1]:80", "127.0.0.1:8080 [::1]:80"},
		{"an IPv6 address is an address", "[2001:db8::5]:443", "[ip-1]:443"},
		{"a time is no address", "at 12:30:01", "at 12:30:01"},
		{"a version is no address", "v1.34.4", "v1.34.4"},
		{"a known host is replaced inside longer names", "worker-7.internal node", "host-1.internal node"},
		{"the longer of two hosts wins", "worker-77", "host-1"},
		{"a home directory keeps its place", "/home/alice/x.go", "/home/user-1/x.go"},
		{"a pod id is replaced with dashes and underscores", "pods/6f1c2d3e-0000-4a4b-8c8d-123456789abc/x", "pods/id-1/x"},
		{"a container id is replaced", "task/" + strings.Repeat("ab", 32) + "/log", "task/id-1/log"},
		{"a fingerprint stays", "g1:" + strings.Repeat("ab", 16), "g1:" + strings.Repeat("ab", 16)},
		{"a pointer is replaced and small numbers stay", "Lock(0xc00009c898, 0x1f)", "Lock(ptr-1, 0x1f)"},
		{"a token in a URL is replaced", "GET /x?token=s3cr3tvalue&n=1", "GET /x?token=token-1&n=1"},
		{"prose about signatures is no secret", "no entry has this signature together with its state; the key question", "no entry has this signature together with its state; the key question"},
		{"a flag and its value are a secret", "--password hunter2 -token abcdef", "--password token-1 -token token-2"},
		{"a bearer header is replaced", "Authorization: Bearer eyJhbGciOi", "Authorization: Bearer token-1"},
		{"a password in a URL is replaced", "https://bob:hunter2@db/x", "https://token-1@db/x"},
		{"a password without a name is replaced", "redis://:hunter2@db/x", "redis://token-1@db/x"},
		{"a password of a data source is replaced", "shop:s3cret@tcp(db:3306)/x", "token-1@tcp(db:3306)/x"},
		{"a web token is replaced", "sent eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln now", "sent token-1 now"},
		{"a key of a cloud is replaced", "AKIAIOSFODNN7EXAMPLE", "token-1"},
		{"a mail address is replaced", "ask Alice.B@example.com or alice.b@example.com", "ask user-1 or user-1"},
		{"a module's version is no mail address", "github.com/x/y@v1.2.3-rc.dev", "github.com/x/y@v1.2.3-rc.dev"},
		{"a unit is no mail address", "getty@tty1.service", "getty@tty1.service"},
		{"a function name stays", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := newRedactor("worker-7", "worker-77", "x").Text(tc.in)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNothingThatPeopleWriteStaysButWhatEverybodyKnows(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"https://lb.zebra.com/x", "https://host-1/x"},
		{"lb.zebra.com:8443 and lb2.shop.svc.cluster.local", "host-1:8443 and host-2"},
		{"lynx-prod-17.zebra.internal, then Lynx-prod-17", "host-1, then host-1"},
		{"ip-10-1-2-3.eu-west-1.compute.internal is ip-10-1-2-3", "host-1 is host-1"},
		{"postgres://u:p@zdb:5432/zname", "postgres://token-1@host-1:5432/path-1"},
		{"arn:aws:iam::123456789012:role/zrole", "id-1"},
		{"namespace=lynx user=mara node lynx-1", "namespace=namespace-1 user=user-1 node host-1"},
		{"`kubectl -n lynx logs cart-7d9f8b6c5d-x2x4z`", "`kubectl -n namespace-1 logs pod-1`"},
		{"/data/lynx/file of /root/mara1/x", "/data/path-1/file of /root/path-2/x"},
		{`\\lynx1\mara1$ and D:\lynx2\x`, `\\host-1\path-1 and D:\path-2\x`},
		{"s3://lynx/key", "s3://host-1/key"},
		{"sshpass -p lynxpw ssh mara@lynx", "sshpass -p token-1 ssh user-1@host-1"},
		{"mysql -u mara -plynxpw", "mysql -u user-1 -ptoken-1"},
		{"key Zk9tR2x7Qw3eLp8sVb4nYc6u", "key token-1"},
		{"zebra/zebra-cart-0", "namespace-1/pod-1"},
		{"00:1a:2b:3c:4d:5e", "mac-1"},
		{"lynx-report.tgz beside goroutines-2.txt", "file-1 beside goroutines-2.txt"},

		{"see main.go:17 and http.Server in v1.34.4-rc.1, e.g. 3.5s after go1.26.1", "see main.go:17 and http.Server in v1.34.4-rc.1, e.g. 3.5s after go1.26.1"},
		{"fixed by https://github.com/kubernetes/kubernetes/pull/123456", "fixed by https://github.com/kubernetes/kubernetes/pull/123456"},
		{"k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"},
		{"resp.Body.Close() is missing; see /usr/local/go/src/net/http/client.go:12", "resp.Body.Close() is missing; see /usr/local/go/src/net/http/client.go:12"},
		{"The user says that the server waits for a token refresh; restart of the pod helped.", "The user says that the server waits for a token refresh; restart of the pod helped."},
		{"the end of 4b825dc6-42cb-4eb9-a060-e54bf8d69288 is like a machine", "the end of id-1 is like a machine"},
		{"the owner key is lost; the node was drained; password expired", "the owner key is lost; the node was drained; password expired"},
	} {
		r := newRedactor()
		r.LearnSaid(tc.in)
		if d := cmp.Diff(tc.want, r.Text(tc.in)); d != "" {
			t.Error(d)
		}
	}
}

func TestNamesOfFilesThatOnlySayWhatTheyAreStay(t *testing.T) {
	for _, name := range []string{"t0", "#1", "t002", "2026-11-21T03-04-05Z", "before (2)", "t0/lsof-nP-p.txt", "t0/ls-l-proc-fd.txt", "t0/jcmd-Thread.print-l.txt", "t0/proc-net-tcp6.txt", "t0/goroutine-debug0.pb.gz", "shopd-2.txt"} {
		r := newRedactor()
		r.keep("shopd")
		r.keepRound(name)
		r.learnFile(name)
		r.learnName(name)
		if got := r.Text(name); got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
	r := newRedactor()
	r.keepRound("t0-lynx")
	r.learnFile("t002/lynx-goroutines.txt")
	r.learnName("t0-lynx")
	r.learnName("lynx.tgz")
	if got, want := r.Text("t0-lynx in lynx.tgz of path/lynx-goroutines.txt"), "file-1 in file-2 of path/file-3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheFirstLabelOfAHostIsTheSameHost(t *testing.T) {
	for _, hosts := range [][]string{{"lynx-17.zebra.corp", "lynx-17"}, {"lynx-17", "lynx-17.zebra.corp"}} {
		r := newRedactor(hosts...)
		r.know(Hosts, "cache.zebra.corp")
		if got, want := r.Text("lynx-17 LYNX-17.zebra.corp cache.zebra.corp; a cache"), "host-1 host-1 host-2; a cache"; got != want {
			t.Errorf("of %q: got %q, want %q", hosts, got, want)
		}
	}
}

func TestAHomeDirectoryAndItsUserShareAPseudonym(t *testing.T) {
	r := newRedactor()
	r.learnPair("user", "mara7")
	if got, want := r.Text("/home/carol/x of mara7: /home/mara7/y, /home/carol"), "/home/user-1/x of user-2: /home/user-2/y, /home/user-1"; strings.NewReplacer("user-1", "A", "user-2", "B").Replace(got) != strings.NewReplacer("user-1", "A", "user-2", "B").Replace(want) &&
		strings.NewReplacer("user-1", "B", "user-2", "A").Replace(got) != strings.NewReplacer("user-1", "A", "user-2", "B").Replace(want) {
		t.Errorf("got %q, want %q but for the numbers", got, want)
	}
}

func TestNamesThatEvidenceTellsAreHiddenInEveryText(t *testing.T) {
	learn := func(r *Redactor) {
		for _, x := range [][2]string{{"user", "alice"}, {"name", "/srv/acme-payroll/salaries.db"}, {"role", "root"}, {"namespace", "payroll"}, {"pod", "cart-7"}} {
			r.learnPair(x[0], x[1])
		}
		r.learnText("logs of /var/log/pods/shop_basket-3_6f1c2d3e/app.log and k8s_app_ledger-0_billing_x")
		r.learnText("/srv/harbour/x")
		r.learnText("/srv/garden/x")
		r.learnPair("remote", "db-primary.corp.example.com:postgresql")
		r.learnPair("remote", "ledgerd:6379")
		r.learnPair("remote", "[2001:db8:99::1]:443")
		r.learnPair("name", "/var/log/containers/basket-9_orders_app-"+strings.Repeat("ab", 32)+".log")
		r.learnPair("name", "/var/spool/mail/zoe")
		r.learnPair("name", "/dev/shm/zebra.db")
		r.learnPair("name", "@/tmp/zsock")
		r.learnPair("name", "@zabstract")
		r.learnPair("name", "/usr/lib/x/zlib.so.1")
		r.LearnEvidence("OkHttp https://vault.internal.corp/v1")
		r.LearnEvidence("jdbc:postgresql://u:p@db7.corp:5432/customers?ssl=1")
		r.LearnEvidence("Executor #-1 for zebranode1 : executing team-22/job/deploy-acme #-0")
		r.LearnEvidence("Channel reader thread: agent-zebra")
		r.LearnEvidence("main.go:17 dial dbz.corp.example:3306")
		r.LearnEvidence("10u /srv/Haus Nord/z 1.db (deleted)")
		r.learnPair("name", "/data/Kunde Müller/Straße-1.db")
		r.learnFile("acme-prod/node1/goroutines.txt")
		r.know(Namespaces, "store")
		r.know(Pods, "store-cart-1")
		r.learnText("web-1:51000->cache-2.corp:6379")
		r.learnText("shopd 4711 walter 12u  REG 254,1 4096 1000 /srv/acme-payroll/x.db")
	}
	for _, tc := range []struct{ name, in, want string }{
		{"the name of a remote machine", "TCP client to db-primary.corp.example.com:postgresql", "TCP client to host-1:postgresql"},
		{"one that is a word, where it is one", "ledgerd: go to ledgerds", "host-1: go to ledgerds"},
		{"one of a connection's ends", "from cache-2.corp", "from host-1"},
		{"a path with blanks and letters beyond ASCII", "/data/Kunde Müller/Straße-1.db", "/data/path-1/path-2"},
		{"a piece of it", "Straße-1.db", "path-1"},
		{"the directories of an upload", "acme-prod/node1/goroutines.txt", "path-1/path-2/goroutines.txt"},
		{"a shorter name that begins as a longer one does", "store-cart-12 store-cart-1", "namespace-1-cart-12 pod-1"},
		{"a container's log", "/var/log/containers/basket-9_orders_app.log", "/var/log/containers/pod-1_namespace-1_path-1"},
		{"a mailbox", "/var/spool/mail/zoe", "/var/spool/mail/path-1"},
		{"shared memory", "/dev/shm/zebra.db", "/dev/shm/path-1"},
		{"an abstract socket", "@zabstract of @/tmp/zsock", "@path-1 of @/tmp/path-2"},
		{"a library", "/usr/lib/x/zlib.so.1", "/usr/lib/x/zlib.so.1"},
		{"the machine of an address", "https://vault.internal.corp/v1, and vault.internal.corp", "https://host-1/v1, and host-1"},
		{"a database", "jdbc:postgresql://u:p@db7.corp:5432/customers", "jdbc:postgresql://token-1@host-1:5432/path-1"},
		{"a node, job and build of a thread", "Executor #-1 for zebranode1 : executing team-22/job/deploy-acme #-0", "Executor #-1 for host-1 : executing path-1/job/path-2 #-0"},
		{"a pool of them", "Executor #N for zebranode", "Executor #N for host-1"},
		{"an agent", "agent-zebra", "host-1"},
		{"a name with a port, and no line of a source", "dbz.corp.example at main.go:17", "host-1 at main.go:17"},
		{"an address of version 6", "[2001:db8:99::1]:443", "[ip-1]:443"},
		{"a path behind a descriptor", "z 1.db in Haus Nord", "path-1 in path-2"},
		{"our own instructions", "pack /proc/PID/fdinfo, read https://github.com/kubernetes/kubernetes/issues/1", "pack /proc/PID/fdinfo, read https://github.com/kubernetes/kubernetes/issues/1"},
		{"the id of a pod in a slice", "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice", "kubepods-burstable-podid-1.slice"},
		{"the id of a pod behind its name", "_0a1b2c3d-1111-2222-3333-444455556666/", "_id-1/"},
		{"a piece of a path", "salaries.db", "path-1"},
		{"the rest of it", "/srv/acme-payroll/", "/srv/path-1/"},
		{"a directory's name that is a word, in a path", "/srv/harbour/x", "/srv/path-1/x"},
		{"and alone", "harbour", "path-1"},
		{"and as the end of a path", "harbour (deleted)", "path-1 (deleted)"},
		{"and in a sentence", "a safe harbour for ships", "a safe path-1 for ships"},
		{"but a word of our pages stays in a sentence", "a garden for buffers", "a garden for buffers"},
		{"a word that only contains it stays", "acme-payroll2", "acme-payroll2"},
		{"a user", "opened by alice", "opened by user-1"},
		{"a user of a listing's row", "walter", "user-1"},
		{"a namespace and a pod of pairs", "payroll/cart-7", "namespace-1/pod-1"},
		{"a namespace and a pod of a log's directory", "basket-3 in shop", "pod-1 in namespace-1"},
		{"a namespace and a pod of a container", "ledger-0 in billing", "pod-1 in namespace-1"},
		{"what every machine has stays", "/var/log/pods, root, /usr/lib/x.so", "/var/log/pods, root, /usr/lib/x.so"},
		{"arguments", "--kubeconfig=/x/y --v=4 --debug=true -pass=hunter2", "--kubeconfig=arg-1 --v=4 --debug=true -pass=arg-2"},
		{"words of results stay", `"verdict":"leaking"`, `"verdict":"leaking"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRedactor()
			learn(r)
			if d := cmp.Diff(tc.want, r.Text(tc.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestADirectoryCalledLikeTheProgramStaysAndItsOwnersNameGoes(t *testing.T) {
	r := newRedactor()
	r.keep("shopd", "example.com/basket/pkg.(*Pool).Get", "k8s.io/api.F")
	r.learnText("/srv/umbrella-7/shopd/basket/pool/k8s.io/secret-7")
	if got, want := r.Text("shopd of umbrella-7: /srv/umbrella-7/shopd/basket/pool/k8s.io/secret-7"), "shopd of path-1: /srv/path-1/shopd/basket/pool/k8s.io/path-2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// verdict is a named string type, as results have them.
type verdict string

type result struct {
	Title    string             `json:"title"`
	Findings []string           `json:"findings"`
	Verdict  verdict            `json:"verdict"`
	Series   map[string][]int64 `json:"series"`
	At       time.Time          `json:"at"`
	Next     *result            `json:"next"`
	Any      any                `json:"any"`
	hidden   string
}

func TestADirectoryCalledLikeAWordOfResultsBreaksNothing(t *testing.T) {
	r := newRedactor("series")
	r.keep("shopd")
	r.learnPair("name", "/srv/x/leaking/title/findings/verdict/secret-1/shopd")
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	got := result{
		Title: "leaks of /srv/x/leaking/title/findings/secret-1", Findings: []string{"secret-1", "of shopd"}, Verdict: "leaking",
		Series: map[string][]int64{"/srv/x/secret-1": {1, 2}, "plain": {3}}, At: at, hidden: "secret-1",
		Next: &result{Title: "secret-1", Any: map[string]any{"secret-1": []any{"secret-1", 7.0, nil}}},
	}
	r.Value(&got)
	want := result{
		Title: "leaks of /srv/x/leaking/path-1/path-2/path-3", Findings: []string{"path-3", "of shopd"}, Verdict: "leaking",
		Series: map[string][]int64{"/srv/x/path-3": {1, 2}, "plain": {3}}, At: at, hidden: "secret-1",
		Next: &result{Title: "path-3", Any: map[string]any{"path-3": []any{"path-3", 7.0, nil}}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(result{})); d != "" {
		t.Error(d)
	}
	var places int
	for _, line := range r.Receipt() {
		places += line.Places
	}
	if places != 8 {
		t.Errorf("the receipt counts %d places, want 8", places)
	}
}

func TestNoPlantedSecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SampledFrom([]string{"203.0.113.77", "db-primary-3", "0xc000123456", "/home/carol", "5f0c9c4e-1111-2222-3333-444455556666"}).Draw(t, "secret")
		around := rapid.SampledFrom([]string{"(%)", " % ", "\"%\"", "=%,", "x %:80"}).Draw(t, "around")
		doc := map[string][]string{"a": {strings.ReplaceAll(around, "%", secret)}}
		newRedactor("db-primary-3").Value(&doc)
		if got := fmt.Sprint(doc); strings.Contains(got, strings.TrimPrefix(secret, "/home/")) {
			t.Fatalf("%s survived in %s", secret, got)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("dial tcp 10.1.2.3:443 0xc000123456 /home/x/y token=abcd")
	f.Add("::::::: 1.2.3.4.5.6 ::ffff:10.0.0.1%eth0")
	f.Add("listening on ::ffff:10.0.0.1.")
	f.Fuzz(func(t *testing.T, s string) {
		r := newRedactor("host")
		once := r.Text(s)
		if again := newRedactor("host").Text(s); again != once {
			t.Fatalf("two redactors disagree: %q and %q", once, again)
		}
		if again := r.Text(s); again != once {
			t.Fatalf("the same text became %q, then %q", once, again)
		}
	})
}
