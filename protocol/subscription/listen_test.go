package subscription

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Every message of a subscription carries the subscription's id, in the client's spelling.
func TestMessagesOfASubscription(t *testing.T) {
	id, err := jsonrpc.ParseID(jsontext.Value(`"l-1"`))
	if err != nil {
		t.Fatal(err)
	}
	ack := Filter{Tools: true}.Acknowledged(id)
	if back, err := ParseFilter(ack.Params); err != nil || !back.Tools {
		t.Errorf("acknowledged: %+v, %v", back, err)
	}
	for _, tt := range []struct{ got, want string }{
		{
			string(ack.Params),
			`{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"l-1"}}`,
		},
		{string(Tag(nil, id)), `{"_meta":{"io.modelcontextprotocol/subscriptionId":"l-1"}}`},
		{string(Tag(jsontext.Value(`{"uri":"x","_meta":{"k":1}}`), id)),
			`{"uri":"x","_meta":{"k":1,"io.modelcontextprotocol/subscriptionId":"l-1"}}`},
		{string(Tag(jsontext.Value(`{"_meta":7,"uri":"x"}`), jsonrpc.IntID(3))),
			`{"uri":"x","_meta":{"io.modelcontextprotocol/subscriptionId":3}}`},
		{string(Ended(id, protocol.Implementation{Name: "mcpd", Version: "1"})),
			`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"l-1",` +
				`"io.modelcontextprotocol/serverInfo":{"name":"mcpd","version":"1"}}}`},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}
