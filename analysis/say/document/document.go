// Package document holds what a page says: blocks in reading order, without markup and
// without a look. One writer per form prints them: HTML in web/block; Markdown, Jira markup
// and plain text here. It takes strings that are ready to print, and knows no report.
//
// Nothing of a bundle reaches a form but as text, so that a hostile name can neither leave
// its cell nor become a link.
package document

// Document is a page, or the text twin of one.
type Document struct{ Blocks }

// Block is one piece of a document. A writer knows the blocks by their types and leaves out
// what its form cannot show: a text has no forms to fill in and no drawings.
type Block interface{ block() }

// Blocks are a document or what stands inside of a block.
type Blocks []Block

// Look says what a block or a span of words is among its kind: a lead, a note, a warning.
// Pages draw it; texts do not.
type Look = string

// Heading is a heading of level 1 to 4.
type Heading struct {
	Level int
	Text  Text
	ID    string
	Look  Look
}

// Paragraph is a sentence or some of them.
type Paragraph struct {
	Text Text
	ID   string
	Look Look
	// Role is "alert" or "status" for what a reader must be told at once. Silent says that
	// assistive technology reads the same elsewhere.
	Role   string
	Silent bool
}

// Notice is a sentence that qualifies what follows, behind a word such as "Mind".
type Notice struct {
	Word string
	Text Text
	Role string
}

// List is a list of items, ordered if their order matters. Start is the number of the first.
type List struct {
	Look    Look
	Label   string
	Ordered bool
	Start   int
	Items   []Item
}

// Item is one entry of a list.
type Item struct {
	ID   string
	Look Look
	Blocks
}

// Terms is a list of names with what is said of each.
type Terms struct {
	Look Look
	Rows []Term
}

// Term is one name. Look is that of its value.
type Term struct {
	ID   string
	Name Text
	Look Look
	Blocks
}

// Figures are key figures, large, each with its word.
type Figures struct{ Rows []Figure }

// Figure is one key figure.
type Figure struct{ Value, Text string }

// Table is a table. Its text form has the columns from Numeric on right-aligned.
type Table struct {
	Look    Look
	Caption string
	// Label is for tables that scroll in a region of their own; the caption is then for
	// assistive technology alone, unless it is Shown. Unseen says the same of other tables.
	Label         string
	Shown, Unseen bool
	Numeric       int
	Head          []Cell
	Parts         []Part
}

// Part is a group of rows.
type Part struct {
	Look Look
	Rows []Row
}

// Row is one row of a table.
type Row struct {
	ID, Look Look
	Cells    []Cell
}

// Cell is one cell: words without a mark, a text behind them, or blocks in their place.
type Cell struct {
	Words  string
	Text   Text
	Blocks Blocks
	Look   Look
	// Header says that the cell names its row; Group that it names a group of rows.
	Header, Group bool
	// Name is the column's word, for narrow pages that show rows as lists.
	Name string
	ID   string
	// Title is what a pointer resting on it shows.
	Title string
	// Span is how many columns it takes, 0 for one. Sort is the order of the column:
	// ascending, descending or nothing.
	Span int
	Sort string
}

// Code is text that is shown as it is: a command, a stack, raw lines.
type Code struct {
	Lines []string
	// Label names it for assistive technology.
	Label string
}

// Section is a part of a page with its heading. ID is that of the heading, Anchor that of
// the whole. Note stands beside the heading, End at the far side.
type Section struct {
	ID, Anchor  string
	Title, Note Text
	End         Blocks
	Look        Look
	Blocks
}

// NewSection is a section with words for its heading and its note.
func NewSection(id, title, note string, blocks ...Block) Section {
	return Section{Look: "block", ID: id, Title: Words(title), Note: Words(note), Blocks: blocks}
}

// Group holds blocks together. Role is navigation, complementary, header, section, figure or
// the caption of one, empty mostly. Label names it, or the element with the id LabelledBy.
type Group struct {
	ID, Look, Role, Label string
	LabelledBy            string
	// Events and Poll are addresses for the script that keeps the group up to date.
	Events, Poll string
	Blocks
}

// Line is a paragraph of controls and words: buttons side by side.
type Line struct {
	Look Look
	Blocks
}

// Fold is opened by its summary. Of folds with one Name only one is open.
type Fold struct {
	ID, Look, Name string
	Open           bool
	Summary        Text
	// SummaryLook, SummaryID, Title and Key are those of the summary.
	SummaryLook, SummaryID, Title, Key string
	Blocks
}

// Problems are groups of problems, each with its places.
type Problems struct {
	Look Look
	List []Problem
}

// Problem is something not understood or not believed.
type Problem struct {
	Severity, What, More, Why, Hint string
	Count                           int
	// Where are the first places, linked to their raw lines.
	Where []Span
}

// Drawing is a chart, which pages draw. Texts say Text of it, nothing mostly.
type Drawing struct {
	Chart any
	Text  string
}

// Tabs are a choice of one by links.
type Tabs struct {
	Label string
	Look  Look
	List  []Tab
}

// Tab is one of them. Key presses it, KeyLabel says what that does.
type Tab struct {
	Text, URL     string
	Current       bool
	Key, KeyLabel string
}

// PageOnly are blocks that a text leaves out, because a ticket is small.
type PageOnly struct{ Blocks }

// TextOnly are blocks that a page shows in another way.
type TextOnly struct{ Blocks }

func (Heading) block()   {}
func (Paragraph) block() {}
func (Notice) block()    {}
func (List) block()      {}
func (Terms) block()     {}
func (Figures) block()   {}
func (Table) block()     {}
func (Code) block()      {}
func (Section) block()   {}
func (Group) block()     {}
func (Line) block()      {}
func (Fold) block()      {}
func (Problems) block()  {}
func (Drawing) block()   {}
func (Tabs) block()      {}
func (PageOnly) block()  {}
func (TextOnly) block()  {}
func (Text) block()      {}

// Add adds blocks at the end.
func (b *Blocks) Add(more ...Block) { *b = append(*b, more...) }

// Heading adds a heading.
func (b *Blocks) Heading(level int, text string) {
	b.Add(Heading{Level: level, Text: Words(text)})
}

// Title adds the heading of a page.
func (b *Blocks) Title(text string) { b.Add(Heading{Level: 1, Look: "small", Text: Words(text)}) }

// Paragraph adds a sentence, if there is one.
func (b *Blocks) Paragraph(text string) {
	if text != "" {
		b.Add(Paragraph{Text: Words(text)})
	}
}

// Say adds a sentence with a look, if there is one.
func (b *Blocks) Say(look Look, text string) {
	if text != "" {
		b.Add(Paragraph{Look: look, Text: Words(text)})
	}
}

// Mind adds a sentence that qualifies what follows.
func (b *Blocks) Mind(text string) { b.Add(Notice{Word: "Mind", Text: Words(text)}) }

// Item adds an entry to the list at the end, or begins one.
func (b *Blocks) Item(text string) {
	entry := Item{Blocks: Blocks{Words(text)}}
	if n := len(*b); n > 0 {
		if l, ok := (*b)[n-1].(*openList); ok {
			l.Items = append(l.Items, entry)
			return
		}
	}
	b.Add(&openList{List{Items: []Item{entry}}})
}

// Gap ends the list at the end.
func (b *Blocks) Gap() { b.Add(gap{}) }

// Table adds a table of words whose columns from numeric on are figures.
func (b *Blocks) Table(numeric int, head []string, rows [][]string) {
	t := Table{Numeric: numeric, Head: cells(head), Parts: []Part{{Rows: make([]Row, len(rows))}}}
	for i, r := range rows {
		t.Parts[0].Rows[i] = Row{Cells: cells(r)}
	}
	b.Add(t)
}

func cells(words []string) []Cell {
	out := make([]Cell, len(words))
	for i, w := range words {
		out[i] = Cell{Words: w}
	}
	return out
}

// Fence adds lines that are shown as they are.
func (b *Blocks) Fence(lines []string) { b.Add(Code{Lines: lines}) }

// Note adds a sentence of the caller at the end.
func (d *Document) Note(text string) { d.Paragraph(text) }

// openList is a list to which items may be added, and which a gap ends.
type openList struct{ List }

type gap struct{}

func (gap) block() {}
