package analysis

import (
	"encoding/json"
	"strings"
)

// Fault is the form of every refusal: what, where, why and what to do. Code is for
// machines ("too_large", "unreadable", "not_found", "busy").
type Fault struct {
	Code  string
	What  string
	Where string
	Why   string
	Hint  string
	Err   error
}

func (f *Fault) Error() string {
	var parts []string
	if f.Where != "" {
		parts = append(parts, f.Where+":")
	}
	parts = append(parts, f.What)
	if f.Why != "" {
		parts = append(parts, "("+f.Why+")")
	}
	text := strings.Join(parts, " ")
	if f.Hint != "" {
		text += ". " + f.Hint
	}
	return text
}

func (f *Fault) Unwrap() error { return f.Err }

// problemJSON is a problem in the public contract: null for a line or an offset that
// does not apply, and the artifact's path under both of its names.
type problemJSON struct {
	Path     string      `json:"path"`
	Artifact string      `json:"artifact"`
	Line     *int64      `json:"line"`
	Offset   *int64      `json:"offset"`
	Severity Severity    `json:"severity"`
	Code     ProblemCode `json:"code,omitempty"`
	What     string      `json:"what"`
	Why      string      `json:"why"`
	Hint     string      `json:"hint"`
}

// MarshalJSON writes the problem in the form of the contract.
func (p Problem) MarshalJSON() ([]byte, error) {
	out := problemJSON{Path: p.Path, Artifact: p.Path, Severity: p.Severity, Code: p.Code, What: p.What, Why: p.Why, Hint: p.Hint}
	if p.Line > 0 {
		out.Line = &p.Line
	}
	if p.Offset >= 0 {
		out.Offset = &p.Offset
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Problem) UnmarshalJSON(text []byte) error {
	var in problemJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*p = Problem{Path: in.Path, Offset: -1, Severity: in.Severity, Code: in.Code, What: in.What, Why: in.Why, Hint: in.Hint}
	if in.Line != nil {
		p.Line = *in.Line
	}
	if in.Offset != nil {
		p.Offset = *in.Offset
	}
	return nil
}
