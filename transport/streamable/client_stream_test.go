package streamable_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// Messages on the stream of a request are related to it. Other events are reported and skipped.
func TestClientReadsTheStreamOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["x"] = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			stream(w, ": comment", "id: 1\ndata: ", "event: prime\ndata: {}",
				data(jsonrpc.Notification("n", nil)), "data: garbage",
				data(jsonrpc.Request(jsonrpc.StringID("q"), "sampling/createMessage", nil)),
				data(jsonrpc.Response(jsonrpc.IntID(99), nil)),
				data(jsonrpc.Response(m.ID, nil)), data(jsonrpc.Notification("after the answer", nil)))
			<-r.Context().Done() // it leaves the stream open
		}
		c := inMemory(t, p)
		began := time.Now()
		send(t, c, call(1, "x"))
		expect(t, c, `1: {"jsonrpc":"2.0","method":"n"}`)
		if u, ok := recv(t, c).Control.(streamable.Unreadable); !ok || u.Err == nil {
			t.Errorf("garbage was not told")
		}
		expect(t, c, `1: {"jsonrpc":"2.0","id":"q","method":"sampling/createMessage"}`,
			`1: {"jsonrpc":"2.0","id":99,"result":{}}`,
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		if time.Since(began) != 0 {
			t.Errorf("the answer took %s", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if in, err := c.Recv(ctx); err == nil {
			t.Errorf("after the answer: %s", show(in))
		}
	})
}

// 2025-11-25 §basic/transports: a server may end a stream after an event with an id. The client
// waits for the requested delay and resumes with the id of the last event, by GET. Recv reports
// each such end, so that the host can do the same with its client.
func TestClientPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		began := time.Now()
		p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
			stream(w, "id: 1/0\nretry: 4000\ndata:")
		}
		var asked []string
		p.get = func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Header.Get("Last-Event-ID"))
			switch after := time.Since(began); len(asked) {
			case 1:
				if after < 4*time.Second || after > 5*time.Second {
					t.Errorf("came back after %s, told to wait 4 s", after)
				}
				stream(w, "id: 1/1\n"+data(jsonrpc.Notification("n", nil)))
			case 2: // nothing new, no id of its own
				stream(w, ": nothing yet")
			case 3:
				w.WriteHeader(http.StatusBadGateway)
			default:
				stream(w, data(jsonrpc.Response(jsonrpc.IntID(1), nil)))
			}
		}
		c := inMemory(t, p)
		send(t, c, call(1, "x"))
		hungUp := "transport.CloseStream{Retry:4s}"
		expect(t, c, hungUp, `1: {"jsonrpc":"2.0","method":"n"}`, hungUp, hungUp,
			`1: {"jsonrpc":"2.0","id":1,"result":{}}`)
		if !slices.Equal(asked, []string{"1/0", "1/1", "1/1", "1/1"}) {
			t.Errorf("last event ids: got %q", asked)
		}
		if got := p.saw(); slices.Contains(got[1:], "POST x") {
			t.Errorf("the request was repeated: %q", got)
		}
	})
}

func TestClientGivesUpResuming(t *testing.T) {
	for _, tt := range []struct {
		name   string
		get    http.HandlerFunc
		asked  int
		longer time.Duration
	}{
		{"refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, 1, time.Second},
		{"not kept any more", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
		}, 1, time.Second},
		{"no stream", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "hello")
		}, 1, time.Second},
		{"down", func(w http.ResponseWriter, _ *http.Request) {
			w.(*memoryWriter).dropped = true
		}, 5, streamable.ResumeTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
					stream(w, "id: 1\ndata:")
				}
				asked := 0
				p.get = func(w http.ResponseWriter, r *http.Request) { asked++; tt.get(w, r) }
				c := inMemory(t, p)
				shake(t, c, protocol.V20251125)
				began := time.Now()
				send(t, c, call(1, "x"))
				expect(t, c, "transport.CloseStream{Retry:0s}")
				in := recv(t, c)
				if in.Err == nil || !in.Written || errors.Is(in.Err, streamable.ErrSessionLost) {
					t.Errorf("got %s", show(in))
				}
				if took := time.Since(began); asked != tt.asked || took < tt.longer || took > tt.longer*5/4 {
					t.Errorf("asked %d times in %s, want %d in about %s", asked, took, tt.asked, tt.longer)
				}
				if err := c.Send(t.Context(), call(2, "x")); err != nil {
					t.Errorf("the connection is over: %v", err) // the next POST shows if the session is lost
				}
			})
		})
	}
}

// A client whose owner does not call Recv stops reading. No message is lost.
func TestClientReadsNoFasterThanItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		written := 0
		p.posts["x"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			stream(w)
			for range 2000 {
				emit(w, data(jsonrpc.Notification("n", nil)))
				written++
			}
			emit(w, data(jsonrpc.Response(m.ID, nil)))
		}
		c := inMemory(t, p)
		send(t, c, call(1, "x"))
		synctest.Wait()
		if written > 400 {
			t.Errorf("%d messages were read though nobody receives", written)
		}
		for i := range 2000 {
			if in := recv(t, c); in.Message.Method != "n" {
				t.Fatalf("message %d: got %s", i, show(in))
			}
		}
		expect(t, c, `1: {"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}
