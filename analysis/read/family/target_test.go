package family_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/family"
)

func TestPathsOfANodeNamePodAndContainer(t *testing.T) {
	const uid, id = "1b2c3d4e-0000-4111-8222-abcdefabcdef", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ path, pod, container string }{
		{"/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~projected/kube-api-access-x", uid, ""},
		{"/sys/fs/cgroup/cpu/kubepods/burstable/pod" + uid + "/" + id, uid, id},
		{"/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1b2c3d4e_0000_4111_8222_abcdefabcdef.slice/cri-containerd-" + id + ".scope", uid, id},
		{"/sys/fs/cgroup/kubepods.slice/kubepods-pod1b2c3d4e_0000_4111_8222_abcdefabcdef.slice", uid, ""},
		{"/kubepods/pod0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef", ""},
		{"/run/containerd/io.containerd.grpc.v1.cri/sandboxes/" + id + "/shm", "", id},
		{"/etc/ssl/certs", "", ""},
		{"/srv/pods/readme", "", ""},
	} {
		pod, container := family.PodOf(c.path)
		if pod != c.pod || container != c.container {
			t.Errorf("%s: pod %q, container %q; want %q, %q", c.path, pod, container, c.pod, c.container)
		}
	}
}

func TestHandlesSayWhatListsCannot(t *testing.T) {
	const cgroup = 0x1b
	mounts := family.NewMounts([]analysis.Mount{
		{Major: 0, Minor: cgroup, Root: "/", Point: "/sys/fs/cgroup", FSType: "cgroup2"},
		{Major: 0, Minor: 0x20, Root: "/", Point: "/data", FSType: "ext4"},
	})
	handle := func(device uint32, inode uint64, h analysis.Handle) analysis.Handle {
		h.Device, h.Inode, h.Type, h.Handle = device, inode, 1, "aa"
		return h
	}
	for _, c := range []struct {
		name   string
		handle analysis.Handle
		want   analysis.Target
	}{
		{"a cgroup that is there", handle(cgroup, 5, analysis.Handle{State: analysis.HandleLinked, Path: "/sys/fs/cgroup/a", FSType: "cgroup2"}),
			analysis.Target{What: "/a", FSType: "cgroup2", State: analysis.TargetThere, Count: 1}},
		{"the root of a hierarchy that is mounted", handle(cgroup, 1, analysis.Handle{State: analysis.HandleUnknown, FSType: "cgroup2"}),
			analysis.Target{What: "/sys/fs/cgroup", FSType: "cgroup2", State: analysis.TargetThere, Count: 1}},
		{"a cgroup that is gone", handle(cgroup, 6, analysis.Handle{State: analysis.HandleStale, FSType: "cgroup2"}),
			analysis.Target{What: "a cgroup, inode 6", FSType: "cgroup2", State: analysis.TargetRemoved, Why: "its file handle leads to no cgroup any more", Count: 1}},
		{"a cgroup that nothing tells of", handle(cgroup, 7, analysis.Handle{State: analysis.HandleUnknown, FSType: "cgroup2"}),
			analysis.Target{What: "inode 7 of /sys/fs/cgroup", FSType: "cgroup2", State: analysis.TargetUnknown, Why: "a cgroup keeps its watches when it is removed, and no list of cgroups names this one", Count: 1}},
		{"a file that is there", handle(0x20, 9, analysis.Handle{State: analysis.HandleLinked, Path: "/data/y", FSType: "ext4"}),
			analysis.Target{What: "/data/y", FSType: "ext4", State: analysis.TargetThere, Count: 1}},
		{"a file that nothing tells of", handle(0x20, 10, analysis.Handle{State: analysis.HandleUnknown, FSType: "ext4"}),
			analysis.Target{What: "inode 10 of /data", FSType: "ext4", State: analysis.TargetUnknown, Why: "a file keeps its watches when it is deleted and held open, and nothing names this one", Count: 1}},
		{"the root of a file system that is mounted", handle(0x20, 2, analysis.Handle{State: analysis.HandleUnknown, FSType: "ext4"}),
			analysis.Target{What: "/data", FSType: "ext4", State: analysis.TargetThere, Count: 1}},
		{"a file that is held open", handle(0x20, 8, analysis.Handle{State: analysis.HandleDeleted, Path: "/data/x", FSType: "ext4"}),
			analysis.Target{What: "/data/x", FSType: "ext4", State: analysis.TargetDeleted, Why: "the file has no name any more, but is held open", Count: 1}},
		{"a file system that is gone", handle(0x30, 1, analysis.Handle{State: analysis.HandleUnmounted}),
			analysis.Target{What: "the root of device 0:48", State: analysis.TargetUnmounted, Why: "device 0:48 is in no line of mountinfo, and no mount namespace of the host shows it", Count: 1}},
		{"a file system of another namespace", handle(0x31, 1, analysis.Handle{State: analysis.HandleLinked, Path: "/m", Mount: "/m", Elsewhere: "pid 7, pause"}),
			analysis.Target{What: "/m", State: analysis.TargetUnmounted, Why: "device 0:49 is in no line of mountinfo; only the mount namespace of pid 7, pause still has it, at /m", Count: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			watches := []analysis.Watch{{Device: c.handle.Device, Inode: c.handle.Inode, HandleType: 1, Handle: "aa", Mask: 0x300}}
			named := family.Scene{Mounts: mounts, Handles: []analysis.Handle{c.handle}}.Name(watches)
			if d := cmp.Diff([]analysis.Target{c.want}, targets(watches, named, nil)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOneCgroupIsOneTargetInAllHierarchies(t *testing.T) {
	const uid = "1b2c3d4e-0000-4111-8222-abcdefabcdef"
	var watches []analysis.Watch
	var named []family.WatchTarget
	for i, hierarchy := range []string{"cpu", "memory", "pids"} {
		mount := "/sys/fs/cgroup/" + hierarchy
		watches = append(watches, analysis.Watch{Device: uint32(i), Inode: uint64(70 + i)})
		gone := family.WatchTarget{FSType: "cgroup", Mount: mount, Status: "removed cgroup", Unlisted: true, Why: fmt.Sprintf("inode %d is not in the listed tree of %s", 70+i, mount)}
		gone.Recall(family.WatchTarget{Path: mount + "/kubepods/pod" + uid, Mount: mount, FSType: "cgroup"}, "t1")
		named = append(named, gone)
	}
	want := []analysis.Target{{What: "/kubepods/pod" + uid, FSType: "cgroup", State: analysis.TargetRemoved, PodUID: uid, Pod: "shop/cart", Count: 3,
		Why: "the list of all cgroups does not hold it; it was there at t1"}}
	if d := cmp.Diff(want, targets(watches, named, map[string]string{uid: "shop/cart"})); d != "" {
		t.Error(d)
	}
}

func TestManyFilesOfOneMountAreOneRow(t *testing.T) {
	var watches []analysis.Watch
	var named []family.WatchTarget
	for i := range 50 {
		watches = append(watches, analysis.Watch{Inode: uint64(i)})
		named = append(named, family.WatchTarget{Path: fmt.Sprintf("/src/file%d", i), Mount: "/src", FSType: "ext4", Status: "mounted"})
	}
	want := []analysis.Target{{What: "50 files and directories in /src", FSType: "ext4", State: analysis.TargetThere, Count: 50}}
	if d := cmp.Diff(want, targets(watches, named, nil)); d != "" {
		t.Error(d)
	}
}

// TestFarTooManyTargetsAreTheForemostAndTheirRest has 5,000 inodes that nothing names,
// of which each tenth is watched twice, and one cgroup that is gone.
func TestFarTooManyTargetsAreTheForemostAndTheirRest(t *testing.T) {
	var watches []analysis.Watch
	var named []family.WatchTarget
	for i := range 5000 {
		for range 1 + (i%10)/9 {
			watches = append(watches, analysis.Watch{Device: 0x800001, Inode: uint64(10_000 + i)})
			named = append(named, family.WatchTarget{FSType: "unknown", Status: "unknown", Why: "no mountinfo"})
		}
	}
	watches = append(watches, analysis.Watch{Inode: 7})
	named = append(named, family.WatchTarget{FSType: "cgroup2", Status: "removed cgroup", Unlisted: true, Why: "inode 7 is not in the listed tree"})
	got := targets(watches, named, nil)
	if len(got) != 200 || got[0].State != analysis.TargetRemoved || got[1].What != "inode 10009 of device 8:1" || got[1].Count != 2 || got[198].What != "inode 11979 of device 8:1" {
		t.Fatalf("%d rows: %+v, %+v … %+v", len(got), got[0], got[1], got[198])
	}
	// 5,001 kinds less 199; 5,501 watches less 1 + 198 x 2.
	if rest := got[199]; rest.What != "4802 other targets" || rest.Count != 5501-397 {
		t.Errorf("the rest is %+v", rest)
	}
}

// targets sums up all watches as those of one family.
func targets(watches []analysis.Watch, named []family.WatchTarget, names map[string]string) []analysis.Target {
	members := make([]int, len(watches))
	for i := range members {
		members[i] = i
	}
	return family.Targets(watches, named, members, names)
}
