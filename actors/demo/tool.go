package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// tool is a row of the table of tools.
type tool struct {
	name, title, description string
	// params are the arguments. All are strings: the fixtures need no others.
	params []param
	// schema and check replace params where a fixture prescribes the schema. check returns what is wrong, or "".
	schema jsontext.Value
	check  func(args jsontext.Value) string
	// output is the schema of structuredContent, for tools that have it.
	output   jsontext.Value
	readOnly bool
	// steps are done in order. The last one ends the call.
	steps []step
}

// param is an argument of a tool.
type param struct {
	name, description string
	optional          bool
}

// listed is the tool as tools/list shows it.
func (t tool) listed() object {
	o := object{"name": t.name, "title": t.title, "description": t.description, "inputSchema": t.inputSchema()}
	if t.output != nil {
		o["outputSchema"] = t.output
	}
	if t.readOnly {
		o["annotations"] = object{"readOnlyHint": true}
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
			properties[p.name] = object{"type": "string", "description": p.description}
			if !p.optional {
				required = append(required, p.name)
			}
		}
		schema["properties"], schema["required"] = properties, required
	}
	return encode(schema)
}

// invalid says what is wrong with the arguments, in one sentence, or returns "". It is an answer to the model, which can correct its
// call, and hence a result and not a protocol error (2025-11-25 §server/tools "Error Handling", SEP-1303).
func (t tool) invalid(args jsontext.Value) string {
	var wrong string
	if t.check != nil {
		wrong = t.check(args)
	} else {
		wrong = stringsIn(args, t.params)
	}
	if wrong == "" {
		return ""
	}
	return fmt.Sprintf("invalid arguments for %s: %s", t.name, wrong)
}

// stringsIn checks that the parameters are there and are strings. What the schema does not name is allowed by it.
func stringsIn(args jsontext.Value, params []param) string {
	for _, p := range params {
		switch value, given := splice.Get(args, p.name); {
		case !given && p.optional:
		case !given:
			return fmt.Sprintf("%q is missing", p.name)
		case value.Kind() != '"':
			return fmt.Sprintf("%q is a %s, want a string", p.name, kindOf(value))
		}
	}
	return ""
}

// checkContact checks the arguments of json_schema_2020_12_tool, as its schema does.
func checkContact(args jsontext.Value) string {
	allowed := []string{"address", "contactMethod", "email", "name", "phone"}
	for m := range splice.Members(args) {
		if !slices.Contains(allowed, m.Key()) {
			return fmt.Sprintf("%q is not known, want any of %s", m.Key(), strings.Join(allowed, ", "))
		}
	}
	optional := func(names ...string) []param {
		params := make([]param, len(names))
		for i, name := range names {
			params[i] = param{name: name, optional: true}
		}
		return params
	}
	if wrong := stringsIn(args, optional("name", "contactMethod", "phone", "email")); wrong != "" {
		return wrong
	}
	if address, given := splice.Get(args, "address"); given {
		if address.Kind() != '{' {
			return fmt.Sprintf(`"address" is a %s, want an object`, kindOf(address))
		}
		if wrong := stringsIn(address, optional("street", "city")); wrong != "" {
			return "in address, " + wrong
		}
	}
	needed := "email"
	if method, given := splice.GetString(args, "contactMethod"); given {
		switch method {
		case "phone":
			needed = "phone"
		case "email":
		default:
			return fmt.Sprintf(`"contactMethod" is %q, want "phone" or "email"`, method)
		}
	}
	if _, given := splice.Get(args, needed); !given {
		return fmt.Sprintf("%q is missing", needed)
	}
	return ""
}
