package conformance

import (
	"slices"
	"strings"
)

// scenario is a row of one of the suite's requirements files.
type scenario struct {
	name string
	// scored scenarios count for conformance. The others came after the revision, are extensions or
	// are pending. They must pass here all the same.
	scored bool
}

// set lists the scenarios that must run for one role in one revision, as in requirements/ of the
// pinned suite. A suite that runs fewer scenarios has not tested mcpd completely.
type set struct {
	role      string // the suite's subcommand: server or client, the side that is tested
	revision  string
	scenarios []scenario
}

func (s set) String() string { return s.role + " " + s.revision }

// scenarioRows returns one row for each name.
func scenarioRows(scored bool, names string) (rows []scenario) {
	for name := range strings.FieldsSeq(names) {
		rows = append(rows, scenario{name, scored})
	}
	return rows
}

var legacyServer = set{"server", "2025-11-25", slices.Concat(scenarioRows(true, `
	server-initialize logging-set-level ping completion-complete
	tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content
	tools-call-with-logging tools-call-error tools-call-with-progress tools-call-sampling tools-call-elicitation
	elicitation-sep1034-defaults server-sse-multiple-streams elicitation-sep1330-enums
	resources-list resources-read-text resources-read-binary resources-templates-read resources-subscribe resources-unsubscribe
	prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image
	dns-rebinding-protection`), scenarioRows(false, `
	server-session-lifecycle json-schema-2020-12 server-sse-polling`))}

var modernServer = set{"server", "2026-07-28", slices.Concat(scenarioRows(true, `
	server-stateless completion-complete
	tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content
	tools-call-error tools-call-with-progress server-sse-multiple-streams
	resources-list resources-read-text resources-read-binary resources-templates-read sep-2164-resource-not-found
	prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image
	dns-rebinding-protection caching
	input-required-result-basic-elicitation input-required-result-basic-sampling input-required-result-basic-list-roots
	input-required-result-request-state input-required-result-multiple-input-requests input-required-result-multi-round
	input-required-result-missing-input-response input-required-result-non-tool-request input-required-result-result-type
	input-required-result-unsupported-methods input-required-result-tampered-state input-required-result-capability-check
	input-required-result-ignore-extra-params input-required-result-validate-input`),
	scenarioRows(false, `
	tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input tasks-request-headers
	tasks-dispatch-and-envelope tasks-status-notifications tasks-required-task-error tasks-mrtr-composition
	json-schema-2020-12 http-header-validation http-custom-header-server-validation`))}

// The sets for clients leave out the scenarios of auth/: mcpd has no authorization towards
// servers.
var legacyClient = set{"client", "2025-11-25", slices.Concat(scenarioRows(true, `
	initialize tools_call elicitation-sep1034-client-defaults sse-retry`), scenarioRows(false, `
	json-schema-2020-12-preservation`))}

var modernClient = set{"client", "2026-07-28", slices.Concat(scenarioRows(true, `
	tools_call request-metadata sep-2322-client-request-state
	http-standard-headers http-custom-headers http-invalid-tool-headers json-schema-ref-no-deref`),
	scenarioRows(false, `
	json-schema-2020-12-preservation`))}

// sets are all sets, in the order of the runs.
var sets = []set{legacyServer, modernServer, legacyClient, modernClient}

// leftOut reports whether this package leaves out a scenario that the suite runs.
func leftOut(name string) bool { return strings.HasPrefix(name, "auth/") }

// neverChecked are scenarios in which the suite checks nothing for any server. The suite reports
// this itself, as a skipped check.
var neverChecked = []string{"tasks-status-notifications"}
