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
type Look string

// ID is a word of the page's own that nobody reads: where a link leads, what a script asks
// for. Looks and ids hold nothing of the evidence, and redaction leaves them.
type ID string

// Heading is a heading of level 1 to 4.
type Heading struct {
	Level int
	Text  Text
	ID    ID
	Look  Look
}

// Paragraph is a sentence or some of them.
type Paragraph struct {
	Text Text
	ID   ID
	Look Look
	// Role is "alert" or "status" for what a reader must be told at once. Silent says that
	// assistive technology reads the same elsewhere, Unseen that a script shows it.
	Role           ID
	Silent, Unseen bool
}

// Notice is a sentence that qualifies what follows, behind a word such as "Mind".
type Notice struct {
	Word string
	Text Text
	Role ID
}

// List is a list of items, ordered if their order matters. Start is the number of the first.
type List struct {
	Look    Look
	Label   string
	Ordered bool
	Start   int
	Items   []Item
	// Open says that what follows stands close to it.
	Open bool
}

// Item is one entry of a list.
type Item struct {
	ID   ID
	Look Look
	// Stage is the step of a work that the item stands for, for the script that follows it.
	Stage  ID
	Blocks `json:"Blocks"`
}

// Terms is a list of names with what is said of each.
type Terms struct {
	Look Look
	Rows []Term
}

// Term is one name. Look is that of its value. PageOnly says that texts leave it out.
type Term struct {
	ID       ID
	Name     Text
	Look     Look
	PageOnly bool
	Blocks   `json:"Blocks"`
}

// Figures are key figures, large, each with its word.
type Figures struct{ Rows []Figure }

// Figure is one key figure, a value or a change of one.
type Figure struct {
	Value, Text string
	Change      Span
}

// Table is a table. Its text form has the columns from Numeric on right-aligned.
type Table struct {
	ID      ID
	Look    Look
	Caption string
	// Label is for tables that scroll in a region of their own; the caption is then for
	// assistive technology alone, unless it is Shown. Unseen says the same of other tables.
	Label         string
	Shown, Unseen bool
	// Region is the look of that region.
	Region  Look
	Numeric int
	Head    []Cell
	Parts   []Part
}

// Part is a group of rows.
type Part struct {
	Look Look
	Rows []Row
}

// Row is one row of a table.
type Row struct {
	ID    ID
	Look  Look
	Cells []Cell
	// Facts are what a script sorts and filters the row by.
	Facts []Fact
}

// Fact is a value by its name.
type Fact struct{ Name, Value string }

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
	ID   ID
	// Title is what a pointer resting on it shows. Plain is what texts have in its place: they
	// have less room.
	Title, Plain string
	// Span is how many columns it takes, 0 for one. Sort is the order of the column:
	// ascending, descending or nothing.
	Span int
	Sort ID
}

// Code is text that is shown as it is: a command, a stack, raw lines.
type Code struct {
	Lines []string
	// ID is that of the text without its frame, for a button that copies it.
	ID ID
	// Label names it for assistive technology.
	Label string
}

// Section is a part of a page with its heading. ID is that of the heading, Anchor that of
// the whole. Note stands beside the heading, End at the far side.
type Section struct {
	ID, Anchor  ID
	Title, Note Text
	// Target says that a link which skips something leads to the heading, Changes that the
	// section is for readers who may change something.
	Target, Changes bool
	End             Blocks
	Look            Look
	Blocks          `json:"Blocks"`
}

// NewSection is a section with words for its heading and its note.
func NewSection(id ID, title, note string, blocks ...Block) Section {
	return Section{Look: "block", ID: id, Title: Words(title), Note: Words(note), Blocks: blocks}
}

// Group holds blocks together. Role is navigation, complementary, header, section, figure or
// the caption of one, empty mostly. Label names it, or the element with the id LabelledBy.
type Group struct {
	ID, Role, LabelledBy ID
	Look                 Look
	Label                string
	// Events and Poll are addresses for the script that keeps the group up to date.
	Events, Poll string
	// Process is whose chart the group holds, as the table of figures names it.
	Process string
	Blocks  `json:"Blocks"`
}

// Bar is how far something is: Value of Max, nothing yet where both are 0. Unseen says that
// a script shows it.
type Bar struct {
	ID         ID
	Label      string
	Value, Max int64
	Unseen     bool
}

// Upload is the form that takes files, folders and pasted text: at most Max bytes, and Free
// that the disk still takes, 0 for no limit. Keyed says that it answers with an owner key.
type Upload struct {
	Max, Free int64
	Keyed     bool
}

// OwnerKey shows the key of a new case, and leads to the next page.
type OwnerKey struct{ Key, Next string }

// Sending is the progress of an upload that the form of a case began; a script keeps it.
type Sending struct{}

// Line is a paragraph of controls and words: buttons side by side.
type Line struct {
	Look   Look
	Blocks `json:"Blocks"`
}

// Fold is opened by its summary. Of folds with one Name only one is open.
type Fold struct {
	ID, Name ID
	Look     Look
	Open     bool
	Summary  Text
	// SummaryLook, SummaryID, Title and Key are those of the summary.
	SummaryLook    Look
	SummaryID, Key ID
	Title          string
	// Changes says that it is for readers who may change something, Rest that texts show what
	// it holds without its summary.
	Changes, Rest bool
	Blocks        `json:"Blocks"`
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

// Drawing is a chart, which pages draw. Texts say Text of it, nothing mostly. Main is the
// picture of the page, which stands for it where there is room for one; texts have the table
// of its figures, if the chart has one.
type Drawing struct {
	Chart Chart
	Text  string
	Main  bool
}

// Chart is data that pages draw: a type of package chart.
type Chart interface{ Drawn() }

// Walk calls f for each block and then for those inside of it.
func (b Blocks) Walk(f func(Block)) {
	for _, x := range b {
		f(x)
		switch x := x.(type) {
		case List:
			for _, i := range x.Items {
				i.Walk(f)
			}
		case Terms:
			for _, r := range x.Rows {
				r.Walk(f)
			}
		case Table:
			for _, p := range x.Parts {
				for _, r := range p.Rows {
					for i := range r.Cells {
						r.Cells[i].Blocks.Walk(f)
					}
				}
			}
		case Section:
			x.End.Walk(f)
			x.Blocks.Walk(f)
		case Group:
			x.Walk(f)
		case Line:
			x.Walk(f)
		case Fold:
			x.Walk(f)
		case Form:
			x.Walk(f)
		case Label:
			x.Walk(f)
		case Fieldset:
			x.Walk(f)
		case PageOnly:
			x.Walk(f)
		case TextOnly:
			x.Walk(f)
		}
	}
}

// Tabs are a choice of one by links.
type Tabs struct {
	Label string
	Look  Look
	List  []Tab
}

// Tab is one of them. Key presses it, KeyLabel says what that does.
type Tab struct {
	Text, URL string
	Current   bool
	Key       ID
	KeyLabel  string
}

// PageOnly are blocks that a text leaves out, because a ticket is small.
type PageOnly struct {
	Blocks `json:"Blocks"`
}

// TextOnly are blocks that a page shows in another way.
type TextOnly struct {
	Blocks `json:"Blocks"`
}

func (Heading) block()   {}
func (Paragraph) block() {}
func (Notice) block()    {}
func (List) block()      {}
func (Terms) block()     {}
func (Figures) block()   {}
func (Table) block()     {}
func (Code) block()      {}
func (Stack) block()     {}
func (Section) block()   {}
func (Group) block()     {}
func (Line) block()      {}
func (Fold) block()      {}
func (Problems) block()  {}
func (Drawing) block()   {}
func (Tabs) block()      {}
func (Bar) block()       {}
func (Sending) block()   {}
func (Upload) block()    {}
func (OwnerKey) block()  {}
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
		if l, ok := (*b)[n-1].(List); ok && l.Open {
			l.Items = append(l.Items, entry)
			(*b)[n-1] = l
			return
		}
	}
	b.Add(List{Open: true, Items: []Item{entry}})
}

// Gap ends the list at the end.
func (b *Blocks) Gap() { b.Add(Gap{}) }

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

// Gap ends a list that is written item by item.
type Gap struct{}

func (Gap) block() {}
