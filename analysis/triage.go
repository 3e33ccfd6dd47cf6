package analysis

import "time"

// TriageState is a person's decision about a family.
type TriageState string

// The states of triage. Benign needs a reason and from then on applies to every process
// of the name. The others apply to one case.
const (
	Unreviewed     TriageState = ""
	Reviewed       TriageState = "reviewed"
	Benign         TriageState = "benign"
	MarkedSuspect  TriageState = "suspicious"
	maxTriageNote              = 2000
	maxTriageWords             = 200
)

// Triage is what a person entered about a family of a process.
type Triage struct {
	State TriageState `json:"state,omitempty"`
	// Note is the reason of a benign mark, or a note to the next reader.
	Note string `json:"note,omitempty"`
	// Outcome is how it ended: "fixed by upgrading to 1.30".
	Outcome string    `json:"outcome,omitempty"`
	At      time.Time `json:"at"`
	// Remembered reports that the mark was made in another case.
	Remembered bool `json:"remembered,omitempty"`
}

// Empty reports whether nothing was entered.
func (t Triage) Empty() bool { return t.State == Unreviewed && t.Note == "" && t.Outcome == "" }

// Words is the mark in one line: "benign: one per pod; outcome: none". It is empty if
// nothing was entered.
func (t Triage) Words() string {
	if t.Empty() {
		return ""
	}
	words := string(t.State)
	if t.State == Unreviewed {
		words = "unreviewed"
	}
	if t.Note != "" {
		words += ": " + t.Note
	}
	if t.Outcome != "" {
		words += "; outcome: " + t.Outcome
	}
	return words
}

// Check refuses a mark that has too little or too much text. The error is a *Fault with
// Code "invalid".
func (t Triage) Check() error {
	bad := func(what, why, hint string) error {
		return &Fault{Code: "invalid", What: what, Where: string(t.State), Why: why, Hint: hint}
	}
	switch t.State {
	case Unreviewed, Reviewed, MarkedSuspect:
	case Benign:
		if t.Note == "" {
			return bad("a family is benign for a reason", "the note is empty", "say why it is harmless; the reason is shown wherever this process has the family")
		}
	default:
		return bad("this state of triage is not known", "it is none of reviewed, benign and suspicious", "use one of these, or nothing for unreviewed")
	}
	if len(t.Note) > maxTriageNote || len(t.Outcome) > maxTriageWords {
		return bad("the note or outcome is too long", "a note has at most 2000 bytes, an outcome 200", "keep the sentence that the next reader needs and put the rest into the ticket")
	}
	return nil
}
