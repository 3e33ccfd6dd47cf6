package report

import (
	"fmt"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/edge"
)

// Functions in the stack of a goroutine that waits for another process, and of one that
// works for another process.
var (
	calling = []string{
		"google.golang.org/grpc.(*ClientConn).Invoke", "google.golang.org/grpc.(*clientStream).", "google.golang.org/grpc.newClientStream",
		"github.com/containerd/ttrpc.(*Client).Call", "github.com/containerd/ttrpc.(*Client).dispatch",
		"net/http.(*Client).do", "net/http.(*persistConn).roundTrip", "net/http.(*Transport).roundTrip", "net/rpc.(*Client).Call",
		"golang.org/x/net/http2.(*clientStream).", "net/http.(*http2clientStream).", "golang.org/x/net/http2.transportResponseBody.", "net/http.http2transportResponseBody.",
	}
	serving = []string{
		"google.golang.org/grpc.(*Server).", "github.com/containerd/ttrpc.(*serverConn).", "net/http.(*conn).serve", "net/http.(*Server).Serve",
		"net/rpc.(*Server).", "golang.org/x/net/http2.(*serverConn).runHandler", "net/http.(*http2serverConn).runHandler",
	}
)

// Functions in the stack of a goroutine that waits for the answer to one call, and of one
// that works for a stream.
var (
	unary = []string{
		"google.golang.org/grpc.(*ClientConn).Invoke", "github.com/containerd/ttrpc.(*Client).Call", "github.com/containerd/ttrpc.(*Client).dispatch",
		"net/http.(*persistConn).roundTrip", "net/rpc.(*Client).Call",
	}
	streaming = []string{"google.golang.org/grpc.(*Server).processStreamingRPC"}
)

// sharing are functions in the stack of a goroutine of one stream, or of one call, of a transport
// that carries many over one connection, on either side.
var sharing = []string{
	"google.golang.org/grpc.(*ClientConn).Invoke", "google.golang.org/grpc.(*clientStream).", "google.golang.org/grpc.newClientStream",
	"google.golang.org/grpc.(*Server).handleStream", "google.golang.org/grpc.(*Server).process",
	"golang.org/x/net/http2.(*clientStream).", "net/http.(*http2clientStream).", "golang.org/x/net/http2.transportResponseBody.", "net/http.http2transportResponseBody.", "golang.org/x/net/http2.(*ClientConn).roundTrip", "net/http.(*http2ClientConn).roundTrip",
	"golang.org/x/net/http2.(*serverConn).runHandler", "net/http.(*http2serverConn).runHandler",
	"github.com/containerd/ttrpc.(*Client).dispatch", "github.com/containerd/ttrpc.(*serverConn).run.",
	"github.com/hashicorp/yamux.(*Stream).", "github.com/libp2p/go-yamux/v4.(*Stream).", "github.com/xtaci/smux.(*stream).", "github.com/xtaci/smux.(*Stream).",
	"github.com/moby/spdystream.(*Stream).", "github.com/docker/spdystream.(*Stream).",
}

// Functions at the top of the stack of a goroutine that waits for the connection that it
// serves, for any connection, and for something else.
var (
	readingOwn = []string{
		"google.golang.org/grpc/internal/transport.(*recvBufferReader).read", "google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams",
		"golang.org/x/net/http2.(*Framer).ReadFrame", "net/http.(*conn).readRequest", "net/http.(*body).Read", "net/http.(*http2serverConn).readFrames",
		"github.com/containerd/ttrpc.(*channel).recv",
	}
	readingAny = []string{"net.(*conn).Read", "crypto/tls.(*Conn).Read"}
	elsewhere  = []string{
		"sync.(*Mutex).", "sync.(*RWMutex).", "sync.(*WaitGroup).Wait", "sync.(*Cond).Wait", "internal/sync.(*Mutex).", "os.(*File).Read", "os.(*File).Write",
		"github.com/containerd/fifo.(*fifo).", "os/exec.(*Cmd).Wait", "os.(*Process).",
	}
)

// between joins growths of two processes: both rise in lockstep (the rule of
// trend.Unit), and one side is inside outgoing calls that the other serves, or connections
// join them. Counts alone would join any two steady growths. Which one holds the other is
// said where connections, their states or an end prove it: the process that opened a stream
// and never ended it holds the one that serves it, and counts do not show which.
func between(all []SeriesJudgement, names []string) (edges []Edge, orders []Order) {
	joined := edge.Join(processesOf(all))
	together := map[*Finding][]string{}
	var rising []int
	for i := range all {
		if all[i].rises() {
			rising = append(rising, i)
		}
	}
	for _, a := range rising {
		for _, b := range rising {
			if a == b {
				continue
			}
			calls := all[a].calls() && all[b].serves() && sameHost(&all[a], &all[b])
			if !calls && (b < a || !joined.Linked(a, b)) {
				continue
			}
			for i := range all[a].Series.Findings {
				for k := range all[b].Series.Findings {
					pair := pairOfGrowths{all: all, names: names, a: a, b: b, i: i, k: k}
					if order, ok := pair.compare(joined, together); ok {
						orders = append(orders, order)
					}
				}
			}
		}
	}
	for f, others := range together {
		f.risesWith(others)
	}
	endings(all, names, joined)
	return edgesOf(joined, names), merged(orders)
}

// mostJoined bounds the connections of a case that are joined, of all series with several
// snapshots, mostListed of those with one: a listing of a whole node has hundreds of
// thousands, and shows no growth. Each takes about 500 bytes meanwhile.
const (
	mostJoined = 1 << 17
	mostListed = 1 << 14
)

// processesOf are what joins the connections of the series. Of more than can be joined none
// are: a part of them would look like connections without another end.
func processesOf(all []SeriesJudgement) []edge.Process {
	listed, followed := 0, 0
	for i := range all {
		if n := all[i].Connections.N; len(all[i].Snapshots) > 1 {
			followed += n
		} else {
			listed += n
		}
	}
	out := make([]edge.Process, len(all))
	for i := range all {
		s := &all[i]
		out[i] = edge.Process{Moments: make([]edge.Moment, len(s.Snapshots))}
		if s.Series.Host != nil {
			out[i].Host = *s.Series.Host
		}
		for k := range s.Snapshots {
			x := &s.Snapshots[k]
			out[i].Moments[k] = edge.Moment{At: x.CapturedAt, Label: x.Label, Epoch: x.Epoch}
			if k < len(s.Namespaces) {
				out[i].Moments[k].Namespace = s.Namespaces[k]
			}
		}
		if several := len(s.Snapshots) > 1; several && followed <= mostJoined || !several && listed <= mostListed {
			out[i].Course, _ = s.Connections.Unpack(len(s.Snapshots)) // what is damaged proves nothing
		}
	}
	return out
}

func (s *SeriesJudgement) rises() bool {
	return slices.ContainsFunc(s.Growths, func(g Growth) bool { return g.Lead != "" || g.Calling || g.Serving })
}

func (s *SeriesJudgement) calls() bool {
	return slices.ContainsFunc(s.Growths, func(g Growth) bool { return g.Calling })
}

func (s *SeriesJudgement) serves() bool {
	return slices.ContainsFunc(s.Growths, func(g Growth) bool { return g.Serving })
}

// mostTogether is how many findings of other processes a finding names.
const mostTogether = 3

// risesWith adds the findings of other processes that rise together with this one.
func (f *Finding) risesWith(others []string) {
	n := len(others)
	if more := n - mostTogether; more > 0 {
		others = append(others[:mostTogether:mostTogether], fmt.Sprintf("%d more", more))
	}
	text := "grew at the same time: " + strings.Join(others, ", ") + "; which of them is the cause is open"
	f.Text += " " + sentence(text)
	// It comes first: it names another process, which no figure does.
	f.tell(text, analysis.Evidence{Rule: "across_processes", N: n})
}

func leadTitle(s *Series, f *Finding) string {
	if lead := s.lead(f); lead != nil {
		return lead.Title
	}
	return f.Title
}

func (f *Finding) rises() bool {
	return (f.Kind == "" || f.Kind == FollowFinding) && rising(f.Verdict) && len(f.Families) > 0 && len(f.Counts) > 0
}

func sameHost(a, b *SeriesJudgement) bool {
	return a.Series.Host == nil || b.Series.Host == nil || *a.Series.Host == *b.Series.Host
}

// within reports a stack within one of the functions, or started by one.
func within(s *analysis.Stack, functions []string) bool {
	return startsWith(s.CreatedBy.Func, functions) || slices.ContainsFunc(s.Frames, func(f analysis.Frame) bool { return startsWith(f.Func, functions) })
}

func startsWith(name string, functions []string) bool {
	return slices.ContainsFunc(functions, func(known string) bool { return strings.HasPrefix(name, known) })
}

// mostWaiting is how many frames from the leaf on show what a goroutine waits for.
const mostWaiting = 8

// waiting reports a stack that waits inside one of the functions.
func waiting(s *analysis.Stack, functions []string) bool {
	return slices.ContainsFunc(s.Frames[:min(len(s.Frames), mostWaiting)], func(f analysis.Frame) bool { return startsWith(f.Func, functions) })
}

// everyStack reports a finding with a family whose members all have such stacks.
func (j *JudgedSeries) everyStack(f *Finding, is func(*analysis.Stack) bool) bool {
	for _, print := range f.Families {
		g := j.largest(print)
		if g == nil || len(g.Variants) == 0 {
			continue
		}
		if !slices.ContainsFunc(g.Variants, func(v analysis.Variant) bool { return v.Stack == nil || !is(v.Stack) }) {
			return true
		}
	}
	return false
}

// waits is what the members of a finding wait for that serve another process.
func (j *JudgedSeries) waits(f *Finding) edge.Wait {
	blocked := func(s *analysis.Stack) bool { return waiting(s, elsewhere) || within(s, calling) }
	switch {
	case j.everyStack(f, func(s *analysis.Stack) bool { return within(s, serving) && blocked(s) }):
		return edge.WaitsElsewhere
	case j.everyStack(f, func(s *analysis.Stack) bool { return waiting(s, readingOwn) && !blocked(s) }):
		return edge.WaitsToRead
	case j.everyStack(f, func(s *analysis.Stack) bool { return within(s, streaming) && !waiting(s, readingAny) && !blocked(s) }):
		return edge.ServesStream
	case j.everyStack(f, func(s *analysis.Stack) bool { return waiting(s, readingAny) && !blocked(s) }):
		return edge.ReadsAny
	}
	return ""
}

// largest is the group of a family in the snapshot with its most members.
func (j *JudgedSeries) largest(print string) (out *analysis.Group) {
	for _, g := range j.Trend.Groups(print) {
		if g != nil && (out == nil || g.Count > out.Count) {
			out = g
		}
	}
	return out
}
