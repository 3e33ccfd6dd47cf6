package ingest

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/detect"
)

func processWord(p *part) string {
	return fmt.Sprintf("%s, pid %d, listing %d", p.listing.command, p.pid, p.ordinal+1)
}

// mostOrdinalDigits is how long the number of a capture is at most: those of times are longer.
const mostOrdinalDigits = 3

// identify resolves whose evidence this is: inside the data first, then the names.
func (b *builder) identify() {
	label, dirName := naming(b.g.dir)
	if label == "" || b.g.stem != "" && !strings.Contains(b.g.stem, label) {
		if stem := labelOfStem(b.g.stem); stem != "" && label == "" {
			label = stem
		}
	}
	if len(b.g.parts) > 0 && b.g.parts[0].section {
		label = strings.TrimSpace(label + " #" + strconv.Itoa(b.g.ordinal+1))
	}
	if len(label) <= mostOrdinalDigits && strings.Trim(label, "0123456789") == "" && label != "" {
		label = "capture " + label // a bare number within a sentence reads as a figure
	}
	b.s.Label = label
	p := &b.s.Process
	all := append(append([]*part{}, b.g.context...), b.g.parts...)
	for _, q := range all {
		b.identifyBy(p, q)
	}
	b.nameProcess(p, all, dirName)
	callProcess(p, all)
	if host := hostInStem(b.g.stem, p.Name.Value); host != "" && !p.Host.Known() {
		p.Host = analysis.Fact{Value: host, Source: byFile, Confidence: analysis.Low}
	}
}

func (b *builder) identifyBy(p *analysis.Process, q *part) {
	where := path.Base(strings.TrimSuffix(q.path, "/"))
	if q.pid != 0 && (p.PID.Value == "" || q.stat != nil) {
		p.PID = analysis.Fact{Value: strconv.Itoa(q.pid), Source: where, Confidence: analysis.High}
	}
	if q.stat != nil && q.stat.StartTicks > 0 {
		p.Start = analysis.Fact{Value: strconv.FormatUint(q.stat.StartTicks, 10), Source: "ticks since boot in " + where, Confidence: analysis.High}
	}
	if q.capture != nil && !p.Start.Known() && q.capture.Process.StartTicks > 0 {
		p.Start = analysis.Fact{Value: q.capture.Process.start(), Source: "ticks since boot in " + where, Confidence: analysis.High}
	}
	switch host := hostOf(q.cmdline); {
	case q.host != "" && q.printed():
		p.Host = analysis.Fact{Value: q.host, Source: "command in " + where, Confidence: analysis.High}
	case q.host != "" && q.section && q.form != detect.OTLPProfiles && (q.threads == nil || q.threads.dump.Node != q.host):
		p.Host = analysis.Fact{Value: q.host, Source: "prefix of the log lines in " + where, Confidence: analysis.High}
	case q.host != "" && (q.form == detect.Manifest || q.form == detect.Capture):
		p.Host = analysis.Fact{Value: q.host, Source: where + " of the collector", Confidence: analysis.High}
	case q.host != "":
		p.Host = analysis.Fact{Value: q.host, Source: where, Confidence: analysis.High}
	case q.placing.host != "" && p.Host.Confidence != analysis.High:
		p.Host = q.placing.fact(q.placing.host)
	case host != "" && p.Host.Confidence != analysis.High:
		p.Host = analysis.Fact{Value: host, Source: "an option in " + where, Confidence: analysis.Medium}
	}
	if q.version != "" {
		p.Version = analysis.Fact{Value: q.version, Source: where, Confidence: analysis.High}
	}
}

// nameProcess takes the first name that speaks: stat and status, the command
// line, the binary of a proto, a listing's COMMAND, the directory, the program's
// own functions.
func (b *builder) nameProcess(p *analysis.Process, all []*part, dirName string) {
	var captured, kernel, argv, binary, listed, logged, commanded, placed string
	var placing placing
	for _, q := range all {
		switch {
		case q.capture != nil:
			captured = q.name
		case q.stat != nil || q.status != nil:
			kernel = q.name
		case len(q.cmdline) > 0:
			argv = programName(q.cmdline[0])
		case (q.profile != nil || q.contention != nil || q.heap != nil) && q.name != "":
			binary = q.name
		case q.listing != nil:
			listed = q.name
		case q.node != nil && q.name != "":
			argv = q.name
		case q.name != "" && q.printed():
			commanded = q.name
		case q.name != "":
			logged = q.name
		}
		if q.placing.process != "" {
			placing, placed = q.placing, q.placing.process
		}
	}
	whole := func(cut string, limit int) (string, bool) {
		for _, longer := range []string{argv, binary, dirName} {
			if len(cut) == limit && len(longer) > limit && strings.HasPrefix(longer, cut) {
				return longer, true
			}
		}
		return cut, false
	}
	set := func(name, source string, c analysis.Confidence) {
		p.Name = analysis.Fact{Value: name, Source: source, Confidence: c}
	}
	switch {
	case captured != "":
		set(captured, "manifest of the collector", analysis.High)
	case kernel != "":
		name, longer := whole(kernel, 15)
		source := "stat or status"
		if longer {
			source = "stat, completed from the command line, binary or directory"
		}
		set(name, source, analysis.High)
	case argv != "":
		set(argv, "command line", analysis.High)
	case listed != "":
		name, longer := whole(listed, 9)
		source := "COMMAND of the listing"
		if longer {
			source += ", completed from the binary or directory"
		}
		set(name, source, analysis.High)
	case commanded != "" && b.mainPackage() == "":
		set(commanded, "command or heading above the listing", analysis.High)
	case logged != "":
		set(logged, "prefix of the log lines", analysis.High)
	case placed != "" && (binary == "" || genericName(binary)):
		p.Name = placing.fact(placed)
	case binary != "" && (dirName == "" || dirName == binary || genericName(binary)):
		set(binary, "binary named in the profile", analysis.High)
	case dirName != "" && b.contextNamesProcess(dirName):
		set(addressIn(dirName), "directory name", analysis.Medium)
	case binary != "":
		set(binary, "binary named in the profile", analysis.High)
	default:
		if name := b.mainPackage(); name != "" {
			set(name, "package of main.main or of the program's own functions", analysis.Low)
		} else if word := b.r.processWordOfStem(b.g.stem); word != "" {
			set(word, byFile, analysis.Low)
		}
	}
}

// ofEndpoint are the directories of the collector for what it was given the address of alone.
var ofEndpoint = expression.Lazy(`^endpoint-https?_(.+)_([0-9]{1,5})$`)

// addressIn is the address in the name of such a directory, else the name.
//
//	"endpoint-http_127.0.0.1_6060" = "127.0.0.1:6060"
func addressIn(dir string) string { return ofEndpoint.ReplaceAllString(dir, "$1:$2") }

// genericName reports whether a binary's name does not name a program, such as go
// test's.
func genericName(name string) bool { return name == "main" || strings.HasPrefix(name, "__debug_bin") }

// contextNamesProcess reports whether a directory's name can be a process: it is that of a known
// program, or has a capture's label above it.
func (b *builder) contextNamesProcess(dir string) bool {
	label, _ := naming(b.g.dir)
	return programs[dir] || label != "" && dir != ""
}

// mainPackage reads the program out of the stacks: the last element of the path that
// holds package main's file ("kubelet" for "/src/cmd/kubelet/main.go").
func (b *builder) mainPackage() string {
	for _, p := range b.g.parts {
		program := ""
		if p.text != nil {
			program = p.text.program
		} else if p.profile != nil {
			program = programOf(p.profile.stacks)
		}
		if program != "" {
			return program
		}
	}
	return ""
}

// programOf is the last element of the path that holds package main's file.
func programOf(stacks []*analysis.Stack) string {
	for _, s := range stacks {
		for _, f := range s.Frames {
			if f.Func != "main.main" {
				continue
			}
			held := path.Dir(strings.ReplaceAll(f.File, `\`, "/"))
			if dir := path.Base(held); len(dir) > 1 && dir != "src" && dir != "app" && !homeDirectory.MatchString(held) {
				if at := strings.IndexByte(dir, '@'); at > 0 {
					dir = dir[:at]
				}
				return dir
			}
		}
	}
	return ""
}

// homeDirectory is a home directory, or the one that holds them all: its name is a
// person's and no program's.
var homeDirectory = expression.Lazy(`(?i)^(?:[a-z]:)?(?:/var|/usr|/export|/data|/mnt)?/(?:home|users)(?:/[^/]+)?$|^(?:/var)?/root$`)

// labelOfStem is the time in a file's name, else the name if it tells instants apart.
func labelOfStem(stem string) string {
	for _, pattern := range nameTimes {
		if at := pattern.FindString(stem); at != "" && len(nameWords(stem)) > 0 {
			return strings.Trim(at, "._-")
		}
	}
	if len(digits.FindAllString(stem, -1)) > 0 || ordinal(stem) {
		return strings.ReplaceAll(stem, "--", "-") // around the word for the kind
	}
	return ""
}

func ordinal(word string) bool {
	_, ok := ordinalWords[word]
	return ok
}

// programs are names that a file may carry; any other word in a file's name means
// something else ("monday").
var programs = wordSet(`kubelet containerd containerd-shim-runc-v2 dockerd crio etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy
	coredns cilium-agent cilium-operator calico-node antrea-agent prometheus alertmanager grafana loki thanos alloy node_exporter nomad consul vault
	cockroach minio influxd tidb tikv pd traefik caddy haproxy envoy istiod pilot-discovery jenkins elasticsearch java node mattermost teleport rancher
	longhorn-manager velero argocd harbor telegraf filebeat metricbeat elastic-agent datadog-agent syncthing gitea`)

func wordSet(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// fileWord names a file and no program.
var fileWord = expression.Lazy(`(?i)^(results?|outputs?|responses?|body|console|stdout|stderr|app|page|report|data|file|messages|syslog|journal.*|capture|test|tcp|udp|udplite|raw|unix|netlink|packet|sockets?|connections?|grep|find|ls|ps|cat|curl|wget|bundle|pods?)$`)

// processWordOfStem is the program in a file's name: a known one, or a word in the
// names of several instants ("billing-t0", "billing-t1").
func (r *reader) processWordOfStem(stem string) string {
	word := wordOfStem(stem)
	if programs[word] && (word == stem || !hostRole[word]) {
		return word
	}
	for _, w := range dottedWords(stem) {
		if programs[w] && !hostRole[w] {
			return w
		}
	}
	if len(word) >= 3 && !ordinal(word) && !fileWord.MatchString(word) && !hostRole[word] && wholeWord.MatchString(word) && len(r.stems[word]) >= 2 {
		return word
	}
	return ""
}

// hostInStem is the host in a file's name: an address, a pod of a replica set, or what stands beside
// a program.
//
//	"etcd-node3"  "node3"
func hostInStem(stem, process string) string {
	words := nameWords(stem)
	if name := strings.Join(words, "-"); len(words) == 1 && isAddress(name) || podName.MatchString(name) {
		return name
	}
	host, program := "", false
	for _, w := range append(words, dottedWords(stem)...) {
		if isAddress(w) || hostRole[strings.TrimRight(w, "0123456789")] && strings.Trim(w, "0123456789") != w {
			host = w
		}
		program = program || w == strings.ToLower(process) || programs[w] && !hostRole[w]
	}
	if !program {
		return ""
	}
	return host
}

var (
	// hostRole are words that name hosts by their role, often with a number.
	hostRole = wordSet(`node host server worker master vm ip`)
	// wholeWord is a name without its numbers that is still one.
	wholeWord = expression.Lazy(`^[a-z][a-z0-9]*(?:[._-][a-z][a-z0-9]*)*$`)
	// podName is the name of a pod of a replica set, whose hash has no vowels.
	podName = expression.Lazy(`^[a-z][a-z0-9-]*-[bcdf0-9]{8,10}-[a-z0-9]{5}$`)
	joints  = expression.Lazy(`-{2,}|_{2,}`)
	// pidWord is a pid in a name: "pid-812", "pid812".
	pidWord = expression.Lazy(`(?:^|[._-])pid[._-]?\d+`)
)

func dottedWords(stem string) []string {
	return strings.FieldsFunc(strings.Join(nameWords(stem), "-"), func(c rune) bool { return c == '-' || c == '.' })
}

func wordOfStem(stem string) string {
	word := digits.ReplaceAllString(instantWord.ReplaceAllString(pidWord.ReplaceAllString(withoutTime(stem), ""), ""), "")
	return strings.Trim(joints.ReplaceAllString(word, "-"), "._- ")
}
