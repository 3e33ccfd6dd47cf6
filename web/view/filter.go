package view

import (
	"errors"
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/say/filter"
	"leakdiff/analysis/say/wording"
)

// FilterBox is the box in which families are asked for, with what is wrong with its
// text.
type FilterBox struct {
	// Text is as it was typed. Hidden are the other parts of the address.
	Text   string
	Hidden []Pair
	// Anchor is where the page with the answer opens, empty for its top.
	Anchor string
	// Error says what was not understood; Before is the text in front of it, Wrong
	// the rest.
	Error, Hint   string
	Column        int
	Before, Wrong string
	// Note says how many families pass, or what the page cannot know.
	Note string
}

// maxShownFilter is how much of a refused filter is printed again.
const maxShownFilter = 200

// newFilterBox reads the text of a filter. Where it is not understood the filter
// lets everything pass and the box says so.
func newFilterBox(text string) (filter.Filter, FilterBox) {
	text = strings.TrimSpace(text)
	box := FilterBox{Text: Visible(text)}
	f, err := filter.Parse(text)
	var wrong *filter.Error
	switch {
	case err == nil:
	case errors.As(err, &wrong):
		runes := []rune(text)
		at := min(wrong.Column-1, len(runes))
		box.Error, box.Hint, box.Column = Visible(capital(wrong.Said())), Visible(capital(wrong.Hint)), wrong.Column
		box.Before, box.Wrong = Visible(string(runes[max(0, at-maxShownFilter):at])), Visible(string(runes[at:min(len(runes), at+maxShownFilter)]))
	default:
		box.Error = "The filter was not understood."
	}
	return f, box
}

// passed notes how many families a filter lets pass.
func (b *FilterBox) passed(n, of int) {
	if b.Text == "" || b.Error != "" {
		return
	}
	b.Note = strings.TrimSpace(fmt.Sprintf("%s of %s pass. ", wording.Number(int64(n)), wording.PagePlural(int64(of), "family", "families")) + b.Note)
}

// unknown notes the fields of a filter of which the page knows nothing.
func (b *FilterBox) unknown(f filter.Filter, why string, fields ...filter.Field) {
	var asked []string
	for _, field := range fields {
		if f.Uses(field) {
			asked = append(asked, string(field))
		}
	}
	if len(asked) > 0 {
		b.Note = strings.TrimSpace(b.Note + " Nothing is known of " + wording.List(asked, len(asked)) + ": " + why + ".")
	}
}

// nothing says that no family passes a filter.
func (b *FilterBox) nothing() string { return "No family passes the filter “" + b.Text + "”." }

// filterFault is the refusal of a filter where there is no page to say it on.
func filterFault(err error) error {
	fault := &analysis.Fault{Code: "bad_request", What: "the filter was not understood", Err: err}
	var wrong *filter.Error
	if errors.As(err, &wrong) {
		fault.Where, fault.Why, fault.Hint = fmt.Sprintf("q, column %d", wrong.Column), wrong.Said(), wrong.Hint
	}
	return fault
}
