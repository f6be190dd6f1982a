package conformance

// revision is the set of requirements that is run.
const revision = "2025-11-25"

// scenario is a row of the suite's requirements file for the revision.
type scenario struct {
	name   string
	scored bool // counts for conformance; the others came after the revision or are pending, and must pass here all the same
}

// scenarios is what must run, as requirements/2025-11-25.yaml of the pinned suite has it. A suite that runs fewer has not tested us.
var scenarios = []scenario{
	{"server-initialize", true},
	{"logging-set-level", true},
	{"ping", true},
	{"completion-complete", true},
	{"tools-list", true},
	{"tools-call-simple-text", true},
	{"tools-call-image", true},
	{"tools-call-audio", true},
	{"tools-call-embedded-resource", true},
	{"tools-call-mixed-content", true},
	{"tools-call-with-logging", true},
	{"tools-call-error", true},
	{"tools-call-with-progress", true},
	{"tools-call-sampling", true},
	{"tools-call-elicitation", true},
	{"elicitation-sep1034-defaults", true},
	{"server-sse-multiple-streams", true},
	{"elicitation-sep1330-enums", true},
	{"resources-list", true},
	{"resources-read-text", true},
	{"resources-read-binary", true},
	{"resources-templates-read", true},
	{"resources-subscribe", true},
	{"resources-unsubscribe", true},
	{"prompts-list", true},
	{"prompts-get-simple", true},
	{"prompts-get-with-args", true},
	{"prompts-get-embedded-resource", true},
	{"prompts-get-with-image", true},
	{"dns-rebinding-protection", true},
	{"server-session-lifecycle", false},
	{"json-schema-2020-12", false},
	{"server-sse-polling", false},
}
