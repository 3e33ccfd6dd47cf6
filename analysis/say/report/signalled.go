package report

import (
	"fmt"
	"slices"

	"leakdiff/analysis"
	"leakdiff/analysis/say/wording"
)

// watchdogFact is the kind of the line in which systemd says that its watchdog ends a service.
const watchdogFact = "watchdog"

// ended reports that the process ended with the dump of a snapshot: no later capture is of it.
func (s *Snapshot) ended() bool {
	return s.Signal != "" || slices.ContainsFunc(s.Artifacts, func(a Artifact) bool { return a.Kind == crashFile })
}

// signalled words a process of which each dump ended one run, the fullest wording first, nil for others.
//
//	snapd was ended by SIGABRT at each of 3 dumps (13 May 11:37, 20:50, 14 May 07:07); each has 10 goroutines: no growth can be seen across starts
func (d *diagnosing) signalled(s *Series, kind analysis.Kind, totals analysis.Counts) []string {
	if !d.allSignalled(s) {
		return nil
	}
	by, counts, alike := d.snapshot(s, 0).Signal, []string{}, true
	for i := range s.Snapshots {
		if d.snapshot(s, i).Signal != by {
			by = "a signal"
		}
		counts, alike = append(counts, wording.Number(int64(totals[i].N))), alike && totals[i] == totals[0]
	}
	head := fmt.Sprintf("%s was ended by %s at each of %d dumps", s.actor(), by, len(s.Snapshots))
	have := "each has " + wording.Members(kind, totals[0].N)
	if !alike {
		have = fmt.Sprintf("they have %s %s", wording.Commas(counts, mostCourse), wording.Kinds(kind))
	}
	tail := "; " + have + ": no growth can be seen across starts"
	return []string{head + d.endedAt(s) + tail, head + tail}
}

// allSignalled reports that a signal ended the process with each of its dumps.
func (d *diagnosing) allSignalled(s *Series) bool {
	for i := range s.Snapshots {
		if d.snapshot(s, i).Signal == "" {
			return false
		}
	}
	return true
}

// endedAt are the times of the dumps of a process: " (13 May 11:37, 20:50, 14 May 07:07)", "" where one is
// not known or there are many.
func (d *diagnosing) endedAt(s *Series) string {
	var words []string
	var day string
	for i := range s.Snapshots {
		at := d.snapshot(s, i).CapturedAt
		if at == nil || d.snapshot(s, i).TimeUnsure {
			return ""
		}
		if today := at.UTC().Format("2 Jan "); today != day {
			day = today
			words = append(words, at.UTC().Format("2 Jan 15:04"))
		} else {
			words = append(words, at.UTC().Format("15:04"))
		}
	}
	if len(words) > mostCourse {
		return ""
	}
	return " (" + wording.Commas(words, mostCourse) + ")"
}

// sender is the step that finds who ended a process by SIGABRT, which nobody sends for a dump alone, nil
// for others.
func (d *diagnosing) sender(s *Series, state State) []Action {
	if d.snapshot(s, len(s.Snapshots)-1).Signal != "SIGABRT" || state != OneDump && state != NotCompared {
		return nil
	}
	if slices.ContainsFunc(s.Logged, func(f LogFact) bool { return f.Kind == watchdogFact }) {
		return []Action{{Text: logWords[watchdogFact].do}}
	}
	return []Action{{Text: "Find who sent SIGABRT: of a service the journal says so beside the dump, as of systemd's watchdog (“Watchdog timeout”)."}}
}

// nextRun is the step whose command takes captures of the next run of a process that ended with its dumps.
func (d *diagnosing) nextRun(s *Series) *Action {
	text := takeNextRun
	if len(s.Snapshots) > 1 {
		text = takeNextRuns
	}
	return &Action{Captures: true, Text: text, Command: d.collect(s, 0)}
}
