package view

import "leakdiff/analysis/say/document"

// NewAPI makes the short page on the programming interface, for a server at base; the
// caller adds the engine line.
func NewAPI(base string) Page {
	v := Page{Shell: Shell{Title: "API", Section: "help", Crumbs: []Link{{"Help", "/help"}}, Here: "API"}}
	v.Body.Title("The API in three lines")
	v.Body.Say("lead", "Paste them into a shell beside bundle.tgz: they upload it, print what grows, and freeze a link.")
	push := Capture{"Upload, wait and freeze at once", "leakdiff push --server " + base + " --share bundle.tgz", "Takes files and directories as well and prints the link."}
	v.Body.Add(
		document.NewSection("api-lines", "With curl", "", commands(apiLines(base))),
		document.NewSection("api-push", "With leakdiff", "", commands([]Capture{push})),
		document.NewSection("api-all", "Everything else", "", document.Paragraph{Text: document.Text{
			document.LinkTo("/api/v1/openapi.json", "openapi.json"),
			document.Plain(" describes every request and answer, for people and for generators of clients. Refusals are application/problem+json with what, where, why and what to do. Lists have limit and page; an ETag that is sent back as If-None-Match saves the answer where nothing changed. A server with accounts asks for an API token, Authorization: Bearer ld_…, and takes the owner key beside it in X-Owner-Key."),
		}}),
	)
	return v
}

// apiLines do the whole job, one after the other, in a shell beside bundle.tgz.
func apiLines(base string) []Capture {
	const caseID = `$(grep -o '"case":"[^"]*' upload.json | cut -d '"' -f 4)`
	return []Capture{
		{"Upload and wait", "curl -sS -T bundle.tgz '" + base + "/api/v1/bundles/?wait=1' | tee upload.json",
			"Waits at most 60 s for the result; the status says whether it is done. The answer holds the case and, this once, its owner key."},
		{"Read the findings", `curl -sS "` + base + "/cases/" + caseID + `.md"`,
			"As Markdown for a ticket. With .json in the place of .md the same is data, with .txt it is text, with .csv a table."},
		{"Freeze a link", `curl -sS -H Content-Type:application/json -d "{\"case\":\"` + caseID + `\"}" ` + base + "/api/v1/permalinks",
			"Redacted and kept for 90 days, unless redact and keep say otherwise. url in the answer is the address for the ticket."},
	}
}
