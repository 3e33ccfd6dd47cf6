package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/bundle"
	"leakdiff/analysis/say/report"
	"leakdiff/analysis/say/wording"
	"leakdiff/cmd/leakdiff/capture"
)

type watchCommand struct {
	Process []string      `help:"Process to watch: its pid, or a name for all processes of it, also later ones; with =URL where it serves /debug/pprof. Repeatable." placeholder:"NAME[=URL]"`
	URL     []string      `name:"url" help:"Where a process serves /debug/pprof, which is watched by that alone: a URL, host:port or unix:/path. Repeatable." placeholder:"URL"`
	Every   time.Duration `help:"Time between the begins of two captures of a target." default:"5m"`
	Until   string        `help:"Verdict that is told when it begins, as --fail-on of report (leaking, saturated, suspicious or grew), or a quantity of the process: 'rss>2GiB', 'goroutines>5000'." default:"leaking" placeholder:"GOAL"`
	Dir     string        `help:"Directory of the captures and of what was told; made if it does not exist." default:"leakdiff-watch" type:"path"`
	Keep    int           `help:"Captures that are kept of a target, at least 4 (2 with --until suspicious or grew); the oldest is dropped first. A slow leak needs a larger --every." default:"48"`
	MaxSize string        `help:"The most that all captures may take on the disk, in equal parts for the targets. It must hold 4 captures of each (2 with --until suspicious or grew). Only the newest one, and what a server that is away has not got, may exceed it." default:"1GiB"`

	Server string        `help:"Server to which the captures of a target are sent when its verdict begins; the link of their case is printed. Without it the answer is printed." placeholder:"URL"`
	Token  string        `help:"API token of a server with accounts; better given as LEAKDIFF_TOKEN."`
	Case   string        `help:"Add to this case instead of making one for each target."`
	Key    string        `help:"Owner key of --case; better given as LEAKDIFF_KEY."`
	Again  time.Duration `help:"While the verdict stands, later captures are added to the case no more often than this." default:"1h"`

	StepTimeout   time.Duration `help:"The most that one step of a capture may take." default:"10s"`
	HeaderFile    string        `help:"File with header lines for the endpoints (Authorization: Bearer ...), or with a bare token."`
	CAFile        string        `name:"ca-file" help:"Certificates that the endpoints are checked against."`
	Insecure      bool          `help:"Take any certificate, as a kubelet's own one."`
	MaxGoroutines int           `help:"Do not ask for debug=2 above so many goroutines." default:"100000"`
	Host          string        `name:"hostname" help:"Name of the host, where its own one says nothing."`
	Proc          string        `help:"Where procfs is mounted." default:"/proc"`
}

// Help is printed below the flags.
func (*watchCommand) Help() string {
	return `Each target is captured by itself: one that hangs delays no other. After each capture the report over all that are kept of the target
decides. When its verdict stands for a quarter of the time longer that led to it (a full limit and what the runtime marks at once), the captures are
sent and the link is printed, once, until three reports in a row were without it. Reports over
fewer than 4 captures (2 with --until suspicious or grew), or over much fewer than the verdict was told from, do not count for that. What was
told stands in the directory: a watch that is killed and started again tells nothing twice, and sends what the server did not take.
A --case that does not exist, and a key or token that may not write, is refused at the start. Where the server refuses captures
later, the sentence is printed with the reason, once, and they are kept no longer than others.
SIGTERM and SIGINT end it with status 0. Status 2 means that it could not begin.

Examples:
  leakdiff watch --process kubelet=https://127.0.0.1:10250 --header-file token --insecure --server https://leaks.example.org
  leakdiff watch --process cart --process 4711=127.0.0.1:6060 --url unix:/run/containerd/debug.sock --every 10m`
}

const exampleOfWatch = "leakdiff watch --process cart=127.0.0.1:6060 --server http://127.0.0.1:8080"

func badWatch(why, hint string) error {
	return &analysis.Fault{Code: "bad_request", What: "cannot watch", Why: why, Hint: hint}
}

func (c *watchCommand) Run(ctx context.Context, m *Main) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	targets, err := c.targets()
	if err != nil {
		return err
	}
	if c.Server != "" {
		if c.Server, err = serverAddress(c.Server); err != nil {
			return err
		}
		if err := c.mayPush(ctx, m); err != nil {
			return err
		}
	}
	bytes, err := bytesOf(c.MaxSize)
	if err != nil {
		return err
	}
	bytes /= int64(len(targets))
	if least := int64(leastCaptures(c.Until)); bytes < least*smallestCapture {
		return badWatch(fmt.Sprintf("--max-size %s leaves %s to each target: no report would be over the %d captures that %q needs", c.MaxSize, wording.Size(bytes), least, c.Until),
			fmt.Sprintf("give it at least %s; a program with many goroutines needs much more", wording.Size(least*smallestCapture*int64(len(targets)))))
	}
	collectAt(reportPercent)
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return badWatch(err.Error(), "name a directory that you may write to with --dir")
	}
	locked, err := capture.LockDirectory(c.Dir)
	if err != nil {
		return badWatch(c.Dir+": "+err.Error(), "end the other watch, or name another directory with --dir")
	}
	defer locked.Close()
	var all []*watched
	p := &watchPrinter{stdout: m.Stdout, stderr: m.Stderr}
	for _, t := range targets {
		w, err := c.open(t, p)
		if err != nil {
			return badWatch(err.Error(), "look at the directory; without it the watch begins anew")
		}
		w.bytes, w.targets = bytes, int64(len(targets))
		all = append(all, w)
	}
	var wait sync.WaitGroup
	for _, w := range all {
		wait.Go(func() { w.run(ctx) })
	}
	wait.Wait()
	return nil
}

// mayPush refuses a case that does not exist, and a key or a token that may not write: a leak would
// be told nowhere. It asks by an upload of no bytes, of which a server checks all this before it
// refuses it. A server that is away now may be there when a leak begins.
func (c *watchCommand) mayPush(ctx context.Context, m *Main) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	push := pushCommand{Server: c.Server, Token: c.Token, Case: c.Case, Key: c.Key, Paths: []string{"empty"}}
	nothing := bundle.Input{Name: "empty", Open: func() (io.ReadCloser, error) { return http.NoBody, nil }}
	_, err := push.upload(ctx, []bundle.Input{nothing})
	var fault *analysis.Fault
	if !errors.As(err, &fault) {
		return err
	}
	switch fault.Code {
	case "empty":
	case "not_found", "forbidden", "unauthorized":
		return &analysis.Fault{Code: fault.Code, What: "the captures could not be sent: " + fault.What, Where: fault.Where, Why: fault.Why, Hint: cmp.Or(fault.Hint, "correct --case, --key and --token")}
	default:
		m.say(fmt.Sprintf("warning: whether captures can be sent is not known: %v", err))
	}
	return nil
}

// smallestCapture is the size in bytes that hardly a capture is below: one of a program with
// four goroutines, by its address alone, takes 3.3 KiB.
const smallestCapture = 3 << 10

// leastCaptures is how many captures the rules of a verdict need: below four they know no cohorts
// and no line, which leaking needs. Old members, or those that the runtime marked, prove a leak in
// fewer.
func leastCaptures(until string) int {
	if until == "leaking" {
		return 4
	}
	return 2
}

// mayEnd reports whether a report over some captures can say that a verdict is over which
// was last reported over toldFrom of them: a leak that is slow against its level cannot be
// seen in a small part of them.
func mayEnd(until string, captures, toldFrom int) bool {
	return captures >= leastCaptures(until) && 4*captures >= 3*toldFrom
}

// watchTarget is a target with the name of its directory.
type watchTarget struct {
	capture.Target
	name string
}

// targets reads the flags. Each target has a name of its own.
func (c *watchCommand) targets() ([]watchTarget, error) {
	if c.Every <= 0 || c.StepTimeout <= 0 || c.MaxGoroutines < 1 || c.Again <= 0 {
		return nil, badWatch("--every, --step-timeout, --max-goroutines and --again must be above 0", exampleOfWatch)
	}
	if _, ok := goalOf(c.Until); !ok {
		return nil, badWatch(fmt.Sprintf("--until %q was not understood", c.Until), goalExample)
	}
	if least := leastCaptures(c.Until); c.Keep < least {
		return nil, badWatch(fmt.Sprintf("--keep %d is fewer than the %d captures that %q needs", c.Keep, least, c.Until), fmt.Sprintf("keep %d or more; without --keep it is 48", least))
	}
	var out []watchTarget
	for _, process := range c.Process {
		who, address, _ := strings.Cut(process, "=")
		t := watchTarget{capture.Target{Name: who, Pprof: address}, who}
		if pid, err := strconv.Atoi(who); err == nil {
			t.PID, t.Name = pid, ""
			if _, err := os.Stat(filepath.Join(c.Proc, who, "stat")); err != nil {
				return nil, badWatch("no process has the pid "+who, "name one that runs, or its name, which later ones have as well")
			}
		}
		if who == "" {
			return nil, badWatch(fmt.Sprintf("%q names no process", capture.Shown(process)), exampleOfWatch)
		}
		out = append(out, t)
	}
	for _, address := range c.URL {
		out = append(out, watchTarget{capture.Target{Pprof: address}, capture.Shown(address)})
	}
	if len(out) == 0 {
		return nil, badWatch("no process and no address was named", exampleOfWatch)
	}
	for i := range out {
		if address := out[i].Pprof; address != "" {
			if err := capture.CheckAddress(address); err != nil {
				return nil, badWatch(err.Error(), exampleOfWatch)
			}
		}
		if slices.ContainsFunc(out[:i], func(t watchTarget) bool { return t.dir() == out[i].dir() }) {
			return nil, badWatch(fmt.Sprintf("%s is named twice", out[i].name), "name each target once")
		}
	}
	return out, nil
}

// dir is the name of its directory.
func (t watchTarget) dir() string { return capture.FileName(t.name) }

// watchPrinter prints lines of several targets.
type watchPrinter struct {
	mu             sync.Mutex
	stdout, stderr io.Writer
	// reading is held while a report is made: the captures of one target at a time are in memory.
	reading sync.Mutex
}

func (p *watchPrinter) print(w io.Writer, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(w, text)
}

// watched is a target with its captures.
type watched struct {
	*watchCommand
	target  watchTarget
	out     *watchPrinter
	session *capture.Session
	ring    *ring
	state   watchState
	// bytes bounds the captures of this target, one of targets.
	bytes, targets int64
	// blind and open report that it was said that too few captures are kept: for any verdict,
	// and to say that one is over.
	blind, open bool
	// lost are the warnings that were printed.
	lost []string
	// seen reports that a process of the target was captured.
	seen bool
	// retry is when a push is tried again, patience the time to the try after that one.
	retry    time.Time
	patience time.Duration
}

// open prepares a target with what an earlier watch left of it.
func (c *watchCommand) open(t watchTarget, p *watchPrinter) (*watched, error) {
	w := &watched{watchCommand: c, target: t, out: p}
	var err error
	if w.session, err = capture.Open(capture.Config{
		Targets: []capture.Target{t.Target}, Budget: c.StepTimeout, MaxGoroutines: c.MaxGoroutines,
		HeaderFile: c.HeaderFile, CAFile: c.CAFile, Insecure: c.Insecure, NoLsof: true, Proc: c.Proc, Host: c.Host,
		Tool: "leakdiff watch " + version, Say: w.say,
	}); err != nil {
		return nil, err
	}
	if w.ring, err = openRing(filepath.Join(c.Dir, t.dir())); err != nil {
		return nil, err
	}
	w.state, err = readWatchState(w.ring.dir)
	return w, err
}

func (w *watched) say(text string) {
	w.out.print(w.out.stderr, "leakdiff: "+wording.Printable(w.target.name+": "+text))
}

// run captures and pushes until ctx ends, or the process, and nothing is left to push. A push that
// hangs does not delay captures; its answer is taken here.
func (w *watched) run(ctx context.Context) {
	next, ended := time.Now(), false
	var answer <-chan sent // of the push that is under way, nil for none
	for ctx.Err() == nil {
		select {
		case s := <-answer:
			w.pushed(ctx, s)
			answer = nil
		default:
		}
		if answer == nil {
			answer = w.push(ctx)
		}
		waits := w.Server != "" && w.state.Pending != nil
		if ended && !waits {
			return
		}
		if now := time.Now(); !ended && !now.Before(next) {
			if ended = !w.round(ctx, now); ended {
				w.say("the process has ended: it is watched no more")
			}
			if next = next.Add(w.Every); next.Before(time.Now()) {
				next = now.Add(w.Every)
			}
			continue // a push that the capture gave rise to
		}
		var wake <-chan time.Time
		switch {
		case answer == nil && waits && (ended || w.retry.Before(next)):
			wake = time.After(time.Until(w.retry))
		case !ended:
			wake = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case s := <-answer:
			w.pushed(ctx, s)
			answer = nil
		}
	}
	if answer != nil {
		w.pushed(ctx, <-answer)
	}
}

// round captures the target and acts on the report. It returns false if the only process has
// ended.
func (w *watched) round(ctx context.Context, now time.Time) bool {
	sum, err := w.ring.add(ctx, w.session, now)
	switch {
	case ctx.Err() != nil:
		if err == nil && sum.Rounds > 0 { // it is not whole
			w.dropLast()
		}
		return true
	case err != nil || sum.Captures == 0 && !w.seen:
		w.warn(cmp.Or(err, errors.New("there is no such process yet")).Error())
	}
	for _, text := range sum.Lost {
		w.warn(text)
	}
	w.seen = w.seen || sum.Captures > 0
	if sum.Rounds > 0 && sum.Files == 0 { // an endpoint that does not answer
		w.dropLast()
		return true
	}
	if err := w.ring.evict(w.Keep, w.bytes, w.state.Pending.pins); err != nil {
		w.warn(err.Error())
	}
	w.warnIfBlind()
	if sum.Captures > 0 {
		if err := w.judge(ctx); err != nil && ctx.Err() == nil {
			w.warn(err.Error())
		}
	}
	return sum.Captures > 0 || !w.seen || w.target.PID == 0
}

// warnIfBlind says once that captures are too large for a verdict.
func (w *watched) warnIfBlind() {
	if w.blind || len(w.ring.captures) == 0 {
		return
	}
	size, least := w.ring.captures[len(w.ring.captures)-1].size, int64(leastCaptures(w.Until))
	if w.blind = least*size > w.bytes; !w.blind {
		return
	}
	share := ""
	if w.targets > 1 {
		share = fmt.Sprintf(" (%s of it for each of %d targets)", wording.Size(w.bytes), w.targets)
	}
	w.warn(fmt.Sprintf("a capture takes %s, and --max-size %s%s holds fewer than the %d that %q needs: hardly a verdict can begin, and none can end; give it %s or more",
		wording.Size(size), w.MaxSize, share, least, w.Until, wording.Size(2*least*size*w.targets)))
}

// dropLast removes the newest capture.
func (w *watched) dropLast() {
	if err := w.ring.remove(len(w.ring.captures) - 1); err != nil {
		w.warn(err.Error())
	}
}

// warn prints a warning, once.
func (w *watched) warn(text string) {
	const most = 100
	if slices.Contains(w.lost, text) {
		return
	}
	if len(w.lost) == most {
		w.lost = w.lost[1:]
	}
	w.lost = append(w.lost, text)
	w.say("warning: " + text)
}

// clearReports is how many reports in a row must be without a verdict that was told before it
// can begin again.
const clearReports = 3

// judge asks the report whether a verdict began or ended, and plans a push.
func (w *watched) judge(ctx context.Context) error {
	said, err := w.report(ctx)
	if err != nil {
		return err
	}
	captures := len(w.ring.captures)
	last := w.ring.captures[captures-1].at
	before := w.state
	until, _ := goalOf(w.Until)
	reached := w.state.Standing.look(until, said, w.ring.captures[0].at, last) || w.state.Told && until.reached(said)
	if reached {
		w.state.Clear, w.state.Captures = 0, captures
	}
	switch {
	case !reached && w.state.Told && !mayEnd(w.Until, captures, w.state.Captures):
		if !w.open {
			w.open = true
			w.say(fmt.Sprintf("%s are kept, too few to say that it is no longer %s, which was told from %d", wording.Plural(captures, "capture", "captures"), w.Until, w.state.Captures))
		}
	case !reached && w.state.Told:
		if w.state.Clear++; w.state.Clear == clearReports {
			w.state.Told, w.state.Clear, w.state.Captures, w.open = false, 0, 0, false
			w.say("no longer " + w.Until)
		}
	case reached && !w.state.Told:
		w.state.Told = true
		sentence := said.Diagnosis.Sentence
		if w.Server == "" {
			w.out.print(w.out.stdout, report.NewTicket(said).Markdown(""))
			break
		}
		if w.state.Pending == nil {
			w.plan(last, sentence)
		} else if w.state.Pending.Sentence == "" {
			w.state.Pending.Sentence = sentence
		}
	case reached && w.Server != "" && w.state.Pending == nil && time.Since(w.state.PushedAt) >= w.Again:
		w.plan(last, "")
	}
	if w.state == before {
		return nil
	}
	return w.state.write(w.ring.dir)
}

func (w *watched) report(ctx context.Context) (*report.Report, error) {
	w.out.reading.Lock()
	defer w.out.reading.Unlock()
	all, err := w.ring.report(ctx, w.upload())
	return &all.Report, err
}

// plan has the captures pushed that the case does not have.
func (w *watched) plan(last time.Time, sentence string) {
	w.state.Pending = &pendingPush{ID: rand.Text(), From: w.state.Pushed, Upto: last, Sentence: sentence}
	w.retry, w.patience = time.Time{}, min(w.Every, 10*time.Second)
}

// upload is the name of an upload.
func (w *watched) upload() string { return "watch-" + w.target.dir() + ".tar.gz" }

// Bounds of a push.
const (
	pushTimeout  = 10 * time.Minute
	mostPatience = 10 * time.Minute
)

// sent is the answer to a push.
type sent struct {
	up  pushed
	err error
}

// push begins to send what is pending and returns where the answer comes, nil without anything to
// send now. A server that is away or refuses is asked again later.
func (w *watched) push(ctx context.Context) <-chan sent {
	if w.Server == "" || w.state.Pending == nil || time.Now().Before(w.retry) {
		return nil
	}
	if p := w.state.Pending; p.Refused && len(w.ring.captures) > 0 {
		p.ID, p.Upto = rand.Text(), w.ring.captures[len(w.ring.captures)-1].at
		if err := w.state.write(w.ring.dir); err != nil { // a killed watch repeats it under this ID
			w.warn(err.Error())
		}
	}
	send := w.prepare()
	answer := make(chan sent, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, pushTimeout)
		defer cancel()
		up, err := send(ctx)
		answer <- sent{up, err}
	}()
	return answer
}

// pushed acts on the answer to a push.
func (w *watched) pushed(ctx context.Context, s sent) {
	if s.err != nil {
		if ctx.Err() == nil { // else the next watch goes on with it
			w.again(s.err)
		}
		return
	}
	p, up := w.state.Pending, s.up
	anew := w.Case == "" && w.state.Case == ""
	w.state.Case, w.state.Link, w.state.Pushed, w.state.PushedAt, w.state.Pending = up.Case, up.Link, p.Upto, time.Now(), nil
	if up.OwnerKey != "" {
		w.state.Key = up.OwnerKey
	}
	if err := w.state.write(w.ring.dir); err != nil {
		w.warn(err.Error())
	}
	link := capture.Shown(w.Server) + up.Link
	sentence := p.Sentence
	switch {
	case sentence == "" && !anew && !p.Refused:
		w.say("added to " + link)
		return
	case sentence == "": // told before, without a server, with a case that is gone, or by tellRefused
		sentence = "The captures are now in"
	}
	w.out.print(w.out.stdout, wording.Printable(fmt.Sprintf("%s: %s: %s %s", w.target.name, w.Until, sentence, link)))
}

// tellRefused tells what would be told with the link, once: a person may never see the case.
func (w *watched) tellRefused(why error) {
	p := w.state.Pending
	p.Refused = true
	if p.Sentence != "" {
		w.out.print(w.out.stdout, wording.Printable(fmt.Sprintf("%s: %s: %s It is in no case, as the server refused the captures: %v", w.target.name, w.Until, p.Sentence, why)))
		p.Sentence = ""
	}
}

// again plans the next try. A case that is gone, or may not be changed, is replaced, and an upload that the server
// knows with other bytes gets another key.
func (w *watched) again(err error) {
	var fault *analysis.Fault
	errors.As(err, &fault)
	p := w.state.Pending
	switch {
	case fault != nil && (fault.Code == "not_found" || fault.Code == "forbidden") && w.state.Case != "" && w.Case == "":
		w.state.Case, w.state.Key, w.state.Pushed = "", "", time.Time{}
		p.From, p.ID = time.Time{}, rand.Text()
	case fault != nil && fault.Code == "mismatched_body":
		p.ID = rand.Text()
	case refusedForGood(err):
		w.tellRefused(err)
	}
	if w.patience == 0 { // of an earlier watch
		w.patience = min(w.Every, 10*time.Second)
	}
	w.retry = time.Now().Add(w.patience)
	w.say(fmt.Sprintf("warning: not sent: %v; it is tried again in %s", err, w.patience))
	w.patience = min(2*w.patience, mostPatience)
	if err := w.state.write(w.ring.dir); err != nil {
		w.warn(err.Error())
	}
}

// prepare returns the upload of the pending captures to the case of the target, which uses nothing
// that the target changes.
func (w *watched) prepare() func(context.Context) (pushed, error) {
	part := &ring{dir: w.ring.dir}
	for _, c := range w.ring.captures {
		if w.state.Pending.has(c) {
			part.captures = append(part.captures, c)
		}
	}
	push := pushCommand{Server: w.Server, Token: w.Token, Case: w.state.Case, Key: w.state.Key, Paths: []string{w.upload()}, attempt: w.state.Pending.ID}
	if w.Case != "" {
		push.Case, push.Key = w.Case, w.Key
	}
	input := part.input(w.upload())
	return func(ctx context.Context) (pushed, error) {
		up, err := push.upload(ctx, []bundle.Input{input})
		if err != nil {
			return up, err
		}
		key := up.OwnerKey
		if key != "" {
			push.Key = key
		}
		up, err = push.settled(ctx, up)
		up.OwnerKey = key
		return up, err
	}
}
