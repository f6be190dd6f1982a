package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/gateway/auth"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// simClient is a client: it connects, makes random requests, and leaves. All its requests have the
// id 1, because real clients also use the same ids.
type simClient struct {
	s            *simulation
	name         string
	at           streamable.Endpoint
	modern       bool
	capabilities protocol.ClientCapabilities // if it is modern
	opened       streamable.Session          // if it is legacy
	tasks        bool                        // it can follow tasks
	// the ids of the tasks that it was told and that the host keeps
	taskIDs  []string
	calls    []*call
	leaving  bool // the session is being ended
	gone     bool // the session is over
	finished bool // it has finished
}

func newVisitor(s *simulation, tenant string, number int) *simClient {
	c := &simClient{
		s: s, name: tenant + "-" + strconv.Itoa(number), modern: s.w.rand.IntN(3) == 0,
		at: streamable.Endpoint{Tenant: tenant, Principal: auth.Anonymous},
	}
	if c.modern {
		text := declarations[s.w.rand.IntN(len(declarations))]
		c.tasks = strings.Contains(text, "tasks")
		// they are all well formed
		c.capabilities, _ = protocol.ParseClientCapabilities(jsontext.Value(text))
	}
	return c
}

// declarations are the capabilities that modern clients declare.
var declarations = []string{
	`{}`, `{"elicitation":{"form":{}}}`,
	`{"elicitation":{"form":{}},"extensions":{"` + protocol.ExtensionTasks + `":{}}}`,
}

// live is everything that the client does.
func (c *simClient) live() {
	c.s.pause(time.Second)
	if !c.modern && !c.open() {
		return
	}
	for range c.s.plan.calls {
		c.act()
		c.s.pause(200 * time.Millisecond)
	}
	if !c.s.plan.leaves.strikes(c.s.w.rand) {
		c.s.w.Wait(c.done)
	}
	c.leave()
}

// done reports whether every call has its outcome.
func (c *simClient) done() bool {
	for _, k := range c.calls {
		if !k.ended && k.refused == nil {
			return false
		}
	}
	return true
}

// revisions are those that a client with a session may speak.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func (c *simClient) open() bool {
	revision := revisions[c.s.w.rand.IntN(len(revisions))]
	c.tasks = revision == "2025-11-25"
	params := `{"protocolVersion":"` + revision +
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"` + c.name + `","version":"1"}}`
	k := c.begin("initialize", "", "")
	first := jsonrpc.Request(k.id, k.method, jsontext.Value(params))
	if c.s.w.rand.IntN(2) == 0 {
		c.opened, k.refused = c.s.host.Edge().Open(context.Background(), c.at, first, k, nil)
	} else if h,
		err := c.s.host.Edge().OpenPushed(context.Background(), c.at, first, k, c.pushed); h != nil {
		c.opened, k.refused = h, err
	} else {
		k.refused = err
	}
	if c.opened != nil {
		c.s.sessions[c.opened.ID()] = c
	}
	if k.refused != nil {
		c.gone = true // in a while: a session without a handshake does not last
		return false
	}
	c.s.w.Wait(func() bool { return k.ended })
	if k.outcome.Error != nil {
		c.gone = true // in a while: a session without a handshake does not last
		return false
	}
	return c.opened.Deliver(context.Background(),
		jsonrpc.Notification("notifications/initialized", nil), nil) == nil
}

// pushed takes messages that belong to no request, such as an update of a subscribed resource or of
// a list.
func (c *simClient) pushed(m jsonrpc.Message) error {
	c.s.w.Note("pushed", c.name, m.Kind().String()+" "+m.Method)
	if uri, ok := jsonedit.GetString(m.Params, "uri"); ok && uri != "sim://"+c.at.Tenant+"/old" {
		c.s.find("I2 cross-talk", "%s hears of %s", c.name, uri)
	}
	if m.Kind() == jsonrpc.KindRequest {
		c.asked(nil, m)
	}
	return nil
}

// begin makes a call that is about to be sent.
func (c *simClient) begin(method, server, token string) *call {
	c.s.nonces++
	k := &call{
		s: c.s, c: c, method: method, server: server, nonce: fmt.Sprintf("%s-%d", c.name, c.s.nonces),
		id:    jsonrpc.IntID(1),
		token: jsontext.Value(token), at: c.s.w.now,
	}
	c.calls = append(c.calls, k)
	c.s.calls = append(c.s.calls, k)
	return k
}

// act does one of the things that clients do.
func (c *simClient) act() {
	r := c.s.w.rand
	switch r.IntN(10) {
	case 0:
		c.send(c.begin("tools/list", "", ""), `{}`)
	case 1:
		if !c.modern {
			c.send(c.begin("ping", "", ""), `{}`)
		}
	case 2:
		c.look()
	case 3:
		if !c.modern {
			k := c.begin("resources/subscribe", "", "")
			k.mayFail = true // there may be no such resource now
			c.send(k, `{"uri":"sim://`+c.at.Tenant+`/old"}`)
		}
	default:
		c.call()
	}
}

// servers are the names of each tenant's servers.
var servers = []string{"old", "own", "new"}

// call calls the tool of a server, and may cancel the call.
func (c *simClient) call() {
	r := c.s.w.rand
	server := servers[r.IntN(len(servers))]
	k := c.begin("tools/call", server, strconv.Itoa(1+r.IntN(3)))
	params := fmt.Sprintf(`{"name":"%s__do","arguments":{"nonce":"%s"},"_meta":{"progressToken":%s}}`,
		server, k.nonce, k.token)
	if c.tasks && !c.modern && r.IntN(3) == 0 {
		params = params[:len(params)-1] + `,"task":{"ttl":60000}}`
	}
	c.send(k, params)
	if k.refused == nil && c.s.plan.cancels.strikes(r) {
		c.s.w.Spawn(c.name+" cancels", func() {
			c.s.pause(100 * time.Millisecond)
			c.cancel(k)
		})
	}
	if c.modern || c.tasks || r.IntN(2) == 0 {
		c.s.w.Wait(func() bool { return k.ended || k.refused != nil })
		c.continueCall(k, params)
	}
}

// continueCall does what the result of a call requires: it answers a question, or follows a task.
func (c *simClient) continueCall(k *call, params string) {
	result := k.outcome.Result
	task := result
	if core, ok := jsonedit.Get(result, "task"); ok {
		task = core
	}
	id, isTask := jsonedit.GetString(task, "taskId")
	requests, asks := jsonedit.Get(result, "inputRequests")
	switch {
	case isTask:
		k.deferred = true
		c.follow(k, id)
	case asks:
		k.deferred = true
		answers, state := "", jsontext.Value(nil)
		for m := range jsonedit.Members(requests) {
			answers += `,` + string(m.Name) + `:{"action":"accept","content":{}}`
		}
		if state, _ = jsonedit.Get(result, "requestState"); len(state) > 0 {
			answers += `},"requestState":` + string(state)
		} else {
			answers += `}`
		}
		again := c.begin("tools/call", k.server, string(k.token))
		again.nonce = k.nonce
		c.s.pause(50 * time.Millisecond)
		c.send(again, params[:len(params)-1]+`,"inputResponses":{`+answers[1:]+`}`)
		c.s.w.Wait(func() bool { return again.ended || again.refused != nil })
		c.continueCall(again, params)
	}
}

func (c *simClient) send(k *call, params string) {
	c.s.w.Note("ask", c.name, k.method+" "+k.server)
	ctx, m := context.Background(), jsonrpc.Request(k.id, k.method, jsontext.Value(params))
	if !c.modern {
		k.refused = c.opened.Deliver(ctx, m, k)
		return
	}
	m.Params = protocol.Meta{Version: "2026-07-28", Capabilities: c.capabilities}.Set(m.Params)
	class, err := c.s.host.Edge().Policy(c.at).Classify(protocol.Incoming{
		Method: m.Method, Params: m.Params,
	})
	if err == nil {
		var peer streamable.Peer
		if peer, err = c.s.host.Edge().Peer(ctx, c.at, class); err == nil {
			err = peer.Call(ctx, m, nil, k)
		}
	}
	k.refused = err
}

// cancel cancels a call. A client with a session sends a notification; a modern client just
// disconnects.
func (c *simClient) cancel(k *call) {
	if k.ended || c.gone {
		return
	}
	c.s.w.Note("cancel", c.name, k.nonce)
	k.cancelled = true
	if c.modern {
		class, err := c.s.host.Edge().Policy(c.at).Classify(protocol.Incoming{
			Params: protocol.Meta{Version: "2026-07-28", Capabilities: c.capabilities}.Set(nil),
		})
		if err == nil {
			if peer, err := c.s.host.Edge().Peer(context.Background(), c.at, class); err == nil {
				peer.Cancel(k)
			}
		}
		return
	}
	// all requests have the same id, so that the notification may cancel any of them
	for _, other := range c.calls {
		other.cancelled = other.cancelled || !other.ended
	}
	_ = c.opened.Deliver(context.Background(),
		jsonrpc.Notification("notifications/cancelled", jsontext.Value(`{"requestId":1}`)), nil)
}

// asked answers a question of a server.
func (c *simClient) asked(_ *call, m jsonrpc.Message) {
	c.s.w.Spawn(c.name+" answers", func() {
		c.s.pause(50 * time.Millisecond)
		if c.opened != nil && !c.gone {
			_ = c.opened.Deliver(context.Background(),
				jsonrpc.Response(m.ID, jsontext.Value(`{"action":"accept","content":{}}`)), nil)
		}
	})
}

// look looks a session up. It must be found at its own endpoint while it is open, and nowhere else.
func (c *simClient) look() {
	if c.opened == nil {
		return
	}
	edge, id, other := c.s.host.Edge(), c.opened.ID(), c.at
	if other.Tenant = bystander; c.at.Tenant == bystander {
		other.Tenant = target
	}
	if _, err := edge.Lookup(context.Background(), other, id); !errors.Is(err,
		streamable.ErrNoSession) {
		c.s.find("I2 cross-talk", "%s's session is found at %s: %v", c.name, other.Tenant, err)
	}
	if _, err := edge.Lookup(context.Background(), c.at, id); (err == nil) == c.gone &&
		!c.evictable() {
		c.s.find("session map", "the session of %s is looked up, which is gone: %v; got %v", c.name,
			c.gone, err)
	}
}

// evictable reports whether the session may be evicted at any time.
func (c *simClient) evictable() bool { return c.s.tight && c.at.Tenant == target }

// leave ends the session, if there is one.
func (c *simClient) leave() {
	if c.opened == nil {
		return
	}
	c.s.w.Note("leave", c.name, "")
	c.leaving = true
	for _, k := range c.calls {
		k.cancelled = k.cancelled || !k.ended
	}
	if c.gone = c.opened.Close(context.Background()) == nil; c.gone {
		c.look()
	}
}
