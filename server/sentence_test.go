package server

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"

	"leakdiff/analysis/say/report"
	"leakdiff/samples"
	"leakdiff/server/intake"
	"leakdiff/store"
)

// aside is a dump of another process than that of dumpOf, in one snapshot.
func aside(n int) string {
	return "Full thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode):\n\n" +
		strings.Repeat("\"pool-1-thread-1\" #12 prio=5 os_prio=0 tid=0x1 nid=0x2 waiting on condition [0x0]\n   java.lang.Thread.State: WAITING (parking)\n\tat a.B.c(B.java:1)\n\n", n)
}

// Every output of a case begins with the same sentence.
func TestEveryOutputSaysTheSameSentence(t *testing.T) {
	s := newSite(t)
	cases := map[string]intake.Uploaded{}
	all, err := samples.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range all {
		cases[sample.Name] = s.put(sample.Name+".tar.gz", sample.Archive)
	}
	for name, files := range map[string]map[string]string{
		"a second process in one snapshot": {"t0/app/goroutines.txt": dumpOf(20), "t1/app/goroutines.txt": dumpOf(60), "t1/beta/threads.txt": aside(1)},
		"one dump":                         {"one.txt": dumpOf(90)},
		"within noise":                     {"t0.txt": dumpOf(87), "t1.txt": dumpOf(88)},
		"nothing moved":                    {"t0.txt": dumpOf(87), "t1.txt": dumpOf(87)},
		"no evidence":                      {"notes.txt": "The node was slow this morning.\n"},
	} {
		body, kind := form(t, files, nil)
		cases[name] = decode[intake.Uploaded](t, s.do("POST", "/api/v1/bundles?wait=1", body, "Content-Type", kind).body)
	}
	s.s.worker.CatchUp(t.Context())
	plain := strings.NewReplacer("\\", "", "\u202f", " ", "\u00a0", " ")
	flat := func(text string) string {
		return strings.Join(strings.Fields(plain.Replace(html.UnescapeString(text))), " ")
	}
	for name, up := range cases {
		t.Run(name, func(t *testing.T) {
			r := decode[report.Report](t, s.get(up.Link+".json").body)
			want := flat(r.Diagnosis.Sentence)
			if want == "" || !strings.HasSuffix(want, ".") {
				t.Fatalf("the sentence is %q", want)
			}
			h1 := regexp.MustCompile(`(?s)<h1[^>]*>(.*?)</h1>`)
			meta := regexp.MustCompile(`<meta name="description" content="([^"]*)"`)
			og := regexp.MustCompile(`<meta property="og:description" content="([^"]*)"`)
			page := s.get(up.Link).body
			list := between(s.get("/").body, `href="/cases/`+up.Case+`"`, "</tr>")
			found := map[string]string{
				"page": first(h1, page), "description": first(meta, page), "link preview": first(og, page),
				"list of cases": between(list, ">", "</a>"), "HTML file": first(h1, s.get(up.Link+".html").body),
			}
			for suffix, mark := range map[string]string{".md": "# ", ".jira": "h1. "} {
				text := strings.TrimPrefix(s.get(up.Link+suffix).body, mark)
				found[suffix] = text[:min(len(text), len(r.Diagnosis.Sentence)+200)]
			}
			api := decode[struct {
				Cases []struct{ ID, Headline string }
			}](t, s.get("/api/v1/cases").body)
			for _, c := range api.Cases {
				if c.ID == up.Case {
					found["API"] = c.Headline
				}
			}
			// The state stands in the first line of texts, the sentence in the paragraph below it.
			below := func(text string) string {
				state, rest, _ := strings.Cut(text, "\n\n")
				if word, _, _ := strings.Cut(r.Diagnosis.State, " until "); strings.Contains(state, "\n") || !strings.Contains(state, strings.ToUpper(word)) {
					t.Errorf("a text begins with %q, which is not the state %q", state, r.Diagnosis.State)
				}
				paragraph, _, _ := strings.Cut(rest, "\n\n")
				return paragraph
			}
			found[".txt"] = s.get(up.Link + ".txt").body
			var terminal bytes.Buffer
			if err := report.Text(&terminal, report.Case{Report: r}, report.Terminal{}); err != nil {
				t.Fatal(err)
			}
			found["terminal"] = below(terminal.String())
			for output, got := range found {
				if !strings.HasPrefix(flat(got), want) {
					t.Errorf("%s begins with\n%q, not with\n%q", output, flat(got), want)
				}
			}
		})
	}
	for name, want := range map[string]string{
		"a second process in one snapshot": "app started 40 goroutines in main.leak and none ended so far.",
		"within noise":                     "No leak seen: 88 to 89 goroutines in 2 captures, within noise.",
		"two-dumps":                        "Goroutines in main.(*worker).wait of leaky grew from 212 to 253 in 20 s: 41 new, none ended.",
	} {
		if got := decode[report.Report](t, s.get(cases[name].Link+".json").body).Diagnosis.Sentence; !strings.Contains(got, want) {
			t.Errorf("%s: %q lacks %q", name, got, want)
		}
	}
	if page := s.get(cases["a second process in one snapshot"].Link).body; strings.Contains(page, "No leak seen in beta") {
		t.Error("a process with one snapshot is said not to grow")
	}
}

func first(pattern *regexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func TestSummariesOfAnOlderProgramAreMadeAnew(t *testing.T) {
	s := newSite(t)
	up := s.put("one.txt", []byte(dumpOf(90)))
	known, _ := s.s.catalogue.Current()
	old := store.Summary{Headline: "what an older program said.", Verdict: "stable", Knowledge: known.Version()}
	c, err := s.s.cfg.Store.Case(t.Context(), up.Case)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.s.cfg.Store.SetCaseSummary(t.Context(), up.Case, c.Revision, old); err != nil {
		t.Fatal(err)
	}
	s.s.worker.CatchUp(t.Context())
	if list := s.get("/").body; strings.Contains(list, old.Headline) || !strings.Contains(list, "One dump: 91 goroutines, 90 of them in main.leak, blocked in channel receive.") {
		t.Errorf("the list still says it: %s", between(list, up.Case, "</tr>"))
	}
}
