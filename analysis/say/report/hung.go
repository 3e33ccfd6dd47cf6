package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/say/wording"
)

// PoolWait are goroutines or threads that wait for a connection of a pool, the same ones in one
// capture after the other: nothing grows, and nothing goes on.
type PoolWait struct {
	Kind analysis.Kind `json:"kind"`
	// N are those that wait, in each of the last Captures of the process.
	N        int `json:"n"`
	Captures int `json:"captures"`
	// All reports that these are all captures.
	All bool `json:"all,omitempty"`
	// Database reports a pool of database/sql, Open how many transactions stay open.
	Database bool `json:"database,omitempty"`
	Open     int  `json:"open,omitempty"`
	// Function is the one that asks for the connection, Place its line.
	Function string        `json:"function,omitempty"`
	Place    string        `json:"place,omitempty"`
	Stacks   []MemberStack `json:"stacks,omitempty"`
}

// What shows that nobody goes on: so many wait, so many captures and so long, and so large a share
// of the last ones in percent were there before. Where a pool is only busy, others wait each time.
const (
	leastHung         = 8
	leastHungCaptures = 3
	leastHungSpan     = 10 * time.Second
	leastHungShare    = 90
)

// acquire takes a connection of a pool: in are the packages of the pool, whose frames are no code of
// the reader.
type acquire struct{ function, in string }

// is reports the function, one of its closures, or one of its package or type; (*DB).connectionOpener is none.
func (x acquire) is(name string) bool {
	rest, ok := strings.CutPrefix(name, x.function)
	return ok && (rest == "" || rest[0] == '.' || strings.HasSuffix(x.function, ".") || strings.HasSuffix(x.function, "/"))
}

// acquires are those of known pools.
var acquires = []acquire{
	{"database/sql.(*DB).conn", "database/sql."},
	{"github.com/jackc/puddle/", "github.com/jackc/"},
	{"github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn", "github.com/redis/go-redis/"},
	{"github.com/gomodule/redigo/redis.(*Pool).waitVacantConn", "github.com/gomodule/redigo/"},
	{"com.zaxxer.hikari.util.ConcurrentBag.borrow", "com.zaxxer.hikari."},
	{"com.zaxxer.hikari.pool.HikariPool.getConnection", "com.zaxxer.hikari."},
	{"org.apache.commons.pool2.impl.GenericObjectPool.borrowObject", "org.apache.commons."},
	{"org.apache.commons.pool.impl.GenericObjectPool.borrowObject", "org.apache.commons."},
	{"org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection", "org.apache.tomcat."},
	{"com.mchange.v2.resourcepool.BasicResourcePool.awaitAvailable", "com.mchange."},
	{"com.alibaba.druid.pool.DruidDataSource.", "com.alibaba.druid."},
}

var (
	// ownAcquire is a method of a pool of connections of the reader's own. A pool of workers has
	// idle ones in a method of this name.
	ownAcquire = expression.Lazy(`(?i)(?:conn|connection|session|db|jdbc|sql|redis)s?_?pool\)?\.(?:take|borrow|acquire|get|getconnection|checkout)$`)
	// parked are the packages in which a wait stands above the pool.
	parked = expression.Lazy(`^(?:runtime|sync|internal/sync|golang\.org/x/sync/semaphore|java\.util\.concurrent|jdk\.internal\.misc|sun\.misc|org\.apache\.commons\.pool2?\.impl)\.|^java\.lang\.(?:Object\.wait|VirtualThread\.park)`)
)

// acquiring is the index of the frame that waits for a connection, -1 for a stack that does
// something else, and the packages of the pool.
func acquiring(frames []string) (at int, in string) {
	for i, name := range frames {
		for _, x := range acquires {
			if x.is(name) {
				return i, x.in
			}
		}
		if ownAcquire.MatchString(name) {
			return i, name[:strings.LastIndexByte(name, '.')+1]
		}
		if !parked.MatchString(name) {
			break
		}
	}
	return -1, ""
}

// poolWait finds those that wait for a connection for good, nil without any.
func (j *JudgedSeries) poolWait(families []Family) (out *PoolWait) {
	last := len(j.Snapshots) - 1
	for i := range families {
		f := &families[i]
		at, in := acquiring(f.Frames)
		if at < 0 {
			continue
		}
		captures, n := j.samePlaces(f.Fingerprint, leastHungShare)
		if n < leastHung || captures < leastHungCaptures || out != nil && n <= out.N || !j.spans(last-captures+1, last) {
			continue
		}
		out = &PoolWait{Kind: f.Kind, N: n, Captures: captures, All: captures == last+1, Database: in == "database/sql."}
		out.show(j, j.Trend.Groups(f.Fingerprint)[last], at, in)
	}
	if out != nil && out.Database {
		out.Open = j.transactions(families)
	}
	return out
}

// transactions counts those of database/sql that are open in the last capture and were so in the one
// before: each keeps a connection, and a goroutine that waits until it ends.
func (j *JudgedSeries) transactions(families []Family) (n int) {
	for i := range families {
		if f := &families[i]; strings.HasPrefix(f.Name, "database/sql.(*Tx).awaitDone") {
			_, stay := j.samePlaces(f.Fingerprint, 0)
			n += stay
		}
	}
	return n
}

// samePlaces is in how many captures, the last ones, the same members of a family were: at least a share
// of them in percent, 0 for those of the last two.
func (j *JudgedSeries) samePlaces(print string, share int) (captures, n int) {
	groups := j.Trend.Groups(print)
	here := map[analysis.Identity]bool{}
	for k, g := range slices.Backward(groups) {
		if g == nil || !g.Members.Identified() || j.Trend.Epochs[k] != j.Trend.Epochs[len(groups)-1] {
			break
		}
		if k == len(groups)-1 {
			for id := range g.Members.Identities() {
				here[id] = true
			}
			n, captures = len(here), 1
			continue
		}
		both := 0
		for id := range g.Members.Identities() {
			if here[id] {
				both++
			}
		}
		if share == 0 && captures == 2 || 100*both < share*len(here) {
			break
		}
		captures++
		n = min(n, both)
	}
	return captures, n
}

// spans reports captures that are far enough apart to be two looks at a process.
func (j *JudgedSeries) spans(from, to int) bool {
	a, b := j.Snapshots[from].CapturedAt, j.Snapshots[to].CapturedAt
	return a.IsZero() || b.IsZero() || b.Sub(a) >= leastHungSpan
}

// show keeps a stack, and who asks for the connection: the first of the reader's own code below
// the pool, else the first that is not of the pool.
func (p *PoolWait) show(j *JudgedSeries, g *analysis.Group, at int, in string) {
	for m := range g.Members.All() {
		if m.Variant < 0 {
			continue
		}
		own, stack := j.OwnCode(), g.Variants[m.Variant].Stack
		frames := markedFrames(own, stack, marksOf(own, p.Kind, stack))
		who := LockHolder{ID: m.Identity.ID, Name: g.Family.Attributes["name"]}
		p.Stacks = []MemberStack{{Who: who.Who(p.Kind), Stack: frames}}
		p.asked(frames, at, in)
		return
	}
}

// asked sets who asks for the connection below frame at.
func (p *PoolWait) asked(frames []StackFrame, at int, in string) {
	for _, wanted := range []func(f *StackFrame) bool{
		func(f *StackFrame) bool { return f.Own },
		func(*StackFrame) bool { return true },
	} {
		for i := at + 1; i < len(frames); i++ {
			if f := &frames[i]; !f.CreatedBy && !strings.HasPrefix(f.Function, in) && wanted(f) {
				p.Function, p.Place = shortRole(f.Function), f.place()
				return
			}
		}
	}
}

// exhausted is the wait of a stack for a connection of a pool, nil for other stacks.
func exhausted(stack []StackFrame) *PoolWait {
	at, in := acquiring(functions(stack))
	if at < 0 {
		return nil
	}
	p := PoolWait{Database: in == "database/sql."}
	p.asked(stack, at, in)
	return &p
}

func functions(stack []StackFrame) (names []string) {
	for i := range stack {
		names = append(names, stack[i].Function)
	}
	return names
}

// poolUse is a function that asks a pool for a connection, with the families that wait there.
type poolUse struct {
	function string
	n        int
	families []*Family
}

// usesOf are the functions that wait for a connection of the same pool as a stack in the last snapshot,
// those of most members first.
func usesOf(families []Family, kind analysis.Kind, stack []string) (out []poolUse) {
	_, in := acquiring(stack)
	for i := range families {
		f := &families[i]
		at, of := acquiring(f.Frames)
		if f.Kind != kind || at < 0 || of != in || f.Counts.Last() <= 0 {
			continue
		}
		name := f.Name
		for k := at + 1; k < len(f.Frames) && (name == "" || strings.HasPrefix(name, in)); k++ {
			name = f.Frames[k]
		}
		k := slices.IndexFunc(out, func(u poolUse) bool { return u.function == shortRole(name) })
		if k < 0 {
			k, out = len(out), append(out, poolUse{function: shortRole(name)})
		}
		out[k].n += f.Counts.Last()
		out[k].families = append(out[k].families, f)
	}
	slices.SortStableFunc(out, func(a, b poolUse) int { return b.n - a.n })
	return out
}

// usedIn words where they wait: "main.balance (95) and main.accountExists (12)", "main.balance" of one alone.
func usedIn(uses []poolUse) string {
	var words []string
	for _, u := range uses {
		words = append(words, fmt.Sprintf("%s (%d)", u.function, u.n))
	}
	if len(uses) == 1 {
		return uses[0].function
	}
	return wording.List(words, mostNamed)
}

// atPool names what an answer is about after the pool at which most of it waits: what the process keeps
// for those who wait, such as the connections of its clients, is the consequence.
func (d *diagnosing) atPool(l *answer) {
	s, f := &d.r.Series[l.series], l.finding
	if f.Key != nil || f.StackOf == nil || l.queue != nil {
		return
	}
	lead, p := s.family(f.StackOf.Family), exhausted(f.Stack)
	if p == nil || lead == nil || s.behindLock(f) || !lead.Verdict.Rose() {
		return
	}
	if p.Database {
		p.Open = s.Transactions
	}
	x, uses := s.nameOf(d.nouns, lead, f), usesOf(s.Families, lead.Kind, lead.Frames)
	x.ofRequests()
	x.waitAt(p, uses)
	if 2*x.counts.Last() < l.subject.counts.Last() {
		return
	}
	x.ended, x.remedy = "ended", p.remedy(uses)
	x.follow(lead.Kind, lead.Evidence)
	l.subject, l.pool = x, p
}

// waitAt names those that wait at a pool, all of them, wherever they ask for a connection.
func (s *subject) waitAt(p *PoolWait, uses []poolUse) {
	s.one, s.many, s.place = s.one+" waiting for "+p.what(), s.many+" waiting for "+p.what(), ""
	if in := usedIn(uses); len(uses) == 1 && p.Function != "" {
		s.place = " in " + p.Function
	} else if in != "" {
		s.place = " in " + in
	}
	for i, f := range familiesOf(uses) {
		if i == 0 {
			s.counts = slices.Clone(f.Counts)
			s.lives(f.Life)
			continue
		}
		for k, n := range f.Counts {
			if s.counts[k].Known() && n.Known() {
				s.counts[k].N += n.N
			}
		}
		if s.followed = s.followed && f.Life != nil; s.followed {
			s.came, s.moved, s.went = s.came+f.Life.Born, s.moved+f.Life.Moved, s.went+f.Life.Gone
		}
	}
}

func familiesOf(uses []poolUse) (out []*Family) {
	for _, u := range uses {
		out = append(out, u.families...)
	}
	return out
}

// atPoolAlone words those of one dump that wait at a pool: ", 107 requests wait for a database connection in
// main.balance (95) and main.accountExists (12)". It is "" for few, and beside a lock that explains them.
func (d *diagnosing) atPoolAlone(s *Series) string {
	p, uses, n := s.waitsAtPool()
	if p == nil {
		return ""
	}
	x := s.nameOf(d.nouns, uses[0].families[0], nil)
	x.ofRequests()
	x.place = ""
	return fmt.Sprintf(", %s %s for %s in %s%s", x.words(n), wording.Fit(n, "waits", "wait"), p.what(), usedIn(uses), p.beside())
}

// beside are the transactions of one dump: ", and 5 transactions are open".
func (p *PoolWait) beside() string {
	if p.Open == 0 {
		return ""
	}
	return ", and " + wording.Plural(p.Open, "transaction is", "transactions are") + " open"
}

// waitsAtPool is the pool at which many of the only dump of a process wait, nil without one.
func (s *Series) waitsAtPool() (p *PoolWait, uses []poolUse, n int) {
	for i := range s.Families {
		f := &s.Families[i]
		at, in := acquiring(f.Frames)
		if at < 0 {
			continue
		}
		some, all := usesOf(s.Families, f.Kind, f.Frames), 0
		for _, u := range some {
			all += u.n
		}
		if all >= leastHung && all > n {
			p, uses, n = &PoolWait{Kind: f.Kind, Database: in == "database/sql."}, some, all
		}
	}
	if p != nil && p.Database {
		p.Open = s.Transactions
	}
	return p, uses, n
}

// ofRequests names connections of a server whose goroutines wait inside of a handler: who waits is the request.
func (s *subject) ofRequests() {
	if strings.HasSuffix(s.one, " server connection") {
		s.one, s.many, s.ended = "request", "requests", "ended"
	}
}

// behindLock reports members of the family of a stack that wait for the lock of a pool.
func (s *Series) behindLock(f *Finding) bool {
	state, _, _ := s.stateOfMost([]string{f.StackOf.Family})
	if state == "semacquire" {
		state = semaphoreOf(f.Stack)
	}
	return state == "BLOCKED" || remedies[state] == heldLock
}

// keptWaiting are the sentences about what waits at a pool: "orders keeps 59 requests waiting for a database
// connection in main.lastOrder, and none ended: all connections of its pool are taken".
func (d *diagnosing) keptWaiting(l answer, yet string) []string {
	text := l.subject.words(l.claims.Left)
	if !d.placed {
		text = d.r.Series[l.series].actor() + " keeps " + text
	}
	text += ", and none ended" + yet
	why := "all connections of its pool are taken"
	if l.pool.Open > 0 {
		why = wording.Plural(l.pool.Open, "open transaction fills", "open transactions fill") + " its pool"
	}
	return []string{text + ": " + why, text}
}

// open words the transactions that nobody ended: "5 transactions stay open".
func (p *PoolWait) open() string {
	if p.Open == 0 {
		return ""
	}
	return wording.Plural(p.Open, "transaction stays", "transactions stay") + " open"
}

// called is the pool in a word or two.
func (p *PoolWait) called() string {
	if p.Database {
		return "pool of database connections"
	}
	return "pool of connections"
}

// what is the connection that they wait for.
func (p *PoolWait) what() string {
	if p.Database {
		return "a database connection"
	}
	return "a connection of a pool"
}

// text words them: "30 goroutines wait for a database connection in all 5 dumps; 5 transactions
// stay open".
func (p *PoolWait) text() string {
	dumps := "the last"
	if p.All {
		dumps = "all"
	}
	text := fmt.Sprintf("%s wait for %s in %s %d dumps, the same ones", wording.Members(p.Kind, p.N), p.what(), dumps, p.Captures)
	if open := p.open(); open != "" {
		text += "; " + open
	}
	return text
}

// proof is what shows that they do not go on.
func (p *PoolWait) proof() string {
	return fmt.Sprintf("The same %s, by id, wait in %d captures in a row: they hang. That is no leak.", wording.Members(p.Kind, p.N), p.Captures)
}

// remedy is what to do. Those who wait are not those who keep the connections, of whom dumps show open
// transactions alone.
func (p *PoolWait) remedy(uses []poolUse) string {
	where := p.Function
	if where != "" && p.Place != "" {
		where += " at " + p.Place
	}
	if len(uses) > 1 || where == "" && len(uses) > 0 {
		var words []string
		for _, u := range uses {
			words = append(words, u.function)
		}
		where = wording.List(words, mostNamed)
	}
	check := ", wherever this pool is used"
	if where != "" {
		check = ": check " + where + ", where they wait, and each other user of this pool"
	}
	give, larger := "Give each connection back on every way out", "A larger pool"
	if p.Database {
		give, larger = "End each Tx (defer Rollback) and close all Rows on every way out", "A larger pool (SetMaxOpenConns)"
	}
	if p.Open > 0 {
		give = "Commit or roll back each transaction on every way out (defer Rollback behind BeginTx)"
	}
	return give + check + ". " + larger + " gains time only."
}

// remedyAmong is what to do about those that wait and do not go on, of the families of their process.
func (p *PoolWait) remedyAmong(families []Family) string {
	var uses []poolUse
	if len(p.Stacks) > 0 {
		uses = usesOf(families, p.Kind, functions(p.Stacks[0].Stack))
	}
	return p.remedy(uses)
}
