package conformance

// uncarriable are checks of a scenario that fail when a server stands behind mcpd, because the pair has no way to say what they check. Row
// is the one of the bridge table (§10 of the protocol matrix) that says so.
type uncarriable struct {
	server   string // column of the run
	scenario string
	checks   []string // nil for all
	row, why string
}

// Checks that several rows name.
var (
	chosenKey    = []string{"sep-2322-elicitation-incomplete", "sep-2322-ignore-unexpected-params"}
	customHeader = []string{
		"sep-2243-server-no-xmcp-tool", "sep-2243-server-decode-base64", "sep-2243-server-validate-param-match",
		"sep-2243-server-reject-invalid-param-chars", "sep-2243-server-reject-param-mismatch",
	}
)

// uncarriables are all of them. The first group is within an era.
var uncarriables = []uncarriable{
	{"demo modern", "server-sse-polling", []string{nothingChecked}, "10.15", "streams of the modern era are not resumed, so the server closes none"},

	{"SDK modern", "tools-call-sampling", []string{"tools-call-sampling"}, "10.10", "the server asks in a result or not at all, and this tool asks outside of one"},
	{"SDK modern", "tools-call-elicitation", []string{"tools-call-elicitation"}, "10.10", "as above"},
	{"SDK modern", "elicitation-sep1034-defaults", []string{"elicitation-sep1034-general"}, "10.10", "as above"},
	{"SDK modern", "elicitation-sep1330-enums", []string{"elicitation-sep1330-general"}, "10.10", "as above"},

	{"SDK legacy", "input-required-result-basic-elicitation", chosenKey, "10.11 step 3", "a legacy question has no key: mcpd gives it one, and the suite wants the server's"},
	{"SDK legacy", "input-required-result-ignore-extra-params", chosenKey, "10.11 step 3", "as above"},
	{"SDK legacy", "input-required-result-multi-round", []string{"sep-2322-multi-round-r2"}, "10.11", "the server asks a legacy client once in a call"},
	{"SDK legacy", "http-custom-header-server-validation", customHeader, "10.3", "in a legacy schema the keyword is no annotation, and is taken out"},

	{"demo legacy", "input-required-result-basic-elicitation", chosenKey, "10.11 step 3", "a legacy question has no key: mcpd gives it one, and the suite wants the server's"},
	{"demo legacy", "input-required-result-ignore-extra-params", chosenKey, "10.11 step 3", "as above"},
	{"demo legacy", "server-stateless", []string{"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"}, "10.16",
		"legacy revisions have no code for a capability that a client lacks: a result with isError passes as it is"},
	{"demo legacy", "http-custom-header-server-validation", customHeader, "10.3", "in a legacy schema the keyword is no annotation, and is taken out"},

	{"for 2025-11-25", "request-metadata", []string{
		"sep-2575-http-client-sends-version-header", "sep-2575-client-populates-meta", "sep-2575-client-sends-client-info",
	}, "10.1", "a server is greeted in the era of its client first, so initialize comes before the requests that are checked"},
	{"for 2025-11-25", "http-standard-headers", []string{"sep-2243-client-includes-standard-headers"}, "10.1", "as above"},
}

// cannot are the rows for a scenario of this run.
func (r *run) cannot(scenario string) (rows []uncarriable) {
	for _, u := range uncarriables {
		if u.server == r.name && u.scenario == scenario {
			rows = append(rows, u)
		}
	}
	return rows
}
