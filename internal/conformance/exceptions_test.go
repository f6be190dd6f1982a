package conformance

import (
	"slices"
	"testing"
)

// exception is a set of checks that pass directly and fail through mcpd, with the clause that
// explains why. Each check must fail in each of its scenarios, in every run of the exception. An
// exception that no longer applies somewhere is an error.
type exception struct {
	clause clause
	set    string              // as returned by set.String
	runs   []string            // values of run.name
	checks map[string][]string // check IDs by scenario
}

// Names of the scenario sets for servers. The revision is that of mcpd's clients.
const (
	legacyClients = "server 2025-11-25"
	modernClients = "server 2026-07-28"
)

// exceptions are all exceptions. The first is within one era, the others are between eras.
var exceptions = []exception{
	{
		clause{"2026-07-28/basic/transports/streamable-http", "Sending Messages",
			"a body of `application/json` is one JSON object: this server answers with several, one a " +
				"line, " +
				"which no official SDK reads either"},
		modernClients, []string{"suite modern"}, map[string][]string{"server-stateless": {
			"sep-2575-http-server-no-independent-requests-on-stream",
			"sep-2575-server-sends-prompts-list-changed-on-subscription",
			"sep-2575-server-sends-tools-list-changed-on-subscription",
		}},
	},
	{
		clause{"2026-07-28/changelog", "Major changes",
			"streams are not resumed, so the server closes none, and the suite checks nothing"},
		legacyClients, []string{"TypeScript 2 modern", "suite modern", "mcpd modern"},
		map[string][]string{"server-sse-polling": {nothingChecked}},
	},
	{
		clause{"2026-07-28/basic/patterns/mrtr", "Server Requirements (Basic Workflow)",
			"a server asks in a result or not at all, and these tools ask outside of one"},
		legacyClients, []string{"Go modern", "TypeScript 2 modern", "suite modern"},
		map[string][]string{
			"tools-call-sampling":          {"tools-call-sampling"},
			"tools-call-elicitation":       {"tools-call-elicitation"},
			"elicitation-sep1034-defaults": {"elicitation-sep1034-general"},
			"elicitation-sep1330-enums":    {"elicitation-sep1330-general"},
		},
	},
	{
		clause{"2025-11-25/server/utilities/logging", "Capabilities",
			"a server with log messages declares `logging`, and this one does not in `server/discover`"},
		legacyClients, []string{"suite modern"}, map[string][]string{
			"logging-set-level":       {"logging-set-level"},
			"tools-call-with-logging": {"tools-call-with-logging"},
		},
	},
	{
		clause{"2025-11-25/server/resources", "Capabilities",
			"a server that can be subscribed to declares `subscribe`, and this one does not in " +
				"`server/discover`"},
		legacyClients, []string{"suite modern"}, map[string][]string{
			"resources-subscribe":   {"resources-subscribe"},
			"resources-unsubscribe": {"resources-unsubscribe"},
		},
	},
	{
		clause{"2025-11-25/client/elicitation", "Creating Elicitation Requests",
			"a question of a legacy server has no key: mcpd gives it one, and the suite wants the server's"},
		modernClients, []string{"Go legacy", "TypeScript 2 legacy", "mcpd legacy"}, map[string][]string{
			"input-required-result-basic-elicitation":   {"sep-2322-elicitation-incomplete"},
			"input-required-result-ignore-extra-params": {"sep-2322-ignore-unexpected-params"},
		},
	},
	{
		clause{"2026-07-28/basic/patterns/mrtr", "Server Requirements (Basic Workflow)",
			"results that ask are new in this revision: for a legacy client the Go SDK asks the questions " +
				"of the first one, and " +
				"returns the second one as if it were the result of the tool"},
		modernClients, []string{"Go legacy"}, map[string][]string{
			"input-required-result-multi-round": {"sep-2322-multi-round-r2"},
		},
	},
	{
		clause{"2026-07-28/basic/transports/streamable-http", "Custom Headers from Tool Parameters",
			"`x-mcp-header` is new in this revision: in the schema of a legacy server it means nothing, " +
				"and mcpd takes it out"},
		modernClients, []string{"Go legacy", "TypeScript 2 legacy", "mcpd legacy"}, map[string][]string{
			"http-custom-header-server-validation": {
				"sep-2243-server-no-xmcp-tool", "sep-2243-server-decode-base64",
				"sep-2243-server-validate-param-match",
				"sep-2243-server-reject-invalid-param-chars", "sep-2243-server-reject-param-mismatch",
			},
		},
	},
	{
		clause{"2026-07-28/basic/index", "Error Codes",
			"legacy revisions have no code for a capability that a client lacks: the server answers as " +
				"they do"},
		modernClients, []string{"TypeScript 2 legacy", "mcpd legacy"}, map[string][]string{
			"server-stateless": {"sep-2575-server-rejects-undeclared-capability",
				"sep-2575-missing-capability-http-400"},
		},
	},
	{
		clause{"2026-07-28/basic/patterns/subscriptions", "Receiving Notifications",
			"this server announces a change on streams of `subscriptions/listen` alone, and not in its " +
				"legacy sessions"},
		modernClients, []string{"TypeScript 2 legacy"}, map[string][]string{
			"server-stateless": {
				"sep-2575-server-sends-prompts-list-changed-on-subscription",
				"sep-2575-server-sends-tools-list-changed-on-subscription",
			},
		},
	},
	{
		clause{"2026-07-28/basic/index", "_meta",
			"this tool asks for what the capabilities in `_meta` allow, and requests of legacy revisions " +
				"have none there"},
		modernClients, []string{"TypeScript 2 legacy"}, map[string][]string{
			"input-required-result-capability-check": {"sep-2322-respect-client-capabilities"},
		},
	},
	{
		clause{"2026-07-28/basic/patterns/mrtr", "Multi Round-Trip Requests",
			"results that ask are new in this revision, and this server has the tools, prompts and " +
				"announcements that are " +
				"checked in its modern era only"},
		modernClients, []string{"suite legacy"}, map[string][]string{
			"input-required-result-basic-elicitation":       {"sep-2322-elicitation-incomplete"},
			"input-required-result-basic-list-roots":        {"sep-2322-list-roots-incomplete"},
			"input-required-result-basic-sampling":          {"sep-2322-sampling-incomplete"},
			"input-required-result-capability-check":        {"sep-2322-respect-client-capabilities"},
			"input-required-result-missing-input-response":  {"sep-2322-missing-response-rerequests"},
			"input-required-result-multi-round":             {"sep-2322-multi-round-r1"},
			"input-required-result-multiple-input-requests": {"sep-2322-multiple-inputs-incomplete"},
			"input-required-result-non-tool-request":        {"sep-2322-non-tool-incomplete"},
			"input-required-result-request-state":           {"sep-2322-request-state-incomplete"},
			"input-required-result-result-type":             {"sep-2322-result-type-included"},
			"input-required-result-tampered-state":          {"sep-2322-reject-tampered-state"},
			"server-stateless": {
				"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
				"sep-2575-server-sends-prompts-list-changed-on-subscription",
				"sep-2575-server-sends-tools-list-changed-on-subscription",
			},
		},
	},
	{
		clause{"2026-07-28/server/resources", "Error Handling",
			"`data.uri` belongs to a resource that is not there, and this legacy server answers with the " +
				"code of any wrong parameter"},
		modernClients, []string{"suite legacy"}, map[string][]string{
			"sep-2164-resource-not-found": {"sep-2164-data-uri"},
		},
	},
	{
		clause{"adr/0006-speak-to-a-server-in-the-era-of-its-callers-first.md", "",
			"mcpd greets a server in the era of its own client first, so `initialize` comes before the " +
				"requests that are checked"},
		modernClient.String(), []string{"for 2025-11-25"}, map[string][]string{
			"request-metadata": {
				"sep-2575-http-client-sends-version-header", "sep-2575-client-populates-meta",
				"sep-2575-client-sends-client-info",
			},
			"http-standard-headers": {"sep-2243-client-includes-standard-headers"},
		},
	},
}

// excepted returns the exceptions for a scenario of this run, by their numbers on the page.
func (r *run) excepted(scenario string) (numbers []int) {
	for i, e := range exceptions {
		if e.set == r.set.String() && slices.Contains(e.runs, r.name) && e.checks[scenario] != nil {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Every exception names an existing set, run and scenario. A misspelled name would never apply.
func TestExceptionsAreOfTheSets(t *testing.T) {
	for i, e := range exceptions {
		at := slices.IndexFunc(sets, func(s set) bool { return s.String() == e.set })
		if at < 0 {
			t.Errorf("exception %d: there is no set %s", i+1, e.set)
			continue
		}
		for _, name := range e.runs {
			if !slices.Contains(runNames(sets[at]), name) {
				t.Errorf("exception %d: there is no run %s", i+1, name)
			}
		}
		for name := range e.checks {
			if !slices.ContainsFunc(sets[at].scenarios, func(s scenario) bool { return s.name == name }) {
				t.Errorf("exception %d: there is no scenario %s", i+1, name)
			}
		}
	}
}
