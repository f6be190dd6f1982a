package catalog

// shape is the set of values that the schemas of all revisions allow. The shapes before text are
// objects; members is the table of their members.
type shape uint8

const (
	_ shape = iota

	toolItem
	promptItem
	resourceItem
	templateItem
	inputSchema
	outputSchema
	properties // of a schema: each member is an object
	argument   // of a prompt
	icon
	annotations // of a resource or template
	hints       // of a tool
	execution   // of a tool
	object      // with any members

	text
	flag
	integer
	share      // a number from 0 to 1
	timestamp  // in the form of RFC 3339
	objectType // the word "object"
	role
	theme
	support // of tasks

	shapeCount = int(iota)
)

// rule describes one member of an object whose value is restricted.
type rule struct {
	name string
	is   shape
	list bool // the value is an array of the shape

	required bool
	// supply is the value that replaces a required member that is missing, null, true or empty.
	supply string
	// legacy means that revisions since 2026-07-28 allow any value.
	legacy bool
}

// items are the shapes of the items of each list.
var items = [kindCount]shape{
	Tools:     toolItem,
	Prompts:   promptItem,
	Resources: resourceItem,
	Templates: templateItem,
}

// members is the table of the known members of items in the published schemas of all revisions.
// In a revision that does not have a member, its value may be anything, and the member is removed
// on the way to clients of that revision (protocol/rewrite). Unknown members may be anything.
var members = [shapeCount][]rule{
	toolItem: {
		{name: "name", is: text, required: true},
		{name: "title", is: text},
		{name: "description", is: text},
		{name: "icons", is: icon, list: true},
		{name: "inputSchema", is: inputSchema, required: true, supply: `{"type":"object"}`},
		{name: "outputSchema", is: outputSchema},
		{name: "annotations", is: hints},
		{name: "execution", is: execution},
		{name: "_meta", is: object},
	},
	inputSchema: {
		{name: "$schema", is: text},
		{name: "type", is: objectType, required: true, supply: `"object"`},
		{name: "properties", is: properties, legacy: true},
		{name: "required", is: text, list: true, legacy: true},
	},
	outputSchema: {
		{name: "$schema", is: text},
		{name: "type", is: objectType, required: true, supply: `"object"`, legacy: true},
		{name: "properties", is: properties, legacy: true},
		{name: "required", is: text, list: true, legacy: true},
	},
	hints: {
		{name: "title", is: text},
		{name: "readOnlyHint", is: flag},
		{name: "destructiveHint", is: flag},
		{name: "idempotentHint", is: flag},
		{name: "openWorldHint", is: flag},
	},
	execution: {{name: "taskSupport", is: support}},
	promptItem: {
		{name: "name", is: text, required: true},
		{name: "title", is: text},
		{name: "description", is: text},
		{name: "icons", is: icon, list: true},
		{name: "arguments", is: argument, list: true},
		{name: "_meta", is: object},
	},
	argument: {
		{name: "name", is: text, required: true},
		{name: "title", is: text},
		{name: "description", is: text},
		{name: "required", is: flag},
	},
	resourceItem: {
		{name: "uri", is: text, required: true},
		{name: "name", is: text, required: true},
		{name: "title", is: text},
		{name: "description", is: text},
		{name: "mimeType", is: text},
		{name: "size", is: integer},
		{name: "icons", is: icon, list: true},
		{name: "annotations", is: annotations},
		{name: "_meta", is: object},
	},
	templateItem: {
		{name: "uriTemplate", is: text, required: true},
		{name: "name", is: text, required: true},
		{name: "title", is: text},
		{name: "description", is: text},
		{name: "mimeType", is: text},
		{name: "icons", is: icon, list: true},
		{name: "annotations", is: annotations},
		{name: "_meta", is: object},
	},
	annotations: {
		{name: "audience", is: role, list: true},
		{name: "priority", is: share},
		{name: "lastModified", is: timestamp},
	},
	icon: {
		{name: "src", is: text, required: true},
		{name: "mimeType", is: text},
		{name: "sizes", is: text, list: true},
		{name: "theme", is: theme},
	},
}

// shapeWords are the values of the shapes that are one of some words.
var shapeWords = map[shape][]string{
	objectType: {"object"},
	role:       {"user", "assistant"},
	theme:      {"light", "dark"},
	support:    {"forbidden", "optional", "required"},
}

// shapeNames describe the expected value for a reader.
var shapeNames = [shapeCount]string{
	text: "a string", flag: "true or false", integer: "an integer", share: "a number from 0 to 1",
	timestamp:  "a time",
	objectType: `"object"`, role: `"user" or "assistant"`, theme: `"light" or "dark"`,
	support: `"forbidden", "optional" or "required"`,
}
