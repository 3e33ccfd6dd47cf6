package view

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/filter"
)

// Capture is how one kind of evidence is taken without loss.
type Capture struct {
	Kind, Command, Why string
}

// verdictHelp says what a verdict means. Rule is how it is computed, empty where Means says
// it.
type verdictHelp struct{ Verdict, Means, Rule string }

// worth is of how many of 100 subjects with a verdict the laboratory knew that they leak, at 5, 10 and
// 20 captures, where leaks are as frequent as what is benign: `make lab` prints it.
var worth = map[string][3]int{"leaking": {99, 100, 99}, "suspicious": {88, 67, 52}, "stopped": {5, 7, 5}, "grew": {29, 18, 24}, "scaling": {0, 0, 0}, "stable": {9, 2, 3}}

// NewHelp makes the page that says how to capture, upload and read, for a server at base;
// the caller adds the engine line.
func NewHelp(base string) Page {
	v := Page{Shell: Shell{Title: "Help", Section: "help", Here: "Help"}}
	v.Body.Title("How to capture, upload and read")
	v.Body.Say("lead", "Take at least three captures of one process, minutes apart, without restarting it. Two say that something grew; three or more can prove that it stays.")
	v.Body.Add(
		document.NewSection("capture", "Capture without loss", "One directory for each moment, one directory for each process in it.", commands(captures())),
		document.NewSection("formats", "What is read", "Recognised by content, names are only hints.", terms(formats())),
		document.Section{
			Look: "block", ID: "upload-shell", Title: document.Words("Upload from a shell"),
			Note:   document.Text{document.LinkTo("/api", "The API"), document.Plain(" does the whole job in three lines.")},
			Blocks: document.Blocks{commands(uploads(base))},
		},
		document.NewSection("filter", "Filter families", "On cases, snapshots and comparisons, and with leakdiff report --filter.", filterWords()),
		document.NewSection("verdicts", "Verdicts", "Always with their evidence.", verdictTerms()),
		document.NewSection("words", "Words", "", terms(words())),
		document.NewSection("help-keys", "Keys", "", keyWords()),
	)
	return v
}

// formats returns those of docs/formats.md, a line each.
func formats() []Pair {
	return []Pair{
		{"Goroutines", "Dumps of debug=2, of runtime.Stack and of crashes, Go 1.18 to 1.27; profiles of debug=1 and proto. Also inside log lines, JSON and HTML."},
		{"Threads of a JVM", "jstack, jcmd, kill -3, dump_to_file, javacore, hot threads, actuator, VisualVM and support-core."},
		{"Memory", "Heap profiles of Go, class histograms of a JVM (jcmd GC.class_histogram, jmap -histo)."},
		{"Node.js", "Diagnostic reports with their handles and the spaces of their heap."},
		{"Descriptors", "fdinfo, links and listings of /proc/PID/fd, lsof in all variants, lsfd, ss, netstat, /proc/net."},
		{"Inotify watches", "fdinfo, with mountinfo or inode lists for their paths."},
		{"Context", "mountinfo, limits, status, cmdline, sysctls, Prometheus and HashiCorp metrics."},
		{"Support bundles", "nomad, consul, vault, CockroachDB, MinIO, containerd, CRI-O, must-gather, sos, Rancher, Cilium, Jenkins, Elasticsearch and more."},
		{"Archives", "Directories, tar, zip, gz, zst, xz, bz2, lz4, in each other and in split parts."},
		{"Named, not read", "CPU profiles, heap dumps."},
	}
}

// commands lists commands to copy.
func commands(all []Capture) document.Terms {
	out := document.Terms{Look: "captures"}
	for _, c := range all {
		row := document.Term{Name: document.Words(c.Kind)}
		row.Add(document.Code{Label: c.Kind, Lines: []string{c.Command}})
		row.Paragraph(c.Why)
		out.Rows = append(out.Rows, row)
	}
	return out
}

func filterWords() document.Terms {
	out := document.Terms{Look: "captures"}
	for _, x := range slices.Concat(filterSigns(), filterFields()) {
		row := document.Term{Name: document.Text{document.Marked(document.Literal, x.Name)}}
		row.Paragraph(x.Value)
		out.Rows = append(out.Rows, row)
	}
	return out
}

func verdictTerms() document.Terms {
	out := document.Terms{Look: "terms"}
	for _, x := range verdicts() {
		means := document.Words(x.Means)
		if x.Rule != "" {
			means = append(means, document.Plain(" "), document.Marked(document.Muted, x.Rule))
		}
		if n, measured := worth[x.Verdict]; measured {
			means = append(means, document.Plain(fmt.Sprintf(" Of 100 in the laboratory %d, %d and %d were leaks (5, 10 and 20 captures).", n[0], n[1], n[2])))
		}
		out.Rows = append(out.Rows, document.Term{Name: document.Text{document.Marked(document.Verdict, x.Verdict)}, Blocks: document.Blocks{means}})
	}
	return out
}

// terms lists words with what they mean.
func terms(all []Pair) document.Terms {
	out := said(all)
	out.Look = "terms"
	return out
}

// keyWords says what keys do. Keys stand between backquotes.
func keyWords() document.Paragraph {
	const text = "`/` goes to the search box, `c` copies the answer of a case for a ticket, any other page as Markdown, `C` in another form, `L` a whole case as Markdown, `e` takes it as a file, `y` freezes it, `j` and `k` go through rows and findings, `a`, `b` or `x` choose two snapshots and `d` compares them, `s` swaps them, `u` shows stacks in one column, `g` `u` goes to the uploads, `g` `s` to the series, `Ctrl+K` finds every command and section of a page, `?` lists the keys of a page and switches them off; Keys at the end of a page lists them as well and switches them on again."
	var out document.Text
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			out = append(out, document.Marked(document.Keyed, part))
		} else {
			out = append(out, document.Plain(part))
		}
	}
	return document.Paragraph{Text: out}
}

func uploads(base string) []Capture {
	api := base + "/api/v1/bundles/"
	return []Capture{
		{"Pack and send", "tar czf bundle.tgz t0 t1 t2\ncurl -T bundle.tgz " + api, "The answer names the bundle and its case, and holds the case's owner key once."},
		{"Send and read the answer", "curl -H Accept:text/plain -T bundle.tgz '" + api + "?wait=1'", "Prints the sentence of the case, its link and its owner key. Waits at most 60 s."},
		{"Add to a case", "curl -T more.tgz -H 'Authorization: Bearer OWNER_KEY' '" + api + "?case=CASE'", "Another dump of the same process makes the series longer."},
	}
}

func captures() []Capture {
	return []Capture{
		{"Goroutines with states, waits and ids", "curl -s 'http://127.0.0.1:6060/debug/pprof/goroutine?debug=2' > goroutine-debug2.txt",
			"The only form in which one goroutine can be followed. It stops at 64 MiB; take debug=1 of the same moment beside it, it is always complete."},
		{"Goroutines, complete counts", "curl -s 'http://127.0.0.1:6060/debug/pprof/goroutine?debug=1' > goroutine-debug1.txt",
			"Small and complete, without states and ids."},
		{"Goroutines of a Kubernetes node", "kubectl get --raw '/api/v1/nodes/NODE/proxy/debug/pprof/goroutine?debug=2' > goroutine-debug2.txt",
			"Needs the node's debugging handlers to be on."},
		{"Goroutines of a process without a pprof address", "kill -QUIT PID",
			"The process ends; its last words are in its log or journal. Upload the log as it is."},
		{"Descriptors and inotify watches", "cp -r /proc/PID/fdinfo fdinfo",
			"tar and zip store these files as 0 bytes, because the kernel reports that size; cp reads them. Pack the copy."},
		{"Targets of descriptors", "ls -l /proc/PID/fd > fd.txt",
			"Says what each number of fdinfo is."},
		{"Descriptors with addresses", "lsof -nP +c 0 -p PID > lsof.txt",
			"-nP does not ask name servers, +c 0 does not cut the program's name."},
		{"Threads of a JVM", "jcmd PID Thread.print -l > threads.txt",
			"Has times, locks and numbers of threads. Three in a row are better than one."},
		{"Node.js handles", "kill -USR2 PID",
			"With node --report-on-signal. The report says how many handles of each kind are open."},
		{"Which process this is", "cp /proc/PID/stat /proc/PID/status /proc/PID/limits /proc/PID/mountinfo .",
			"Program, pid and start time: so that a restart is not read as a recovery."},
		{"When it was taken", "date --iso-8601=seconds > captured_at",
			"Beside the files: it is believed more than the times of files."},
	}
}

func verdicts() []verdictHelp {
	return []verdictHelp{
		{"leaking", "Members were born over several intervals and none of them left, or their ages, or the runtime's own mark, prove that they stay.", "The runtime's (leaked) mark; or cohorts (at least 8 members that were born in the series and are still there) with a series that is at least suspicious, or with ages; or a leaking series with ages. A series alone only where nothing identifies members: it rises by 10 and by 15 %, Mann-Kendall p ≤\u00a00.05 (0.01 from eight snapshots on), along a line."},
		{"saturated", "A pool or dispatcher is full and others wait for it. It is no leak.", "As many run as its limit allows (without a stated limit, as many as at any time) in at least two snapshots up to the last, and the queue grows or never empties."},
		{"suspicious", "The count rose, and what would prove a leak is missing: too few intervals, or no identities.", "Ages or cohorts alone; or the same rise with p ≤\u00a00.1 and z ≥\u00a01.64, with four or five snapshots z ≥\u00a02.33; or a published leak above its expected count."},
		{"scaling", "It grows only with its load: so many for each pod, target or connection.", "A load from outside is known for every snapshot and varies by a fifth; with k the median of count / load, |count − k × load| ≤ max(2, 15 %) in each."},
		{"stopped", "It grew and has ended; what came is still there.", "At its own pace at least 5 more would have come since, at most a tenth of that did, and it has stood still for longer than twice any pause before."},
		{"grew", "More members came than left. A fact, no accusation.", "At least 3 more, and none that was there left, or chance gives so many births with p ≤\u00a00.01; without identities a rise by 10 and by 15 % with z ≥\u00a02.33."},
		{"new", "It was not there at first. Nothing more can be said yet.", "0 before, 3 or more after, in the last two intervals."},
		{"shrinking", "It fell in the snapshots that can be compared.", "The rule of a series, mirrored."},
		{"gone", "It was there at first and is not any more.", "3 or more before, 0 after."},
		{"stable", "It did not grow by more than the smallest growth that could have been seen.", "No rule above holds."},
		{"too_few_points", "One snapshot, or none that can be compared: nothing is said about growth.", "One snapshot without telling ages, or none that is whole."},
		{"possible_culprit", "It does not grow, is older than what grows, and holds what the others wait for.", "Holds the lock that three or more wait for, by address or type; or is older than what grows and absent from the baseline."},
	}
}

func filterFields() []Pair {
	var out []Pair
	for _, h := range filter.Fields() {
		out = append(out, Pair{h.Example, h.Means})
	}
	var names []string
	for _, a := range filter.Attributes() {
		names = append(names, string(a))
	}
	return append(out, Pair{"remote:10.0.0.1", "an attribute of a descriptor, watch or thread: " + strings.Join(names, ", ")})
}

func filterSigns() []Pair {
	return []Pair{
		{"prober RunPodSandbox", "Both words, in functions, creator, title or attributes, without regard to case."},
		{"prober|housekeeping", "One of them. Behind func:a|b, b is asked of func as well; func:a | b asks it of everything."},
		{"-net/http", "Not this. It binds closest: leave out two with -a -b."},
		{`"created by"`, `Blanks, bars and colons as they are; \" is a quote inside.`},
		{`/\(\*worker\)\.run$/`, "An RE2 expression. Without the closing slash it is a path."},
		{"count>=50", "More, at least, less, at most, equal: > >= < <= =. Text takes : for contains and = for equal."},
	}
}

func words() []Pair {
	return []Pair{
		{"bundle", "One upload: an archive or a set of files, kept byte for byte."},
		{"artifact", "One file inside a bundle, after unpacking."},
		{"snapshot", "All evidence about one process at one time."},
		{"series", "The snapshots of one program on one host, in the order of time."},
		{"epoch", "A part of a series without a restart."},
		{"family", "Goroutines, threads, descriptors or watches that are the same thing many times."},
		{"member", "One goroutine, thread, descriptor or watch."},
		{"survivor", "A member that is present, in the same family, in several snapshots of one epoch."},
		{"unit", "Families that grow in a constant ratio: what one leaked thing costs."},
		{"finding", "A sentence with figures: what grows, since when, the proof, the next step."},
		{"case", "What a ticket is about: bundles whose series are looked at together."},
		{"problem", "Something that was not understood or not believed, with its place and what to do."},
		{"permalink", "A frozen result under its own address. It does not change, and is kept until the date on it."},
	}
}
