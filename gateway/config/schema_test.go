package config

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:generate go test -run ^TestDocumentationIsGenerated$ . -update

// compiled caches the schema, because compiling is costly and every validation needs it.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mcpd.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("mcpd.json")
})

func fitsSchema(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := validate(t, data); err != nil {
		t.Errorf("%s does not fit the schema: %v", file, err)
	}
}

func validate(t *testing.T, data []byte) error {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return err
	}
	schema, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

// The schema knows every key: the base with each key's example is valid, and with an unknown key
// in its place it is not.
func TestSchemaKnowsEveryKey(t *testing.T) {
	for _, k := range Keys() {
		doc := with(k)
		if err := validate(t, []byte(doc)); err != nil {
			t.Errorf("%s: %v\n%s", k.Path, err, doc)
		}
		wrong := strings.Replace(doc, last(k.Path)+": "+k.Example, last(k.Path)+"x: "+k.Example, 1)
		if validate(t, []byte(wrong)) == nil {
			t.Errorf("%s: a misspelt key fits the schema\n%s", k.Path, wrong)
		}
	}
}

// The documentation matches the table, and names every row.
func TestDocumentationIsGenerated(t *testing.T) {
	const file = "../../docs/config.gen.md"
	got := Markdown()
	for _, k := range Keys() {
		if !bytes.Contains(got, []byte("| `"+k.Path+"` |")) {
			t.Errorf("%s is not documented", k.Path)
		}
	}
	if *update {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the table says (%v): run go test ./gateway/config -update", file, err)
	}
}
