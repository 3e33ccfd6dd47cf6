package view

import "strings"

// text writes the stack pair as a unified diff.
func (d *DiffDetail) text() []string {
	var out []string
	one := func(mark string, f *FrameLine, creator bool) {
		if f == nil {
			return
		}
		s := mark + " " + f.Func.Full
		if creator {
			s = mark + " created by " + f.Func.Full
		}
		if f.Loc != "" {
			s += "  " + f.Loc
		}
		out = append(out, s)
	}
	for _, run := range d.Stack {
		for _, l := range run.Lines {
			switch l.Mark {
			case "same":
				one(" ", l.A, l.Creator)
			case "chg":
				one("~", l.B, l.Creator)
			default:
				one("-", l.A, l.Creator)
				one("+", l.B, l.Creator)
			}
		}
	}
	return out
}

// verdictWord is a verdict in words: "too_few_points" gives "too few points".
func verdictWord(v string) string {
	if v == "" {
		return "not judged"
	}
	return strings.ReplaceAll(v, "_", " ")
}
