package mcptest

import (
	"context"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// ConnectOver opens a session of the SDK's client over an upstream connection of mcpd, such as a
// pipe, with the given revision. Messages of the transport itself (Control, and requests that
// failed in transport) are passed to control. Without control they end the session, since the SDK
// cannot express them.
func ConnectOver(t testing.TB, up transport.Upstream, revision string, o *mcp.ClientOptions,
	control func(transport.Inbound)) *mcp.ClientSession {
	t.Helper()
	return sessionOf(t, over{up, control}, o, &mcp.ClientSessionOptions{ProtocolVersion: revision})
}

// over adapts an upstream connection to the SDK's transport: it is already connected, and carries
// one message at a time.
type over struct {
	up      transport.Upstream
	control func(transport.Inbound)
}

// closeTime bounds the orderly end of a connection at the end of a test.
const closeTime = 5 * time.Second

func (o over) Connect(context.Context) (mcp.Connection, error) { return o, nil }

func (o over) Read(ctx context.Context) (sdk.Message, error) {
	for {
		in, err := o.up.Recv(ctx)
		if err != nil {
			return nil, err
		}
		if in.Message.Kind() == jsonrpc.KindInvalid {
			if o.control == nil {
				return nil, transport.ErrClosed
			}
			o.control(in)
			continue
		}
		return sdk.DecodeMessage(in.Message.Append(nil))
	}
}

func (o over) Write(ctx context.Context, m sdk.Message) error {
	text, err := sdk.EncodeMessage(m)
	if err != nil {
		return err
	}
	ours, err := jsonrpc.Decode(text, jsonrpc.Limits{})
	if err != nil {
		return err
	}
	return o.up.Send(ctx, ours)
}

func (o over) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return o.up.Close(ctx)
}

func (over) SessionID() string { return "" }
