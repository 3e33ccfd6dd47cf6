package document

import "strings"

// FunctionName splits a function into the package path, which is printed quietly,
// and the name.
//
//	k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod
//	→ "k8s.io/kubernetes/pkg/kubelet." and "(*podWorkers).UpdatePod"
func FunctionName(full string) (path, name string) {
	// The last slash in front of any receiver, type parameter or anonymous
	// function ends the directories; the first dot after it ends the package.
	head, slash := 0, 0
	for head < len(full) && full[head] != '(' && full[head] != '[' && full[head] != ' ' {
		if head++; full[head-1] == '/' {
			slash = head
		}
	}
	dot := strings.IndexByte(full[slash:head], '.')
	if dot < 0 {
		return "", full
	}
	if slash == 0 {
		if full[0] >= 'A' && full[0] <= 'Z' {
			return "", full // a Java class without a package; Go has no such names
		}
		dot = max(dot, javaPackage(full[:head]))
	}
	return full[:slash+dot+1], full[slash+dot+1:]
}

// javaPackage is the dot that ends the package of a Java method, before the first
// part that begins with a capital: 9 for "java.lang.Thread.run", -1 for
// "main.run".
func javaPackage(name string) int {
	for i := 0; i+1 < len(name); i++ {
		if name[i] == '.' && name[i+1] >= 'A' && name[i+1] <= 'Z' {
			return i
		}
	}
	return -1
}
