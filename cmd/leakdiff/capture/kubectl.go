package capture

import (
	"fmt"
	"strings"
)

// Kubectl writes the command lines that capture a pod or a node with kubectl alone. The
// script goes in by standard input, the archive comes out by standard output.
type Kubectl struct {
	// Pod is "namespace/pod" or "namespace/pod/container", Node a node's name.
	Pod, Node string
	// Arguments are those of the script.
	Arguments []string
	// Files are named by the arguments. The script reads them where it runs.
	Files []string
	// Output is the file of the archive.
	Output string
}

// podImage brings a shell for containers without one.
const podImage = "busybox:1.36"

// Lines returns comments and one command line for each way.
func (k Kubectl) Lines() (string, error) {
	const script = "leakdiff collect --script | "
	arguments := quoted(append(append([]string{}, k.Arguments...), "-o", "-"))
	var b strings.Builder
	for _, file := range k.Files {
		if k.Node != "" {
			fmt.Fprintf(&b, "# %s is read on the node: it must be there, which a debugging pod sees as /host/%s\n", quote(file), quote(strings.TrimLeft(file, "/")))
		} else {
			fmt.Fprintf(&b, "# %s is read in the container: it must be there\n", quote(file))
		}
	}
	if k.Node != "" {
		fmt.Fprintf(&b, "# on node %s, in its own root; needs the right to debug nodes\n", k.Node)
		fmt.Fprintf(&b, "%skubectl debug node/%s --quiet -i --profile=sysadmin --image=%s -- chroot /host sh -s -- %s > %s\n",
			script, quote(k.Node), podImage, arguments, quote(k.Output))
		fmt.Fprintf(&b, "# kubectl leaves the debugging pod behind: kubectl get pods -A | grep node-debugger-%s\n", quote(k.Node))
		return b.String(), nil
	}
	parts := strings.Split(k.Pod, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return "", fmt.Errorf("%q is no pod: write namespace/pod or namespace/pod/container", k.Pod)
	}
	where, container := "-n "+quote(parts[0])+" "+quote(parts[1]), ""
	if len(parts) == 3 {
		container = " -c " + quote(parts[2])
	}
	fmt.Fprintf(&b, "# where the container has a shell\n%skubectl exec -i %s%s -- sh -s -- %s > %s\n", script, where, container, arguments, quote(k.Output))
	if len(parts) == 2 {
		fmt.Fprintf(&b, "# where it has none: name the container, --pod %s/CONTAINER; one beside it needs to know whose processes to see\n", quote(k.Pod))
		return b.String(), nil
	}
	fmt.Fprintf(&b, "# where it has none: a container beside it, in its process namespace\n%skubectl debug -i --quiet --profile=sysadmin %s --target=%s --image=%s -- sh -s -- %s > %s\n",
		script, where, quote(parts[2]), podImage, arguments, quote(k.Output))
	return b.String(), nil
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " ")
}

// quote quotes a word for the shell.
//
//	"it's"   'it'\''s'
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@,+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
