package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
	"leakdiff/store"
)

// keepFlags are a policy of retention.
type keepFlags struct {
	KeepMembers int `help:"Days after which captures lose their members (goroutines, threads, descriptors and watches with their identities), but the first, the last and the largest one of a series and one of each hour, 24 of a series at least. Families and counts stay. 0 is never." placeholder:"DAYS"`
	KeepUploads int `help:"Days after which uploaded bytes are dropped. What was read of them stays. 0 is never." placeholder:"DAYS"`
}

func (c *keepFlags) retention() (store.Retention, error) {
	keep := store.Retention{Members: c.KeepMembers, Uploads: c.KeepUploads}
	if !keep.Valid() {
		return keep, &analysis.Fault{
			Code: "usage", What: "the days were not understood", Where: "--keep-members, --keep-uploads", Why: "they are numbers from 0 to " + strconv.Itoa(store.MostDays),
			Hint: "Give 0 to keep them for ever.",
		}
	}
	return keep, nil
}

type retentionCommand struct {
	Data     string `required:"" help:"Data directory of serve, which no server may have open. With --database and --blobs an empty one of its own does, and servers may run." type:"existingdir"`
	Database string `help:"PostgreSQL database in place of the file in the data directory." placeholder:"URL"`
	Blobs    string `help:"Bucket of the uploads, if serve has them there." placeholder:"URL"`
	keepFlags
	Apply  bool   `help:"Drop it. Without this flag nothing is changed."`
	Format string `enum:"text,json" default:"text" help:"text or json."`
}

// Help stands below the flags in the help of the command.
func (*retentionCommand) Help() string {
	return `A server with the same flags drops by itself, every hour, and shows at /server what it would drop now. A case may have days of its own.

Examples:
  leakdiff retention --data /var/lib/leakdiff --keep-members 30 --keep-uploads 90
  leakdiff retention --data /var/lib/leakdiff --keep-members 30 --apply`
}

func (c *retentionCommand) Run(ctx context.Context, m *Main) error {
	keep, err := c.retention()
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Config{Dir: c.Data, Database: c.Database, Blobs: c.Blobs, Existing: true})
	var refused *analysis.Fault
	if errors.As(err, &refused) && refused.Code == "other_place" {
		refused.What = "nothing was looked at" // the store speaks to servers
	}
	if err != nil {
		return err
	}
	defer st.Close()
	var cases []store.CaseRetained
	if c.Apply {
		cases, err = st.Retain(ctx, keep)
	} else {
		cases, err = st.PlanRetention(ctx, keep, "")
	}
	if err != nil && len(cases) == 0 {
		return err
	}
	// What was dropped before an error is said too.
	return errors.Join(c.show(m, keep, cases), err)
}

func (c *retentionCommand) show(m *Main, keep store.Retention, cases []store.CaseRetained) error {
	if c.Format == "json" {
		return json.NewEncoder(m.Stdout).Encode(map[string]any{"keep": keep, "applied": c.Apply, "cases": append([]store.CaseRetained{}, cases...)})
	}
	return c.print(m, cases)
}

func (c *retentionCommand) print(m *Main, cases []store.CaseRetained) error {
	if len(cases) == 0 {
		fmt.Fprintln(m.Stdout, "The policies drop nothing now.")
		return nil
	}
	table := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CASE\tCAPTURES\tMEMBERS\tUPLOADS\tBYTES\tTITLE")
	for _, x := range cases {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", x.CaseID, strconv.Itoa(x.Snapshots), wording.Size(x.MemberBytes), strconv.Itoa(x.Bundles), wording.Size(x.UploadBytes), wording.Printable(x.Title))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	all := store.TotalOf(cases)
	fmt.Fprintln(m.Stdout, wording.Retained(all.Snapshots, all.MemberBytes, all.Bundles, all.UploadBytes, c.Apply))
	return nil
}
