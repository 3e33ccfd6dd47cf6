package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis/report"
	"leakdiff/samples/corpus"
	"leakdiff/web/view"
)

// planted are secrets by what they are; listing puts each into a capture.
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
		row(1400+i, "REG", fmt.Sprint(5000+i), "/var/log/containers/"+p["a pod of a container's log"]+"_"+p["a namespace of one"]+"_app-"+strings.Repeat("ad", 32)+".log")
		row(1600+i, "REG", fmt.Sprint(6000+i), "/var/spool/mail/"+p["a user's mailbox"])
		row(800+i, "REG", fmt.Sprint(4000+i), "/run/containerd/io.containerd.runtime.v2.task/k8s.io/"+p["a container's id"]+"/log")
	}
	return b.String()
}

// stacks is a dump of n goroutines; the program's name stands in their paths.
func stacks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\nmain.(*basket).wait(0xc000010000)\n\t/src/shopd/basket.go:20 +0x1d\ncreated by main.serve in goroutine 1\n\t/src/shopd/main.go:9 +0x1d\n\n", 100+i, 400-i)
	}
	return b.String()
}

// threads is a dump of a JVM with n threads of each kind.
func threads(n int) string {
	var b strings.Builder
	b.WriteString("2026-07-01 00:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n")
	for i := range n {
		for k, name := range []string{
			"OkHttp https://" + planted["a machine of a thread"] + "/v1", fmt.Sprintf("Executor #-1 for %s : executing %s/job/deploy #%d", planted["a node of a thread"], planted["a team of a thread"], i),
		} {
			fmt.Fprintf(&b, "\"%s-%d\" #%d daemon prio=5 os_prio=0 cpu=1.0ms elapsed=10.0s tid=0x00007f%08x nid=0x%x waiting on condition  [0x00007f1100000001]\n   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\tat java.lang.Thread.run(java.base@17/Thread.java:840)\n\n", name, i, 10*i+k+1, 100*i+k, 10*i+k+1)
		}
	}
	return b.String()
}

func TestNothingPlantedIsShared(t *testing.T) {
	s := newSite(t)
	files := map[string]string{}
	for i, n := range []int{3, 13, 23, 33} {
		dir := fmt.Sprintf("%s/t%d/", planted["the upload's directory"], i)
		files[dir+"hostname"] = planted["a host name"] + "\n"
		files[dir+"captured_at"] = fmt.Sprintf("2026-07-01T0%d:00:00Z\n", i)
		files[dir+"lsof.txt"] = listing(n)
		files[dir+"goroutines.txt"] = stacks(n)
		files[dir+"java/jstack.txt"] = threads(n)
	}
	rival := s.put(planted["another case's title"]+".tar.gz", tgz(t, map[string]string{
		"t0/hostname": planted["another case's host"] + "\n", "t0/captured_at": "2026-06-01T00:00:00Z\n", "t0/goroutines.txt": stacks(2),
		"t0/lsof.txt": strings.ReplaceAll(listing(2), planted["a directory of data"], planted["another case's directory"]),
	}))
	up := s.put("capture.tar.gz", tgz(t, files))
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
	s.do("PUT", "/api/v1/cases/"+up.Case+"/triage", strings.NewReader(fmt.Sprintf(`{"process":%q,"fingerprint":%q,"state":"suspicious","note":"ask %s about %s at https://bob:%s@x.example/"}`, doc.Series[0].Process, family, planted["a user"], planted["a pod"], planted["a password"])))
	in := "?case=" + up.Case
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
		"a family": "/families/" + url.PathEscape(family) + in, "a snapshot": "/snapshots/" + up.Snapshots[3].ID + in,
	}
	previews := []string{"full", "counts", "none"}
	if corpus.Race {
		previews = previews[:1] // nothing of it runs side by side
	}
	clean := func(t *testing.T, what, text string) {
		t.Helper()
		for name, secret := range planted {
			if at := strings.Index(strings.ToLower(text), secret); at >= 0 {
				t.Errorf("%s tells %s: …%s…", what, name, text[max(0, at-120):min(len(text), at+len(secret)+60)])
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
			for _, preview := range previews {
				r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"case":%q,"view":%q,"preview":%q,"title":"what %s saw on %s"}`, up.Case, address, preview, planted["a user"], planted["a host name"])))
				if r.status != 201 {
					t.Fatalf("freezing gave %d: %s", r.status, r.body)
				}
				clean(t, "the answer", r.body)
				made := decode[result](t, r.body)
				for _, suffix := range []string{"", ".md", ".txt", ".json", ".jira", ".csv", ".html", ".svg"} {
					page := s.get("/p/" + made.ID + suffix)
					if page.status != 200 && !(suffix == ".svg" && page.status == 404 && strings.HasPrefix(address, "/compare")) {
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
