package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// fakeHandler is a Handler whose exchanges end when the test says so, except those of method "now"
// and "initialize".
type fakeHandler struct {
	version protocol.Version
	push    Push
	slow    bool // the test answers initialize
	rude    bool // the first initialize is refused
	ended   int  // number of closed sessions

	mu     sync.Mutex // guards what follows
	open   map[string]transport.Sink
	seen   []string
	closed bool
	gone   bool

	cancelled []string // ids of stateless requests
	touched   int
}

func newFakeHandler(v protocol.Version) *fakeHandler {
	return &fakeHandler{version: v, open: map[string]transport.Sink{}}
}

func (d *fakeHandler) Open(ctx context.Context, m jsonrpc.Message, out transport.Sink,
	push Push) (Session, error) {
	d.push = push
	if d.slow {
		d.open[m.ID.Raw()] = out
		return d, nil
	}
	if d.rude {
		d.rude = false
		out.Finish(jsonrpc.Failure(m.ID, &jsonrpc.Error{Code: -32602, Message: "no"}))
		return d, nil
	}
	out.Finish(jsonrpc.Response(m.ID, nil))
	return d, nil
}

func (d *fakeHandler) Version() protocol.Version { return d.version }

func (d *fakeHandler) Deliver(ctx context.Context, m jsonrpc.Message, out transport.Sink) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, m.Method)
	switch {
	case out == nil:
		return errors.New("nobody hears this")
	case m.Method == "now":
		out.Finish(jsonrpc.Response(m.ID, nil))
	case m.Method == "refuse":
		return protocol.MethodNotFound("refuse")
	default:
		d.open[m.ID.Raw()] = out
	}
	return nil
}

func (d *fakeHandler) Close(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.ended++
	return nil
}

// finish ends an exchange.
func (d *fakeHandler) finish(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[id].Finish(jsonrpc.Response(jsonrpc.StringID("whatever the host calls it"),
		[]byte(`{"late":true}`)))
}

// client is the other side of a Serve, inside a synctest bubble.
type client struct {
	in     *io.PipeWriter
	out    *bufio.Reader
	stop   context.CancelFunc
	result chan error
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`

func serve(t *testing.T, d *fakeHandler) *client {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	c := &client{inW, bufio.NewReader(outR), cancel, make(chan error, 1)}
	go func() {
		err := Serve(ctx, inR, outW, d)
		outW.Close()
		c.result <- err
	}()
	t.Cleanup(func() {
		cancel()
		outR.Close()
		inW.Close()
	})
	return c
}

func (c *client) send(lines ...string) {
	for _, l := range lines {
		io.WriteString(c.in, l+"\n")
	}
}

func (c *client) read(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *client) expect(t *testing.T, want string) {
	t.Helper()
	if got := c.read(t); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func (c *client) expectError(t *testing.T, id string, code string) {
	t.Helper()
	got := c.read(t)
	if !strings.Contains(got, `"code":`+code) || id != "" && !strings.Contains(got, `"id":`+id+`,`) ||
		id == "" && strings.Contains(got, `"id"`) {
		t.Errorf("got %s, want error %s for id %q", got, code, id)
	}
}

// A client may write its first messages in one go. They are handled after the handshake.
func TestServeKeepsWhatComesBehindTheFirstRequest(t *testing.T) {
	for _, answered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newFakeHandler(protocol.V20251125)
			d.slow = true
			c := serve(t, d)
			go c.send(initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":1,"method":"now"}`)
			synctest.Wait()
			d.mu.Lock()
			if len(d.seen) != 0 {
				t.Errorf("%q were delivered before the handshake was over", d.seen)
			}
			d.mu.Unlock()
			if answered {
				d.finish("0")
				c.expect(t, `{"jsonrpc":"2.0","id":0,"result":{"late":true}}`)
			} else {
				time.Sleep(openTime)
			}
			c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		})
	}
}

// 2025-11-25 §basic/lifecycle: before initialize has succeeded a client may send no request but
// ping. The modern era has no initialize, and no ping either.
func TestServeAnswersAPingBeforeInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		d.rude = true
		c := serve(t, d)
		for _, first := range []string{`{"jsonrpc":"2.0","id":"p","method":"ping"}`, initialize} {
			c.send(first)
			c.read(t)
			c.send(`{"jsonrpc":"2.0","id":"q","method":"ping"}`)
			c.expect(t, `{"jsonrpc":"2.0","id":"q","result":{}}`)
			c.send(`{"jsonrpc":"2.0","id":"l","method":"now"}`)
			c.expectError(t, `"l"`, "-32005")
		}
		c.send(initialize)
		c.expect(t, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		c.send(`{"jsonrpc":"2.0","id":"l","method":"now"}`)
		c.expect(t, `{"jsonrpc":"2.0","id":"l","result":{}}`)
		if want := []string{"now"}; !slices.Equal(d.seen, want) || d.ended != 1 {
			t.Errorf("delivered %q, want %q; %d sessions closed, want the one that was refused", d.seen,
				want, d.ended)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, newFakeHandler(protocol.V20251125))
		c.send(alone("1", "now"), `{"jsonrpc":"2.0","id":"q","method":"ping"}`)
		c.read(t)
		c.expectError(t, `"q"`, "-32005")
	})
}

func TestServeAnswersInAnyOrderUnderTheClientsIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send("\xef\xbb\xbf"+initialize+"\r", "", `{"jsonrpc":"2.0","id":"a","method":"slow"}`,
			`{"jsonrpc":"2.0","id":1,"method":"now"}`)
		c.expect(t, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		sink := d.open[`"a"`]
		if err := sink.Send(jsonrpc.Notification("notifications/progress", nil)); err != nil {
			t.Fatal(err)
		}
		c.expect(t, `{"jsonrpc":"2.0","method":"notifications/progress"}`)
		if !d.finish(`"a"`) || d.finish(`"a"`) {
			t.Error("an exchange does not end exactly once")
		}
		c.expect(t, `{"jsonrpc":"2.0","id":"a","result":{"late":true}}`)
		if err := sink.Send(jsonrpc.Notification("n", nil)); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("send after the end: got %v, want %v", err, transport.ErrClosed)
		}
		if err := d.push(jsonrpc.Notification("pushed", nil)); err != nil {
			t.Fatal(err)
		}
		c.expect(t, `{"jsonrpc":"2.0","method":"pushed"}`)
		c.in.Close()
		if err := <-c.result; err != nil || !d.closed {
			t.Errorf("end: %v, session closed: %v", err, d.closed)
		}
	})
}

// On a shared channel the responses to two requests of one id could not be told apart (F46).
func TestServeRefusesAnIDThatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(initialize, `{"jsonrpc":"2.0","id":1,"method":"slow"}`,
			`{"jsonrpc":"2.0","id":1,"method":"slow"}`, `{"jsonrpc":"2.0","id":"1","method":"now"}`)
		c.read(t)
		if got := c.read(t); !strings.Contains(got, "request_id_conflict") {
			t.Errorf("got %s", got)
		}
		c.expect(t, `{"jsonrpc":"2.0","id":"1","result":{}}`)
		d.finish("1")
		c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{"late":true}}`)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"now"}`) // free again
		c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}

func TestServeRefusesWhatItCannotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) // no session yet: dropped
		c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
		c.expectError(t, "5", "-32005")
		c.send(initialize)
		c.read(t)
		c.send(`not json`)
		c.expectError(t, "", "-32700")
		c.send(`{"jsonrpc":"1.0","id":3,"method":"x"}`)
		c.expectError(t, "3", "-32600")
		c.send(`[{"jsonrpc":"2.0","id":3,"method":"now"}]`)
		c.expectError(t, "", "-32600")
		c.send(`{"jsonrpc":"2.0","id":4,"method":"refuse"}`)
		c.expectError(t, "4", "-32601")
		c.send(`{"jsonrpc":"2.0","id":9,"result":{},"error":{}}`) // a broken response is not answered
		c.send(`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", protocol.MaxRequestBody) + `"}`)
		c.expectError(t, "1", "-32012")
		c.send(`{"jsonrpc":"2.0","id":6,"method":"now"}`)
		c.expect(t, `{"jsonrpc":"2.0","id":6,"result":{}}`)
		if want := []string{"refuse", "now"}; !slices.Equal(d.seen, want) {
			t.Errorf("delivered %q, want %q", d.seen, want)
		}
	})
}

// A refused request is answered with its id, wherever the id stands in the line. Without it the
// client would wait for its time-out.
func TestServeRefusesARequestWithItsID(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	long := strings.Repeat("x", protocol.MaxRequestBody)
	for _, c := range []struct{ name, line, want string }{
		{"lone surrogate", `{"method":"tools/call","params":{"text":"\ud83d"},"jsonrpc":"2.0","id":7}`,
			`7 -32700`},
		{"surrogate behind the id",
			`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"text":"\udc00"}}`, `"s" -32700`},
		{"bytes that are not UTF-8",
			"{\"method\":\"a\",\"params\":{\"text\":\"\xff\"},\"id\":8,\"jsonrpc\":\"2.0\"}", `8 -32700`},
		{"two members of a name", `{"method":"a","params":{"x":1,"x":2},"jsonrpc":"2.0","id":9}`,
			`9 -32700`},
		{"too deep", `{"method":"a","params":{"x":` + deep + `},"jsonrpc":"2.0","id":10}`, `10 -32600`},
		{"no revision of JSON-RPC", `{"method":"a","id":11}`, `11 -32600`},
		{"too long", `{"method":"a","params":{"x":"` + long + `"},"jsonrpc":"2.0","id":12}`, `12 -32012`},
		{"too long, the id first", `{"jsonrpc":"2.0","id":13,"method":"a","params":{"x":"` + long + `"}}`,
			`13 -32012`},
		{"no JSON", `{"method":"a",`, `null -32700`},
		{"an answer", `{"result":{"text":"\ud83d"},"jsonrpc":"2.0","id":14}`, ``},
		{
			"an array",
			`[{"method":"a","params":{"x":"\ud83d"},"jsonrpc":"2.0","id":15},{"jsonrpc":"2.0","id":16,"method":"now"}]`, `15 -32700, 16 -32700`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, newFakeHandler(protocol.V20250326))
				s.send(initialize)
				s.read(t)
				s.send(c.line, `{"jsonrpc":"2.0","id":"last","method":"now"}`)
				var got []string
				for line := s.read(t); !strings.Contains(line, `"last"`); line = s.read(t) {
					messages, _, err := jsonrpc.DecodeBatch([]byte(line), jsonrpc.Limits{})
					if err != nil {
						t.Fatal(err)
					}
					for _, m := range messages {
						id := m.ID.Raw()
						if m.ID.IsZero() {
							id = "null"
						}
						got = append(got, fmt.Sprintf("%s %d", id, m.Error.Code))
					}
				}
				if got := strings.Join(got, ", "); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// Serve notices at once that a client leaves while its first request waits, whatever it has sent
// after that request.
func TestServeNoticesThatTheClientLeavesWhileItOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(0)
		d.slow = true
		c := serve(t, d)
		c.send(initialize, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":1,"method":"now"}`)
		c.in.Close()
		synctest.Wait()
		d.mu.Lock()
		gone, seen := d.gone, len(d.seen)
		d.mu.Unlock()
		if !gone || seen != 0 {
			t.Errorf("noticed: %t, delivered meanwhile: %d", gone, seen)
		}
		d.finish("0")
		c.read(t)
		c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}

// 2025-03-26 §basic: receivers must take arrays. The responses come as one array when the last is
// there.
func TestServeAnswersABatchAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20250326)
		c := serve(t, d)
		c.send(initialize)
		c.read(t)
		c.send(`[{"jsonrpc":"2.0","id":1,"method":"slow"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2},{"jsonrpc":"2.0","id":3,"method":"now"},{"jsonrpc":"2.0","id":1,"method":"now"}]`)
		synctest.Wait()
		d.finish("1")
		got := c.read(t)
		messages, batch, err := jsonrpc.DecodeBatch([]byte(got), jsonrpc.Limits{})
		if err != nil || !batch || len(messages) != 4 {
			t.Fatalf("got %s", got)
		}
		var order []string
		for _, m := range messages {
			order = append(order, m.ID.Raw()+" "+m.Kind().String())
		}
		if want := []string{"2 failure", "3 result", "1 failure",
			"1 result"}; !slices.Equal(order, want) {
			t.Errorf("got %q, want %q", order, want)
		}
		c.send(`[{"jsonrpc":"2.0","method":"n"}]`, `[]`)
		c.expectError(t, "", "-32600")
		c.send("[" + strings.Repeat(`{"jsonrpc":"2.0","method":"n"},`, 50) +
			`{"jsonrpc":"2.0","method":"n"}]`)
		c.expectError(t, "", "-32600")
		c.send(`[[{"jsonrpc":"2.0","id":1,"method":"now"}],{"jsonrpc":"2.0","id":2,"method":"now"}]`)
		if got := c.read(t); !strings.HasPrefix(got, `[{"jsonrpc":"2.0","error":{"code":-32600`) ||
			!strings.HasSuffix(got, `{"jsonrpc":"2.0","id":2,"result":{}}]`) {
			t.Errorf("an array in an array is answered %s", got)
		}
	})
}

func TestServeWritesAwaitedAnswersAfterTheEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(initialize, `{"jsonrpc":"2.0","id":1,"method":"slow"}`,
			`{"jsonrpc":"2.0","id":2,"method":"slow"}`)
		c.read(t)
		c.in.Close()
		time.Sleep(answerTime / 2)
		d.finish("1")
		c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{"late":true}}`)
		began := time.Now()
		if err := <-c.result; err != nil {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != answerTime/2 {
			t.Errorf("the answer that never came was waited for %s more, want %s", took, answerTime/2)
		}
	})
}

func TestServeCutsAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(initialize)
		synctest.Wait()
		began := time.Now()
		for i := 0; ; i++ {
			if err := d.push(jsonrpc.Notification("n", nil)); errors.Is(err, transport.ErrSlowConsumer) {
				if i < maxUnread {
					t.Errorf("refused after %d messages, want %d", i, maxUnread)
				}
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if err := <-c.result; !errors.Is(err, transport.ErrSlowConsumer) {
			t.Errorf("got %v, want %v", err, transport.ErrSlowConsumer)
		}
		if took := time.Since(began); took != stallTime {
			t.Errorf("cut after %s, want %s", took, stallTime)
		}
	})
}

func TestServeBoundsTheExchangesOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(initialize)
		c.read(t)
		for id := 1; id <= protocol.MaxPendingPerSession+1; id++ {
			c.send(string(jsonrpc.Request(jsonrpc.IntID(uint64(id)), "slow", nil).Append(nil)))
		}
		if got := c.read(t); !strings.Contains(got, `"id":257,`) || !strings.Contains(got, "overloaded") {
			t.Errorf("got %s", got)
		}
	})
}

// A client on a pipe has no address: its requests name the transport instead.
func TestRequestsSayThatTheyCameOverStdio(t *testing.T) {
	var out transport.Sink = &exchange{}
	if from, ok := out.(transport.Addressed); !ok || from.From() != "stdio" {
		t.Errorf("a request comes from %v", out)
	}
}
