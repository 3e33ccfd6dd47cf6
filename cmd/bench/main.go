// Command bench measures leakdiff against peers and bounds: gostackparse and a
// walk over lines for the parser, plain bufio.Scanner implementations for the other
// formats, decompression with SHA-256 and one durable write for a whole ingest. It
// generates its own dumps from real stacks, checks that every side counts the same,
// starts the real server for what a person would wait for, and prints one table. It
// refuses to state a time without what it is compared with, or to keep a figure of
// an earlier run.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// size is how large everything is.
type size struct {
	name string
	// rounds is how often each side runs.
	rounds int
	// uploaded are the goroutines of an ordinary dump, parsed and over loopback; parsed
	// are those of the other forms, loaded those of the ingests beside which pages are
	// asked for.
	parsed, uploaded, loaded int
	// rows of lsof, files of fdinfo, threads of a JVM.
	rows, files, threads int
	// lines and points are the series of the large case and their snapshots.
	lines, points int
	// requests is how often each page is asked for.
	requests int
}

var (
	full  = size{"full", 5, 250_000, 1_000_000, 500_000, 100_000, 20_000, 20_000, 50, 100, 200}
	short = size{"short", 3, 40_000, 100_000, 150_000, 20_000, 4_000, 5_000, 10, 20, 50}
)

// part is one group of rows; several may go by one more name.
type part struct {
	name, group string
	measure     func(*suite) error
}

var parts = []part{
	{"parse", "", measureParsers},
	{"lsof", "formats", measureListing},
	{"fdinfo", "formats", measureDirectory},
	{"threads", "formats", measureThreads},
	{"ingest", "", measureIngest},
	{"pages", "", measurePages},
}

// growth is measured alone: its bars are about what was there before.
var growth = part{"growth", "", measureGrowthOfCases}

// chosen reports whether a part is among those that -only names; all are where it
// names none.
func (p part) chosen(only string) bool {
	names := strings.Split(only, ",")
	return only == "" || slices.Contains(names, p.name) || slices.Contains(names, p.group)
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	small := flags.Bool("short", false, "smaller dumps: about two minutes")
	file := flags.String("out", "", "file to write the table to")
	quotes := flags.String("quote", "", "file that quotes rows of the table, to be brought up to date")
	only := flags.String("only", "", "parts to run, with commas: parse, formats (lsof, fdinfo, threads), ingest, pages; or growth alone")
	rows := flags.String("rows", "", "with -only parse: the dumps to parse, by a part of their name")
	profiles := flags.String("profiles", "", "directory for pprof files of the parser and of an ingest, in place of the table")
	fleet := fleetConfig{}
	flags.IntVar(&fleet.snapshots, "fleet", 0, "fill a server with so many snapshots of many hosts and measure what one more costs, in place of the table")
	flags.IntVar(&fleet.hosts, "hosts", 500, "with -fleet: hosts, a case each")
	flags.IntVar(&fleet.servers, "servers", 1, "with -fleet: servers, of which more than one need -database and -blobs")
	flags.StringVar(&fleet.database, "database", "", "with -fleet: an empty PostgreSQL database on this machine, in place of a file")
	flags.StringVar(&fleet.blobs, "blobs", "", "with -fleet: a bucket, in place of a directory")
	printing := flags.Int("dump", 0, "print a dump of so many goroutines, in place of the table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := &suite{size: full, rowsOf: *rows, out: out, began: time.Now()}
	if *small {
		s.size = short
	}
	switch {
	case *printing > 0:
		d, err := newDump(dumpConfig{Goroutines: *printing, Stacks: min(fewStacks, *printing), Seed: 1})
		if err != nil {
			return err
		}
		_, err = io.Copy(out, d)
		return err
	case fleet.snapshots > 0:
		return measureFleet(fleet, out)
	case *profiles != "":
		return writeProfiles(s, *profiles)
	}
	chosen := parts
	if *only == growth.name {
		chosen = []part{growth}
	}
	for _, p := range chosen {
		if !p.chosen(*only) {
			continue
		}
		if err := p.measure(s); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	var table strings.Builder
	s.markdown(&table)
	fmt.Fprint(out, "\n"+table.String())
	if *file != "" {
		if err := os.WriteFile(*file, []byte(table.String()), 0o644); err != nil {
			return err
		}
	}
	if *quotes == "" {
		return nil
	}
	text, err := os.ReadFile(*quotes)
	if err != nil {
		return err
	}
	updated, err := quote(string(text), table.String())
	if err != nil {
		return fmt.Errorf("%s: %w", *quotes, err)
	}
	return os.WriteFile(*quotes, []byte(updated), 0o644)
}
