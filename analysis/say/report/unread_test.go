package report_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestResponsesThatNobodyReadsAreTheStep: ten more connections of a Node process at each report, of which so many
// in ten are read.
func TestResponsesThatNobodyReadsAreTheStep(t *testing.T) {
	for _, tt := range []struct {
		name string
		read int
		step string
	}{
		{"none", 0, "54 of 54 are not read: consume or destroy each response of 10.0.0.2:443, also where its status is no success."},
		{"less than half of them", 4, "30 of 54 are not read: consume"},
		{"more than half of them", 5, "Look for a client of 10.0.0.2:443 that is made per call and never closed."},
		{"all", 10, "Look for a client of 10.0.0.2:443 that is made per call and never closed."},
	} {
		var captures []map[string]string
		for k := range 6 {
			var handles []string
			for i := range 4 + 10*k {
				handles = append(handles, fmt.Sprintf(`{"type":"tcp","is_active":%t,"is_referenced":true,"address":"0x%x","localEndpoint":{"ip4":"10.0.0.1","port":%d},"remoteEndpoint":{"ip4":"10.0.0.2","port":443},"fd":%d,"readable":true,"writable":true}`, i%10 < tt.read, 0x1000+i, 40000+i, 20+i))
			}
			captures = append(captures, map[string]string{"app/report.json": `{"header":{"reportVersion":3,"event":"JavaScript API","trigger":"GetReport","processId":50,"commandLine":["node","app.js"],"nodejsVersion":"v20.20.0"},"libuv":[` + strings.Join(handles, ",") + `]}`})
		}
		if d := every(t, captures).Diagnosis; d.Next == nil || !strings.HasPrefix(d.Next.Text, tt.step) {
			t.Errorf("%s: %s %+v", tt.name, d.Sentence, d.Next)
		}
	}
}
