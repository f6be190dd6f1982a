# Targets are one line of shell; what needs more is a Go program.

# The race detector needs a C compiler. Where there is none the tests run without it.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
# Programs with the race detector would sleep for a second before they exit: the tests of more than a hundred packages, and
# what they start.
export GORACE ?= atexit_sleep_ms=0
# How long each fuzz target runs.
FUZZTIME ?= 10s
# The form of resilience: full, or short as in CI.
FORM ?= full
# The seed of the list of events of soak.
SEED ?= 1
# How many seeds of the simulation, and cases of each property, nightly looks at. The seeds begin with the day, so that each
# night sees others.
SEEDS ?= 100000
CHECKS ?= 20000

.PHONY: help build test tools race lint proto docs bench bench-full resilience chaos chaos-full benchmarks conformance parity features scale endings soak nightly fuzz check
.DEFAULT_GOAL := help

help: ## Lists the targets.
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' Makefile | expand -t 14

build: ## Builds bin/mcpd.
	go build -trimpath -o bin/ ./cmd/mcpd

test: ## Runs every test, with the race detector. The simulation goes without: it lets one goroutine run at a time, so it has no races to find, and sees ten times as many seeds.
	go test $(RACE) -timeout=25m $$(go list ./... | grep -v '/chaos/sim$$')
	go test -timeout=10m ./chaos/sim

tools: ## Runs the tests of the project's own tools.
	go -C internal/tools test ./...

race: ## Runs every test ten times, to find what fails now and then.
	go test $(RACE) -count=10 -timeout=250m ./...

lint: ## Checks the form and the habits of the code, and that generated code is current.
	@test -z "$$(gofmt -l . | tee -a /dev/stderr)" && go mod tidy -diff && go -C internal/tools mod tidy -diff && go vet ./... && go tool -modfile=internal/tools/go.mod staticcheck ./... && go -C internal/tools run ./lint ./... && go -C internal/tools run ./words && go -C internal/tools run ./protogen -check

proto: ## Writes proto/gen from proto/mcpd.
	go -C internal/tools run ./protogen

docs: ## Writes the generated pages of docs.
	go generate ./...

bench: ## Measures everything in its short form, some minutes long, and fails when a gate does not hold.
	go run ./cmd/mcpd bench run --short --out bench/short.json --html bench/short.html

bench-full: build ## Measures everything in full, for a machine that does nothing else, and writes docs/benchmarks.json and the pages that are made of it.
	bin/mcpd bench run --out bin/benchmarks.json --html bench/full.html; code=$$?; [ $$code -gt 1 ] || \
		{ mv bin/benchmarks.json docs/ && go test -count=1 -run='^TestDocsAreWhatTheirRecordSays$$' ./bench/report -update; }; exit $$code

resilience: ## Kills servers, actors and the host, and prints a table of what that cost; in full it writes it to internal/resilience/results. FORM=short takes a minute.
	cd internal/resilience && go test -count=1 -timeout=60m $(if $(filter full,$(FORM)),-full,-v -run='^TestResilience$$')

chaos: ## Breaks two hosts in fourteen ways, some seconds each, and writes the report to chaos/results/short.
	go test -count=1 -timeout=15m -v -run='^TestLibrary$$' ./chaos -form=short

chaos-full: ## Runs every experiment in full, up to 45 minutes at a time, and writes the report to chaos/results/full. Run it again to go on.
	go test -count=1 -timeout=3h -v -run='^TestLibrary$$' ./chaos -form=full

benchmarks: ## Runs the benchmarks of the packages.
	go test -run='^$$' -bench=. -benchmem ./...

conformance: ## Runs the official conformance suite against a real mcpd, and servers behind it. UPDATE=-update writes docs/conformance.md, which it compares otherwise. Needs Node.
	MCPD_CONFORMANCE=1 CI=true go test -count=1 -v ./internal/conformance -run=TestHostPassesTheOfficialSuite $(UPDATE)

parity: ## Compares what the official SDKs see of 38 published servers through mcpd with what they see directly, and writes docs/parity.md. Takes three minutes. Needs Node, and npm once.
	CI=true go test -count=1 -timeout=30m -v ./internal/parity -run='^TestParity$$' -full -update

features: ## Tries every feature between clients and servers of the official SDKs, directly and through mcpd, and writes docs/features.md. Takes some minutes. Needs Node, and npm once.
	CI=true go test -count=1 -timeout=30m -v ./internal/features -run='^TestFeatures$$' -parallel=4 -full -update

scale: ## Has a thousand servers come up behind thousands of clients, and writes docs/scale.md. Takes three minutes.
	go test -count=1 -timeout=30m -v ./internal/scale -full -update

endings: ## Has 220 clients call while their host is killed, drained or replaced, the way to it is cut or its certificate renewed, and writes docs/endings.md. Takes some 10 minutes.
	go test -count=1 -timeout=30m -v ./internal/endings -full -update

soak: ## Has 40 official clients call published servers of four tenants for 20 minutes, while servers, disk and host are broken by a seeded list, and writes docs/soak.md. SEED=2 takes another list.
	CI=true go test -count=1 -timeout=60m -v ./internal/soak -run='^TestSoak$$' -full -update -seed=$(SEED)

fuzz: ## Runs every fuzz target for FUZZTIME.
	@go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | while read p; do for f in $$(go test -list='^Fuzz' $$p | grep '^Fuzz'); do go test -run='^$$' -fuzz="^$$f$$" -fuzztime=$(FUZZTIME) $$p || exit 1; done; done

nightly: race ## Looks for what is rare, some hours long: every test ten times, the simulation and the properties with many more cases, all servers of parity, all cells of features, and every fuzz target for 5 minutes. Experiments in full are chaos-full.
	go test -count=1 -timeout=4h -v -run='^TestNothingIsFound$$' ./chaos/sim -first=$$(date +%Y%m%d000000) -seeds=$(SEEDS)
	go test -count=1 -timeout=4h $$(go list -f '{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$.ImportPath}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$$.ImportPath}}{{end}}{{end}}' ./...) -rapid.checks=$(CHECKS)
	go test -count=1 -timeout=1h ./internal/interop
	go test -count=1 -timeout=30m -v -run='^TestManyListenersHearEveryAnnouncement$$' ./actors/notification -full
	go test -count=1 -timeout=30m -v ./internal/scale -full
	go test -count=1 -timeout=30m -v ./internal/endings -full
	go test -count=1 -v -run='^TestBuildWithTwoModernRevisions$$' ./protocol -full
	go test -count=1 -timeout=1h -v -run='^TestHangOfOneTenantHarmsNobodyElse$$' ./chaos -long
	CI=true go test -count=1 -timeout=30m -v ./internal/parity -run='^TestParity$$' -full
	CI=true go test -count=1 -timeout=30m -v ./internal/features -run='^TestFeatures$$' -parallel=4 -full
	$(MAKE) fuzz FUZZTIME=5m

check: ## Runs everything that must pass before a change goes in.
	.ci/run
