package rewrite_test

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/rewrite"
)

// A server of 2026-07-28 answers a client of 2025-03-26, which lacks links and structured values.
func Example() {
	answer := jsontext.Value(
		`{"resultType":"complete","content":[{"type":"resource_link","uri":"file:///a","name":"a"}],"structuredContent":[1]}`,
	)
	told, err := rewrite.Result("tools/call", protocol.V20260728, protocol.V20250326, answer,
		rewrite.Options{})
	fmt.Println(string(told), err)
	_, err = rewrite.Result("tools/call", protocol.V20260728, protocol.V20250326,
		jsontext.Value(`{"resultType":"input_required"}`), rewrite.Options{})
	fmt.Println(err)
	// Output:
	// {"content":[{"type":"text","text":"a: file:///a"},{"type":"text","text":"[1]"}]} <nil>
	// tools/call cannot be told to 2025-03-26: its resultType is "input_required"
}
