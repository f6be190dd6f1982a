package protocol

import "slices"

// Feature is a part of MCP that a revision has or lacks.
type Feature uint8

// The features. Their names are in featureNames. The grid features lists the features of each
// revision.
const (
	// Features that all revisions have.
	Tools Feature = iota
	Resources
	Prompts
	Logging
	Sampling
	Roots
	Completions
	MessageNotifications
	PaginationCursors
	RequestCancellation

	// The form of the conversation.
	Initialize     // a connection begins with initialize and notifications/initialized
	Ping           // either side may check that the other is alive
	PerRequestMeta // every request carries its revision and capabilities in _meta
	Discover       // server/discover
	ServerRequests // the server may send requests
	MultiRoundTrip // the server asks its client in an input_required result
	ResultType     // every result has a resultType
	CacheHints     // ttlMs and cacheScope
	Listen         // subscriptions/listen replaces resources/subscribe and standalone SSE streams
	SetLevel       // logging/setLevel; modern requests name a level in _meta instead

	// Transports.
	Sessions       // Streamable HTTP with Mcp-Session-Id, a standalone GET stream and resumption
	HTTPSSE        // HTTP+SSE of 2024-11-05: a GET stream, and POST to the endpoint it names
	Batching       // JSON-RPC batches: arrays of messages
	VersionHeader  // the header MCP-Protocol-Version after the handshake
	PrimedStreams  // an SSE stream begins with an event that has an id and no data
	RoutingHeaders // the headers Mcp-Method, Mcp-Name and Mcp-Param-*

	// Capabilities.
	CompletionsCapability // completion/complete needs a declared capability
	Elicitation
	URLElicitation
	SamplingTools
	RootsListChanged
	Tasks          // task-augmented requests and tasks/* in the core protocol
	TasksExtension // tasks as the extension io.modelcontextprotocol/tasks

	// Members of objects.
	ProgressMessage
	ToolAnnotations
	AudioContent
	Titles
	StructuredContent
	AnyStructuredContent // structuredContent and outputSchema may describe values other than objects
	ResourceLinks
	ObjectMeta // _meta on content, resources, prompts and tools
	CompletionContext
	Icons
	ToolExecution  // execution.taskSupport on a tool
	LastModified   // annotations.lastModified
	FullSchemas    // a tool's schemas may use all of JSON Schema 2020-12
	RichForms      // forms with defaults, titled choices and multiple choices
	ElicitationIDs // elicitationId, and a notification when the elicitation is complete

	// Errors.
	ResourceNotFoundCode // an unknown resource is error -32002
	URLElicitationCode   // error -32042
	SpecErrorCodes       // errors -32020 to -32022
	ErrorsWithoutID      // the schema allows an error response without id

	featureCount = int(iota)
)

const (
	has = true
	off = false
)

// features is the version matrix, the only place in mcpd that knows the features of each revision.
// All other code asks Version.Has. Each row has the length of its own list of cells, so that the
// build fails if a row lacks the cell of a revision.
var features = [featureCount][versionCount]bool{
	//                             24-11 25-03 25-06 25-11 26-07
	Tools:                 [...]bool{has, has, has, has, has},
	Resources:             [...]bool{has, has, has, has, has},
	Prompts:               [...]bool{has, has, has, has, has},
	Logging:               [...]bool{has, has, has, has, has},
	Sampling:              [...]bool{has, has, has, has, has},
	Roots:                 [...]bool{has, has, has, has, has},
	Completions:           [...]bool{has, has, has, has, has},
	MessageNotifications:  [...]bool{has, has, has, has, has},
	PaginationCursors:     [...]bool{has, has, has, has, has},
	RequestCancellation:   [...]bool{has, has, has, has, has},
	Initialize:            [...]bool{has, has, has, has, off},
	Ping:                  [...]bool{has, has, has, has, off},
	PerRequestMeta:        [...]bool{off, off, off, off, has},
	Discover:              [...]bool{off, off, off, off, has},
	ServerRequests:        [...]bool{has, has, has, has, off},
	MultiRoundTrip:        [...]bool{off, off, off, off, has},
	ResultType:            [...]bool{off, off, off, off, has},
	CacheHints:            [...]bool{off, off, off, off, has},
	Listen:                [...]bool{off, off, off, off, has},
	SetLevel:              [...]bool{has, has, has, has, off},
	Sessions:              [...]bool{off, has, has, has, off},
	HTTPSSE:               [...]bool{has, off, off, off, off},
	Batching:              [...]bool{off, has, off, off, off},
	VersionHeader:         [...]bool{off, off, has, has, has},
	PrimedStreams:         [...]bool{off, off, off, has, off},
	RoutingHeaders:        [...]bool{off, off, off, off, has},
	CompletionsCapability: [...]bool{off, has, has, has, has},
	Elicitation:           [...]bool{off, off, has, has, has},
	URLElicitation:        [...]bool{off, off, off, has, has},
	SamplingTools:         [...]bool{off, off, off, has, has},
	RootsListChanged:      [...]bool{has, has, has, has, off},
	Tasks:                 [...]bool{off, off, off, has, off},
	TasksExtension:        [...]bool{off, off, off, off, has},
	ProgressMessage:       [...]bool{off, has, has, has, has},
	ToolAnnotations:       [...]bool{off, has, has, has, has},
	AudioContent:          [...]bool{off, has, has, has, has},
	Titles:                [...]bool{off, off, has, has, has},
	StructuredContent:     [...]bool{off, off, has, has, has},
	AnyStructuredContent:  [...]bool{off, off, off, off, has},
	ResourceLinks:         [...]bool{off, off, has, has, has},
	ObjectMeta:            [...]bool{off, off, has, has, has},
	CompletionContext:     [...]bool{off, off, has, has, has},
	Icons:                 [...]bool{off, off, off, has, has},
	ToolExecution:         [...]bool{off, off, off, has, off},
	LastModified:          [...]bool{off, off, has, has, has},
	FullSchemas:           [...]bool{off, off, off, off, has},
	RichForms:             [...]bool{off, off, off, has, has},
	ElicitationIDs:        [...]bool{off, off, off, has, off},
	ResourceNotFoundCode:  [...]bool{has, has, has, has, off},
	URLElicitationCode:    [...]bool{off, off, off, has, off},
	SpecErrorCodes:        [...]bool{off, off, off, off, has},
	ErrorsWithoutID:       [...]bool{off, off, off, has, has},
}

var featureNames = [featureCount]string{
	"tools", "resources", "prompts", "logging", "sampling", "roots", "completions",
	"message_notifications", "pagination_cursors",
	"request_cancellation",
	"initialize", "ping", "per_request_meta", "discover", "server_requests", "multi_round_trip",
	"result_type", "cache_hints", "listen",
	"set_level",
	"sessions", "http_sse", "batching", "version_header", "primed_streams", "routing_headers",
	"completions_capability", "elicitation", "url_elicitation", "sampling_tools", "roots_list_changed",
	"tasks", "tasks_extension",
	"progress_message", "tool_annotations", "audio_content", "titles", "structured_content",
	"any_structured_content", "resource_links",
	"object_meta", "completion_context", "icons", "tool_execution", "last_modified", "full_schemas",
	"rich_forms", "elicitation_ids",
	"resource_not_found_code", "url_elicitation_code", "spec_error_codes", "errors_without_id",
}

// Has reports whether the revision has the feature. An unknown revision has no features.
func (v Version) Has(f Feature) bool {
	return v.known() && int(f) < featureCount && features[f][v-1]
}

// Features lists the features of the revision.
func (v Version) Features() []Feature {
	var list []Feature
	for f := range Feature(featureCount) {
		if v.Has(f) {
			list = append(list, f)
		}
	}
	return list
}

// ParseFeature returns the feature with that name, in snake case, and whether it exists.
func ParseFeature(name string) (Feature, bool) {
	i := slices.Index(featureNames[:], name)
	return Feature(max(i, 0)), i >= 0
}

// String is the feature's name in snake case.
func (f Feature) String() string {
	if int(f) < featureCount {
		return featureNames[f]
	}
	return "unknown"
}
