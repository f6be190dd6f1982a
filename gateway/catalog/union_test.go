package catalog

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

func TestCapabilitiesOfMany(t *testing.T) {
	parse := func(raw string) protocol.ServerCapabilities {
		c, err := protocol.ParseServerCapabilities(jsontext.Value(raw))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	known := []protocol.ServerCapabilities{
		parse(`{"tools":{}}`), parse(`{"resources":{"subscribe":true},"logging":{}}`),
	}
	c := Capabilities(known, true)
	for path, want := range map[string]bool{"tools.listChanged": true, "resources.subscribe": true,
		"resources.listChanged": true, "logging": true, "prompts": false} {
		if got := c.Has(path); got != want {
			t.Errorf("all known: %s declared %v, want %v", path, got, want)
		}
	}
	if c = Capabilities(known, false); !c.Has("prompts.listChanged") || !c.Has("completions") ||
		!c.Has("resources.subscribe") {
		t.Errorf("some unknown: %s", c.Raw())
	}
	if c = Capabilities(nil, true); string(c.Raw()) != "{}" {
		t.Errorf("nothing: %s", c.Raw())
	}
}

// The capabilities of one server are bounded in the union, because clients of the other servers
// read them too.
func TestLargeCapabilitiesInThoseOfAll(t *testing.T) {
	parse := func(raw string) protocol.ServerCapabilities {
		c, err := protocol.ParseServerCapabilities(jsontext.Value(raw))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	large := parse(`{"tools":{"x":"` + strings.Repeat("x", MaxCapabilities) + `"},"extensions":{"` +
		protocol.ExtensionUI + `":{}},"resources":{"subscribe":true}}`)
	c := Capabilities([]protocol.ServerCapabilities{large, parse(`{"prompts":{"y":1}}`)}, true)
	for _, path := range []string{"tools", "resources.subscribe", "extensions." + protocol.ExtensionUI,
		"prompts.y"} {
		if !c.Has(path) {
			t.Errorf("%s is lost", path)
		}
	}
	if n := len(c.Raw()); n > 1024 {
		t.Errorf("all declare %d bytes", n)
	}
}

// Capabilities that violate the schemas are repaired. Otherwise official clients would refuse all
// servers because of one.
func TestOddCapabilitiesInThoseOfAll(t *testing.T) {
	odd, err := protocol.ParseServerCapabilities(
		jsontext.Value(
			`{"tools":true,"prompts":false,"resources":{"subscribe":{},"listChanged":{},"x":1},"logging":true,"completions":true,"extensions":{"` + protocol.ExtensionUI + `":true}}`,
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true,"x":1},"logging":{},"completions":{},"extensions":{"` + protocol.ExtensionUI + `":{}}}`
	if got := Capabilities([]protocol.ServerCapabilities{odd}, true); string(got.Raw()) != want {
		t.Errorf("got  %s\nwant %s", got.Raw(), want)
	}
}

func TestInstructionsStandUnderTheirServer(t *testing.T) {
	got := Instructions([]Instruction{{"files", " Read first.\n"}, {"empty", " "}, {"search", "Ask."}})
	if want := "# files\n\nRead first.\n\n# search\n\nAsk."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = Instructions([]Instruction{{"a", strings.Repeat("é", MaxInstructions)}})
	if want := "# a\n\n" + strings.Repeat("é", MaxInstructions/2-2) + "…"; got != want {
		t.Errorf("long instructions are %d bytes", len(got))
	}
	got = Instructions([]Instruction{{"a", "x" + strings.Repeat("é", MaxInstructions)}})
	if !strings.HasSuffix(got, "é…") {
		t.Errorf("a cut through a letter ends in %q", got[len(got)-8:])
	}
}
