package interop

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/protocol/splice"
)

// declared is what a client of the matrix declares, in its revision's words.
const declared = `{"roots":{},"sampling":{},"elicitation":{}}`

// hop is what carries the messages of a client.
type hop interface {
	// exchange sends a request and shows every message that may belong to it, until take says that one was the last or the context ends,
	// which cancels the request in the way of the transport and the revision.
	exchange(ctx context.Context, m jsonrpc.Message, take func(jsonrpc.Message) bool) error
	// send sends what has no answer.
	send(m jsonrpc.Message) error
	// opened tells of the answer to initialize, and that the client is to hear what belongs to no request.
	opened(keep func(jsonrpc.Message)) error
}

// compat is a client of one revision, no more than the revision asks for: a session, or requests that stand alone.
type compat struct {
	t       *testing.T
	version protocol.Version
	hop     hop

	valid *validity // of what it receives; nil checks nothing
	tasks bool      // it declares that it can follow tasks, where each request says that

	mu    sync.Mutex // guards what follows
	next  uint64
	heard []jsonrpc.Message // what belonged to no request, or came for listens
}

// compatible makes a client and, where its revision has that, its session.
func compatible(t *testing.T, over hop, v protocol.Version, valid *validity) *compat {
	t.Helper()
	c := &compat{t: t, version: v, hop: over, valid: valid}
	if v.Has(protocol.Initialize) {
		answer := c.exchange("initialize",
			`{"protocolVersion":"`+v.String()+`","capabilities":`+declared+`,"clientInfo":{"name":"compat","version":"1"}}`, nil)
		if got, _ := splice.GetString(answer.Result, "protocolVersion"); got != v.String() {
			t.Fatalf("initialize: %s", answer.Append(nil))
		}
	} else if answer := c.exchange("server/discover", `{}`, nil); answer.Error != nil {
		t.Fatalf("server/discover: %s", answer.Append(nil))
	}
	if err := over.opened(c.keep); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *compat) keep(m jsonrpc.Message) {
	c.valid.check(c.t, c.version, "", m)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, m)
}

// forget makes what was heard so far no news.
func (c *compat) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = nil
}

// told reports whether a notification of that method came, within a time in which anything local would have.
func (c *compat) told(method string) bool {
	return within(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.heard {
			if m.Method == method {
				return true
			}
		}
		return false
	})
}

// within reports whether something is so soon.
func within(is func() bool) bool {
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// message is a request under a fresh id, with what its revision wants it to say of itself.
func (c *compat) message(method, params string) jsonrpc.Message {
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

// exchange sends a request and returns its answer. What comes before it goes to during.
func (c *compat) exchange(method, params string, during func(jsonrpc.Message)) (answer jsonrpc.Message) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*patience)
	defer cancel()
	m := c.message(method, params)
	err := c.hop.exchange(ctx, m, func(got jsonrpc.Message) bool {
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

// answers are what the user and the model of the client say to everything.
var answers = map[string]string{
	"elicitation/create":     `{"action":"accept","content":{"username":"ann","name":"ann","color":"blue","email":"a@b.c","interpretation":"technical"}}`,
	"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"forty-two"},"model":"m"}`,
	"roots/list":             `{"roots":[{"uri":"file:///home","name":"home"}]}`,
}

// call calls a tool and answers what is asked meanwhile, in the way of the revision. It returns the result and what was heard.
func (c *compat) call(tool, arguments string) (jsonrpc.Message, []jsonrpc.Message) {
	c.t.Helper()
	return c.request("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`,"_meta":{"progressToken":"p"}}`)
}

// request is call for any method in which the client may be asked.
func (c *compat) request(method, text string) (jsonrpc.Message, []jsonrpc.Message) {
	c.t.Helper()
	params := jsontext.Value(text)
	var heard []jsonrpc.Message
	during := func(m jsonrpc.Message) {
		heard = append(heard, m)
		if answer, ok := answers[m.Method]; ok {
			if err := c.hop.send(jsonrpc.Response(m.ID, jsontext.Value(answer))); err != nil {
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
			retry.Responses = append(retry.Responses, mrtr.Response{Key: in.Key, Value: jsontext.Value(answers[in.Method])})
		}
		params = retry.Set(params)
	}
	c.t.Fatalf("%s %s: asked without end", method, text)
	return jsonrpc.Message{}, nil
}

// listen subscribes to the changes of tools, and of a resource, in the way of the revision, until what it returns is called.
func (c *compat) listen(uri string) (end func()) {
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
	m := c.message("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["`+uri+`"]}}`)
	stop := c.start(m, func(got jsonrpc.Message) {
		if id, _ := splice.Get(got.Params, "_meta", "io.modelcontextprotocol/subscriptionId"); string(id) != m.ID.Raw() {
			return // of another, on the same channel
		}
		if got.Method == "notifications/subscriptions/acknowledged" {
			acknowledged <- struct{}{}
		}
		c.keep(got)
	})
	select {
	case <-acknowledged:
	case <-time.After(patience):
		c.t.Error("listen is not acknowledged")
	}
	return func() { stop() }
}

// start sends a request and does not wait for its answer. What it returns cancels it and returns what was answered before that took effect.
func (c *compat) start(m jsonrpc.Message, during func(jsonrpc.Message)) (end func() []jsonrpc.Message) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var answered []jsonrpc.Message
	go func() { // owner: who calls end, which waits for it
		defer close(done)
		_ = c.hop.exchange(ctx, m, func(got jsonrpc.Message) bool { // ends with the context, as it should
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
