package document

// Form takes what a reader enters. Texts leave it out.
type Form struct {
	ID, Look, Label, Role string
	Action                string
	// Post says that it changes something; Files that it takes files.
	Post, Files bool
	Blocks
}

// Field takes one value. Type is that of HTML, and textarea; a hidden field has only a name
// and a value.
type Field struct {
	Type, ID, Name, Value, Look string
	Placeholder, Size, Length   string
	// Label names it for assistive technology where no Label does, Describes is the id of
	// what explains it.
	Label, Describes string
	// Suggestions are values to choose from, in the list of this id.
	Suggestions              []string
	List                     string
	Autocomplete             string
	Key, KeyLabel            string
	Required, Checked, Focus bool
	Invalid, ReadOnly        bool
}

// Select takes one of several values.
type Select struct {
	ID, Name, Value, Label string
	Key, KeyLabel          string
	Groups                 []Choices
}

// Choices are the values of a group, whose name may be empty.
type Choices struct {
	Name string
	List []Choice
}

// Choice is one value with its words.
type Choice struct{ Value, Text string }

// Label names a field: the one with the id For, or that inside of it.
type Label struct {
	For, Look string
	Blocks
}

// Press is a button. Without a Type it sends its form; Copy is the id of the element whose
// text it copies. To is where it sends the form instead of its own address.
type Press struct {
	Text, Look, Type, Name, Value string
	Label, Title, Key, KeyLabel   string
	Copy, To                      string
	Post                          bool
}

// Fieldset holds fields that belong together.
type Fieldset struct {
	Look, LegendLook string
	Legend           Text
	Blocks
}

func (Form) block()     {}
func (Field) block()    {}
func (Select) block()   {}
func (Label) block()    {}
func (Press) block()    {}
func (Fieldset) block() {}

// Hide is a field that a form carries along.
func Hide(name, value string) Field { return Field{Type: "hidden", Name: name, Value: value} }
