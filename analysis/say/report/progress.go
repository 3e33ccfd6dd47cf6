package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis/judge/progress"
	"leakdiff/analysis/say/wording"
)

// BusyThreads are threads of one name that use at least half a core from one dump to the next, up to
// the last one. That is no sign of a leak.
type BusyThreads struct {
	// Name is that of the family, Thread the whole name of the one that used most.
	Name   string `json:"name"`
	Thread string `json:"thread"`
	// Threads counts those that used any.
	Threads int `json:"threads"`
	// From and To are indexes of Series.Snapshots.
	From        int     `json:"from"`
	To          int     `json:"to"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	WallSeconds float64 `json:"wall_seconds"`
	// Families are fingerprints, that of Thread first.
	Families []string `json:"families"`
}

// StillThreads are threads of one family that are in the same frames of at least three dumps, use no
// processor in between, and wait for something other than work. They may be stuck. That is no
// sign of a leak.
type StillThreads struct {
	Family  string `json:"family"`
	Title   string `json:"title"`
	Threads int    `json:"threads"`
	// WaitsFor is lock, socket, connection, receiver, another thread, permit or child process.
	WaitsFor progress.Wait `json:"waits_for"`
	// From and To are indexes of Series.Snapshots.
	From        int     `json:"from"`
	To          int     `json:"to"`
	WallSeconds float64 `json:"wall_seconds"`
	dumps       int
}

// mostProgress bounds the busy threads that are told, and those that stand still.
const mostProgress = 3

// progress measures the threads of the last epoch. Who grew, is normal, or is in a deadlock is told
// as that.
func (j *JudgedSeries) progress() (busy []BusyThreads, still []StillThreads) {
	uses, stands := progress.Measure(j.Snapshots, j.Trend.Epochs)
	for i := range uses[:min(len(uses), mostProgress)] {
		b := &uses[i]
		busy = append(busy, BusyThreads{Name: b.Name, Thread: b.Thread, Threads: b.Threads, From: b.From, To: b.To, CPUSeconds: b.CPU.Seconds(), WallSeconds: b.Wall.Seconds(), Families: b.Families})
	}
	observed := observers(j.Snapshots)
	for _, x := range stands {
		healthy := j.known[x.Family].Healthy
		if len(still) == mostProgress || j.Judged[x.Family].Verdict.Rose() || healthy != nil && healthy.Within || observed[x.Family] || x.At == progress.ForLock && j.deadlocked() {
			continue
		}
		s := StillThreads{Family: x.Family, Title: j.Titles[x.Family], Threads: x.Threads, WaitsFor: x.At, From: x.From, To: x.To, WallSeconds: x.Wall.Seconds()}
		for i := x.From; i <= x.To; i++ {
			if len(j.Snapshots[i].CPU) > 0 {
				s.dumps++
			}
		}
		still = append(still, s)
	}
	return busy, still
}

// deadlocked reports that the last dump states a deadlock.
func (j *JudgedSeries) deadlocked() bool {
	for _, s := range j.Snapshots[len(j.Snapshots)-1].Statements {
		if len(s.Threads) > 0 {
			return true
		}
	}
	return false
}

func seconds(n float64) string { return wording.Duration(time.Duration(n * float64(time.Second))) }

// text is what they used: "2 threads “pricing-N” used 55 s of CPU in 1 min".
func (b *BusyThreads) text() string {
	name := b.Name
	if b.Threads == 1 {
		name = b.Thread
	}
	if name == "" {
		name = "without a name"
	}
	return fmt.Sprintf("%s “%s” used %s of CPU in %s", wording.Plural(b.Threads, "thread", "threads"), wording.Printable(name), seconds(b.CPUSeconds), seconds(b.WallSeconds))
}

// standings say what threads do that wait, and what to look at.
var standings = map[progress.Wait][2]string{
	progress.ForLock:     {"for a lock", "What holds the lock is what to look at."},
	progress.ForSocket:   {"for data on a socket", "Who waits for the next request looks the same as who waits for an answer: see what the other end does, and set a read timeout."},
	progress.ForConnect:  {"for a connection to be made", "Set a timeout for connecting, and see whether the other end accepts."},
	progress.ForReceiver: {"for the other end of a socket to read", "See why the other end does not read, and set a write timeout."},
	progress.ForAnother:  {"for another thread", "Look for the thread that should end the wait, and wait with a timeout."},
	progress.ForPermit:   {"for a permit of a semaphore", "Look for who took the permits and gave none back."},
	progress.ForChild:    {"for a child process", "See what the child process does: one whose output nobody reads does not end."},
}

// who says who stands still: "3 threads “reader-N · Orders.read” stand still".
func (s *StillThreads) who() string {
	return fmt.Sprintf("%s “%s” %s still", wording.Plural(s.Threads, "thread", "threads"), wording.Printable(s.Title), wording.Fit(s.Threads, "stands", "stand"))
}

// text is where they stand: "3 threads “reader-N · Orders.read” stand still: in 3 dumps over 40 s
// they wait for data on a socket and use no CPU".
func (s *StillThreads) text() string {
	return fmt.Sprintf("%s: in %d dumps over %s %s %s and %s no CPU", s.who(), s.dumps, seconds(s.WallSeconds), wording.Fit(s.Threads, "it waits", "they wait"), standings[s.WaitsFor][0], wording.Fit(s.Threads, "uses", "use"))
}

// withProgress adds to the answer where nothing grew who waits for a lock, what uses most of the processor
// and what stands still, and has shorter wordings without them.
func (d *diagnosing) withProgress(s *Series, text string) (whole string, shorter []string) {
	whole, and := text, ", but "
	if s.Memory != nil || s.heapGrew() {
		and = " and "
	}
	if len(s.Busy) > 0 {
		shorter, whole, and = append(shorter, whole), whole+and+s.Busy[0].text(), " and "
	}
	if x := s.Locks.longest(); x != nil && len(s.Busy) == 0 {
		who, full := wording.Members(s.Locks.Kind, x.Waiters), d.waitForLock(s, x)
		part, _, _ := strings.Cut(full, ";")
		return whole + and + who + " " + full, []string{"No leak seen" + s.place("in") + ", but " + who + " " + full, whole + and + who + " " + part, whole}
	}
	if x := s.standing(); x != nil {
		shorter, whole = append(shorter, whole), whole+and+x.who()
	}
	slices.Reverse(shorter)
	return whole, shorter
}

// standing are the first threads that stand still, nil without any. Who reads a socket may wait for the
// next request: that is told below and is no answer.
func (s *Series) standing() *StillThreads {
	if i := slices.IndexFunc(s.Still, func(x StillThreads) bool { return x.WaitsFor != progress.ForSocket }); i >= 0 {
		return &s.Still[i]
	}
	return nil
}

// release is what to do about threads that stand still. A task that waits for another one needs a thread
// of its pool for that.
func (s *Series) release(x *StillThreads) string {
	if f := s.family(x.Family); f != nil && slices.Contains(f.Frames, "java.util.concurrent.FutureTask.get") && slices.Contains(f.Frames, "java.util.concurrent.ThreadPoolExecutor.runWorker") {
		return "They wait for a task inside a task: if both are of one pool, all of its threads may wait and none is left for the inner ones. Give these a pool of their own, and a timeout to get."
	}
	return standings[x.WaitsFor][1]
}

// FactsOf are the findings without a verdict that name a family.
func (s *Series) FactsOf(fingerprint string) (out []Finding) {
	for _, f := range s.Findings {
		if f.Kind == FactFinding && slices.Contains(f.Families, fingerprint) {
			out = append(out, f)
		}
	}
	return out
}

// progressing are the findings about threads that use much of the processor or stand still.
func (j *JudgedSeries) progressing() (out []Finding) {
	busy, still := j.progress()
	for i := range busy {
		b := &busy[i]
		text := fmt.Sprintf("That is %s cores, from %s to %s.", wording.Decimal(b.CPUSeconds/b.WallSeconds), j.Snapshots[b.From].Label, j.Snapshots[b.To].Label)
		if b.Threads > 1 {
			text += fmt.Sprintf(" “%s” used most of it.", wording.Printable(b.Thread))
		}
		if print := b.Families[0]; strings.Contains(j.Titles[print], " · ") {
			text += fmt.Sprintf(" At the end it is in %s.", j.Titles[print][strings.LastIndex(j.Titles[print], " · ")+len(" · "):])
		}
		out = append(out, Finding{Kind: FactFinding, Title: b.text(), Text: text, Families: b.Families})
	}
	for i := range still {
		x := &still[i]
		text := fmt.Sprintf("Their frames are the same from %s to %s. %s", j.Snapshots[x.From].Label, j.Snapshots[x.To].Label, standings[x.WaitsFor][1])
		out = append(out, Finding{Kind: FactFinding, Title: x.text(), Text: text, Families: []string{x.Family}})
	}
	return out
}
