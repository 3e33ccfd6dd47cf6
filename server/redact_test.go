package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis/say/redact"
	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/server/share"
	"leakdiff/web/view"
)

// planted are secrets by their kind. listing puts each into a capture.
var planted = map[string]string{
	"a host name":                "node-umbrella-7",
	"an address":                 "203.0.113.77",
	"a user":                     "svc_alicia",
	"a directory of data":        "acme_payroll",
	"a directory beyond ASCII":   "kunde müller",
	"a remote machine":           "db_primary.corp.example.com",
	"a password":                 "hunter2",
	"a pod of a container's log": "ledger-7b9d-x2x9z",
	"a namespace of one":         "payments-prod",
	"a user's mailbox":           "zebra13",
	"a machine of a thread":      "vault.internal.corp",
	"a node of a thread":         "zebranode1",
	"a team of a thread":         "team-zebra22",
	"another case's host":        "healthy-umbrella-1",
	"another case's directory":   "rival_ledger",
	"another case's title":       "rival upload",
	"the upload's directory":     "umbrella-prod",
	"a file of data":             "salaries-2026.db",
	"a pod":                      "basket-77f9",
	"a namespace":                "checkout-eu",
	"a pod's id":                 "6f1c2d3e-1111-4a4b-8c8d-123456789abc",
	"a container's id":           strings.Repeat("fe", 32),
	"a home directory":           "carolina",
	"a case's own host":          "bastion-umbrella",
	"the upload's name":          "megabank",
	"a user of a label":          "labelled-ulrike",
	"a machine of a label":       "labels.umbrella.example.net",
	"a thread's bare machine":    "okapi.umbrella.internal",
	"a pod of a thread":          "wagon-7d9f8b6c5d-x2x4z",
	"that pod in a family":       "wagon-ndnfnbncnd",
	"a namespace of a thread":    "wagonyard",
	"a token of a thread":        "ghp_quaggaquaggaquaggaquaggaquagga",
	"a long host":                "pylon-prod-17.umbrella.internal",
	"its first label":            "pylon-prod-17",
	"a directory of sources":     "quaggaworks",
	"a directory above all":      "okapibuild",
	"who built a program":        "gundula",
	"a directory of hers":        "secretsauce",
	"a machine of a module":      "git.okapiheap.corp",
}

// scribbled are secrets in texts that people write, by the form of the text.
// Each has six letters or more: a random id of a permalink holds a word of four
// once in a thousand runs.
var scribbled = map[string]string{
	"https://quokka-lb.umbrella.com/x": "quokka-lb", "quokka2.umbrella.com": "quokka2", "till3.umbrella.com:8443": "till3", "host till4.umbrella.io is down": "till4",
	"backend9.shopfloor.svc.cluster.local": "backend9.shopfloor", "ip-10-1-2-3.eu-west-1.compute.internal": "ip-10-1-2-3", "postgres://u7:p7@quokkadb:5432/ledgername": "quokkadb",
	"namespace=quokkans3": "quokkans3", "namespace quokkans2": "quokkans2", "user=quokkam2": "quokkam2", "user quokkamallory": "quokkamallory", "node quokka-node-1": "quokka-node-1",
	"`kubectl -n quokkans logs tapir-7d9f8b6c5d-x2x4z`": "tapir-7d9f8b6c5d", "kubectl -n tapirns get pods": "tapirns", "/data/tapirdata/file": "tapirdata", "/tapirroot": "tapirroot", "/root/tapirhome/x": "tapirhome",
	`\\tapirserver\tapirshare`: "tapirs", `D:\tapirdrive\x`: "tapirdrive", "s3://tapirbucket/key": "tapirbucket", "gs://tapirgs/key": "tapirgs", "arn:aws:iam::123456789012:role/tapirrole": "789012",
	"ghp_tapirtapirtapirtapirtapirtapir": "ghp_tapir", "github_pat_tapirtapirtapirtapir": "github_pat_tapir", "glpat-tapirtapirtapirtap": "glpat-tapir", "xoxb-123456789012-tapir": "xoxb-", "sk-tapirtapirtapirtapirtapir": "sk-tapir",
	"npm_tapirtapirtapirtapirtapirtapirtapir": "npm_tapir", "AIzatapirtapirtapirtapirtapirtapir": "aizatapir", "AKIAIOSFODNN7TAPIR12": "akiaiosf", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6cSJ9.tapirsign": "tapirsign",
	"sshpass -p okapipass ssh": "okapipass", "mysql -u okapisql -pokapisqlmine": "okapisql", "ssh okapiuser@okapihost": "okapihost", "password: okapisecret": "okapisecret", "pwd okapipwd": "okapipwd",
	"key Zk9tR2x7Qw3eLp8sVb4nYc6u": "zk9tr2x7qw3elp8svb4nyc6u", "kudushop/kudushop-cart-0": "kudushop", "agent-x2x4z": "agent-x2x4z", "kudunote-notes.txt": "kudunote", "git@github.com:kuduorg/kudurepo.git": "kuduorg",
	"cookie: JSESSIONID=kudusess": "kudusess", "00:1a:2b:3c:4d:5e": "2b:3c:4d", "-----BEGIN RSA PRIVATE KEY-----": "private key",
	"again pylon-prod-17": "pylon-prod", "restarted caracal-prod-3": "caracal", "C:\\Users\\kuduwin\\x": "kuduwin",
}

// listing is what lsof prints of a process with n files and n connections.
func listing(n int) string {
	p := planted
	var b strings.Builder
	b.WriteString("COMMAND   PID USER   FD   TYPE DEVICE SIZE/OFF    NODE NAME\n")
	row := func(fd int, kind, node, name string) {
		fmt.Fprintf(&b, "shopd    4711 %s %4du  %s  254,1     4096 %7s %s\n", p["a user"], fd, kind, node, name)
	}
	for i := range n {
		row(10+i, "REG", fmt.Sprint(1000+i), "/srv/"+p["a directory of data"]+"/"+p["a directory beyond ASCII"]+"/"+p["a file of data"])
		row(200+i, "REG", fmt.Sprint(2000+i), "/var/log/pods/"+p["a namespace"]+"_"+p["a pod"]+"_"+p["a pod's id"]+"/app/0.log")
		row(400+i, "REG", fmt.Sprint(3000+i), "/home/"+p["a home directory"]+"/notes.txt")
		row(600+i, "IPv4", "TCP", "10.0.0.5:4"+fmt.Sprint(1000+i)+"->"+p["an address"]+":5432 (ESTABLISHED)")
		row(1200+i, "IPv4", "TCP", "10.0.0.5:5"+fmt.Sprint(1000+i)+"->"+p["a remote machine"]+":postgresql (ESTABLISHED)")
		row(2000+i, "IPv4", "TCP", "10.0.0.5:6"+fmt.Sprint(1000+i)+"->"+p["a long host"]+":https (ESTABLISHED)")
		row(1400+i, "REG", fmt.Sprint(5000+i), "/var/log/containers/"+p["a pod of a container's log"]+"_"+p["a namespace of one"]+"_app-"+strings.Repeat("ad", 32)+".log")
		row(1600+i, "REG", fmt.Sprint(6000+i), "/var/spool/mail/"+p["a user's mailbox"])
		row(800+i, "REG", fmt.Sprint(4000+i), "/run/containerd/io.containerd.runtime.v2.task/k8s.io/"+p["a container's id"]+"/log")
	}
	return b.String()
}

// stacks is a dump of n goroutines with the program's name in their paths.
func stacks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [select, %d minutes, labels:{\"user\":\"%s\", \"url\":\"https://x:y@%s/v1?a=b\"}]:\nmain.(*basket).wait(0xc000010000)\n\t/%s/%s/shopd/cmd/shopd/basket.go:20 +0x1d\ncreated by main.serve in goroutine 1\n\t/home/%s/%s/shopd/main.go:9 +0x1d\n\n",
			100+i, 400-i, planted["a user of a label"], planted["a machine of a label"],
			planted["a directory above all"], planted["a directory of sources"], planted["who built a program"], planted["a directory of hers"])
	}
	return b.String()
}

// heap is a heap profile of functions in files of the same directories, which grows by 10 MB for each
// of n.
func heap(n int) string {
	return fmt.Sprintf("heap profile: 1: %d [1: 5] @ heap/2\n1: %d [1: 5] @ 0x1 0x2\n#\t0x1\tmain.(*basket).add+0x4\t/%s/%s/shopd/cmd/shopd/basket.go:20\n#\t0x2\t%s/pay/cart.Fill+0x4\t/home/%s/%s/cart.go:7\n\n# runtime.MemStats\n",
		10_000_000*n, 10_000_000*n, planted["a directory above all"], planted["a directory of sources"], planted["a machine of a module"], planted["who built a program"], planted["a directory of hers"])
}

// threads is a dump of a JVM with n threads of each kind.
func threads(n int) string {
	var b strings.Builder
	b.WriteString("2026-07-01 00:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n")
	for i := range n {
		for k, name := range []string{
			"OkHttp https://" + planted["a machine of a thread"] + "/v1", fmt.Sprintf("Executor #-1 for %s : executing %s/job/deploy #%d", planted["a node of a thread"], planted["a team of a thread"], i),
			"OkHttp " + planted["a thread's bare machine"] + "/...", "pod " + planted["a pod of a thread"] + " ns " + planted["a namespace of a thread"], planted["a token of a thread"],
		} {
			fmt.Fprintf(&b, "\"%s-%d\" #%d daemon prio=5 os_prio=0 cpu=1.0ms elapsed=10.0s tid=0x00007f%08x nid=0x%x waiting on condition  [0x00007f1100000001]\n   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\tat java.lang.Thread.run(java.base@17/Thread.java:840)\n\n", name, i, 10*i+k+1, 100*i+k, 10*i+k+1)
		}
	}
	return b.String()
}

func TestNothingPlantedIsShared(t *testing.T) {
	corpus.Heavy(t)
	s := newSite(t)
	files := map[string]string{}
	for i, n := range []int{3, 13, 23, 33} {
		dir := fmt.Sprintf("%s/t%d/", planted["the upload's directory"], i)
		files[dir+"hostname"] = planted["a host name"] + "\n"
		files[dir+"captured_at"] = fmt.Sprintf("2026-07-01T0%d:00:00Z\n", i)
		files[dir+"lsof.txt"] = listing(n)
		files[dir+"goroutines.txt"] = stacks(n)
		files[dir+"java/jstack.txt"] = threads(n)
		files[dir+"heap.txt"] = heap(n)
	}
	rival := s.put(planted["another case's title"]+".tar.gz", tgz(t, map[string]string{
		"t0/hostname": planted["another case's host"] + "\n", "t0/captured_at": "2026-06-01T00:00:00Z\n", "t0/goroutines.txt": stacks(2),
		"t0/lsof.txt": strings.ReplaceAll(listing(2), planted["a directory of data"], planted["another case's directory"]),
	}))
	up := s.put(planted["the upload's name"]+".tar.gz", tgz(t, files))
	java := slices.DeleteFunc(slices.Clone(up.Snapshots), func(s report.Snapshot) bool { return s.Process == "shopd" })
	up.Snapshots = slices.DeleteFunc(up.Snapshots, func(s report.Snapshot) bool { return s.Process != "shopd" })
	if len(up.Snapshots) != 4 || len(java) != 4 {
		t.Fatalf("%d snapshots of the shop and %d of the JVM, want 4 each", len(up.Snapshots), len(java))
	}
	s.edit(up.Case, "host", "series:"+up.Snapshots[0].ID, planted["a case's own host"])
	doc := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body)
	family, pool := "", ""
	jvm := slices.IndexFunc(doc.Series, func(s report.Series) bool { return s.Process != "shopd" })
	for _, f := range doc.Series[jvm].Families {
		if strings.Contains(f.Title, "OkHttp") {
			pool = f.Fingerprint
		}
	}
	doc.Series = slices.Delete(doc.Series, jvm, jvm+1)
	for _, f := range doc.Series[0].Families {
		if strings.Contains(f.Title, planted["a directory of data"]) {
			family = f.Fingerprint
		}
	}
	if family == "" || len(doc.Series[0].Findings) == 0 {
		t.Fatalf("the planted leak is not found: %+v", doc.Series[0].Findings)
	}
	var grown *report.Family
	for i, f := range doc.Series[0].Families {
		if strings.Contains(f.Title, "basket") {
			grown = &doc.Series[0].Families[i]
		}
	}
	note, err := json.Marshal(strings.Join(slices.Sorted(maps.Keys(scribbled)), "\n"))
	if err != nil || grown == nil {
		t.Fatal(err, grown)
	}
	if r := s.do("PUT", "/api/v1/cases/"+up.Case+"/triage", strings.NewReader(fmt.Sprintf(`{"process":%q,"fingerprint":%q,"state":"suspicious","note":%s}`, doc.Series[0].Process, grown.Fingerprint, note))); r.status != 200 {
		t.Fatalf("a note gave %d: %.300s", r.status, r.body)
	}
	s.do("PUT", "/api/v1/cases/"+up.Case+"/triage", strings.NewReader(fmt.Sprintf(`{"process":%q,"fingerprint":%q,"state":"suspicious","note":"ask %s about %s at https://bob:%s@x.example/"}`, doc.Series[0].Process, family, planted["a user"], planted["a pod"], planted["a password"])))
	in := "?case=" + up.Case
	noted := s.get("/families/"+url.PathEscape(grown.Fingerprint)+".json"+in).body + s.get("/cases/"+up.Case+".md").body
	for as, secret := range scribbled {
		if !strings.Contains(strings.ToLower(noted), secret) {
			t.Errorf("%q is in no note: the test proves nothing of it", as)
		}
	}
	foreign := rival.Case + "/" + rival.Snapshots[0].ID
	baseline := s.do("POST", "/cases/"+up.Case+"/baseline", strings.NewReader(postForm("series", view.SeriesKey(*doc.Series[0].Host, doc.Series[0].Process), "snapshot", foreign)), "Content-Type", formType)
	if baseline.status != 303 {
		t.Fatalf("choosing a baseline gave %d: %.500s", baseline.status, baseline.body)
	}
	views := map[string]string{
		"a comparison with another case":            "/diff/" + rival.Snapshots[0].ID + ".." + up.Snapshots[3].ID + in + "&acase=" + rival.Case,
		"several side by side, one of another case": "/compare" + in + "&s=" + url.QueryEscape(foreign) + "&s=" + up.Snapshots[0].ID + "&s=" + up.Snapshots[3].ID,
		"several to the baseline of another case":   "/compare" + in + "&show=base",
		"threads compared":                          "/diff/" + java[0].ID + ".." + java[3].ID + in, "a dump of threads": "/snapshots/" + java[3].ID + in, "a family of threads": "/families/" + url.PathEscape(pool) + in,
		"a flame graph":                "/snapshots/" + up.Snapshots[3].ID + "/flame" + in,
		"the flame graph of two cases": "/diff/" + rival.Snapshots[0].ID + ".." + up.Snapshots[3].ID + "/flame" + in + "&acase=" + rival.Case,
		"the case":                     "/cases/" + up.Case, "a comparison": "/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[3].ID + in,
		"a family with labels": "/families/" + url.PathEscape(grown.Fingerprint) + in,
		"a kind of objects":    "/objects/o1" + in,
		"a goroutine":          "/members/goroutine:100" + in, "a descriptor": "/members/fd:600" + in,
		"a family": "/families/" + url.PathEscape(family) + in, "a snapshot": "/snapshots/" + up.Snapshots[3].ID + in,
	}
	previews := []string{"full", "counts", "none"}
	clean := func(t *testing.T, what, text string) {
		t.Helper()
		lower := strings.ToLower(text)
		for name, secret := range planted {
			if at := strings.Index(lower, secret); at >= 0 {
				t.Errorf("%s tells %s: …%s…", what, name, text[max(0, at-120):min(len(text), at+len(secret)+60)])
			}
		}
		for as, secret := range scribbled {
			if at := strings.Index(lower, secret); at >= 0 {
				t.Errorf("%s tells what was written as %q: …%s…", what, as, text[max(0, at-120):min(len(text), at+len(secret)+60)])
			}
		}
	}
	for name, address := range views {
		t.Run(name, func(t *testing.T) {
			live := s.get(address).body
			seen := false
			for _, secret := range planted {
				seen = seen || strings.Contains(live, secret)
			}
			if !seen {
				t.Fatal("the live page shows no secret: the test proves nothing")
			}
			clean(t, "the share form", between(s.get("/share?view="+url.QueryEscape(address)).body, "<h1", "</html>"))
			clean(t, "the look of what would be frozen", s.get("/share?look=1&view="+url.QueryEscape(address)).body)
			for _, preview := range previews {
				r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"case":%q,"view":%q,"preview":%q,"title":"what %s saw on %s, https://%s/"}`, up.Case, address, preview, planted["a user"], planted["its first label"], planted["a long host"])))
				if r.status != 201 {
					t.Fatalf("freezing gave %d: %s", r.status, r.body)
				}
				clean(t, "the answer", r.body)
				made := decode[share.Result](t, r.body)
				suffixes := []string{"", ".md", ".txt", ".json", ".jira", ".csv", ".html", ".svg"}
				if preview != "full" {
					suffixes = []string{"", ".html"} // the others have no preview
				}
				for _, suffix := range suffixes {
					page := s.get("/p/" + made.ID + suffix)
					hasNone := suffix == ".svg" && (strings.HasPrefix(address, "/compare") || strings.HasPrefix(address, "/members"))
					if page.status != 200 && !(hasNone && page.status == 404) {
						t.Fatalf("%s gives %d", suffix, page.status)
					}
					clean(t, "the page"+suffix+" with preview "+preview, page.body)
					for k, v := range page.header {
						clean(t, "the header "+k, strings.Join(v, " "))
					}
				}
				s.do("DELETE", "/api/v1/permalinks/"+made.ID, nil, "Authorization", "Bearer "+made.OwnerKey)
				gone := s.get("/p/" + made.ID)
				if gone.status != 410 {
					t.Fatalf("withdrawn, yet %d", gone.status)
				}
				clean(t, "the page that says it is gone", gone.body)
			}
		})
	}
}

func TestNamesOfUploadedFilesAreNotShared(t *testing.T) {
	s := newSite(t)
	for _, tc := range []struct{ name, owner, secret, label string }{
		{"wombat-prod-17.zebra.internal.tgz", "wombat", "wombat|zebra", "file-1"},
		{"support-wombatbank.tgz", "alice-9", "wombat|alice", "file-1"},
		{"t0-wombatbank.txt", "wombatuser", "wombat", "file-1"},
		{"wombat.txt", "wombat", "wombat", "file-1"},
		{"t0.txt", "carl", "carl", "t0"},
		{"before.txt", "carl", "carl", "before"},
		{"goroutines-2.txt", "carl", "carl", "capture 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dump := func(n int) []byte {
				out := fmt.Sprintf("goroutine 1 [running]:\nmain.main()\n\t/home/%s/a.go:%d +0x1\n\n", tc.owner, n)
				for i := range n {
					out += fmt.Sprintf("goroutine %d [select, 5 minutes]:\nexample.com/a.run()\n\t/x/a.go:1 +0x1\n\n", 9+i)
				}
				return []byte(out)
			}
			up := s.put(tc.name, dump(8))
			if got := up.Snapshots[0].Process; strings.Contains(got, tc.owner) && got != "" {
				t.Errorf("the process is called %q after whose directory it stands in", got)
			}
			address := "/cases/" + up.Case
			r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"view":%q,"preview":"full"}`, address)))
			made := decode[share.Result](t, r.body)
			for _, suffix := range []string{"", ".md", ".txt", ".json", ".jira", ".csv", ".html", ".svg"} {
				page := s.get("/p/" + made.ID + suffix).body
				for _, secret := range strings.Split(tc.secret, "|") {
					if at := strings.Index(strings.ToLower(page), secret); at >= 0 {
						t.Errorf("the page%s tells %s: …%s…", suffix, secret, page[max(0, at-120):min(len(page), at+60)])
					}
				}
			}
			doc := decode[report.Report](t, s.get("/p/"+made.ID+".json").body)
			if got := doc.Snapshots[0].Label; got != tc.label && !(tc.label == "file-1" && got == "#1") {
				t.Errorf("the snapshot is called %q, want %q", got, tc.label)
			}
		})
	}
}

// The package keeps its name, and nothing else that is called as the program is.
func TestAProgramIsReplacedAlthoughAPackageHasItsName(t *testing.T) {
	s := newSite(t)
	files := map[string]string{}
	for i, n := range []int{3, 13, 23, 33} {
		dir := fmt.Sprintf("t%d/wombat/", i)
		dump := "goroutine 1 [running]:\nmain.main()\n\t/src/wombat/main.go:3 +0x1\n\n"
		for k := range n {
			dump += fmt.Sprintf("goroutine %d [select, 5 minutes]:\nshop/wombat.(*Ledger).run(0xc000010000)\n\t/src/shop/wombat/a.go:1 +0x1\ncreated by shop/wombat.Open in goroutine 1\n\t/src/shop/wombat/b.go:3 +0x1\n\n", 9+k)
		}
		files[dir+"captured_at"], files[dir+"comm"], files[dir+"goroutines.txt"] = fmt.Sprintf("2026-07-01T0%d:00:00Z\n", i), "wombat\n", dump
	}
	up := s.put("wombat.tgz", tgz(t, files))
	doc := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body)
	if up.Snapshots[0].Process != "wombat" || len(doc.Series[0].Findings) == 0 {
		t.Fatalf("%+v: the test proves nothing", up.Snapshots[0])
	}
	kept := regexp.MustCompile(`shop/wombat\b|wombat\.(?:\(\*Ledger\)|Open)|wombat/[ab]\.go`)
	markup := regexp.MustCompile(`<wbr>|</?(?:span|b|mark)\b[^>]*>`)
	in := "?case=" + up.Case
	for _, address := range []string{
		"/cases/" + up.Case, "/snapshots/" + up.Snapshots[3].ID + in, "/diff/" + up.Snapshots[0].ID + ".." + up.Snapshots[3].ID + in,
		"/families/" + url.PathEscape(doc.Series[0].Families[0].Fingerprint) + in, "/snapshots/" + up.Snapshots[3].ID + "/flame" + in,
	} {
		made := decode[share.Result](t, s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"view":%q}`, address))).body)
		for _, suffix := range []string{"", ".md", ".txt", ".json", ".jira", ".csv", ".svg"} {
			page := markup.ReplaceAllString(strings.ReplaceAll(s.get("/p/"+made.ID+suffix).body, `\`, ""), "")
			if suffix == ".txt" && (!kept.MatchString(page) || !strings.Contains(page, "program-1")) {
				t.Errorf("%s%s: the package or the program is not there: %s", address, suffix, page)
			}
			rest := kept.ReplaceAllString(page, "")
			if at := strings.Index(strings.ToLower(rest), "wombat"); at >= 0 {
				t.Errorf("%s%s tells the name of the program: …%s…", address, suffix, rest[max(0, at-120):min(len(rest), at+60)])
			}
		}
	}
}

func TestAReceiptSaysWhereAValueStandsFirst(t *testing.T) {
	s := newSite(t)
	up := s.put("a.tgz", tgz(t, map[string]string{
		"umbrella/t0/hostname": "pylon-7\n", "umbrella/t0/lsof.txt": "COMMAND   PID USER   FD   TYPE DEVICE SIZE/OFF    NODE NAME\n" +
			"shopd    4711 alice    3u  REG  254,1     4096    1000 /var/log/shopd.log\n" +
			"shopd    4711 alice    4u  IPv4 2000      0t0     TCP 10.0.0.5:4100->203.0.113.77:5432 (ESTABLISHED)\n",
	}))
	r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"view":"/cases/%s"}`, up.Case)))
	first := map[redact.Rule]map[string]string{}
	for _, rule := range decode[share.Result](t, r.body).Receipt {
		first[rule.Rule] = map[string]string{}
		for _, f := range rule.First {
			first[rule.Rule][f.Name] = f.At
		}
	}
	// The other end of the connection is in the third line. The directory of the upload is
	// hidden there as well.
	for _, want := range []struct {
		rule redact.Rule
		at   string
	}{{redact.Addresses, `^path-\d+/t0/lsof\.txt:3$`}, {redact.Hosts, `^hostname of the collector$`}} {
		if len(first[want.rule]) == 0 {
			t.Errorf("no place of %s: %s", want.rule, r.body)
		}
		for name, at := range first[want.rule] {
			if !regexp.MustCompile(want.at).MatchString(at) {
				t.Errorf("%s stands first at %q, want %s", name, at, want.at)
			}
		}
	}
	form := s.get("/share?view=/cases/" + up.Case).body
	if want := "host-1: " + first[redact.Hosts]["host-1"]; !strings.Contains(form, want) {
		t.Errorf("the share form does not say %q", want)
	}
}

// tgz packs files, sorted by name.
func tgz(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, files[name])
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
