package analysis

import "strings"

// Fault is a refusal in the form every one takes: what, where, why and what to
// do. Code is for machines ("too_large", "unreadable", "not_found", "busy").
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
