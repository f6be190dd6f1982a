package rewrite

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The values that an output schema permits decide its form in revisions that permit only objects.
func TestAllows(t *testing.T) {
	for schema, want := range map[string][2]bool{ // objects, others
		`{}`:                                {true, true},
		`true`:                              {true, true},
		`{"type":"object"}`:                 {true, false},
		`{"type":"string"}`:                 {false, true},
		`{"type":["object","null"]}`:        {true, true},
		`{"type":["object"]}`:               {true, false},
		`{"type":["null","array"]}`:         {false, true},
		`{"type":[]}`:                       {false, false},
		`{"type":7}`:                        {false, false},
		`{"properties":{"a":{}}}`:           {true, false},
		`{"required":["a"]}`:                {true, false},
		`{"type":"array","required":["a"]}`: {false, true},
		`{"anyOf":[{"type":"string"},{"type":"number"}]}`:    {false, true},
		`{"oneOf":[{"type":"object"},{"required":["a"]}]}`:   {true, false},
		`{"anyOf":[{"type":"object"},{"type":"array"}]}`:     {true, true},
		`{"anyOf":[{"type":"object"},{"$ref":"#/$defs/a"}]}`: {true, true},
		`{"allOf":[{"$ref":"#/$defs/a"},{"type":"string"}]}`: {false, true},
		`{"allOf":[{"properties":{}},{"properties":{}}]}`:    {true, false},
		`{"const":[]}`:      {false, true},
		`{"const":{}}`:      {true, false},
		`{"enum":["a",7]}`:  {false, true},
		`{"enum":["a",{}]}`: {true, true},
		`{"anyOf":[{"anyOf":[{"enum":["a"]}]},{"const":null}]}`: {false, true},
	} {
		if objects, others := allows(jsontext.Value(schema), maxSchemaDepth); objects != want[0] ||
			others != want[1] {
			t.Errorf("%s allows objects %v and others %v, want %v", schema, objects, others, want)
		}
	}
}
