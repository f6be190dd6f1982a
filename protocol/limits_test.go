package protocol_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// S4-127, C14: the thresholds are 80, 90 and 96 per cent of the largest id.
func TestRequestIDThresholds(t *testing.T) {
	for percent, got := range map[int64]int64{
		100: protocol.MaxRequestID, 80: protocol.WarnRequestID, 90: protocol.ReplaceRequestID,
		96: protocol.ReservedRequestID,
	} {
		want := new(big.Int).Mul(big.NewInt(1<<53-1), big.NewInt(percent))
		if want.Div(want, big.NewInt(100)); want.Int64() != got {
			t.Errorf("%d %%: got %d, want %d", percent, got, want)
		}
	}
}

// A message from a server may be larger than one from a client.
func TestMessageLimits(t *testing.T) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"` +
		strings.Repeat("x", protocol.MaxRequestBody) + `"}}`)
	if _, err := jsonrpc.Decode(body, protocol.RequestLimits()); err == nil {
		t.Error("a client may send more than 4 MiB")
	}
	if _, err := jsonrpc.Decode(body, protocol.UpstreamLimits()); err != nil {
		t.Error(err)
	}
}

// The bounds on nesting and on the members of one object are far above what real servers send.
func TestAnswerLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":0`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for result, fits := range map[string]bool{
		nested(protocol.MaxUpstreamDepth - 1): true, nested(protocol.MaxUpstreamDepth): false,
		members(protocol.MaxUpstreamMembers): true, members(protocol.MaxUpstreamMembers + 1): false,
	} {
		text := []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
		if _, err := jsonrpc.DecodeLenient(text, protocol.UpstreamLimits()); (err == nil) != fits {
			t.Errorf("%.20s of %d bytes: %v", result, len(result), err)
		}
	}
}

// The size of a server's message also bounds its numbers and its tokens. Ids of server requests and
// batches have bounds of their own.
func TestAnswersAreBoundedByTheirBytes(t *testing.T) {
	result := func(value string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"v":` + value + `}}`
	}
	asks := func(n int) string {
		return `{"jsonrpc":"2.0","id":"` + strings.Repeat("q", n) + `","method":"ping"}`
	}
	for _, c := range []struct {
		name, text string
		fits       bool
	}{
		{"a long number", result(strings.Repeat("9", 100_000)), true},
		{"many values", result("[" + strings.Repeat("0,", 5<<20) + "0]"), true},
		{"a long id", asks(protocol.MaxQuestionID), true},
		{"one that is too long", asks(protocol.MaxQuestionID + 1), false},
	} {
		if _, err := jsonrpc.DecodeLenient([]byte(c.text),
			protocol.UpstreamLimits()); (err == nil) != c.fits {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for n, fits := range map[int]bool{52: true, protocol.MaxUpstreamBatch: true,
		protocol.MaxUpstreamBatch + 1: false} {
		text := "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"n"},`, n-1) + result("0") + "]"
		messages, _, err := jsonrpc.DecodeBatchLenient([]byte(text), protocol.UpstreamLimits())
		if (err == nil && len(messages) == n) != fits {
			t.Errorf("%d messages: %d, %v", n, len(messages), err)
		}
	}
}

func TestHandshakeRefusesBadParams(t *testing.T) {
	_, err := protocol.Negotiation{}.Handshake([]byte(`[]`), protocol.ServerCapabilities{})
	condition(t, err, protocol.ConditionInvalidParams)
}
