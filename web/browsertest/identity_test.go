package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// threeDumps are dumps of one program without any time, in one upload: 3, 13 and
// 23 goroutines wait in main.leak.
func threeDumps() map[string]string {
	out := map[string]string{}
	for i, n := range []int{3, 13, 23} {
		var b strings.Builder
		b.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/main.go:10 +0x1d\n\n")
		for id := range n {
			fmt.Fprintf(&b, "goroutine %d [chan receive]:\nmain.leak()\n\t/src/main.go:20 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:9 +0x1d\n\n", id+7)
		}
		out[fmt.Sprintf("t%d.txt", i)] = b.String()
	}
	return out
}

// addFiles writes files into a directory and gives their paths.
func addFiles(t *testing.T, files map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

// upload sends a file and gives its case.
func upload(t *testing.T, base, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var up struct{ Case, Status string }
	send(t, http.MethodPut, base+"/api/v1/bundles/"+filepath.Base(path)+"?wait=1", f, &up)
	if up.Status != "done" {
		t.Fatalf("%s is %q after waiting for it", path, up.Status)
	}
	return up.Case
}

// openValue opens the form behind a value: openValue("kubelet", "t1", "Program").
func openValue(process, label, field string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(rowOf(process, label)+`/td[@data-l=`+strconv.Quote(field)+`]//summary`, chromedp.NodeVisible)
}

// rowOf is the XPath of a snapshot's row on the identity page.
func rowOf(process, label string) string {
	return `//section[header/h2[normalize-space()=` + strconv.Quote(process) + `]]//tr[th/a[normalize-space()=` + strconv.Quote(label) + `]]`
}

// inOpen is an element of the form that is open.
func inOpen(element string) string { return `//details[@open]//` + element }

// enter replaces what stands in the open form's field.
func enter(value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(inOpen(`input[@name="value"]`), value)
}

// pick selects the option with these words in a box.
func pick(box, words string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		value, err := chromedp.AttributeValue(box+`/option[normalize-space()=`+strconv.Quote(words)+`]`, "value")(ctx, target)
		if err != nil {
			return chromedp.Void{}, err
		}
		return chromedp.SetValue(box, value.Value)(ctx, target)
	}
}

func save(words string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(inOpen(`button[contains(normalize-space(),`+strconv.Quote(words)+`)]`), chromedp.NodeVisible)
}

// titles are the headings of the series with their numbers of snapshots.
func titles(t *testing.T, tb *tab) map[string]int {
	t.Helper()
	return ask[map[string]int](t, tb, `Object.fromEntries([...document.querySelectorAll('section:has(> table.idt)')].map(s => [s.querySelector('h2').textContent.trim(), s.querySelectorAll('tbody tr').length]))`)
}

func TestAnEngineerCorrectsWhatWasRecognised(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.do(t, withoutScripts) // every form works without them
	path := "/cases/" + upload(t, tb.base, absolute(t, kubeletSample))

	step(t, "the case leads to the page of its files and processes", func(t *testing.T) {
		tb.open(t, path)
		tb.do(t, openPart("Files"))
		tb.follow(t, chromedp.Click(chromedp.CSS(`main a[href$="/identity"]`)))
		head := run(t, tb, chromedp.Text(chromedp.CSS("section[aria-labelledby=processes] > p")))
		if want := "18\u00a0snapshots of 2\u00a0processes; times from captured_at (certain); nobody has changed anything."; head != want {
			t.Errorf("the page says %q, want %q", head, want)
		}
	})
	step(t, "a value opens its form with the keyboard and renames the series", func(t *testing.T) {
		tb.do(t, chromedp.Focus(rowOf("kubelet", "t0")+`/td[@data-l="Program"]//summary`), chromedp.KeyEvent("\r"), chromedp.WaitVisible(inOpen(`input[@name="value"]`)))
		tb.do(t, enter("kubelet-canary"))
		tb.follow(t, save("Save"))
		if diff := cmp.Diff(map[string]int{"kubelet-canary": 9, "containerd": 9}, titles(t, tb)); diff != "" {
			t.Error(diff)
		}
		if said := run(t, tb, chromedp.Text(chromedp.CSS("main [role=status]"))); !strings.Contains(said, "kubelet → kubelet-canary") {
			t.Errorf("the page says %q", said)
		}
		tb.open(t, path)
		if diff := cmp.Diff(kubeletGoroutines, figuresOf(t, tb, "kubelet-canary", "Goroutines")); diff != "" {
			t.Errorf("the case under the new name (-want +got):\n%s", diff)
		}
	})
	step(t, "undoing it gives the name back", func(t *testing.T) {
		tb.open(t, path+"/identity")
		tb.follow(t, press("Undo"))
		if diff := cmp.Diff(map[string]int{"kubelet": 9, "containerd": 9}, titles(t, tb)); diff != "" {
			t.Error(diff)
		}
	})
	step(t, "a snapshot that is left out counts nowhere", func(t *testing.T) {
		tb.do(t, chromedp.Click(rowOf("kubelet", "t8")+`//summary[starts-with(normalize-space(),"more")]`, chromedp.NodeVisible))
		tb.follow(t, save("Leave t8 out"))
		if diff := cmp.Diff(map[string]int{"kubelet": 8, "containerd": 9}, titles(t, tb)); diff != "" {
			t.Error(diff)
		}
		tb.open(t, path)
		want := append(append([]string(nil), kubeletGoroutines[:8]...), "–")
		if diff := cmp.Diff(want, figuresOf(t, tb, "kubelet", "Goroutines")); diff != "" {
			t.Errorf("goroutines of kubelet (-want +got):\n%s", diff)
		}
	})
	step(t, "a series is split, and merged again", func(t *testing.T) {
		tb.open(t, path+"/identity")
		tb.do(t, chromedp.Click(rowOf("kubelet", "t5")+`//summary[starts-with(normalize-space(),"more")]`, chromedp.NodeVisible), enter("node-2/kubelet-b"))
		tb.follow(t, save("Split"))
		if diff := cmp.Diff(map[string]int{"kubelet": 5, "kubelet-b": 3, "containerd": 9}, titles(t, tb)); diff != "" {
			t.Error(diff)
		}
		box := `//section[header/h2[normalize-space()="kubelet-b"]]/header`
		tb.do(t, chromedp.Click(box+`//summary`, chromedp.NodeVisible), pick(box+`//select`, "kubelet on realnode1"))
		tb.follow(t, save("Merge"))
		if diff := cmp.Diff(map[string]int{"kubelet": 8, "containerd": 9}, titles(t, tb)); diff != "" {
			t.Error(diff)
		}
		tb.open(t, path)
		if diff := cmp.Diff(append(append([]string(nil), kubeletGoroutines[:8]...), "–"), figuresOf(t, tb, "kubelet", "Goroutines")); diff != "" {
			t.Errorf("goroutines of kubelet (-want +got):\n%s", diff)
		}
		tb.open(t, path+"/identity")
	})
	step(t, "a time that is none is explained beside its field", func(t *testing.T) {
		tb.do(t, openValue("kubelet", "t3", "Time"), enter("noon"))
		if answer := run(t, tb, chromedp.Evaluate[string](`document.querySelector('details[open] [role=alert]')?.textContent ?? 'none'`)); answer != "none" {
			t.Fatalf("an error stands there already: %s", answer)
		}
		refused(t, tb, save("Save"))
		if got := ask[string](t, tb, `document.querySelector('details[open] [role=alert]').textContent`); !strings.HasPrefix(got, "This is no time.") {
			t.Errorf("beside the field stands %q", got)
		}
		if got := run(t, tb, chromedp.Value(inOpen(`input[@name="value"]`))); got != "noon" {
			t.Errorf("the field holds %q, want what was entered", got)
		}
		write(t, filepath.Join("screenshots", fmt.Sprintf("identity-refused-light-%d.png", wide)), string(run(t, tb, picture)))
	})
	tb.ignore("status of 400")
}

// refused presses what leads to a page that explains a refusal.
func refused(t *testing.T, tb *tab, action chromedp.Action[chromedp.Void]) {
	t.Helper()
	tb.do(t, action, chromedp.WaitVisible(inOpen(`*[@role="alert"]`)))
}

func TestDumpsWithoutATimeAreGivenOne(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.open(t, "/")
	tb.choose(t, press("Choose files"), addFiles(t, threeDumps())...)
	tb.do(t, see(answerShown))
	path := strings.SplitN(tb.path(t), "?", 2)[0]
	caseOf := func() (labels []string, verdict string) {
		var found struct {
			Snapshots []struct {
				Label      string
				CapturedAt *string `json:"captured_at"`
			}
			Series []struct {
				Families []struct{ Title, Verdict string }
			}
		}
		if err := json.Unmarshal([]byte(get(t, tb.base+path+".json")), &found); err != nil {
			t.Fatal(err)
		}
		for _, s := range found.Snapshots {
			at := ""
			if s.CapturedAt != nil {
				at = " " + *s.CapturedAt
			}
			labels = append(labels, s.Label+at)
		}
		return labels, found.Series[0].Families[0].Verdict
	}
	process := func() string {
		return ask[string](t, tb, `document.querySelector('section:has(> table.idt) h2').textContent.trim()`)
	}
	step(t, "the order is that of the names, and the page says so", func(t *testing.T) {
		tb.open(t, path+"/identity")
		if text := run(t, tb, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(text, "no time is known, the order is that of the names") || !strings.Contains(text, "rates are per snapshot") {
			t.Errorf("the page does not say so\n%s", tb.where())
		}
	})
	step(t, "a snapshot is moved up", func(t *testing.T) {
		tb.follow(t, chromedp.Click(chromedp.CSS(`button[aria-label="Move t2 up"]`), chromedp.NodeVisible))
		labels, verdict := caseOf()
		if diff := cmp.Diff([]string{"t0", "t2", "t1"}, labels); diff != "" {
			t.Error(diff)
		}
		if verdict == "leaking" || verdict == "suspicious" {
			t.Errorf("3, 23, 13 is called %s", verdict)
		}
		tb.follow(t, press("Undo"))
	})
	step(t, "times make a course of it", func(t *testing.T) {
		for i, at := range []string{"2026-11-21 03:20", "2026-11-21 03:10:00", "2026-11-21T03:00:00Z"} {
			tb.do(t, openValue(process(), fmt.Sprintf("t%d", i), "Time"), enter(at))
			tb.follow(t, save("Save"))
		}
		labels, _ := caseOf()
		want := []string{"t2 2026-11-21T03:00:00Z", "t1 2026-11-21T03:10:00Z", "t0 2026-11-21T03:20:00Z"}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Error(diff)
		}
	})
	step(t, "the page of a value that is open fits a phone", func(t *testing.T) {
		tb.do(t, chromedp.EmulateViewport(narrow, 900), openValue(process(), "t1", "Program"))
		if diff := cmp.Diff([]string{}, tooWide(t, tb)); diff != "" {
			t.Errorf("these reach over the edge (-want +got):\n%s", diff)
		}
		write(t, filepath.Join("screenshots", fmt.Sprintf("identity-open-light-%d.png", narrow)), string(run(t, tb, picture)))
		tb.do(t, chromedp.EmulateViewport(wide, 900))
		write(t, filepath.Join("screenshots", fmt.Sprintf("identity-open-light-%d.png", wide)), string(run(t, tb, picture)))
		tb.do(t, chromedp.Click(rowOf(process(), "t1")+`//summary[starts-with(normalize-space(),"more")]`, chromedp.NodeVisible), settled, prefer("dark"), settled)
		write(t, filepath.Join("screenshots", fmt.Sprintf("identity-open-dark-%d.png", wide)), string(run(t, tb, picture)))
	})
}

// fill replaces what stands in a field.
func fill(selector, value string) chromedp.Action[chromedp.Void] {
	return chromedp.SetValue(chromedp.CSS(selector), value)
}

func TestAnEngineerSaysWhatHappenedAndWhatWasAsked(t *testing.T) {
	t.Parallel()
	tb := openTab(t, startProgram(t))
	tb.do(t, withoutScripts) // every form works without them
	path := "/cases/" + upload(t, tb.base, absolute(t, kubeletSample))
	said := func(t *testing.T) string {
		return run(t, tb, chromedp.Text(chromedp.CSS("main [role=status]")))
	}
	kubelet := `section:has(h2):has(> details[id$="-asked"])`
	step(t, "an event that is none keeps what was entered", func(t *testing.T) {
		tb.open(t, path+"/identity")
		tb.do(t, fill("#event-time", "noon"), fill("#event-kind", "deploy"), fill("#event-text", "prober 1.31"))
		tb.do(t, chromedp.Click(`//section[@id="happened"]//button[normalize-space()="Save"]`, chromedp.NodeVisible), chromedp.WaitVisible(`//section[@id="happened"]//*[@role="alert"]`))
		if got := run(t, tb, chromedp.Value(chromedp.CSS("#event-text"))); got != "prober 1.31" {
			t.Errorf("the field holds %q, want what was entered", got)
		}
		if got := ask[string](t, tb, `document.activeElement.id`); got != "event-time" {
			t.Errorf("the focus is in %q, want the field that is wrong", got)
		}
	})
	step(t, "an event is named with the growth that began then", func(t *testing.T) {
		var found struct {
			Series []struct {
				Families []struct {
					Onset *struct{ From, To string }
				}
			}
		}
		if err := json.Unmarshal([]byte(get(t, tb.base+path+".json")), &found); err != nil {
			t.Fatal(err)
		}
		var to string
		for _, f := range found.Series[0].Families {
			if f.Onset != nil && f.Onset.To != "" {
				to = f.Onset.To
				break
			}
		}
		if to == "" {
			t.Fatal("no growth has a beginning")
		}
		tb.do(t, fill("#event-time", to))
		tb.follow(t, chromedp.Click(`//section[@id="happened"]//button[normalize-space()="Save"]`, chromedp.NodeVisible))
		if text := said(t); !strings.Contains(text, "deploy, prober 1.31; it lies between t") {
			t.Errorf("the page says %q", text)
		}
		if text := get(t, tb.base+path+".json"); !strings.Contains(text, "deploy prober 1.31 at ") {
			t.Error("no onset names the event")
		}
	})
	step(t, "a load is entered as a column", func(t *testing.T) {
		tb.do(t, chromedp.Click(chromedp.CSS(kubelet+` details[id$="-asked"] > summary`), chromedp.NodeVisible))
		tb.do(t, fill(kubelet+` input[name="name"]`, "pods"), fill(kubelet+` textarea`, "10\n10\n10\n10\n11\n10\n10\n10\n-"))
		tb.follow(t, chromedp.Click(chromedp.CSS(kubelet+` details[id$="-asked"] form.compare button`), chromedp.NodeVisible))
		if text := said(t); !strings.Contains(text, "Load pods: 10 10 10 10 11 10 10 10 –. Of ") {
			t.Errorf("the page says %q", text)
		}
	})
	step(t, "both are listed, on a phone as well", func(t *testing.T) {
		for _, width := range []int64{narrow, wide} {
			tb.do(t, chromedp.EmulateViewport(width, 900))
			if diff := cmp.Diff([]string{}, tooWide(t, tb)); diff != "" {
				t.Errorf("at %d these reach over the edge (-want +got):\n%s", width, diff)
			}
			write(t, filepath.Join("screenshots", fmt.Sprintf("identity-said-light-%d.png", width)), string(run(t, tb, picture)))
		}
	})
	step(t, "undoing the load leaves the event", func(t *testing.T) {
		tb.follow(t, chromedp.Click(chromedp.CSS(kubelet+` details[id$="-asked"] li button`), chromedp.NodeVisible))
		if text := said(t); !strings.Contains(text, "Undone. Load pods") {
			t.Errorf("the page says %q", text)
		}
		if n := ask[int](t, tb, `document.querySelectorAll('#happened li').length`); n != 1 {
			t.Errorf("%d events are listed, want 1", n)
		}
	})
	tb.ignore("status of 400")
}
