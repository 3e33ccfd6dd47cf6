package store

// commonTexts is the compression dictionary of frequent texts in heads and inventories. It
// must never change, because existing values need it; other texts need another dictionary
// number beside this one.
const (
	commonTextsID = 1

	commonTexts = `thread-dump of a virtual machine, nodereport, metrics in the text format of Prometheus` +
		`three numbers in a file named file-nr.txtfs.file-nr.maxfs.inotify.max_queued_eventsfs.inotify.max_user_instancesfs.inotify.max_user_watches` +
		`kernel settings: "/proc/sys/fs/inotify/sysctlsthe file has no content; no fdinfo file of a live descriptor is empty` +
		`run cp -r /proc/PID/fdinfo DIR first, then archive DIRinode of /sys/fs/cgroup/unified` +
		`a file keeps its watches when it is deleted and held open, and nothing names this one` +
		`a cgroup keeps its watches when it is removed, and no list of cgroups names this onetmpfsext4overlayunknownremoveddeletedthere` +
		`resident_memory_bytesos_threadsgo_goroutinesprocess_open_fdslimit_open_fileslimit of open filesinotify_max_user_instances` +
		`the header of /proc/PID/limitslimitslines of mountinfo: ids, device, root, mount point, "-", typemountinfo` +
		`its name is cmdline and it holds argumentsan option in cmdlinecmdlineargumentsone line "pid (name) state ..." of /proc/PID/statstat` +
		`it begins with Name and names a Pid, as /proc/PID/status doesstatusthe header "COMMAND PID ... NAME" of lsoflsof, pid , listing 1` +
		` links named by numbers in the form of ls -lfd-listingit begins with pos and flagsfdinfo descriptorsendsdescriptorwatchesthread` +
		`started at tick ticks since boot in stattime inside goroutine-debug0.pb.gzcaptured_at.txtmanifestdirectory namename of the upload` +
		`path of a file times of the filesno time in the files or their names; order by namean option inanother process of the same bundle` +
		`a profile whose sample type is goroutinegoroutine-protogoroutine-debug1 records of runtime/pprofgoroutines in records` +
		`package of main.main or of the program's own functionswarningnoteignoredempty` +
		`kubelet/goroutines.txtgoroutine-debug2.txtthe first line is a goroutine header; at least more followgoroutine-debug2` +
		`stat or statusmediumlowhighread goroutines`
)
