package knowledge

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

func TestAProgramOfOursHasNoProject(t *testing.T) {
	text, problems := Own(nil, "kubelet", true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, test := range map[string]struct {
		own  bool
		want string
	}{"said": {true, ""}, "said twice": {true, ""}, "taken back": {false, "kubernetes"}} {
		again, problems := Own(text, "kubelet", test.own)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		c, problems := New(File{Name: "remembered.json", Text: again})
		if got := c.Project("kubelet"); got != test.want || len(problems) > 0 || len(c.Ours()) > 1 {
			t.Errorf("%s: %q, %v, %v", name, got, c.Ours(), problems)
		}
		if c.Project("consul") == "" {
			t.Errorf("%s: another program is ours as well", name)
		}
	}
}

func TestAMetricThatIsALoadIsRememberedByProgramUntilItIsTakenBack(t *testing.T) {
	text, problems := Loaded(nil, "app", "app_tenants", true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if c, problems := New(File{Name: "remembered.json", Text: text}); len(problems) > 0 || len(c.Loads()) != 1 || c.Loads()[0].Program != "app" || c.Loads()[0].Metric != "app_tenants" {
		t.Errorf("%+v, %v", c.Loads(), problems)
	}
	if text, problems = Loaded(text, "app", "app_tenants", false); len(problems) > 0 {
		t.Fatal(problems)
	}
	if c, problems := New(File{Name: "remembered.json", Text: text}); len(problems) > 0 || len(c.Loads()) != 0 {
		t.Errorf("taken back: %+v, %v", c.Loads(), problems)
	}
}

func TestWhatComesWithTheProgramKeepsToItsSchema(t *testing.T) {
	c := Builtin()
	j := joined{}
	for _, name := range parts() {
		text, err := data.ReadFile("data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range j.add(File{Name: name, Text: text}, "") {
			t.Errorf("%s line %d: %s: %s", p.Path, p.Line, p.What, p.Why)
		}
	}
	j.doc.Schema = Schema
	if versionOf(j.doc) != c.Version() {
		t.Error("items were left out by the checks")
	}
	if got := len(c.Known()); got != 280 {
		t.Errorf("%d known leaks, 280 are in the catalogue", got)
	}
	if got := len(c.Normal()); got < 108 {
		t.Errorf("%d normal stacks, 108 or more are in the catalogue", got)
	}
	statuses := map[Status]int{}
	for _, e := range c.Known() {
		statuses[e.Status]++
	}
	want := map[Status]int{Leak: 260, BoundedBacklog: 8, LimitNotLeak: 7, NormalPerContainer: 2, NormalPerRequest: 1, StuckNotLeak: 1, FalseAlarm: 1}
	if d := cmp.Diff(want, statuses); d != "" {
		t.Error(d)
	}
}

func TestClassesAreThoseOfAnEngineerOnCallAndSayWhatToDo(t *testing.T) {
	c := Builtin()
	var keys []string
	for _, class := range c.Classes() {
		keys = append(keys, class.Key)
		if len(class.Metrics) == 0 || len(class.Warnings) == 0 || len(class.Upstream.Attach) < 3 || class.Idle == "" || class.Stuck == "" {
			t.Errorf("%s lacks metrics, warnings, attachments, idle or stuck form", class.Key)
		}
		if len(c.Corrections(class.Key)) == 0 {
			t.Errorf("%s has no correction of common advice", class.Key)
		}
	}
	want := []string{"runtime-call", "volume-operation", "pod_worker", "prober", "watch-informer", "housekeeping", "spdystream-wsstream", "inotify", "node-agent", "okhttp", "queue-saturation", "client-throttling"}
	if d := cmp.Diff(want, keys); d != "" {
		t.Error(d)
	}
}

func TestEveryEvidenceFileIsReferencedAndPresent(t *testing.T) {
	files, err := fs.Glob(data, "data/evidence/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var have, named []string
	for _, f := range files {
		have = append(have, strings.TrimPrefix(f, "data/"))
	}
	for _, e := range Builtin().Known() {
		if e.Evidence != "" {
			named = append(named, e.Evidence)
			if !strings.HasPrefix(e.Facts(), "# facts from https://") {
				t.Errorf("%s: its excerpt does not say where it is from", e.ID)
			}
		}
	}
	slices.Sort(named)
	if d := cmp.Diff(have, named); d != "" {
		t.Error(d)
	}
	if len(have) != 51 {
		t.Errorf("%d excerpts, 51 are known", len(have))
	}
}

func TestReferencesOfTheCatalogueHold(t *testing.T) {
	c := Builtin()
	keys := map[string]bool{}
	for _, class := range c.Classes() {
		keys[class.Key] = true
	}
	for _, x := range c.Corrections("") {
		for _, key := range x.Classes {
			if !keys[key] {
				t.Errorf("a correction names the class %q", key)
			}
		}
	}
	for _, x := range c.AllThresholds() {
		for _, key := range x.Classes {
			if !keys[key] {
				t.Errorf("the threshold %s names the class %q", x.Name, key)
			}
		}
	}
}

func TestTheSchemaUsesOnlyWhatTheValidatorKnows(t *testing.T) {
	var walk func(v any, where string, names bool)
	known := map[string]bool{}
	text, err := json.Marshal(rules{Additional: json.RawMessage("true")})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		known[name] = true
	}
	walk = func(v any, where string, names bool) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		for name, inner := range m {
			if !names && !known[name] {
				t.Errorf("%s uses %q", where, name)
			}
			walk(inner, where+"."+name, !names && (name == "properties" || name == "$defs"))
		}
	}
	var all any
	if err := json.Unmarshal(SchemaText(), &all); err != nil {
		t.Fatal(err)
	}
	walk(all, "schema", false)
}

func TestNoNameOfAPersonOrMachineIsInTheData(t *testing.T) {
	bad := regexp.MustCompile(`/(?:home|Users|root|work)/|[\w.]+@[\w-]+\.(com|org|net|io)\b`)
	err := fs.WalkDir(data, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := data.ReadFile(name)
		if err != nil {
			return err
		}
		if found := bad.FindString(strings.ReplaceAll(string(text), "k8s.io/client-go/util/work", "")); found != "" {
			t.Errorf("%s holds %q", name, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stackOf is a goroutine's stack of functions, leaf first.
func stackOf(creator string, frames ...string) *analysis.Stack {
	s := &analysis.Stack{CreatedBy: analysis.Frame{Func: creator}}
	for i, f := range frames {
		s.Frames = append(s.Frames, analysis.Frame{Func: f, File: "/src/x.go", Line: 10 + i})
	}
	return s
}

// growing is a leaking family of n goroutines in one state.
func growing(s *analysis.Stack, state string, n int) Seen {
	return Seen{Family: new(family.Stacks).OfStack(s), States: map[string]int{state: n}, Count: n, OldestWait: 3, Timed: true, Verdict: analysis.Leaking, Proven: true}
}

func speaking(r Result) []string {
	ids := []string{}
	for _, m := range r.Known {
		if m.Speaks() {
			ids = append(ids, m.Entry.ID)
		}
	}
	return ids
}

// similar are the entries whose stack every program may have.
func similar(r Result) []string {
	ids := []string{}
	for _, m := range r.Known {
		if m.Similar {
			ids = append(ids, m.Entry.ID)
		}
	}
	return ids
}

// looking are the entries that are one of several possible ones.
func looking(r Result) []string {
	ids := []string{}
	for _, m := range r.Known {
		if m.Basis == Possible {
			ids = append(ids, m.Entry.ID)
		}
	}
	return ids
}

// whole completes the name of a closure without a number.
func whole(f string) string {
	if strings.HasSuffix(f, ".func") {
		return f + "1"
	}
	return f
}

func TestEveryPatternMatchesItselfAfterNormalisation(t *testing.T) {
	c := Builtin()
	for _, e := range c.Known() {
		for _, f := range e.Signature.Frames {
			if strings.Contains(f, "$") || slices.Contains(e.Kinds, "thread") {
				continue // Java, told apart by the test of excerpts
			}
			p := newPattern(f)
			if name := family.LooseName(whole(strings.TrimSuffix(f, "*"))); !p.matches(name) && !p.open {
				t.Errorf("%s: %q does not match %q, its own loose name", e.ID, p.text, name)
			}
		}
	}
	for _, n := range c.Normal() {
		for _, f := range n.Frames {
			if p, name := newPattern(f), family.LooseName(whole(f)); !p.matches(name) {
				t.Errorf("%s: %q does not match %q, its own loose name", n.ID, p.text, name)
			}
		}
	}
}

func TestPatternsMatchFunctionsAsDumpsPrintThem(t *testing.T) {
	for _, tt := range []struct {
		pattern, function string
		want              bool
	}{
		{"github.com/docker/spdystream.(*Connection).Serve.func2", "k8s.io/kubernetes/vendor/github.com/docker/spdystream.(*Connection).Serve.func1", true},
		{"github.com/docker/spdystream.(*Connection).Serve", "github.com/moby/spdystream.(*Connection).Serve", true},
		{"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc.(*serverWatchStream).sendLoop", "github.com/coreos/etcd/cmd/vendor/go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc.(*serverWatchStream).sendLoop", true},
		{"k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive", "k8s.io/kubernetes/Godeps/_workspace/src/k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive", true},
		{"v3rpc.(*serverWatchStream)", "go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc.(*serverWatchStream).recvLoop", true},
		{"(*ContainerIO).Attach.func1", "github.com/containerd/containerd/pkg/cri/io.(*ContainerIO).Attach.func1", true},
		{"(*ContainerIO).Attach", "github.com/containerd/containerd/pkg/cri/io.(*ContainerIO).AttachMore", false},
		{"go.opentelemetry.io/otel/sdk/trace.(*batchSpanProcessor).ForceFlush.func", "go.opentelemetry.io/otel/sdk/trace.(*batchSpanProcessor).ForceFlush.func2", true},
		{"io.Copy", "github.com/x/io.Copy", false},
		{"net/http.(*persistConn).readLoop", "example.org/fork/net/http.(*persistConn).readLoop", false},
		{"k8s.io/kubelet/pkg/cri/streaming*", "k8s.io/kubernetes/pkg/kubelet/server/streaming.(*server).serveExec", true},
		{"k8s.io/client-go/util/workqueue.(*Type).updateUnfinishedWorkLoop", "k8s.io/client-go/util/workqueue.(*Type).updateUnfinishedWorkLoop", true},
		{"k8s.io/client-go/util/workqueue.(*Typed[...]).updateUnfinishedWorkLoop", "k8s.io/client-go/util/workqueue.(*Typed[go.shape.string]).updateUnfinishedWorkLoop", true},
		{"k8s.io/kubernetes/pkg/kubelet.(*podWorkers).managePodLoop", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop", true},
	} {
		if got := newPattern(tt.pattern).matches(family.LooseName(tt.function)); got != tt.want {
			t.Errorf("%s matches %s: %v, want %v", tt.pattern, tt.function, got, tt.want)
		}
	}
}

func TestGlobsStandForAnyText(t *testing.T) {
	for _, tt := range []struct {
		globs, value string
		want         bool
	}{
		{"/run/containerd/fifo/*-stdout", "/run/containerd/fifo/<n>/<id>-stdout", true},
		{"*:443|*:6443", "10.0.0.1:6443", true},
		{"*:443|*:6443", "10.0.0.1:80", false},
		{"node", "nodejs", false},
		{"OkHttp*", "OkHttp ConnectionPool", true},
		{"a*b*c", "a-c", false},
		{"a*a", "a", false},
	} {
		if got := glob(tt.globs, tt.value); got != tt.want {
			t.Errorf("%q fits %q: %v, want %v", tt.value, tt.globs, got, tt.want)
		}
	}
}

func TestEveryEntryWithFramesFiresOnItsOwnSignature(t *testing.T) {
	c := Builtin()
	m := c.NewMatcher()
	fired, all := 0, 0
	for _, e := range c.Known() {
		if len(e.Signature.Frames) == 0 || slices.Contains(e.Kinds, "thread") && strings.Contains(e.Signature.Frames[len(e.Signature.Frames)-1], "java") {
			continue
		}
		all++
		var frames []string
		for _, f := range e.Signature.Frames {
			p := newPattern(f)
			name := whole(strings.TrimSuffix(f, "*"))
			if p.short {
				name = "example.org/any/" + strings.TrimPrefix(name, "(")
				if strings.HasPrefix(f, "(") {
					name = "example.org/any/pkg." + f
				}
			}
			if p.open {
				name += ".run"
			}
			frames = append(frames, name)
		}
		creator := ""
		if len(e.Signature.CreatedBy) > 0 {
			if creator = e.Signature.CreatedBy[0]; strings.HasSuffix(creator, ".") {
				creator += "Serve"
			}
		}
		state := "select"
		if len(e.Signature.WaitStates) > 0 {
			state = e.Signature.WaitStates[0]
		}
		seen := growing(stackOf(creator, frames...), state, 40)
		if len(e.Signature.Programs) > 0 {
			seen.Program = strings.ReplaceAll(e.Signature.Programs[0], "*", "-x")
		}
		if len(e.Signature.Owners) > 0 {
			if got := similar(m.Match(seen)); !slices.Contains(got, e.ID) {
				t.Errorf("%s is not similar without a frame of %s: %v", e.ID, e.Signature.Owners, got)
			}
			seen = growing(stackOf(creator, append(frames, e.Signature.Owners[0]+"pkg.(*T).run")...), state, 40)
		}
		r := m.Match(seen)
		if e.Signature.Unseen && !e.Generic() {
			if slices.Contains(speaking(r), e.ID) || !slices.Contains(looking(r), e.ID) {
				t.Errorf("%s is read from its fix and is not just possible: %v speak, %v are possible", e.ID, speaking(r), looking(r))
			}
			fired++
			continue
		}
		if slices.Contains(speaking(r), e.ID) == e.Generic() || slices.Contains(similar(r), e.ID) != e.Generic() {
			t.Errorf("%s does not fire on %q, created by %q, in %s", e.ID, frames, creator, state)
			continue
		}
		fired++
	}
	t.Logf("%d of %d entries with frames fire on their own signature", fired, all)
}

func TestTheStateTellsALeakFromItsIdleForm(t *testing.T) {
	m := Builtin().NewMatcher()
	s := stackOf("k8s.io/apimachinery/pkg/watch.NewStreamWatcher", "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive")
	if got := speaking(m.Match(growing(s, "chan send", 40))); !slices.Contains(got, "kuberhealthy-533") {
		t.Errorf("in chan send %v speak, want kuberhealthy-533", got)
	}
	if got := speaking(m.Match(growing(s, "select", 40))); slices.Contains(got, "kuberhealthy-533") {
		t.Errorf("in select %v speak", got)
	}
	if h := m.Match(growing(s, "select", 40)).Healthy; h == nil || h.Normal.ID != "apimachinery-watch-receive" {
		t.Errorf("in select it is %+v, want a normal stack", h)
	}
	if h := m.Match(growing(s, "chan send", 40)).Healthy; h != nil {
		t.Errorf("in chan send it is the normal stack %s", h.Normal.ID)
	}
}

func TestASignatureAloneAccusesNobody(t *testing.T) {
	m := Builtin().NewMatcher()
	for _, verdict := range []analysis.Verdict{analysis.Stable, analysis.Scaling, analysis.New, analysis.TooFewPoints, analysis.Shrinking} {
		seen := growing(stackOf("", "k8s.io/client-go/transport.(*dynamicClientCert).Run"), "chan receive", 767)
		seen.Verdict, seen.Proven = verdict, false
		r := m.Match(seen)
		if got := speaking(r); len(got) > 0 {
			t.Errorf("%s: %v speak", verdict, got)
		}
		if len(r.Known) == 0 || r.Known[0].Basis != Looks {
			t.Errorf("%s: the look-alike is not told: %+v", verdict, r.Known)
		}
	}
}

func TestProgramsOfAnEntryMustFit(t *testing.T) {
	m := Builtin().NewMatcher()
	seen := Seen{Family: &analysis.Family{Fingerprint: "d1:0", Kind: analysis.KindDescriptor, Attributes: map[string]string{"name": "inotify", "type": "anon_inode"}}, Count: 46, OldestWait: -1, Verdict: analysis.Leaking}
	for program, want := range map[string][]string{"containerd-shim-runc-v2": {"containerd-5670"}, "/usr/bin/kubelet": {"k8s-67285"}, "leaker": {}, "": {}} {
		seen.Program = program
		r := m.Match(seen)
		if d := cmp.Diff(want, looking(r)); d != "" {
			t.Errorf("%q: %s", program, d)
		}
		if got := speaking(r); len(got) > 0 {
			t.Errorf("%q: %v accuse without a stack", program, got)
		}
	}
}

func TestAListingWithoutAStackAccusesNobodyOfAPublishedLeak(t *testing.T) {
	m := Builtin().NewMatcher()
	for _, tt := range []struct {
		program    string
		kind       analysis.Kind
		attributes map[string]string
		want       []string
	}{
		{"node", analysis.KindDescriptor, map[string]string{"type": "tcp", "role": "client", "remote": "10.9.9.9:5432", "state": "ESTABLISHED"}, []string{"k8sjs-2893", "k8sjs-494"}},
		{"kubelet", analysis.KindWatch, map[string]string{"fstype": "cgroup2", "status": "mounted"}, []string{"k8s-100241"}},
		{"my-service", analysis.KindThread, map[string]string{"pool": "OkHttp ConnectionPool"}, []string{"fabric8-781"}},
		{"my-service", analysis.KindThread, map[string]string{"pool": "OkHttp WebSocket"}, []string{"jenkins-58290"}},
	} {
		seen := Seen{Family: &analysis.Family{Fingerprint: "x1:" + tt.program + tt.attributes["pool"], Kind: tt.kind, Attributes: tt.attributes}, Program: tt.program, Count: 130, OldestWait: -1, Verdict: analysis.Leaking, Proven: true}
		r := m.Match(seen)
		if got := speaking(r); len(got) > 0 {
			t.Errorf("%s %v: %v accuse", tt.program, tt.attributes, got)
		}
		if d := cmp.Diff(tt.want, looking(r)); d != "" {
			t.Errorf("%s %v: %s", tt.program, tt.attributes, d)
			continue
		}
		if got := r.Known[0].Meaning; got != "no_stack" {
			t.Errorf("%s: %q", tt.program, got)
		}
	}
}

func TestAVersionThatHasTheFixIsComparedAndNotAccused(t *testing.T) {
	m := Builtin().NewMatcher()
	seen := growing(stackOf("k8s.io/apimachinery/pkg/watch.NewStreamWatcher", "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive"), "chan send", 40)
	seen.Versions = SeenVersions{Program: "informer", Files: func() []string { return []string{"/go/pkg/mod/k8s.io/client-go@v0.34.4/tools/cache/reflector.go"} }}
	r := m.Match(seen)
	if got := speaking(r); slices.Contains(got, "k8s-6488") || slices.Contains(got, "kuberhealthy-533") {
		t.Errorf("%v accuse client-go v0.34.4 of what was mended in 2015 and 2019", got)
	}
	if i := slices.IndexFunc(r.Known, func(m Match) bool { return m.Entry.ID == "k8s-6488" }); i < 0 || r.Known[i].Meaning != "grows_with_fix" {
		t.Errorf("the comparison is not told: %+v", r.Known)
	}
	if got := m.Match(growing(stackOf("k8s.io/apimachinery/pkg/watch.NewStreamWatcher", "k8s.io/apimachinery/pkg/watch.(*StreamWatcher).receive"), "IO wait", 40)); slices.ContainsFunc(got.Known, func(m Match) bool { return m.Entry.ID == "k8s-6488" }) {
		t.Error("the idle state matches k8s-6488")
	}
}

func TestWhatIsKnownToBeNoLeakIsNotAccused(t *testing.T) {
	m := Builtin().NewMatcher()
	shutdown := stackOf("github.com/moby/spdystream.(*Connection).Serve", "github.com/moby/spdystream.(*Connection).shutdown")
	limiter := stackOf("", "golang.org/x/time/rate.(*Limiter).WaitN", "k8s.io/client-go/util/flowcontrol.(*tokenBucketRateLimiter).Wait", "k8s.io/client-go/rest.(*Request).tryThrottleWithInfo")
	blocking := stackOf("", "github.com/hashicorp/go-memdb.watchFew", "github.com/hashicorp/go-memdb.WatchSet.Watch", "github.com/hashicorp/consul/agent/consul.(*Server).blockingQuery")
	cilium := stackOf("", "github.com/cilium/cilium/pkg/controller.(*Controller).runController")
	housekeeping := stackOf("github.com/google/cadvisor/manager.(*containerData).Start", "github.com/google/cadvisor/manager.(*containerData).housekeepingTick", "github.com/google/cadvisor/manager.(*containerData).housekeeping")
	other := stackOf("", "example.org/app/controller.(*Controller).runController")
	stayed := func(minutes int) func() int { return func() int { return minutes } }
	for _, tt := range []struct {
		name   string
		stack  *analysis.Stack
		state  string
		change func(*Seen)
		want   analysis.Verdict
		by     string
	}{
		{"a backlog that was seen to drain", shutdown, "chan send", func(s *Seen) { s.Span, s.Rise = 30, func() Rise { return Rise{Present: 30} } }, analysis.Stable, "k8s-105830"},
		{"a backlog that was seen for longer", shutdown, "chan send", func(s *Seen) { s.Stayed = stayed(11) }, analysis.Leaking, ""},
		{"a backlog within its bound", shutdown, "chan send", nil, analysis.Suspicious, ""},
		{"a backlog of which no age is known", shutdown, "chan send", func(s *Seen) { s.Timed, s.OldestWait, s.Span = false, -1, 90 }, analysis.Suspicious, ""},
		{"a backlog that the runtime calls leaked", shutdown, "chan send", func(s *Seen) { s.Marked = true }, analysis.Leaking, ""},
		{"blocked, and no more is claimed", limiter, "select", func(s *Seen) { s.OldestWait = 30 }, analysis.Suspicious, ""},
		{"blocked, and no more is claimed, and its count levels", limiter, "select", func(s *Seen) { s.OldestWait, s.Rise = 30, func() Rise { return Rise{Level: true} } }, analysis.Stable, "k8s-126711"},
		{"one for each request", blocking, "select", func(s *Seen) { s.OldestWait = 30 }, analysis.Suspicious, ""},
		{"one for each request, and its count levels", blocking, "select", func(s *Seen) { s.OldestWait, s.Rise = 30, func() Rise { return Rise{Level: true} } }, analysis.Stable, "consul-4140"},
		{"judged legitimate", cilium, "select", nil, analysis.Suspicious, ""},
		{"judged legitimate, and its count levels", cilium, "select", func(s *Seen) { s.OldestWait, s.Rise = 30, func() Rise { return Rise{Level: true} } }, analysis.Stable, "cilium-5902"},
		{"a function of the same name", other, "select", nil, analysis.Leaking, ""},
		{"a published leak of the same stack", housekeeping, "select", nil, analysis.Leaking, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := growing(tt.stack, tt.state, 40)
			if tt.change != nil {
				tt.change(&seen)
			}
			rank, _ := m.Match(seen).Weigh(seen)
			if rank.Verdict != tt.want || rank.By != tt.by {
				t.Errorf("%s by %q, want %s by %q (%s)", rank.Verdict, rank.By, tt.want, tt.by, rank.Evidence.Form)
			}
			if e := rank.Evidence; tt.by != "" && (e.Rule != RuleAside || e.Verdict != analysis.Leaking || e.Names[0] != tt.by) {
				t.Errorf("the figures are not told: %+v", e)
			}
		})
	}
}

func TestEntriesThatAreNoLeakMeanWhatTheirStatusSays(t *testing.T) {
	m := Builtin().NewMatcher()
	status := map[string]Status{}
	for _, s := range []*analysis.Stack{
		stackOf("github.com/google/cadvisor/manager.(*containerData).Start", "github.com/google/cadvisor/manager.(*containerData).housekeepingTick", "github.com/google/cadvisor/manager.(*containerData).housekeeping"),
		stackOf("", "github.com/hashicorp/go-memdb.watchFew", "github.com/hashicorp/go-memdb.WatchSet.Watch", "github.com/hashicorp/consul/agent/consul.(*Server).blockingQuery"),
		stackOf("", "github.com/cilium/cilium/pkg/controller.(*Controller).runController"),
		stackOf("", "golang.org/x/time/rate.(*Limiter).WaitN", "k8s.io/client-go/util/flowcontrol.(*tokenBucketRateLimiter).Wait", "k8s.io/client-go/rest.(*Request).tryThrottleWithInfo"),
	} {
		for _, match := range m.Match(growing(s, "select", 40)).Known {
			if match.Meaning == "by_status" {
				status[match.Entry.ID] = match.Entry.Status
			}
		}
	}
	for id, want := range map[string]Status{
		"cadvisor-2012": NormalPerContainer, "consul-4140": NormalPerRequest, "cilium-5902": FalseAlarm, "k8s-126711": StuckNotLeak,
	} {
		if status[id] != want {
			t.Errorf("%s means %q, want %q", id, status[id], want)
		}
	}
}

func TestABacklogIsClearedOnlyByWhatWasSeen(t *testing.T) {
	m := Builtin().NewMatcher()
	began := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	figures := func(pairs ...float64) map[analysis.Figure]float64 {
		out := map[analysis.Figure]float64{"bound_minutes": 10}
		for i, name := range []analysis.Figure{"per_minute", "level", "oldest_minutes", "decides_unix"}[:len(pairs)] {
			if pairs[i] > 0 {
				out[name] = pairs[i]
			}
		}
		return out
	}
	decides := float64(began.Add(15 * time.Minute).Unix()) // one and a half bounds later
	for _, tt := range []struct {
		name    string
		verdict analysis.Verdict
		oldest  int
		span    int
		rise    Rise
		want    analysis.Verdict
		form    analysis.Form
		figures map[analysis.Figure]float64
	}{
		{"two minutes show no drainage", analysis.Leaking, 1, 2, Rise{Present: 2, PerMinute: 75, Began: began}, analysis.Suspicious, "backlog_open", figures(75, 750, 0, decides)},
		{"nor does a suspicion of them", analysis.Suspicious, 1, 2, Rise{Present: 2, PerMinute: 75, Began: began}, analysis.Suspicious, "backlog_open", figures(75, 750, 0, decides)},
		{"longer than the bound, and nobody is older", analysis.Leaking, 8, 30, Rise{Present: 30, PerMinute: 5, Began: began}, analysis.Stable, "backlog_waits", figures(0, 0, 8)},
		{"a long series in which it came late", analysis.Leaking, 4, 30, Rise{Present: 5, PerMinute: 5, Began: began}, analysis.Suspicious, "backlog_open", figures(5, 50, 0, decides)},
		{"level at what its births explain", analysis.Suspicious, 4, 8, Rise{Present: 8, Level: true, PerMinute: 4, Began: began}, analysis.Stable, "backlog_levels", figures(4)},
		{"level far above what its births explain", analysis.Suspicious, 4, 8, Rise{Present: 8, Level: true, PerMinute: 1, Began: began}, analysis.Suspicious, "backlog_open", figures(1, 10, 0, decides)},
		{"no times at all", analysis.Leaking, -1, 0, Rise{Present: -1}, analysis.Suspicious, "backlog_open", figures()},
		{"older than the bound", analysis.Leaking, 12, 30, Rise{Present: 30, PerMinute: 5, Began: began}, analysis.Leaking, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := growing(stackOf("github.com/moby/spdystream.(*Connection).Serve", "github.com/moby/spdystream.(*Connection).shutdown"), "chan send", 40)
			seen.Verdict, seen.OldestWait, seen.Span, seen.Rise = tt.verdict, tt.oldest, tt.span, func() Rise { return tt.rise }
			rank, _ := m.Match(seen).Weigh(seen)
			if rank.Verdict != tt.want || rank.Evidence.Form != tt.form {
				t.Errorf("%s, want %s (%s)", rank.Verdict, tt.want, rank.Evidence.Form)
			}
			if d := cmp.Diff(tt.figures, rank.Evidence.Figures); d != "" {
				t.Errorf("figures (-want +got):\n%s", d)
			}
		})
	}
}

func TestAStackOfTheStandardLibraryAccusesNobodyOfAPublishedLeak(t *testing.T) {
	m := Builtin().NewMatcher()
	for name, tt := range map[string]struct {
		stack *analysis.Stack
		state string
		want  string
	}{
		"an http.Get that hangs":      {stackOf("main.main", "net/http.(*persistConn).roundTrip", "net/http.(*Transport).roundTrip", "net/http.(*Transport).RoundTrip", "net/http.send", "net/http.(*Client).do", "net/http.(*Client).Do", "net/http.(*Client).Get", "main.fetch"), "select", "gostatsd-86"},
		"its connection":              {stackOf("net/http.(*Transport).dialConn", "net/http.(*persistConn).writeLoop"), "select", "distribution-473"},
		"the reader of a gRPC client": {stackOf("google.golang.org/grpc/internal/transport.newHTTP2Client", "net.(*conn).Read", "bufio.(*Reader).Read", "io.ReadAtLeast", "io.ReadFull", "golang.org/x/net/http2.readFrameHeader", "golang.org/x/net/http2.(*Framer).ReadFrame", "google.golang.org/grpc/internal/transport.(*http2Client).reader"), "IO wait", "grpc-1269"},
		"a database":                  {stackOf("database/sql.OpenDB", "database/sql.(*DB).connectionOpener"), "select", "pingcapdm-2127"},
	} {
		t.Run(name, func(t *testing.T) {
			r := m.Match(growing(tt.stack, tt.state, 40))
			if got := speaking(r); len(got) > 0 {
				t.Errorf("%v accuse", got)
			}
			if !slices.Contains(similar(r), tt.want) {
				t.Errorf("%v are similar, want %s among them", similar(r), tt.want)
			}
		})
	}
}

func TestNormalStacksClearWithinTheirCountAndNeverAgainstAProof(t *testing.T) {
	m := Builtin().NewMatcher()
	worker := stackOf("k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod.func1")
	for _, tt := range []struct {
		name    string
		verdict analysis.Verdict
		proven  bool
		count   int
		units   Units
		want    analysis.Verdict
		form    analysis.Form
		above   int
	}{
		{"as many as pods", analysis.Suspicious, false, 60, Units{"pod": 58}, analysis.Stable, "within", 0},
		{"more than pods", analysis.Suspicious, false, 90, Units{"pod": 58}, analysis.Suspicious, "own_evidence", 90},
		{"pods unknown", analysis.Suspicious, false, 60, nil, analysis.Suspicious, "own_evidence", 0},
		{"proven", analysis.Leaking, true, 60, Units{"pod": 58}, analysis.Leaking, "proven_by_id", 0},
		{"proven without identities", analysis.Leaking, true, 61, Units{"pod": 58}, analysis.Leaking, "proven", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := growing(worker, "chan receive", tt.count)
			seen.Verdict, seen.Proven, seen.Units = tt.verdict, tt.proven, tt.units
			seen.Followed = tt.name == "proven"
			rank, told := m.Match(seen).Weigh(seen)
			e := rank.Evidence
			if rank.Verdict != tt.want || !told || e.Form != tt.form || e.N != tt.above {
				t.Errorf("%s: %s of %d, want %s with %s of %d", rank.Verdict, e.Form, e.N, tt.want, tt.form, tt.above)
			}
			if got, want := e.Figures["expected"], float64(tt.units["pod"]); got != want || e.Names[len(e.Names)-1] != "pod" {
				t.Errorf("%v of %v are expected, want %v for each pod", got, e.Names, want)
			}
		})
	}
}

func TestOneGoroutineForEachConnectionSaysNothingAboutALeakOfConnections(t *testing.T) {
	m := Builtin().NewMatcher()
	seen := growing(stackOf("net/http.(*Transport).dialConn", "net/http.(*persistConn).readLoop"), "select", 60)
	seen.Verdict, seen.Proven, seen.Units = analysis.Suspicious, false, Units{"connection": 60}
	if rank, _ := m.Match(seen).Weigh(seen); rank.Verdict != analysis.Suspicious {
		t.Errorf("%s by %q", rank.Verdict, rank.Evidence.Form)
	}
}

func TestMoreThanExpectedWithAKnownSignatureIsSuspicious(t *testing.T) {
	own := File{Name: "own.json", Text: []byte(`{"schema": "leakdiff.knowledge/1", "known": [{"id": "own-1", "title": "pod workers never end", "status": "leak",
		"signature": {"frames_in_order": ["k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop"], "wait_states": ["chan receive"]}}]}`)}
	c, problems := New(own)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	seen := growing(stackOf("k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop"), "chan receive", 500)
	seen.Verdict, seen.Proven, seen.Units = analysis.TooFewPoints, false, Units{"pod": 20}
	r := c.NewMatcher().Match(seen)
	rank, _ := r.Weigh(seen)
	if rank.Verdict != analysis.Suspicious || !rank.Changed || !slices.Contains(speaking(r), "own-1") {
		t.Errorf("%s, %v: %s", rank.Verdict, speaking(r), rank.Evidence.Form)
	}
}

func TestWorkersWithCallsAboveTheLoopAreNotAtRest(t *testing.T) {
	m := Builtin().NewMatcher()
	for name, s := range map[string]*analysis.Stack{
		"mounting":  stackOf("k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", "k8s.io/apimachinery/pkg/util/wait.Poll", "k8s.io/kubernetes/pkg/kubelet/volumemanager.(*volumeManager).WaitForAttachAndMount", "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop"),
		"a handler": stackOf("net/http.(*Server).Serve", "time.Sleep", "main.slow", "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"),
	} {
		if h := m.Match(growing(s, "chan receive", 4)).Healthy; h != nil && h.Normal.ID != "go-runtime-main" {
			t.Errorf("%s is the normal stack %s", name, h.Normal.ID)
		}
	}
}

func TestVersionsAreComparedByLinesOfReleases(t *testing.T) {
	c := Builtin()
	entry := func(id string) *Entry {
		e := c.Entry(id)
		if e == nil {
			t.Fatalf("no entry %s", id)
		}
		return e
	}
	for _, tt := range []struct {
		id, program, seen string
		files             []string
		want              VersionVerdict
		printed           string
	}{
		{"containerd-10568", "containerd", "1.6.20~ds1", nil, VersionAffected, "1.6.20~ds1"},
		{"containerd-10568", "containerd", "v1.7.21", nil, VersionFixed, ""},
		{"containerd-11120", "containerd", "1.7.29~rc.1", nil, VersionAffected, ""},
		{"containerd-11120", "containerd", "1.7.29~ds1", nil, VersionFixed, ""},
		{"containerd-10568", "containerd", "2.0.0", nil, VersionFixed, ""},
		{"containerd-10568", "containerd", "1.5.9", nil, VersionBefore, ""},
		{"containerd-10568", "kubelet", "v1.34.4", nil, "", ""},
		{"k8s-83333", "kube-apiserver", "v1.15.4", nil, VersionAffected, ""},
		{"k8s-83333", "kube-apiserver", "v1.15.5", nil, VersionFixed, ""},
		{"k8s-83333", "kube-apiserver", "v1.13.10", nil, VersionAffected, ""},
		{"clientgo-939", "informer", "", []string{"/go/pkg/mod/k8s.io/client-go@v0.34.4/transport/cert_rotation.go"}, VersionAffected, "k8s.io/client-go v0.34.4"},
		{"clientgo-939", "informer", "", []string{"k8s.io/client-go@v0.36.1/transport/cert_rotation.go"}, VersionFixed, ""},
		{"k8s-100241", "kubelet", "v1.34.4", []string{"github.com/google/cadvisor@v0.52.1/manager/container.go"}, VersionFixed, ""},
		{"pgx-1999", "app", "", []string{"/mod/github.com/jackc/pgx/v5@v5.5.4/pgconn/x.go"}, VersionBefore, ""},
		{"pgx-1999", "app", "", []string{"/mod/github.com/jackc/pgx/v5@v5.7.1/pgconn/x.go"}, VersionAffected, ""},
		{"moby-33781", "dockerd", "17.06.0-ce", nil, VersionAffected, ""},
		{"k8s-114751", "kubelet", "v1.34.4", nil, "", ""},
	} {
		t.Run(tt.id+" "+tt.program+" "+tt.seen+strings.Join(tt.files, ""), func(t *testing.T) {
			got := compare(c, entry(tt.id), SeenVersions{Program: tt.program, Release: tt.seen, Source: "metrics.txt", Files: func() []string { return tt.files }})
			if got.Verdict != tt.want || (got.Seen == "") != (tt.want == "") || tt.printed != "" && got.Seen != tt.printed {
				t.Errorf("%+v, want %q of %s", got, tt.want, tt.printed)
			}
		})
	}
}

func TestReleasesAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) release {
			n := [3]int{rapid.IntRange(0, 3).Draw(t, name), rapid.IntRange(0, 40).Draw(t, name), rapid.IntRange(0, 9).Draw(t, name)}
			text := fmt.Sprintf("v%d.%d.%d", n[0], n[1], n[2]) + rapid.SampledFrom([]string{"", "+ds", "~ds1", "-alpha.1", "-rc.0"}).Draw(t, name)
			r, ok := newRelease(text)
			if !ok {
				t.Fatalf("%q was not read", text)
			}
			return r
		}
		a, b := draw("a"), draw("b")
		if a.compare(b) != -b.compare(a) {
			t.Fatalf("%v and %v", a, b)
		}
	})
}

func TestOverlaysAddAndReplace(t *testing.T) {
	files, problems := Overlays(fstest.MapFS{
		"own.json":   {Data: []byte(`{"schema":"leakdiff.knowledge/1","known":[{"id":"own-1","title":"ours","status":"leak"},{"id":"k8s-57992","title":"ours instead","status":"false-alarm"}]}`)},
		"notes.txt":  {Data: []byte("no catalogue")},
		".part.json": {Data: []byte("{")},
		"dir/x.json": {Data: []byte("{")},
	})
	if len(problems) > 0 || len(files) != 1 {
		t.Fatalf("%v %v", files, problems)
	}
	c, problems := New(files...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if e := c.Entry("own-1"); e == nil || e.Origin != "own.json" {
		t.Errorf("own entry: %+v", e)
	}
	if e := c.Entry("k8s-57992"); e.Title != "ours instead" || e.Status != FalseAlarm {
		t.Errorf("replaced entry: %+v", e)
	}
	if len(c.Known()) != 281 || c.Version() == Builtin().Version() {
		t.Errorf("%d entries, version %s", len(c.Known()), c.Version())
	}
	if got, problems := Overlays(os.DirFS(path.Join(t.TempDir(), "missing"))); got != nil || problems != nil {
		t.Errorf("a missing directory holds %v and %v", got, problems)
	}
}

func TestProblemsSayWhatWhereWhyAndWhatToDo(t *testing.T) {
	good := `{"id": "good", "title": "stays", "status": "leak"}`
	for _, tt := range []struct{ name, text, what, why string }{
		{"no JSON", "{\n \"schema\": \"leakdiff.knowledge/1\",\n \"known\": [}", "is no JSON", "invalid character"},
		{"no object", `[1]`, "is no object", "an array"},
		{"another schema", `{"schema": "leakdiff.knowledge/9"}`, `schema is not "leakdiff.knowledge/1"`, "leakdiff.knowledge/9"},
		{"no schema", `{"known": []}`, `lacks "schema"`, ""},
		{"unknown status", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "title": "x", "status": "bad"}]}`, "known[1] (b).status is an unknown word", `"bad"`},
		{"unknown field", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "title": "x", "status": "leak", "frame": []}]}`, `known[1] (b) has the field "frame"`, "known fields are"},
		{"wrong type", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "title": 7, "status": "leak"}]}`, "known[1] (b).title is of the wrong type", "a string is meant"},
		{"no title", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "status": "leak"}]}`, `known[1] (b) lacks "title"`, ""},
		{"link without https", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "title": "x", "status": "leak", "url": "javascript:alert(1)"}]}`, "known[1] (b).url has the wrong form", "javascript"},
		{"same id twice", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "good", "title": "x", "status": "leak"}]}`, "known[1] (good) has an id that an earlier item has", ""},
		{"vague pattern", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "title": "x", "status": "leak", "signature": {"frames_in_order": ["run*"]}}]}`, `known leak b: the pattern "run*" says too little`, ""},
		{"vague frame of a class", classFile(good, `{"kind": "goroutine", "frames": ["run*"]}`), `class c: the pattern "run*" says too little`, "many functions share"},
		{"vague creator of a class", classFile(good, `{"kind": "goroutine", "created_by": ["..."]}`), `class c: the pattern "..." says too little`, "nothing of it is left"},
		{"vague method of a class of threads", classFile(good, `{"kind": "thread", "frames": ["okhttp3.*"]}, {"kind": "thread", "frames": ["com.*"]}`), `class c: the pattern "com.*" says too little`, "many functions share"},
		{"backlog without bound", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "title": "x", "status": "bounded-backlog"}]}`, "known leak b: bound_minutes is missing", ""},
		{"unknown component", `{"schema": "leakdiff.knowledge/1", "known": [` + good + `, {"id": "b", "title": "x", "status": "leak", "versions": {"component": "zig", "fixed": ["1.0"]}}]}`, `the component "zig" is unknown`, ""},
		{"nested too deep", `{"schema": "leakdiff.knowledge/1", "known": ` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`, "is no JSON", "nested deeper"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, problems := New(File{Name: "own.json", Text: []byte(tt.text)})
			if len(problems) != 1 {
				t.Fatalf("%d problems: %+v", len(problems), problems)
			}
			p := problems[0]
			if p.Path != "own.json" || !strings.Contains(p.What, tt.what) || !strings.Contains(p.Why, tt.why) || p.Why == "" || p.Hint == "" {
				t.Errorf("%+v", p)
			}
			kept := c.Entry("b") != nil
			if strings.Contains(tt.text, `"id": "b"`) && (kept != (tt.name == "unknown component") || kept == strings.HasPrefix(p.What, "this entry is ignored: ")) {
				t.Errorf("kept is %v, and it is said: %s", kept, p.What)
			}
			if strings.Contains(tt.text, `"good"`) && c.Entry("good") == nil {
				t.Error("the entry that holds was lost with the other")
			}
		})
	}
}

func TestAProblemNamesItsLine(t *testing.T) {
	_, problems := New(File{Name: "own.json", Text: []byte("{\"schema\": \"leakdiff.knowledge/1\",\n\"known\": [\n{\"id\": \"b\",\n\"title\": \"x\",\n\"status\": \"bad\"}]}")})
	if len(problems) != 1 || problems[0].Line != 5 {
		t.Errorf("%+v", problems)
	}
}

func TestAnExportIsReadBackAsItIs(t *testing.T) {
	text, err := Builtin().Export()
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := Parse(File{Name: "knowledge.json", Text: text})
	if len(problems) > 0 {
		t.Fatal(problems[0])
	}
	doc.Catalogue = Builtin().Version()
	if d := cmp.Diff(Builtin().doc, *doc); d != "" {
		t.Error(d)
	}
}

func TestWhatOwnFilesAddIsReadBackAsItIs(t *testing.T) {
	own := `{"schema": "leakdiff.knowledge/1",
		"components": [{"name": "zig", "programs": ["zigd"], "modules": [{"path": "zig.example/zig"}]}],
		"thresholds": [{"name": "ours", "text": "500 are too many", "figure": "total", "from": 500, "classes": ["c"]}],
		"threshold_note": "measured here",
		"corrections": [{"advice": "restart it", "fact": "it comes back"}],
		"classes": [` + class(`{"kind": "goroutine", "frames": ["zig.example/zig.Wait"]}`) + `],
		"known": [{"id": "own-1", "title": "x", "status": "leak", "versions": {"component": "zig", "fixed": ["1.0"]}}],
		"normal": [{"id": "own-n", "library": "zig", "frames": ["zig.example/zig.Serve"], "expected": {"text": "one"}}]}`
	c, problems := New(File{Name: "own.json", Text: []byte(own)})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text, err := c.ExportOwn()
	if err != nil {
		t.Fatal(err)
	}
	again, problems := New(File{Name: "own.json", Text: text})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if d := cmp.Diff(c.doc, again.doc); d != "" {
		t.Error(d)
	}
	if strings.Contains(string(text), "k8s-57992") || strings.Contains(string(text), "kubernetes") {
		t.Error("the export holds what comes with the program")
	}
	if text, err := Builtin().ExportOwn(); err != nil || string(text) != "{\n \"schema\": \"leakdiff.knowledge/1\"\n}\n" {
		t.Errorf("without own files: %s, %v", text, err)
	}
}

// class is a class with these patterns, classFile a file with it and a known leak.
func class(patterns string) string {
	return `{"key": "c", "cause": "x", "looks_like": "x", "first_check": "x", "remedy": ["x"], "validate": ["x"], "upstream": {"when": "x", "attach": ["x"]}, "patterns": [` + patterns + `]}`
}

func classFile(known, patterns string) string {
	return `{"schema": "leakdiff.knowledge/1", "known": [` + known + `], "classes": [` + class(patterns) + `]}`
}

func TestTheClassesOfTheProgramAreNotVague(t *testing.T) {
	for _, c := range Builtin().Classes() {
		if problems := checkClass("classes.json", c); len(problems) > 0 {
			t.Error(problems)
		}
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	files, problems := Overlays(fstest.MapFS{
		"real":        {Data: []byte(`{"schema":"leakdiff.knowledge/1"}`)},
		"linked.json": {Data: []byte("real"), Mode: fs.ModeSymlink},
		"pipe.json":   {Mode: fs.ModeNamedPipe},
	})
	if len(files) != 1 || files[0].Name != "linked.json" {
		t.Errorf("files: %v", files)
	}
	if len(problems) != 1 || problems[0].Path != "pipe.json" || !strings.Contains(problems[0].Why, "no regular file") {
		t.Errorf("problems: %+v", problems)
	}
}

// opened counts the files that are opened.
type opened struct {
	fstest.MapFS
	files int
}

func (o *opened) Open(name string) (fs.File, error) {
	o.files++
	return o.MapFS.Open(name)
}

func TestMoreFilesThanAreMeantAreNotEvenRead(t *testing.T) {
	dir := &opened{MapFS: fstest.MapFS{}}
	for i := range mostFiles + 100 {
		dir.MapFS[fmt.Sprintf("%03d.json", i)] = &fstest.MapFile{Data: []byte(`{"schema":"leakdiff.knowledge/1"}`)}
	}
	files, problems := Overlays(dir)
	if len(files) != mostFiles || dir.files > mostFiles+1 {
		t.Errorf("%d files, %d opened", len(files), dir.files)
	}
	if len(problems) != 1 || problems[0].Path != "200.json" || !strings.Contains(problems[0].What, "100 knowledge files are left out") {
		t.Errorf("%+v", problems)
	}
}

func TestADirectoryThatCannotBeReadIsTold(t *testing.T) {
	file := path.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files, problems := Overlays(os.DirFS(file))
	if len(files) != 0 || len(problems) != 1 || !strings.Contains(problems[0].What, "cannot be read") || problems[0].Why == "" {
		t.Errorf("%v, %+v", files, problems)
	}
}

func TestAppendKeepsWhatIsThereAndRefusesWhatItDoesNotUnderstand(t *testing.T) {
	e := Entry{ID: "own-1", Title: "ours", Status: Leak, Signature: Signature{Fingerprints: []string{"g1:" + strings.Repeat("ab", 16)}}}
	first, problems := Append(nil, e)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	second, problems := Append(first, Entry{ID: "own-2", Title: "another", Status: Leak})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e.Title = "ours, renamed"
	third, problems := Append(second, e)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	doc, _ := Parse(File{Text: third})
	var got []string
	for _, x := range doc.Known {
		got = append(got, x.ID+" "+x.Title)
	}
	if d := cmp.Diff([]string{"own-1 ours, renamed", "own-2 another"}, got); d != "" {
		t.Error(d)
	}
	if out, problems := Append([]byte(`{"schema": "leakdiff.knowledge/1", "known": [{"id": "x"}]}`), e); out != nil || len(problems) == 0 {
		t.Errorf("a file that is not understood was written over: %s", out)
	}
	if _, got := Append(nil, Entry{ID: "no spaces", Title: "x", Status: Leak}); len(got) == 0 {
		t.Error("an id with a space was taken")
	}
}

func TestARememberedFamilyIsFoundAgain(t *testing.T) {
	for name, f := range map[string]*analysis.Family{
		"goroutine":  new(family.Stacks).OfStack(stackOf("main.start", "main.(*Pool).wait", "main.(*Pool).run.func1")),
		"descriptor": {Fingerprint: "d1:" + strings.Repeat("0", 32), Kind: analysis.KindDescriptor, Attributes: map[string]string{"type": "tcp", "remote": "10.0.0.1:443", "state": "ESTABLISHED"}},
		"watch":      {Fingerprint: "w1:" + strings.Repeat("0", 32), Kind: analysis.KindWatch, Attributes: map[string]string{"fstype": "tmpfs", "mask": "IN_CREATE|IN_DELETE (0x300)"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := EntryOf(f, map[string]int{"chan receive": 4, "running": 1}, "app")
			e.ID, e.Title = "own-1", "the pool that nobody closes"
			text, problems := Append(nil, e)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			c, _ := New(File{Name: "own.json", Text: text})
			seen := Seen{Family: f, States: map[string]int{"chan receive": 40}, Count: 40, OldestWait: -1, Verdict: analysis.Leaking, Program: "app"}
			if got := speaking(c.NewMatcher().Match(seen)); !slices.Contains(got, "own-1") {
				t.Errorf("%v speak", got)
			}
		})
	}
}

func TestStatementsHaveClasses(t *testing.T) {
	for key, want := range map[string]string{
		"Client DefaultKubernetesClient@Nb runs N calls, its limit is N, and N more wait in its queue": "queue-saturation",
		"unreferenced handles":                "node-agent",
		"N of N clients run at most one call": "okhttp",
		"deadlock a b":                        "",
	} {
		got := ""
		for _, hit := range Builtin().OfStatement(key) {
			got = hit.Class.Key
		}
		if got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
}

func TestCatalogueVersionsFollowTheContent(t *testing.T) {
	a, b := Builtin(), Builtin()
	if a.Version() != b.Version() || !strings.HasPrefix(a.Version(), "1-") {
		t.Errorf("%s and %s", a.Version(), b.Version())
	}
	versions := map[string]bool{}
	for i := range 3 {
		c, _ := New(File{Name: "own.json", Text: fmt.Appendf(nil, `{"schema":"leakdiff.knowledge/1","known":[{"id":"own","title":"ours %d","status":"leak"}]}`, i)})
		versions[c.Version()] = true
	}
	if len(slices.Collect(maps.Keys(versions))) != 3 {
		t.Errorf("three catalogues have the versions %v", versions)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema": "leakdiff.knowledge/1", "known": [{"id": "a", "title": "b", "status": "leak", "signature": {"frames_in_order": ["main.f"]}}]}`))
	f.Add([]byte(`{"schema": "leakdiff.knowledge/1", "normal": [{"id": "a", "library": "b", "frames": ["x/y.f*"], "expected": {"text": "1"}}]}`))
	for _, name := range []string{"classes.json", "known.json", "normal.json"} {
		text, err := data.ReadFile("data/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:2000])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, problems := Parse(File{Name: "own.json", Text: text})
		if doc == nil && len(problems) == 0 {
			t.Error("nothing was read and nothing is said")
		}
		if len(problems) > mostProblems+1 {
			t.Errorf("%d problems", len(problems))
		}
		newIndex(&Document{Known: knownOf(doc)})
	})
}

func knownOf(doc *Document) []Entry {
	if doc == nil {
		return nil
	}
	return doc.Known
}

// wideSeen are families of stacks as deep as those of a kubelet, some of them known.
func wideSeen(n int) []Seen {
	out := make([]Seen, n)
	for i := range out {
		frames := []string{"sync.runtime_notifyListWait", "sync.(*Cond).Wait"}
		for k := range 16 {
			frames = append(frames, fmt.Sprintf("example.org/team%d/service/pkg%d.(*Worker).step%d", i%40, k, i))
		}
		switch i % 10 {
		case 0:
			frames = append(frames, "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop")
		case 1:
			frames = append(frames, "github.com/google/cadvisor/manager.(*containerData).housekeeping")
		}
		out[i] = Seen{Family: new(family.Stacks).OfStack(stackOf("example.org/main.start", frames...)), States: map[string]int{"select": 5}, Count: 5, OldestWait: -1, Verdict: analysis.Stable}
	}
	return out
}

// BenchmarkMatch matches 500 families of one case, each once.
func BenchmarkMatch(b *testing.B) {
	c, seen := Builtin(), wideSeen(500)
	for b.Loop() {
		m := c.NewMatcher()
		for i := range seen {
			m.Match(seen[i])
		}
	}
}

func TestAnOwnEntryIsComparedWithTheVersionOfItsProgram(t *testing.T) {
	pool := stackOf("", "example.org/app/pool.(*Pool).wait")
	for _, tt := range []struct {
		program, words, seen string
		component            string
		fixed                []string
		want                 VersionVerdict
	}{
		{"containerd", "1.6.36", "v1.6.20", "containerd", []string{"1.6.36"}, VersionAffected},
		{"/usr/bin/payd", "v2.4.1 and 3.0", "2.4.0", "payd", []string{"v2.4.1", "3.0"}, VersionAffected},
		{"payd", "2.4.1-rc.2, or later", "2.5.0", "payd", []string{"2.4.1-rc.2"}, VersionFixed},
		{"payd", "when the pool is shared", "2.5.0", "", nil, ""},
	} {
		e := EntryOf(new(family.Stacks).OfStack(pool), map[string]int{"select": 9}, tt.program)
		var made []Component
		e.ID, e.Title, e.FixedIn = "own-1", "the pool", tt.words
		e.Versions, made = Builtin().Fix(tt.program, tt.words)
		if e.Versions.Component != tt.component || !slices.Equal(e.Versions.Fixed, tt.fixed) {
			t.Errorf("%s %q: %+v", tt.program, tt.words, e.Versions)
		}
		text, problems := Append(nil, e, made...)
		if len(problems) > 0 {
			t.Fatalf("%s: %+v", tt.words, problems)
		}
		c, problems := New(File{Name: "remembered.json", Text: text})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		seen := growing(pool, "select", 40)
		seen.Versions = SeenVersions{Program: tt.program, Release: tt.seen, Source: "metrics.txt"}
		known := c.NewMatcher().Match(seen).Known
		if len(known) != 1 || known[0].Versions.Verdict != tt.want {
			t.Errorf("%s %q: %+v", tt.program, tt.words, known)
			continue
		}
		if tt.want == VersionAffected && (known[0].Meaning != "same_stack_and_state" || known[0].Entry.Origin == "") {
			t.Errorf("%q", known[0].Meaning)
		}
	}
}

func TestARememberedResourceIsThatOfItsProgram(t *testing.T) {
	f := &analysis.Family{Fingerprint: "w1:" + strings.Repeat("0", 32), Kind: analysis.KindWatch, Attributes: map[string]string{"fstype": "tmpfs", "status": "mounted"}}
	e := EntryOf(f, nil, "/usr/bin/payd")
	e.ID, e.Title = "own-1", "watches"
	text, problems := Append(nil, e)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c, _ := New(File{Name: "remembered.json", Text: text})
	for program, want := range map[string][]string{"payd": {"own-1"}, "kubelet": {}, "": {}} {
		seen := Seen{Family: f, Program: program, Count: 30, OldestWait: -1, Verdict: analysis.Leaking}
		if d := cmp.Diff(want, speaking(c.NewMatcher().Match(seen))); d != "" {
			t.Errorf("%q: %s", program, d)
		}
	}
}

func TestARememberedStackWithoutAPackageOfItsOwnIsThatOfItsProgram(t *testing.T) {
	for name, tt := range map[string]struct {
		stack *analysis.Stack
		want  []string
	}{
		"main alone":       {stackOf("main.main", "time.Sleep", "main.leaker"), []string{"gosrv"}},
		"standard library": {stackOf("net/http.(*Transport).dialConn", "net/http.(*persistConn).readLoop"), []string{"gosrv"}},
		"a library":        {stackOf("main.main", "example.org/pool.(*Pool).wait"), nil},
		"made by one":      {stackOf("example.org/pool.Start", "time.Sleep", "main.leaker"), nil},
	} {
		e := EntryOf(new(family.Stacks).OfStack(tt.stack), map[string]int{"select": 9}, "/usr/bin/gosrv")
		if d := cmp.Diff(tt.want, e.Signature.Programs); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		e.ID, e.Title = "own-1", name
		text, problems := Append(nil, e)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		c, _ := New(File{Name: "own.json", Text: text})
		for program, want := range map[string]bool{"gosrv": true, "billing": tt.want == nil} {
			seen := growing(tt.stack, "select", 40)
			seen.Program = program
			if got := slices.Contains(speaking(c.NewMatcher().Match(seen)), "own-1"); got != want {
				t.Errorf("%s in %s: %v", name, program, got)
			}
		}
	}
}

func TestEtcdIsKnownUnderThePathsOfAllItsReleases(t *testing.T) {
	for name, pkg := range map[string]string{
		"3.3": "github.com/coreos/etcd/etcdserver/api/v3rpc", "3.4": "go.etcd.io/etcd/etcdserver/api/v3rpc", "3.4 as a module": "go.etcd.io/etcd/v3/etcdserver/api/v3rpc",
		"3.5": "go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc", "vendored": "github.com/coreos/etcd/cmd/vendor/go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc",
	} {
		r := Builtin().NewMatcher().Match(growing(stackOf(pkg+".(*watchServer).Watch", pkg+".(*serverWatchStream).recvLoop"), "chan send", 40))
		if !slices.Contains(speaking(r), "etcd-18704") {
			t.Errorf("%s: %v", name, speaking(r))
		}
		// A client that never closes its watches leaves both loops where they rest.
		for _, loop := range []string{"recvLoop", "sendLoop"} {
			r := Builtin().NewMatcher().Match(growing(stackOf(pkg+".(*watchServer).Watch", pkg+".(*serverWatchStream)."+loop), "select", 40))
			if slices.Contains(speaking(r), "etcd-18704") || r.Healthy == nil || r.Healthy.Normal.ID != "etcd-server-recvloop" {
				t.Errorf("%s: %s: %v, %+v", name, loop, speaking(r), r.Healthy)
			}
		}
	}
	run := stackOf("go.etcd.io/etcd/etcdserver.(*raftNode).start", "go.etcd.io/etcd/etcdserver.(*raftNode).tick", "go.etcd.io/etcd/etcdserver.(*raftNode).start.func1")
	if h := Builtin().NewMatcher().Match(growing(run, "select", 1)).Healthy; h == nil || h.Normal.ID != "etcd-server-start" {
		t.Errorf("the loop of raft is %+v", h)
	}
}

func TestAFileThatTakesAnEntryOfAnotherSaysSo(t *testing.T) {
	file := func(name, title string) File {
		return File{Name: name, Text: []byte(`{"schema": "leakdiff.knowledge/1", "known": [{"id": "own-1", "title": "` + title + `", "status": "leak"}]}`)}
	}
	c, problems := New(file("a.json", "first"), file("b.json", "second"))
	if c.Entry("own-1").Title != "second" || len(problems) != 1 || problems[0].Path != "b.json" || problems[0].What != "known leak own-1 takes the place of that of a.json" || problems[0].Hint == "" {
		t.Errorf("%q: %+v", c.Entry("own-1").Title, problems)
	}
	// Replacing built-in entries is the purpose of such files.
	text := strings.ReplaceAll(string(file("a.json", "mine").Text), "own-1", "k8s-83333")
	if _, problems := New(File{Name: "a.json", Text: []byte(text)}); len(problems) > 0 {
		t.Errorf("%+v", problems)
	}
}

func TestTheVersionNamesTheFilesOfWhatPeopleAdded(t *testing.T) {
	own := []byte(`{"schema": "leakdiff.knowledge/1", "known": [{"id": "own-7", "title": "our watcher forgets its instance", "status": "leak", "remedy": "close it", "signature": {"resources": [{"kind": "descriptor", "attributes": {"name": "inotify"}}]}}]}`)
	versions := map[string]string{}
	for _, name := range []string{"alpha.json", "beta.json"} {
		c, problems := New(File{Name: name, Text: own})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		versions[c.Version()] = name
	}
	if len(versions) != 2 || versions[Builtin().Version()] != "" {
		t.Errorf("got %v", versions)
	}
}

func FuzzAppend(f *testing.F) {
	f.Add("own-1", "the pool that nobody closes", "app v1.2.3", "close it", "g1:"+strings.Repeat("ab", 16))
	f.Add("no spaces", "\u202e<b>", "1.2, v3 \x00", "\xff", "")
	f.Add("a", "b", strings.Repeat("9", 40)+".1", "\"}", "d1:x")
	kept := Entry{ID: "kept", Title: "another", Status: Leak}
	before, problems := Append(nil, kept)
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	f.Fuzz(func(t *testing.T, id, title, fixed, remedy, fingerprint string) {
		e := Entry{ID: id, Title: title, Status: Leak, FixedIn: fixed, Remedy: remedy, Signature: Signature{Fingerprints: []string{fingerprint}}}
		var made []Component
		e.Versions, made = Builtin().Fix("app", fixed)
		text, problems := Append(before, e, made...)
		if (text == nil) != (len(problems) > 0) {
			t.Fatalf("%d bytes, %v", len(text), problems)
		}
		if text == nil || id == kept.ID {
			return
		}
		doc, problems := Parse(File{Name: "own.json", Text: text})
		if len(problems) > 0 || len(doc.Known) != 2 || doc.Known[1].ID != id || utf8.ValidString(remedy) && doc.Known[1].Remedy != remedy {
			t.Fatalf("%v, %+v", problems, doc)
		}
		if text, problems = Remove(text, id); len(problems) > 0 {
			t.Fatal(problems)
		}
		if doc, _ := Parse(File{Name: "own.json", Text: text}); len(doc.Known) != 1 || doc.Known[0].ID != kept.ID {
			t.Errorf("%q is forgotten, and this is left: %+v", id, doc.Known)
		}
	})
}
