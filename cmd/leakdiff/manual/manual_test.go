package manual

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// model has a flag and an argument of each form.
func model(t *testing.T) *kong.Node {
	t.Helper()
	var c struct {
		Quiet bool `help:"Print nothing."`
		Read  struct {
			Paths  []string `arg:"" name:"path" help:"Files."`
			Format string   `short:"f" help:"How." enum:"text,json" default:"text"`
			Lsof   bool     `help:"Run lsof." default:"true" negatable:""`
			Out    string   `help:"Archive | - for \\ and *all*." placeholder:"FILE"`
			Secret string   `hidden:""`
		} `cmd:"" help:"Read."`
		Key struct {
			Create struct{} `cmd:"" help:"Make a key."`
			Revoke struct{} `cmd:"" help:"End a key."`
		} `cmd:"" help:"Keys."`
		Shell struct {
			Name string `arg:"" enum:"bash,zsh" help:"bash or zsh."`
		} `cmd:"" help:"A shell."`
		Inner struct{} `cmd:"" hidden:""`
	}
	parser, err := kong.New(&c, kong.Name("leakdiff"), kong.Description("Offline."), kong.DefaultEnvars("LEAKDIFF"))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Node
}

func TestTheLastWordIsCompletedByWhatStandsBefore(t *testing.T) {
	for _, c := range []struct {
		line, want string
		files      bool
	}{
		{"", "read key shell", false},
		{"re", "read", false},
		{"in", "", false},
		{"unknown ", "", false},
		{"key ", "create revoke", false},
		{"key create ", "", false},
		{"key create re", "", false},
		{"read ", "", true},
		{"read a.txt key", "", true},
		{"read --f", "--format", false},
		{"read --no", "--no-lsof", false},
		{"read --se", "", false},
		{"read --", "--format --lsof --no-lsof --out --help --quiet", false},
		{"read -- --f", "", true},
		{"read --format ", "text json", false},
		{"read -f j", "json", false},
		{"read --format=j", "--format=json", false},
		{"read --format = j", "json", false}, // as bash has it
		{"read --format =", "text json", false},
		{"read --out ", "", true},
		{"read --out=a", "", true},
		{"read --lsof a", "", true},
		{"read --lsof=a", "", false},
		{"--quiet k", "key", false},
		{"--quiet read --format js", "json", false},
		{"shell ", "bash zsh", false},
		{"shell bash ", "", false},
	} {
		found, files := Complete(model(t), strings.Split(c.line, " "))
		var words []string
		for _, candidate := range found {
			words = append(words, candidate.Word)
		}
		if got := strings.Join(words, " "); got != c.want || files != c.files {
			t.Errorf("%q becomes %q, names of files: %t; want %q, %t", c.line, got, files, c.want, c.files)
		}
	}
}

func TestTextsOfFlagsAreNoMarkup(t *testing.T) {
	markdown := Markdown(model(t))
	if want := "| `--out=FILE` | Archive \\| - for \\ and \\*all\\*. | `LEAKDIFF_OUT` |\n"; !strings.Contains(markdown, want) {
		t.Errorf("there is no row %s in\n%s", want, markdown)
	}
	if want := "| `-f, --format=\"text\"` | How. One of text, json. | `LEAKDIFF_FORMAT` |\n"; !strings.Contains(markdown, want) {
		t.Errorf("there is no row %s in\n%s", want, markdown)
	}
	man := Man(model(t), "1.0")
	if want := ".B \\-\\-out=FILE\nArchive | \\- for \\e and *all*.\n(LEAKDIFF_OUT)\n"; !strings.Contains(man, want) {
		t.Errorf("there is no entry %s in\n%s", want, man)
	}
	for _, hidden := range []string{"ecret", "inner"} {
		if strings.Contains(markdown+man, hidden) {
			t.Errorf("%s is hidden and shown", hidden)
		}
	}
}

func TestLinesOfTextAreNoRequests(t *testing.T) {
	if diff := cmp.Diff(`\&.SH \(aqx\(aq \ea \- ... \[u00E9]`, roff(`.SH 'x' \a - … é`)); diff != "" {
		t.Error(diff)
	}
}

func TestIndentedLinesStayAsTheyAre(t *testing.T) {
	got := blocks("One\ntwo.\n\nExamples:\n  a\n    b\nend\n")
	want := []block{{lines: []string{"One", "two."}}, {lines: []string{"Examples:"}}, {lines: []string{"a", "  b"}, verbatim: true}, {lines: []string{"end"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" {
		t.Error(diff)
	}
}

func TestEachShellHasAScript(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if text, err := Script(shell); err != nil || !strings.Contains(string(text), "complete -- ") {
			t.Errorf("%s: %v\n%s", shell, err, text)
		}
	}
}
