package ingest

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
	"leakdiff/analysis/read/procfs"
	"leakdiff/analysis/say/wording"
)

func readMountinfo(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	mounts, problems, err := procfs.ParseMountinfo(body, p.path)
	r.problem(problems...)
	p.mounts = mounts
	a.Outcome = wording.Plural(len(mounts), "mount", "mounts")
	return err
}

func readLimits(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	limits, problems, err := procfs.ParseLimits(body, p.path)
	r.problem(problems...)
	p.limits = &limits
	if soft, ok := limits.OpenFiles(); ok {
		a.Outcome = fmt.Sprintf("limit of %d open files", soft)
	}
	return err
}

func readStatus(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	status, problems, err := procfs.ParseStatus(body, p.path)
	r.problem(problems...)
	p.status, p.pid, p.name = &status, status.PID, status.Name
	a.Outcome = fmt.Sprintf("%s, pid %d", status.Name, status.PID)
	return err
}

func readStat(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	stat, problems, err := procfs.ParseStat(body, p.path)
	r.problem(problems...)
	p.stat, p.pid, p.name = &stat, stat.PID, stat.Comm
	a.Outcome = fmt.Sprintf("%s, pid %d, started at tick %d", stat.Comm, stat.PID, stat.StartTicks)
	return err
}

func readCmdline(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	words, problems, err := procfs.ParseCmdline(body, p.path)
	r.problem(problems...)
	p.cmdline = words
	a.Outcome = wording.Plural(len(words), "argument", "arguments")
	return err
}

func readSysctls(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	values, problems, err := procfs.ParseSysctls(body, p.path)
	r.problem(problems...)
	p.sysctls = values
	a.Outcome = wording.Plural(len(values), "setting", "settings")
	return err
}

func readCapturedAt(r *reader, body io.Reader, p *part, a *analysis.Artifact) error {
	text, err := io.ReadAll(io.LimitReader(body, 256))
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	if err != nil {
		return &analysis.Fault{Code: "unreadable", What: "is no RFC 3339 time", Why: strconv.Quote(strings.TrimSpace(string(text))), Hint: "write one time such as 2026-11-21T02:58:36Z into it"}
	}
	if !r.plausible(at) {
		return &analysis.Fault{Code: "unreadable", What: "is no plausible time", Why: at.UTC().Format(time.RFC3339) + " lies before 2000 or in the future", Hint: "correct the time, or delete the file: the order of the names is used then"}
	}
	p.captured = at.UTC()
	a.Outcome = wording.FileTime(at)
	return nil
}
