package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

type fleetCommand struct {
	Server string `required:"" help:"Address of the server, http://HOST:PORT, with its path where it has one."`
	Token  string `help:"API token of a server with accounts; better given as LEAKDIFF_TOKEN."`
	Family string `arg:"" optional:"" help:"Fingerprint of one family or object type, to see its hosts; without it the families are ranked."`
	Sort   string `enum:"growth,hosts" default:"growth" help:"Rank families by growth or by hosts."`
	Kind   string `help:"One kind alone: goroutine, thread, descriptor or watch; or object for types of objects, which are no families."`
	Find   string `help:"Words of a function, an attribute or a fingerprint."`
	New    bool   `help:"Only families that no capture older than a day shows."`
	Days   int    `default:"30" help:"How many days back."`
	Limit  int    `default:"20" help:"How many lines, at most 500."`
	Format string `enum:"text,json" default:"text" help:"text or json."`
}

// Help stands below the flags in the help of the command.
func (*fleetCommand) Help() string {
	return `Examples:
  leakdiff fleet --server http://127.0.0.1:8080 --sort hosts
  leakdiff fleet --server http://127.0.0.1:8080 --kind object
  leakdiff fleet --server http://127.0.0.1:8080 g1:2ec9fdcf9986297b97a1efc87069efaa`
}

// rankedFleet is the answer with families, as far as the terminal needs it.
type rankedFleet struct {
	Sentence string `json:"sentence"`
	Fresh    string `json:"new_sentence"`
	Families []struct {
		Fingerprint string    `json:"fingerprint"`
		Title       string    `json:"title"`
		Growth      *int      `json:"growth"`
		Hosts       int       `json:"hosts"`
		Series      int       `json:"series"`
		Last        time.Time `json:"last_seen"`
	} `json:"families"`
}

// fleetOfFamily is the answer with hosts.
type fleetOfFamily struct {
	Sentence string  `json:"sentence"`
	Odd      *string `json:"odd"`
	Hosts    []struct {
		Host      *string   `json:"host"`
		Process   string    `json:"process"`
		Growth    *int      `json:"growth"`
		Count     int       `json:"last_count"`
		Version   *string   `json:"version"`
		Verdict   string    `json:"verdict"`
		Recovered bool      `json:"recovered"`
		Benign    bool      `json:"benign"`
		Last      time.Time `json:"last_seen"`
	} `json:"hosts"`
}

func (c *fleetCommand) Run(ctx context.Context, m *Main) error {
	address, err := serverAddress(c.Server)
	if err != nil {
		return err
	}
	query := url.Values{"days": {strconv.Itoa(c.Days)}, "limit": {strconv.Itoa(c.Limit)}}
	path := "/api/v1/fleet"
	if c.Family != "" {
		path += "/" + url.PathEscape(c.Family)
	} else {
		query.Set("sort", c.Sort)
		for name, value := range map[string]string{"kind": c.Kind, "q": c.Find} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if c.New {
			query.Set("new", "1")
		}
	}
	var answer json.RawMessage
	if err := (remote{address: address, token: c.Token}).call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &answer); err != nil {
		return err
	}
	if c.Format == "json" {
		_, err := fmt.Fprintln(m.Stdout, string(answer))
		return err
	}
	if c.Family != "" {
		return printHosts(m.Stdout, answer)
	}
	return printFamilies(m.Stdout, analysis.Kind(c.Kind), answer)
}

func printFamilies(out io.Writer, kind analysis.Kind, answer []byte) error {
	var fleet rankedFleet
	if err := json.Unmarshal(answer, &fleet); err != nil {
		return err
	}
	fmt.Fprintln(out, wording.Printable(fleet.Sentence))
	fmt.Fprintln(out, wording.Printable(fleet.Fresh))
	if len(fleet.Families) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	one, _ := wording.Ranked(kind)
	fmt.Fprintln(table, "\nGROWTH\tHOSTS\tSERIES\tLAST SEEN\tFINGERPRINT\t"+strings.ToUpper(one))
	for _, f := range fleet.Families {
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\t%s\n", change(f.Growth), f.Hosts, f.Series, wording.Minute(f.Last), wording.Printable(f.Fingerprint), wording.Printable(f.Title))
	}
	return table.Flush()
}

func printHosts(out io.Writer, answer []byte) error {
	var fleet fleetOfFamily
	if err := json.Unmarshal(answer, &fleet); err != nil {
		return err
	}
	fmt.Fprintln(out, wording.Printable(fleet.Sentence))
	if fleet.Odd != nil {
		fmt.Fprintln(out, wording.Printable(*fleet.Odd))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nGROWTH\tNOW\tVERDICT\tVERSION\tLAST SEEN\tHOST\tPROCESS")
	for _, h := range fleet.Hosts {
		verdict := wording.Printable(h.Verdict)
		if h.Recovered {
			verdict += ", " + wording.Recovered
		}
		if h.Benign {
			verdict += ", " + wording.MarkedBenign
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", change(h.Growth), h.Count, verdict, known(h.Version), wording.Minute(h.Last), known(h.Host), wording.Printable(cmp.Or(h.Process, "n/a")))
	}
	return table.Flush()
}

func change(n *int) string {
	if n == nil {
		return "n/a"
	}
	return wording.Signed(*n)
}

func known(text *string) string {
	if text == nil {
		return "n/a"
	}
	return wording.Printable(*text)
}
