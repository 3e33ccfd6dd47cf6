package main

import (
	"context"
	"fmt"

	"leakdiff/analysis/say/wording"
	"leakdiff/store"
)

type backupCommand struct {
	Data string `help:"Data directory of serve, which may run." default:"leakdiff-data" type:"path"`
	To   string `help:"New directory, or new file that ends in .tar." required:"" type:"path"`
}

// Help stands below the flags in the help of the command.
func (*backupCommand) Help() string {
	return `Copies a data directory as it is at one moment, while a server may run on it, and verifies the copy. Exit status: 0 done, 1 done, but uploads were missing or damaged before, 2 no backup was made.`
}

func (c *backupCommand) Run(ctx context.Context, m *Main) error {
	made, err := store.Backup(ctx, store.BackupConfig{Dir: c.Data, To: c.To})
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "%s: %s of %s, %s, verified\n", c.To, wording.Bytes(made.Bytes), wording.Time(made.Made), wording.Plural(made.Uploads, "upload", "uploads"))
	if made.InBucket > 0 {
		fmt.Fprintf(m.Stdout, "%s in the bucket of the server, and not in this backup. Copy the bucket too, after each backup and without deleting from the copy.\n",
			wording.Plural(made.InBucket, "upload is", "uploads are"))
	}
	if len(made.Missing) == 0 {
		return nil
	}
	for _, sha := range made.Missing {
		fmt.Fprintf(m.Stderr, "leakdiff: an upload is missing or damaged and not in the backup: sha256 %s\n", sha)
	}
	fmt.Fprintln(m.Stderr, "leakdiff: run leakdiff check for their names; the same upload puts each back")
	return &statusError{status: exitVerdict}
}

type restoreCommand struct {
	From string `help:"A backup: a directory or a .tar." required:"" type:"path"`
	Data string `help:"Data directory that it becomes. One that is there is kept beside it. No server may run on it." default:"leakdiff-data" type:"path"`
}

func (c *restoreCommand) Run(ctx context.Context, m *Main) error {
	restored, err := store.Restore(ctx, store.RestoreConfig{From: c.From, Dir: c.Data})
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Stdout, "%s: restored as of %s: %s, %s, verified\n", c.Data, wording.Time(restored.Made), wording.Plural(restored.Uploads, "upload", "uploads"), wording.Bytes(restored.Bytes))
	if restored.InBucket > 0 {
		fmt.Fprintf(m.Stdout, "%s in a bucket: start serve with its --blobs within a day, because what this database does not know there is removed a day after the start.\n",
			wording.Plural(restored.InBucket, "upload is", "uploads are"))
	}
	if restored.Before != "" {
		fmt.Fprintf(m.Stdout, "What was there before is kept as %s. Delete it when you know that it is of no use.\n", restored.Before)
	}
	return nil
}
