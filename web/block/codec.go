package block

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"leakdiff/analysis/say/document"
	"leakdiff/web/chart"
)

// A kept document is JSON. Where a value may be of several types, a pair stands in its
// place, of the name of the type and the value: ["Heading",{"Level":1,"Text":[{"Text":"x"}]}].
// Names of types and fields are a format: what was kept once is read for ever.

// The types of blocks and of charts that a document may hold, by their names.
var blocks = names(
	document.Heading{}, document.Paragraph{}, document.Notice{}, document.List{}, document.Terms{}, document.Figures{}, document.Table{}, document.Code{}, document.Stack{}, document.Section{}, document.Group{},
	document.Line{}, document.Fold{}, document.Problems{}, document.Drawing{}, document.Tabs{}, document.PageOnly{}, document.TextOnly{}, document.Text{}, document.Bar{}, document.Gap{},
	document.Form{}, document.Field{}, document.Select{}, document.Label{}, document.Press{}, document.Fieldset{}, document.Sending{}, document.Upload{}, document.OwnerKey{},
)

var charts = names(
	chart.SparkData{}, chart.SmallData{}, chart.StatesData{}, chart.BarsData{}, chart.ShapeData{}, chart.SummaryData{}, chart.FlameData{}, chart.TimelineData{}, chart.Table{},
	chart.MembersData{}, chart.LifelinesData{}, chart.LanesData{}, chart.StackData{}, chart.RatesData{},
)

// earlier are charts that results were frozen with, and that are drawn as others since.
var earlier = names(TotalData{}, LivesData{})

// TotalData is a total on the first screen, as results of November 2026 have it.
type TotalData struct {
	chart.SmallData
	Height float64
}

func (t TotalData) now() document.Chart { return t.SmallData }

// LivesData are the members of the thing of an answer, as such results have them.
type LivesData struct {
	ID, Title   string
	Labels      []string
	Runs        []chart.Run
	RecoveredAt int
	At          []int
}

func (l LivesData) now() document.Chart {
	return chart.LanesData{ID: l.ID, Title: l.Title, Labels: l.Labels, Lanes: []chart.LifeLane{{Runs: l.Runs, EndedAt: l.RecoveredAt, GoneAt: -1}}}
}

func (LivesData) Drawn() {}

func names(all ...any) map[string]reflect.Type {
	out := make(map[string]reflect.Type, len(all))
	for _, v := range all {
		out[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	return out
}

var keeping = json.JoinOptions(
	json.OmitZeroStructFields(true),
	json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(writeBlock), json.MarshalToFunc(writeChart))),
	json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readBlock), json.UnmarshalFromFunc(readChart))),
)

// Keep writes a document to be read again by Kept.
func Keep(d document.Document) ([]byte, error) { return json.Marshal(d.Blocks, keeping) }

// Kept reads what Keep wrote. It returns an error for everything else.
func Kept(text []byte) (document.Document, error) {
	var d document.Document
	err := json.Unmarshal(text, &d.Blocks, keeping)
	return d, err
}

func writeBlock(e *jsontext.Encoder, b *document.Block) error { return writePair(e, blocks, *b) }

func writeChart(e *jsontext.Encoder, c *document.Chart) error { return writePair(e, charts, *c) }

func writePair(e *jsontext.Encoder, known map[string]reflect.Type, v any) error {
	if v == nil {
		return e.WriteToken(jsontext.Null)
	}
	name := reflect.TypeOf(v).Name()
	if known[name] != reflect.TypeOf(v) {
		return fmt.Errorf("a document holds a %T, which is neither a block nor a chart", v)
	}
	return errors.Join(e.WriteToken(jsontext.BeginArray), e.WriteToken(jsontext.String(name)), json.MarshalEncode(e, v, e.Options()), e.WriteToken(jsontext.EndArray))
}

func readBlock(d *jsontext.Decoder, b *document.Block) error { return readPair(d, blocks, b) }

func readChart(d *jsontext.Decoder, c *document.Chart) error {
	err := readPair(d, charts, c)
	if old, ok := (*c).(interface{ now() document.Chart }); ok {
		*c = old.now()
	}
	return err
}

// readPair reads a pair into a value of an interface type.
func readPair[T any](d *jsontext.Decoder, known map[string]reflect.Type, into *T) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return errors.Join(err, errors.New("no pair of a type and a value"))
	}
	t, err := d.ReadToken()
	if err != nil {
		return err
	}
	is, ok := known[t.String()]
	if !ok {
		is, ok = earlier[t.String()]
	}
	if !ok {
		return fmt.Errorf("a document of a later version holds a %q", t.String())
	}
	value := reflect.New(is)
	if err := json.UnmarshalDecode(d, value.Interface(), d.Options()); err != nil {
		return err
	}
	*into = value.Elem().Interface().(T)
	_, err = d.ReadToken()
	return err
}
