package goroutine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"leakdiff/analysis"
	"leakdiff/analysis/read/goroutine"
)

// otlpTime is when the profiles of otlpMessage were taken.
var otlpTime = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// otlpMessage is one message as the collector's receivers make it: counts goroutines of
// main.leak below main.main, and two of main.pool with a label.
func otlpMessage(t testing.TB, kind string, counts ...int64) pprofile.Profiles {
	t.Helper()
	all := pprofile.NewProfiles()
	d := all.Dictionary()
	d.StringTable().Append("", kind, "count", "main.leak", "/src/leak.go", "main.main", "/src/main.go", "main.pool", "controller")
	d.MappingTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	label := d.AttributeTable().AppendEmpty()
	label.SetKeyStrindex(8)
	label.Value().SetStr("node")
	d.FunctionTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	for i, name := range []int32{3, 5, 7} {
		f := d.FunctionTable().AppendEmpty()
		f.SetNameStrindex(name)
		f.SetFilenameStrindex([]int32{4, 6, 6}[i])
		l := d.LocationTable().AppendEmpty()
		line := l.Lines().AppendEmpty()
		line.SetFunctionIndex(int32(i + 1))
		line.SetLine(int64(10 * (i + 1)))
	}
	d.StackTable().AppendEmpty()
	d.StackTable().AppendEmpty().LocationIndices().FromRaw([]int32{1, 2})
	d.StackTable().AppendEmpty().LocationIndices().FromRaw([]int32{3})

	resource := all.ResourceProfiles().AppendEmpty()
	attributes := resource.Resource().Attributes()
	attributes.PutStr("service.name", "prober")
	attributes.PutStr("host.name", "node-7")
	attributes.PutInt("process.pid", 4711)
	for i, n := range counts {
		p := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
		p.SampleType().SetTypeStrindex(1)
		p.SampleType().SetUnitStrindex(2)
		p.SetTime(pcommon.NewTimestampFromTime(otlpTime.Add(time.Duration(i) * time.Minute)))
		s := p.Samples().AppendEmpty()
		s.SetStackIndex(1)
		s.Values().FromRaw([]int64{n})
		s = p.Samples().AppendEmpty()
		s.SetStackIndex(2)
		s.Values().FromRaw([]int64{2})
		s.AttributeIndices().FromRaw([]int32{1})
	}
	return all
}

// otlpFile writes messages as exporter/fileexporter of opentelemetry-collector-contrib
// does: a line each, or each with its length before it.
func otlpFile(t testing.TB, json bool, messages ...pprofile.Profiles) []byte {
	t.Helper()
	var out []byte
	for _, m := range messages {
		if json {
			line, err := (&pprofile.JSONMarshaler{}).MarshalProfiles(m)
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, line...), '\n')
			continue
		}
		message, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(message))), message...)
	}
	return out
}

func parseOTLP(data []byte) (profiles []goroutine.Profile, records []goroutine.Record, problems []analysis.Problem, err error) {
	profiles, problems, err = goroutine.ParseOTLP(bytes.NewReader(data), goroutine.Config{}, func(r *goroutine.Record) error {
		records = append(records, *r)
		return nil
	})
	return profiles, records, problems, err
}

func TestGoroutineProfilesOfTheCollectorAreRead(t *testing.T) {
	for name, json := range map[string]bool{"JSON lines": true, "protobuf": false} {
		data := otlpFile(t, json, otlpMessage(t, "goroutine", 40, 50), otlpMessage(t, "goroutine", 60))
		profiles, records, problems, err := parseOTLP(data)
		if err != nil || len(problems) != 0 || len(profiles) != 3 || len(records) != 6 {
			t.Fatalf("%s: %d profiles, %d records, %v, %v", name, len(profiles), len(records), problems, err)
		}
		for i, want := range []int{42, 52, 62} {
			p := profiles[i]
			if p.Sum != want || p.Total != want || p.Records != 2 || p.Resource != (goroutine.Resource{Process: "prober", Host: "node-7", PID: 4711}) || !p.Time.Equal(otlpTime.Add(time.Duration(i%2)*time.Minute)) {
				t.Errorf("%s: profile %d: %+v, want a sum of %d", name, i, p, want)
			}
		}
		r := records[0]
		if r.Count != 40 || len(r.Stack.Frames) != 2 || r.Stack.Frames[0] != frame("main.leak", "/src/leak.go", 10) || r.Stack.Frames[1] != frame("main.main", "/src/main.go", 20) {
			t.Errorf("%s: %+v of %+v", name, r, r.Stack)
		}
		if r := records[1]; r.Count != 2 || r.Labels["controller"] != "node" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestProfilesOfOtherKindsAreNamedAndCutFilesAnnounced(t *testing.T) {
	var fault *analysis.Fault
	if _, _, _, err := parseOTLP(otlpFile(t, true, otlpMessage(t, "cpu", 40))); !errors.As(err, &fault) || fault.Code != "other_profile" || !strings.Contains(fault.What, "cpu") {
		t.Errorf("a CPU profile: %v", err)
	}
	for name, json := range map[string]bool{"JSON lines": true, "protobuf": false} {
		one := otlpFile(t, json, otlpMessage(t, "goroutine", 40))
		for at := 1; at < len(one); at += max(1, len(one)/53) {
			profiles, _, problems, err := parseOTLP(append(append([]byte{}, one...), one[:at]...))
			whole := json && at == len(one)-1
			if err != nil || len(profiles) != 1 && !whole || len(problems) == 0 && !whole {
				t.Errorf("%s cut after %d bytes of the second message: %d profiles, %v, %v", name, at, len(profiles), problems, err)
			}
		}
	}
	for _, text := range []string{"", "{}", "{\"resourceProfiles\":1}", "\x00\x00\x00\x02\x0a", "{"} {
		if _, _, _, err := parseOTLP([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzParseOTLP(f *testing.F) {
	f.Add(otlpFile(f, true, otlpMessage(f, "goroutine", 40)))
	f.Add(otlpFile(f, false, otlpMessage(f, "goroutine", 40), otlpMessage(f, "cpu", 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		profiles, records, problems, _ := parseOTLP(data)
		sum, of := 0, 0
		for _, r := range records {
			if r.Profile >= len(profiles) {
				t.Fatalf("a record of profile %d of %d", r.Profile, len(profiles))
			}
			sum += r.Count
		}
		for _, p := range profiles {
			of += p.Sum
		}
		if sum != of || len(problems) > 106 {
			t.Errorf("records of %d, profiles of %d, %d problems", sum, of, len(problems))
		}
	})
}
