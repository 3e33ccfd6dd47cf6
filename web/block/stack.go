package block

import "leakdiff/analysis/say/document"

// stackBlocks are a stack as a page has it: its caption with a button that copies it, the
// frames with file and line at the right and own code with an edge, and the note.
func stackBlocks(s *document.Stack) document.Blocks {
	frames := frameList(s.Frames)
	copies := document.Press{Look: "btn needs-js", Type: "button", Copy: s.ID}
	if s.ID != "" {
		copies.Copied = s.Copied()
	}
	switch {
	case s.Caption == "" && copies.Copied == "":
		return document.Blocks{frames}
	case s.Caption == "":
		copies.Text = "Copy this stack"
		return document.Blocks{document.Line{Look: "act needs-js", Blocks: document.Blocks{copies}}, frames}
	}
	caption := document.Words(s.Caption)
	if s.ID != "" {
		caption = document.Text{document.Marked("cap", s.Caption), document.Plain(" ")}
	}
	if s.HasOwn() {
		if s.ID == "" {
			caption = append(caption, document.Plain(" "))
		}
		caption = append(caption, document.Marked("ownkey", "own code"))
	}
	out := document.Group{Look: "stk"}
	if s.ID == "" {
		out.Add(document.Paragraph{Look: "note", Text: caption})
	} else {
		copies.Look, copies.Text = "btn copy needs-js", "Copy"
		out.Add(document.Line{Look: "note", Blocks: document.Blocks{caption, copies}})
	}
	out.Add(frames)
	out.Say("note", s.Note)
	return document.Blocks{out}
}

func frameList(frames []document.Frame) document.List {
	out := document.List{Look: "stacks one", Ordered: true}
	for i := range frames {
		if f := &frames[i]; f.Folded != nil {
			out.Items = append(out.Items, document.Item{Blocks: document.Blocks{document.Fold{
				Look: "foldrun", SummaryLook: "fr", Summary: document.Text{document.Made("m"), document.Marked("foldt", f.Fold)}, Blocks: document.Blocks{frameList(f.Folded)},
			}}})
		} else {
			out.Items = append(out.Items, frameItem(f))
		}
	}
	return out
}

// frameItem is a line of a stack: the function, and where in the source it stands.
func frameItem(f *document.Frame) document.Item {
	look := "fr"
	var called document.Text
	if f.Own {
		look, called = look+" own", append(called, document.Marked(document.Hidden, "own code:"), document.Plain(" "))
	}
	if f.Creator {
		look, called = look+" cr", append(called, document.Plain("created by "))
	}
	called = append(called, document.Marked(document.Function, f.Function))
	return document.Item{Look: document.Look(look), Blocks: document.Blocks{document.Text{document.Made("m"), document.Made("ff", called...), document.Made("loc", f.Source())}}}
}
