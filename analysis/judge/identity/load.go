package identity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/demand"
	"leakdiff/analysis/expression"
)

// LoadValue is the value of a load as people write it. Numbers are one for each
// snapshot of the series in its order, or pairs of a snapshot's label or id and its
// number. Snapshots without a pair are unknown.
//
//	sessions; 12 12 14 -
//	sessions; t0=12 t2=14
//	app_tenants;             the numbers of that metric, as captured
//
// It is stored as pairs of evidence keys and numbers.
func LoadValue(name, numbers string) string { return single(name) + "; " + numbers }

// SplitLoad splits the value of a load.
func SplitLoad(value string) (name, numbers string) {
	name, numbers, _ = strings.Cut(value, ";")
	return strings.TrimSpace(name), strings.TrimSpace(numbers)
}

// unasked stands for a number that is not known.
const unasked = "-"

// LoadNumbers are the numbers of a load as they were written, in the order of its
// series, "-" where unknown:
//
//	e1.7.1.k3xqa7mbnoaab=12 e1.7.1.zz2laqp4c7aqc=-  ->  12 -
func LoadNumbers(value string) []string {
	_, numbers := SplitLoad(value)
	out := strings.Fields(numbers)
	for i, field := range out {
		out[i] = field[strings.LastIndexByte(field, '=')+1:]
	}
	return out
}

// checkLoad returns the value of a load in stored form. Every snapshot of the series is
// named, so that a later load of the same name replaces all of it.
func (o Outcome) checkLoad(e Edit) (string, error) {
	name, numbers := SplitLoad(e.Value)
	switch {
	case name == "":
		return e.Value, invalid("value.name", "the load has no name", "", "enter what was counted, such as sessions; scripts send \"NAME; NUMBERS\"")
	case len(name) > maxLoadName:
		return e.Value, invalid("value.name", "the load's name is too long", fmt.Sprintf("it has %d bytes and the limit is %d", len(name), maxLoadName), "enter what was counted, such as sessions")
	case strings.ContainsRune(name, '='):
		return e.Value, invalid("value.name", "the load's name holds an equals sign", "", "enter what was counted, such as sessions")
	}
	series, err := o.seriesOf(e.Target)
	if err != nil {
		return e.Value, err
	}
	if len(series) > maxAsked {
		return e.Value, invalid("value.numbers", "the series is too long for a load", fmt.Sprintf("it has %d snapshots and the limit is %d", len(series), maxAsked), "put the load into a metrics page of the bundles")
	}
	if numbers == "" {
		numbers = captured(name, series)
	}
	asked, err := o.readNumbers(numbers, series)
	if err != nil {
		return e.Value, err
	}
	if held := o.loadsBeside(name, series); held >= maxLoads {
		return e.Value, invalid("value.name", "the case has too many loads", fmt.Sprintf("the limit is %d", maxLoads), "undo one that explains nothing")
	}
	return LoadValue(name, strings.Join(asked, " ")), nil
}

// HasMetric reports a metric that a snapshot was captured with.
func HasMetric(s *analysis.Snapshot, metric string) bool {
	_, ok := demand.Captured(s.Figures, metric)
	return ok
}

// captured are the numbers of a metric in the snapshots, "" if none has it.
func captured(metric string, series []analysis.Snapshot) string {
	out, known := make([]string, len(series)), false
	for i, s := range series {
		value, ok := demand.Captured(s.Figures, metric)
		if out[i], known = unasked, known || ok; ok {
			out[i] = strconv.FormatFloat(value, 'f', -1, 64)
		}
	}
	if !known {
		return ""
	}
	return strings.Join(out, " ")
}

// seriesOf returns the counting snapshots of the series that a target names, in order.
func (o Outcome) seriesOf(target string) ([]analysis.Snapshot, error) {
	id, _ := o.Snapshot(target)
	at := slices.IndexFunc(o.Snapshots, func(s analysis.Snapshot) bool { return s.ID == id })
	if at < 0 {
		return nil, invalid("target", "no such snapshot counts in this case", "its evidence is gone, or it was left out", "send series:ID with the id of another snapshot of the series")
	}
	keys := SeriesKeys(o.Snapshots)
	seen := map[string]bool{}
	var list []int
	for i, s := range o.Snapshots {
		if keys[i] == keys[at] && !seen[s.ID] {
			seen[s.ID] = true
			list = append(list, i)
		}
	}
	var out []analysis.Snapshot
	for _, i := range inOrder(o.Snapshots, list) {
		out = append(out, o.Snapshots[i])
	}
	return out, nil
}

// readNumbers returns "key=number" for every snapshot of a series.
func (o Outcome) readNumbers(text string, series []analysis.Snapshot) (out []string, err error) {
	if strings.ContainsRune(text, '=') {
		out, err = o.readPairs(text, series)
	} else {
		out, err = o.readList(text, series)
	}
	if err != nil {
		return nil, err
	}
	known := 0
	for _, pair := range out {
		if !strings.HasSuffix(pair, "="+unasked) {
			known++
		}
	}
	if known < 2 {
		return nil, invalid("value.numbers", "a load needs the numbers of two snapshots at least", "one number rises with nothing", "enter one for each of "+labelsOf(series)+", a dash where it is not known")
	}
	return out, nil
}

// readList reads "12 12 14 -".
func (o Outcome) readList(text string, series []analysis.Snapshot) (out []string, err error) {
	fields := strings.Fields(text)
	if len(fields) != len(series) {
		return nil, invalid("value.numbers", fmt.Sprintf("these are %d numbers for %d snapshots", len(fields), len(series)), "", "enter one for each of "+labelsOf(series)+", a dash where it is not known")
	}
	for i, field := range fields {
		number, err := readNumber(field)
		if err != nil {
			return nil, err
		}
		out = append(out, o.Keys[series[i].ID]+"="+number)
	}
	return out, nil
}

// readPairs reads "t0=12 t2 (2)=14". A pair with evidence that the case no longer has
// is kept, because the evidence may come back.
func (o Outcome) readPairs(text string, series []analysis.Snapshot) (out []string, err error) {
	given, label := map[string]string{}, ""
	ids := map[string]string{}
	for _, s := range series {
		ids[o.Keys[s.ID]] = s.ID
	}
	var gone []string
	for _, field := range strings.Fields(text) {
		equals := strings.LastIndexByte(field, '=')
		if equals < 0 {
			label += field + " "
			continue
		}
		label += field[:equals]
		number, err := readNumber(field[equals+1:])
		if err != nil {
			return nil, err
		}
		id, exact := ids[label]
		if !exact {
			if id, err = o.named(label, series); err != nil {
				return nil, err
			}
		}
		key := o.Keys[id]
		if id == "" {
			gone, key = append(gone, label+"="+number), label
		}
		if _, twice := given[key]; twice {
			return nil, invalid("value.numbers", "a snapshot has two numbers", fmt.Sprintf("%.64q", label), "enter one for each")
		}
		given[key], label = number, ""
	}
	if label != "" {
		return nil, invalid("value.numbers", "something stands behind the last number", fmt.Sprintf("%.64q", label), "write pairs like t0=12 t1=14")
	}
	for _, s := range series {
		key := o.Keys[s.ID]
		if given[key] == "" {
			given[key] = unasked
		}
		out = append(out, key+"="+given[key])
	}
	if out = append(out, gone...); len(out) > maxAsked {
		return nil, invalid("value.numbers", "these are too many numbers", fmt.Sprintf("there are %d and the limit is %d", len(out), maxAsked), "leave out those of snapshots that are gone")
	}
	return out, nil
}

// named is the id of the snapshot of a series that a pair names by id, label or
// evidence. It is empty if that evidence is gone.
func (o Outcome) named(label string, series []analysis.Snapshot) (id string, err error) {
	if _, ok := parseMark(label); ok {
		id, _ = o.Snapshot(label)
		if !slices.ContainsFunc(series, func(s analysis.Snapshot) bool { return s.ID == id }) {
			return "", nil
		}
		return id, nil
	}
	for _, s := range series {
		switch {
		case s.ID == label:
			return s.ID, nil
		case s.Label == label && id != "":
			return "", invalid("value.numbers", "two snapshots of this series have this label", fmt.Sprintf("%.64q", label), "name them by their ids, or enter a list in their order")
		case s.Label == label:
			id = s.ID
		}
	}
	if id == "" {
		return "", invalid("value.numbers", "this series has no such snapshot", fmt.Sprintf("%.64q", label), "its snapshots are "+labelsOf(series))
	}
	return id, nil
}

var number = expression.Lazy(`^\d{1,15}(\.\d{1,9})?$`)

// readNumber returns a number in its shortest form, or a dash:
//
//	012.50,  ->  12.5
//	–        ->  -
func readNumber(text string) (string, error) {
	bare := strings.TrimRight(text, ",;")
	switch bare {
	case "-", "–", "—", "?", "n/a":
		return unasked, nil
	}
	if !number.MatchString(bare) {
		return "", invalid("value.numbers", "this is no number", fmt.Sprintf("%.40q", text), "write numbers from 0 on like 12 or 12.5 with spaces between them, a dash where one is not known")
	}
	value, err := strconv.ParseFloat(bare, 64)
	if err != nil {
		return "", invalid("value.numbers", "this is no number", fmt.Sprintf("%.40q", text), "write numbers like 12 or 12.5")
	}
	return strconv.FormatFloat(value, 'f', -1, 64), nil
}

// loadsBeside counts the loads of all series except the one of this name and series,
// which is replaced.
func (o Outcome) loadsBeside(name string, series []analysis.Snapshot) int {
	all := slices.Concat(o.Snapshots, o.LeftOut)
	keys := SeriesKeys(all)
	type load struct{ name, series string }
	held := map[load]bool{}
	for i, s := range all {
		for n, values := range o.Loads {
			if _, ok := values[s.ID]; ok {
				held[load{n, keys[i]}] = true
			}
		}
	}
	for i, s := range all {
		if s.ID == series[0].ID {
			delete(held, load{name, keys[i]})
		}
	}
	return len(held)
}

// loads returns the demands in force by name and snapshot id. The last load comes
// first: its value for a snapshot applies, even if the value is unknown.
func (w *work) loads(edits []Edit) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	said := map[string]map[string]bool{}
	lookup := w.lookup()
	for _, e := range slices.Backward(edits) {
		if e.Kind != Load {
			continue
		}
		name, numbers := SplitLoad(e.Value)
		if out[name] == nil {
			out[name], said[name] = map[string]float64{}, map[string]bool{}
		}
		w.effects[e.ID] = ask(numbers, lookup, out[name], said[name])
	}
	for name, values := range out {
		if len(values) == 0 {
			delete(out, name)
		}
	}
	return out
}

// lookup finds snapshots by their keys, each key once.
func (w *work) lookup() func(key string) (id string, ok bool) {
	ids := map[string]string{}
	for i, m := range w.marks {
		ids[m.text] = w.now[i].ID
	}
	return func(key string) (string, bool) {
		id, known := ids[key]
		if !known {
			if m, ok := parseMark(key); ok {
				if at, ok := find(w.marks, m); ok {
					id = w.now[at].ID
				}
			}
			ids[key] = id
		}
		return id, id != ""
	}
}

// ask adds the numbers of one load for the snapshots without a number from a later
// load.
func ask(numbers string, lookup func(string) (string, bool), values map[string]float64, said map[string]bool) Effect {
	var effect Effect
	found, new := false, false
	var mine []string
	for _, pair := range strings.Fields(numbers) {
		key, number, _ := strings.Cut(pair, "=")
		id, ok := lookup(key)
		if !ok {
			continue
		}
		found = true
		if said[id] {
			continue
		}
		new, mine = true, append(mine, id)
		if value, err := strconv.ParseFloat(number, 64); err == nil && number != unasked {
			values[id] = value
			effect.Snapshots = append(effect.Snapshots, id)
		}
	}
	for _, id := range mine {
		said[id] = true
	}
	switch {
	case !found:
		effect.Why = "its evidence is no longer in the case"
	case !new:
		effect.Why, effect.Harmless = "a later edit gives this load anew", true
	}
	return effect
}
