package redact

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
)

// allowed are the fields of a snapshot whose text stays: functions, types and packages,
// and what is made of hashes.
var allowed = []string{
	"Snapshot.ID", "Snapshot.Watched", "Snapshot.Labels", "Snapshot.Ancestries", "Snapshot.Births", "Snapshot.Objects", "Snapshot.Passed", "Snapshot.CPU", "Artifact.SHA256", "Family.Fingerprint", "Family.Loose", "Family.LooseCreator", "Family.Entry", "Variant.Fingerprint", "Frame.Func",
	"Object.Func", "ObjectKind.Name", "ObjectKind.Type", "ObjectRole.Role", "ObjectHolder.Type", "ObjectHolder.Role", "Monitor.Class", "MonitorSite.Func", "MonitorHolder.At",
	"HeapRow.Name", "LogFact.Kind", "Package.Name", "Statement.Pool",
}

// filler puts a word of its own into every string that a value refers to.
type filler struct {
	words map[string]string // the field of each word
	n     int
}

func (f *filler) word(field string) string {
	f.n++
	w := "zyx" + strings.Repeat(string(rune('a'+f.n%26)), 2+f.n/26) + "quokk"
	f.words[w] = field
	return w
}

func (f *filler) fill(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == plain {
			v.SetString(f.word(field))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), field)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, field)
		f.fill(value, field)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type() != reflect.TypeFor[time.Time]() && v.Type().Field(i).Name != "Members" {
				f.fill(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
			}
		}
	}
}

func TestEveryFieldOfEvidenceIsHiddenUnlessItIsAllowed(t *testing.T) {
	f := &filler{words: map[string]string{}}
	var snap analysis.Snapshot
	f.fill(reflect.ValueOf(&snap).Elem(), "")
	snap.Groups[0].Family.Kind = analysis.KindThread
	snap.Groups[0].Members = analysis.Members{Columns: &analysis.Columns{Offset: []int64{0}, Artifact: []int32{0}, Line: []int64{1}, Detail: []string{f.word("Members.Detail")}}}
	labels := analysis.LabelsOf(map[string]string{f.word("Labels.Key"): f.word("Labels.Value")})
	snap.Groups[0].Members.States = []string{analysis.Labelled("select", labels)}
	var problem analysis.Problem
	f.fill(reflect.ValueOf(&problem).Elem(), "")
	c := Case{Series: [][]*analysis.Snapshot{{&snap}}, Problems: []analysis.Problem{problem}, Hosts: []string{f.word("Case.Hosts")}, Files: []string{f.word("Case.Files")}, Said: []string{f.word("Case.Said")}}
	if f.n < 60 {
		t.Fatalf("only %d fields have a text", f.n)
	}
	r := New(c)
	for word, field := range f.words {
		if stays := strings.Contains(r.Text("it is "+word+", again"), word); stays != slices.Contains(allowed, field) {
			t.Errorf("%s stays: %t", field, stays)
		}
	}
}

func TestOnlyWhatIsKnownToBeHarmlessStays(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a word that nobody knows", "worker of nachtfalke", "worker of name-1"},
		{"inside a name", "project-nachtfalke", "name-1"},
		{"in capitals", "NACHTFALKE and nachtfalke", "name-1 and name-1"},
		{"written together", "HikariPool connectionPoolWorker NachtPool", "HikariPool connectionPoolWorker name-1"},
		{"beyond ASCII", "Kunzmüller Söhne", "name-1 name-2"},
		{"a password with signs", "it is zulu!q$s6 now", "it is name-1 now"},
		{"a password of short pieces", "it is ab!c:d?ef now", "it is name-1 now"},
		{"a telephone", "call +49 171 555 4817 now", "call name-1 now"},
		{"a number of an account", "account 418726354092", "account name-1"},
		{"numbers with units", "12 workers, 500ms, 3.5s, 10u, v2, 0x1d, 20260701, 2026-07-01T03:00:00Z", "12 workers, 500ms, 3.5s, 10u, v2, 0x1d, 20260701, 2026-07-01T03:00:00Z"},
		{"a random word", "key Zk9tR2x7Qw3e", "key name-1"},
		{"states", "chan receive, semacquire, TIMED_WAITING, CLOSE_WAIT", "chan receive, semacquire, TIMED_WAITING, CLOSE_WAIT"},
		{"programs and paths of systems", "kubelet reads /usr/lib/x86_64-linux-gnu/libzzq.so.3", "kubelet reads /usr/lib/x86_64-linux-gnu/libzzq.so.3"},
		{"a public ticket", "https://github.com/kubernetes/kubernetes/pull/1234567", "https://github.com/kubernetes/kubernetes/pull/1234567"},
		{"the remains of a word that was cut", "nachtfa… in the pool", "name-1… in the pool"},
		{"a file of sources keeps its ending", "/opt/app/nachtfalke.go", "/opt/app/name-1.go"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRedactor()
			r.allow(free, tc.in)
			if d := cmp.Diff(tc.want, r.Text(tc.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAPrivateMachineInTheNameOfAModuleIsHidden(t *testing.T) {
	r := newRedactor()
	r.keepFunction("git.nachtfalke.corp/pay/zorro.(*Tx).Commit", "github.com/zorroworks/lib.Open")
	r.allow(free, "in git.nachtfalke.corp/pay/zorro and github.com/zorroworks/lib")
	if got, want := r.Text("git.nachtfalke.corp/pay/zorro.(*Tx).Commit, github.com/zorroworks/lib.Open"), "host-1/pay/zorro.(*Tx).Commit, github.com/zorroworks/lib.Open"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheVocabularyIsSorted(t *testing.T) {
	words := strings.Fields(vocabularyText)
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Error("it is not in order, or has a word twice")
	}
	for _, w := range words {
		if w != strings.ToLower(w) {
			t.Errorf("%q has capitals", w)
		}
	}
}

// Words that repeat are searched once.
func BenchmarkAllow(b *testing.B) {
	var texts []string
	for i := range 5000 {
		texts = append(texts, fmt.Sprintf("12u REG /srv/data/ledger-%d.db of worker-%d", i, i%100))
	}
	for b.Loop() {
		r := newRedactor()
		r.allow(listings, texts...)
		r.Text("x")
	}
}

func TestNoUnknownWordIsLeft(t *testing.T) {
	for _, s := range []string{
		"dial tcp 10.1.2.3:443 for Wolpertinger, /home/x/y token=abcd ab!c:d?ef 4b825dc6-42cb-4eb9-a060-e54bf8d69288",
		"Kunzmüller_Söhne-7 nachtfalke_v2 [::ffff:10.0.0.1]:80 zulu… …zulu",
	} {
		r := newRedactor()
		r.allow(free, s)
		got := r.Text(s)
		for _, e := range elements(got) {
			if len(e) >= shortest && !r.harmless(e, listings) {
				t.Errorf("%q leaves %q in %q", s, e, got)
			}
		}
	}
}
