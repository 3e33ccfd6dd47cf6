package report

// Fact is one thing that an answer says below its sentence. Command is for a shell, URL for a
// browser.
type Fact struct {
	Name, Text   string
	Command, URL string
}

// The names of facts, as texts print them.
const (
	proofFact   = "Proof"
	stateFact   = "State"
	sinceFact   = "Since"
	untilFact   = "Until"
	paceFact    = "Pace"
	limitFact   = "Limit"
	besideFact  = "Beside"
	growingFact = "Growing"
	causeFact   = "Cause"
	versionFact = "Versions"
	fixFact     = "Fix"
	doFact      = "Do"
	alsoFact    = "Also"
	seenFact    = "Seen in"
	chainFact   = "Chain"
)

// Facts lists what the answer says, each fact once and in the order of every form. A form prints
// the facts that it has room for.
func (r *Report) Facts() []Fact {
	d := &r.Diagnosis
	var out []Fact
	add := func(name, text string) {
		if text != "" {
			out = append(out, Fact{Name: name, Text: text})
		}
	}
	first := proofFact
	if State(d.State).ofOneDump() {
		first = stateFact
	}
	add(first, d.Proof)
	add(sinceFact, d.Since)
	add(untilFact, d.Until)
	add(paceFact, d.Rate)
	add(limitFact, d.Limit)
	add(besideFact, d.Beside)
	add(growingFact, d.Growth.text())
	add(causeFact, d.Cause.text())
	add(chainFact, chainLine(d))
	f := r.lead()
	if k := likeness(f); k != nil {
		out = append(out, Fact{Name: "Looks like", Text: k.Title, URL: link(k.Reference)})
	}
	if f != nil && f.Versions != nil {
		add(versionFact, f.Versions.Text)
		if f.Versions.Fix != nil {
			add(fixFact, f.Versions.Fix.Text)
		}
	}
	for i, step := range d.Steps {
		out = append(out, Fact{Name: doFact, Text: d.numbered(i), Command: step.Command})
	}
	for _, also := range d.Also {
		add(alsoFact, also)
	}
	return out
}

// text joins the word and its reason, "" for nil.
func (c *Certainty) text() string {
	if c == nil {
		return ""
	}
	return c.Word + ", " + c.Reason
}

// lead is the finding that the diagnosis is about, nil where nothing grew.
func (r *Report) lead() *Finding {
	if d := &r.Diagnosis; d.Series != nil && *d.Series < len(r.Series) {
		return r.Series[*d.Series].finding(d.Finding)
	}
	return nil
}
