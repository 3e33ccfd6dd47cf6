package goroutine

import (
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// ParseProto reads the protobuf profile (debug=0), compressed by gzip or not, and hands
// each sample to visit. Inlined calls become frames of their own, leaf first;
// runtime.gopark and its like stay. The record is valid during the call only; its Stack
// and Labels remain valid.
//
// The error is that of r or of visit, or an *analysis.Fault: "other_profile" for a
// profile of something else (heap, cpu) or the difference of two, "too_large" beyond MaxProtoBytes, "unreadable"
// for bytes that are no profile.
func ParseProto(r io.Reader, cfg Config, visit func(*Record) error) (Profile, []analysis.Problem, error) {
	cfg = cfg.withDefaults()
	data, err := unpack(r, cfg.MaxProtoBytes)
	if err != nil {
		return Profile{}, nil, err
	}
	decoded, err := decode(data, cfg.MaxProtoBytes)
	if err != nil {
		return Profile{Bytes: int64(len(data))}, nil, err
	}
	p := &protoParser{
		stacks:   newStackTable(cfg),
		problems: problems{path: cfg.Path, max: cfg.MaxProblems},
		visit:    visit,
	}
	p.profile.Bytes = int64(len(data))
	err = p.run(decoded)
	p.profile.Total = p.profile.Sum
	if p.stacks.others > 0 {
		p.problems.always(tooManyStacks(p.stacks))
	}
	return p.profile, p.problems.all(), err
}

type protoParser struct {
	stacks   *stackTable
	problems problems
	visit    func(*Record) error
	profile  Profile
	key      []byte
}

func (p *protoParser) run(decoded *profile.Profile) error {
	value, err := sampleIndex(decoded)
	if err != nil {
		return err
	}
	if err := difference(decoded, value); err != nil {
		return err
	}
	f := &p.profile
	f.Sample = decoded.SampleType[value].Type
	if decoded.TimeNanos > 0 {
		f.Time = time.Unix(0, decoded.TimeNanos).UTC()
	}
	if len(decoded.Mapping) > 0 {
		f.Executable, f.BuildID = decoded.Mapping[0].File, decoded.Mapping[0].BuildID
	}
	f.Identified = p.identified(decoded, value)
	for _, sample := range decoded.Sample {
		found := p.stacks.get(p.keyOf(sample))
		record := Record{Count: clampCount(sample.Value[value]), Stack: found.stack, Labels: labelsOf(sample)}
		if f.Identified {
			record.Goroutine = goroutineOf(sample, found)
		}
		f.Records++
		f.Sum = add(f.Sum, record.Count)
		if p.visit == nil {
			continue
		}
		if err := p.visit(&record); err != nil {
			return err
		}
	}
	return nil
}

// difference refuses a profile with seconds= of net/http/pprof, or with -base of pprof. A
// count of an instant has no duration.
func difference(decoded *profile.Profile, value int) error {
	more, fewer := 0, 0
	for _, sample := range decoded.Sample {
		n := sample.Value[value]
		more, fewer = add(more, clampCount(n)), add(fewer, clampCount(-n))
	}
	if fewer == 0 && decoded.DurationNanos <= 0 {
		return nil
	}
	return differs(more, fewer, time.Duration(max(0, decoded.DurationNanos)))
}

// differs refuses what counts the goroutines between two captures, and none of an instant.
func differs(more, fewer int, over time.Duration) error {
	span := ""
	if over > 0 {
		span = " over " + wording.Duration(over)
	}
	return &analysis.Fault{
		Code: "other_profile",
		What: fmt.Sprintf("the profile is a difference%s: %d goroutines more in some stacks, %d fewer in others", span, more, fewer),
		Why:  "how many goroutines there were is not in it",
		Hint: "fetch /debug/pprof/goroutine?debug=2 twice, some minutes apart and without seconds=, and upload both",
	}
}

func (p *protoParser) negative(sample int) {
	p.problems.add(analysis.Problem{
		Offset: -1, Severity: analysis.Warning,
		What: fmt.Sprintf("sample %d has a negative count", sample),
		Why:  "the profile may be the difference of two; it was counted as 0",
		Hint: "upload the two profiles themselves",
	})
}

// keyOf expands a sample's locations to the key of a stack. A location without function
// keeps its address as a name, as debug=1 shows it.
func (p *protoParser) keyOf(sample *profile.Sample) []byte {
	p.key = p.key[:0]
	for _, location := range sample.Location {
		if len(p.key) > maxKey {
			p.key = append(p.key, markElided, '-', '1', '\n')
			break
		}
		if len(location.Line) == 0 {
			p.key = appendFrame(p.key, fmt.Appendf(nil, "0x%x", location.Address), nil)
		}
		for _, line := range location.Line {
			name, file := "", ""
			if line.Function != nil {
				name, file = line.Function.Name, line.Function.Filename
			}
			if name == "" {
				name = fmt.Sprintf("0x%x", location.Address)
			}
			p.key = appendFrame(p.key, []byte(name), fmt.Appendf(nil, "%s:%d", file, max(0, line.Line)))
			if len(p.key) > maxKey {
				break
			}
		}
	}
	return p.key
}

// labelsOf joins several values of one label with a comma. Those that the runtime wrote are
// left out.
func labelsOf(sample *profile.Sample) map[string]string {
	if len(sample.Label)+len(sample.NumLabel) == 0 {
		return nil
	}
	labels := map[string]string{}
	for key, values := range sample.NumLabel {
		if strings.HasPrefix(key, runtimeLabel) {
			continue
		}
		var texts []string
		for _, n := range values {
			texts = append(texts, strconv.FormatInt(n, 10))
		}
		labels[validText([]byte(key))] = strings.Join(texts, ",")
	}
	for key, values := range sample.Label {
		if strings.HasPrefix(key, runtimeLabel) {
			continue
		}
		labels[validText([]byte(key))] = validText([]byte(strings.Join(values, ",")))
	}
	return labels
}

// sampleIndex finds the value that counts goroutines.
func sampleIndex(decoded *profile.Profile) (int, error) {
	var types []string
	for i, t := range decoded.SampleType {
		if t.Type == sampleGoroutine || t.Type == SampleGoroutineLeak {
			return i, nil
		}
		types = append(types, t.Type)
	}
	sort.Strings(types)
	return 0, otherProfile(strings.Join(types, ", "))
}
