package document

// Form takes what a reader enters. Texts leave it out.
type Form struct {
	ID, Role ID
	Look     Look
	Label    string
	Action   string
	// Post says that it changes something; Files that it takes files, which a script sends
	// to API, and then opens one of the pages below Cases or Bundles.
	Post, Files         bool
	API, Cases, Bundles string
	// Always says that it is also for readers who may change nothing.
	Always bool
	Blocks `json:"Blocks"`
}

// Field takes one value. Type is that of HTML, and textarea; a hidden field has only a name
// and a value.
type Field struct {
	ID, Key                   ID
	Look                      Look
	Type, Name, Value         string
	Placeholder, Size, Length string
	// Label names it for assistive technology where no Label does, Describes is the id of
	// what explains it.
	Label, Describes string
	// Suggestions are values to choose from, in the list of this id.
	Suggestions              []string
	List                     string
	Autocomplete             string
	KeyLabel                 string
	Required, Checked, Focus bool
	// Mode is the keyboard that a phone offers. Several says that more than one file may be chosen.
	Mode    string
	Several bool
	// Verbatim says that a name is entered: no browser may correct it.
	Verbatim          bool
	Invalid, ReadOnly bool
}

// Select takes one of several values.
type Select struct {
	ID, Key                      ID
	Name, Value, Label, KeyLabel string
	Groups                       []Choices
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
	For    ID
	Look   Look
	Blocks `json:"Blocks"`
}

// Press is a button. Without a Type it sends its form; Copy is the id of the element whose
// text it copies, Copied that text where no other element shows it. To is where it sends the
// form instead of its own address, Unchecked also where fields are not as they must be.
type Press struct {
	ID, Copy, Key                      ID
	Look                               Look
	Text, Type, Name, Value            string
	Label, Title, KeyLabel, Copied, To string
	Post, Unchecked                    bool
}

// Fieldset holds fields that belong together.
type Fieldset struct {
	Look, LegendLook Look
	Legend           Text
	Blocks           `json:"Blocks"`
}

func (Form) block()     {}
func (Field) block()    {}
func (Select) block()   {}
func (Label) block()    {}
func (Press) block()    {}
func (Fieldset) block() {}

// Hide is a field that a form carries along.
func Hide(name, value string) Field { return Field{Type: "hidden", Name: name, Value: value} }
