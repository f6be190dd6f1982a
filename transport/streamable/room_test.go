package streamable_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// An answer that is large waits for room, however it comes, and has it until it is handed over; a small one passes.
func TestLargeAnswersWaitForRoom(t *testing.T) {
	large := jsontext.Value(`"` + strings.Repeat("x", 3*transport.Large) + `"`)
	for name, answer := range map[string]func(w http.ResponseWriter, m jsonrpc.Message){
		"JSON":   answerJSON,
		"stream": func(w http.ResponseWriter, m jsonrpc.Message) { stream(w, data(m)) },
		"lines of a stream": func(w http.ResponseWriter, m jsonrpc.Message) {
			stream(w, "data: "+strings.ReplaceAll(string(m.Append(nil)), `"result":`, "\"result\":\ndata: "+strings.Repeat(strings.Repeat(" ", transport.Large/2)+"\ndata: ", 4)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts["large"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
					answer(w, jsonrpc.Response(m.ID, large))
				}
				p.posts["small"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
					answerJSON(w, jsonrpc.Response(m.ID, jsontext.Value("1")))
				}
				room := transport.NewRoom(10)
				room.Add(1)
				c := newTestClient(t, streamable.ClientOptions{URL: "http://peer/mcp", Transport: memory{p.ServeHTTP}, Room: room})
				shake(t, c, protocol.V20251125)
				send(t, c, call(1, "large"))
				synctest.Wait()
				send(t, c, call(2, "small"))
				expect(t, c, `2: {"jsonrpc":"2.0","id":2,"result":1}`)
				room.Add(-1)
				if in := recv(t, c); in.Err != nil || len(in.Message.Result) < len(large) {
					t.Errorf("got %.100s", show(in))
				}
				synctest.Wait()
				if now, most := room.Used(); now != 0 || most < len(large) {
					t.Errorf("%d bytes of room are nobody's, and at most %d were taken", now, most)
				}
			})
		})
	}
}
