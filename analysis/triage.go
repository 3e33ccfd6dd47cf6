package analysis

import "time"

// TriageState is what a person decided about a family.
type TriageState string

// The states of triage. Benign needs a reason and holds for every process of the
// name from then on; the others belong to one case.
const (
	Unreviewed     TriageState = ""
	Reviewed       TriageState = "reviewed"
	Benign         TriageState = "benign"
	MarkedSuspect  TriageState = "suspicious"
	maxTriageNote              = 2000
	maxTriageWords             = 200
)

// Triage is what a person said about a family of a process.
type Triage struct {
	State TriageState `json:"state,omitempty"`
	// Note is the reason of a benign mark, or what the next reader shall know.
	Note string `json:"note,omitempty"`
	// Outcome is what it turned out to be: "fixed by upgrading to 1.30".
	Outcome string    `json:"outcome,omitempty"`
	At      time.Time `json:"at"`
	// Remembered says that the mark was made in another case.
	Remembered bool `json:"remembered,omitempty"`
}

// Empty reports whether nothing was said.
func (t Triage) Empty() bool { return t.State == Unreviewed && t.Note == "" && t.Outcome == "" }

// Words is the mark in a line: "benign: one per pod; outcome: none". Empty where nothing
// was said.
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

// Check refuses a mark that says too little or too much; the error is a *Fault with
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
