package mcptest

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// A script with every step, for a real client.
func TestPeerPlaysAScript(t *testing.T) {
	peer, up := NewPeer(t)
	connected := make(chan struct{})
	controls := make(chan any, 1)
	var session *mcp.ClientSession
	go func() {
		defer close(connected)
		session = ConnectOver(t, up, "2025-11-25", serverOptions(), func(in transport.Inbound) {
			controls <- in.Control
		})
	}()
	peer.Handshake(`{"tools":{}}`)
	<-connected

	answered := make(chan string, 1)
	go func() {
		text, err := call(t, session, "anything", nil)
		if err != nil {
			text = err.Error()
		}
		answered <- text
	}()
	request := peer.Expect("tools/call")
	peer.Notify(request.ID, "notifications/message", `{"level":"info","data":"working"}`)
	question := jsonrpc.StringID("q")
	peer.Ask(request.ID, question, "sampling/createMessage",
		`{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`)
	if m := peer.ExpectAnswer(question); m.Kind() != jsonrpc.KindResult {
		t.Errorf("answer %s", m.Append(nil))
	}
	peer.Send(transport.Inbound{
		RequestID: request.ID, Control: transport.CloseStream{Retry: time.Second},
	})
	if got, want := <-controls, any(transport.CloseStream{Retry: time.Second}); got != want {
		t.Errorf("control = %v, want %v", got, want)
	}
	peer.Reply(request, `{"content":[{"type":"text","text":"done"}]}`)
	if got := <-answered; got != "done" {
		t.Errorf("answer = %q, want done", got)
	}
	_ = session.Close()
	peer.ExpectClosed()
}

func TestPeerServesAScript(t *testing.T) {
	peer, up := NewPeer(t)
	peer.Serve(map[string]func(jsontext.Value) string{"echo": func(params jsontext.Value) string {
		return string(params)
	}})
	for id, test := range []struct{ method, want string }{
		{"echo", `{"jsonrpc":"2.0","id":0,"result":{"a":1}}`},
		{"other", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the script has no other"}}`},
	} {
		if err := up.Send(t.Context(),
			jsonrpc.Request(jsonrpc.IntID(uint64(id)), test.method, jsontext.Value(`{"a":1}`))); err != nil {
			t.Fatal(err)
		}
		in, err := up.Recv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := string(in.Message.Append(nil)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.method, got, test.want)
		}
	}
}

// ExpectNothing waits for a silent peer, and the end of the connection carries the error of a peer
// that dies.
func TestPeerCanBeSilentAndDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer, up := NewPeer(t)
		peer.ExpectNothing(time.Hour)
		died := &transport.ExitError{Cause: "crashed", Code: 3}
		peer.Close(died)
		if _, err := up.Recv(t.Context()); !errors.Is(err, died) {
			t.Errorf("error = %v, want %v", err, died)
		}
	})
}
