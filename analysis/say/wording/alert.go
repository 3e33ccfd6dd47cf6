package wording

import "strconv"

// Alert says that a family began or ended to leak on more hosts than limit. Named are some of
// the hosts.
//
//	"prober.run leaks on 4 hosts, more than 3: node-a, node-b, node-c and node-d."
//	"prober.run leaks on 1 host now: node-a. The alert has ended."
func Alert(title string, started bool, hosts, limit int, named []string) string {
	text := title + " leaks on " + Plain(hosts, "host", "hosts")
	if hosts == 0 {
		text = title + " leaks on no host"
	}
	if started {
		text += ", more than " + strconv.Itoa(limit)
	} else {
		text += " now"
	}
	switch more := hosts - len(named); {
	case len(named) == 0:
	case more > 0:
		text += ": " + Commas(named, len(named)) + " and " + Number(int64(more)) + " more"
	default:
		text += ": " + List(named, len(named))
	}
	if started {
		return text + "."
	}
	return text + ". The alert has ended."
}

// Leaks says that families leak in a process: "2 families leak in kubelet on node-a."
func Leaks(process, host string, families int) string {
	text := Plural(families, "family leaks", "families leak")
	if process != "" {
		text += " in " + process
	}
	if host != "" {
		text += " on " + host
	}
	return text + "."
}
