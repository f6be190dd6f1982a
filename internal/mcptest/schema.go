package mcptest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schemas is the published schema of one revision.
type Schemas struct {
	compiler *jsonschema.Compiler
	defs     string // name of the definitions: "$defs" or, in older drafts, "definitions"
	compiled map[string]*jsonschema.Schema
}

// schemaURL is the name of the document within the compiler. Nothing is fetched.
const schemaURL = "file:///schema.json"

// LoadSchemas reads <revision>/schema.json from $MCP_SCHEMA_DIR, by default ../shared/schemas. A
// relative path starts at the root of the module. The schemas are not part of the project: where
// they are absent the test is skipped, and under CI=true it fails. The functions change may modify
// the document before it is compiled, for example to make it stricter.
func LoadSchemas(t testing.TB, revision string, change ...func(document map[string]any)) *Schemas {
	t.Helper()
	file := filepath.Join(schemaDir(t), revision, "schema.json")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("no published schema at %s: set MCP_SCHEMA_DIR to check against it", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	s := &Schemas{
		compiler: jsonschema.NewCompiler(), defs: "$defs", compiled: map[string]*jsonschema.Schema{},
	}
	if members, ok := document.(map[string]any); ok {
		if members["$defs"] == nil {
			s.defs = "definitions"
		}
		for _, f := range change {
			f(members)
		}
	}
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource(schemaURL, document); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// HasSchemas reports whether the schema of a revision exists.
func HasSchemas(t testing.TB, revision string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(schemaDir(t), revision, "schema.json"))
	return err == nil
}

func schemaDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("MCP_SCHEMA_DIR")
	if dir == "" {
		dir = filepath.Join("..", "shared", "schemas")
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(moduleRoot(t), dir)
}

// moduleRoot returns the nearest folder above the test's that has a go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// Check validates the value against the definition with that name, as "ListToolsResult". It returns
// the violations, or nil.
func (s *Schemas) Check(t testing.TB, definition string, value jsontext.Value) error {
	t.Helper()
	schema := s.compiled[definition]
	if schema == nil {
		var err error
		if schema, err = s.compiler.Compile(schemaURL + "#/" + s.defs + "/" + definition); err != nil {
			t.Fatal(err)
		}
		s.compiled[definition] = schema
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	return schema.Validate(decoded)
}
