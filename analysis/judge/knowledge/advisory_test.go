package knowledge

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of the known leaks those count that a capture can be compared with: by frames, by
// resources, or by the version of a program.
func TestKnownLeaksAreCountedByTheirEvidence(t *testing.T) {
	type counts struct{ All, Stacks, Seen, FromFixes, Resources, Releases, Advisories, WordsOnly int }
	var got counts
	for _, e := range Builtin().Known() {
		s := e.Signature
		got.All++
		stack := len(s.Frames)+len(s.CreatedBy) > 0
		if stack {
			got.Stacks++
			if s.Unseen {
				got.FromFixes++
			} else {
				got.Seen++
			}
		}
		if len(s.Resources) > 0 {
			got.Resources++
		}
		if len(e.Versions.Fixed) > 0 {
			got.Releases++
		}
		if len(e.Advisories) > 0 {
			got.Advisories++
			if len(e.Versions.Affected) == 0 || e.VerifiedBy == "" {
				t.Errorf("%s has an advisory without ranges or their source", e.ID)
			}
		}
		if !stack && len(s.Resources) == 0 && len(e.Versions.Fixed) == 0 {
			got.WordsOnly++
		}
		if s.Unseen && s.Source == "" {
			t.Errorf("%s does not say which fix it was read from", e.ID)
		}
	}
	want := counts{All: 280, Stacks: 154, Seen: 103, FromFixes: 51, Resources: 31, Releases: 174, Advisories: 13, WordsOnly: 29}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRangesOfAnAdvisoryDecide(t *testing.T) {
	for id, want := range map[string]map[string]VersionVerdict{
		"containerd-7738":  {"1.5.4": VersionAffected, "v1.5.16": VersionFixed, "1.6.11": VersionAffected, "1.6.12": VersionFixed, "2.0.0": VersionFixed},
		"containerd-11120": {"1.6.38": VersionAffected, "1.7.29": VersionFixed, "2.0.6": VersionAffected, "2.1.4": VersionAffected, "2.1.5": VersionFixed, "2.2.0": VersionFixed},
		"containerd-9668":  {"1.7.34": VersionAffected, "1.7.35": VersionFixed, "2.0.12": VersionFixed, "2.1.5": VersionAffected, "2.2.7": VersionAffected, "2.3.4": VersionAffected, "2.3.5": VersionFixed},
		"etcd-22130":       {"3.5.20": VersionAffected, "3.5.33": VersionFixed, "3.6.13": VersionAffected, "3.7.1": VersionFixed},
	} {
		e := Builtin().Entry(id)
		if e == nil {
			t.Fatal(id)
		}
		for version, verdict := range want {
			if r, ok := newRelease(version); !ok || e.Versions.verdict(r) != verdict {
				t.Errorf("%s at %s: %s, want %s", id, version, e.Versions.verdict(r), verdict)
			}
		}
	}
}

func TestAnAdvisoryIsNamedWithTheVersionThatWasSeen(t *testing.T) {
	m := Builtin().NewMatcher()
	attach := growing(stackOf("github.com/containerd/containerd/pkg/cri/io.(*ContainerIO).Attach", "github.com/containerd/containerd/pkg/cri/io.(*ContainerIO).Attach.func1"), "semacquire", 40)
	handshake := growing(stackOf("go.etcd.io/etcd/client/pkg/v3/transport.(*tlsListener).acceptLoop", "internal/poll.(*FD).Read", "net.(*conn).Read", "crypto/tls.(*Conn).clientHandshake", "crypto/tls.(*Conn).Handshake",
		"go.etcd.io/etcd/client/pkg/v3/transport.(*tlsListener).acceptLoop.func1"), "IO wait", 40)
	for _, tt := range []struct {
		seen             Seen
		program, version string
		id               string
		want             VersionVerdict
		speaks           bool
	}{
		{attach, "containerd", "v1.6.20", "containerd-11120", VersionAffected, true},
		{attach, "containerd", "", "containerd-11120", "", true},
		{handshake, "etcd", "3.5.9", "etcd-22130", VersionAffected, true},
		{handshake, "etcd", "3.5.33", "etcd-22130", VersionFixed, false},
	} {
		tt.seen.Program, tt.seen.Versions = tt.program, SeenVersions{Program: tt.program, Release: tt.version, Source: "metrics.txt"}
		r := m.Match(tt.seen)
		at := slices.IndexFunc(r.Known, func(m Match) bool { return m.Entry.ID == tt.id })
		if at < 0 || r.Known[at].Versions.Verdict != tt.want || r.Known[at].Speaks() != tt.speaks {
			t.Errorf("%s at %q: %+v", tt.id, tt.version, r.Known)
		}
	}
}

// A stack of a library that several projects use is one project's only with a frame, the
// version or the program of that project.
func TestTheStackOfALibraryNeedsTheProject(t *testing.T) {
	m := Builtin().NewMatcher()
	watcher := func(frames ...string) Seen {
		return growing(stackOf("github.com/fsnotify/fsnotify.NewWatcher", append([]string{"github.com/fsnotify/fsnotify.(*Watcher).sendEvent", "github.com/fsnotify/fsnotify.(*Watcher).readEvents"}, frames...)...), "select", 40)
	}
	if r := m.Match(watcher()); slices.Contains(speaking(r), "oryx-672") || !slices.Contains(similar(r), "oryx-672") {
		t.Errorf("%v speak, %v are similar", speaking(r), similar(r))
	}
	if r := m.Match(watcher("github.com/ory/x/watcherx.watch")); !slices.Contains(speaking(r), "oryx-672") {
		t.Errorf("%v speak", speaking(r))
	}
	frames := growing(stackOf("github.com/moby/spdystream.(*Connection).Serve", "sync.(*Cond).Wait", "github.com/moby/spdystream.(*PriorityFrameQueue).Pop", "github.com/moby/spdystream.(*Connection).frameHandler",
		"github.com/moby/spdystream.(*Connection).Serve.func2"), "sync.Cond.Wait", 40)
	if r := m.Match(frames); slices.Contains(speaking(r), "k8s-57992") {
		t.Errorf("%v speak of a program that is unknown", speaking(r))
	}
	frames.Program = "kubelet"
	if r := m.Match(frames); !slices.Contains(speaking(r), "k8s-57992") {
		t.Errorf("%v speak of the kubelet", speaking(r))
	}
}
