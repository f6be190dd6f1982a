package negotiate

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/negotiation"
	"mcpd/protocol/subscription"
	"mcpd/transport/streamable"
)

// retryParameter in the query says that the body holds the params of a repeated call, after a
// server has asked for input: the arguments as before, inputResponses and requestState (2026-07-28
// §basic/patterns/mrtr).
const retryParameter = "retry"

// call calls a tool. The body holds its arguments, or is empty.
func (q *request) call() {
	body, refused := q.guard.ReadJSON(q.w, q.r, q.target.Endpoint)
	if refused != nil {
		q.refuse(q.w, q.r, q.target.Endpoint, refused)
		return
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	if v := jsontext.Value(body); v.Kind() != '{' || !v.IsValid() {
		q.fail(q.w, q.r, q.target.Endpoint,
			protocol.InvalidParams("the body is not a JSON object of arguments"))
		return
	}
	var params jsontext.Value
	if q.r.URL.Query().Has(retryParameter) {
		_, answers := jsonedit.Get(body, "inputResponses")
		_, state := jsonedit.Get(body, "requestState")
		if !answers && !state {
			q.fail(q.w, q.r, q.target.Endpoint,
				protocol.InvalidParams("a retry has inputResponses or requestState beside arguments"))
			return
		}
		params = jsonedit.Without(body, "_meta", "name")
	} else {
		params = append(append(jsontext.Value(`{"arguments":`), body...), '}')
	}
	params, _ = jsonedit.Set(params, jsonedit.Quote(q.target.Name), "name") // params is an object
	e := newExchange(params)
	e.streams = q.client.Has(negotiation.Streaming) && streamable.TakesEvents(q.r)
	if e.streams {
		e.progress = q.client.Has(negotiation.Progress) // S3-40
		e.level = q.client.LogLevel()
	}
	q.exchange("tools/call", e)
}

// read reads a resource.
func (q *request) read() {
	// Set turns an empty value into an object.
	params, _ := jsonedit.Set(nil, jsonedit.Quote(q.target.Name), "uri")
	q.exchange("resources/read", newExchange(params))
}

// exchange sends a request and writes its outcome: alone, or after the messages that came before
// it.
func (q *request) exchange(method string, e *exchange) {
	e.budget = q.guard.Room(q.target.Endpoint)
	defer e.abandon()
	if err := q.ask(method, e); err != nil {
		q.fail(q.w, q.r, q.target.Endpoint, err)
		return
	}
	defer q.cancelIfDeclared(e)
	if e.streams {
		q.stream(e, false)
		return
	}
	select {
	case <-e.wake:
	case <-q.r.Context().Done():
		return
	}
	_, outcome, _ := e.take()
	if outcome.Error != nil {
		q.failed(q.w, outcome.Error)
		return
	}
	q.guard.WriteJSON(q.w, http.StatusOK, outcome.Result)
}

// cancelIfDeclared cancels a request that has no outcome yet, if its client has declared that it
// cancels (S3-41, S3-42).
func (q *request) cancelIfDeclared(e *exchange) {
	if !e.ended() && q.client.Has(negotiation.Cancellation) {
		q.session.Cancel(e)
	}
}

// subscribe streams the changes of a resource until the client leaves.
func (q *request) subscribe() {
	e := newExchange(subscription.Filter{URIs: []string{q.target.Name}}.Params())
	e.streams = true
	if err := q.ask("subscriptions/listen", e); err != nil {
		q.fail(q.w, q.r, q.target.Endpoint, err)
		return
	}
	defer func() {
		if !e.ended() {
			q.session.Cancel(e) // the request is only the stream
		}
	}()
	q.stream(e, true)
}

// acknowledged confirms a subscription. A resource that it leaves out is not granted.
const acknowledged = "notifications/subscriptions/acknowledged"

// stream writes events: each message before the outcome under the name of its method, then "result"
// or "error". A request that ends before the stream has begun gets a plain response.
func (q *request) stream(e *exchange, endless bool) {
	if !q.guard.Await(q.r.Context(), e.wake, endless) {
		return
	}
	notifications, outcome, done := e.take()
	switch {
	case len(notifications) == 0 && done && outcome.Error != nil:
		q.failed(q.w, outcome.Error)
		return
	case endless && !granted(notifications):
		q.refuse(q.w, q.r, q.target.Endpoint, &streamable.Refused{
			Reason: "resource_not_found", Detail: "changes of this resource are not announced",
			Status: http.StatusNotFound,
		})
		return
	}
	events := q.guard.StartEvents(q.w, q.target.Endpoint)
	defer events.Close()
	defer func() { q.guard.CountDropped(q.target.Endpoint, e.missed()) }()
	for {
		for _, m := range notifications {
			if events.Write(eventOf(m)) != nil {
				return
			}
		}
		if done {
			_ = events.Write(outcomeOf(outcome))
			return
		}
		if !events.Wait(q.r.Context(), e.wake, endless, q.session.Touch) {
			return
		}
		notifications, outcome, done = e.take()
	}
}

// granted reports whether a subscription was confirmed with its resource.
func granted(notifications []jsonrpc.Message) bool {
	if len(notifications) == 0 || notifications[0].Method != acknowledged {
		return false
	}
	uris, _ := jsonedit.Get(notifications[0].Params, "notifications", "resourceSubscriptions")
	return jsonedit.Len(uris) > 0
}

// eventOf turns a notification into an event, and drops the members that only JSON-RPC needs, to
// tell requests apart.
func eventOf(m jsonrpc.Message) streamable.Event {
	data, _ := jsonedit.Delete(m.Params, "_meta", protocol.MetaSubscriptionID)
	if meta, _ := jsonedit.Get(data, "_meta"); string(meta) == "{}" {
		data, _ = jsonedit.Delete(data, "_meta")
	}
	return streamable.Event{Type: strings.TrimPrefix(m.Method, "notifications/"), Data: data}
}

func outcomeOf(m jsonrpc.Message) streamable.Event {
	if m.Error != nil {
		return streamable.Event{Type: "error", Data: failureOf(m.Error)}
	}
	return streamable.Event{Type: "result", Data: m.Result}
}
