package line

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis/expression"
)

// Owner is the process whose evidence stands below a heading or a command of a text. What
// the line does not name is zero.
type Owner struct {
	PID int
	// Pod is a pod or container that has a host name of its own, Container one of a pod.
	Program, Pod, Namespace, Container, Host string
	// Path is that of the file whose text stands below "==> path <==" or "$ cat path".
	Path string
	// Port is the one that a command asks: a host has several processes that answer.
	Port int
}

// Command is a line of a shell session, or a heading that a loop prints.
type Command struct {
	// Text is the line without its prompt and frame.
	Text  string
	Owner Owner
	// Hosted is true if the command prints the name of its host first.
	Hosted bool
	// Remote is true if the command or heading names the host, and not its prompt alone.
	Remote bool
	// Heading is true if a script printed the line: it runs where the command above does.
	Heading bool
	// Opens is true if the command opens a shell in which the next ones run, Ends if it
	// ends one.
	Opens, Ends bool
	// Enters is true if the command changes to a directory, which is of the owner's process
	// below /proc or of none; Reads if it reads files below the present one.
	Enters, Reads bool
	// Date is the time that stands on the line of watch, as printed.
	Date string
}

// ReadCommand reads a prompt with its command, a command without a prompt that runs
// elsewhere, or a heading that names a process.
//
//	"$ ls -l /proc/60/fd"                                 PID 60
//	"kubectl exec web-1 -c app -- ls -l /proc/1/fd"       PID 1, Pod "web-1", Container "app"
//	"[root@node1 ~]# ls -l /proc/$(pidof kubelet)/fd"     Host "node1", Program "kubelet"
//	"$ curl http://10.0.0.2:6060/debug/pprof/goroutine"   Host "10.0.0.2"
//	"=== pid 50 ==="  "kubelet pid=2430"                  PID 50; PID 2430, Program "kubelet"
//	"==> web-1/goroutine.txt <=="                         Path "web-1/goroutine.txt"
func ReadCommand(text string) (c Command, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 1000 || IsDate(text) {
		return c, false
	}
	host, command, ok := cutPrompt(text)
	if ok {
		if bare := strings.TrimSuffix(command, ":"); text[0] == '#' && IsHost(bare) { // "# node1" is no command
			return Command{Text: bare, Owner: Owner{Host: bare}, Heading: true, Remote: true}, true
		}
		c.Text, c.Owner.Host = command, host
		c.run(strings.Fields(command))
		c.Remote = c.Owner.Host != host
		return c, true
	}
	if m := watched.FindStringSubmatch(text); m != nil {
		c.Text, c.Owner.Host, c.Date = m[1], m[2], m[3]
		c.run(strings.Fields(c.Text))
		return c, true
	}
	bare := strings.Trim(text, "=-#*<> ")
	framed := bare != text && strings.IndexByte("=-#*", text[0]) >= 0
	words := strings.Fields(bare)
	switch {
	case len(words) > 1 && (elsewhere(words) > 0 || words[0] == "curl" || words[0] == "nsenter" || slices.Contains(containers, words[0])):
		c.Text = bare
		c.run(words)
		c.Remote = c.Owner.Host != ""
		return c, c.Owner != Owner{}
	case strings.HasPrefix(text, "==> ") && strings.HasSuffix(text, " <=="):
		c.Text, c.Heading = bare, true
		return c, c.Owner.file(bare)
	case playedOn.MatchString(text):
		c.Owner.Host, c.Text, c.Heading, c.Remote = words[0], bare, true, true
		return c, true
	case framed && len(words) > 0 || len(words) > 0 && len(words) <= 4:
		c.Text, c.Heading = bare, true
		ok = c.Owner.heading(bare, words, framed)
		c.Remote = c.Owner.Host != ""
		return c, ok
	}
	return c, false
}

// watched is the first line of watch: how often, the command, the host and the time.
var watched = expression.Lazy(`^Every \d[\d.,]*s: (.+?)\s{1,}([\w.-]+): ([A-Z][a-z]{2} .*\d\d:\d\d:\d\d.*)$`)

// IsPrompt reports whether a line is a shell prompt, with or without a command.
//
//	"# sudo ./lsof -p 1"   "root@vm:/# "   "[me@vm ~]$ lsof"   true
func IsPrompt(text string) bool {
	_, _, ok := cutPrompt(text)
	return ok
}

// shellPrompt is the prompt of a shell without a user's name, or of one in a container.
var shellPrompt = expression.Lazy(`^(?:(?:ba|a|z|k|da)?sh-[\d.]+|[~/][\w./-]*) ?[$#] `)

// hostPrompt is a prompt with the host and without a user: "node1:~ # ls", "node1$ ls".
var hostPrompt = expression.Lazy(`^(?:([A-Za-z][\w.-]*):(?:~|/)[\w./~-]* ?[$#%>]|([A-Za-z][\w-]*\d[\w.-]*) ?[$#]) +`)

// windowsPrompt is that of PowerShell or cmd: "PS C:\\> ls", "C:\\Users\\me>ls".
var windowsPrompt = expression.Lazy(`^(?:PS [A-Za-z/~][^<>|]*|[A-Z]:\\[^<>|]*)> ?`)

// arrowPrompt is that of oh-my-zsh: "➜  ~ ls", "➜  repo git:(main) ✗ ls".
var arrowPrompt = expression.Lazy(`^➜ +[~\w./-]+ (?:git:\([^)]*\) )?(?:✗ )?`)

// cutPrompt takes the prompt off a line; host is the one that the prompt names.
func cutPrompt(text string) (host, command string, ok bool) {
	if text == "$" || text == "#" {
		return "", "", true
	}
	for _, mark := range []string{"$ ", "# ", "+ ", "❯ "} {
		if command, ok := strings.CutPrefix(text, mark); ok {
			if frame := strings.TrimLeft(command, " "); strings.HasPrefix(frame, "0x") {
				return "", "", false // "#       0x441886        sync.(*Mutex).Lock+0x46", a profile whose tabs became blanks
			}
			return "", command, true
		}
	}
	if command, ok := strings.CutPrefix(text, "% "); ok { // curl begins its progress so
		if words := strings.Fields(command); bareCommand.MatchString(command) || elsewhere(words) > 0 || len(words) > 1 && words[0] == "curl" {
			return "", command, true
		}
	}
	if at := arrowPrompt.FindStringIndex(text); at != nil {
		return "", text[at[1]:], true
	}
	if at := shellPrompt.FindStringIndex(text); at != nil {
		return "", text[at[1]:], true
	}
	if at := windowsPrompt.FindStringIndex(text); at != nil {
		return "", text[at[1]:], true
	}
	if m := hostPrompt.FindStringSubmatch(text + " "); m != nil {
		return m[1] + m[2], strings.TrimSpace((text + " ")[len(m[0]):]), true
	}
	var head string
	for _, mark := range []string{"$ ", "# ", "% ", "~> "} {
		if head, command, ok = strings.Cut(text+" ", mark); ok {
			break
		}
	}
	_, host, named := strings.Cut(head, "@")
	if !ok || !named || strings.Contains(head, "->") || len(head) >= 80 {
		return "", "", false
	}
	if end := strings.IndexAny(host, ": ]~"); end >= 0 {
		host = host[:end]
	}
	command = strings.TrimSpace(command)
	if _, dir, ok := strings.Cut(head, ":"); ok && PathPID(dir) > 0 && !strings.Contains(command, "/") {
		command = "cd " + dir + "; " + command
	}
	return host, command, true
}

var (
	procPID = expression.Lazy(`/proc/(\d{1,9})(?:/|$|[\s;&|)"'])`)
	// lookedUp is the program that a command looks the pid of up.
	lookedUp = expression.Lazy("(?:pidof|pgrep)(?: -\\S+)* '?\"?([A-Za-z][\\w./-]*)")
	// exec are programs that run a command in a container, ssh on another host.
	containers = []string{"kubectl", "oc", "docker", "podman", "nerdctl", "crictl", "microk8s.kubectl", "k3s"}
	// valued are flags of theirs that take the next word.
	valued  = strings.Fields("-n --namespace --context --kubeconfig --cluster -u --user -e --env -w --workdir -l -i -p -o -F -J -L -b -q --zone --project --ssh-flag")
	shells  = strings.Fields("sh bash ash zsh su")
	readers = strings.Fields("ls find grep cat stat")
	// entered is the process whose namespaces a command runs in, inspected the container whose
	// process it looks up, asked the address that it asks.
	entered   = expression.Lazy(`\bnsenter .*?(?:-t|--target)[ =]?(\d{1,9})\b`)
	inspected = expression.Lazy(`\$\((?:sudo )?(?:docker|podman|crictl|nerdctl) inspect [^)]*?([A-Za-z0-9][\w.-]*)\)`)
	asked     = expression.Lazy(`\b(?:curl|wget|pprof|http)\b.*?[ '"](?:https?://(?:[^/\s@]*@)?([\w.-]+|\[[0-9a-fA-F:]+\])(?::(\d+))?|([\w.-]+):(\d+)/)`)
	// proxied is the node or the pod that the API server asks.
	proxied = expression.Lazy(`/api/v1/(?:nodes/([\w.-]+)(:\d+)?|namespaces/([\w-]+)/pods/(?:https?:)?([\w.-]+)(?::(\d+))?)/proxy/`)
	// attached is the process that a tool of the JVM or a signal is for.
	attached = expression.Lazy(`\b(?:jstack|jcmd|kill)(?: -\w+)* (\d{1,9})(?:[\s;&|'"]|$)`)
	// printers print a file as it is.
	printers = strings.Fields("cat zcat head tail less more")
)

// elsewhere is the place behind the word of a command that runs the rest elsewhere, 0 if
// there is none.
func elsewhere(words []string) int {
	for i, word := range words {
		switch word = path.Base(word); {
		case word == "ssh":
			return i + 1
		case word == "gcloud":
			return 1 + slices.Index(words, "ssh")
		case slices.Contains(containers, word):
			return 1 + slices.IndexFunc(words, func(word string) bool { return word == "exec" || word == "debug" || word == "rsh" })
		case word != "sudo" && word != "time" && word != "timeout" && word != "-n" && strings.Trim(word, "0123456789s") != "":
			return 0
		}
	}
	return 0
}

// run reads a command, and the one that it runs elsewhere.
func (c *Command) run(words []string) {
	if len(words) == 1 && (words[0] == "exit" || words[0] == "logout") {
		c.Ends = true
		return
	}
	at := elsewhere(words)
	if at == 0 {
		c.Enters = len(words) == 2 && words[0] == "cd"
		c.Reads = slices.ContainsFunc(words[:min(len(words), 2)], func(word string) bool { return slices.Contains(readers, word) })
		c.Hosted = len(words) > 0 && strings.TrimSuffix(words[0], ";") == "hostname"
		c.Owner.within(strings.Join(words, " "))
		if len(words) == 2 && slices.Contains(printers, words[0]) && c.Owner.PID == 0 && !strings.HasPrefix(words[1], "/proc/") && strings.Contains(words[1], ".") {
			c.Owner.Path = words[1]
		}
		return
	}
	remote := path.Base(words[at-1]) == "ssh"
	target, context := "", ""
	if !remote {
		c.Owner.Namespace = valueOf(words[:at], "-n", "--namespace")
		context = valueOf(words[:at], "--context", "--cluster")
	}
	rest := words[at:]
	for len(rest) > 0 {
		word := rest[0]
		rest = rest[1:]
		flag, value, assigned := strings.Cut(word, "=")
		takes := func() string {
			if !assigned && len(rest) > 0 {
				value, rest = rest[0], rest[1:]
			}
			return value
		}
		switch {
		case word == "--":
		case !remote && (flag == "-c" || flag == "--container"):
			c.Owner.Container = takes()
			continue
		case !remote && (flag == "-n" || flag == "--namespace"):
			c.Owner.Namespace = takes()
			continue
		case !remote && flag == "--context":
			context = takes()
			continue
		case remote && flag == "--command":
			rest = append([]string{takes()}, rest...)
		case !remote && (flag == "-i" || flag == "-it" || flag == "-ti"), remote && flag == "-t":
			continue
		case strings.HasPrefix(word, "-"):
			if slices.Contains(valued, flag) {
				takes()
			}
			continue
		case target == "":
			target = word
			continue
		default:
			rest = append([]string{word}, rest...)
		}
		break
	}
	if remote {
		_, host, named := strings.Cut(target, "@")
		if !named {
			host = target
		}
		c.Owner = Owner{Host: host}
	} else {
		if context != "" { // a namespace of another cluster
			c.Owner.Namespace = strings.TrimSuffix(context+"/"+c.Owner.Namespace, "/")
		}
		kind, name, _ := strings.Cut(target, "/")
		switch {
		case name == "":
			c.Owner.Pod = target
		case kind == "node" || kind == "nodes": // of debug
			c.Owner = Owner{Host: name}
		default:
			c.Owner.Pod = name
		}
	}
	if len(rest) == 0 || len(rest) == 1 && slices.Contains(shells, path.Base(rest[0])) {
		c.Opens = target != ""
		return
	}
	if rest[0] = strings.TrimLeft(rest[0], `'"`); rest[0] == "chroot" && len(rest) > 2 {
		rest = rest[2:]
	}
	c.run(rest)
}

// valueOf is the value of a flag, "" if it is not set.
func valueOf(words []string, names ...string) string {
	for i, word := range words {
		flag, value, assigned := strings.Cut(word, "=")
		switch {
		case !slices.Contains(names, flag):
		case assigned:
			return value
		case i+1 < len(words):
			return words[i+1]
		}
	}
	return ""
}

// within takes the process out of the words of a command: the one whose namespaces it enters,
// else the one whose directory below /proc it names, unless there are several.
func (o *Owner) within(command string) {
	if m := proxied.FindStringSubmatch(command); m != nil {
		*o = Owner{Host: m[1], Namespace: m[3], Pod: m[4]}
		if o.Port, _ = strconv.Atoi(m[5]); m[1] != "" && m[2] == "" {
			o.Program = "kubelet" // the API server asks it unless a port is named
		}
		return
	}
	if m := asked.FindStringSubmatch(command); m != nil {
		o.Port, _ = strconv.Atoi(m[2] + m[4])
		if host := m[1] + m[3]; host != "localhost" && host != "[::1]" && host != "0.0.0.0" && !strings.HasPrefix(host, "127.") {
			o.Host, o.Pod, o.Namespace, o.Container = host, "", "", ""
		}
		return
	}
	if m := inspected.FindStringSubmatch(command); m != nil {
		o.Pod = m[1]
	}
	if m := entered.FindStringSubmatch(command); m != nil {
		o.PID, _ = strconv.Atoi(m[1])
		return
	}
	for _, m := range procPID.FindAllStringSubmatch(command, -1) {
		pid, _ := strconv.Atoi(m[1])
		if o.PID != 0 && pid != o.PID {
			o.PID = 0
			return
		}
		o.PID = pid
	}
	if m := attached.FindStringSubmatch(command); m != nil && o.PID == 0 {
		o.PID, _ = strconv.Atoi(m[1])
	}
	if m := lookedUp.FindStringSubmatch(command); m != nil && o.PID == 0 {
		o.Program = path.Base(m[1])
	}
}

var (
	statedPID = expression.Lazy(`(?i)^(?:([a-z][\w.-]*) )?(?:pid|process)[ :=#]{1,3}(\d{1,9})[:,]?(?: (?:(?:comm|cmd|command|name)[ :=]{1,2})?\(?([a-z][\w.-]*)\)?)?$`)
	// bracketedPID is "kubelet (50)", "kubelet[50]:".
	bracketedPID = expression.Lazy(`^([A-Za-z][\w.-]*) ?[(\[](\d{1,9})[)\]](:?)$`)
	// playedOn is what ansible prints above the output of a host.
	playedOn = expression.Lazy(`^([\w.-]+) \| (?:CHANGED|SUCCESS|FAILED!?) \| rc=\d+ >>$`)
	// kindOfHost is a word that says what the next one names.
	kindOfHost = expression.Lazy(`(?i)^(pod|container|node|host|hostname|server)([ :=]{1,2})([\w][\w.-]*)$`)
	// containerLog is what kubectl cluster-info dump prints above the log of a container.
	containerLog = expression.Lazy(`^START logs for container (\S+) of pod ([^/\s]+)/(\S+)$`)
	// placed is "[node1] dump:", "On host node1:".
	placed = expression.Lazy(`(?i)^(?:\[([\w.-]+)\](?: .*:)?|(?:on|from)(?: (host|node|pod|server))? ([\w.-]+):)$`)
	// called is a name with a number that is of a host where a sentence says so.
	called = expression.Lazy(`(?i)^(?:[a-su-z]|[a-z-]{4,})\d+$`)
	// numbered is a host or pod with a number, as it stands without a frame: "node1", "web-0", "api-7c9f9d5b6d-x7z9q".
	numbered = expression.Lazy(`^(?:(?:node|worker|master|host|server|vm)\d+|[a-z][a-z0-9]*(?:-[a-z0-9]+)*-(?:\d+|[0-9a-f]{7,10}-[a-z0-9]{5}))(?:\.[a-z][a-z0-9.-]*)?$|^\d+\.\d+\.\d+\.\d+$`)
	// numberedCapture has a number and is no host: "run-2", "dump-1".
	numberedCapture = expression.Lazy(`(?i)^(?:t|s|n|snap|snapshot|round|run|step|sample|capture|dump|test|case|phase|take|part|try|attempt|loop|iteration|before|after|goroutines?|threads?|stacks?|heap|listing|lsof|count|fd|pid)-`)
	hostName        = expression.Lazy(`^[a-z][a-z0-9]*([-.][a-z0-9]+)*-[a-z0-9]+$|^(?:node|worker|master|host|server|vm|srv|db|web|api|app|gw|lb|proxy|edge|cache)\d+$|^\d+\.\d+\.\d+\.\d+$`)
)

// heading reads a line that a script prints above its output.
func (o *Owner) heading(text string, words []string, framed bool) bool {
	if m := statedPID.FindStringSubmatch(text); m != nil {
		o.PID, _ = strconv.Atoi(m[2])
		if o.Program = strings.ToLower(m[1]); o.Program == "" { // "Kubelet Pid: 2430"
			o.Program = m[3]
		}
		return o.PID != 0
	}
	if m := bracketedPID.FindStringSubmatch(text); m != nil && (framed || m[3] != "") {
		o.Program = m[1]
		o.PID, _ = strconv.Atoi(m[2])
		return true
	}
	if m := kindOfHost.FindStringSubmatch(text); m != nil && (framed || m[2] != " ") {
		if o.Host = m[3]; strings.EqualFold(m[1], "pod") || strings.EqualFold(m[1], "container") {
			o.Host, o.Pod = "", m[3]
		}
		return true
	}
	if m := containerLog.FindStringSubmatch(text); m != nil && framed {
		o.Container, o.Namespace, o.Pod = m[1], m[2], m[3]
		return true
	}
	if m := placed.FindStringSubmatch(text); m != nil && (IsHost(m[1]+m[3]) || m[2] != "" || called.MatchString(m[3])) {
		if o.Host = m[1] + m[3]; strings.EqualFold(m[2], "pod") {
			o.Host, o.Pod = "", m[3]
		}
		return true
	}
	if len(words) == 1 && IsHost(strings.TrimSuffix(text, ":")) {
		o.Host = strings.TrimSuffix(text, ":")
		return true
	}
	if !framed || len(words) != 1 {
		return false
	}
	if pid, err := strconv.Atoi(text); err == nil && pid > 0 && len(text) < 8 {
		o.PID = pid
		return true
	}
	if PathPID(text) > 0 {
		return o.file(text)
	}
	if name := strings.TrimSuffix(strings.TrimSuffix(path.Base(text), ":"), ".txt"); hostName.MatchString(name) && !numberedCapture.MatchString(name) {
		o.Host = name
		return true
	}
	return false
}

// IsHost reports whether a word names a host or a pod by its number. Other words may name anything.
//
//	"node1" "web-0" "10.0.0.2"   true
//	"kubelet" "run-2" "kube-proxy"   false
func IsHost(word string) bool {
	return numbered.MatchString(word) && !numberedCapture.MatchString(word)
}

// file reads the path of a file whose text follows.
func (o *Owner) file(name string) bool {
	if o.PID = PathPID(name); o.PID == 0 {
		o.Path = name
	}
	return !strings.Contains(name, "/fdinfo/") && !strings.Contains(name, "/fd/") // those are descriptors
}

// PathPID reads the process of a path below a copy of /proc, 0 if it names none.
//
//	"/proc/2706/task/2710/fdinfo"  "proc/2706"   2706
func PathPID(name string) int {
	_, after, ok := strings.Cut(name, "proc/")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(after, "/")
	pid, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0
	}
	return int(pid)
}
