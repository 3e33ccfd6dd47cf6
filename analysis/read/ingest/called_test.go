package ingest

import (
	"strings"
	"testing"
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
