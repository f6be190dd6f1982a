package streamable

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// marked returns a long string of one letter.
func marked(mark byte, n int) jsontext.Value {
	return jsontext.Value(`"` + strings.Repeat(string(mark), n) + `"`)
}

// isMarked reports whether v is such a string, of this letter only.
func isMarked(v jsontext.Value, mark byte, n int) bool {
	return len(v) == n+2 && bytes.Count(v, []byte{mark}) == n
}

// Buffers are reused, but a message is never overwritten while it is in use. Many large messages of
// several tenants are sent concurrently, over HTTP in both directions, in answers and in streams,
// with requests that break off in between. Each keeps its own bytes, also later.
func TestMessagesAreNobodyElses(t *testing.T) {
	const most, calls = 512 << 10, 40
	host := newTestHost(t)
	host.scripts["echo"] = func(_ *testSession, m jsonrpc.Message, out transport.Sink) {
		p, _ := jsonedit.Get(m.Params, "p")
		was := bytes.Clone(p)
		time.Sleep(time.Duration(len(p)%7) * time.Millisecond) // others are read in the meantime
		if !bytes.Equal(p, was) {
			t.Error("the params of a request have changed")
		}
		if len(p)%2 == 0 {
			_ = out.Send(jsonrpc.Notification("notifications/message", m.Params)) // the answer is a stream
		}
		out.Finish(jsonrpc.Response(m.ID, jsontext.Value(`{"p":`+string(p)+`}`)))
	}
	s := serve(t, host, Options{})
	var all sync.WaitGroup
	for who := range 6 {
		mark, random := byte('a'+who), rand.New(rand.NewPCG(1, uint64(who)))
		all.Go(func() {
			c, err := NewClient(ClientOptions{URL: s.URL + "/t/acme/mcp"})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close(context.Background())
			if err := talk(t, c, mark, calls, func() int { return 1 + random.IntN(most) }); err != nil {
				t.Errorf("%c: %v", mark, err)
			}
		})
		all.Go(func() { // breaks off in the middle of requests
			for range calls {
				r, w := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				req := s.request(ctx, http.MethodPost, "")
				req.Body, req.ContentLength = r, -1
				time.AfterFunc(5*time.Millisecond, func() {
					cancel()
					w.CloseWithError(ctx.Err()) // Do waits for it
				})
				// owner: the pipe, which is closed above
				go w.Write(bytes.Repeat([]byte{'Z'}, 2*transport.Large+17))
				if resp, err := s.Client().Do(req); err == nil {
					resp.Body.Close()
				}
				r.Close()
			}
		})
	}
	all.Wait()
}

// talk makes calls, cancels some of them, stores the answers, and checks all of them at the end.
func talk(t *testing.T, c *Client, mark byte, calls int, size func() int) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Send(ctx, jsonrpc.Request(jsonrpc.IntID(0), "initialize",
		jsontext.Value(`{"protocolVersion":"2025-11-25","capabilities":{}}`))); err != nil {
		return err
	}
	if in, err := c.Recv(ctx); err != nil || in.Err != nil {
		return fmt.Errorf("initialize: %v, %v", in.Err, err)
	}
	c.Negotiated(protocol.V20251125)
	if err := c.Send(ctx, jsonrpc.Notification("notifications/initialized", nil)); err != nil {
		return err
	}
	sizes, kept := map[jsonrpc.ID]int{}, map[jsonrpc.ID]jsontext.Value{}
	for i := 1; i <= calls; {
		for range 4 {
			id, n := jsonrpc.IntID(uint64(i)), size()
			if err := c.Send(ctx, jsonrpc.Request(id, "echo",
				jsontext.Value(`{"p":`+string(marked(mark, n))+`}`))); err != nil {
				return err
			}
			if i++; i%5 == 0 {
				time.Sleep(time.Duration(n%5) * time.Millisecond)
				params, _ := json.Marshal(map[string]int{"requestId": i - 1})
				if err := c.Send(ctx, jsonrpc.Notification("notifications/cancelled", params)); err != nil {
					return err
				}
				continue
			}
			sizes[id] = n
		}
		for len(kept) < len(sizes) {
			in, err := c.Recv(ctx)
			if err != nil {
				return err
			}
			p, _ := jsonedit.Get(in.Message.Result, "p")
			n, asked := sizes[in.Message.ID]
			switch {
			case in.Message.Method != "":
				if p, _ = jsonedit.Get(in.Message.Params, "p"); !isMarked(p, mark, len(p)-2) {
					return fmt.Errorf("a notification has another's bytes")
				}
			case !asked && in.Err == nil: // cancelled
			case in.Err != nil && sizes[in.RequestID] > 0:
				return in.Err
			case asked && !isMarked(p, mark, n):
				return fmt.Errorf("answer %v of %d bytes, want %d of its own", in.Message.ID, len(p), n)
			case asked:
				kept[in.Message.ID] = p
			}
		}
	}
	for id, p := range kept {
		if !isMarked(p, mark, sizes[id]) {
			return fmt.Errorf("answer %v has changed since", id)
		}
	}
	return nil
}
