package rewrite

import "mcpd/protocol"

// object is a type of the schemas with members that only some revisions have.
type object uint8

// The types.
const (
	plain object = iota // independent of the revision

	tool
	inputSchema  // of a tool
	outputSchema // of a tool
	properties   // of inputSchema and outputSchema
	prompt
	argument // of a prompt
	resource
	template
	annotations
	implementation
	clientCapabilities
	serverCapabilities
	meta

	block    // of a tool's result or a prompt
	contents // of a resource
	message  // of a prompt
	callResult
	promptResult
	readResult
	listResult
	initializeResult
	otherResult

	sample            // a message of a sampling request
	conversationBlock // a block of such a message, or of the answer
	sampleParams
	sampleResult
	form // of an elicitation
	fields
	formField // a field of a form: a choice, a text, a number
	elicitParams
	elicitResult
	otherQuestion
	root
	rootsResult

	callParams
	completeParams
	reference
	initializeParams
	progressParams
	otherParams

	objectCount = int(iota)
)

// member is a member that only some revisions have, or whose value contains such members.
type member struct {
	name    string
	since   protocol.Feature // default: Tools, which all revisions have
	of      object           // type of the value, or of each element of an array
	oldName string           // name in revisions without the feature renamed; empty if never renamed
	renamed protocol.Feature
	// hopByHop says that the member is meaningful only between two direct peers. It is therefore also
	// removed if the source revision lacks it.
	hopByHop bool
}

// in returns the name of the member in a revision.
func (m member) in(v protocol.Version) string {
	if m.oldName != "" && !v.Has(m.renamed) {
		return m.oldName
	}
	return m.name
}

// objects is the table (appendix A of the protocol matrix) of all members that were introduced,
// removed or renamed between two revisions, by type. A new revision needs a row for each such
// change.
var objects = [objectCount][]member{
	tool: {
		{name: "title", since: protocol.Titles},
		{name: "icons", since: protocol.Icons},
		{name: "inputSchema", of: inputSchema},
		{name: "outputSchema", since: protocol.StructuredContent, of: outputSchema},
		{name: "annotations", since: protocol.ToolAnnotations},
		{name: "execution", since: protocol.ToolExecution},
		{name: "_meta", since: protocol.ObjectMeta},
	},
	inputSchema:  {{name: "properties", of: properties}},
	outputSchema: {{name: "properties", of: properties}},
	prompt: {
		{name: "title", since: protocol.Titles},
		{name: "icons", since: protocol.Icons},
		{name: "arguments", of: argument},
		{name: "_meta", since: protocol.ObjectMeta},
	},
	argument: {{name: "title", since: protocol.Titles}},
	resource: {
		{name: "title", since: protocol.Titles},
		{name: "icons", since: protocol.Icons},
		{name: "annotations", of: annotations},
		{name: "_meta", since: protocol.ObjectMeta},
	},
	template: {
		{name: "title", since: protocol.Titles},
		{name: "icons", since: protocol.Icons},
		{name: "annotations", of: annotations},
		{name: "_meta", since: protocol.ObjectMeta},
	},
	annotations: {{name: "lastModified", since: protocol.LastModified}},
	implementation: {
		{name: "title", since: protocol.Titles},
		{name: "icons", since: protocol.Icons},
		{name: "description", since: protocol.Icons},
		{name: "websiteUrl", since: protocol.Icons},
	},
	meta: {
		{name: protocol.MetaProtocolVersion, since: protocol.PerRequestMeta, hopByHop: true},
		{name: protocol.MetaClientCapabilities, since: protocol.PerRequestMeta, hopByHop: true},
		{name: protocol.MetaClientInfo, since: protocol.PerRequestMeta, hopByHop: true},
		{name: protocol.MetaLogLevel, since: protocol.PerRequestMeta, hopByHop: true},
		{name: protocol.MetaServerInfo, since: protocol.PerRequestMeta, hopByHop: true},
		{name: protocol.MetaSubscriptionID, since: protocol.Listen, hopByHop: true},
		{name: protocol.MetaRelatedTask, since: protocol.Tasks},
		{name: "io.modelcontextprotocol/model-immediate-response", since: protocol.Tasks},
	},

	block: {
		{name: "title", since: protocol.Titles}, // title and icons belong to resource_link
		{name: "icons", since: protocol.Icons},
		{name: "annotations", of: annotations},
		{name: "resource", of: contents},
		{name: "_meta", since: protocol.ObjectMeta},
	},
	contents: {{name: "_meta", since: protocol.ObjectMeta}},
	message:  {{name: "content", of: block}},
	callResult: {
		{name: "content", of: block},
		{name: "structuredContent", since: protocol.StructuredContent},
		{name: "resultType", since: protocol.ResultType},
		{name: "_meta", of: meta},
	},
	promptResult: {
		{name: "messages", of: message},
		{name: "resultType", since: protocol.ResultType},
		{name: "_meta", of: meta},
	},
	readResult: {
		{name: "contents", of: contents},
		{name: "resultType", since: protocol.ResultType},
		{name: "ttlMs", since: protocol.CacheHints},
		{name: "cacheScope", since: protocol.CacheHints},
		{name: "_meta", of: meta},
	},
	listResult: {
		{name: "tools", of: tool},
		{name: "prompts", of: prompt},
		{name: "resources", of: resource},
		{name: "resourceTemplates", of: template},
		{name: "resultType", since: protocol.ResultType},
		{name: "ttlMs", since: protocol.CacheHints},
		{name: "cacheScope", since: protocol.CacheHints},
		{name: "_meta", of: meta},
	},
	initializeResult: {
		{name: "capabilities", of: serverCapabilities},
		{name: "serverInfo", of: implementation},
		{name: "_meta", of: meta},
	},
	otherResult: {
		{name: "resultType", since: protocol.ResultType},
		{name: "_meta", of: meta},
	},

	sample: {
		{name: "content", of: conversationBlock},
		{name: "_meta", since: protocol.SamplingTools},
	},
	conversationBlock: {
		{name: "content", of: block}, // of tool_result
		{name: "annotations", of: annotations},
		{name: "_meta", since: protocol.ObjectMeta},
	},
	sampleParams: {
		{name: "messages", of: sample},
		{name: "tools", since: protocol.SamplingTools, of: tool},
		{name: "toolChoice", since: protocol.SamplingTools},
		{name: "task", since: protocol.Tasks, hopByHop: true},
		{name: "_meta", since: protocol.ServerRequests, of: meta},
	},
	sampleResult: {
		{name: "content", of: conversationBlock},
		{name: "resultType", since: protocol.ResultType, hopByHop: true},
		{name: "_meta", of: meta},
	},
	form: {
		{name: "$schema", since: protocol.RichForms},
		{name: "properties", of: fields},
	},
	formField: {
		{name: "default", since: protocol.RichForms}, // the default of a boolean is older
		{name: "oneOf", since: protocol.RichForms},
	},
	elicitParams: {
		{name: "mode", since: protocol.URLElicitation},
		{name: "requestedSchema", of: form},
		{name: "elicitationId", since: protocol.ElicitationIDs, hopByHop: true},
		{name: "task", since: protocol.Tasks, hopByHop: true},
		{name: "_meta", since: protocol.ServerRequests, of: meta},
	},
	elicitResult: {
		{name: "resultType", since: protocol.ResultType, hopByHop: true},
		{name: "_meta", since: protocol.ServerRequests, of: meta},
	},
	otherQuestion: {{name: "_meta", since: protocol.ServerRequests, of: meta}},
	root:          {{name: "_meta", since: protocol.ObjectMeta}},
	rootsResult: {
		{name: "roots", of: root},
		{name: "resultType", since: protocol.ResultType, hopByHop: true},
		{name: "_meta", since: protocol.ServerRequests, of: meta},
	},

	callParams: {
		{name: "task", since: protocol.Tasks, hopByHop: true},
		{name: "inputResponses", since: protocol.MultiRoundTrip, hopByHop: true},
		{name: "requestState", since: protocol.MultiRoundTrip, hopByHop: true},
		{name: "_meta", of: meta},
	},
	completeParams: {
		{name: "ref", of: reference},
		{name: "context", since: protocol.CompletionContext},
		{name: "_meta", of: meta},
	},
	reference: {{name: "title", since: protocol.Titles}},
	initializeParams: {
		{name: "capabilities", of: clientCapabilities},
		{name: "clientInfo", of: implementation},
		{name: "_meta", of: meta},
	},
	progressParams: {
		{name: "message", since: protocol.ProgressMessage},
		{name: "_meta", of: meta},
	},
	otherParams: {{name: "_meta", of: meta}},
}
