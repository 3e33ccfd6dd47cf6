package view

import (
	"strconv"
	"strings"

	"leakdiff/analysis/say/document"
)

// AnswerDo is the next step.
type AnswerDo struct {
	Text, Command string
	// Link is the page that takes what the step asks for, LinkText the words of the press.
	Link     string `json:",omitempty"`
	LinkText string `json:",omitempty"`
	// Ours is the snapshot by which a reader says there that the program is their own, "" where it is
	// not asked, or not without a key.
	Ours string `json:",omitempty"`
	// Then are the steps after it.
	Then []AnswerDo `json:",omitempty"`
}

// commandWidth is how wide a command is on the page, in characters.
const commandWidth = 42

// Lines is the command in lines that a shell reads as one.
func (d AnswerDo) Lines() string {
	if strings.Contains(d.Command, "\n") {
		return d.Command
	}
	var b strings.Builder
	width := 0
	for i, word := range strings.Split(d.Command, " ") {
		n := len([]rune(word))
		switch {
		case i > 0 && width+1+n+2 > commandWidth && !strings.ContainsAny(d.Command, `'"`):
			b.WriteString(" \\\n  ")
			width = 2
		case i > 0:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// blocks are the next step, with its command to copy.
func (d *AnswerDo) blocks() document.Blocks {
	if d == nil {
		return nil
	}
	copied := "do-text"
	if d.Command != "" && len(d.Then) == 0 {
		copied = "do-command"
	}
	out := document.Group{Role: "section", Look: "dofirst", LabelledBy: "h-do"}
	out.Add(document.Group{Look: "dh", Blocks: document.Blocks{document.Heading{Level: 2, ID: "h-do", Text: document.Words("Do this")}, copyPress(copied)}})
	if len(d.Then) > 0 {
		steps := document.Group{ID: "do-text", Look: "dosteps"}
		for i, step := range append([]AnswerDo{*d}, d.Then...) {
			steps.Add(document.Paragraph{Text: document.Words(strconv.Itoa(i+1) + ". " + step.Text)})
			if step.Command != "" {
				steps.Add(document.Code{Label: "Command", Lines: strings.Split(step.Lines(), "\n")})
			}
		}
		out.Add(steps)
		out.Add(d.asked()...)
		return document.Blocks{out}
	}
	if d.Text != "" {
		out.Add(document.Paragraph{ID: "do-text", Text: document.Words(d.Text)})
	}
	if d.Command != "" {
		out.Add(document.Code{ID: "do-command", Label: "Command", Lines: strings.Split(d.Lines(), "\n")})
	}
	out.Add(d.asked()...)
	return document.Blocks{out}
}

// asked is what the reader can say to get other steps: what was counted, or that the program is their
// own where the steps are for those who run it.
func (d *AnswerDo) asked() document.Blocks {
	if d.Link == "" {
		return nil
	}
	var ask document.Block = document.Paragraph{Look: "act", Text: document.Text{document.LinkButton("btn", d.Link, d.LinkText)}}
	if d.Ours != "" {
		ask = document.Form{Post: true, Action: d.Link, Blocks: document.Blocks{
			document.Hide("kind", "ours"), document.Hide("target", "series:"+d.Ours), document.Press{Look: "link", Text: d.LinkText},
		}}
	}
	return document.Blocks{document.PageOnly{Blocks: document.Blocks{ask}}}
}
