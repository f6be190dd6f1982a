package interop

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
)

// declared are the capabilities of a client of the matrix.
const declared = `{"roots":{},"sampling":{},"elicitation":{}}`

// messageCarrier carries the messages of a client over one transport.
type messageCarrier interface {
	// exchange sends a request and passes every message that may belong to it to take. It returns when
	// take reports that a message was the last, or when the context ends. The end of the context
	// cancels the request in the way of the transport and the revision.
	exchange(ctx context.Context, m jsonrpc.Message, take func(jsonrpc.Message) bool) error
	// send sends a message that has no answer.
	send(m jsonrpc.Message) error
	// opened is called after the answer to initialize or server/discover. From then on keep gets the
	// messages that belong to no request.
	opened(keep func(jsonrpc.Message)) error
}

// matrixClient is a minimal client of one revision. It has a session, or sends stateless requests.
type matrixClient struct {
	t       *testing.T
	version protocol.Version
	carrier messageCarrier

	valid *validity // checks the messages that the client receives; nil checks nothing
	tasks bool      // requests declare the tasks extension, in revisions that have it

	mu       sync.Mutex // guards the fields below
	next     uint64
	recorded []jsonrpc.Message // messages without a request, and messages for listen
}

// newMatrixClient makes a client, and opens a session if its revision has sessions.
func newMatrixClient(t *testing.T, over messageCarrier, v protocol.Version,
	valid *validity) *matrixClient {
	t.Helper()
	c := &matrixClient{t: t, version: v, carrier: over, valid: valid}
	if v.Has(protocol.Initialize) {
		answer := c.exchange("initialize",
			`{"protocolVersion":"`+v.String()+`","capabilities":`+declared+
				`,"clientInfo":{"name":"compat","version":"1"}}`, nil)
		if got, _ := jsonedit.GetString(answer.Result, "protocolVersion"); got != v.String() {
			t.Fatalf("initialize: %s", answer.Append(nil))
		}
	} else if answer := c.exchange("server/discover", `{}`, nil); answer.Error != nil {
		t.Fatalf("server/discover: %s", answer.Append(nil))
	}
	if err := over.opened(c.record); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *matrixClient) record(m jsonrpc.Message) {
	c.valid.check(c.t, c.version, "", m)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded = append(c.recorded, m)
}

// clearRecorded discards the recorded messages.
func (c *matrixClient) clearRecorded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recorded = nil
}

// receives reports whether a notification of the method arrives within patience.
func (c *matrixClient) receives(method string) bool {
	return within(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.recorded {
			if m.Method == method {
				return true
			}
		}
		return false
	})
}

// within reports whether a condition becomes true within patience.
func within(is func() bool) bool {
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// message returns a request with a new id, and with the _meta that its revision requires.
func (c *matrixClient) message(method, params string) jsonrpc.Message {
	c.mu.Lock()
	c.next++
	id := jsonrpc.IntID(c.next)
	c.mu.Unlock()
	raw := jsontext.Value(params)
	if c.version.Has(protocol.PerRequestMeta) {
		caps, _ := protocol.ParseClientCapabilities(jsontext.Value(declared))
		if c.tasks {
			caps = caps.With("extensions."+protocol.ExtensionTasks, jsontext.Value("{}"))
		}
		raw = protocol.Meta{Version: c.version.String(), Capabilities: caps, LogLevel: "info"}.Set(raw)
	}
	return jsonrpc.Request(id, method, raw)
}

// exchange sends a request and returns its answer. Messages before the answer go to during.
func (c *matrixClient) exchange(method, params string,
	during func(jsonrpc.Message)) (answer jsonrpc.Message) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*patience)
	defer cancel()
	m := c.message(method, params)
	err := c.carrier.exchange(ctx, m, func(got jsonrpc.Message) bool {
		if got.Method == "" && got.ID == m.ID {
			c.valid.check(c.t, c.version, method, got)
			answer = got
			return true
		}
		c.valid.check(c.t, c.version, "", got)
		if during != nil {
			during(got)
		}
		return false
	})
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return answer
}

// answers are the answers of the client's user and model.
var answers = map[string]string{
	"elicitation/create":     `{"action":"accept","content":{"username":"ann","name":"ann","color":"blue","email":"a@b.c","interpretation":"technical"}}`,
	"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"forty-two"},"model":"m"}`,
	"roots/list":             `{"roots":[{"uri":"file:///home","name":"home"}]}`,
}

// call calls a tool and answers the questions of the server in the way of the revision. It returns
// the result and the other messages.
func (c *matrixClient) call(tool, arguments string) (jsonrpc.Message, []jsonrpc.Message) {
	c.t.Helper()
	return c.request("tools/call",
		`{"name":"`+tool+`","arguments":`+arguments+`,"_meta":{"progressToken":"p"}}`)
}

// request is like call, for any method during which the server may ask the client.
func (c *matrixClient) request(method, text string) (jsonrpc.Message, []jsonrpc.Message) {
	c.t.Helper()
	params := jsontext.Value(text)
	var heard []jsonrpc.Message
	during := func(m jsonrpc.Message) {
		heard = append(heard, m)
		if answer, ok := answers[m.Method]; ok {
			if err := c.carrier.send(jsonrpc.Response(m.ID, jsontext.Value(answer))); err != nil {
				c.t.Errorf("answering %s: %v", m.Method, err)
			}
		}
	}
	for range 5 {
		answer := c.exchange(method, string(params), during)
		if mrtr.TypeOf(answer.Result) != mrtr.InputRequired {
			return answer, heard
		}
		required, err := mrtr.Parse(answer.Result)
		if err != nil {
			c.t.Fatal(err)
		}
		retry := mrtr.Retry{State: required.State}
		for _, in := range required.Inputs {
			retry.Responses = append(retry.Responses, mrtr.Response{
				Key: in.Key, Value: jsontext.Value(answers[in.Method]),
			})
		}
		params = retry.Set(params)
	}
	c.t.Fatalf("%s %s: asked without end", method, text)
	return jsonrpc.Message{}, nil
}

// listen subscribes to changes of the tool list and of a resource, in the way of the revision. The
// returned function ends the subscription.
func (c *matrixClient) listen(uri string) (end func()) {
	c.t.Helper()
	if c.version.Has(protocol.Initialize) {
		if answer := c.exchange("resources/subscribe", `{"uri":"`+uri+`"}`, nil); answer.Error != nil {
			c.t.Errorf("subscribe: %v", answer.Error)
		}
		return func() {
			if answer := c.exchange("resources/unsubscribe", `{"uri":"`+uri+`"}`, nil); answer.Error != nil {
				c.t.Errorf("unsubscribe: %v", answer.Error)
			}
		}
	}
	acknowledged := make(chan struct{}, 1)
	m := c.message("subscriptions/listen",
		`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["`+uri+`"]}}`)
	stop := c.start(m, func(got jsonrpc.Message) {
		if id, _ := jsonedit.Get(got.Params, "_meta",
			"io.modelcontextprotocol/subscriptionId"); string(id) != m.ID.Raw() {
			return // of another subscription on the same channel
		}
		if got.Method == "notifications/subscriptions/acknowledged" {
			acknowledged <- struct{}{}
		}
		c.record(got)
	})
	select {
	case <-acknowledged:
	case <-time.After(patience):
		c.t.Error("listen is not acknowledged")
	}
	return func() { stop() }
}

// start sends a request and does not wait for its answer. The returned function cancels the
// request, and returns the answers that arrived before the cancellation took effect.
func (c *matrixClient) start(m jsonrpc.Message,
	during func(jsonrpc.Message)) (end func() []jsonrpc.Message) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var answered []jsonrpc.Message
	go func() { // owner: the caller of end, which waits for this goroutine
		defer close(done)
		// fails when the context ends, as it should
		_ = c.carrier.exchange(ctx, m, func(got jsonrpc.Message) bool {
			if got.Method == "" && got.ID == m.ID {
				answered = append(answered, got)
				return true
			}
			during(got)
			return false
		})
	}()
	return func() []jsonrpc.Message { cancel(); <-done; return answered }
}
