package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// permalinkScheme is in front of the ids of frozen results.
const permalinkScheme = "leakdiff://permalink/"

// mostFrozen bounds a frozen result in bytes.
const mostFrozen = 256 << 10

// addPermalinks adds frozen results as resources, by their id and by their address.
func addPermalinks(s *sdk.Server, cfg Config) {
	read := func(ctx context.Context, r *sdk.ReadResourceRequest) (_ *sdk.ReadResourceResult, err error) {
		defer cfg.recovered(&err)
		kind, body, err := cfg.Frozen(ctx, r.Params.URI)
		if err != nil {
			if fault := new(analysis.Fault); errors.As(err, &fault) && fault.Code == "not_found" {
				return nil, sdk.ResourceNotFoundError(printable(r.Params.URI))
			}
			return nil, errors.New(printable(err.Error()))
		}
		text := string(body)
		if kind == "text/plain" {
			text = printableLines(text)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: kind, Text: text}}}, nil
	}
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "permalink", Title: "Frozen result", URITemplate: permalinkScheme + "{id}",
		Description: "A result that somebody froze, as text; with .json behind the id as data. It never changes." + dataNote,
	}, read)
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "permalink address", Title: "Frozen result by its address", URITemplate: "{+server}/p/{id}",
		Description: "The same by the address that people share, if it is of this server." + dataNote,
	}, read)
}

// printableLines is a text with the control characters of its lines written out, cut.
func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = wording.Printable(strings.TrimRight(line, "\r\n"))
		if b.Len()+len(line) > mostFrozen {
			fmt.Fprintf(&b, "… (%d bytes more)\n", len(text)-b.Len())
			break
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}
