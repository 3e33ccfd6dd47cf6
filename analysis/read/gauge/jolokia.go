package gauge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/expression"
	"leakdiff/analysis/read/envelope"
	"leakdiff/analysis/read/line"
)

// IsJolokia reports whether a JSON text is an answer of Jolokia, the HTTP bridge of JMX, or a list
// of them (jolokia.org, "Jolokia Protocol").
func IsJolokia(text []byte) bool { return jolokiaHead.Match(text) }

var (
	jolokiaHead = expression.Lazy(`(?s)^\s*\[?\s*\{.{0,200}?"request":\s*\{[^}]{0,500}?"mbean":`)
	targetHost  = expression.Lazy(`(?:^|[a-z]:)//([\w.-]+)`)
	beanName    = expression.Lazy(`[:,]name=([^,]+)`)
)

// mostJolokia bounds the answers of one text in bytes: one has some hundred.
const mostJolokia = 32 << 20

// jolokiaAnswer is the answer to the request of one bean. Its value is a number, or an object of
// attributes.
type jolokiaAnswer struct {
	Request struct {
		MBean string `json:"mbean"`
		// Target is the process that a proxy asked.
		Target struct {
			URL string `json:"url"`
		} `json:"target"`
		Attribute json.RawMessage `json:"attribute"`
	} `json:"request"`
	Value     json.RawMessage `json:"value"`
	Timestamp int64           `json:"timestamp"`
	// Status is 200 for an answer, 0 where it is left out.
	Status int `json:"status"`
}

// ParseJolokia reads answers of Jolokia, one after another or in a list: numbers whose attribute or
// bean the table knows. At most most points are kept, the first ones. The error is that of r.
func ParseJolokia(r io.Reader, name string, _ time.Time, most int) (out Samples, problems []analysis.Problem, err error) {
	found := &line.Problems{Path: name}
	d := json.NewDecoder(io.LimitReader(r, mostJolokia))
	p := parser{seen: map[key]bool{}}
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); err == io.EOF {
			break
		} else if syntax := new(json.SyntaxError); err == io.ErrUnexpectedEOF || errors.As(err, &syntax) {
			found.Add(analysis.Error, line.Line{}, "an answer of Jolokia is not whole", err.Error(), fmt.Sprintf("save the whole answer, of at most %d MiB", mostJolokia>>20))
			break
		} else if err != nil {
			return out, found.All(), fmt.Errorf("%s: %w", name, err)
		}
		var list []jolokiaAnswer
		if json.Unmarshal(raw, &list) != nil {
			list = make([]jolokiaAnswer, 1)
			if json.Unmarshal(raw, &list[0]) != nil {
				out.Refused++
				continue
			}
		}
		offset := d.InputOffset() - int64(len(raw))
		for i := range list {
			samples := list[i].samples()
			if len(samples) == 0 {
				out.Refused++
			}
			for _, s := range samples {
				if p.begins(s) {
					if out.Points == most {
						found.Add(analysis.Warning, line.Line{}, "answers of Jolokia were left out", "the text has more than one series has captures", "split the text")
						return out, found.All(), nil
					}
					out.Begins = append(out.Begins, offset)
					out.Points++
				}
				s.Point, s.Offset = out.Points-1, offset
				out.All = append(out.All, s)
			}
		}
	}
	if out.Refused > 0 {
		found.Add(analysis.Note, line.Line{}, "answers of Jolokia were not read", fmt.Sprintf("%d failed or have no number that is known", out.Refused), "nothing: the other answers were read")
	}
	out.Every = 1
	return out, found.All(), nil
}

// samples are the numbers of an answer that the table knows.
func (a *jolokiaAnswer) samples() (out []Sample) {
	if a.Status != 0 && a.Status != 200 {
		return nil
	}
	add := func(label string, raw json.RawMessage) {
		figure := ofLabel(label)
		if v, ok := number(strings.TrimSpace(string(raw))); ok && figure != "" {
			s := Sample{Figure: figure, Value: v}
			if m := targetHost.FindStringSubmatch(a.Request.Target.URL); m != nil {
				s.Owner.Host = m[1]
			}
			if a.Timestamp > 0 {
				s.Stamp = envelope.Stamp{Time: time.Unix(a.Timestamp, 0).UTC()}
			}
			out = append(out, s)
		}
	}
	var attribute string
	json.Unmarshal(a.Request.Attribute, &attribute)
	add(attribute, a.Value)
	if m := beanName.FindStringSubmatch(a.Request.MBean); m != nil {
		add(m[1], a.Value)
	}
	var attributes map[string]json.RawMessage
	if json.Unmarshal(a.Value, &attributes) == nil {
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			add(name, attributes[name])
		}
	}
	return out
}
