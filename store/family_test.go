package store

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"leakdiff/analysis"
)

func TestAFamilyIsSeenWhereverItEverWas(t *testing.T) {
	f := open(t)
	a, b := f.newCase("case a"), f.newCase("case b")
	f.filled(a.ID, "1", kubeletResult("2", "3"))
	f.filled(a.ID, "2", kubeletResult("3"))
	untimed := kubelet("4", time.Time{}, 8)
	f.filled(b.ID, "3", Result{Snapshots: []analysis.Snapshot{untimed}})
	got, err := f.FamilySightings(f.ctx, proberGroup(5).Family.Fingerprint, 10)
	f.ok(err)
	at := func(i int) time.Time { return instant.Add(time.Duration(i) * time.Minute).Truncate(time.Microsecond) }
	want := []Sighting{
		{CaseID: a.ID, CaseTitle: "case a", SnapshotID: snapshotID("3"), Label: "t3", CapturedAt: at(1), Host: "node-a", Process: "kubelet", Count: 15, Highest: 15},
		{CaseID: a.ID, CaseTitle: "case a", SnapshotID: snapshotID("2"), Label: "t2", CapturedAt: at(0), Host: "node-a", Process: "kubelet", Count: 5, Highest: 15},
		{CaseID: b.ID, CaseTitle: "case b", SnapshotID: snapshotID("4"), Label: "t4", Host: "node-a", Process: "kubelet", Count: 8, Highest: 8},
	}
	wantEqual(t, Sightings{List: want, Cases: 2, Places: 2}, got)
	got, err = f.FamilySightings(f.ctx, proberGroup(5).Family.Fingerprint, 1)
	f.ok(err)
	wantEqual(t, Sightings{List: want[:1], Cases: 2, Places: 2}, got)
	inCases := func(fingerprint string, want int) {
		t.Helper()
		got, err := f.FamilyCases(f.ctx, fingerprint)
		f.ok(err)
		wantEqual(t, want, got)
	}
	inCases(proberGroup(5).Family.Fingerprint, 2)
	inCases("g1:none", 0)
	f.ok(f.DeleteCase(f.ctx, a.ID, WithdrawPermalinks))
	got, err = f.FamilySightings(f.ctx, proberGroup(5).Family.Fingerprint, 10)
	f.ok(err)
	wantEqual(t, Sightings{List: want[2:], Cases: 1, Places: 1}, got)
	inCases(proberGroup(5).Family.Fingerprint, 1)
}

func TestWordsOfATitleThatAFunctionHoldsAreNotKeptTwice(t *testing.T) {
	family := analysis.Family{
		Title: "pool.(*Pool).Get <- api.serve (leaked)", Loose: []string{"sync.(*Mutex).Lock", "example.org/pool.(*Pool).Get"},
		LooseCreator: "example.org/api.serve", Attributes: map[string]string{"remote": "10.0.0.1:443"},
	}
	if got, want := searchWords(&family), "<-\n(leaked)\n10.0.0.1:443"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnEntryIsKeptByTheFunctionsThatItNames(t *testing.T) {
	for entry, want := range map[string]string{
		"pool.Get <- api.serve": "#1<", "pool.Get": "#1", "sync.Lock <- api.serve": "#0<",
		"pool.Get <- main.main": "pool.Get <- main.main", "api.serve": "api.serve", "TCP to 10.0.0.1:443": "TCP to 10.0.0.1:443",
		"#1": "##1", "#1<": "##1<", "##": "###", "": "",
	} {
		f := analysis.Family{Entry: entry, Loose: []string{"sync.Lock", "pool.Get"}, LooseCreator: "api.serve"}
		kept := keptEntry(&f)
		if kept != want || wholeEntry(&f, kept) != entry {
			t.Errorf("%q is kept as %q, want %q, and read back as %q", entry, kept, want, wholeEntry(&f, kept))
		}
	}
}

func TestSearchFindsFamiliesThatHoldEveryWord(t *testing.T) {
	f := open(t)
	c := f.newCase("TICKET-77 Kubelet on node seven")
	r := kubeletResult("2", "3")
	r.Snapshots[0].Groups = append(r.Snapshots[0].Groups, analysis.Group{
		Family: &analysis.Family{Fingerprint: "g1:vendored", Kind: analysis.KindGoroutine, Title: "cache.Run", Loose: []string{"client-go/tools/cache.(*Reflector).Run"}},
		Variants: []analysis.Variant{{Fingerprint: "e1:9", Count: 1, Stack: &analysis.Stack{Frames: []analysis.Frame{
			{Func: "github.com/acme/vendor/k8s.io/client-go/tools/cache.(*Reflector).Run", File: "x.go", Line: 1}}}}},
		Count: 1, OldestWait: -1,
	})
	f.filled(c.ID, "1", r)
	prober, sockets, vendored := "g1:"+strings.Repeat("a", 32), "d1:"+strings.Repeat("b", 32), "g1:vendored"
	for query, want := range map[string][]string{
		"prober":                     {prober},
		"PROBER":                     {prober},
		"prober.(*worker).run":       {prober},
		"prober.(*worker).run ":      {prober},
		"roundtrip addpod":           {prober},
		"worker roundtrip prober":    {prober},
		"prober reflector":           nil,
		"acme":                       {vendored},
		"Reflector).Run":             {vendored},
		"cache.run":                  {vendored},
		"10.96.0.1:443":              {sockets},
		"tcp established":            {sockets},
		"k8s.io":                     {prober, vendored},
		"(*":                         {prober, vendored},
		"pr":                         {prober},
		"pr ru":                      {prober},
		"k8s.io pr":                  {prober},
		"x.go":                       {vendored},
		"X.GO acme":                  {vendored},
		"y.go":                       nil,
		"x.go:1":                     {vendored},
		"X.go:1 acme":                {vendored},
		"x.go:2":                     nil,
		"go:1":                       nil,
		strings.Repeat("a", 12):      {prober},
		strings.Repeat("b", 8):       {sockets},
		strings.Repeat("b", 7):       nil,
		"abbbbbbbbbbb":               nil,
		"nothing like this anywhere": nil,
		`"quoted"`:                   nil,
		`prober" OR "acme`:           nil,
		"prober*":                    nil,
		"NEAR(prober)":               nil,
		"%":                          nil,
		"_":                          nil,
		"remote":                     nil,
		"":                           nil,
		"   ":                        nil,
		"\x00":                       nil,
		"\xff":                       nil,
	} {
		got, err := f.SearchFunctions(f.ctx, query, nil, 10, 0)
		if err != nil {
			t.Errorf("%q: %v", query, err)
			continue
		}
		found := map[string]bool{}
		for _, hit := range got.Families {
			found[hit.Family.Fingerprint] = true
		}
		for _, fingerprint := range want {
			if !found[fingerprint] {
				t.Errorf("%q does not find %s", query, fingerprint)
			}
		}
		if len(got.Families) != len(want) {
			t.Errorf("%q finds %d families, want %d", query, len(got.Families), len(want))
		}
	}
	got, err := f.SearchFunctions(f.ctx, "prober", nil, 10, 0)
	f.ok(err)
	wantEqual(t, []FamilyHit{{
		Family: *r.Snapshots[0].Groups[0].Family, Cases: 1, Snapshots: 2, Highest: 15,
		LastSeen: instant.Add(time.Minute).Truncate(time.Microsecond),
	}}, got.Families)
}

func TestSearchFindsCasesAndProcesses(t *testing.T) {
	f := open(t)
	a, b := f.newCase("TICKET-77 Kubelet on node seven"), f.newCase("other kubelet")
	f.filled(a.ID, "1", kubeletResult("2", "3"))
	f.filled(b.ID, "2", kubeletResult("4"))
	got, err := f.SearchFunctions(f.ctx, "ticket KUBELET", nil, 10, 0)
	f.ok(err)
	if len(got.Cases) != 1 || got.Cases[0].ID != a.ID || got.Cases[0].Snapshots != 2 || len(got.Processes) != 0 {
		t.Errorf("got %+v", got)
	}
	f.ok(f.SetCaseSummary(f.ctx, b.ID, Summary{
		Headline: "24 probe workers wait for one lock.", Verdict: "leaking", Process: "containerd, kubelet", Host: "node-a", Spark: []int{5, 15}, Endings: []Ending{{Process: "kubelet", Fingerprint: "g1:" + strings.Repeat("a", 32), Verdict: "leaking"}},
	}))
	if got, err = f.SearchFunctions(f.ctx, "probe WAIT", nil, 10, 0); err != nil || len(got.Cases) != 1 || got.Cases[0].ID != b.ID {
		t.Errorf("its sentence finds %+v, %v", got.Cases, err)
	}
	if got, err = f.SearchFunctions(f.ctx, "prober", nil, 10, 0); err != nil || len(got.Families) != 1 || got.Families[0].Verdict != "leaking" {
		t.Errorf("the ending of a group is lost: %+v, %v", got.Families, err)
	}
	got, err = f.SearchFunctions(f.ctx, "kubelet", nil, 10, 0)
	f.ok(err)
	if len(got.Cases) != 2 || got.Cases[0].ID != b.ID {
		t.Errorf("got %+v, want both cases, the newest first", got.Cases)
	}
	wantEqual(t, []ProcessHit{{Host: "node-a", Name: "kubelet", Cases: 2, Snapshots: 3, Latest: Summary{Headline: "24 probe workers wait for one lock.", Verdict: "leaking", Spark: []int{5, 15}, Lower: []bool{}}}}, got.Processes)
	if _, err := f.SetField(f.ctx, a.ID, "ticket", "INC-4711"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.AddBundle(f.ctx, b.ID, "Probe-Leak.tar.gz", []File{f.file("probe.txt", "more")}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"inc-4711": a.ID, "4711": a.ID, "ticket-77 INC-4711": a.ID, "probe-leak": b.ID, "other probe-leak.tar.gz": b.ID, "probe-leak 4711": ""} {
		got, err := f.SearchFunctions(f.ctx, query, nil, 10, 0)
		f.ok(err)
		if want == "" && len(got.Cases) == 0 {
			continue
		}
		if len(got.Cases) != 1 || got.Cases[0].ID != want {
			t.Errorf("%q finds the cases %+v, want %s", query, got.Cases, want)
		}
	}
	got, err = f.SearchFunctions(f.ctx, "node-a kube", nil, 10, 0)
	f.ok(err)
	if len(got.Processes) != 1 {
		t.Errorf("got %+v", got.Processes)
	}
}

// What a search for processes costs must not depend on how much is known of each
// snapshot: the heads are most of a database.
func TestSearchForProcessesReadsTheirIndexAlone(t *testing.T) {
	f := openFile(t)
	f.ok(f.read(f.ctx, "explaining", func(tx *sql.Tx) error {
		plan, err := collect(f.ctx, tx, func(rows *sql.Rows) (line string, err error) {
			var id, parent, unused int
			return line, rows.Scan(&id, &parent, &unused, &line)
		}, "EXPLAIN QUERY PLAN "+searchProcessesSQL, `["kubelet"]`, 10, 0)
		for _, line := range plan {
			if strings.Contains(line, "snapshot") && !strings.Contains(line, "COVERING INDEX snapshot_by_series") || strings.HasPrefix(line, "SCAN p") && !strings.Contains(line, "COVERING") {
				t.Errorf("it reads more: %s", line)
			}
		}
		if len(plan) == 0 || !strings.Contains(strings.Join(plan, "\n"), "SEARCH s USING COVERING INDEX snapshot_by_series (series_seq=?)") {
			t.Errorf("the plan is\n%s", strings.Join(plan, "\n"))
		}
		return err
	}))
}

func TestSearchStopsAtTheLimitWithTheLatestFirst(t *testing.T) {
	f := open(t)
	c := f.newCase("a")
	for i := range 5 {
		snap := kubelet(fmt.Sprint(2+i), instant.Add(time.Duration(i)*time.Hour), 5)
		snap.Groups = []analysis.Group{{Family: &analysis.Family{Fingerprint: fmt.Sprint("g1:", i), Kind: analysis.KindGoroutine, Title: "t", Loose: []string{"shared.Func"}}, Count: i}}
		f.filled(c.ID, fmt.Sprint(i), Result{Snapshots: []analysis.Snapshot{snap}})
	}
	got, err := f.SearchFunctions(f.ctx, "shared.func", nil, 2, 0)
	f.ok(err)
	if len(got.Families) != 2 || got.Families[0].Family.Fingerprint != "g1:4" || got.Families[1].Family.Fingerprint != "g1:3" {
		t.Errorf("got %+v", got.Families)
	}
}

// A hostile dump has any number of files with one function and line.
func TestAFrameIsFoundByItsFileThroughTheIndex(t *testing.T) {
	f := openFile(t)
	var id, parent, unused int
	var detail string
	f.ok(f.reader.QueryRowContext(f.ctx, `EXPLAIN QUERY PLAN `+findFrameSQL, 1, "/srv/main.go", 7, 1).Scan(&id, &parent, &unused, &detail))
	if want := "(function_seq=? AND line=? AND file_hash=?)"; !strings.Contains(detail, want) {
		t.Errorf("the plan is %q, want %q", detail, want)
	}
}

// The plan must go through the indexes: a scan of all names grows with the years.
func TestSearchOfLongWordsUsesTheTextIndex(t *testing.T) {
	f := openFile(t)
	plan := []string{}
	rows, err := f.reader.QueryContext(f.ctx, `EXPLAIN QUERY PLAN `+matchedFamiliesSQL+searchFamiliesSQL, `["prober"]`, 10, 0)
	f.ok(err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		f.ok(rows.Scan(&id, &parent, &unused, &detail))
		plan = append(plan, detail)
	}
	f.ok(rows.Err())
	text := strings.Join(plan, "\n")
	for _, want := range []string{"SCAN t VIRTUAL TABLE INDEX 0:M", "SEARCH ff USING PRIMARY KEY", "SEARCH fs USING PRIMARY KEY (family_seq=?)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q:\n%s", want, text)
		}
	}
}

func TestEndingsAreThoseOfTheCasesThatAreAskedFor(t *testing.T) {
	f := open(t)
	a, b, c := f.newCase("a"), f.newCase("b"), f.newCase("c")
	for _, id := range []string{a.ID, b.ID, c.ID} {
		f.ok(f.SetCaseSummary(f.ctx, id, Summary{Endings: []Ending{
			{Process: "kubelet", Fingerprint: "g1:aa", Verdict: "leaking", Recovered: id == b.ID},
			{Process: "agent", Fingerprint: "g1:aa", Verdict: "new"},
			{Process: "kubelet", Fingerprint: "g1:bb", Verdict: "gone"},
		}}))
	}
	got, err := f.EndingsOf(f.ctx, "g1:aa", []string{b.ID, "none"})
	f.ok(err)
	wantEqual(t, []CaseEnding{
		{CaseID: b.ID, Ending: Ending{Process: "agent", Fingerprint: "g1:aa", Verdict: "new"}},
		{CaseID: b.ID, Ending: Ending{Process: "kubelet", Fingerprint: "g1:aa", Verdict: "leaking", Recovered: true}},
	}, got)
}

func TestALongCourseDoesNotCrowdOutOtherCases(t *testing.T) {
	f := open(t)
	long, short := f.newCase("long"), f.newCase("short")
	var many []analysis.Snapshot
	for i := range mostCourse + 20 {
		many = append(many, kubelet(fmt.Sprint(i), instant.Add(time.Duration(i+2)*time.Minute), i+1))
	}
	many[0].Groups[0].Count = 9000
	f.filled(long.ID, "1", Result{Snapshots: many})
	f.filled(short.ID, "2", Result{Snapshots: []analysis.Snapshot{kubelet("earlier", instant, 3)}})
	got, err := f.FamilySightings(f.ctx, proberGroup(5).Family.Fingerprint, mostCourse+1)
	f.ok(err)
	if n := len(got.List); n != mostCourse+1 || got.List[n-1].CaseID != short.ID || got.Cases != 2 {
		t.Errorf("%d sightings of %d cases, the last %+v", n, got.Cases, got.List[n-1])
	}
	if got.List[0].Highest != 9000 {
		t.Errorf("the highest of the long course is %d", got.List[0].Highest)
	}
}

func TestLettersOfEveryScriptAreFoundWithoutRegardToCase(t *testing.T) {
	f := open(t)
	c := f.newCase("Ärger mit ΣΊΓΜΑ")
	_, err := f.SetField(f.ctx, c.ID, "ticket", "ÄNDERUNG-7")
	f.ok(err)
	r := kubeletResult("2")
	r.Snapshots[0].Process.Name.Value, r.Snapshots[0].Process.Host.Value = "Überwacher", "Knoten-Ö"
	group := &r.Snapshots[0].Groups[0]
	group.Family.Loose = []string{"main.(*Prüfer).Öffne"}
	group.Variants[0].Stack.Frames[0].Func = "main.(*Prüfer).Öffne"
	f.filled(c.ID, "1", r)
	_, err = f.SetField(f.ctx, f.newCase("ΟΔΟΣ in İstanbul").ID, "ticket", "İZMİR-7")
	f.ok(err)
	for name, q := range map[string]CaseQuery{
		"a point above": {Text: "İstanbul"}, "a sigma at the end": {Text: "ΟΔΟΣ"}, "words of both": {Find: "ΟΔΟΣ in İstanbul"}, "its ticket": {Text: "İZMİR"},
		"title": {Text: "Ärger"}, "title in small letters": {Text: "ärger mit σίγμα"}, "ticket": {Text: "änderung"},
		"process": {Process: "ÜBERWACHER"}, "host": {Host: "knoten-ö"},
	} {
		q.Limit = 10
		if got, total, err := f.Cases(f.ctx, q); err != nil || len(got) != 1 || total != 1 {
			t.Errorf("%s: %d of %d cases, %v", name, len(got), total, err)
		}
	}
	if _, total, err := f.Cases(f.ctx, CaseQuery{Text: "Ä\xff", Limit: 10}); err != nil || total != 0 {
		t.Errorf("what is no text finds %d cases, %v", total, err)
	}
	for query, want := range map[string][3]int{
		"Ärger": {0, 1, 0}, "änderung ä": {0, 1, 0}, "ü": {1, 0, 1}, "Ö": {1, 0, 1}, "PRÜFER": {1, 0, 0}, "überwacher KNOTEN-Ö": {0, 0, 1},
		"İstanbul": {0, 1, 0}, "ΟΔΟΣ İSTANBUL": {0, 1, 0}, "İZMİR-7": {0, 1, 0},
		"Ä\xff": {0, 0, 0},
	} {
		got, err := f.SearchFunctions(f.ctx, query, nil, 10, 0)
		f.ok(err)
		if n := [3]int{len(got.Families), len(got.Cases), len(got.Processes)}; n != want {
			t.Errorf("%q finds %d families, cases and processes, want %d", query, n, want)
		}
	}
}

func TestWordsAreLookedForAgainAfterOneThatIsKnown(t *testing.T) {
	f := open(t)
	f.ok(f.write(f.ctx, "testing", func(tx *sql.Tx) error {
		w, err := newWordWriter(f.ctx, tx, f.engine)
		f.ok(err)
		defer w.close()
		seqs := map[string]int64{}
		for _, step := range []struct {
			name    string
			growing bool // afterwards
		}{{"a", true}, {"b", true}, {"a", false}, {"b", false}, {"c", true}, {"c", false}} {
			clear(w.functions)
			seq, err := w.function(f.ctx, step.name)
			f.ok(err)
			if known, again := seqs[step.name]; again && seq != known {
				t.Errorf("%s has the rows %d and %d", step.name, known, seq)
			}
			seqs[step.name] = seq
			if w.functionRows.growing != step.growing {
				t.Errorf("growing is %v after %s", w.functionRows.growing, step.name)
			}
		}
		return nil
	}))
	if n := f.rows("function"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestAWordFindsWhatPeopleCallSo(t *testing.T) {
	f := open(t)
	f.filled(f.newCase("x").ID, "1", kubeletResult("2", "3"))
	aliases := func(word string) []string {
		return map[string][]string{"probe": {"k8s.io/kubernetes/pkg/kubelet/prober.(*worker)", "none.of.them"}, "workers": {"k8s.io/kubernetes/pkg/kubelet/prober.(*worker)"}, "ends": {"TCP to"}}[word]
	}
	for query, want := range map[string]int{"probe workers": 1, "probe": 1, "workers": 1, "ends": 1, "workers none": 0, "probe workers ends": 0} {
		got, err := f.SearchFunctions(f.ctx, query, aliases, 10, 0)
		f.ok(err)
		if len(got.Families) != want {
			t.Errorf("%q finds %d families, want %d", query, len(got.Families), want)
		}
	}
}
