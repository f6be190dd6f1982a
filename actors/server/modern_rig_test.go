package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/mrtr"
	"mcpd/supervisor/otp"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

const (
	form  = `{"message":"name?","requestedSchema":{}}`
	yes   = `{"action":"accept"}`
	bound = `{"name":"files__read"}`
)

// caller is a modern client.
type caller struct {
	r            *rig
	principal    string
	server       string
	capabilities string
	level        string // of the log lines that it wants
	token        string // progress token
	fields       headers.Lookup
	id           uint64
}

func (r *rig) caller(capabilities string) *caller {
	return &caller{r: r, principal: "ci", capabilities: capabilities}
}

// peer is the session that serves it, found as the transport does.
func (c *caller) peer() *session.Handle {
	c.r.T.Helper()
	p := &session.Peer{Version: protocol.V20260728}
	var err error
	if p.Capabilities, err = protocol.ParseClientCapabilities(jsontext.Value(c.capabilities)); err !=
		nil {
		c.r.T.Fatal(err)
	}
	ep := streamable.Endpoint{Tenant: "acme", Server: c.server, Principal: c.principal}
	if h, ok := c.r.index.Peer(ep, *p); ok && h.Serving() {
		h.Touch()
		return h
	}
	h, err := otp.Do[session.OpenRequest, *session.Handle](c.r.T.Context(), c.r.Ref("sessions"),
		session.OpenRequest{Endpoint: ep, Peer: p})
	if err != nil {
		c.r.T.Fatal(err)
	}
	return h
}

// ask makes a request under the next id.
func (c *caller) ask(method, params string) *testrig.Sink {
	c.r.T.Helper()
	c.id++
	out := &testrig.Sink{}
	c.askAs(jsonrpc.IntID(c.id), method, params, out)
	return out
}

func (c *caller) askAs(id jsonrpc.ID, method, params string, out *testrig.Sink) {
	c.r.T.Helper()
	if params == "" {
		params = "{}"
	}
	text, err := protocol.Meta{Version: "2026-07-28", LogLevel: c.level}, error(nil)
	if text.Capabilities, err = protocol.ParseClientCapabilities(
		jsontext.Value(c.capabilities),
	); err != nil {
		c.r.T.Fatal(err)
	}
	said := text.Set(jsontext.Value(params))
	if c.token != "" {
		said = protocol.SetProgressToken(said, jsontext.Value(c.token))
	}
	if err := c.peer().Call(c.r.T.Context(), jsonrpc.Request(id, method, said), c.fields,
		out); err != nil {
		c.r.T.Errorf("%s: %v", method, err)
	}
	c.r.WaitIdle()
}

// call calls the tool of "files".
func (c *caller) call() *testrig.Sink {
	c.r.T.Helper()
	return c.ask("tools/call", bound)
}

// leave simulates that the client of a request has gone.
func (c *caller) leave(out *testrig.Sink) {
	c.r.T.Helper()
	c.peer().Cancel(out)
	c.r.WaitIdle()
}

// state is the requestState of a result that asks the client something.
func state(t *testing.T, out *testrig.Sink) string {
	t.Helper()
	m := out.Outcome()
	if mrtr.TypeOf(m.Result) != mrtr.InputRequired {
		t.Fatalf("got %v, want to be asked", out.All())
	}
	token, _ := jsonedit.GetString(m.Result, "requestState")
	return token
}

// retry repeats a request with answers and a state.
func (c *caller) retry(method, params, token, answers string) *testrig.Sink {
	c.r.T.Helper()
	again, err := mrtr.ParseRetry(jsontext.Value(`{"inputResponses":` + answers + `}`))
	if err != nil {
		c.r.T.Fatal(err)
	}
	if token != "" {
		again.State = jsonedit.Quote(token)
	}
	return c.ask(method, string(again.Set(jsontext.Value(params))))
}

// elicited is a call in progress during which its server has asked for a name.
func elicited(r *rig) (c *caller, p *peer, token string) {
	r.T.Helper()
	c = r.caller(elicits)
	out := c.call()
	p = r.peer("files")
	p.elicit(jsonrpc.IntID(1))
	return c, p, state(r.T, out)
}

// elicit asks the client for a name, and waits until it is asked.
func (p *peer) elicit(id jsonrpc.ID) {
	p.Ask(id, "elicitation/create", form)
	time.Sleep(time.Second)
}

// answer answers the host's last request of a method.
func (p *peer) answer(method, result string) {
	asked := p.heard(method)
	id := asked[len(asked)-1].ID
	p.send(transport.Inbound{Message: jsonrpc.Response(id, jsontext.Value(result)), RequestID: id})
	synctest.Wait()
}

// refuse answers the host's last request of a method with an error.
func (p *peer) refuse(method string) {
	asked := p.heard(method)
	id := asked[len(asked)-1].ID
	refusal := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "no"}
	p.send(transport.Inbound{Message: jsonrpc.Failure(id, refusal), RequestID: id})
	synctest.Wait()
}

// log sends a log line during a call.
func (p *peer) log(call jsonrpc.ID, level string) {
	m := jsonrpc.Notification("notifications/message",
		jsontext.Value(`{"level":"`+level+`","data":1}`))
	p.send(transport.Inbound{Message: m, RequestID: call})
	synctest.Wait()
}
