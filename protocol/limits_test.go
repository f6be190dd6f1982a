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
		100: protocol.MaxRequestID, 80: protocol.WarnRequestID, 90: protocol.ReplaceRequestID, 96: protocol.ReservedRequestID,
	} {
		want := new(big.Int).Mul(big.NewInt(1<<53-1), big.NewInt(percent))
		if want.Div(want, big.NewInt(100)); want.Int64() != got {
			t.Errorf("%d %%: got %d, want %d", percent, got, want)
		}
	}
}

// A server may send more than a client.
func TestMessageLimits(t *testing.T) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("x", protocol.MaxRequestBody) + `"}}`)
	if _, err := jsonrpc.Decode(body, protocol.RequestLimits()); err == nil {
		t.Error("a client may send more than 4 MiB")
	}
	if _, err := jsonrpc.Decode(body, protocol.UpstreamLimits()); err != nil {
		t.Error(err)
	}
}

// What servers nest, and how many members an object of theirs has, is bounded far beyond what any says.
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
		nested(protocol.MaxAnswerDepth - 1): true, nested(protocol.MaxAnswerDepth): false,
		members(protocol.MaxAnswerMembers): true, members(protocol.MaxAnswerMembers + 1): false,
	} {
		text := []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
		if _, err := jsonrpc.DecodeLenient(text, protocol.UpstreamLimits()); (err == nil) != fits {
			t.Errorf("%.20s of %d bytes: %v", result, len(result), err)
		}
	}
}

func TestHandshakeRefusesBadParams(t *testing.T) {
	_, err := protocol.Negotiation{}.Handshake([]byte(`[]`), protocol.ServerCapabilities{})
	condition(t, err, protocol.ConditionInvalidParams)
}
