package join_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
	"leakdiff/analysis/read/join"
	"leakdiff/samples/corpus"
)

// dump is a text in the making.
type dump struct{ strings.Builder }

// add prints a goroutine with its calls, leaf first; creator is "F in goroutine N" or "".
func (d *dump) add(id int, creator string, calls ...string) {
	fmt.Fprintf(d, "goroutine %d [select]:\n", id)
	for i, call := range calls {
		d.WriteString(call)
		if !strings.Contains(call, "\n") {
			fmt.Fprintf(d, "\n\t/src/main.go:%d +0x1d", 10+i)
		}
		d.WriteString("\n")
	}
	if creator != "" {
		fmt.Fprintf(d, "created by %s\n\t/src/main.go:9 +0x1d\n", creator)
	}
	d.WriteString("\n")
}

// address is the n-th object of a size in a block of the heap.
func address(n int) int { return 0xc000010000 + 0x100*n }

// shape is what a test says about a kind.
type shape struct {
	Name    string
	Count   int
	Roles   []string
	Holders []string
}

func shapesOf(o *analysis.Objects) (out []shape) {
	for _, k := range o.Kinds {
		s := shape{Name: k.Name, Count: k.Count}
		for _, r := range k.Each {
			s.Roles = append(s.Roles, fmt.Sprintf("%d %s", r.N, r.Role))
		}
		for _, h := range k.Holders {
			s.Holders = append(s.Holders, fmt.Sprintf("%d %s", h.N, h.Type))
		}
		out = append(out, s)
	}
	return out
}

func check(t *testing.T, text string, want []shape) {
	t.Helper()
	if diff := cmp.Diff(want, shapesOf(objectsOf(t, text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// connections prints servers with the same number of connections each, of which a reader
// and a writer are running.
func connections(servers, each int) string {
	var d dump
	id := 100
	for s := range servers {
		for c := range each {
			conn := address(1000 + 100*s + c)
			d.add(id, "", fmt.Sprintf("ex.org/srv.(*conn).read(0x%x)", conn), fmt.Sprintf("ex.org/srv.(*Server).serve(0x%x, 0x%x)", address(s), conn))
			d.add(id+1, "", fmt.Sprintf("ex.org/srv.(*conn).write(0x%x)", conn))
			id += 2
		}
	}
	return d.String()
}

func TestAServerIsNeverPartOfItsConnections(t *testing.T) {
	roles := []string{"1 ex.org/srv.(*Server).serve", "1 ex.org/srv.(*conn).write"}
	for _, n := range []int{3, 64, 65, 200} {
		t.Run(fmt.Sprintf("one server with %d connections", n), func(t *testing.T) {
			check(t, connections(1, n), []shape{{"*srv.conn", n, roles, []string{fmt.Sprintf("%d ex.org/srv.(*Server)", n)}}})
		})
	}
	t.Run("one connection proves nothing yet", func(t *testing.T) {
		check(t, connections(1, 1), nil)
	})
	t.Run("two servers with three connections each hold six", func(t *testing.T) {
		check(t, connections(2, 3), []shape{{"*srv.conn", 6, roles, []string{"3 ex.org/srv.(*Server)", "3 ex.org/srv.(*Server)"}}})
	})
}

func TestAnArgumentWhoseMemoryIsUsedAgainJoinsNothing(t *testing.T) {
	var d dump
	for i := range 20 {
		argument := address(500 + i)
		if i == 7 {
			argument = address(3) // of a fifo that lives there now
		}
		d.add(100+i, "", fmt.Sprintf("ex.org/rpc.handle({0x4f0a20?, 0xc000000100}, {0x4f0a20, 0x%x}, 0x%x, 0x4a0000)", address(700+i), argument))
	}
	for i := range 10 {
		d.add(200+i, "", fmt.Sprintf("ex.org/fifo.(*fifo).Read(0x%x)", address(i)))
	}
	check(t, d.String(), []shape{
		{"rpc.handle", 20, []string{"1 ex.org/rpc.handle"}, nil},
		{"*fifo.fifo", 10, []string{"1 ex.org/fifo.(*fifo).Read"}, nil},
	})
}

func TestAPlainArgumentThatIsAlwaysOneTypeJoins(t *testing.T) {
	var d dump
	for i := range 10 {
		d.add(100+i, "", fmt.Sprintf("ex.org/job.watch(0x1, 0x%x)", address(i)))
		d.add(200+i, "", fmt.Sprintf("ex.org/job.(*Job).Run(0x%x)", address(i)))
	}
	check(t, d.String(), []shape{{"*job.Job", 10, []string{"1 ex.org/job.(*Job).Run", "1 ex.org/job.watch"}, nil}})
}

func TestTwoTypesAtOneAddressJoinOnlyIfOneIsInTheOther(t *testing.T) {
	t.Run("an embedded type", func(t *testing.T) {
		var d dump
		for i := range 6 {
			d.add(100+i, "", fmt.Sprintf("ex.org/p.(*FD).Read(0x%x)", address(i)), fmt.Sprintf("ex.org/p.(*netFD).Read(0x%x)", address(i)))
			d.add(200+i, "", fmt.Sprintf("ex.org/p.(*FD).Write(0x%x)", address(i)))
		}
		check(t, d.String(), []shape{{"*p.FD", 6, []string{"1 ex.org/p.(*FD).Write", "1 ex.org/p.(*netFD).Read"}, nil}})
	})
	t.Run("memory used again", func(t *testing.T) {
		var d dump
		for i := range 6 {
			d.add(100+i, "", fmt.Sprintf("ex.org/p.(*A).Run(0x%x)", address(i)))
			d.add(200+i, "", fmt.Sprintf("ex.org/p.(*B).Run(0x%x)", address(5+i)))
		}
		for _, k := range objectsOf(t, d.String()).Kinds {
			if k.Parts > 1 {
				t.Errorf("%d objects %s of %d parts", k.Count, k.Name, k.Parts)
			}
		}
	})
}

func TestCreatorsArePartsOfWhatEachOfThemCreates(t *testing.T) {
	t.Run("a worker of a pool that started one task is no part of it", func(t *testing.T) {
		var d dump
		for i := range 10 {
			d.add(10+i, "main.main in goroutine 1", fmt.Sprintf("ex.org/pool.(*Pool).work(0x%x)", address(0)))
		}
		d.add(50, "ex.org/pool.(*Pool).start in goroutine 12", "ex.org/pool.task(0x1)")
		check(t, d.String(), []shape{{"pool.(*Pool).work", 10, []string{"1 ex.org/pool.(*Pool).work"}, []string{"10 main.main"}}})
	})
	t.Run("main that started three hundred watches holds them", func(t *testing.T) {
		var d dump
		d.add(1, "", "main.main()")
		for i := range 300 {
			d.add(10+i, "main.main in goroutine 1", "main.watch(0x1)")
		}
		check(t, d.String(), []shape{{"main.watch", 300, []string{"1 main.watch"}, []string{"300 main.main"}}})
	})
	t.Run("siblings whose creator has ended are one object", func(t *testing.T) {
		var d dump
		for i := range 4 {
			creator := fmt.Sprintf("ex.org/c.dial in goroutine %d", 1000+i)
			d.add(10+2*i, creator, "ex.org/c.read(0x1)")
			d.add(11+2*i, creator, "ex.org/c.write(0x1)")
		}
		check(t, d.String(), []shape{{"c.read", 4, []string{"1 ex.org/c.read", "1 ex.org/c.write"}, nil}})
	})
	t.Run("five creators of two goroutines of a kind are five objects", func(t *testing.T) {
		for n, want := range map[int][]shape{
			4: {{"c.read", 8, []string{"1 ex.org/c.read"}, []string{"2 ex.org/c.dial", "2 ex.org/c.dial", "2 ex.org/c.dial", "2 ex.org/c.dial"}}},
			5: {{"c.read", 5, []string{"2 ex.org/c.read"}, nil}},
		} {
			var d dump
			for i := range n {
				creator := fmt.Sprintf("ex.org/c.dial in goroutine %d", 1000+i)
				d.add(10+2*i, creator, "ex.org/c.read(0x1)")
				d.add(11+2*i, creator, "ex.org/c.read(0x1)")
			}
			check(t, d.String(), want)
		}
	})
}

func TestWhatMostObjectsDoWithoutIsNoPartOfOne(t *testing.T) {
	client := []string{"1 ex.org/rpc.(*Client).read", "1 ex.org/rpc.(*Client).write"}
	tests := []struct {
		name string
		dump func(*dump)
		want []shape
	}{
		{"a request that uses a connection", func(d *dump) {
			for i := range 10 {
				d.add(100+i, "", fmt.Sprintf("ex.org/rpc.(*Client).read(0x%x)", address(i)))
				d.add(200+i, "", fmt.Sprintf("ex.org/rpc.(*Client).write(0x%x)", address(i)))
			}
			for i := range 4 {
				d.add(300+i, "", fmt.Sprintf("ex.org/rpc.(*Client).Call(0x%x)", address(i)), fmt.Sprintf("ex.org/app.(*request).serve(0x%x)", address(100+i)))
			}
		}, []shape{
			{"*rpc.Client", 10, client, nil},
			{"*app.request", 4, []string{"1 ex.org/app.(*request).serve < ex.org/rpc.(*Client).Call"}, nil},
		}},
		{"a request that eight of ten connections have", func(d *dump) {
			for i := range 10 {
				d.add(100+i, "", fmt.Sprintf("ex.org/rpc.(*Client).read(0x%x)", address(i)))
				if i < 8 {
					d.add(300+i, "", fmt.Sprintf("ex.org/rpc.(*Client).Call(0x%x)", address(i)))
				}
			}
		}, []shape{
			{"*rpc.Client", 8, []string{"1 ex.org/rpc.(*Client).Call", "1 ex.org/rpc.(*Client).read"}, nil},
			{"*rpc.Client", 2, []string{"1 ex.org/rpc.(*Client).read"}, nil},
		}},
		{"a connection keeps its name when a request uses it", func(d *dump) {
			for i := range 10 {
				d.add(100+i, "", fmt.Sprintf("ex.org/rpc.(*Client).read(0x%x)", address(i)))
			}
			for i := range 4 {
				d.add(300+i, "", fmt.Sprintf("ex.org/rpc.(*Client).Call(0x%x)", address(i)), "ex.org/app.serve(0x1)")
			}
		}, []shape{
			{"*rpc.Client", 10, []string{"1 ex.org/rpc.(*Client).read"}, nil},
			{"rpc.(*Client).Call", 4, []string{"1 ex.org/app.serve < ex.org/rpc.(*Client).Call"}, nil},
		}},
		{"two calls that were made through one stub of a client", func(d *dump) {
			for i := range 10 {
				d.add(100+i, "", fmt.Sprintf("ex.org/rpc.(*Client).read(0x%x)", address(i)))
			}
			for i := range 4 {
				client, stub := fmt.Sprintf("ex.org/rpc.(*Client).Call(0x%x)", address(i)), fmt.Sprintf("ex.org/rpc.(*Stub).Do(0x%x)", address(100+i))
				d.add(300+i, "", client, stub, "ex.org/app.stop(0x1)")
				d.add(400+i, "", client, stub, "ex.org/app.watch(0x1)")
			}
		}, []shape{
			{"*rpc.Client", 10, []string{"1 ex.org/rpc.(*Client).read"}, nil},
			{"rpc.(*Stub).Do", 4, []string{"1 ex.org/app.stop < ex.org/rpc.(*Stub).Do"}, nil},
			{"rpc.(*Stub).Do", 4, []string{"1 ex.org/app.watch < ex.org/rpc.(*Stub).Do"}, nil},
		}},
		{"a few handlers that read from their streams themselves", func(d *dump) {
			for i := range 10 {
				creator := ""
				if i < 4 {
					creator = fmt.Sprintf("ex.org/app.watch in goroutine %d", 100+i)
					d.add(300+i, creator, fmt.Sprintf("ex.org/rpc.(*Stream).Recv(0x%x)", address(i)), "ex.org/app.watch.func1(0x1)")
				}
				d.add(100+i, "", fmt.Sprintf("ex.org/rpc.(*Stream).Send(0x%x)", address(i)), "ex.org/rpc.handle(0x1)")
			}
		}, []shape{
			{"*rpc.Stream", 6, []string{"1 ex.org/rpc.handle"}, nil},
			{"*rpc.Stream", 4, []string{"1 ex.org/app.watch.func1 < ex.org/rpc.(*Stream).Recv", "1 ex.org/rpc.handle"}, nil},
		}},
		{"a server that started two connections among much else", func(d *dump) {
			for i := range 12 {
				creator := fmt.Sprintf("ex.org/task.Go in goroutine %d", 1000+i)
				d.add(100+10*i, creator, "ex.org/conn.read(0x1)")
				d.add(101+10*i, creator, "ex.org/conn.write(0x1)")
				if i < 2 {
					d.add(102+10*i, creator, "ex.org/srv.accept(0x1)")
					d.add(103+10*i, creator, "ex.org/srv.clean(0x1)")
				}
			}
		}, []shape{
			{"conn.read", 12, []string{"1 ex.org/conn.read", "1 ex.org/conn.write"}, nil},
			{"srv.accept", 2, []string{"1 ex.org/srv.accept", "1 ex.org/srv.clean"}, nil},
		}},
		{"workers that started what mostly others start", func(d *dump) {
			for i := range 3 {
				d.add(10+i, "ex.org/work.Start in goroutine 1", "ex.org/work.loop(0x1)")
			}
			for i := range 9 {
				creator := 1000 + i
				if i < 3 {
					creator = 10 + i
				}
				d.add(100+i, fmt.Sprintf("ex.org/queue.Add in goroutine %d", creator), "ex.org/queue.run(0x1)")
			}
		}, []shape{
			{"queue.run", 9, []string{"1 ex.org/queue.run"}, nil},
			{"work.loop", 3, []string{"1 ex.org/work.loop"}, []string{"3 ex.org/work.Start"}},
		}},
		{"workers of several kinds that all have such a child", func(d *dump) {
			for i := range 8 {
				d.add(10+i, "", fmt.Sprintf("ex.org/work.loop%d(0x1)", i%4))
				d.add(100+i, fmt.Sprintf("ex.org/queue.Add in goroutine %d", 10+i), "ex.org/queue.run(0x1)")
			}
		}, []shape{
			{"work.loop0", 2, []string{"1 ex.org/queue.run", "1 ex.org/work.loop0"}, nil},
			{"work.loop1", 2, []string{"1 ex.org/queue.run", "1 ex.org/work.loop1"}, nil},
			{"work.loop2", 2, []string{"1 ex.org/queue.run", "1 ex.org/work.loop2"}, nil},
			{"work.loop3", 2, []string{"1 ex.org/queue.run", "1 ex.org/work.loop3"}, nil},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d dump
			test.dump(&d)
			check(t, d.String(), test.want)
		})
	}
}

func TestLocksAndContextsJoinNothing(t *testing.T) {
	for _, typ := range []string{"sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).lockSlow", "context.(*cancelCtx).run", "internal/poll.(*pollDesc).wait", "log.(*Logger).Output"} {
		var d dump
		for i := range 12 {
			d.add(100+i, "", fmt.Sprintf("%s(0x%x)", typ, address(i/2)), "main.run(0x1)")
		}
		check(t, d.String(), []shape{{"main.run", 12, []string{"1 main.run"}, nil}})
	}
}

func TestWhatLiesOutsideTheHeapJoinsNothing(t *testing.T) {
	var d dump
	for i := range 10 { // each in a block of its own, which has two addresses of no type
		d.add(100+i, "", fmt.Sprintf("ex.org/g.(*Global).run(0x%x)", 0x7f0000000000+i<<26))
		d.add(200+i, "", fmt.Sprintf("ex.org/g.(*Global).wait(0x%x)", 0x7f0000000000+i<<26))
	}
	for _, k := range objectsOf(t, d.String()).Kinds {
		if k.Parts > 1 || k.Level != analysis.ByGoroutine {
			t.Errorf("%d objects %s of %d parts by %s", k.Count, k.Name, k.Parts, k.Level)
		}
	}
}

// A heap of 4 GiB has 64 blocks of 64 MiB. Here each type has one object in most of them, and
// two in the last.
func TestObjectsOfALargeHeapAreAllJoined(t *testing.T) {
	for _, base := range []int{0xc000000000, 0x146edac00000} {
		var d dump
		for i := range 65 {
			at := base + min(i, 63)<<26 + 0x10000 + i*0x100
			d.add(100+2*i, "ex.org/w.Start", fmt.Sprintf("ex.org/w.(*Watcher).read(0x%x)", at))
			d.add(101+2*i, "ex.org/w.Start", fmt.Sprintf("ex.org/w.(*Watcher).send(0x%x)", at))
		}
		check(t, d.String(), []shape{{"*w.Watcher", 65, []string{"1 ex.org/w.(*Watcher).read", "1 ex.org/w.(*Watcher).send"}, nil}})
	}
}

func TestAnObjectHasAtMostTwoHundredAndFiftySixParts(t *testing.T) {
	// Each node is shown by its own goroutine and by that of the node before: a chain of
	// 300. Pairs of goroutines share a task as well, which joins less than the chain.
	var d dump
	for i := range 300 {
		d.add(100+i, "", fmt.Sprintf("ex.org/n.(*Task).run(0x%x)", address(2000+i/2)), fmt.Sprintf("ex.org/n.(*Node).next%d(0x%x)", i%2, address(i+1)), fmt.Sprintf("ex.org/n.(*Node).run%d(0x%x)", i%2, address(i)))
	}
	o := objectsOf(t, d.String())
	for _, k := range o.Kinds {
		if k.Parts > 2 {
			t.Errorf("%d objects %s of %d parts", k.Count, k.Name, k.Parts)
		}
	}
	if !slices.ContainsFunc(o.Kinds, func(k analysis.ObjectKind) bool { return k.Name == "*n.Task" && k.Count == 150 }) {
		t.Errorf("the tasks are no objects: %v", shapesOf(o))
	}
}

func TestTooManyAddressesAreSaid(t *testing.T) {
	tokens := join.Tokens{MaxTokens: 100}
	_, _, err := goroutine.ParseText(strings.NewReader(connections(1, 200)), goroutine.Config{Words: true}, func(g *goroutine.Goroutine) error {
		tokens.Add(g)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &analysis.Objects{LeftOut: "the goroutines show more than 100 addresses"}
	if got := join.Objects(&tokens); len(got.Kinds) > 0 || got.LeftOut != want.LeftOut {
		t.Errorf("got %d kinds and %q, want none and %q", len(got.Kinds), got.LeftOut, want.LeftOut)
	}
}

func TestALargeDumpHasTheObjectsOfASmallOne(t *testing.T) {
	// The words of requests, which nobody else shows, are dropped on the way.
	var d dump
	const n = 40_000
	for i := range n {
		request := address(1_000_000 + 20*i)
		d.add(3*i+100, "", fmt.Sprintf("ex.org/srv.handle(0x%x, {0x4f0a20, 0x%x}, 0x%x, {0x4f0a20, 0x%x})", request, request+8, request+16, request+24),
			fmt.Sprintf("ex.org/srv.(*request).run(0x%x, 0x%x, 0x%x)", request+32, request+40, request+48), fmt.Sprintf("ex.org/srv.(*conn).serve(0x%x)", address(i)))
		d.add(3*i+101, "", fmt.Sprintf("ex.org/srv.(*conn).read(0x%x)", address(i)))
	}
	check(t, d.String(), []shape{{"*srv.conn", n, []string{"1 ex.org/srv.(*conn).read", "1 ex.org/srv.(*conn).serve"}, nil}})
}

func TestTheBaseOfTheHeapDoesNotMatter(t *testing.T) {
	// This dump of Go 1.26 has its heap at 0x10be00000000, as no other process has.
	data, err := os.ReadFile(corpus.Path(t, "series", "clientgo-informer-recreate", "t3", "informer", "goroutine-debug2.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := shapesOf(objectsOf(t, string(data)))
	if want[0].Count != 31 {
		t.Fatalf("got %d objects, want 31", want[0].Count)
	}
	for _, base := range []string{"0xc0", "0x2baa", "0x7ffe"} {
		if diff := cmp.Diff(want, shapesOf(objectsOf(t, strings.ReplaceAll(string(data), "0x10be", base)))); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", base, diff)
		}
	}
	for _, release := range []string{"1.25.5", "1.26.8", "1.27.0"} {
		data, err := os.ReadFile(corpus.Path(t, "goroutine", "gen", "debug2-go"+release+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(objectsOf(t, string(data)).Kinds, func(k analysis.ObjectKind) bool {
			return k.Name == "*net.TCPListener" && k.Level == analysis.ByAddress
		}) {
			t.Errorf("Go %s: no listener has an address", release)
		}
	}
}

func TestNoHandlerOfRealCallsIsJoinedToAFifo(t *testing.T) {
	dirs, err := filepath.Glob(corpus.Path(t, "series", "kubelet-probe-leak", "t*", "containerd"))
	if err != nil || len(dirs) < 9 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		for _, k := range dumpIn(t, dir).Kinds {
			handler, fifo := false, false
			for _, r := range k.Each {
				handler = handler || strings.Contains(r.Role, "_Handler")
				fifo = fifo || strings.Contains(r.Role, "fifo") || strings.Contains(r.Role, "NewCRILogger")
			}
			if handler && fifo {
				t.Errorf("%s: %v", dir, k.Each)
			}
		}
	}
}
