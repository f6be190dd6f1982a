package main

import (
	"context"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/headers"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/reconnect"
	"mcpd/transport"
)

// newStatelessBridge returns a bridge that carries stateless requests of one revision.
func newStatelessBridge(endpoint string, log io.Writer, v protocol.Version) (*bridge, error) {
	b := &bridge{
		endpoint: endpoint, log: log, link: reconnect.NewModern(v),
		sinks:   map[jsonrpc.ID]pendingRequest{},
		push:    func(jsonrpc.Message) error { return nil },
		mirrors: &mirrors{tools: map[string][]headers.Mirror{}},
	}
	if err := b.connect(); err != nil {
		return nil, err
	}
	b.up.Negotiated(v)
	return b, nil
}

// Cancel cancels the request that was delivered with out.
func (b *bridge) Cancel(out transport.Sink) {
	id, ok := b.requestOf(out)
	if !ok {
		return
	}
	// An empty value becomes an object.
	params, _ := jsonedit.Set(nil, jsontext.Value(id.Raw()), "requestId")
	b.step(reconnect.Event{
		Op: reconnect.Notice, Message: jsonrpc.Notification("notifications/cancelled", params),
	})
	b.drop(id)
}

// Touch does nothing: the host tracks stateless clients by the connections that they hold open.
func (b *bridge) Touch() {}

func (b *bridge) requestOf(out transport.Sink) (jsonrpc.ID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, w := range b.sinks {
		if w.out == out {
			return id, true
		}
	}
	return jsonrpc.ID{}, false
}

// register registers a request as waiting for its outcome. The caller sends another request to the
// host first.
func (b *bridge) register(id jsonrpc.ID, w pendingRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sinks[id] = w
}

// drop removes a waiting request and returns it.
func (b *bridge) drop(id jsonrpc.ID) (pendingRequest, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, ok := b.sinks[id]
	delete(b.sinks, id)
	return w, ok
}

// mirrors are the tool arguments that a host wants repeated in header fields (2026-07-28
// §basic/transports/streamable-http). A client on stdio does not know of header fields. The
// bridge therefore learns the arguments from every tools/list result that the client requests,
// and requests the list itself when the host rejects a call for a missing header field.
type mirrors struct {
	mu    sync.Mutex // guards tools
	tools map[string][]headers.Mirror
}

func (k *mirrors) of(tool string) []headers.Mirror {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tools[tool]
}

func (k *mirrors) learn(list jsontext.Value) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tools, _ := jsonedit.Get(list, "tools")
	for tool := range jsonedit.Elements(tools) {
		name, _ := jsonedit.GetString(tool, "name")
		schema, _ := jsonedit.Get(tool, "inputSchema")
		delete(k.tools, name)
		if found, err := headers.Mirrors(schema); err == nil && len(found) > 0 {
			k.tools[name] = found
		}
	}
}

// refused inspects an answer. If the answer says that a header field is missing, refused reads
// the list of tools, sends the call once more and returns true.
func (k *mirrors) refused(b *bridge, w pendingRequest, m jsonrpc.Message) bool {
	if w.method == "tools/list" && m.Error == nil {
		k.learn(m.Result)
	}
	if m.Error == nil || m.Error.Code != protocol.CodeHeaderMismatch || w.call.Method == "" {
		return false
	}
	// The entry is kept without the call, so the call is not sent a third time.
	b.register(w.call.ID, pendingRequest{method: w.method, out: w.out})
	(&toolLookup{b: b, call: w.call, refusal: m}).ask(nil)
	return true
}

// toolLookup is the sink of the tools/list requests that precede the second attempt of a call.
type toolLookup struct {
	b    *bridge
	call jsonrpc.Message
	// why is the refusal that led to the second attempt.
	refusal jsonrpc.Message
	pages   protocol.Pages
}

// maxPages bounds the pages of one list. It stops the reading when the cursors of a host never
// end.
const maxPages = 100

// ask requests one page of the list, with the metadata of the client's call.
func (r *toolLookup) ask(cursor jsontext.Value) {
	meta, _ := jsonedit.Get(r.call.Params, "_meta")
	params, _ := jsonedit.Set(nil, meta, "_meta") // an empty value becomes an object
	params = protocol.SetProgressToken(params, nil)
	if len(cursor) > 0 {
		params, _ = jsonedit.Set(params, cursor, "cursor")
	}
	id := jsonrpc.StringID("mcpd stdio looks up the tool of " + r.call.ID.Raw())
	if err := r.b.Deliver(context.Background(), jsonrpc.Request(id, "tools/list", params),
		r); err != nil {
		r.giveUp()
	}
}

// Send accepts nothing: a list arrives as one message.
func (r *toolLookup) Send(jsonrpc.Message) error { return transport.ErrClosed }

// Finish requests the next page, or sends the call once more after the last page.
func (r *toolLookup) Finish(m jsonrpc.Message) bool {
	cursor, _ := r.pages.Next(m.Result, "tools")
	switch {
	case m.Error == nil && cursor != nil && r.pages.Len() < maxPages:
		r.ask(cursor)
	case m.Error != nil:
		r.giveUp()
	default:
		r.retry()
	}
	return true
}

// giveUp finishes the call with its original refusal.
func (r *toolLookup) giveUp() {
	if w, ok := r.b.drop(r.call.ID); ok {
		w.out.Finish(r.refusal)
	}
}

// retry sends the call once more, unless its client has cancelled it.
func (r *toolLookup) retry() {
	r.b.mu.Lock()
	_, waits := r.b.sinks[r.call.ID]
	r.b.mu.Unlock()
	if waits {
		r.b.step(reconnect.Event{Op: reconnect.Request, Message: r.call})
	}
}
