package demo

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// tool is a row of the table of tools.
type tool struct {
	name, title, description string
	params                   []param
	// schema and check replace params if a fixture prescribes the schema. The function check returns
	// an error text, or "".
	schema jsontext.Value
	check  func(args jsontext.Value) string
	// output is the schema of structuredContent, for tools that have it.
	output   jsontext.Value
	readOnly bool
	// dynamic says that the tool is listed only between one test_trigger_tool_change and the
	// next.
	dynamic bool
	// steps are executed in order. The last step ends the call.
	steps []step
}

// param is an argument of a tool. It is a string unless kind says otherwise.
type param struct {
	name, description string
	kind              jsonType
	max               int // of an integer, which is not negative
	optional          bool
	header            string // value of x-mcp-header; empty for none
}

// jsonType is the type of an argument.
type jsonType string

const (
	integer jsonType = "integer"
	boolean jsonType = "boolean"
)

func (t tool) changing() bool { return t.dynamic }

// listed is the tool as tools/list shows it.
func (t tool) listed(tasks bool) object {
	o := object{
		"name": t.name, "title": t.title, "description": t.description, "inputSchema": t.inputSchema(),
	}
	if t.output != nil {
		o["outputSchema"] = t.output
	}
	if t.readOnly {
		o["annotations"] = object{"readOnlyHint": true}
	}
	if support := t.support(); tasks && support != "" {
		o["execution"] = object{"taskSupport": support}
	}
	return o
}

func (t tool) inputSchema() jsontext.Value {
	if t.schema != nil {
		return t.schema
	}
	schema := object{"type": "object"}
	if len(t.params) > 0 {
		properties, required := object{}, []string{}
		for _, p := range t.params {
			properties[p.name] = p.schema()
			if !p.optional {
				required = append(required, p.name)
			}
		}
		schema["properties"], schema["required"] = properties, required
	}
	return encode(schema)
}

func (p param) schema() object {
	o := object{"type": "string", "description": p.description}
	if p.kind != "" {
		o["type"] = p.kind
	}
	if p.kind == integer {
		o["minimum"], o["maximum"] = 0, p.max
	}
	if p.header != "" {
		o["x-mcp-header"] = p.header
	}
	return o
}

// invalid describes in one sentence what is wrong with the arguments, or returns "". The model can
// correct its call, so the description is a result and not a protocol error (2025-11-25
// §server/tools "Error Handling", SEP-1303).
func (t tool) invalid(args jsontext.Value) string {
	var wrong string
	if t.check != nil {
		wrong = t.check(args)
	} else {
		wrong = checkParams(args, t.params)
	}
	if wrong == "" {
		return ""
	}
	return fmt.Sprintf("invalid arguments for %s: %s", t.name, wrong)
}
