# leakdiff: `make run` shows the answer of a sample, `make test` proves the program.
SHELL   := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
BUILD   := .build
BINARY  := $(BUILD)/leakdiff
LISTEN  ?= 127.0.0.1:8080
DATA    ?= .data
FUZZTIME ?= 10s
CHROMIUM := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: run serve build stripped install dist image test quick long check generate pictures demo-site fuzz bench bench-short bench-growth leakbench lab mutate knowledge vuln tools clean

run: build
	$(BINARY) demo

serve: build
	$(BINARY) serve --listen $(LISTEN) --data $(DATA)

# Static: leakdiff collect is copied to nodes and into containers with another libc, or none.
build:
	CGO_ENABLED=0 go build -trimpath -o $(BINARY) ./cmd/leakdiff

# Without symbols and DWARF: 51 MB where make build has 71.
STRIPPED := $(BUILD)/stripped/leakdiff
stripped:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -buildid=' -o $(STRIPPED) ./cmd/leakdiff

# The program with the plugin of kubectl, the manual page and completions.
PREFIX  ?= /usr/local
DESTDIR ?=
SHARE   := $(DESTDIR)$(PREFIX)/share
install: stripped
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(STRIPPED) $(DESTDIR)$(PREFIX)/bin/leakdiff
	install -m 755 docs/deploy/kubernetes/kubectl-leakdiff $(DESTDIR)$(PREFIX)/bin/
	install -m 644 docs/leakdiff.1 $(SHARE)/man/man1/
	$(STRIPPED) completion bash > $(SHARE)/bash-completion/completions/leakdiff
	$(STRIPPED) completion zsh > $(SHARE)/zsh/site-functions/_leakdiff
	$(STRIPPED) completion fish > $(SHARE)/fish/vendor_completions.d/leakdiff.fish

# What is released: archives, packages, bills of materials and their hashes in .build/dist.
# Two runs on one commit give the same bytes.
dist:
	cd cmd/dist && go run . -root $(CURDIR) -out $(CURDIR)/$(BUILD)/dist

# The container image of docs/deploy, by the first of these programs that is there. Without
# BUILDAH_FORMAT two of them leave the health check out.
image: stripped
	mkdir -p $(BUILD)/image/data && cp $(STRIPPED) $(BUILD)/image/
	@builder=$$(command -v podman || command -v buildah || command -v docker) || { echo "make image: none of podman, buildah and docker is installed"; exit 1; }; \
	  BUILDAH_FORMAT=docker $$builder build -f docs/deploy/Containerfile -t leakdiff $(BUILD)/image

# The race detector watches the packages in which goroutines meet. In the others it would
# find nothing, and makes parsers 15 to 33 times slower; tests of the program start it as
# a process.
RACED := ./server/... ./store/... ./analysis/read/bundle ./analysis/read/ingest ./analysis/judge/knowledge ./analysis/judge/trend ./analysis/say/report ./web ./web/chart

# What tests leave out is collected in a file of its own for each run, so that packages
# which leave something out are not taken from the cache.
LEFT_OUT := $(CURDIR)/$(BUILD)/left-out.$(shell date +%s%N)
# SQLite is C that a program translated to Go: it is not ours to check, and the race
# detector makes it many times slower.
RACE     := -race -gcflags=modernc.org/...=-race=false
GO_TEST  := LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) LEAKDIFF_LEFT_OUT=$(LEFT_OUT) go test -timeout 20m

# The server of buckets for tests, a module of its own, built once for each of its versions:
# about 100 s. Where that fails, tests leave it out, or fail if CI=true.
GATEWAY   := internal/test/gateway/versitygw
VERSITYGW := $(BUILD)/versitygw-$(shell sha256sum $(GATEWAY)/go.sum | cut -c1-8)
$(VERSITYGW):
	-cd $(GATEWAY) && CGO_ENABLED=0 go build -o $(CURDIR)/$@ github.com/versity/versitygw/cmd/versitygw

# Everything that must hold before a commit lands: the race detector's pass with those
# captures in which much happens at once; what that pass left out as heavy; the other
# packages; real browsers; the benchmarks' module.
test: check build tools $(VERSITYGW)
	@rm -f $(BUILD)/left-out.* $(BUILD)/heavy
	$(GO_TEST) $(RACE) $(RACED)
	$(GO_TEST) $(RACE) -run '^Test(Several|AProcessThatDies|ACaptureThat|Many|ALargeDump|SIGQUIT|NoPassword)/^(leakdiff_collect|between|while)' ./cmd/leakdiff/capture
	@grep -h '	heavy: ' $(LEFT_OUT) > $(BUILD)/heavy; sed -i '/	heavy: /d' $(LEFT_OUT)
	$(GO_TEST) -run "^($$(sed 's/[\t/].*//' $(BUILD)/heavy | sort -u | paste -sd '|'))$$" $(RACED)
	$(GO_TEST) $$(go list ./... | grep -vxF "$$(go list $(RACED))")
	cd web/browsertest && go vet ./... && LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go test -timeout 20m ./...
	cd cmd/bench && go vet ./... && go test -timeout 20m ./...
	cd cmd/leakbench && go vet ./... && LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go test -timeout 20m ./...
	@$(LEFT_OUT_LINE)

# One line about what ran nowhere.
LEFT_OUT_LINE = if [ -s $(LEFT_OUT) ]; then echo "left out: $$(wc -l < $(LEFT_OUT)) tests: $$(cut -f2 $(LEFT_OUT) | sort | uniq -c | sort -rn | sed 's/^ *//' | paste -sd ';' | sed 's/;/; /g')"; else echo "left out: no test"; fi

# Takes the pictures of the README anew, from the page of a sample in a browser.
pictures: build
	cd web/browsertest && LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go test -count=1 -run README -update .

# The answers of six captures as a site without a server, for a try before an installation: three
# samples, clients of a JVM and of a Go program that leak connections, and a deadlock.
SITE ?= $(BUILD)/demo
demo-site: build
	$(BINARY) export $(SITE) $(wildcard samples/*/*.tar.gz) cmd/leakbench/testdata/captures/okhttpopen-bad.tgz cmd/leakbench/testdata/captures/grpcjs-bad.tgz analysis/say/report/testdata/deadlock/abba-opt.txt

# For the loop of a change: no race detector, no browser, no processes.
quick: build
	@rm -f $(BUILD)/left-out.*
	go vet ./...
	$(GO_TEST) -short $$(go list ./... | grep -vE '/cmd/leakdiff/capture$$')
	@$(LEFT_OUT_LINE)

# Soak: all tests again and again, those of the store on PostgreSQL and over a bucket, CHAOS uploads to servers that are killed and paused, counted steps of hostile inputs, FAULTS power cuts and a kill within every statement of
# the schema, every fuzz target for a minute, and the laboratory.
FAULTS ?= 2000
CHAOS ?= 500
LITESTREAM := $(CURDIR)/$(BUILD)/litestream/litestream
$(LITESTREAM):
	mkdir -p $(@D) && cd $(@D) && rm -f go.mod go.sum && go mod init standby && go get -tool github.com/benbjohnson/litestream/cmd/litestream@v0.5.18 && go build -o litestream github.com/benbjohnson/litestream/cmd/litestream

# The module lacks what node builds for its pages: two files take their place.
ALERTMANAGER := $(CURDIR)/$(BUILD)/alertmanager/alertmanager
$(ALERTMANAGER):
	mkdir -p $(@D) && cd $(@D) && rm -rf go.mod go.sum source && go mod init alerts && cp -r "$$(go mod download -json github.com/prometheus/alertmanager@v0.35.0 | sed -n 's/.*"Dir": "\(.*\)",/\1/p')" source && chmod -R u+w source && \
	mkdir -p source/ui/app/dist/elm source/ui/app/dist/mantine && touch source/ui/app/dist/elm/index.html source/ui/app/dist/mantine/index.html && cd source && go build -o ../alertmanager ./cmd/alertmanager

long: TOOLS += buildah:buildah
long: test $(LITESTREAM) $(ALERTMANAGER)
	LEAKDIFF_LITESTREAM=$(LITESTREAM) LEAKDIFF_ALERTMANAGER=$(ALERTMANAGER) LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go test -count=1 -run 'Standby|Alertmanager' ./cmd/leakdiff
	LEAKDIFF_ENGINES=1 LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go test -count=1 -timeout 40m -run 'StoriesOfBrowsers' ./cmd/leakdiff
	LEAKDIFF_ENGINES=1 go test -count=1 -v -timeout 30m -run 'PostgreSQL' ./store | grep -E '^(---|FAIL|ok)|tests passed|_test.go'
	LEAKDIFF_BUCKET=all go test -count=1 -v -timeout 30m -run 'OverABucket' ./store | grep -E '^(---|FAIL|ok)|tests passed|_test.go'
	LEAKDIFF_CHAOS=$(CHAOS) LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go test -count=1 -v -timeout 2h -run ServersOnOneDatabase ./cmd/leakdiff | grep -E "^(---|FAIL|ok)|restarts|_test.go"
	LEAKDIFF_STEPS=1 go test -count=1 -timeout 1h -run 'TwiceTheSteps' ./cmd/leakdiff
	LEAKDIFF_FAULTS=$(FAULTS) go test -count=1 -v -timeout 2h -run 'PowerCut|KillWithinAny|FaultAtAny' ./store | grep -E '^(---|FAIL|ok)|power cuts|kills|faults'
	$(GO_TEST) -count=3 ./store/... ./server/... ./cmd/leakdiff/...
	cd docs/deploy/verify && go vet ./... && go test -count=1 ./...
	cd cmd/dist && go vet ./... && go test -count=1 ./...
	$(MAKE) fuzz FUZZTIME=1m
	$(MAKE) mutate
	$(MAKE) lab

# Formatting, generated files, vet, staticcheck, and whether it builds where flock(2) is not. The import arrows and the table of
# licences are tests (cmd/leakdiff: arrow_test.go, licence_test.go), which make test runs.
check:
	@if [ "$${CI:-}" = true ]; then for tool in gcc node; do command -v $$tool >/dev/null || { echo "make check: $$tool is missing and CI=true"; exit 1; }; done; fi
	@unformatted=$$(find . -name '*.go' -not -name '*_templ.go' -not -path './.build/*' | xargs gofmt -l); \
	  if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	@mkdir -p $(BUILD)
	@find web -name '*_templ.go' | sort | xargs sha256sum > $(BUILD)/generated.before
	@go tool templ generate -path web >/dev/null 2>$(BUILD)/templ.log || { cat $(BUILD)/templ.log; exit 1; }
	@find web -name '*_templ.go' | sort | xargs sha256sum > $(BUILD)/generated.after
	@diff $(BUILD)/generated.before $(BUILD)/generated.after || { echo "generated files were stale; they are fresh now, commit them"; exit 1; }
	go mod tidy -diff
	go vet ./...
	go tool staticcheck ./...

# Blocks of pages, and the manual page with its twin docs/cli.md, made from the flags.
generate:
	go tool templ generate -path web
	go test -count=1 ./cmd/leakdiff -run TheManualPageAndItsTwin -update

# What tests need beside the toolchain, a command and Debian's package of it each, and
# the rules of accessibility. They are installed where that is allowed.
TOOLS := busybox:busybox dash:dash curl:curl wget:wget lsof:lsof nsenter:util-linux java:default-jdk-headless jcmd:default-jdk-headless npm:npm psql:postgresql pgbouncer:pgbouncer systemd-analyze:systemd zsh:zsh fish:fish mandoc:mandoc groff:groff rpm:rpm
AXE   := web/browsertest/node_modules/axe-core/package.json
tools:
	@missing="$(if $(CHROMIUM),,chromium)"; \
	for pair in $(TOOLS); do command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair#*:}"; done; \
	if [ -z "$$missing" ]; then :; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "installing $$missing"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
	elif [ "$${CI:-}" = true ]; then \
	  echo "missing and CI=true: $$missing"; exit 1; \
	else \
	  echo "************************************************************"; \
	  echo "* SOME TESTS WILL NOT RUN. They need: $$missing"; \
	  echo "************************************************************"; \
	fi
	@$(MAKE) --no-print-directory $(AXE)

# npm may have been installed just before.
$(AXE): web/browsertest/package-lock.json
	@if command -v npm >/dev/null && (cd web/browsertest && npm ci --silent --no-audit --no-fund --ignore-scripts); then \
	  touch $@; \
	elif [ "$${CI:-}" = true ]; then \
	  echo "npm is missing or could not install axe-core, and CI=true"; exit 1; \
	else \
	  echo "npm is missing or could not install axe-core: the rules of accessibility will not be checked"; \
	fi

# Each fuzz target in turn, FUZZTIME each. When the time is up while a slow input
# runs, go test ends with "context deadline exceeded" and no finding: such a run is
# repeated once. A finding always names the input that it wrote.
fuzz:
	@mkdir -p $(BUILD); for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; \
	    run() { go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg 2>&1 | tee $(BUILD)/fuzz.log; }; \
	    run && continue; \
	    if grep -q 'context deadline exceeded' $(BUILD)/fuzz.log && ! grep -qE 'Failing input|panic:' $(BUILD)/fuzz.log; then run && continue; fi; \
	    exit 1; \
	  done; \
	done

# One table: ours, peer, bound, ratio, target, with the rows of it that docs/speed.md
# quotes; bench-short takes about two minutes.
bench: build
	cd cmd/bench && LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go run . -out bench.md -quote $(CURDIR)/docs/speed.md
bench-short: build
	cd cmd/bench && LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go run . -short

# How the work grows with what was there before, in processor time of the server: cases of
# up to 10,000 captures, about six minutes.
bench-growth: build
	cd cmd/bench && LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go run . -only growth -out growth.md

# Releases of real libraries that leak, each beside one that does not. Those whose captures are
# not kept in cmd/leakbench/testdata are built, which takes modules from the registry, and
# captured; then all are judged and the table is written.
leakbench: build
	cd cmd/leakbench && export LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) && go run . -capture && go run .

# The laboratory: programs simulated as text through the binary, classes of leaks and of what
# only looks like one, each against its own bounds and beside the naive rules (RUNS of each
# class, about ten minutes with 40); then the goroutine-leak kernels that ship with the Go
# toolchain, run for real.
RUNS ?= 40
lab: build
	LEAKDIFF_SIMULATION=$(RUNS) LEAKDIFF_BINARY=$(CURDIR)/$(BINARY) go test -count=1 -v -timeout 2h -run '^TestSimulated' ./cmd/lab
	LEAKDIFF_KERNELS=all go test -count=1 -v -timeout 30m -run 'Kernel' ./cmd/lab

# Which changes of the rules no test notices: every number of the package and every row of
# the verdict table, one after the other, against its own tests, in half a minute. Those of
# trend.txt are known; any other fails, here and in make long.
mutate:
	go run ./cmd/lab/mutation -allowed cmd/lab/mutation/trend.txt -args '-rapid.seed=1 -rapid.nofailfile' analysis/judge/trend

# Holds the frames of known leaks against the source of the last release before each fix, from the module proxy; needs the network, 3 minutes and 2 GB.
knowledge:
	go run ./cmd/lab/source

# Known vulnerabilities of the dependencies; needs the network.
vuln:
	go run golang.org/x/vuln/cmd/govulncheck@latest ./...

clean:
	rm -rf $(BUILD)
