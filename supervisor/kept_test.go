package supervisor

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/session"
	"mcpd/protocol"
)

// A peer keeps the fingerprint of its client's capabilities, by which it is found again, and the
// capabilities that the policy requires. It keeps nothing else.
func TestPeerKeepsWhatMatters(t *testing.T) {
	for declared, want := range map[string]string{
		`{}`: `{}`,
		`{"roots":{"listChanged":true},"experimental":{"x":{"a":1},"y":{}}}`: `{"roots":{"listChanged":true},"experimental":{"x":{"a":1},"y":{}}}`,
		`{"elicitation":{}}`:                                    `{"elicitation":{}}`,
		`{"elicitation":{"url":{}},"sampling":{}}`:              `{"elicitation":{"url":{}},"sampling":{}}`,
		`{"sampling":{"tools":{},"context":{},"more":{}}}`:      `{"sampling":{"tools":{},"context":{}}}`,
		`{"extensions":{"acme.org/x":{"n":[1]}},"tasks":{}}`:    `{"extensions":{"acme.org/x":{"n":[1]}}}`,
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`:   `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		`{"extensions":{"io.modelcontextprotocol/ui":{"m":1}}}`: `{"extensions":{"io.modelcontextprotocol/ui":{"m":1}}}`,
	} {
		c, err := protocol.ParseClientCapabilities(jsontext.Value(declared))
		if err != nil {
			t.Fatal(err)
		}
		got := keptCapabilities(c, []string{"experimental.x", "roots"})
		if string(got.Raw()) != want || got.Fingerprint() != c.Fingerprint() {
			t.Errorf("of %s is kept %s, want %s", declared, got.Raw(), want)
		}
	}
}

// A connection ends before the host forgets the set of capabilities that the server was told.
func TestSetsOutlastTheirConnections(t *testing.T) {
	if linger >= session.CapabilitySetLinger-session.CapabilitySetLinger/4 {
		t.Errorf("a connection stays for %v after its last session, a set for %v", linger,
			session.CapabilitySetLinger)
	}
}
