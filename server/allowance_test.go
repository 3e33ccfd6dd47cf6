package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
	"leakdiff/samples/corpus"
	"leakdiff/server/share"
	"leakdiff/store"
	"leakdiff/web/view"
)

// secret is a value of some kind, as it stands in a text, and the part of it that must
// not be found anywhere.
type secret struct{ kind, text, needle string }

// kindsOfSecrets are at least 80 secrets of at least 40 kinds. No rule knows the words in
// them.
func kindsOfSecrets() []secret {
	same := func(kind string, texts ...string) (out []secret) {
		for _, t := range texts {
			out = append(out, secret{kind, t, t})
		}
		return out
	}
	part := func(kind, needle string, texts ...string) (out []secret) {
		for _, t := range texts {
			out = append(out, secret{kind, t, needle})
		}
		return out
	}
	return slices.Concat(
		same("key of AWS", "AKIAZ7QWXK3NPLM5RT2V", "ASIAQ3ZKXW7M2NPL5RTV"),
		same("secret key of AWS", "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"),
		same("key of GCP", "AIzaSyQ7zKwX3nPlM5rT2vBy8cDe4FgH6jKl9Mn"),
		same("token of GCP", "ya29.a0QzKwX3nPlM5rT2vBy8cDe4"),
		part("account of GCP", "zulaa-svc", "zulaa-svc@qoppa-prod-4.iam.gserviceaccount.com"),
		part("connection string of Azure", "q7ZkWx3NpLm5Rt2", "DefaultEndpointsProtocol=https;AccountName=qoppastore;AccountKey=q7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9MnP1rSt0uq7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9MnA==;EndpointSuffix=core.windows.net"),
		part("account of Azure", "qoppastore", "https://qoppastore.blob.core.windows.net/vaultbox/x"),
		part("SAS of Azure", "w%2Bq7ZkWx", "sv=2024-11-04&sig=w%2Bq7ZkWx3NpLm5Rt2VbY8cDe4%3D"),
		same("token of GitHub", "ghp_q7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9MnP1r", "github_pat_11AQZKWX0q7ZkWx3NpLm5R_t2VbY8cDe4FgH6jKl9MnP1rSt0uvWxYz"),
		same("token of GitLab", "glpat-q7ZkWx3NpLm5Rt2VbY8c"),
		same("token of Slack", "xoxb-4187263540-4187263541-q7ZkWx3NpLm5Rt2VbY8cDe4F"),
		part("hook of Slack", "q7zkwx3nplm5rt2vby8cde4f", "https://hooks.slack.com/services/T04QZKWX/B04NPLM5/q7ZkWx3NpLm5Rt2VbY8cDe4F"),
		same("key of Stripe", "sk_live_q7ZkWx3NpLm5Rt2VbY8cDe4F"),
		same("token of npm", "npm_q7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9MnP1r"),
		same("token of PyPI", "pypi-AgEIcHlwaS5vcmcCJGQ3WktXeDNOcExtNVJ0MlZi"),
		part("web token", "cxppu3vi", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.cXppU3ViamVjdDEyMzQ1Njc4OTA.q7ZkWx3NpLm5Rt2VbY8cDe4"),
		part("private key", "miiepqzkwx", "-----BEGIN RSA PRIVATE KEY----- MIIEpQZKWX3nplm5rt2vby8cde4 -----END RSA PRIVATE KEY-----"),
		part("password in a URL", "zulupass1", "https://qzuser:zulupass1@kappahost/x"),
		part("user in a URL", "qzuser", "ftp://qzuser@kappahost/x"),
		part("password of a database", "zulupass2", "postgres://qoppadb:zulupass2@db-kappa:5432/ledgerqz?sslmode=disable", "qoppadb:zulupass2@tcp(db-kappa:3306)/ledgerqz"),
		part("name of a database", "ledgerqz", "mongodb://db-kappa/ledgerqz"),
		part("bearer token", "q7zkwx3nplm", "Authorization: Bearer q7ZkWx3NpLm5Rt"),
		part("basic authorization", "cxp1c2vyonp1bhu", "Authorization: Basic cXp1c2VyOnp1bHU="),
		part("connection string", "zulupass3", "Server=kappadb;Database=qoppa;User Id=qzadmin;Password=zulupass3;"),
		part("password of a flag", "zulupass4", "--password=zulupass4", "--password zulupass4", "-password zulupass4"),
		part("password of a short option", "zulupass5", "-p zulupass5", "mysql -uqz -pzulupass5"),
		part("password with signs", "zulu!q$s6", "pass zulu!q$s6"),
		part("cookie", "qzsess81x", "Cookie: SESSIONID=qzsess81x; qzpref=1", "Set-Cookie: qzsid=qzsess81x; Path=/"),
		part("token of a kubeconfig", "zulatok.qz9", "token: zulatok.qz9"),
		same("token of Kubernetes", "k8s-aws-v1.aHR0cHM6Ly9zdHMucXo"),
		same("bootstrap token", "qzk3wx.7np5lm2rt8vb4yc6"),
		part("mail", "zulaa.berg", "zulaa.berg@qoppa.example", "Zulaa.Berg+ops@qoppa.example"),
		same("address of IPv4", "203.0.113.91", "10.77.88.99", "172.29.41.7"),
		part("address of IPv6", "2001:db8:77", "2001:db8:77::9a", "[2001:db8:77::9b]:8443"),
		part("internal host", "kappa-db-3", "kappa-db-3.qoppa.internal", "kappa-db-3.qoppa.svc.cluster.local:5432"),
		part("public host", "kappaqz", "api.kappaqz.com", "https://eu.kappaqz.io/v2/orders"),
		part("bare host", "kappahost9", "kappahost9"),
		same("UUID", "4b825dc6-42cb-4eb9-a060-e54bf8d69288", "4B825DC6-42CB-4EB9-A060-E54BF8D69299"),
		same("hardware address", "02:42:ac:77:41:9f"),
		part("phone", "555 4817", "+49 171 555 4817"), part("phone", "555-4817", "(0171) 555-4817", "171-555-4817"),
		part("user name", "zulaaberg", "zulaaberg", "user=zulaaberg", "uid zulaaberg"),
		part("home path", "zulahome", "/home/zulahome/.ssh/id_rsa", "/Users/zulahome/x", `C:\Users\zulahome\x`),
		part("path of data", "qoppabank", "/srv/qoppabank/ledger.db", "/mnt/data/qoppabank", "qoppabank/incoming"),
		part("bucket", "qoppa-bucket", "s3://qoppa-bucket/dumps", "https://qoppa-bucket.s3.eu-west-1.amazonaws.com/x", "gs://qoppa-bucket/x"),
		part("presigned URL", "q7zkwx3npl", "https://s3.amazonaws.com/b/x?X-Amz-Credential=AKIAZ7QWXK3NPLM5RT2V&X-Amz-Signature=q7zkwx3nplm5rt2vby8cde4fgh6jkl9mn"),
		part("ARN", "418726354091", "arn:aws:iam::418726354091:role/qoppa-admin"),
		same("account number", "418726354092"),
		part("pod", "ledger-qz-7d9f8b6c5d", "ledger-qz-7d9f8b6c5d-x2x4z", "pod/ledger-qz-7d9f8b6c5d-x2x4z"),
		part("stateful pod", "ledgerqz-0", "ledgerqz-0"),
		part("namespace", "qoppa-prod", "namespace=qoppa-prod", "qoppa-prod/ledger", "ns:qoppa-prod"),
		part("customer", "wolpertinger", "Wolpertinger Bank", "tenant wolpertinger", "customer=Wolpertinger", "WOLPERTINGER"),
		part("name beyond ASCII", "kunzmüller", "Kunzmüller Söhne"),
		part("project", "nachtfalke", "project-nachtfalke", "nachtfalke_v2", "feature/nachtfalke"),
		same("key of OpenAI", "sk-proj-q7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9Mn"),
		same("key of SendGrid", "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"),
		same("token of Vault", "hvs.CAESIq7ZkWx3NpLm5Rt2VbY8cDe4"),
		same("token of Docker", "dckr_pat_q7ZkWx3NpLm5Rt2VbY8cDe4Fg"),
		same("key of Datadog", "q7c3a5b2e8d4f6a1c9b7e3d5f2a8c4b6"),
		same("token of Telegram", "418726354:AAq7ZkWx3NpLm5Rt2VbY8cDe4FgH6jKl9Mn"),
		same("key of Mailgun", "key-3ax6xnjp29jd6fds4gc373sgvjxteol0"),
		same("key of age", "AGE-SECRET-KEY-1QZKWX3NPLM5RT2VBY8CDE4FGH6JKL9MNP1RST0UVWXYZ23456789"),
		part("card", "4012888888881881", "4012888888881881"),
		part("IBAN", "de89370400440532013000", "DE89370400440532013000"),
		part("environment", "zulupass7", "QOPPA_DB_PASSWORD=zulupass7", "export DBPASS=zulupass7"),
		part("ticket", "qopsec", "QOPSEC-4187"),
		part("look of a pseudonym", "84920192", "user-84920192"), part("look of a pseudonym", "4929384756102938", "tenant id-4929384756102938"), part("look of a pseudonym", "99817263544", "token-99817263544"),
		part("card in groups", "5454 5454", "5454 5454 5454 5454"), part("card in groups", "5454-5454", "5454-5454-5454-5454"),
		same("social security number", "078-05-1120"),
		part("phone in groups", "234 56 78", "0171 / 234 56 78"),
		same("day of birth", "12.03.1984"),
		part("place", "52.520008", "52.520008,13.404954"),
		part("IBAN in groups", "3704 0044", "DE89 3704 0044 0532 0130 00"),
		same("name of two signs", "李明"), same("name with marks that combine", "राहुल शर्मा"),
		part("invisible blank", "rpbank", "glo\u200brpbank", `glo\xe2\x80\x8brpbank`),
		part("class path", "zorblebank", "/usr/lib/x.jar:/srv/zorblebank/y.jar", "/usr/lib/zorblebank/customers.db"),
	)
}

// carrier is a field of the evidence or of what people write.
type carrier string

// marked is a word that only this carrier has. It is a secret as well.
func (c carrier) marked() string {
	return "zyx" + strings.ReplaceAll(strings.ReplaceAll(string(c), " ", ""), "'", "") + "marq"
}

// all are the marker of a carrier and every secret that fits.
func (c carrier) all(fits func(string) bool) []string {
	out := []string{c.marked()}
	for _, s := range kindsOfSecrets() {
		if fits == nil || fits(s.text) {
			out = append(out, s.text)
		}
	}
	return out
}

func noQuote(s string) bool { return !strings.ContainsAny(s, "\"\\\n") }

// fileName is a secret that a file may be called.
func fileName(s string) bool { return noQuote(s) && !strings.ContainsAny(s, "/:?*<>|") && len(s) < 120 }

// plantedRound is one round of a capture with every secret in every field.
func plantedRound(round int) map[string]string {
	dir := fmt.Sprintf("%s/t%d/", carrier("directory of the bundle").marked(), round)
	files := map[string]string{
		dir + "hostname":    carrier("host of the collector").marked() + "\n",
		dir + "captured_at": fmt.Sprintf("2026-07-01T0%d:00:00Z\n", round),
	}
	more := round + 1
	var b strings.Builder
	for i, s := range carrier("log line around a dump").all(nil) {
		fmt.Fprintf(&b, "2026/07/01 0%d:00:%02d log of %s\n", round, i%60, s)
	}
	fmt.Fprintf(&b, "panic: %s\n\n", strings.Join(carrier("panic message").all(nil), " | "))
	id := 10
	record := func(n int, state, labels, function, arg, file string) {
		for range n {
			id++
			fmt.Fprintf(&b, "goroutine %d [%s, %d minutes%s]:\n%s(%s)\n\t%s:20 +0x1d\ncreated by main.serve in goroutine 1\n\t/opt/app/main.go:9 +0x1d\n\n", id, state, 300-10*round, labels, function, arg, file)
		}
	}
	b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/opt/app/main.go:5 +0x1d\n\n")
	for _, s := range carrier("label of a goroutine").all(nil) {
		record(more, "select", `, labels:{"job":`+strconv.Quote(s)+`}`, "main.(*basket).wait", "0xc000010000", "/opt/app/basket.go")
	}
	for _, s := range carrier("file of a frame").all(noQuote) {
		record(more, "select", "", "main.(*basket).wait", "0xc000010000", "/build/"+s+"/basket.go")
		record(1, "chan receive", "", "main.(*till).wait", "0xc000010000", "/opt/app/"+strings.ReplaceAll(s, "/", "_")+".go")
	}
	files[dir+"goroutines.txt"] = b.String()

	b.Reset()
	b.WriteString("goroutine profile: total 500\n")
	for _, s := range carrier("label of a profile").all(nil) {
		fmt.Fprintf(&b, "%d @ 0x1 0x2\n# labels: {%q:%q}\n#\t0x1\tmain.(*basket).wait+0x1d\t/opt/app/basket.go:20\n\n", more, "job", s)
	}
	files[dir+"goroutine-debug1.txt"] = b.String()

	b.Reset()
	fmt.Fprintf(&b, "2026-07-01 0%d:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n", round)
	for i, s := range carrier("name of a thread").all(noQuote) {
		for k := range more {
			n := 10*i + k + 1
			fmt.Fprintf(&b, "\"%s-%d\" #%d daemon prio=5 os_prio=0 cpu=1.0ms elapsed=10.0s tid=0x00007f%08x nid=0x%x waiting on condition  [0x00007f1100000001]\n   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@17/Native Method)\n\tat java.lang.Thread.run(java.base@17/Thread.java:840)\n\n", s, k, n, n, n)
		}
	}
	files[dir+"java/jstack.txt"] = b.String()

	b.Reset()
	b.WriteString("COMMAND   PID USER   FD   TYPE DEVICE SIZE/OFF    NODE NAME\n")
	fd := 2
	row := func(kind, name string) {
		for range more {
			fd++
			fmt.Fprintf(&b, "shopd    4711 zulaaberg %4du  %s  254,1     4096 %7d %s\n", fd, kind, 9000+fd, name)
		}
	}
	for _, s := range carrier("NAME of lsof").all(func(s string) bool { return !strings.Contains(s, "\n") }) {
		row(" REG", "/srv/data/"+s)
		row("unix", "0xffff 0t0 "+s+" type=STREAM")
		row(" REG", s)
	}
	for _, s := range []string{"203.0.113.91:443", "[2001:db8:77::9a]:443", "kappa-db-3.qoppa.internal:postgresql", "kappahost9:https", "api.kappaqz.com:443", "zyxhostoflsofmarq:443"} {
		row("IPv4", "TCP 10.77.88.99:4"+fmt.Sprint(1000+fd)+"->"+s+" (ESTABLISHED)")
	}
	files[dir+"lsof.txt"] = b.String()

	b.Reset()
	for i, s := range carrier("source of a mount").all(func(s string) bool { return noQuote(s) && !strings.Contains(s, " ") }) {
		fmt.Fprintf(&b, "%d 1 8:%d / /mnt/vol%d/%s rw,relatime - ext4 /dev/%s rw\n", 20+i, i, i, s, s)
	}
	files[dir+"proc/mountinfo"] = b.String()
	files[dir+"proc/cmdline"] = "/opt/app/shopd\x00" + strings.Join(carrier("command line").all(nil), "\x00") + "\x00"
	b.Reset()
	b.WriteString("# HELP go_goroutines n\n# TYPE go_goroutines gauge\ngo_goroutines 500\n")
	for _, s := range carrier("label of a metric").all(nil) {
		fmt.Fprintf(&b, "workqueue_depth{name=%q} %d\n", s, more*10)
	}
	files[dir+"metrics.txt"] = b.String()

	node := map[string]any{
		"header":               map[string]any{"reportVersion": 3, "event": "JavaScript API", "trigger": "GetReport", "filename": carrier("file name of a report").marked(), "dumpEventTime": fmt.Sprintf("2026-07-01T0%d:00:00Z", round), "dumpEventTimeStamp": fmt.Sprint(1782864000000 + 3600000*round), "processId": 77, "cwd": "/srv/" + carrier("working directory of a report").marked(), "commandLine": append([]string{"node"}, carrier("command line of a report").all(nil)...), "nodejsVersion": "v20.1.0", "host": carrier("host of a report").marked()},
		"environmentVariables": map[string]string{}, "libuv": []any{}, "javascriptStack": map[string]any{"message": carrier("message of a report").marked(), "stack": []string{"at f (/srv/" + carrier("script of a report").marked() + ".js:1:1)"}},
	}
	for i, s := range carrier("environment of a report").all(nil) {
		node["environmentVariables"].(map[string]string)[fmt.Sprintf("QZ_%d", i)] = s
	}
	for i, s := range carrier("end of a handle").all(nil) {
		for k := range more {
			node["libuv"] = append(node["libuv"].([]any), map[string]any{"type": "tcp", "is_active": true, "is_referenced": true, "address": "0x1", "fd": 100*i + k, "localEndpoint": map[string]any{"host": "10.77.88.99", "port": 1000 + k}, "remoteEndpoint": map[string]any{"host": s, "port": 443}},
				map[string]any{"type": "pipe", "is_active": true, "is_referenced": true, "address": "0x1", "fd": 10000 + 100*i + k, "localEndpoint": s})
		}
	}
	text, _ := json.Marshal(node)
	files[dir+"node/report.json"] = string(text)
	for _, s := range carrier("name of a file").all(fileName) {
		files[dir+"other/"+s+".log"] = "nothing of interest about " + s + "\n"
	}
	return files
}

// twinsRedacted are the redacted twins of live pages that are searched. They are written
// from what a permalink holds, so a few stand for all.
var twinsRedacted = map[string][]string{
	"the case": {".ticket.md", ".ticket.jira", ".json", ".md", ".txt", ".jira", ".csv", ".html"}, "several": {".md"}, "stacks": {".md"},
	"a snapshot of series 0": {".json", ".md"}, "a pair of series 0": {".jira"}, "family 0 of series 0": {".md"}, "objects of series 0": {".txt"},
}

// encodings are the forms in which a text may stand in a twin.
func encodings(body, suffix string) []string {
	out := []string{strings.ToLower(body)}
	if suffix == ".pb.gz" {
		zip, err := gzip.NewReader(strings.NewReader(body))
		if err == nil {
			var b bytes.Buffer
			io.Copy(&b, zip)
			out = append(out, strings.ToLower(b.String()))
		}
	}
	if plain := html.UnescapeString(body); plain != body {
		out = append(out, strings.ToLower(plain))
	}
	if plain, err := url.QueryUnescape(percent.ReplaceAllString(body, "%25")); err == nil && plain != body {
		out = append(out, strings.ToLower(plain))
	}
	unescaped := jsonEscape.ReplaceAllStringFunc(body, func(m string) string {
		n, _ := strconv.ParseUint(m[2:], 16, 32)
		return string(rune(n))
	})
	unescaped = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\|`, `|`, `\/`, `/`, `\_`, `_`, `\-`, `-`, `\.`, `.`, `\[`, `[`, `\*`, `*`).Replace(unescaped)
	return append(out, strings.ToLower(unescaped))
}

var (
	percent    = regexp.MustCompile(`%(?:[^0-9A-Fa-f]|[0-9A-Fa-f][^0-9A-Fa-f]|.?$)`)
	ownAddress = regexp.MustCompile(`="/[^"]*"`)
	jsonEscape = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)
)

// found lists the secrets in a body.
func found(body, suffix string) map[string]string {
	out := map[string]string{}
	forms := encodings(body, suffix)
	look := func(kind, needle string) {
		for _, text := range forms {
			if at := strings.Index(text, strings.ToLower(needle)); at >= 0 {
				out[kind+" "+needle] = text[max(0, at-80):min(len(text), at+len(needle)+40)]
			}
		}
	}
	for _, s := range kindsOfSecrets() {
		look(s.kind, s.needle)
	}
	for _, m := range regexp.MustCompile(`zyx\w*?marq`).FindAllString(forms[0], -1) {
		out["marker "+m] = m
	}
	return out
}

// written are the texts that people give a case, each with every secret.
func (s *site) write(t *testing.T, caseID string) {
	t.Helper()
	doc := decode[report.Report](t, s.get("/api/v1/cases/"+caseID).body)
	every := func(c carrier) string { return strings.Join(c.all(nil), " , ") }
	for _, field := range []string{"title", "ticket"} {
		text, _ := json.Marshal(map[string]string{field: carrier(field+" of a case").marked() + " Wolpertinger QOPSEC-4187 at kappahost9"})
		if r := s.do("PATCH", "/api/v1/cases/"+caseID, bytes.NewReader(text)); r.status != 200 {
			t.Fatalf("%s gave %d: %.300s", field, r.status, r.body)
		}
	}
	for i, series := range doc.Series {
		s.edit(caseID, "host", "series:"+series.Snapshots[0], carrier("host of an edit").marked()+fmt.Sprint(i))
	}
	s.edit(caseID, "process", "series:"+doc.Series[0].Snapshots[0], carrier("process of an edit").marked())
	s.edit(caseID, "version", "series:"+doc.Series[0].Snapshots[0], carrier("version of an edit").marked())
	for i, text := range carrier("text of an event").all(func(s string) bool { return !strings.Contains(s, ";") && len(s) < 150 }) {
		if i < 40 {
			s.edit(caseID, "event", "case", "2026-07-01T01:30:00Z; deploy; "+text)
		}
	}
	s.edit(caseID, "load", "series:"+doc.Series[0].Snapshots[0], carrier("name of a load").marked()+" of Wolpertinger;"+strings.Repeat(" 1", len(doc.Series[0].Snapshots)))
	doc = decode[report.Report](t, s.get("/api/v1/cases/"+caseID).body)
	for _, series := range doc.Series {
		if len(series.Families) == 0 {
			continue
		}
		text := every("note of a mark")
		note, _ := json.Marshal(map[string]string{"process": series.Process, "fingerprint": series.Families[0].Fingerprint, "state": "suspicious", "note": text[:min(len(text), 1900)]})
		if r := s.do("PUT", "/api/v1/cases/"+caseID+"/triage", bytes.NewReader(note)); r.status != 200 {
			t.Fatalf("a note gave %d: %.300s", r.status, r.body)
		}
	}
}

func TestNothingUnknownIsShared(t *testing.T) {
	corpus.Heavy(t)
	kinds := map[string]bool{}
	for _, x := range kindsOfSecrets() {
		kinds[x.kind] = true
	}
	if len(kindsOfSecrets()) < 80 || len(kinds) < 40 {
		t.Fatalf("%d secrets of %d kinds, want 80 of 40", len(kindsOfSecrets()), len(kinds))
	}
	st, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, st, Config{})
	files := map[string]string{}
	for round := range 3 {
		maps.Copy(files, plantedRound(round))
	}
	up := s.put(carrier("name of the bundle").marked()+"-Wolpertinger.tar.gz", tgz(t, files))
	s.write(t, up.Case)
	doc := decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body)
	in := "?case=" + up.Case
	views := map[string]string{"the case": "/cases/" + up.Case}
	for i, series := range doc.Series {
		first, last := series.Snapshots[0], series.Snapshots[len(series.Snapshots)-1]
		views[fmt.Sprint("a snapshot of series ", i)] = "/snapshots/" + last + in
		if i == 0 {
			views["stacks"] = "/snapshots/" + last + "/flame" + in
			views["stacks of a pair"] = "/diff/" + first + ".." + last + "/flame" + in
			views["several"] = "/compare" + in + "&s=" + first + "&s=" + last
		}
		if first != last {
			views[fmt.Sprint("a pair of series ", i)] = "/diff/" + first + ".." + last + in
		}
		for k, f := range series.Families {
			if k < 2 {
				views[fmt.Sprint("family ", k, " of series ", i)] = "/families/" + url.PathEscape(f.Fingerprint) + in + "&series=" + url.QueryEscape(view.SeriesKey(*series.Host, series.Process))
			}
		}
		if len(series.Objects) > 0 {
			views[fmt.Sprint("objects of series ", i)] = "/objects/" + series.Objects[0].ID + in
		}
	}
	live := map[string]bool{}
	leaked := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		address := views[name]
		r := s.do("POST", "/api/v1/permalinks", strings.NewReader(fmt.Sprintf(`{"view":%q,"preview":"full","title":"for Wolpertinger at kappahost9"}`, address)))
		if r.status == 404 || r.status == 400 {
			t.Logf("%s: %d %.200s", name, r.status, r.body)
			continue
		}
		if r.status != 201 {
			t.Fatalf("freezing %s gave %d: %.300s", name, r.status, r.body)
		}
		at, query, _ := strings.Cut(address, "?")
		for _, suffix := range []string{"", ".json"} {
			for secret := range found(s.get(at+suffix+"?"+query).body, "") {
				live[secret] = true
			}
		}
		made := decode[share.Result](t, r.body)
		check := func(what, suffix string, body string) {
			for secret, where := range found(body, suffix) {
				leaked[secret] = name + " " + what + suffix + ": …" + where + "…"
			}
		}
		check("the answer", "", r.body)
		for _, suffix := range []string{"", ".ticket.md", ".ticket.jira", ".json", ".md", ".txt", ".jira", ".csv", ".html", ".svg", ".folded", ".pb.gz"} {
			page := s.get("/p/" + made.ID + suffix)
			check("the twin ", suffix, page.body)
			check("a header of", suffix, fmt.Sprint(page.header))
		}
		for _, suffix := range twinsRedacted[name] {
			redacted := s.get(at + suffix + "?" + query + "&redact=1")
			if redacted.status != 200 && !strings.HasPrefix(suffix, ".ticket") {
				t.Errorf("the redacted twin %s of %s gives %d: %.300s", suffix, name, redacted.status, redacted.body)
			}
			check("the redacted twin ", suffix, redacted.body)
			check("a header of the redacted twin", suffix, fmt.Sprint(redacted.header))
		}
		// The form names the live page that it freezes, and its case.
		form := between(s.get("/share?view="+url.QueryEscape(address)).body, "<h1", "</html>")
		check("the share form", "", ownAddress.ReplaceAllString(form, ""))
	}
	planted, shown := kindsOfSecrets(), 0
	for _, x := range planted {
		if live[x.kind+" "+x.needle] {
			shown++
		} else {
			t.Logf("not on any live page: %s %s", x.kind, x.text)
		}
	}
	markers := []string{}
	for secret := range live {
		if strings.HasPrefix(secret, "marker") {
			markers = append(markers, secret)
		}
	}
	slices.Sort(markers)
	t.Logf("%d of %d secrets and these markers are on live pages: %q", shown, len(planted), markers)
	t.Logf("%d views, %d leak", len(views), len(leaked))
	for _, secret := range slices.Sorted(maps.Keys(leaked)) {
		t.Errorf("%s: %s", secret, leaked[secret])
	}
}
