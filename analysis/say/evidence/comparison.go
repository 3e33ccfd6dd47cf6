package evidence

import (
	"fmt"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/judge/diff"
	"leakdiff/analysis/say/wording"
)

// Warnings words what makes two snapshots hard to compare.
func Warnings(all []diff.Warning) []string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = warning(w)
	}
	return out
}

func warning(w diff.Warning) string {
	switch w.Form {
	case "other_case":
		return "A is of another case. Verdicts and small lines are those of B's case."
	case "same_snapshot":
		return "A and B are the same snapshot."
	case "programs":
		return fmt.Sprintf("Two programs: %s at %s, %s at %s. Members are not followed.", w.Was, w.A, w.Is, w.B)
	case "hosts":
		return fmt.Sprintf("Two hosts: %s at %s, %s at %s. Members are not followed.", w.Was, w.A, w.Is, w.B)
	case "processes":
		return fmt.Sprintf("Two processes: pid %s at %s, %s at %s. Members are not followed.", w.Was, w.A, w.Is, w.B)
	case "perhaps_other_process":
		return fmt.Sprintf("Nothing says that %s and %s are of one process. Members are not followed.", w.A, w.B)
	case "restarted":
		return fmt.Sprintf("The process was restarted between %s and %s. Members are not followed, and counts start again.", w.A, w.B)
	case "versions":
		return fmt.Sprintf("Two versions: %s at %s, %s at %s. A family may be new only because a function was renamed.", w.Was, w.A, w.Is, w.B)
	case "not_understood":
		return fmt.Sprintf("A part of the dump of %s was not understood: its counts are lower bounds and prove neither growth nor shrinking.", w.At)
	case "cut":
		return fmt.Sprintf("The dump of %s is cut: its counts are lower bounds and prove neither growth nor shrinking.", w.At)
	case "cut_with_twin":
		return fmt.Sprintf("The dump of %s is cut: counts are from its complete twin, members only from what was read.", w.At)
	case "not_whole":
		return fmt.Sprintf("The evidence of %s at %s is not whole: its counts are lower bounds.", wording.Kinds(w.Kind), w.At)
	case "shows_less":
		return fmt.Sprintf("The evidence of %s at %s shows less than that of others: counts of its families are lower bounds.", wording.Kinds(w.Kind), w.At)
	case "captured_once":
		return fmt.Sprintf("%s were captured only at %s and are not compared.", several(w.Kind), w.At)
	case "not_listed":
		return fmt.Sprintf("%s of %s were counted and not listed: their families are not compared.", several(w.Kind), w.At)
	case "two_forms":
		return fmt.Sprintf("%s were captured in two forms: %s %s, %s %s. A family may be new or gone only because of that.", several(w.Kind), w.A, shows(w.Was), w.B, shows(w.Is))
	case "untimed":
		names := w.At
		if names == "" {
			names = wording.List([]string{w.A, w.B}, 2)
		}
		return fmt.Sprintf("No capture time of %s: the length of the interval is unknown.", names)
	case "zoneless":
		return fmt.Sprintf("The time of %s was read without a zone and taken as UTC: the length of the interval may be off by hours.", w.At)
	case "reversed":
		return fmt.Sprintf("B was captured before A, by %s.", wording.Interval(w.Captured[0].Sub(w.Captured[1])))
	case "other_span":
		return fmt.Sprintf("%s were read from %s to %s, over %s and not over %s.", several(w.Kind), wording.Clock(w.From), wording.Clock(w.To),
			wording.Interval(w.To.Sub(w.From)), wording.Interval(w.Captured[1].Sub(w.Captured[0])))
	}
	return fmt.Sprintf("Another limit: %s is %s at %s and %s at %s.", limitName(w.Name), w.Was, w.A, w.Is, w.B)
}

// shows words what a form of evidence shows.
func shows(form string) string {
	switch form {
	case analysis.FormEnds:
		return "says where sockets lead"
	case analysis.FormBare:
		return "knows sockets by their inodes alone"
	case analysis.FormSockets:
		return "lists sockets and no other descriptor"
	case analysis.FormInstances:
		return "lists inotify instances and no other descriptor"
	case analysis.FormHandles:
		return "lists sockets, pipes and terminals, and no file"
	case analysis.FormOpened:
		return "has the descriptors that were opened while a tracer ran and not closed"
	case analysis.FormOpenEvents:
		return "has what was opened while a tracer ran, closed or not"
	case analysis.FormFull:
		return "lists the threads of the virtual machine too"
	case analysis.FormJava:
		return "lists the threads of Java alone"
	case analysis.FormCounted:
		return "counts threads and shows none of them"
	case analysis.FormCapped:
		return "cuts every stack after a few frames"
	case analysis.FormVirtual:
		return "lists virtual threads"
	}
	return "is of the form " + form
}

// several is a kind as a sentence begins with it: "Goroutines".
func several(kind analysis.Kind) string { return wording.Capital(wording.Kinds(kind)) }

// limitName names a limit as people look it up:
//
//	limitName("limit_open_files") = "open files (RLIMIT_NOFILE)"
//	limitName("inotify_max_user_watches") = "fs.inotify.max_user_watches"
func limitName(name string) string {
	switch name {
	case "limit_open_files", "process_max_fds":
		return "open files (RLIMIT_NOFILE)"
	}
	if sysctl, ok := strings.CutPrefix(name, "inotify_"); ok {
		return "fs.inotify." + sysctl
	}
	return strings.ReplaceAll(strings.TrimPrefix(name, "limit_"), "_", " ")
}

// Likeness words why a group is the nearest to a family, or that none is near.
func Likeness(l diff.Likeness) string {
	switch l.Form {
	case "same_family":
		return "the same family"
	case "no_frames":
		return fmt.Sprintf("no %s of %s has its creator or its outer frames", l.Kind, l.At)
	case "no_attributes":
		return fmt.Sprintf("no %s of %s shares half of its attributes", l.Kind, l.At)
	case "attributes":
		text := "same " + strings.Join(l.Equal, ", ")
		if len(l.Other) > 0 {
			text += "; other " + strings.Join(l.Other, ", ")
		}
		return text
	case "no_creator":
		return "also without a creator, " + outerFrames(l.Outer)
	}
	if l.Outer == 0 {
		return "the same creator, no frame in common"
	}
	return "the same creator, " + outerFrames(l.Outer)
}

func outerFrames(n int) string {
	return wording.Plural(n, "outer frame", "outer frames") + " in common, then another way"
}
