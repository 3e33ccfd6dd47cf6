package report

import "testing"

func TestAHeadlineNamesAFunctionThatAReaderRecognises(t *testing.T) {
	own := func(function, file string, line int) StackFrame {
		return StackFrame{Function: function, File: file, Line: line, Own: true}
	}
	literal := own("main.init.1.func11.every.init.1.func11.1.2", "/src/leaks.go", 399)
	created := own("main.(*bus).subscribe", "/src/leaks.go", 266)
	created.CreatedBy = true
	for name, tt := range map[string]struct {
		stack []StackFrame
		want  string
	}{
		"the first of own code":                         {[]StackFrame{{Function: "time.Sleep"}, own("main.poll", "/src/poll.go", 9), own("main.run", "/src/poll.go", 3)}, "main.poll"},
		"a literal in a function is named after it":     {[]StackFrame{own("main.serve.func1", "/src/serve.go", 9)}, "main.serve.func1"},
		"the one above a literal of the initialisation": {[]StackFrame{{Function: "time.Sleep"}, literal, own("main.forward", "/src/leaks.go", 270), created}, "main.forward"},
		"a literal of the initialisation alone":         {[]StackFrame{{Function: "time.Sleep"}, literal, created}, "leaks.go:399"},
		"a literal in a variable of the package":        {[]StackFrame{own("main.glob..func1", "/src/table.go", 12)}, "table.go:12"},
		"a method that is called init":                  {[]StackFrame{own("main.(*cache).init", "/src/cache.go", 12)}, "main.(*cache).init"},
		"no own code, and the function of the title":    {[]StackFrame{{Function: "time.Sleep"}}, "main.title"},
		"no stack": {nil, "main.title"},
	} {
		if got := where(&Finding{Stack: tt.stack}, "main.title"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestWhatMovesBetweenGroupsIsNamedByWhereAllOfItBegan(t *testing.T) {
	for name, tt := range map[string]struct {
		entries []string
		want    string
	}{
		"one own function":               {[]string{"main.(*delivery).retry", "main.(*delivery).retry"}, "main.(*delivery).retry"},
		"two own functions":              {[]string{"main.(*delivery).retry", "main.(*delivery).send"}, ""},
		"a function of the library":      {[]string{"net/http.(*conn).serve", "net/http.(*conn).serve"}, ""},
		"a literal of an initialisation": {[]string{"main.init.1.func2", "main.init.1.func2"}, ""},
	} {
		s, f := &Series{}, &Finding{}
		for i, entry := range tt.entries {
			print := string(rune('a' + i))
			s.Families = append(s.Families, Family{Fingerprint: print, Frames: []string{"time.Sleep", entry}})
			f.Families = append(f.Families, print)
		}
		if got := s.entryOf(f); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
