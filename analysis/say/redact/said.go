package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"leakdiff/analysis/expression"
)

var (
	// pair is a value with the name of an attribute: "namespace=shop",
	// `"user":"alice"`.
	pair = expression.Lazy(`(?i)(\b(` + pairKeys + `)=\\?["']?)([^\s"'\\,;&)}\]]+)|(["'](` + pairKeys + `)\\?["']\s*:\s*\\?["'])([^"'\\]+)`)
	// replicaPod is the name of a pod as a controller makes it:
	// "cart-7d9f8b6c5d-x2x4z".
	replicaPod = expression.Lazy(`\b[a-z][a-z0-9]*(?:-[a-z0-9]+)*-[a-f0-9bcdfghjklmnpqrstvwxz]{7,10}-[bcdfghjklmnpqrstvwxz2-9]{5}\b`)
	// nodePod is a pod that runs on every node: "agent-x2x4z". Words have vowels.
	nodePod = expression.Lazy(`\b[a-z][a-z0-9]*(?:-[a-z0-9]+)*-[bcdfghjklmnpqrstvwxz2-9]{5}\b`)
	// counted is one of several machines or pods, as people name them: "web-prod-17".
	counted = expression.Lazy(`(?i)\b[a-z][a-z0-9]{2,}(?:-[a-z0-9]+)*-?[a-z]*\d+[a-z]?\b`)
	// dotted is a name with dots: a host, a version, a file, a function.
	dotted = expression.Lazy(`[\pL\pN_-]+(?:\.[\pL\pN_-]+)+`)
	// release is a version: "v1.34.4-rc.1", "1.30.x", "3.5s".
	release = expression.Lazy(`(?i)^[a-z]{0,3}\d+(?:\.(?:\d+|x))+(?:[a-z%]{1,3}|[-+]?(?:rc|alpha|beta|dev|pre|eks|gke)[\w.-]*)?$`)
	// cloudHost is a machine named by its address: "ip-10-1-2-3".
	cloudHost = expression.Lazy(`\bip(?:-\d{1,3}){4}\b`)
	// aboutOne is a value after the word for what it is: "node web-7", "namespace:
	// shop".
	aboutOne = expression.Lazy(`(?i)\b(` + pairKeys + `|host name|machine|vm|server|cluster|container|bucket|database|db|schema)(\s*[:=]\s*|\s+)["'` + "`" + `(]?([\pL\pN_][\pL\pN_.@-]*)`)
	// aboutSecret is a secret after the word for it: "pwd hunter2".
	aboutSecret = expression.Lazy(`(?i)\b(password|passwd|passphrase|pwd|pw|pass|secret|token|api[ _-]?key)\s+(?:is\s+)?["'` + "`" + `]?([^\s"'` + "`" + `,;)]{3,})`)
	// option is a short option of a command with its value: "-n shop", "--user alice".
	option = expression.Lazy(`(?:^|[\s` + "`" + `])(-n|--namespace|-u|--user|-l|--login|-p|--context|--cluster|-h|--host)(?:=|\s+)["']?([\pL\pN_][^\s"'` + "`" + `,;)]*)`)
	// joined is a password directly after its option, as some clients accept it.
	joined = expression.Lazy(`(\b(?:mysql\w*|mariadb\w*|sshpass)\b[^\n]*?\s-p)([^\s"'` + "`" + `<>]{3,})`)
	// podOf is a pod after its namespace: "shop/cart-7".
	podOf = expression.Lazy(`(?:^|[\s("'<` + "`" + `])([a-z][a-z0-9-]*)/([a-z][a-z0-9-]*-[a-z0-9-]*\d[a-z0-9-]*)`)
	// login is a user on a machine: "ssh alice@web-7", with the path of a copy.
	login = expression.Lazy(`([\pL\pN_.+-]+)@([\pL\pN_][\pL\pN_.-]*)(?::([\w./~-]+))?`)
	// share is a path of Windows, on another machine or a drive.
	share = expression.Lazy(`(?:\\\\([\w.-]+)|\b[A-Za-z]:)((?:\\[^\\\s"'<>|]+)+)`)
	// address is an address of the web or of a store, with its path.
	address = expression.Lazy(`\b[A-Za-z][A-Za-z0-9+.-]*://(?:[^/\s@]*@)?([^/\s:"'<>)\]?#]+)(?::\d+)?([^\s"'<>)\]?#]*)`)
	// anyPath is an absolute path.
	anyPath = expression.Lazy("(?:^|[\\s\"'(=,:<\\[`])((?:/[\\pL\\pN._@+~%-]+)+)")
	// random is a long word that is no natural one.
	random = expression.Lazy(`\b[A-Za-z0-9_+=-]{20,}\b`)
)

// pairKeys are the names of keyed attributes.
const pairKeys = `host_?name|host|node_?name|node|pod_name|podname|pod_namespace|pod|namespace|ns|user_?name|user|login|tenant|customer|account`

// pairs replaces values with the name of an attribute.
func (r *Redactor) pairs(s string) string {
	return pair.ReplaceAllStringFunc(s, func(m string) string {
		p := pair.FindStringSubmatch(m)
		before, key, value := p[1]+p[4], strings.ToLower(p[2]+p[5]), p[3]+p[6]
		low := strings.ToLower(value)
		if plainValue.MatchString(value) || plainNames()[low] || low == "localhost" || low == "none" || low == "null" || low == "unknown" {
			return m
		}
		rule := keyed[strings.ReplaceAll(key, "_", "")]
		if of, ok := keyed[key]; ok {
			rule = of
		}
		if of, ok := r.known.names[low]; ok {
			rule = of
		}
		if rule == Hosts && (strings.ContainsAny(value, ":/ ") || !strings.ContainsFunc(value, unicode.IsLetter)) {
			return m // an address has a rule of its own
		}
		return before + r.name(rule, words[rule], low)
	})
}

// forges are public machines whose names begin import paths and images.
var forges = set(`github.com gist.github.com gitlab.com bitbucket.org golang.org go.dev pkg.go.dev godoc.org google.golang.org gopkg.in go.uber.org go.etcd.io
	k8s.io sigs.k8s.io registry.k8s.io kubernetes.io etcd.io docker.io docker.com quay.io gcr.io ghcr.io mcr.microsoft.com nodejs.org npmjs.com openjdk.org
	apache.org maven.org kernel.org man7.org wikipedia.org stackoverflow.com go.opentelemetry.io opentelemetry.io prometheus.io grafana.com containerd.io cri-o.io
	json-schema.org w3.org example.com example.org`)

// inside are the last labels of names that only a private network knows. outside are
// common last labels of other names.
var (
	inside  = set(`internal local corp lan intranet localdomain svc`)
	outside = set(`com net org io cloud de eu uk fr nl ch edu gov`)
	// code are first labels of packages, and of our own schemas ("leakdiff.report/1"). Names
	// of machines end with the others.
	code = set(`leakdiff com org io net java javax jdk sun kotlin scala akka dev edu gov in de`)
	// sources are the last labels of names of code and its files.
	sources = set(`go s c h cc cpp java kt js mjs ts py rs rb php scala proto mod sum templ`)
)

// learnHosts takes the names of machines from a text. In free text, every name with
// dots counts that is no version, no file and no code.
func (r *Redactor) learnHosts(s string, anything bool) {
	for _, m := range cloudHost.FindAllString(s, -1) {
		r.know(Hosts, m)
	}
	for _, at := range dotted.FindAllStringIndex(s, -1) {
		name, before, after := strings.ToLower(s[at[0]:at[1]]), byteAt(s, at[0]-1), s[at[1]:]
		labels := strings.Split(name, ".")
		last := labels[len(labels)-1]
		called := strings.HasPrefix(after, "(") || strings.HasPrefix(after, ".(") || strings.HasPrefix(after, ".") && len(after) > 1 && alphanumeric(rune(after[1]))
		switch {
		case forges()[name] || r.public[name] || release.MatchString(name) || sources()[last] || called || r.allPublic(labels):
		case strings.Trim(name, "0123456789.-") == "" || oneLetter(labels):
		case inside()[last]:
			if !code()[labels[0]] && (before != '/' || anything) {
				r.know(Hosts, name)
			}
		case code()[labels[0]] && !(anything && outside()[last]):
		case outside()[last]:
			if path := len(after) > 1 && after[0] == '/' && unicode.IsLetter(rune(after[1])); anything || !path && before != '/' && before != '@' && len(labels[len(labels)-2]) > 1 {
				r.know(Hosts, name)
			}
		case !anything || capitals(s[at[0]:at[1]]):
		case ending.MatchString(name):
			r.learnName(name)
		default:
			r.know(Hosts, name)
		}
	}
}

// byteAt is zero outside the text.
func byteAt(s string, at int) byte {
	if at < 0 || at >= len(s) {
		return 0
	}
	return s[at]
}

func (r *Redactor) allPublic(labels []string) bool {
	for _, l := range labels {
		if !r.public[l] {
			return false
		}
	}
	return true
}

// oneLetter reports an abbreviation: "e.g".
func oneLetter(labels []string) bool {
	for _, l := range labels {
		if utf8.RuneCountInString(l) > 1 {
			return false
		}
	}
	return true
}

// capitals reports a name with the capitals of code, "http.Get": a capital and small
// letters after a dot.
func capitals(name string) bool {
	_, rest, _ := strings.Cut(name, ".")
	for _, l := range strings.Split(rest, ".") {
		if first, n := utf8.DecodeRuneInString(l); unicode.IsUpper(first) && strings.ContainsFunc(l[n:], unicode.IsLower) {
			return true
		}
	}
	return false
}

// LearnSaid takes free text that a person wrote. It hides whatever may be a name of a
// machine, a path, a pod, a user or a secret, and every unknown word.
func (r *Redactor) LearnSaid(s string) {
	s = shown(s)
	r.allow(free, s)
	for _, m := range login.FindAllStringSubmatch(s, -1) {
		if !forges()[strings.ToLower(m[2])] && !notMail.MatchString(m[0]) {
			r.learnEnd(m[2])
			r.learnOne(Users, m[1])
		}
		r.learnParts(m[3], "/")
	}
	for _, m := range address.FindAllStringSubmatch(s, -1) {
		if !forges()[strings.ToLower(m[1])] {
			r.learnEnd(m[1])
			r.learnParts(m[2], "/")
		}
	}
	for _, m := range share.FindAllStringSubmatch(s, -1) {
		r.learnEnd(m[1])
		r.learnParts(m[2], `\`)
	}
	for _, m := range anyPath.FindAllStringSubmatch(s, -1) {
		if !strings.HasPrefix(m[1], "/usr/local/go/") && !strings.HasPrefix(m[1], "/usr/lib/") && !strings.HasPrefix(m[1], "/proc/") && !strings.HasPrefix(m[1], "/sys/") {
			r.learnParts(m[1], "/")
		}
	}
	r.learnHosts(s, true)
	for _, pattern := range []*expression.Expression{replicaPod, nodePod} {
		for _, m := range pattern.FindAllString(s, -1) {
			r.know(Pods, m)
		}
	}
	for _, m := range podOf.FindAllStringSubmatch(s, -1) {
		r.learnOne(Namespaces, m[1])
		r.learnOne(Pods, m[2])
	}
	for _, m := range counted.FindAllString(uuid.ReplaceAllString(s, " "), -1) {
		if first, _, many := strings.Cut(strings.ToLower(m), "-"); many && !standards()[first] && !plainNames()[first] && !rounds()[first] && !r.public[first] && !small.MatchString(strings.ToLower(m)) && !r.pseudonym(strings.ToLower(m)) && r.known.names[strings.ToLower(m)] == "" && !release.MatchString(m) {
			r.learnEnd(m)
		}
	}
	r.learnAbout(s)
	for _, m := range random.FindAllString(s, -1) {
		if madeUp(m) {
			r.know(Tokens, m)
		}
	}
	r.learnEvidence(s)
}

// learnAbout takes the values after words and options that announce them.
func (r *Redactor) learnAbout(s string) {
	for _, m := range aboutSecret.FindAllStringSubmatch(s, -1) {
		value := strings.TrimRight(m[2], ".:!?")
		if strong := strings.HasPrefix(strings.ToLower(m[1]), "p"); (strong || strings.ContainsAny(value, "0123456789")) && !common()[strings.ToLower(value)] {
			r.know(Tokens, value)
		}
	}
	for _, m := range option.FindAllStringSubmatch(s, -1) {
		if plainValue.MatchString(m[2]) {
			continue
		}
		switch m[1] {
		case "-n", "--namespace":
			r.learnOne(Namespaces, m[2])
		case "-u", "--user", "-l", "--login":
			r.learnOne(Users, m[2])
		case "-p":
			r.learnOne(Tokens, m[2])
		default:
			r.learnOne(Hosts, m[2])
		}
	}
	for _, m := range aboutOne.FindAllStringSubmatch(s, -1) {
		value := strings.TrimRight(m[3], ".-@")
		rule, ok := keyed[strings.ToLower(m[1])]
		if !ok {
			rule = Hosts
		}
		if strings.TrimSpace(m[2]) == "" && word(value) && (rule == Hosts || rule == Pods || value != strings.ToLower(value)) {
			continue // "the server waits", "user Interface"
		}
		if name, _, mailed := strings.Cut(value, "@"); !mailed {
			r.learnOne(rule, name)
		}
	}
}

// learnOne takes a name unless it is an ordinary word, a number or an address.
func (r *Redactor) learnOne(rule Rule, name string) {
	low := strings.ToLower(name)
	if common()[low] || plainNames()[low] || r.pseudonym(low) || !strings.ContainsFunc(low, unicode.IsLetter) || oneLetter(strings.Split(low, ".")) || release.MatchString(low) {
		return
	}
	if rule == Hosts && (strings.Contains(low, ".") && !capitals(name) || !strings.Contains(low, ".")) {
		r.learnEnd(low)
	} else if rule != Hosts {
		r.know(rule, low)
	}
}

// learnUser takes the name of a user that a directory reveals. Ordinary words are
// hidden only in paths.
func (r *Redactor) learnUser(name string) { r.learnOne(Users, name) }

// learnParts takes the elements of a path that are not common.
func (r *Redactor) learnParts(path, separator string) {
	before := ""
	for _, part := range strings.Split(strings.TrimRight(path, ".,;:"), separator) {
		low := strings.ToLower(part)
		home := before == "home" || before == "users"
		if before = low; home {
			r.learnOne(Users, low)
		} else if strings.ContainsFunc(low, unicode.IsLetter) && !common()[low] && !softwareParts()[low] && !sources()[low[strings.LastIndexByte(low, '.')+1:]] {
			r.know(Paths, low)
		}
	}
}

// softwareParts are elements of paths and addresses that reveal nothing, beside
// plainNames.
var softwareParts = set(`usr dev boot sys windows system32 programdata program api v1 v2 v3 cases case bundles snapshots families issues issue pull commit wiki projects project browse view pages spaces display
	dashboard dashboards explore d a p q x index.html`)

// standards are first words of well-known names with numbers.
var standards = set(`utf iso sha rfc cve ghsa bug issue ticket base64 amd64 x86 arm64 go1 http tcp udp ipv4 ipv6 debug level stage step round test version release phase part day week section line lines goroutine thread pid port`)

// madeUp reports a word that mixes letters and digits as keys do.
func madeUp(s string) bool {
	digits, upper, small := 0, 0, 0
	for _, c := range s {
		switch {
		case unicode.IsDigit(c):
			digits++
		case unicode.IsUpper(c):
			upper++
		case unicode.IsLower(c):
			small++
		}
	}
	return digits >= 3 && digits+upper+small >= 20 && (upper > 0 && small > 0 || strings.Count(s, "-") < 2 && digits*8 > len(s))
}

// common are ordinary words that may follow the word for a name.
var common = set(`a about above accepted after again all also alone already always an and another any are as ask at back be became because been before began being below between both but by called came can cannot
	change changed check code comes connection contains could count data did died different directory do does done down during each either else every everything fails failed field few file files
	first fix fixed for found from full gave gets git give go goes gone got group groups grew grow grows growing growth had handle has have held help her here hers his host hosts how however i id if in info inside into is isn it
	its itself just keep keeps kept key keys kind knows last later leak leaks leaking leaked left less let level like limit list local log logs look looks lost made make makes many may me more most
	much must my name named names near needs never new next no node nodes none nor not nothing now number of off old on once one only onto open opened or other others our out over own owner per pod pods process
	ran read ready reported reports restart restarted restarts root run running runs said same saw say says second see seen sees send sent service set shall she should show shows side since so some something still stop
	stopped such than that the their them then there these they thing this those through time times to too took two under until up update updated upgrade upgraded us use used user users uses using
	value version via wait waits waiting want wants was we went were what when where whether which while who whole whose why will with within without work works would written wrote yes yet you your admin
	interface agent pool server store bucket count error errors limits policy quota list ref refs state expired missing rotation lost leaked leader selector controller name-server`)
