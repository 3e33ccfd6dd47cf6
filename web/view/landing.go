package view

import (
	"net/url"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// CaseReading is a bundle of a case that is being read.
type CaseReading struct {
	Name string
	// Text is how far it is, in words; Taken of Size bytes are read.
	Text        string
	Taken, Size int64
	// URL, Events, Poll and Cancel are addresses of the bundle.
	URL, Events, Poll, Cancel string
	// Waiting says what waits behind it, empty for nothing.
	Waiting  string
	NeedsKey bool
}

// CaseNothing is what stands in place of an answer where no dump was found: Problems say what,
// why and what to do.
type CaseNothing struct {
	Problems []Problem
	// Files are the pages about the files of each bundle.
	Files []Link
}

const (
	// seenWords heads what does not prove anything, and seenNote says what stands below it.
	seenWords = "Also seen"
	seenNote  = "Rules of thumb are hints, never a verdict; normal stacks say what is healthy."
	// openWords precedes the process of which something is open.
	openWords = "Open, of "
)

// reading makes the progress of the bundle that is read first, nil where none is read.
func (m *caseMaker) reading() *CaseReading {
	var list []BundleLine
	for _, b := range m.in.Bundles {
		if b.reading() && !m.in.Frozen {
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return nil
	}
	b := list[max(slices.IndexFunc(list, func(b BundleLine) bool { return b.Status != "queued" }), 0)]
	address := "/bundles/" + url.PathEscape(b.ID)
	out := &CaseReading{
		Name: Visible(b.Name), Text: Visible(b.Progress), Taken: b.Taken, Size: b.Bytes,
		URL: address, Events: address + "/events", Poll: address + ".json", Cancel: address + "/cancel", NeedsKey: m.in.NeedsKey,
	}
	if n := len(list) - 1; n > 0 {
		out.Waiting = wording.PagePlural(int64(n), "more upload waits", "more uploads wait") + "."
	}
	return out
}

// empty makes what stands in place of an answer; nil while there may be one.
func (m *caseMaker) empty() *CaseNothing {
	if len(m.in.Report.Series) > 0 || m.in.Frozen || len(m.in.Bundles) == 0 {
		return nil
	}
	out := &CaseNothing{}
	for _, b := range m.in.Bundles {
		if b.reading() {
			return nil
		}
		out.Files = append(out.Files, Link{Text: Visible(b.Name), URL: bundleURL(b.ID)})
		if b.Error != "" {
			out.Problems = append(out.Problems, Problem{Severity: "error", What: Visible(b.Name) + " could not be read", Why: Visible(b.Error), Count: 1})
		}
	}
	out.Files = out.Files[:min(len(out.Files), maxCaseBundles)]
	out.Problems = append(out.Problems, unlinkedProblems(m.in.Report.Problems)...)
	return out
}

// lost is one line about evidence that was lost, nil where nothing was.
func (m *caseMaker) lost() *Link {
	lost := slices.DeleteFunc(slices.Clone(m.in.Report.Problems), func(p analysis.Problem) bool { return !wording.Lost(p) })
	if len(lost) == 0 || len(m.in.Report.Series) == 0 || m.in.Frozen {
		return nil
	}
	out := &Link{Text: Visible(wording.Capital(wording.Problems(lost))) + ".", URL: "#p-" + FoldFiles}
	if len(m.in.Bundles) == 1 {
		out.URL = bundleURL(m.in.Bundles[0].ID) + "?show=problems#files"
	}
	return out
}
