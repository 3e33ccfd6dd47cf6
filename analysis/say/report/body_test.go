package report_test

import (
	"strings"
	"testing"
)

func TestAnOpenBodyIsToldApartFromAnIdleConnection(t *testing.T) {
	const share = "Read each response body to its end and close it, and share one http.Client."
	for name, tt := range map[string]struct {
		state        string
		above        []string
		likely, want string
	}{
		"it waits for its body to be read":   {"select", nil, "cause likely, each waits until somebody reads its response to the end or closes it", "Close the body of each response: defer resp.Body.Close()"},
		"it waits for the network":           {"IO wait", []string{"internal/poll.runtime_pollWait(0x7f0000000000, 0x72)", "net.(*conn).Read(0xc000020000)", "bufio.(*Reader).Peek(0xc000020000)"}, "", share},
		"another library has the connection": {"select", []string{"main.(*Proxy).copy(0xc000020000)"}, "", share},
	} {
		var captures []map[string]string
		for k := range 4 {
			text := goroutineText(1, "sleep", "runtime.main", "main.main()")
			for i := range 10 + 15*k {
				text += goroutineText(100+2*i, tt.state, "net/http.(*Transport).dialConn", append(tt.above, "net/http.(*persistConn).readLoop(0xc000010000)")...)
				text += goroutineText(101+2*i, "select", "net/http.(*Transport).dialConn", "net/http.(*persistConn).writeLoop(0xc000010000)")
			}
			captures = append(captures, map[string]string{"app/goroutine.txt": text})
		}
		d := every(t, captures).Diagnosis
		if d.Next == nil || !strings.HasPrefix(d.Next.Text, tt.want) {
			t.Errorf("%s: %s\n%+v", name, d.Sentence, d.Next)
		}
		if said := d.Cause != nil && strings.Contains("cause "+d.Cause.Word+", "+d.Cause.Reason, "reads its response"); said != (tt.likely != "") {
			t.Errorf("%s: the cause is %+v", name, d.Cause)
		}
	}
}
