package line

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAFrameOfAProfileIsNoPromptOfRoot(t *testing.T) {
	for text, want := range map[string]bool{"#       0x441886        sync.(*Mutex).Lock+0x46     /x.go:1": false, "# 0x441886": false, "# curl http://10.0.0.2:6060/debug/pprof/goroutine?debug=1": true} {
		if _, got := ReadCommand(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTheProgressOfCurlIsNoPrompt(t *testing.T) {
	for text, want := range map[string]bool{"% curl http://10.0.0.2:6060/debug/pprof/goroutine": true, "  % Total    % Received % Xferd  Average Speed": false, "% done": false} {
		if _, got := ReadCommand(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestACommandOrHeadingNamesTheOwnerOfTheLinesBelow(t *testing.T) {
	for text, want := range map[string]Owner{
		"$ ls -l /proc/60/fd":                                                      {PID: 60},
		"# ls -l /proc/60/fd/":                                                     {PID: 60},
		"+ ls -l /proc/60/fd":                                                      {PID: 60},
		"% ls -l /proc/60/fd":                                                      {PID: 60},
		"% kubectl exec web-1 -- ls -l /proc/1/fd":                                 {PID: 1, Pod: "web-1"},
		"$ cd /proc/60/fd && ls -l":                                                {PID: 60},
		"$ ls -l /proc/50/fd /proc/60/fd":                                          {},
		"$ ls -l /proc/*/fd":                                                       {},
		"$ sudo ls -l /proc/$(pidof kubelet)/fd":                                   {Program: "kubelet"},
		"$ sudo ls -l /proc/$(pgrep -o -x dockerd)/fd":                             {Program: "dockerd"},
		"[root@node1 ~]# ls -l /proc/60/fd":                                        {PID: 60, Host: "node1"},
		"root@ip-10-0-0-1:/# grep -c inotify /proc/7/fdinfo/*":                     {PID: 7, Host: "ip-10-0-0-1"},
		"sh-4.4# ls -l /proc/1/fd":                                                 {PID: 1},
		"/ # ls -l /proc/1/fd":                                                     {PID: 1},
		"kubectl exec web-1 -c app -- ls -l /proc/1/fd":                            {PID: 1, Pod: "web-1", Container: "app"},
		"$ kubectl -n prod exec -it pod/web-1 --container=app -- ls -l /proc/1/fd": {PID: 1, Pod: "web-1", Namespace: "prod", Container: "app"},
		"$ kubectl exec -n prod web-2 -- sh -c 'ls -l /proc/1/fd'":                 {PID: 1, Pod: "web-2", Namespace: "prod"},
		"$ kubectl exec web-1 -n prod -c app -- ss -tanp":                          {Pod: "web-1", Namespace: "prod", Container: "app"},
		"$ oc exec --namespace=prod web-1 -- ls -l /proc/1/fd":                     {PID: 1, Pod: "web-1", Namespace: "prod"},
		"$ curl http://10.0.0.2:6060/debug/pprof/goroutine?debug=2":                {Host: "10.0.0.2", Port: 6060},
		"$ curl -sS -o /tmp/a.txt 'https://me:pass@web-1.prod:6060/debug/pprof/'":  {Host: "web-1.prod", Port: 6060},
		"$ curl 10.0.0.3:6060/debug/pprof/goroutine":                               {Host: "10.0.0.3", Port: 6060},
		"$ wget -qO- http://[fd00::2]:6060/debug/pprof/goroutine?debug=2":          {Host: "[fd00::2]", Port: 6060},
		"curl -s http://10.0.0.2:6060/debug/pprof/goroutine?debug=2":               {Host: "10.0.0.2", Port: 6060},
		"[me@node1 ~]$ curl localhost:6060/debug/pprof/goroutine?debug=2":          {Host: "node1", Port: 6060},
		"$ kubectl exec web-1 -- curl http://127.0.0.1:6060/debug/pprof/goroutine": {Pod: "web-1", Port: 6060},
		"$ kubectl exec client-0 -- curl http://10.0.0.2:6060/debug/pprof/":        {Host: "10.0.0.2", Port: 6060},
		"$ sudo nsenter -t 50 -n ss -tan":                                          {PID: 50},
		"$ nsenter --target 50 -m -p ls -l /proc/1/fd":                             {PID: 50},
		"$ ssh node1 sudo nsenter -t 50 -n netstat -tan":                           {PID: 50, Host: "node1"},
		"# ls -l /proc/$(docker inspect -f '{{.State.Pid}}' db)/fd":                {Pod: "db"},
		"$ docker exec db jcmd 1 Thread.print":                                     {PID: 1, Pod: "db"},
		"➜  ~ ls -l /proc/60/fd":                                                   {PID: 60},
		"➜  repo git:(main) ✗ curl http://10.0.0.2:6060/debug/pprof/goroutine":     {Host: "10.0.0.2", Port: 6060},
		"me@laptop ~ % ssh node1 ls -l /proc/1/fd":                                 {PID: 1, Host: "node1"},
		"==== START logs for container app of pod prod/web-1 ====":                 {Pod: "web-1", Namespace: "prod", Container: "app"},
		"==> web-1/goroutine.txt <==":                                              {Path: "web-1/goroutine.txt"},
		"==> /proc/50/limits <==":                                                  {PID: 50},
		"$ sudo docker exec -u root db ls -l /proc/1/fd":                           {PID: 1, Pod: "db"},
		"--- ssh -p 2222 me@node1 sudo ls -l /proc/60/fd ---":                      {PID: 60, Host: "node1"},
		"$ ssh node1 sudo docker exec db ls -l /proc/1/fd":                         {PID: 1, Host: "node1", Pod: "db"},
		"=== pid 50 ===":                {PID: 50},
		"== 50":                         {PID: 50},
		"PID: 50":                       {PID: 50},
		"kubelet pid=2430":              {PID: 2430, Program: "kubelet"},
		"Kubelet Pid: 2430":             {PID: 2430, Program: "kubelet"},
		"--- /proc/50/fd":               {PID: 50},
		"=== web-1 ===":                 {Host: "web-1"},
		"== node: n1 ==":                {Host: "n1"},
		"== pod web-0 ==":               {Pod: "web-0"},
		"== kubelet (50) ==":            {PID: 50, Program: "kubelet"},
		"kubelet[50]:":                  {PID: 50, Program: "kubelet"},
		"PID=50 COMM=kubelet":           {PID: 50, Program: "kubelet"},
		"PID: 50, Name: kubelet":        {PID: 50, Program: "kubelet"},
		"--- node1 ---":                 {Host: "node1"},
		"node1 | CHANGED | rc=0 >>":     {Host: "node1"},
		"root@node1:/proc/50/fd# ls -l": {PID: 50, Host: "node1"},
		"me@node1 ~> ls -l /proc/50/fd": {PID: 50, Host: "node1"},
		"$ kubectl exec -n kube-system ds/agent -- ls -l /proc/1/fd":                               {PID: 1, Pod: "agent", Namespace: "kube-system"},
		"$ oc debug node/node1 -- chroot /host ls -l /proc/50/fd":                                  {PID: 50, Host: "node1"},
		"node1:~ # ls -l /proc/9/fd":                                                               {PID: 9, Host: "node1"},
		"node1$ curl localhost:6060/debug/pprof/goroutine":                                         {Host: "node1", Port: 6060},
		`PS C:\\> ssh node1 ls -l /proc/9/fd`:                                                      {PID: 9, Host: "node1"},
		`C:\Users\me>kubectl exec web-1 -- ls -l /proc/1/fd`:                                       {PID: 1, Pod: "web-1"},
		"$ oc rsh -n prod -c app web-1 ls -l /proc/1/fd":                                           {PID: 1, Pod: "web-1", Namespace: "prod", Container: "app"},
		"$ gcloud compute ssh me@n1 --zone=z --command='ls -l /proc/9/fd'":                         {PID: 9, Host: "n1"},
		"$ gcloud compute ssh n1 --zone z -- ls -l /proc/9/fd":                                     {PID: 9, Host: "n1"},
		"$ kubectl --context eu -n prod exec web-1 -- ls -l /proc/1/fd":                            {PID: 1, Pod: "web-1", Namespace: "eu/prod"},
		"$ kubectl --context=eu exec web-1 -- ls -l /proc/1/fd":                                    {PID: 1, Pod: "web-1", Namespace: "eu"},
		"$ kubectl --namespace=prod exec web-1 -- ls -l /proc/1/fd":                                {PID: 1, Pod: "web-1", Namespace: "prod"},
		"$ kubectl get --raw /api/v1/nodes/n1/proxy/debug/pprof/goroutine":                         {Host: "n1", Program: "kubelet"},
		"kubectl get --raw '/api/v1/nodes/n1:9100/proxy/debug/pprof/goroutine'":                    {Host: "n1"},
		"$ curl localhost:8001/api/v1/namespaces/prod/pods/web-1:6060/proxy/debug/pprof/goroutine": {Pod: "web-1", Namespace: "prod", Port: 6060},
		"$ cat node1/goroutine.txt":                                                                {Path: "node1/goroutine.txt"},
		"$ cat /proc/50/limits":                                                                    {PID: 50},
		"$ jstack -l 50":                                                                           {PID: 50},
		"$ jcmd 50 Thread.print":                                                                   {PID: 50},
		"$ kill -3 50":                                                                             {PID: 50},
		"# node1":                                                                                  {Host: "node1"},
		"node1:":                                                                                   {Host: "node1"},
		"web-0":                                                                                    {Host: "web-0"},
		"api-7c9f9d5b6d-x7z9q:":                                                                    {Host: "api-7c9f9d5b6d-x7z9q"},
		"[node1] goroutine dump:":                                                                  {Host: "node1"},
		"On host alpha:":                                                                           {Host: "alpha"},
		"On node1:":                                                                                {Host: "node1"},
		"From pod web:":                                                                            {Pod: "web"},
		"$ date":                                                                                   {},
		"$ ls | head -50":                                                                          {},
		"$ cat notes":                                                                              {},
	} {
		got, ok := ReadCommand(text)
		if diff := cmp.Diff(want, got.Owner); diff != "" || !ok {
			t.Errorf("%q: %v (-want +got):\n%s", text, ok, diff)
		}
	}
}

func TestOtherLinesNameNoOwner(t *testing.T) {
	for _, text := range []string{
		"", "total 0", "/proc/50/fd:", "=======", "=== 2026-11-21T03:00:00Z ===", "Sat Nov 21 03:00:00 UTC 2026",
		"lrwx------ 1 root root 64 Feb  2 02:02 0 -> socket:[5000]", "/proc/50/fdinfo/5:12", "==> /proc/50/fdinfo/5 <==", "== 25 -> anon_inode:inotify",
		"COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME", "     90     50 root     java", "--", "=== descriptors ===", "Count: 120", "PID 1, FD 10 has 1 watches",
		"=== t3 ===", "--- 3 of 5 ---", "main.run(50)", "kubelet (50)", "server started", "node ready", "process exited",
		"kubelet", "kubelet:", "kube-proxy:", "containerd-shim-runc-v2", "run-2", "== run-2 ==", "dump-1:", "On error:", "[select]", "5:", "inotify:[5]",
		"tail: inotify cannot be used, reverting to polling", "Unique target 12", "Can't find mount info for 0:100",
	} {
		if got, ok := ReadCommand(text); ok {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestACommandOpensAShellElsewhereAndEndsIt(t *testing.T) {
	for text, want := range map[string]Command{
		"$ ssh me@node1":                      {Text: "ssh me@node1", Owner: Owner{Host: "node1"}, Opens: true, Remote: true},
		"$ kubectl exec -it web-1 -- /bin/sh": {Text: "kubectl exec -it web-1 -- /bin/sh", Owner: Owner{Pod: "web-1"}, Opens: true},
		"$ docker exec -it db bash":           {Text: "docker exec -it db bash", Owner: Owner{Pod: "db"}, Opens: true},
		"/ # exit":                            {Text: "exit", Ends: true},
		"$ ssh node1 ls -l /proc/1/fd":        {Text: "ssh node1 ls -l /proc/1/fd", Owner: Owner{PID: 1, Host: "node1"}, Reads: true, Remote: true},
		"$ hostname; ls -l /proc/50/fd":       {Text: "hostname; ls -l /proc/50/fd", Owner: Owner{PID: 50}, Hosted: true, Reads: true},
		"[me@node1 ~]$ curl localhost:6060/":  {Text: "curl localhost:6060/", Owner: Owner{Host: "node1", Port: 6060}},
		"[me@node1 ~]$ curl node2:6060/":      {Text: "curl node2:6060/", Owner: Owner{Host: "node2", Port: 6060}, Remote: true},
		"== node1 ==":                         {Text: "node1", Owner: Owner{Host: "node1"}, Heading: true, Remote: true},
		"$ cd /proc/60/fd":                    {Text: "cd /proc/60/fd", Owner: Owner{PID: 60}, Enters: true},
		"$ cd":                                {Text: "cd"},
		"$ ls -l":                             {Text: "ls -l", Reads: true},
		"=== pid 50 ===":                      {Text: "pid 50", Owner: Owner{PID: 50}, Heading: true},
		"Every 5.0s: ls -l /proc/50/fd    node1: Sat Nov 21 03:00:00 2026": {Text: "ls -l /proc/50/fd", Owner: Owner{PID: 50, Host: "node1"}, Reads: true, Date: "Sat Nov 21 03:00:00 2026"},
	} {
		if got, ok := ReadCommand(text); !ok || got != want {
			t.Errorf("%q: got %+v, %v", text, got, ok)
		}
	}
}
