package protocol_test

import (
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

func TestHandshakeRefusesBadParams(t *testing.T) {
	_, err := protocol.Negotiation{}.Handshake([]byte(`[]`), protocol.ServerCapabilities{})
	condition(t, err, protocol.ConditionInvalidParams)
}
