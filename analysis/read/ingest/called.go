package ingest

import (
	"path"
	"slices"
	"strings"

	"leakdiff/analysis"
	"leakdiff/analysis/read/nodereport"
)

// called is the name by which a person knows a process whose program runs others: the main
// class or jar of a JVM, the script of Node.js. It is empty for other programs, and if no
// command line names one.
func called(command []string) string {
	if len(command) == 0 {
		return ""
	}
	switch strings.TrimSuffix(strings.ToLower(programName(command[0])), ".exe") {
	case "java", "javaw":
		return mainClass(command[1:])
	case "node", "nodejs":
		if script := nodereport.ProgramOf(command); script != programName(command[0]) {
			return script
		}
	}
	return ""
}

// mainClass is the main class, jar or module of the arguments of java.
//
//	-Xmx4g -cp a.jar:b.jar org.acme.shop.Main --port 80   Main
//	-jar /opt/jenkins/jenkins.war                         jenkins.war
//	-p mods -m org.acme.shop/org.acme.shop.Main           Main
func mainClass(arguments []string) string {
	for i := 0; i < len(arguments); i++ {
		word := arguments[i]
		next := ""
		if i+1 < len(arguments) {
			next = arguments[i+1]
		}
		switch word {
		case "-jar":
			return programName(next)
		case "-m", "--module":
			_, class, named := strings.Cut(next, "/")
			if !named {
				return next
			}
			return lastPart(class)
		case "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules", "--add-reads", "--add-exports", "--add-opens", "--limit-modules", "--patch-module", "--enable-native-access", "--source":
			i++
			continue
		}
		if module, ok := strings.CutPrefix(word, "--module="); ok {
			return mainClass([]string{"-m", module})
		}
		if word != "" && word[0] != '-' && word[0] != '@' {
			if strings.HasSuffix(word, ".java") {
				return programName(word)
			}
			return lastPart(word)
		}
	}
	return ""
}

// lastPart is a class without its package.
func lastPart(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// launchers are the classes whose main runs that of the program, and those of the library.
var launchers = []string{"java.", "jdk.", "sun.", "org.springframework.boot.loader."}

// mainOf is the main class of the thread "main", whose outermost method is its main, without the
// package. It is empty once that method has returned.
//
//	java.lang.Thread.sleep, org.acme.shop.Main.main   Main
func mainOf(t *analysis.Thread) string {
	if t.Name != "main" || t.Sort != analysis.JavaThread || t.Stack == nil || t.Stack.Elided != 0 || t.Capped {
		return ""
	}
	for _, f := range slices.Backward(t.Stack.Frames) {
		class, isMain := strings.CutSuffix(f.Func, ".main")
		if isMain && !slices.ContainsFunc(launchers, func(prefix string) bool { return strings.HasPrefix(class, prefix) }) {
			return lastPart(class)
		}
	}
	return ""
}

// callProcess takes the command line of /proc before that of a report of Node.js, which may
// lack words. Where no command line and no other file names the process, its thread "main" does.
func callProcess(p *analysis.Process, all []*part) {
	for _, q := range all {
		command := q.cmdline
		if len(command) == 0 && q.node != nil {
			command = q.node.report.CommandLine
		}
		if name := called(command); name != "" && name != p.Name.Value && (!p.Called.Known() || len(q.cmdline) > 0) {
			p.Called = analysis.Fact{Value: name, Source: "command line in " + path.Base(q.path), Confidence: analysis.High}
		}
	}
	unnamed := p.Name.Value == "" || p.Name.Value == "java"
	for _, q := range all {
		if q.threads != nil && q.threads.mainClass != "" && unnamed && !p.Called.Known() {
			p.Called = analysis.Fact{Value: q.threads.mainClass, Source: "thread main in " + path.Base(q.path), Confidence: analysis.Medium}
		}
	}
}
