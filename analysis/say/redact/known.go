package redact

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis/expression"
)

// shortest is the length of the shortest known name that is replaced. Shorter names
// would match ordinary words. shortestUnknown is that of the shortest unknown word.
const (
	shortest        = 3
	shortestUnknown = 2
)

// words are the pseudonyms of rules that hide known names.
var words = map[Rule]string{Tokens: "token", Hosts: "host", Pods: "pod", Namespaces: "namespace", Users: "user", Files: "file", Paths: "path", Programs: "program", Names: "name"}

// keyed are the attributes that hold secrets of one rule.
var keyed = map[string]Rule{
	"host": Hosts, "hostname": Hosts, "node": Hosts, "nodename": Hosts,
	"pod": Pods, "pod_name": Pods, "namespace": Namespaces, "pod_namespace": Namespaces,
	"user": Users, "username": Users, "login": Users, "tenant": Users, "customer": Users, "account": Users,
	"ns": Namespaces, "podname": Pods,
}

// ends are the attributes with one end of a connection: a name or address with a port.
var ends = map[string]bool{"remote": true, "local": true, "peer": true}

var (
	// argument is a flag with its value: "--kubeconfig=/etc/x".
	argument = expression.Lazy(`((?:^|[\s"'\[(,])--?[A-Za-z][\w.-]*=)([^\s"',;)\]]+)`)
	// plainValue reveals nothing: a number, a time, a word that switches.
	plainValue = expression.Lazy(`^(?:[0-9.]+(?:[a-zA-Z]{1,3}|%)?|true|false|on|off|yes|no|[0-2]|debug|info|json|text)$`)
	// podLog is the directory of a pod's logs: "/pods/shop_cart-7_6f1c…".
	podLog = expression.Lazy(`/pods/([a-z0-9][a-z0-9.-]*)_([a-z0-9][a-z0-9.-]*|<pod>)_`)
	// containerLog is a container's log: "/containers/cart-7_shop_app-64hex.log".
	containerLog = expression.Lazy(`/containers/([a-z0-9][a-z0-9.-]*)_([a-z0-9][a-z0-9.-]*)_[a-z0-9]`)
	// hostPort is a name with a port, urlHost that of a URL.
	hostPort = expression.Lazy(`\b((?:[A-Za-z0-9_-]+\.)+[A-Za-z0-9-]+):\d{2,5}\b`)
	urlHost  = expression.Lazy(`://(?:[^/\s@]*@)?([A-Za-z0-9_-][A-Za-z0-9._-]*)`)
	// database is the name of a database in the URL of a driver.
	database = expression.Lazy(`\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|amqps?|sqlserver)://[^/\s]+/([\w.-]+)`)
	// worker names a node, job or pod in the name of a thread of Jenkins:
	// "Executor #0 for node-1 : executing shop/job/deploy #12".
	worker = expression.Lazy(`(?:Executor #-?\d+ for|Channel reader thread:|[Ll]aunch(?:er)?(?:\.launch)? for|Jenkins agent|for channel|Ping thread for channel|connection (?:to|from)) ([\w.-]+)(?: : executing (\S.*?)(?: #-?\d+)?$)?`)
	// container is a container's name as the kubelet made it: "k8s_app_cart-7_shop_…".
	container = expression.Lazy(`k8s_[^_\s/]+_([a-z0-9][a-z0-9.-]*)_([a-z0-9][a-z0-9.-]*)_`)
	// podWord is a pod in a command line or message: "pod/cart-7".
	podWord = expression.Lazy(`(?:^|[\s"'(=])pods?/([a-z0-9][a-z0-9.-]{2,})`)
	// namespaceWord is a namespace in a command line or message: "--namespace shop",
	// "namespace=shop".
	namespaceWord = expression.Lazy(`(?:--namespace|\bnamespace|\bns)[ =:]"?([a-z0-9][a-z0-9.-]{2,})`)
	// dataPath is an absolute path outside the directories that every machine has.
	dataPath = expression.Lazy(`(?:^|[\s"'(=,\[])(/[\pL\pN._@+-]+(?:/[\pL\pN._@+<>-]+)+)`)
	// connection is both ends of a socket: "web-1:51000->db-primary:postgresql".
	connection = expression.Lazy(`([A-Za-z0-9.-]+):[\w-]+->([A-Za-z0-9.-]+):[\w-]+`)
	// listed is a row of lsof: "shopd 4711 alice 12u  REG".
	listed = expression.Lazy(`(?m)^\S+\s+\d+\s+(?:\d+\s+)?([A-Za-z_][\w.-]*)\s+(?:\d+[a-zA-Z]{1,2}|cwd|rtd|txt|mem)\s`)
	// source is the file of a stack's line.
	source = expression.Lazy(`\.(?:go|s|c|cc|java|kt|js|ts|py|rs)(?::\d+)?$`)
)

// softwareRoots are directories whose content shows what a machine runs, not whose it
// is.
var softwareRoots = []string{"proc", "sys", "dev", "usr", "lib", "lib64", "bin", "sbin", "boot", "nix"}

// plainNames are names that are no secret: directories and files that every machine
// has, users and namespaces of every system, the files of a capture, and the words with
// which results name kinds, verdicts and marks.
var plainNames = set(`app apps bin build cache conf config current data db default dist etc go home index info lib lib64 lock log logs main
	cmd internal code repos projects mnt module modules node_modules opt out pkg private public root run server service shared src srv state status storage target temp test tmp users var vendor volumes work www
	container containers containerd docker kubelet kubernetes overlay overlay2 pod pods sandbox sandboxes snapshots sock socket sockets mounts rootfs
	nobody daemon www-data kube-system kube-public kube-node-lease
	spool mail cron journal secrets serviceaccount token ca.crt namespace mount export media snap local user users systemd dbus udev netns utab machine-id
	passwd group shadow hosts hostname resolv.conf nsswitch.conf ld.so.cache ld.so.conf localtime timezone ssl certs pki ca-certificates.crt security pam.d init.d
	runner runneradmin ubuntu debian ec2-user azureuser vagrant circleci builder gopher core admin
	postgres mongod cassandra rabbitmq memcached consul vault nomad influxdb minio haproxy envoy gitlab opensearch telegraf
	postgresql mysql mariadb redis mongodb etcd elasticsearch kafka zookeeper nginx httpd apache2 jenkins tomcat grafana prometheus loki
	kubepods kubepods.slice system.slice user.slice init.scope manifests plugins plugins_registry device-plugins volume-subpaths volumeattachments pv csi cni net.d calico cilium flannel
	io.containerd.runtime.v2.task io.containerd.snapshotter.v1.overlayfs io.containerd.grpc.v1.cri io.containerd.content.v1.content k8s.io containers.sock containerd.sock containerd.sock.ttrpc docker.sock crio.sock
	kubelet_internal_checkpoint cpu_manager_state memory_manager_state kubernetes.io~projected kubernetes.io~secret kubernetes.io~configmap kubernetes.io~empty-dir kubernetes.io~csi
	shm job jobs builds workspace fd fdinfo fds proc net task tasks ns cgroup cgroups inode inodes mountinfo limits stat cmdline maps sysctl sysctls lsof jstack jcmd heap dump dumps goroutine goroutines thread threads metrics
	capture captures bundle bundles manifest report reports before after baseline first second last node nodes host process processes pprof profile profiles debug
	add chg del same leaking saturated suspicious scaling stable shrinking new gone growing unchanged shrunk not_compared too_few_points fact may_hold follows limit
	descriptor descriptors watch watches file files pipe fifo inotify case diff family snapshot note warning error`)

// set is a set of words, made when it is first used: a start of the program that redacts
// nothing does not pay for some thousand words.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.Fields(words) {
			out[w] = true
		}
		return out
	})
}

// know makes the redactor replace these names wherever they occur. Names of fewer than
// three bytes are left alone.
func (r *Redactor) know(rule Rule, names ...string) {
	for _, n := range names {
		n = strings.ToLower(shown(n))
		if _, have := r.known.names[n]; have || len(n) < shortest || r.pseudonym(n) || n == "localhost" || n == "none" || n == "null" || n == "unknown" || n[0] == '<' {
			continue
		}
		if rule != Hosts && (r.public[n] || plainNames()[n]) {
			continue
		}
		r.keepApart(n)
		r.known.names[n], r.known.heads = rule, nil
		switch rule {
		case Hosts:
			r.knowFirstLabel(n)
		case Pods:
			r.alias(digitRuns.ReplaceAllString(n, "n"), n) // in the form of a family's name
		}
	}
}

// digitRuns are replaced by one N in the names of families.
var digitRuns = expression.Lazy(`[0-9]+`)

// alias makes a name a synonym of another one where it is a word of its own.
func (r *Redactor) alias(name, full string) {
	if _, have := r.known.names[name]; have || len(name) < shortest || r.public[name] || plainNames()[name] {
		return
	}
	r.known.names[name], r.same[name], r.whole[name] = r.known.names[full], full, true
}

// knowFirstLabel makes "web-17" a synonym of the host "web-17.example.com", in any
// order, unless the label is a word that names many machines.
func (r *Redactor) knowFirstLabel(host string) {
	first, _, long := strings.Cut(host, ".")
	switch rule, have := r.known.names[first]; {
	case !long || len(first) < 4 || manyHosts()[first] || r.public[first] || plainNames()[first] || strings.Trim(first, "0123456789") == "":
	case !have:
		r.alias(first, host)
	case rule == Hosts && r.same[first] == "":
		r.same[host] = first
	}
}

// manyHosts are first labels of names that describe the task of a machine and do not
// identify it.
var manyHosts = set(`alerts auth backend backup broker build cache client cloud cluster console control controller core data database dashboard desktop
	docs edge email events files frontend gateway growth image images internal ingress leader leak leaks live local localhost login mail main master memory mesh metrics mirror monitor monitoring
	name names network notes object objects peer peers portal primary print private proxy query queue read reader registry release remote replica report
	repo repository router sample search secondary series server session shared site slave smtp source stack staging state static status storage store stream support
	system table test thread threads ticket tickets time trace traffic upload vault version view waiting watch weblog wiki work worker workers workspace write writer`)

// learnText searches one text for names of users, pods, namespaces and directories.
// They are then hidden wherever they occur, even where a text contains only a part of
// the context that revealed them.
func (r *Redactor) learnText(s string) {
	s = shown(s)
	for _, m := range listed.FindAllStringSubmatch(s, -1) {
		r.know(Users, m[1])
	}
	for _, m := range pair.FindAllStringSubmatch(s, -1) {
		if key, value := m[2]+m[5], m[3]+m[6]; !plainValue.MatchString(value) && !strings.ContainsAny(value, " \t/") {
			r.know(keyed[strings.ToLower(key)], value)
		}
	}
	for _, m := range replicaPod.FindAllString(s, -1) {
		if strings.ContainsAny(m, "0123456789") {
			r.know(Pods, m)
		}
	}
	for _, m := range podLog.FindAllStringSubmatch(s, -1) {
		r.know(Namespaces, m[1])
		r.know(Pods, m[2])
	}
	for _, m := range containerLog.FindAllStringSubmatch(s, -1) {
		r.know(Pods, m[1])
		r.know(Namespaces, m[2])
	}
	for _, m := range container.FindAllStringSubmatch(s, -1) {
		r.know(Pods, m[1])
		r.know(Namespaces, m[2])
	}
	for _, m := range podWord.FindAllStringSubmatch(s, -1) {
		r.know(Pods, m[1])
	}
	for _, m := range namespaceWord.FindAllStringSubmatch(s, -1) {
		r.know(Namespaces, m[1])
	}
	for _, m := range connection.FindAllStringSubmatch(s, -1) {
		r.learnEnd(m[1])
		r.learnEnd(m[2])
	}
	for _, m := range dataPath.FindAllStringSubmatch(s, -1) {
		r.learnPath(m[1])
	}
}

// remark is text after a path: "x.db (deleted)", "c.sock, CONNECTED".
var remark = expression.Lazy(`(?: \([^()/]*\)|, [A-Z][A-Z_0-9]+)$`)

// LearnEvidence takes a text of a capture. Such a text may contain addresses of
// machines, and may end with a path whose names have blanks: "10u /srv/Kunde
// Müller/x.db (deleted)". Addresses in the program's own texts are public.
func (r *Redactor) LearnEvidence(s string) {
	r.allow(free, s)
	r.learnEvidence(s)
}

func (r *Redactor) learnEvidence(s string) {
	s = shown(s)
	if at := strings.Index(s, " /"); at >= 0 {
		r.learnPath(s[at+1:])
	}
	r.learnLine(s)
}

// learnLine takes a line of a capture, in which other words may follow a path.
func (r *Redactor) learnLine(s string) {
	for _, m := range urlHost.FindAllStringSubmatch(s, -1) {
		r.learnEnd(m[1])
	}
	for _, m := range hostPort.FindAllStringSubmatch(s, -1) {
		if !source.MatchString(m[1]) {
			r.learnEnd(m[1])
		}
	}
	for _, m := range database.FindAllStringSubmatch(s, -1) {
		r.know(Paths, m[1])
	}
	for _, m := range worker.FindAllStringSubmatch(s, -1) {
		r.learnEnd(m[1])
		r.learnEnd(strings.TrimRight(m[1], "0123456789")) // in the form of a pool's name
		for _, part := range strings.Split(m[2], "/") {
			r.know(Paths, part)
		}
	}
	r.learnHosts(s, false)
	r.learnText(s)
}

// learnPath takes the names of a path that are not common, unless it is the file of a
// program's source. Of a path of software it takes what not every machine has.
func (r *Redactor) learnPath(path string) {
	path = remark.ReplaceAllString(path, "")
	if softwarePath.MatchString(path) {
		r.know(Paths, r.unknownSoftware(path)...)
		return
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	ours := strings.HasPrefix(path, "/dev/shm/") || strings.HasPrefix(path, "/usr/local/")
	if slices.Contains(softwareRoots, parts[0]) && !ours || source.MatchString(path) {
		return
	}
	for i, part := range parts {
		// The name below /home is a user's and has a rule of its own.
		first := i == 0 || i == 1 && (parts[0] == "home" || parts[0] == "Users")
		if !first && strings.ContainsFunc(part, unicode.IsLetter) && !library.MatchString(part) {
			r.know(Paths, part)
		}
	}
}

// learnSource takes the file of a stack's line. The directories above a program reveal
// who built it and where. Those of its packages are also in the names of functions.
// Those of Go itself and of the module cache are public.
func (r *Redactor) learnSource(file string) {
	file = strings.ReplaceAll(file, `\`, "/")
	if drive := strings.IndexByte(file, ':'); drive == 1 {
		file = file[2:]
	}
	dir, _, _ := strings.Cut(file[:strings.LastIndexByte(file, '/')+1], "/pkg/mod/")
	parts := strings.Split(strings.Trim(dir, "/"), "/")
	if !strings.HasPrefix(dir, "/") || slices.Contains(softwareRoots, parts[0]) && !strings.HasPrefix(dir, "/usr/local/src/") {
		return // a relative path begins with that of the module
	}
	for i, part := range parts {
		owner := i == 1 && (parts[0] == "home" || parts[0] == "Users") // a user has a rule of its own
		if !owner && !forges()[part] && !strings.Contains(part, "@v") && strings.ContainsFunc(part, unicode.IsLetter) {
			r.know(Paths, part)
		}
	}
}

// library is a file of software, which reveals at most versions.
var library = expression.Lazy(`\.(?:so(?:\.\d+)*|jar|ko|mo|pyc|node)$`)

// versioned is a directory named by the version of the program: results name it too.
var versioned = expression.Lazy(`^v\d+(?:\.\d+){1,2}(?:-?(?:rc|alpha|beta|pre|dev)[.-]?\d*)?$`)

// learnFile takes the path of a file in an upload. Its directories are named by the
// sender, the file mostly by the capture.
func (r *Redactor) learnFile(path string) {
	if r.forms != nil {
		r.allow(free, path) // readers understand its words
		return
	}
	parts := strings.Split(shown(path), "/")
	for _, part := range parts[:len(parts)-1] {
		if part = strings.TrimSuffix(part, "!"); strings.ContainsFunc(part, unicode.IsLetter) && !versioned.MatchString(part) {
			r.know(Paths, part)
		}
	}
	r.learnName(parts[len(parts)-1])
}

// learnName takes a name that a person chose for a file, or that is derived from one:
// an upload, a snapshot. A name with only the kind of evidence, the program and the
// round reveals nothing.
func (r *Redactor) learnName(name string) {
	if r.forms != nil {
		r.allow(free, name)
		return
	}
	name = numbered.ReplaceAllString(strings.ToLower(strings.TrimSpace(shown(name))), "")
	if r.roundOnly(name) {
		return
	}
	stem := name
	for ending.MatchString(stem) {
		stem = ending.ReplaceAllString(stem, "")
	}
	r.know(Files, stem)
	if stem != name {
		if r.know(Files, name); r.known.names[name] == Files {
			r.same[name] = stem
		}
	}
}

// keepRound registers the name of a snapshot as no secret if it only names a round:
// "t0", "before". The programs must be known.
func (r *Redactor) keepRound(label string) {
	if label = strings.ToLower(label); r.roundOnly(numbered.ReplaceAllString(label, "")) {
		r.keep(label)
	}
}

var (
	// numbered is the suffix that distinguishes equal names: "t0 (2)", "t0 #2".
	numbered = expression.Lazy(`(?: #\d+| \(\d+\))+$`)
	// ending is one of the endings of files of a capture.
	ending = expression.Lazy(`\.(?:txt|log|out|err|jsonl?|ya?ml|html?|csv|md|tar|tgz|zip|gz|zst|xz|bz2|lz4|7z|pb|pprof|prof|stacks|dump|lst|list)$`)
	// nameWord is a word or a number in a file's name.
	nameWord = expression.Lazy(`\pL+|\pN+`)
)

// roundOnly reports a name with only numbers, words for evidence and rounds, and
// programs.
func (r *Redactor) roundOnly(name string) bool {
	if r.public[name] || plainNames()[name] {
		return true
	}
	for _, w := range strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune(" ._-+=,:#()", c) }) {
		if r.public[w] || plainNames()[w] {
			continue
		}
		for _, part := range nameWord.FindAllString(w, -1) {
			if letters := []rune(part); unicode.IsLetter(letters[0]) && len(letters) > 2 && !r.public[part] && !plainNames()[part] && !rounds()[part] {
				return false
			}
		}
	}
	return true
}

// rounds are the words in names of evidence and rounds that are not in plainNames.
var rounds = set(`t s n p v z x e round rounds run step snap snapshot sample number no min mins minutes sec secs h hour hours day monday tuesday wednesday thursday friday saturday sunday
	at captured start started end ended begin middle during pre post old good bad later idle busy load loaded peak full truncated
	txt log json jsonl yaml yml html htm csv md tar tgz zip gz zst xz bz lz pb prof out err lst stack stacks sigquit sigusr trace goroutineleak runtimestack lsfd ss netstat tcp udp unix
	threaddump javacore hprof gc cpu block mutex threadcreate allocs figures status mountinfo sysctl targets watch watches descriptors inotify leak hostname uname version with labels
	print count tnap tinp tanp tulpn sockstat snmp netstat meminfo vmstat iostat loadavg uptime dmesg journal free top env max nr numa schedstat wchan syscall smaps rollup expected truth readme summary output
	versions session names list listing links all sum raw text native pid pids tid tids nid user kernel system info vm nmt histogram class classes`)

// learnEnd takes the name of a machine at one end of a connection, with or without a
// port: "db-primary.example.com:postgresql". Addresses are found without being learned.
// A machine may have the name of a program, "redis".
func (r *Redactor) learnEnd(end string) {
	if strings.Count(end, ":") > 1 {
		return // an address of version 6
	}
	name, _, _ := strings.Cut(strings.Trim(strings.ToLower(end), ".-"), ":")
	if r.forms != nil && strings.Contains(name, ".") && r.allPublic(strings.Split(name, ".")) {
		return // the name of a class, whose methods must still be found
	}
	if strings.Trim(name, "abcdef0123456789.") != "" && !r.public[name] && !plainNames()[name] && !forges()[name] {
		r.know(Hosts, name)
	}
}

// learnPair takes the value of a named attribute: the user "alice", the name
// "/srv/shop/orders.db".
func (r *Redactor) learnPair(name, value string) {
	value = shown(value)
	if rule, ok := keyed[strings.ToLower(name)]; ok && !strings.ContainsAny(value, " \t/") {
		r.know(rule, value)
	}
	if ends[strings.ToLower(name)] && !strings.ContainsAny(value, " \t/") {
		r.learnEnd(value)
	}
	if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "@/") {
		r.learnPath(strings.TrimPrefix(value, "@"))
	} else if rest, ok := strings.CutPrefix(value, "@"); ok {
		r.know(Paths, rest) // an abstract socket
	}
	r.learnEvidence(value)
}

// table are names with the rule that hides each. heads finds any of them in a text and is
// built on first use.
type table struct {
	names map[string]Rule
	heads *heads
}

// tableNames replaces the names of a table. Names of hosts
// are also found inside longer ones, unless they are one word. Other names are found
// only where no letter or digit touches them.
func (r *Redactor) tableNames(t *table, s string) string {
	if len(t.names) == 0 {
		return s
	}
	if t.heads == nil {
		t.heads = compile(t.names)
	}
	low := lower(s)
	var b strings.Builder
	done := 0
	for at := 0; at+shortestUnknown <= len(low.text); at++ {
		// The longest name may be a part of a longer word, while a shorter one that
		// begins there is the whole word.
		for _, n := range t.heads.lengths(low.text[at:]) {
			if at+n > len(low.text) {
				continue
			}
			name := low.text[at : at+n]
			rule, ok := t.names[name]
			from, to := low.place(at), low.place(at+n)
			if !ok || from < 0 || to <= from || !stands(s, from, to, rule, name) || r.whole[name] && !apart(s, from, to) || rule != Hosts && r.inCode(low.text, at, at+n) {
				continue
			}
			b.WriteString(s[done:from])
			out := r.name(rule, words[rule], name)
			if r.forms != nil && r.same[name] == "" && !r.probing && r.from == nil && !r.pseudonym(name) {
				out = r.formed(words[rule], s[from:to], 0) // parts that stay keep their capitals
			}
			b.WriteString(out)
			done, at = to, at+n-1
			break
		}
	}
	return b.String() + s[done:]
}

// lowered is a text in lower case.
type lowered struct {
	text string
	// places are the indexes of the letters in the original, -1 inside letters. It is
	// nil if both texts have the same indexes.
	places []int
}

// lower writes s as strings.ToLower does and records the origin of each byte, because
// letters may change their length.
func lower(s string) lowered {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return lowered{text: strings.ToLower(s)}
	}
	text, places := make([]byte, 0, len(s)), make([]int, 0, len(s)+1)
	for i, c := range s {
		text = utf8.AppendRune(text, unicode.ToLower(c))
		for places = append(places, i); len(places) < len(text); {
			places = append(places, -1)
		}
	}
	return lowered{string(text), append(places, len(s))}
}

// place is the index of a byte of the text in the original, -1 inside a letter.
func (l lowered) place(i int) int {
	if l.places == nil {
		return i
	}
	return l.places[i]
}

// stands reports a name that is a word of its own in s and no ordinary word.
func stands(s string, from, to int, rule Rule, name string) bool {
	if rule == Hosts && !word(name) {
		return true
	}
	return apart(s, from, to) && (rule != Paths && rule != Files || !word(name) || !vocabulary()[name] || inPath(s, from, to))
}

// apart reports a part of a text that no letter or digit touches.
func apart(s string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	first, _ := utf8.DecodeRuneInString(s[from:to])
	last, _ := utf8.DecodeLastRuneInString(s[from:to])
	after, _ := utf8.DecodeRuneInString(s[to:])
	return (from == 0 || !alphanumeric(before) || !alphanumeric(first)) && (to == len(s) || !alphanumeric(after) || !alphanumeric(last))
}

// word reports a name with only letters.
func word(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsLetter(c) })
}

// inPath reports a part of a text that is beside a slash, is the whole text, or begins
// it like the end of a path that was cut off: "harbour (deleted)". A sentence begins
// with a capital.
func inPath(s string, from, to int) bool {
	lower := from == 0 && s[:to] == strings.ToLower(s[:to])
	return lower && (to == len(s) || s[to] == ' ') || from > 0 && strings.IndexByte(`/\`, s[from-1]) >= 0 || to < len(s) && strings.IndexByte(`/\`, s[to]) >= 0
}

// alphanumeric reports a part of a word. Marks combine with letters, and a sign without
// width is seen by nobody.
func alphanumeric(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || c >= utf8.RuneSelf && (unicode.IsMark(c) || unicode.Is(unicode.Cf, c))
}

// heads finds the names that may begin with some bytes, so that a text is searched once
// for any number of names.
type heads struct {
	// pairs has the first two bytes of every name. by has the lengths of the names that
	// begin with three bytes, the longest first, so that node-10 is not taken for
	// node-1. short has names of two bytes.
	pairs [1 << 16]bool
	by    map[[shortest]byte][]int
	short map[string]bool
}

// lengths returns the lengths of the names that share at least three bytes with the
// beginning of a text, or begin it as a whole.
func (h *heads) lengths(text string) []int {
	if !h.pairs[int(text[0])<<8|int(text[1])] {
		return nil
	}
	var out []int
	if len(text) >= shortest {
		out = h.by[[shortest]byte([]byte(text[:shortest]))]
	}
	if h.short[text[:shortestUnknown]] {
		return append(slices.Clip(out), shortestUnknown)
	}
	return out
}

// compile sorts the names by their first bytes.
func compile(known map[string]Rule) *heads {
	h := &heads{by: map[[shortest]byte][]int{}, short: map[string]bool{}}
	for n := range known {
		h.pairs[int(n[0])<<8|int(n[1])] = true
		if len(n) < shortest {
			h.short[n] = true
			continue
		}
		head := [shortest]byte([]byte(n[:shortest]))
		if !slices.Contains(h.by[head], len(n)) {
			h.by[head] = append(h.by[head], len(n))
		}
	}
	for _, lengths := range h.by {
		slices.SortFunc(lengths, func(a, b int) int { return b - a })
	}
	return h
}

// pseudonymWord is the first word of a pseudonym.
const pseudonymWord = `(?:token|arg|host|pod|namespace|user|ip|mac|file|path|id|ptr|program|name)`

var (
	// made is a pseudonym as name writes it, or a text that looks like one.
	made = expression.Lazy(`^` + pseudonymWord + `-\d+$`)
	// small is one whose number identifies nobody.
	small = expression.Lazy(`^` + pseudonymWord + `-\d{1,5}$`)
)

// pseudonym reports text that was already replaced: a pseudonym of this redactor. A text
// that is only searched has the number 0.
func (r *Redactor) pseudonym(s string) bool {
	return r.issued[s] || (r.probing || r.from != nil) && strings.HasSuffix(s, "-0") && made.MatchString(s)
}
