package goroutine

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"leakdiff/analysis"
)

const (
	// maxMessage bounds one message of an OTLP file, of which decoding makes several times
	// as much. One with the profile of 100,000 goroutines has about a megabyte.
	maxMessage = 32 << 20
	// maxExpanded bounds the frames of all samples of a profile: many samples may share
	// one long stack.
	maxExpanded = 1 << 24
)

// ParseOTLP reads the profiles in a file that the collector's file exporter writes (JSON
// lines, or messages of protobuf with their length before them in four bytes), and hands
// the samples of those that count goroutines to visit, as ParseProto does. A message that
// cannot be read is a problem. The error is that of r or of visit, or an *analysis.Fault:
// "other_profile" if none counts goroutines, "unreadable" if no message can be read.
func ParseOTLP(r io.Reader, cfg Config, visit func(*Record) error) ([]Profile, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	source := &errorReader{r: r}
	p := &otlpParser{
		in:       bufio.NewReaderSize(source, 1<<16),
		problems: problems{path: cfg.Path, max: cfg.MaxProblems},
		visit:    visit,
	}
	p.samples = protoParser{stacks: newStackTable(cfg)}
	err := p.run()
	if source.err != nil {
		return p.profiles, p.problems.all(), source.err
	}
	if p.samples.stacks.others > 0 {
		p.problems.always(tooManyStacks(p.samples.stacks))
	}
	if p.more > 0 {
		p.problems.always(analysis.Problem{Offset: -1, Severity: analysis.Warning,
			What: fmt.Sprintf("the file holds %d profiles more than %d, which are not read", p.more, maxProfiles),
			Why:  "so many snapshots of one file are more than a page can compare",
			Hint: "split the file and add the rest to the case"})
	}
	switch {
	case err != nil || len(p.profiles) > 0:
	case len(p.others) > 0:
		err = otherProfile(strings.Join(p.others, ", "))
	case p.refused > 0:
		err = unreadable("none of its messages is one of OTLP profiles", nil)
	default:
		err = unreadable("it holds no profile", nil)
	}
	return p.profiles, p.problems.all(), err
}

type otlpParser struct {
	in       *bufio.Reader
	problems problems
	visit    func(*Record) error
	profiles []Profile
	// samples reads those of each profile, once it is converted.
	samples protoParser
	// others are the types of profiles that count something else.
	others []string
	// message counts from 1, offset is its begin.
	message, offset int64
	refused, more   int
}

func (p *otlpParser) run() error {
	first, _ := p.in.Peek(1)
	lines := len(first) > 0 && first[0] == '{'
	for {
		at := p.offset
		message, err := p.next(lines)
		if err == io.EOF {
			return nil
		}
		p.message++
		var cut *cutMessage
		if errors.As(err, &cut) {
			p.refuse(at, cut.why)
			return nil
		}
		if err != nil {
			return err
		}
		decoded, err := decodeOTLP(message, lines)
		if err != nil {
			p.refuse(at, err.Error())
			continue
		}
		if err := p.all(decoded, at); err != nil {
			return err
		}
	}
}

// cutMessage ends a file: what follows cannot be found.
type cutMessage struct{ why string }

func (c *cutMessage) Error() string { return c.why }

// next returns a message, io.EOF after the last one.
func (p *otlpParser) next(lines bool) ([]byte, error) {
	if lines {
		return p.line()
	}
	var prefix [4]byte
	n, err := io.ReadFull(p.in, prefix[:])
	p.offset += int64(n)
	if err == io.ErrUnexpectedEOF {
		return nil, &cutMessage{"the file ends inside the length of a message"}
	}
	if err != nil {
		return nil, err
	}
	length := int64(binary.BigEndian.Uint32(prefix[:]))
	if length > maxMessage {
		return nil, &cutMessage{fmt.Sprintf("a message of %d bytes is longer than is read", length)}
	}
	message, err := io.ReadAll(io.LimitReader(p.in, length))
	p.offset += int64(len(message))
	if err == nil && int64(len(message)) < length {
		return nil, &cutMessage{fmt.Sprintf("the file ends after %d of %d bytes of a message", len(message), length)}
	}
	return message, err
}

// line returns the next line that is not blank.
func (p *otlpParser) line() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := p.in.ReadSlice('\n')
			p.offset += int64(len(part))
			if len(line)+len(part) > maxMessage {
				return nil, &cutMessage{fmt.Sprintf("a line is longer than %d bytes", maxMessage)}
			}
			line = append(line, part...)
			if err == bufio.ErrBufferFull {
				continue
			}
			if err != nil && (err != io.EOF || len(line) == 0) {
				return nil, err
			}
			break
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (p *otlpParser) refuse(at int64, why string) {
	p.refused++
	p.problems.add(analysis.Problem{
		Line: p.message, Offset: at, Severity: analysis.Warning,
		What: fmt.Sprintf("message %d of the file was not understood", p.message),
		Why:  validText([]byte(firstLine(why))),
		Hint: "its profiles are missing: copy the file again after the collector has closed it",
	})
}

// decodeOTLP decodes one message. The decoder is foreign code that sees hostile input.
func decodeOTLP(message []byte, json bool) (decoded pprofile.Profiles, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the decoder gave up: %v", r)
		}
	}()
	if json {
		return (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles(message)
	}
	return (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
}

// all reads the profiles of a message.
func (p *otlpParser) all(decoded pprofile.Profiles, at int64) error {
	tables := otlpTables{ProfilesDictionary: decoded.Dictionary()}
	for _, resource := range decoded.ResourceProfiles().All() {
		of := resourceOf(resource.Resource().Attributes())
		for _, scope := range resource.ScopeProfiles().All() {
			for _, one := range scope.Profiles().All() {
				if err := p.one(&tables, one, of, at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// resourceOf is the process that a resource names, by the semantic conventions of
// OpenTelemetry (service.name, process.pid, host.name).
func resourceOf(attributes pcommon.Map) (of Resource) {
	text := func(names ...string) string {
		for _, name := range names {
			if v, ok := attributes.Get(name); ok && v.AsString() != "" {
				return validText([]byte(v.AsString()))
			}
		}
		return ""
	}
	of.Process = text("process.executable.name", "service.name")
	of.Host = text("host.name")
	of.PID, _ = strconv.Atoi(text("process.pid"))
	of.PID = max(0, of.PID)
	return of
}

func (p *otlpParser) one(tables *otlpTables, one pprofile.Profile, of Resource, at int64) error {
	kind := tables.text(one.SampleType().TypeStrindex())
	if kind != sampleGoroutine && kind != SampleGoroutineLeak {
		if kind = validText([]byte(kind[:min(len(kind), 64)])); len(p.others) < 10 && !slices.Contains(p.others, kind) {
			p.others = append(p.others, kind)
		}
		return nil
	}
	if len(p.profiles) == maxProfiles {
		p.more++
		return nil
	}
	converted, err := tables.convert(one)
	if err != nil {
		p.refuse(at, err.Error())
		return nil
	}
	number := len(p.profiles)
	p.samples.profile = Profile{}
	p.samples.problems = problems{path: p.problems.path, max: p.problems.max - len(p.problems.list)}
	p.samples.visit = func(r *Record) error {
		r.Profile = number
		if p.visit == nil {
			return nil
		}
		return p.visit(r)
	}
	err = p.samples.run(converted)
	for _, found := range p.samples.problems.all() {
		p.problems.add(found)
	}
	f := p.samples.profile
	f.Total, f.Resource, f.Line, f.Offset = f.Sum, of, p.message, at
	p.profiles = append(p.profiles, f)
	return err
}

// otlpTables are what the profiles of a message refer to by index. An index out of range
// is that of nothing, as 0 is.
type otlpTables struct {
	pprofile.ProfilesDictionary
	locations map[int32]*profile.Location
	functions map[int32]*profile.Function
	mappings  map[int32]*profile.Mapping
	// expanded counts the frames of the samples of all profiles of the message.
	expanded int
}

func (t *otlpTables) text(i int32) string {
	if i < 0 || int(i) >= t.StringTable().Len() {
		return ""
	}
	return t.StringTable().At(int(i))
}

// convert makes the profile that the samples came from (opentelemetry-proto,
// profiles/v1development/profiles.proto).
func (t *otlpTables) convert(one pprofile.Profile) (*profile.Profile, error) {
	out := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: t.text(one.SampleType().TypeStrindex()), Unit: t.text(one.SampleType().UnitStrindex())}},
		TimeNanos:  int64(one.Time()),
	}
	if t.locations == nil {
		t.locations, t.functions, t.mappings = map[int32]*profile.Location{}, map[int32]*profile.Function{}, map[int32]*profile.Mapping{}
	}
	for _, s := range one.Samples().All() {
		sample := &profile.Sample{Value: []int64{int64(s.TimestampsUnixNano().Len())}}
		if values := s.Values().AsRaw(); len(values) > 0 {
			sample.Value[0] = 0
			for _, v := range values {
				sample.Value[0] += v
			}
		}
		if i := int(s.StackIndex()); i > 0 && i < t.StackTable().Len() {
			indices := t.StackTable().At(i).LocationIndices()
			if t.expanded += indices.Len(); t.expanded > maxExpanded {
				return nil, fmt.Errorf("its samples have more than %d frames", maxExpanded)
			}
			for _, at := range indices.All() {
				if location := t.location(at); location != nil {
					sample.Location = append(sample.Location, location)
				}
			}
		}
		sample.Label = t.labels(s.AttributeIndices())
		out.Sample = append(out.Sample, sample)
		if len(out.Mapping) == 0 && len(sample.Location) > 0 && sample.Location[0].Mapping != nil {
			out.Mapping = append(out.Mapping, sample.Location[0].Mapping)
		}
	}
	return out, nil
}

func (t *otlpTables) location(i int32) *profile.Location {
	if known, ok := t.locations[i]; ok {
		return known
	}
	if i <= 0 || int(i) >= t.LocationTable().Len() {
		return nil
	}
	in := t.LocationTable().At(int(i))
	out := &profile.Location{Address: in.Address(), Mapping: t.mapping(in.MappingIndex())}
	for _, line := range in.Lines().All() {
		out.Line = append(out.Line, profile.Line{Function: t.function(line.FunctionIndex()), Line: line.Line()})
	}
	t.locations[i] = out
	return out
}

func (t *otlpTables) function(i int32) *profile.Function {
	if known, ok := t.functions[i]; ok {
		return known
	}
	if i <= 0 || int(i) >= t.FunctionTable().Len() {
		return nil
	}
	in := t.FunctionTable().At(int(i))
	out := &profile.Function{Name: t.text(in.NameStrindex()), Filename: t.text(in.FilenameStrindex())}
	t.functions[i] = out
	return out
}

func (t *otlpTables) mapping(i int32) *profile.Mapping {
	if known, ok := t.mappings[i]; ok {
		return known
	}
	if i <= 0 || int(i) >= t.MappingTable().Len() {
		return nil
	}
	in := t.MappingTable().At(int(i))
	out := &profile.Mapping{File: t.text(in.FilenameStrindex())}
	for _, at := range in.AttributeIndices().All() {
		if key, value := t.attribute(at); key == "process.executable.build_id.gnu" {
			out.BuildID = value
		}
	}
	t.mappings[i] = out
	return out
}

// attribute returns the key and the value of one, "" if there is none.
func (t *otlpTables) attribute(i int32) (key, value string) {
	if i <= 0 || int(i) >= t.AttributeTable().Len() {
		return "", ""
	}
	in := t.AttributeTable().At(int(i))
	return t.text(in.KeyStrindex()), in.Value().AsString()
}

func (t *otlpTables) labels(indices pcommon.Int32Slice) map[string][]string {
	var out map[string][]string
	for _, i := range indices.All() {
		key, value := t.attribute(i)
		if key == "" {
			continue
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[key] = append(out[key], value)
	}
	return out
}
