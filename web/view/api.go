package view

// API is the short page on the programming interface.
type API struct {
	Shell Shell
	// Lines do the whole job, one after the other, in a shell beside bundle.tgz.
	Lines []Capture
	// Push does the same with the program.
	Push Capture
	// Document describes every request and answer.
	Document string
}

// NewAPI makes the page for a server at base; the caller adds the engine line.
func NewAPI(base string) API {
	const caseID = `$(grep -o '"case":"[^"]*' upload.json | cut -d '"' -f 4)`
	return API{
		Shell: Shell{Title: "API", Section: "help", Crumbs: []Link{{"Cases", "/"}, {"Help", "/help"}}, Here: "API"},
		Lines: []Capture{
			{"Upload and wait", "curl -sS -T bundle.tgz '" + base + "/api/v1/bundles/?wait=1' | tee upload.json",
				"Waits at most 60 s for the result; the status says whether it is done. The answer holds the case and, this once, its owner key."},
			{"Read the findings", `curl -sS "` + base + "/cases/" + caseID + `.md"`,
				"As Markdown for a ticket. With .json in the place of .md the same is data, with .txt it is text, with .csv a table."},
			{"Freeze a link", `curl -sS -H Content-Type:application/json -d "{\"case\":\"` + caseID + `\"}" ` + base + "/api/v1/permalinks",
				"Redacted and kept for 90 days, unless redact and keep say otherwise. url in the answer is the address for the ticket."},
		},
		Push:     Capture{"Upload, wait and freeze at once", "leakdiff push --server " + base + " --share bundle.tgz", "Takes files and directories as well and prints the link."},
		Document: "/api/v1/openapi.json",
	}
}
