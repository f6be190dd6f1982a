package demo

import "github.com/go-json-experiment/json/jsontext"

// The fixtures prescribe these schemas and forms exactly.

// timeSchema is the output schema of the tool time.
var timeSchema = jsontext.Value(`{
	"type": "object",
	"properties": {"time": {"type": "string", "format": "date-time", "description": "UTC, to the second."}},
	"required": ["time"]
}`)

// contactSchema is the input schema of json_schema_2020_12_tool (SEP-1613, SEP-2106).
var contactSchema = jsontext.Value(`{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {
			"$anchor": "addressDef",
			"type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
		}
	},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`)

// contactForm is the form of test_elicitation.
var contactForm = jsontext.Value(`{
	"type": "object",
	"properties": {
		"username": {"type": "string", "description": "User's response"},
		"email": {"type": "string", "description": "User's email address"}
	},
	"required": ["username", "email"]
}`)

// defaultsForm has a default of every primitive type (SEP-1034).
var defaultsForm = jsontext.Value(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "description": "User name", "default": "John Doe"},
		"age": {"type": "integer", "description": "User age", "default": 30},
		"score": {"type": "number", "description": "User score", "default": 95.5},
		"status": {"type": "string", "description": "User status", "enum": ["active", "inactive", "pending"], "default": "active"},
		"verified": {"type": "boolean", "description": "Verification status", "default": true}
	},
	"required": []
}`)

// enumsForm has every form of a choice (SEP-1330).
var enumsForm = jsontext.Value(`{
	"type": "object",
	"properties": {
		"untitledSingle": {"type": "string", "description": "Select one option", "enum": ["option1", "option2", "option3"]},
		"titledSingle": {
			"type": "string", "description": "Select one option with titles",
			"oneOf": [
				{"const": "value1", "title": "First Option"},
				{"const": "value2", "title": "Second Option"},
				{"const": "value3", "title": "Third Option"}
			]
		},
		"legacyEnum": {
			"type": "string", "description": "Select one option (legacy)",
			"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]
		},
		"untitledMulti": {
			"type": "array", "description": "Select multiple options", "minItems": 1, "maxItems": 3,
			"items": {"type": "string", "enum": ["option1", "option2", "option3"]}
		},
		"titledMulti": {
			"type": "array", "description": "Select multiple options with titles", "minItems": 1, "maxItems": 3,
			"items": {"anyOf": [
				{"const": "value1", "title": "First Choice"},
				{"const": "value2", "title": "Second Choice"},
				{"const": "value3", "title": "Third Choice"}
			]}
		}
	},
	"required": []
}`)

// Forms with one field, for the fixtures with input in rounds.
var (
	nameForm    = field("name", "string")
	colorForm   = field("color", "string")
	contextForm = field("context", "string")
	confirmForm = field("ok", "boolean")
	deleteForm  = field("confirm", "boolean")
)

func field(name, kind string) jsontext.Value {
	return encode(object{
		"type": "object", "properties": object{name: object{"type": kind}}, "required": []string{name},
	})
}
