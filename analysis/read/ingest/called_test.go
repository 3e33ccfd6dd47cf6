package ingest

import (
	"strings"
	"testing"

	"leakdiff/analysis"
)

func TestAProgramThatRunsOthersIsCalledByWhatItRuns(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/bin/java -Xmx4g -cp a.jar:b.jar org.acme.shop.Main --port 80":                   "Main",
		"/usr/lib/jvm/java-21/bin/java -Djava.awt.headless=true -jar /opt/jenkins.war":        "jenkins.war",
		"java -p mods --add-opens java.base/java.lang=ALL-UNNAMED -m org.acme/org.acme.Run x": "Run",
		"java --module=org.acme/org.acme.Run":                                                 "Run",
		"java -m org.acme":                                                                    "org.acme",
		"java @options.txt Hello.java":                                                        "Hello.java",
		"java -version":                                                                       "",
		`C:\jdk\bin\java.exe -cp x;y kafka.Kafka s.properties`:                                "Kafka",
		"/opt/bin/node --no-warnings /srv/watch-loop.mjs 10":                                  "watch-loop.mjs",
		"node -e f()":                    "",
		"/usr/bin/kubelet --node-name=a": "",
		"":                               "",
	} {
		if got := called(strings.Fields(command)); got != want {
			t.Errorf("%q is called %q, want %q", command, got, want)
		}
	}
}

func TestTheThreadMainNamesTheProcess(t *testing.T) {
	main := func(functions ...string) *analysis.Thread {
		out := &analysis.Thread{Name: "main", Sort: analysis.JavaThread, Stack: &analysis.Stack{}}
		for _, name := range functions {
			out.Stack.Frames = append(out.Stack.Frames, analysis.Frame{Func: name})
		}
		return out
	}
	virtual, capped, other := main("org.acme.Shop.main"), main("org.acme.Shop.main"), main("org.acme.Shop.main")
	virtual.Sort, capped.Capped, other.Name = analysis.VirtualThread, true, "main-loop"
	for _, c := range []struct {
		name   string
		thread *analysis.Thread
		want   string
	}{
		{"its outermost method is main", main("java.lang.Thread.sleep", "org.acme.Shop.main"), "Shop"},
		{"a launcher of an archive runs it", main("org.acme.Shop.main", "java.lang.reflect.Method.invoke", "org.springframework.boot.loader.launch.Launcher.launch", "org.springframework.boot.loader.launch.JarLauncher.main"), "Shop"},
		{"a launcher alone names nothing", main("java.lang.Object.wait", "org.springframework.boot.loader.JarLauncher.main"), ""},
		{"it called the main of another class", main("org.acme.Tool.main", "org.acme.Shop.main"), "Shop"},
		{"no method is main", main("org.acme.Shop.domain", "java.lang.Thread.run"), ""},
		{"a virtual thread of this name", virtual, ""},
		{"a stack without its outermost methods", capped, ""},
		{"another thread", other, ""},
		{"no stack", &analysis.Thread{Name: "main", Sort: analysis.JavaThread}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mainOf(c.thread); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
