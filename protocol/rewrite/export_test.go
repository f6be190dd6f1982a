package rewrite

import "mcpd/protocol"

// Row is a row of the table of objects, once for each name of its member.
type Row struct {
	Name string
	Has  func(protocol.Version) bool // whether the member has that name in a revision
}

// Table returns the table, with the schemas' names of each type. A name with a dot is a member of a
// definition. Types without a definition of their own are missing: the content of _meta, and maps
// with names of the author's choice.
func Table() map[*[]string][]Row {
	table := map[*[]string][]Row{}
	for o, names := range map[object][]string{
		tool:           {"Tool"},
		prompt:         {"Prompt"},
		argument:       {"PromptArgument"},
		resource:       {"Resource"},
		template:       {"ResourceTemplate"},
		annotations:    {"Annotations"},
		implementation: {"Implementation"},
		block: {"TextContent", "ImageContent", "AudioContent", "ResourceLink",
			"EmbeddedResource"},
		contents:     {"TextResourceContents", "BlobResourceContents"},
		message:      {"PromptMessage"},
		callResult:   {"CallToolResult"},
		promptResult: {"GetPromptResult"},
		readResult:   {"ReadResourceResult"},
		listResult: {"ListToolsResult", "ListPromptsResult", "ListResourcesResult",
			"ListResourceTemplatesResult"},
		initializeResult: {"InitializeResult"},
		otherResult:      {"CompleteResult"},
		sample:           {"SamplingMessage"},
		conversationBlock: {"TextContent", "ImageContent", "AudioContent", "ToolUseContent",
			"ToolResultContent"},
		sampleParams: {"CreateMessageRequest.params"},
		sampleResult: {"CreateMessageResult"},
		form: {"ElicitRequest.params.requestedSchema",
			"ElicitRequestFormParams.requestedSchema"},
		formField:     {"StringSchema", "NumberSchema"},
		elicitParams:  {"ElicitRequest.params", "ElicitRequestFormParams", "ElicitRequestURLParams"},
		elicitResult:  {"ElicitResult"},
		otherQuestion: {"ListRootsRequest.params"},
		root:          {"Root"},
		rootsResult:   {"ListRootsResult"},
		callParams: {"CallToolRequest.params", "GetPromptRequest.params",
			"ReadResourceRequest.params"},
		completeParams:   {"CompleteRequest.params"},
		reference:        {"PromptReference"},
		initializeParams: {"InitializeRequest.params"},
		progressParams:   {"ProgressNotification.params"},
		otherParams: {"LoggingMessageNotification.params", "ListToolsRequest.params",
			"CancelledNotification.params"},
	} {
		var rows []Row
		for _, m := range objects[o] {
			for _, name := range []string{m.name, m.oldName} {
				if name != "" {
					rows = append(rows, Row{name, func(v protocol.Version) bool {
						return v.Has(m.since) && m.in(v) == name
					}})
				}
			}
		}
		table[&names] = rows
	}
	return table
}

// Types is the number of types. Undefined is the number of types without a definition.
const Types, Undefined = objectCount, 8
