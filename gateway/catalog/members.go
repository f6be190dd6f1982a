package catalog

// shape is what the schemas of all revisions let a value be. Those up to hints are objects, see
// members.
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
	hints       // the annotations of a tool
	execution   // of a tool
	object      // with any members

	text
	flag
	integer
	share      // a number from 0 to 1
	timestamp  // as RFC 3339 has it
	objectType // the word "object"
	role
	theme
	support // of tasks

	shapeCount = int(iota)
)

// rule is one member of an object that not every value may stand in.
type rule struct {
	name string
	is   shape
	list bool // an array of such

	required bool
	supply   string // what a required one is when it is missing, null, true or empty
	legacy   bool   // revisions since 2026-07-28 let it be anything
}

// items are the shapes of the items of each list.
var items = [kindCount]shape{
	Tools:     toolItem,
	Prompts:   promptItem,
	Resources: resourceItem,
	Templates: templateItem,
}

// members is the table: what the published schemas of all revisions say of the members of an item
// that they know. A member that a revision does not have may be anything there, and is taken away
// on the way to its clients (protocol/rewrite). Any other member may be anything.
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

// shapeWords are the shapes that are one of some words.
var shapeWords = map[shape][]string{
	objectType: {"object"},
	role:       {"user", "assistant"},
	theme:      {"light", "dark"},
	support:    {"forbidden", "optional", "required"},
}

// shapeNames are what a value should be, for a reader.
var shapeNames = [shapeCount]string{
	text: "a string", flag: "true or false", integer: "an integer", share: "a number from 0 to 1",
	timestamp:  "a time",
	objectType: `"object"`, role: `"user" or "assistant"`, theme: `"light" or "dark"`,
	support: `"forbidden", "optional" or "required"`,
}
