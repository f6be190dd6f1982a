package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/catalog"
)

// good are schemas that validators can compile, bad are schemas that they cannot. ajv 8 gives the
// same answer for each.
var (
	good = []string{
		`true`, `{}`, `{"type":"object"}`, `{"type":["string","null"]}`, `{"type":[]}`,
		`{"x-own":{"type":7}}`, `{"const":{"type":7}}`,
		`{"default":{"$ref":"#/nowhere"}}`, `{"$ref":"#"}`, `{"$defs":{"a":{}},"$ref":"#/$defs/a"}`,
		`{"definitions":{"a/b c":{}},"$ref":"#/definitions/a~1b%20c"}`,
		`{"$defs":{"a":{"$anchor":"here"}},"$ref":"#here"}`,
		`{"$id":"https://odd.example/a","properties":{"b":{"$ref":"https://odd.example/a"}}}`,
		`{"$ref":"http://json-schema.org/draft-07/schema#"}`, `{"type":"string","nullable":true}`,
		`{"format":"nothing"}`,
		`{"items":[{"type":"null"},true],"additionalItems":false}`,
		`{"dependencies":{"a":["b"],"c":{"type":"object"}}}`,
		`{"properties":{"type":{"type":"string"},"enum":{"enum":[1]}}}`,
		`{"exclusiveMinimum":0,"multipleOf":0.5}`,
		`{"pattern":"^[a-z]+$"}`, `{"pattern":"^(?=a)(?!b)(?<=c)(?<!d)(?:e)(?<f>g)\\k<f>(h)\\1$"}`,
		`{"pattern":"\\p{L}\\u0041\\u{1F600}\\x41\\/\\."}`,
		`{"pattern":"[\\-\\]{}()]"}`,
		`{"pattern":"[\\w-]|[-a]|[a-\\x7a]|[\\u{1F600}-\\u{1F64F}]|[\\ud83d\\ude00-\\ud83d\\ude4f]"}`,
		`{"pattern":"(|a)??\\cA\\0\\p{Script=Greek}\\P{Lu}"}`,
		`{"properties":{"id":{}},"x-own":{"a":1},"default":{"$anchor":""}}`,
		`{"pattern":"a{3}b{1,2000}c{2,}"}`, `{"patternProperties":{"^x-":{}}}`, `{"pattern":"[]|[^]"}`,
		`{"$id":"https://odd.example/a","$defs":{"b":{"$id":"b","$defs":{"c":{}},"properties":{"d":{"$ref":"#/$defs/c"}}}},"properties":{"e":{"$ref":"b#/$defs/c"},"f":{"$ref":"#/$defs/b"}}}`,
		`{"$defs":{"a":{"$id":"x","$anchor":"here"},"b":{"$id":"y","$anchor":"here"}},"$ref":"y#here"}`,
		`{"properties":{"a":{"properties":{"b":{"$ref":"#/properties/a"}}},"c":{"$ref":"#/properties/d"},"d":{}}}`,
	}
	bad = []string{
		`7`, `[]`, `"string"`, `{"type":"strin"}`, `{"type":7}`, `{"type":["string",null]}`,
		`{"properties":[]}`, `{"properties":{"a":"string"}}`,
		`{"$ref":"#/$defs/a"}`, `{"$ref":"#here"}`, `{"$ref":"other.json"}`,
		`{"$ref":"https://odd.example/schema.json"}`, `{"$ref":7}`,
		`{"enum":[]}`, `{"enum":"a"}`, `{"required":"a"}`, `{"required":true}`,
		`{"exclusiveMinimum":true}`, `{"minimum":"1"}`, `{"uniqueItems":"yes"}`,
		`{"nullable":true}`, `{"nullable":"yes","type":"string"}`, `{"anyOf":{}}`, `{"anyOf":["string"]}`,
		`{"not":[]}`, `{"items":"string"}`, `{"id":"a"}`,
		`{"pattern":"("}`, `{"pattern":7}`, `{"pattern":"(?P<a>b)"}`, `{"pattern":"(?i)a"}`,
		`{"pattern":"\\A"}`, `{"pattern":"\\Z"}`, `{"pattern":"a{"}`,
		`{"pattern":"\\-"}`, `{"pattern":"]"}`, `{"pattern":"a**"}`, `{"pattern":"[z-a]"}`,
		`{"pattern":"\\"}`, `{"patternProperties":{"(":{}}}`,
		`{"items":{"items":{"anyOf":[{"not":{"type":"x"}}]}}}`,
		`{"pattern":"^[\\w-.]+$"}`, `{"pattern":"[a-\\d]"}`, `{"pattern":"(?<a>x)(?<a>y)"}`,
		`{"pattern":"\\k<a>"}`, `{"pattern":"\\2(a)"}`, `{"pattern":"\\07"}`, `{"pattern":"\\x4"}`,
		`{"pattern":"\\u12"}`, `{"pattern":"\\p{Foo}"}`, `{"pattern":"a{5,2}"}`, `{"pattern":"a{,5}"}`,
		`{"pattern":"(?=a)*"}`, `{"pattern":"^*"}`, `{"pattern":"\\cé"}`, `{"pattern":"(?i:a)"}`,
		`{"format":5}`, `{"format":"date","formatMinimum":5}`, `{"id":5}`, `{"$anchor":"a b"}`,
		`{"$dynamicAnchor":"1"}`, `{"x-own":{"$anchor":""}}`, `{"not":{"$async":true}}`,
		`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`,
		`{"$defs":{"a":{"$anchor":"x"},"b":{"$dynamicAnchor":"x"}}}`,
		`{"$defs":{"a":{"$id":"#x"},"b":{"$id":"#x"}}}`,
		`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x#"}}}`,
		`{"$id":"https://odd.example/x","$defs":{"a":{"$id":"x"}}}`,
		`{"$id":"https://odd.example/x","$defs":{"a":{"$id":""}},"$ref":""}`,
		`{"$id":"https://odd.example/%zz","$ref":"#/$defs/a","$defs":{"a":{}}}`,
		`{"$id":"https://odd.example:99999/x","properties":{"a":{"$ref":"x"}}}`,
		`{"$id":"é","properties":{"a":{"$ref":"é"}}}`,
		`{"$id":"mailto:x","$defs":{"a":{"$id":"x"}},"$ref":"x"}`,
		`{"$id":"#x","properties":{"a":{"$ref":"#x"}}}`,
		`{"properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}}`,
		`{"properties":{"a":{"$id":"in","$ref":"#/definitions/b"}},"definitions":{"b":{}}}`,
		`{"$id":"https://odd.example/a","$defs":{"b":{"$id":"b","$defs":{"c":{}}}},"$ref":"#/$defs/c"}`,
	}
)

func TestCompiles(t *testing.T) {
	for _, s := range good {
		if !catalog.Compiles(jsontext.Value(s)) {
			t.Errorf("%s does not compile", s)
		}
	}
	for _, s := range bad {
		if catalog.Compiles(jsontext.Value(s)) {
			t.Errorf("%s compiles", s)
		}
	}
	deep := strings.Repeat(`{"not":`, 10_000) + `{}` + strings.Repeat(`}`, 10_000)
	if catalog.Compiles(jsontext.Value(deep)) {
		t.Error("a schema that is too deep compiles")
	}
}

// The time for a schema does not grow with the square of the number of its references.
func TestManyReferencesCompile(t *testing.T) {
	var schema strings.Builder
	schema.WriteString(`{"properties":{`)
	for i := range 4000 {
		fmt.Fprintf(&schema, `"a%d":{"$ref":"#/properties/b%d"},"b%d":{"$ref":"#/properties/b/allOf/1"},`,
			i, 3999-i, i)
	}
	schema.WriteString(`"b":{"allOf":[{"$ref":"#/properties/b/allOf/1"},{}]}}}`)
	begun := time.Now()
	if !catalog.Compiles(jsontext.Value(schema.String())) {
		t.Error("it does not compile")
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %s", took)
	}
	if catalog.Compiles(jsontext.Value(strings.Replace(schema.String(), "allOf/1", "allOf/2", 1))) {
		t.Error("it compiles with a reference to nothing")
	}
}
