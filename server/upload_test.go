package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/report"
	"leakdiff/server/intake"
	"leakdiff/store"
	"leakdiff/store/blob"
)

// aged is a dump whose goroutines were born evenly over two days, so that their ages alone
// are evidence.
func aged(marked string) []byte {
	var out bytes.Buffer
	for i := range 120 {
		fmt.Fprintf(&out, "goroutine %d [chan receive%s, %d minutes]:\nmain.leak()\n\t/src/main.go:5 +0x1d\ncreated by main.serve in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", 1000+i, marked, 24*(121-i))
	}
	fmt.Fprintf(&out, "goroutine 1 [select, 2900 minutes]:\nmain.main()\n\t/src/main.go:2 +0x1d\n\n")
	return out.Bytes()
}

func TestTheReportWithoutMembersSaysOfALoneSnapshotWhatTheOtherSays(t *testing.T) {
	site := newSite(t)
	for name, tt := range map[string]struct {
		dump []byte
		want analysis.Verdict
	}{
		"ages":  {aged(""), analysis.Suspicious},
		"marks": {aged(" (leaked)"), analysis.Leaking},
		"none":  {[]byte("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:5 +0x1d\n"), analysis.TooFewPoints},
	} {
		up := site.put(name+".txt", tt.dump)
		full := report.Build(site.evidence(up.Case), nil, report.Options{Version: site.s.cfg.Version})
		_, brief, err := site.s.loader.Judge(t.Context(), up.Case)
		if err != nil {
			t.Fatal(err)
		}
		want := full.Summary()
		if diff := cmp.Diff(want, brief.Summary); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if want.Verdict != tt.want {
			t.Errorf("%s: the verdict is %s, want %s", name, want.Verdict, tt.want)
		}
		if diff := cmp.Diff(full.Report.Snapshots, up.Snapshots); diff != "" {
			t.Errorf("%s: the answer lists other snapshots: %s", name, diff)
		}
	}
}

// evidence reads all snapshots of a case as they are stored.
func (s *site) evidence(caseID string) []analysis.Snapshot {
	s.t.Helper()
	st := s.s.cfg.Store
	rows, heads, err := st.SnapshotHeads(s.t.Context(), caseID)
	if err != nil {
		s.t.Fatal(err)
	}
	into := make([]*analysis.Snapshot, len(heads))
	for i := range heads {
		into[i] = &heads[i]
	}
	if err := st.FillSnapshots(s.t.Context(), rows, into); err != nil {
		s.t.Fatal(err)
	}
	return heads
}

// together sends requests at once and counts their answers by status.
func (s *site) together(n int, send func() reply) (answers []intake.Uploaded, statuses map[int]int) {
	s.t.Helper()
	replies := make(chan reply, n)
	for range n {
		go func() { replies <- send() }()
	}
	statuses = map[int]int{}
	for range n {
		r := <-replies
		statuses[r.status]++
		answers = append(answers, decode[intake.Uploaded](s.t, r.body))
	}
	return answers, statuses
}

func TestTheSameBytesThatComeTogetherIntoACaseAreOneBundle(t *testing.T) {
	s := newSite(t)
	up := s.put("first.txt", []byte(tinyDump))
	answers, statuses := s.together(8, func() reply {
		return s.do("PUT", "/api/v1/bundles/same.txt?case="+up.Case, bytes.NewReader(waiting(30)), "Authorization", "Bearer "+up.OwnerKey)
	})
	for _, a := range answers {
		if a.ID != answers[0].ID {
			t.Errorf("bundles %s and %s", a.ID, answers[0].ID)
		}
	}
	if statuses[http.StatusCreated] != 1 || statuses[http.StatusOK] != 7 {
		t.Errorf("answers %v, want one 201 and seven 200", statuses)
	}
}

func TestRequestsWithOneKeyThatComeTogetherGetOneAnswer(t *testing.T) {
	s := newSite(t)
	answers, statuses := s.together(4, func() reply {
		return s.do("PUT", "/api/v1/bundles/same.txt?wait=1", bytes.NewReader(waiting(30)), "Idempotency-Key", "k")
	})
	for _, a := range answers {
		if a.Case != answers[0].Case || a.OwnerKey != answers[0].OwnerKey {
			t.Errorf("cases %s and %s", a.Case, answers[0].Case)
		}
	}
	if statuses[http.StatusCreated] != 4 {
		t.Errorf("answers %v, want the same four times", statuses)
	}
}

// lateStorage calls a function between the storing of an upload and its record.
type lateStorage struct {
	Storage
	meanwhile func()
}

func (s *lateStorage) OpenCase(ctx context.Context, title, sample, name string, files []store.File, receipts ...store.Receipt) (store.Case, store.Bundle, string, error) {
	s.meanwhile()
	return s.Storage.OpenCase(ctx, title, sample, name, files, receipts...)
}

func TestAnUploadWhoseBytesWentWithAnotherCaseMeanwhileIsToBeSentAgain(t *testing.T) {
	st := openStore(t)
	late := &lateStorage{Storage: st, meanwhile: func() {}}
	s := startSite(t, st, Config{Store: late})
	for _, accept := range []string{"application/json", "text/html"} {
		other := s.put("dump.txt", []byte(tinyDump))
		late.meanwhile = func() {
			if err := st.DeleteCase(t.Context(), other.Case, store.WithdrawPermalinks); err != nil {
				t.Error(err)
			}
		}
		var r reply
		if accept == "text/html" {
			body, kind := form(t, map[string]string{"dump.txt": tinyDump}, nil)
			r = s.do("POST", "/upload", body, "Content-Type", kind, "Accept", accept)
		} else {
			r = s.do("PUT", "/api/v1/bundles/dump.txt", strings.NewReader(tinyDump), "Accept", accept)
		}
		if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "Upload the file again.") {
			t.Errorf("%s: %d, Retry-After %q: %s", accept, r.status, r.header.Get("Retry-After"), r.body)
		}
		late.meanwhile = func() {}
		s.do("DELETE", "/api/v1/cases/"+s.put("dump.txt", []byte(tinyDump)).Case, nil)
	}
}

// waiting is a dump of waiting goroutines and the one that writes it.
func waiting(goroutines int) []byte {
	var b bytes.Buffer
	b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:3 +0x1\n\n")
	for i := range goroutines {
		fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\nmain.(*worker).run(0xc%09x)\n\t/src/worker.go:40 +0x1d\ncreated by main.start in goroutine 1\n\t/src/worker.go:9 +0x2e\n\n", i+7, i%50, i*64)
	}
	return b.Bytes()
}

func TestAFormWithSeveralFilesIsReadTogether(t *testing.T) {
	s := newSite(t)
	body, kind := form(t, map[string]string{"t1/dump.txt": string(waiting(3)), "t2/dump.txt": string(waiting(9))}, nil)
	r := s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind)
	if r.status != http.StatusCreated || len(decode[intake.Uploaded](t, r.body).Snapshots) != 2 {
		t.Errorf("%d: %s", r.status, r.body)
	}
}

func TestDumpsSentOneByOneAreDatedByTheTimesOfTheirFiles(t *testing.T) {
	s := newSite(t)
	first := s.do("PUT", "/api/v1/bundles/late.txt?wait=1&modified=2026-11-01T11:00:00%2B01:00", bytes.NewReader(waiting(9)))
	up := decode[intake.Uploaded](t, first.body)
	form := "--b\r\nContent-Disposition: form-data; name=\"modified\"\r\n\r\n2026-11-01T09:30:00.250Z\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"soon.txt\"\r\n\r\n" + string(waiting(3)) + "\r\n--b--\r\n"
	if r := s.do("POST", "/api/v1/bundles?wait=1&case="+up.Case, strings.NewReader(form), "Content-Type", "multipart/form-data; boundary=b", "Authorization", "Bearer "+up.OwnerKey); r.status != http.StatusCreated {
		t.Fatalf("%d: %s", r.status, r.body)
	}
	var got []string
	for _, snap := range decode[report.Report](t, s.get("/api/v1/cases/"+up.Case).body).Snapshots {
		got = append(got, fmt.Sprint(snap.CapturedAt.UTC().Format(time.RFC3339Nano), " ", *snap.Totals.Goroutines))
	}
	if want := []string{"2026-11-01T09:30:00.25Z 4", "2026-11-01T10:00:00Z 10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// forgetful loses what is said of uploads after they were recorded.
type forgetful struct{ Storage }

func (forgetful) Reword(context.Context, string, store.Answer) error { return errors.New("killed") }

func TestARepeatedUploadIsOneAlsoIfTheServerDiedBeforeItAnswered(t *testing.T) {
	st := openStore(t)
	s := startSite(t, st, Config{Store: forgetful{st}, Blobs: st.Blobs()})
	put := func() intake.Uploaded {
		t.Helper()
		r := s.do("PUT", "/api/v1/bundles/same.txt?wait=1", bytes.NewReader(waiting(30)), "Idempotency-Key", "k")
		if r.status != http.StatusCreated {
			t.Fatalf("%d: %s", r.status, r.body)
		}
		return decode[intake.Uploaded](t, r.body)
	}
	first, again := put(), put()
	if again.ID != first.ID || again.OwnerKey != first.OwnerKey || again.Status != string(store.Queued) {
		t.Errorf("the first upload was answered with %+v, the second with %+v", first, again)
	}
}

// failing fails to store anything durably after all was received.
type failing struct{ Blobs }

func (f failing) Put(ctx context.Context, r io.Reader, limit int64) (blob.Ref, error) {
	_, err := f.Blobs.Put(ctx, r, limit)
	return blob.Ref{}, errors.Join(err, errors.New("input/output error"))
}

func TestAnUploadThatWasNotStoredIsInNoCase(t *testing.T) {
	st := openStore(t)
	s := startSite(t, st, Config{Blobs: failing{st.Blobs()}})
	if r := s.do("PUT", "/api/v1/bundles/dump.txt?wait=1", bytes.NewReader(waiting(5))); r.status != http.StatusInternalServerError {
		t.Errorf("the upload gave %d: %s", r.status, r.body)
	}
	_, cases, err := st.Cases(t.Context(), store.CaseQuery{})
	if err != nil || cases > 0 {
		t.Errorf("there are %d cases (%v)", cases, err)
	}
}

func TestAnUploadAnswersInTextWhereItIsAsked(t *testing.T) {
	s := newSite(t)
	put := func(path, accept string) reply {
		return s.do("PUT", path, strings.NewReader(dumpOf(90)), "Accept", accept, "Idempotency-Key", "one")
	}
	first := put("/api/v1/bundles/one.txt?wait=1", "text/plain")
	lines := strings.Split(strings.TrimSpace(first.body), "\n")
	if first.status != http.StatusCreated || len(lines) != 3 || lines[0] != "One dump: 91 goroutines, 90 of them in main.leak, blocked in channel receive." ||
		!strings.HasPrefix(lines[1], s.url+"/cases/") || !strings.HasPrefix(lines[2], "owner key ") {
		t.Errorf("%d: %q", first.status, lines)
	}
	if again := put("/api/v1/bundles/one.txt?wait=1", "text/plain"); again.body != first.body {
		t.Errorf("the same again: %q", again.body)
	}
	for _, accept := range []string{"*/*", "application/json", "application/json, text/plain"} {
		if r := put("/api/v1/bundles/one.txt?wait=1", accept); !strings.HasPrefix(r.body, "{") {
			t.Errorf("Accept %s: %q", accept, r.body)
		}
	}
}
