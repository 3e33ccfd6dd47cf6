package report

import "testing"

func TestWhoGaveAGroupItsFunctionIsTheStarter(t *testing.T) {
	for want, stack := range map[string][]string{
		"example.com/mcp.(*Stdio).Start":                   {"example.com/mcp.(*Stdio).readLoop", "example.com/mcp.(*Stdio).Start"},
		"example.com/tsdb/chunks.(*chunkWriteQueue).start": {"sync.(*Cond).Wait", "example.com/tsdb/chunks.(*chunkWriteQueue).start.func1", "sync.(*WaitGroup).Go.func1", "sync.(*WaitGroup).Go"},
		"example.com/job.Run":                              {"example.com/job.Run.func2", "golang.org/x/sync/errgroup.(*Group).Go"},
		"sync.(*WaitGroup).Go":                             {"sync.(*WaitGroup).Go.func1", "sync.(*WaitGroup).Go"},
	} {
		var frames []StackFrame
		for _, name := range stack {
			frames = append(frames, StackFrame{Function: name})
		}
		frames[len(frames)-1].CreatedBy = true
		if got := starter(frames); got != want {
			t.Errorf("%v: %s, want %s", stack, got, want)
		}
	}
}
