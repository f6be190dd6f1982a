package mcptest

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Both forms of the published documents are found, and a check can fail.
func TestSchemasOfEveryRevision(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
		"2026-07-28"} {
		schemas := LoadSchemas(t, revision)
		for value, valid := range map[string]bool{
			`{"name":"a","version":"1"}`: true,
			`{"name":"a"}`:               false,
			`[]`:                         false,
		} {
			if err := schemas.Check(t, "Implementation", jsontext.Value(value)); (err == nil) != valid {
				t.Errorf("%s: %s: %v", revision, value, err)
			}
		}
	}
}
