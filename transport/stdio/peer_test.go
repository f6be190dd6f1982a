package stdio

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

func (d *fakeHandler) Gone() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
}

// Call serves a stateless request as Deliver serves one of the session, and records it as such.
func (d *fakeHandler) Call(ctx context.Context, m jsonrpc.Message,
	out transport.Sink) (Peer, error) {
	m.Method = "alone " + m.Method
	switch m.Method {
	case "alone now":
		out.Finish(jsonrpc.Response(m.ID, nil))
		return d, nil
	case "alone refuse":
		return nil, protocol.UnsupportedVersion("2099-01-01", protocol.Latest)
	}
	return d, d.Deliver(ctx, m, out)
}

func (d *fakeHandler) Cancel(out transport.Sink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, sink := range d.open {
		if sink == out {
			d.cancelled = append(d.cancelled, id)
		}
	}
}

func (d *fakeHandler) Touch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.touched++
}

// alone returns a stateless request.
func alone(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method +
		`","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

const confirmed = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`

// confirm sends the first message of a subscription.
func (d *fakeHandler) confirm(t *testing.T, c *client, id string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	sink := d.open[id]
	d.mu.Unlock()
	if err := sink.Send(jsonrpc.Notification("notifications/subscriptions/acknowledged",
		nil)); err != nil {
		t.Fatal(err)
	}
	c.expect(t, confirmed)
}

// 2026-07-28 §basic/versioning: a client that knows both eras may ask for the server's revisions
// first, and begin with the handshake then.
func TestServeServesBothErasAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(alone("1", "now"))
		c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		c.send(alone("2", "slow"), `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		c.expectError(t, "3", "-32005") // a stateless request has opened no session
		c.send(initialize, `{"jsonrpc":"2.0","id":4,"method":"slow"}`, alone("5", "initialize"),
			alone("4", "now"))
		c.expect(t, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		c.expectError(t, "4", "-32600") // both share the id space of the pipe
		synctest.Wait()
		for id, want := range map[string]string{"2": "alone slow", "4": "slow", "5": "alone initialize"} {
			if !strings.Contains(" "+strings.Join(d.seen, ",")+",", want) || !d.finish(id) {
				t.Errorf("%s was not served as %s: %q", id, want, d.seen)
			}
			c.expect(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"late":true}}`)
		}
	})
}

// A stateless request is refused with the error codes of its own revision, whatever the session's
// revision is.
func TestServeRefusesInTheWordsOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20250326)
		c := serve(t, d)
		c.send(initialize)
		c.read(t)
		c.send(alone("1", "refuse"))
		if got := c.read(t); !strings.Contains(got, `"code":-32022`) ||
			!strings.Contains(got, `"supported":["2026-07-28"]`) {
			t.Errorf("got %s", got)
		}
		c.send(`[` + alone("2", "now") + `,{"jsonrpc":"2.0","id":3,"method":"now"}]`)
		if got := c.read(t); !strings.Contains(got, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600`) ||
			!strings.Contains(got, `{"jsonrpc":"2.0","id":3,"result":{}}`) {
			t.Errorf("got %s", got)
		}
	})
}

// 2026-07-28 §basic/patterns/cancellation: a cancelled request gets no more messages. The session
// does not see the cancellation.
func TestServeCancelsByID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(protocol.V20251125)
		c := serve(t, d)
		c.send(initialize)
		c.read(t)
		c.send(alone("1", "slow"), alone("2", "subscriptions/listen"))
		d.confirm(t, c, "2")
		cancel := func(id string) string {
			return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
		}
		c.send(cancel("1"), cancel("2"), cancel("7"), cancel("{}"), alone("1", "now"))
		c.expect(t, `{"jsonrpc":"2.0","id":1,"result":{}}`) // nothing before it; the id is free again
		if d.finish("2") || strings.Join(d.cancelled, " ") != "1 2" {
			t.Errorf("cancelled %q", d.cancelled)
		}
		if got := strings.Join(d.seen,
			" "); got != "alone slow alone subscriptions/listen notifications/cancelled "+
			"notifications/cancelled" {
			t.Errorf("delivered %s", got)
		}
	})
}

// 2026-07-28 §basic/patterns/subscriptions and §basic/patterns/cancellation differ in how a
// server ends a subscription: it does both. An unconfirmed subscription is an ordinary request, and
// a lost one has no result.
func TestServeEndsSubscriptions(t *testing.T) {
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`
	for name, c := range map[string]struct {
		confirmed bool
		outcome   jsonrpc.Message
		want      []string
	}{
		"by the host": {true, jsonrpc.Response(jsonrpc.ID{}, []byte(`{"resultType":"complete"}`)),
			[]string{`{"jsonrpc":"2.0","id":"s","result":{"resultType":"complete"}}`, cancelled}},
		"lost": {true, jsonrpc.Failure(jsonrpc.ID{}, &jsonrpc.Error{Code: -32603, Message: "m"}),
			[]string{cancelled}},
		"refused": {false, jsonrpc.Failure(jsonrpc.ID{}, &jsonrpc.Error{Code: -32602, Message: "m"}),
			[]string{`{"jsonrpc":"2.0","id":"s","error":{"code":-32602,"message":"m"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFakeHandler(0)
				out := serve(t, d)
				out.send(alone(`"s"`, "subscriptions/listen"))
				synctest.Wait()
				if c.confirmed {
					d.confirm(t, out, `"s"`)
				}
				d.open[`"s"`].Finish(c.outcome)
				for _, want := range c.want {
					out.expect(t, want)
				}
				out.send(alone("1", "now"))
				out.expect(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			})
		})
	}
}

// The end of input ends the subscriptions at once. Stateless calls get the time that any call gets,
// and are cancelled then.
func TestServeEndsWhatStandsAloneWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(0)
		c := serve(t, d)
		c.send(alone("1", "subscriptions/listen"), alone("2", "slow"), alone("3", "slow"))
		d.confirm(t, c, "1")
		c.in.Close()
		c.expect(
			t,
			`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
		)
		c.expect(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		time.Sleep(answerTime / 2)
		d.finish("2")
		c.expect(t, `{"jsonrpc":"2.0","id":2,"result":{"late":true}}`)
		if err := <-c.result; err != nil {
			t.Errorf("got %v", err)
		}
		if got := strings.Join(d.cancelled, " "); got != "1 3" {
			t.Errorf("cancelled %s", got)
		}
	})
}

// A host evicts clients that are silent for long. A client that waits for a stateless request is
// kept.
func TestServeSaysThatAClientStillWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeHandler(0)
		c := serve(t, d)
		c.send(alone("1", "subscriptions/listen"))
		d.confirm(t, c, "1")
		time.Sleep(10*touchTime + time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.touched != 10 {
			t.Errorf("touched %d times, want 10", d.touched)
		}
	})
}
