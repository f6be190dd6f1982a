package interop

import (
	"encoding/json"
	"testing"

	"mcpd/internal/mcptest"
)

// seen is the report of a script.
type seen struct {
	Server  struct{ Name string }
	Tools   []string
	Results []struct {
		Content []struct{ Type, Text, URI string }
		IsError bool
	}
	Prompts, Resources []string
	Instructions       string
	Progress           int
	Revision           string
}

// script runs a generation of the TypeScript SDK against an endpoint.
func script(t *testing.T, generation, url, key string, calls ...map[string]any) seen {
	t.Helper()
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	out, err := mcptest.Script(t, 3*patience, "testdata/drive.mjs")(nil, generation, url, key,
		string(list))
	if err != nil {
		t.Fatal(err)
	}
	var s seen
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("TypeScript %s: %v in %s", generation, err, out)
	}
	return s
}

// text returns the first text of a result.
func (s seen) text(i int) string {
	if i >= len(s.Results) || len(s.Results[i].Content) == 0 {
		return ""
	}
	return s.Results[i].Content[0].Text
}
