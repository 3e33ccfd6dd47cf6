package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/trend"
	"leakdiff/analysis/judge/wait"
)

// numbers are counts, -1 for not captured.
func numbers(all ...int) analysis.Counts { return analysis.CountsOf(all...) }

// TestEachRuleReplacesWhatItForbids has a row for each rule of forbidden: claims that it forbids,
// what stands in their place, and the nearest claims that it leaves alone.
func TestEachRuleReplacesWhatItForbids(t *testing.T) {
	before := 3
	tests := map[string]struct {
		life            *analysis.Life
		ended           *Peer
		queue           *Lock
		versions        *Bisected
		evidence        []Evidence
		counts          analysis.Counts
		forbidden, left Claims
		instead         func(Claims) bool
	}{
		"stopped at the last capture": {
			forbidden: Claims{State: GrewOnce, Top: 7, Last: 7, N: 120, Left: 120, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: GrewOnce, Top: 6, Last: 7, N: 120, Left: 120, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.State == Grew },
		},
		"stopped and later captures cannot show it": {
			counts:    append(numbers(0, 20, 40, 40), analysis.Count{}, analysis.Count{State: analysis.NotShown}),
			forbidden: Claims{State: GrewOnce, Top: 2, Last: 3, N: 40, Left: 40, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: GrewOnce, Top: 2, Last: 5, N: 40, Left: 40, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.State == Grew },
		},
		"stopped and the time since is short against the gaps before": {
			evidence:  []Evidence{{Evidence: analysis.Evidence{Rule: "stopped", Form: "paused"}}},
			forbidden: Claims{State: GrewOnce, Top: 6, Last: 7, N: 120, Left: 120, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: GrewOnce, Top: 6, Last: 7, N: 120, Left: 120, EndedAt: -1, RestartedAt: 7},
			instead:   func(c Claims) bool { return c.State == Grew },
		},
		"none ended and fewer are left": {
			forbidden: Claims{State: Leaks, Followed: true, Came: 40, N: 40, Left: 30, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: Leaks, Followed: true, Came: 40, N: 40, Left: 0, EndedAt: 5, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.Ended == 10 },
		},
		"more came than are there": {
			forbidden: Claims{State: Leaks, Followed: true, Came: 120, N: 119, Left: 119, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: Leaks, Followed: true, Came: 119, N: 119, Left: 119, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.Came == 119 },
		},
		"followed and more rose than came": {
			forbidden: Claims{State: Leaks, Followed: true, From: 2, N: 20, Left: 20, Came: 17, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: Leaks, Followed: true, From: 2, N: 20, Left: 20, Came: 18, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return !c.Followed },
		},
		"grew and all were replaced": {
			life: &analysis.Life{Followed: 20, RenewedAt: &before}, counts: numbers(10, 20, 30, 40, 50),
			forbidden: Claims{State: Grew, From: 10, N: 50, Left: 50, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: Leaks, From: 10, N: 50, Left: 50, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.State == Replaced },
		},
		"leaks or may leak beside the proof that it was fixed": {
			versions:  &Bisected{Fixed: "v1.5.6", Fix: &Fix{Before: "v1.5.5", After: "v1.5.6", Proven: true}},
			forbidden: Claims{State: MayLeak, From: 5, N: 50, Left: 5, EndedAt: -1, RestartedAt: 6},
			left:      Claims{State: MayLeak, From: 5, N: 50, Left: 50, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.State == Fixed },
		},
		"a pace beside counts that do not rise any more": {
			counts:    numbers(0, 20, 40, 40),
			forbidden: Claims{State: Grew, PerHour: 20, Top: 2, Last: 3, N: 40, Left: 40, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: Grew, PerHour: 20, Top: 3, Last: 3, N: 40, Left: 40, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.PerHour == 0 && c.State == Grew },
		},
		"since before a capture that has none": {
			counts:    numbers(0, 0, 12, 24),
			forbidden: Claims{State: Leaks, Before: true, Since: 0, From: 0, N: 24, Left: 24, EndedAt: -1, RestartedAt: -1},
			left:      Claims{State: Leaks, Before: true, Since: 0, From: 3, N: 24, Left: 24, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return !c.Before && c.Since == 2 },
		},
		"opened here and ended with a peer": {
			ended:     &Peer{Process: "ordersync", Connections: 56, At: 8},
			forbidden: Claims{State: Leaks, N: 280, EndedAt: 8, RestartedAt: -1},
			left:      Claims{State: Leaks, N: 280, Left: 280, EndedAt: -1, RestartedAt: -1},
			instead:   func(c Claims) bool { return c.Opener != nil && c.Opener.Process == "ordersync" },
		},
		"released by something and an opener ended": {
			forbidden: Claims{State: Leaks, N: 280, EndedAt: 8, RestartedAt: -1, Released: true, Opener: &Peer{Process: "ordersync"}},
			left:      Claims{State: Leaks, N: 280, EndedAt: 8, RestartedAt: -1, Released: true},
			instead:   func(c Claims) bool { return !c.Released },
		},
		"released by something and calls were answered": {
			queue:     &Lock{Holders: []LockHolder{{WaitsFor: wait.ForWaitGroup, Children: []LockSite{{Function: "main.call", Count: 8}}}}},
			forbidden: Claims{State: Leaks, N: 24, EndedAt: 8, RestartedAt: -1, Released: true},
			left:      Claims{State: Leaks, N: 24, EndedAt: 8, RestartedAt: -1},
			instead:   func(c Claims) bool { return !c.Released },
		},
	}
	for _, r := range forbidden() {
		row, ok := tests[r.name]
		if !ok {
			t.Errorf("the rule %q has no row", r.name)
			continue
		}
		l := &answer{life: row.life, queue: row.queue, finding: &Finding{EndedWith: row.ended, Versions: row.versions, Evidence: row.evidence}, subject: subject{counts: row.counts}}
		c := row.forbidden
		if !r.forbids(l, &c) {
			t.Errorf("%s: allowed", r.name)
			continue
		}
		if r.instead(l, &c); !row.instead(c) || r.forbids(l, &c) {
			t.Errorf("%s: became %+v", r.name, c)
		}
		if left := row.left; r.forbids(l, &left) {
			t.Errorf("%s: forbids %+v as well", r.name, left)
		}
	}
	if len(tests) != len(forbidden()) {
		t.Errorf("%d rows for %d rules", len(tests), len(forbidden()))
	}
}

func TestWhatHasNotStoppedForSureIsKnownByItsEvidence(t *testing.T) {
	rule := func(rule string, form analysis.Form) Evidence {
		return Evidence{Evidence: analysis.Evidence{Rule: rule, Form: form}}
	}
	for name, tt := range map[string]struct {
		evidence []Evidence
		want     bool
	}{
		"none came for long":                            {[]Evidence{rule("stopped", "stands")}, false},
		"one came for long":                             {[]Evidence{rule("stopped", "slowed")}, false},
		"none came for a short time":                    {[]Evidence{rule("stopped", "paused")}, true},
		"fewer came for a short time":                   {[]Evidence{rule("stopped", "slows")}, true},
		"it leaked before, and fewer came":              {[]Evidence{rule("memory", "")}, true},
		"it leaked before, and none came for long":      {[]Evidence{rule("memory", ""), rule("stopped", "stands")}, false},
		"the others that rose with it recovered":        {[]Evidence{rule("retained", "")}, false},
		"it leaked before, and none came in short time": {[]Evidence{rule("memory", ""), rule("stopped", "paused")}, true},
	} {
		if got := (&Finding{Evidence: tt.evidence}).unsettled(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatStandsHasNoPace(t *testing.T) {
	for name, tt := range map[string]struct {
		state  State
		counts analysis.Counts
		ended  int
		want   bool
	}{
		"it grew, and rises at the end":           {Grew, numbers(0, 20, 40, 41), 0, false},
		"it grew, and stands":                     {Grew, numbers(0, 20, 40, 40), 0, true},
		"it grew, and falls":                      {Grew, numbers(0, 33, 20, 5), 28, true},
		"it grew and stopped":                     {GrewOnce, numbers(0, 20, 40, 40), 0, true},
		"it may leak, and no more came":           {MayLeak, numbers(0, 20, 40, 40), 0, true},
		"it may leak, and as many ended as came":  {MayLeak, numbers(0, 20, 40, 40), 3, false},
		"it may leak, and a capture had one more": {MayLeak, numbers(0, 20, 41, 40), 0, false},
		"it leaks, and no more came":              {Leaks, numbers(0, 20, 40, 40), 0, false},
	} {
		top := tt.counts.HighestAt()
		c := Claims{State: tt.state, Followed: true, Ended: tt.ended, N: tt.counts[top].N, Top: top, Last: 3, Left: tt.counts[3].N, EndedAt: -1, RestartedAt: -1}
		if got := c.standing(&answer{subject: subject{counts: tt.counts}}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAFixIsOneThatIsProven(t *testing.T) {
	proven := &Fix{Before: "v1.5.5", After: "v1.5.6", Proven: true}
	for name, tt := range map[string]struct {
		versions *Bisected
		want     bool
	}{
		"proven":                   {&Bisected{Fixed: "v1.5.6", Fix: proven}, true},
		"too short":                {&Bisected{Fixed: "v1.5.6", Fix: &Fix{Before: "v1.5.5", After: "v1.5.6", More: 2}}, false},
		"a later one is bad again": {&Bisected{Fix: proven}, false},
		"one version":              {nil, false},
	} {
		if got := (&Finding{Versions: tt.versions}).fix() != nil; got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for after, want := range map[string]string{"v1.5.6": "fixed in v1.5.6", trend.After: "fixed by the change"} {
		f := &Finding{Versions: &Bisected{Fixed: after, Fix: &Fix{Before: trend.Before, After: after, Proven: true}}}
		if got := f.fixed(); got != want {
			t.Errorf("%s: %q", after, got)
		}
	}
}

func TestAThingIsClosedWhereItsOwnCloseStartedTheMembers(t *testing.T) {
	for creator, want := range map[string]bool{
		"github.com/moby/spdystream.(*Connection).Close":       true,
		"github.com/moby/spdystream.(*Connection).Close.func1": true,
		"example.org/app.(*Pool).Shutdown":                     true,
		"example.org/app.(*Pool).CloseNotify":                  false,
		"example.org/close/app.Run":                            false,
		"":                                                     false,
	} {
		s := &Series{Families: []Family{{Fingerprint: "g1:a", CreatedBy: creator}}}
		if got := s.startedByClose(&Finding{Families: []string{"g1:a"}}); got != want {
			t.Errorf("%q: %v", creator, got)
		}
	}
}

func TestALimitIsToldByItsHighestUse(t *testing.T) {
	hour := &[3]float64{1, .5, 2}
	for name, tt := range map[string]struct {
		bound Bound
		want  string
	}{
		"over it":                       {Bound{What: "open files", Bound: 60, Used: 61, Peak: 61}, "at its limit: 61 of 60 open files"},
		"at nine tenths":                {Bound{What: "open files", Bound: 1000, Used: 900, Peak: 900}, "at its limit: 900 of 1000 open files"},
		"just below nine tenths":        {Bound{What: "open files", Bound: 1000, Used: 899, Peak: 899}, "open files: 899 of 1000 (90 %)"},
		"just above half":               {Bound{What: "open files", Bound: 1000, Used: 501, Peak: 501}, "open files: 501 of 1000 (50 %)"},
		"half":                          {Bound{What: "open files", Bound: 1000, Used: 500, Peak: 500}, "none near: 500 of 1000 open files"},
		"full within the week":          {Bound{What: "open files", Bound: 1000, Used: 100, Peak: 100, HoursLeft: hour}, "open files full in 1.0 h: 100 of 1000"},
		"a forecast at a twentieth":     {Bound{What: "open files", Bound: 1000, Used: 49, Peak: 49, HoursLeft: hour}, "none near: 49 of 1000 open files"},
		"gone back since":               {Bound{What: "open files", Bound: 20000, Used: 12, Peak: 1400}, "none near: 1400 of 20\u202f000 open files, at the peak"},
		"a part of them, far":           {Bound{What: "open files", Bound: 20000, Used: 3, Peak: 3, AtLeast: true}, "at least 3 of 20\u202f000 open files: not all are listed, take lsof too"},
		"a part of them, near":          {Bound{What: "open files", Bound: 1000, Used: 950, Peak: 950, AtLeast: true}, "at its limit: at least 950 of 1000 open files"},
		"of a user, one process seen":   {Bound{What: "inotify instances", Bound: 128, Used: 38, Peak: 38, Scope: "user"}, "38 of 128 inotify instances by this process alone: the limit counts all processes of its user"},
		"of a user, all processes seen": {Bound{What: "inotify instances", Bound: 128, Used: 114, Peak: 114, Scope: "user", Shares: make([]BoundShare, 3)}, "inotify instances: 114 of 128 (89 %), by 3 processes of its user"},
	} {
		s := &Series{Bounds: []Bound{tt.bound}}
		if got := s.nearest().text(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := (*LimitClaim)(nil).text(); got != noLimit {
		t.Errorf("without a limit: %q", got)
	}
}

func TestALimitBesideGrowthSaysWhenItsPaceFillsIt(t *testing.T) {
	far := Bound{What: "open files", Bound: 4096, Used: 105, Peak: 105, HoursLeft: &[3]float64{4.5, 4, 5}}
	week, gone := far, far
	week.HoursLeft, gone.Peak = &[3]float64{169, 168, 170}, 200
	user := Bound{What: "inotify instances", Bound: 128, Used: 41, Peak: 41, Scope: "user"}
	for name, tt := range map[string]struct {
		verdict analysis.Verdict
		of      string
		bounds  []Bound
		want    string
	}{
		"a leak":                                  {analysis.Leaking, "", []Bound{far}, "105 of 4096 open files, full in 4.5 h if that goes on"},
		"a suspicion":                             {analysis.Suspicious, "", []Bound{far}, "105 of 4096 open files, full in 4.5 h if that goes on"},
		"what grew once has no pace":              {analysis.Grew, "", []Bound{far}, "none near: 105 of 4096 open files"},
		"more than a week":                        {analysis.Leaking, "", []Bound{week}, "none near: 105 of 4096 open files"},
		"its use has gone back":                   {analysis.Leaking, "", []Bound{gone}, "none near: 200 of 4096 open files, at the peak"},
		"no limit":                                {analysis.Leaking, "", nil, noLimit},
		"inotify instances without theirs":        {analysis.Leaking, "inotify", []Bound{far}, "not captured: often 128 inotify instances for each user"},
		"inotify instances with theirs":           {analysis.Leaking, "inotify", []Bound{user}, "41 of 128 inotify instances by this process alone: the limit counts all processes of its user"},
		"inotify instances at the limit of files": {analysis.Leaking, "inotify", []Bound{{What: "open files", Bound: 80, Used: 75, Peak: 75}}, "at its limit: 75 of 80 open files"},
		"another descriptor beside inotify":       {analysis.Leaking, "eventpoll", []Bound{far}, "105 of 4096 open files, full in 4.5 h if that goes on"},
	} {
		s := Series{Bounds: tt.bounds, Families: []Family{{Fingerprint: "g1:a", Attributes: map[string]string{"name": tt.of}}}}
		d := &diagnosing{r: &Report{Series: []Series{s}}}
		l := answer{finding: &Finding{Verdict: tt.verdict, Families: []string{"g1:a"}}}
		if got := d.limitOf(l, s.nearest()); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestTwoThingsAtOnePaceAreTwo(t *testing.T) {
	stack := func(frames ...string) []string { return frames }
	family := func(print, creator string, kind analysis.Kind, counts analysis.Counts, frames []string) *Family {
		return &Family{Fingerprint: print, Kind: kind, CreatedBy: creator, Frames: frames, Counts: counts, Rise: counts[len(counts)-1].N - counts[0].N}
	}
	up, half, uneven := numbers(0, 2, 4, 6), numbers(0, 1, 2, 3), numbers(0, 5, 8, 14)
	probe := family("g1:a", "k8s.io/kubernetes/pkg/kubelet/prober.(*manager).AddPod", analysis.KindGoroutine, up, stack("k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run"))
	pod := family("g1:b", "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod", analysis.KindGoroutine, up, stack("k8s.io/kubernetes/pkg/kubelet.(*podWorkers).run"))
	dialDB, dialCache := family("g1:k", "main.dialDB", analysis.KindGoroutine, up, stack("main.readLoop")), family("g1:l", "main.dialCache", analysis.KindGoroutine, up, stack("main.readLoop"))
	child := family("g1:c", "k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run", analysis.KindGoroutine, up, stack("k8s.io/kubernetes/pkg/kubelet/prober.probe"))
	transport := family("g1:d", "net/http.(*Transport).dialConn", analysis.KindGoroutine, up, stack("net/http.(*persistConn).readLoop"))
	reader := family("g1:m", "main.open", analysis.KindGoroutine, up, stack("main.(*session).read"))
	writer := family("g1:n", "main.open", analysis.KindGoroutine, up, stack("main.(*session).write"))
	mail, stats := family("g1:o", "main.open", analysis.KindGoroutine, up, stack("main.mailLoop")), family("g1:p", "main.open", analysis.KindGoroutine, up, stack("main.statsLoop"))
	closure := family("g1:q", "main.open", analysis.KindGoroutine, up, stack("main.open.func1"))
	lent := family("g1:r", "net/http.(*Server).Serve", analysis.KindGoroutine, up, stack("main.statsLoop"))
	lentToo := family("g1:s", "net/http.(*Server).Serve", analysis.KindGoroutine, up, stack("main.mailLoop"))
	polls := family("g1:t", "main.open", analysis.KindGoroutine, up, stack("internal/poll.(*FD).Read", "os.(*File).Read", "main.copy"))
	bursts := family("g1:u", "main.open", analysis.KindGoroutine, numbers(0, 9, 10, 16), stack("main.mailLoop"))
	burstFiles := family("d1:v", "", analysis.KindDescriptor, numbers(0, 18, 20, 32), nil)
	files := family("d1:e", "", analysis.KindDescriptor, half, nil)
	twice := family("d1:f", "", analysis.KindDescriptor, numbers(0, 4, 8, 12), nil)
	skewed := family("d1:g", "", analysis.KindDescriptor, uneven, nil)
	client := family("d1:h", "", analysis.KindDescriptor, up, nil)
	client.Attributes = map[string]string{"protocol": "TCP", "role": "client", "remote": "10.0.0.1:80", "state": "ESTABLISHED"}
	waiting := family("d1:i", "", analysis.KindDescriptor, up, nil)
	waiting.Attributes = map[string]string{"protocol": "TCP", "role": "client", "remote": "10.0.0.1:80", "state": "CLOSE_WAIT"}
	server := family("d1:j", "", analysis.KindDescriptor, up, nil)
	server.Attributes = map[string]string{"protocol": "TCP", "role": "server", "local": "10.0.0.1:80", "remote": "10.0.0.2", "state": "ESTABLISHED"}
	held := []Object{{ID: "o1", Families: []string{"g1:a", "g1:b"}}}
	asFast := []Object{{ID: "o1", Families: []string{"g1:a"}, InStep: []InStep{{Fingerprint: "g1:b"}, {Fingerprint: "g1:d"}, {Fingerprint: "d1:e"}}}}
	for _, tt := range []struct {
		name    string
		a, b    *Family
		objects []Object
		want    bool
	}{
		{"different creators", probe, pod, nil, false},
		{"different creators, and one object holds both", probe, pod, held, true},
		{"different creators, and one is as fast as the objects of the other", probe, pod, asFast, false},
		{"what the standard library keeps for objects", probe, transport, asFast, true},
		{"descriptors in step with objects", probe, files, asFast, true},
		{"one function that two places start", dialDB, dialCache, nil, false},
		{"one started the other", probe, child, nil, true},
		{"what the standard library keeps for it", probe, transport, nil, true},
		{"half as many descriptors as goroutines", probe, files, nil, false},
		{"two descriptors at an even pace, and no stack that works on files", probe, twice, nil, false},
		{"two descriptors at an even pace, and a stack that works on files", polls, twice, nil, true},
		{"connections at an even pace, and a stack that works on files", polls, client, nil, false},
		{"two descriptors for each goroutine of uneven births", bursts, burstFiles, nil, true},
		{"two methods of one type that one function starts", reader, writer, nil, true},
		{"two functions that one function starts", mail, stats, nil, false},
		{"two functions that one function starts, and one object holds both", mail, stats, []Object{{ID: "o1", Families: []string{"g1:o", "g1:p"}}}, true},
		{"a function and a part of the one that starts both", mail, closure, nil, true},
		{"two functions that the standard library starts", lent, lentToo, nil, true},
		{"descriptors at another pace", probe, skewed, nil, false},
		{"both ends of the same connections", client, server, nil, true},
		{"connections in two states", client, waiting, nil, false},
	} {
		if got := oneThing(tt.a, tt.b, tt.objects, []float64{0, 1, 2, 3}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestCodeThatKeepsDescriptorsLeads(t *testing.T) {
	s := &Series{Families: []Family{
		{Fingerprint: "d1:a", Kind: analysis.KindDescriptor, Counts: numbers(0, 4, 8, 12)},
		{Fingerprint: "g1:b", Kind: analysis.KindGoroutine, CreatedBy: "main.start", Frames: []string{"os.(*File).Read", "main.read"}, Counts: numbers(0, 1, 2, 3)},
	}}
	pipes := answer{finding: &Finding{Families: []string{"d1:a"}, Verdict: analysis.Leaking}, subject: subject{one: "pipe end", many: "pipe ends", counts: s.Families[0].Counts}}
	code := answer{finding: &Finding{Families: []string{"g1:b"}, Verdict: analysis.Leaking}, subject: subject{one: "transport", many: "transports", counts: s.Families[1].Counts}}
	own := []answer{pipes, code}
	new(diagnosing).leadFirst(s, own)
	if own[0].subject.one != "transport" || own[0].subject.each != "4 pipe ends" || !slices.ContainsFunc(own, func(l answer) bool { return l.subject.one == "pipe end" }) {
		t.Errorf("%+v", own)
	}
}

func TestWhatIsBornTogetherDiffersFromAnEvenPace(t *testing.T) {
	for _, tt := range []struct {
		name       string
		code, held analysis.Counts
		hours      []float64
		want       bool
	}{
		{"two clocks that tick alike", numbers(11, 24, 37, 51), numbers(12, 24, 37, 51), nil, false},
		{"uneven births that agree", numbers(0, 5, 17, 20), numbers(3, 8, 20, 23), nil, true},
		{"uneven births that agree but for one", numbers(0, 5, 17, 20), numbers(3, 8, 19, 22), nil, true},
		{"uneven births that differ", numbers(0, 5, 17, 20), numbers(0, 12, 15, 20), nil, false},
		{"a sum of squares of 6 where 4 are needed", numbers(0, 2, 7, 9), numbers(0, 2, 7, 9), nil, true},
		{"a sum of squares of 2", numbers(0, 2, 5, 9), numbers(0, 2, 5, 9), nil, false},
		{"an even pace in intervals of unequal length", numbers(0, 5, 17, 20), numbers(3, 8, 20, 23), []float64{0, 5, 17, 20}, false},
		{"uneven births that agree, and all ended in the last interval", numbers(0, 5, 17, 20, 0), numbers(3, 8, 20, 23, 3), nil, true},
		{"two captures", numbers(0, 20), numbers(0, 20), nil, false},
		{"captures that lack one of them", numbers(0, 5, 17, 20), analysis.Counts{{}, {}, {}, {}}, nil, false},
	} {
		if got := bornTogether(tt.code, tt.held, tt.hours); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestThreadsOfOneNameInADeadlockAreCounted(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
	}{
		{[]string{"worker", "worker"}, "Deadlock: 2 threads named “worker” wait for each other"},
		{[]string{"worker", "writer"}, "Deadlock: threads “worker” and “writer” wait for each other"},
		{[]string{strings.Repeat("a", 60), strings.Repeat("b", 61)}, "Deadlock: threads “" + strings.Repeat("a", 60) + "” and “" + strings.Repeat("b", 61) + "” wait for each other"},
		{[]string{strings.Repeat("a", 61), strings.Repeat("b", 61)}, "Deadlock: 2 threads wait for each other"},
	} {
		locks := &Locks{Kind: analysis.KindThread, Cycles: []LockCycle{{Certainty: Proven}}}
		for i, name := range test.names {
			id := fmt.Sprint("lock ", i+1)
			locks.List = append(locks.List, Lock{ID: id, Holders: []LockHolder{{Certainty: Proven, ID: int64(i + 1), Name: name, Lock: fmt.Sprint("lock ", 2-i)}}})
			locks.Cycles[0].Locks = append(locks.Cycles[0].Locks, id)
		}
		if got := (&Series{Locks: locks}).deadlock(); got != test.want {
			t.Errorf("%v: %q, want %q", test.names, got, test.want)
		}
	}
}

func TestAMemberIsNamedByWhatIdentifiesIt(t *testing.T) {
	for want, m := range map[string]struct {
		kind analysis.Kind
		id   analysis.Identity
	}{
		"42":         {analysis.KindGoroutine, analysis.Identity{ID: 42}},
		"#31":        {analysis.KindThread, analysis.Identity{ID: 31}},
		"fd 12":      {analysis.KindDescriptor, analysis.Identity{ID: 12, Sub: 7}},
		"fd 5, wd 3": {analysis.KindWatch, analysis.Identity{ID: 5, Sub: 3}},
		"fd 0, wd 1": {analysis.KindWatch, analysis.Identity{Sub: 1}},
		"pid 77":     {analysis.KindWatch, analysis.Identity{ID: -1, Sub: 77, Hash: 9}},
		"handle":     {analysis.KindWatch, analysis.Identity{ID: -1, Hash: 9}},
	} {
		if got := NumberOf(m.kind, m.id); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
}

func TestWorkersThatTakeTurnsAtAcceptAreIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		holder, waiters string
		want            bool
	}{
		"a socket of the JDK":                 {"sun.nio.ch.Net.accept", "sun.nio.ch.ServerSocketChannelImpl.accept", true},
		"one of native code":                  {"com.acme.FCAServer.nativeAccept", "com.acme.FCAServer.accept", true},
		"others wait for another lock":        {"java.net.PlainSocketImpl.socketAccept", "com.acme.Config.get", false},
		"a consumer is no socket":             {"com.acme.Matcher.match", "com.acme.Matcher.accept", false},
		"a name that only ends so":            {"com.acme.Order.mustAccept", "com.acme.Order.accept", false},
		"accept of orders, whose others wait": {"com.acme.Order.acceptOrder", "com.acme.Order.accept", false},
	} {
		if got := accepts([]StackFrame{{Function: tt.holder}}, []wait.Entry{{Func: tt.waiters, Count: 9}}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	idle := &Locks{List: []Lock{{Waiters: 20, Holders: []LockHolder{{Certainty: Proven, IO: acceptIO}}}}}
	busy := &Locks{List: []Lock{{Waiters: 20, Holders: []LockHolder{{Certainty: Proven, IO: "socket accept"}}}}}
	if idle.longest() != nil || busy.longest() == nil {
		t.Error("want the queue behind other I/O alone")
	}
}
