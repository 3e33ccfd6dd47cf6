package analysis_test

import (
	"encoding/json"
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestTheCodeOfAProblemIsInItsJSON(t *testing.T) {
	for _, tt := range []struct {
		code analysis.ProblemCode
		want string
	}{{analysis.CutDump, `"code":"cut_dump"`}, {"", ""}} {
		p := analysis.Problem{Path: "a.txt", Offset: -1, Severity: analysis.Warning, Code: tt.code, What: "the dump is cut"}
		text, err := json.Marshal(p)
		if err != nil || !strings.Contains(string(text), tt.want) || strings.Contains(string(text), `"code"`) != (tt.want != "") {
			t.Errorf("code %q: got %s, %v", tt.code, text, err)
		}
		var back analysis.Problem
		if err := json.Unmarshal(text, &back); err != nil || back != p {
			t.Errorf("read back %+v, %v; want %+v", back, err, p)
		}
	}
}
