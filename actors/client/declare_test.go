package client

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// A server is told what its client declared and the host can pass on, and nothing else.
func TestOnlyWhatIsCarriedIsDeclared(t *testing.T) {
	for _, c := range []struct{ declared, want string }{
		{`{}`, `{}`},
		{`{"roots":{"listChanged":true},"sampling":{},"tasks":{"list":{}},"experimental":{"x":{}}}`,
			`{"roots":{"listChanged":true},"sampling":{},"experimental":{"x":{}}}`},
		{`{"elicitation":{}}`, `{"elicitation":{}}`},
		{`{"elicitation":{"url":{},"later":{}}}`, `{"elicitation":{"url":{}}}`},
		{`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]},"other":{}}}`,
			`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]},"other":{}}}`},
	} {
		declared, err := protocol.ParseClientCapabilities(jsontext.Value(c.declared))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(PassableCapabilities(declared).Raw()); got != c.want {
			t.Errorf("%s: got %s, want %s", c.declared, got, c.want)
		}
		if PassableCapabilities(declared).Fingerprint() != declared.Fingerprint() {
			t.Errorf("%s: the fingerprint changed", c.declared)
		}
	}
}
