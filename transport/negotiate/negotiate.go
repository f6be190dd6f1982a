package negotiate

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/negotiation"
	"mcpd/transport/streamable"
)

const (
	// maxListed bounds the tools, and the resources, that are listed to a client when it negotiates.
	// All are usable in a tenant with more, but no single response lists them all.
	maxListed = 10_000
	// closeTime bounds the closing of a session whose negotiation failed. A session that does not end
	// then is ended by its idle time-out.
	closeTime = 2 * time.Second
)

// negotiate makes a session from a client's declaration and returns the lists of the server (S3-28
// to S3-30). A client that can resume, and names a live session, gets that session again with the
// terms negotiated before (S3-63).
func (q *request) negotiate() {
	body, refused := q.guard.ReadJSON(q.w, q.r, q.target.Endpoint)
	if refused != nil {
		q.refuse(q.w, q.r, q.target.Endpoint, refused)
		return
	}
	client, err := negotiation.ParseClient(body)
	if err != nil {
		q.fail(q.w, q.r, q.target.Endpoint, err)
		return
	}
	resumed := false
	if id, given := streamable.SessionID(q.r); given {
		if s, err := q.host.Lookup(q.context(), q.target.Endpoint, id); err == nil &&
			s.Negotiated().Has(negotiation.Resume) {
			s.Touch()
			q.session, q.client, resumed = s, s.Negotiated(), true
		}
	}
	if !resumed {
		if q.session, err = q.host.Open(q.context(), q.target.Endpoint, client); err != nil {
			q.fail(q.w, q.r, q.target.Endpoint, err)
			return
		}
		q.client = client
	}
	told := false
	defer func() {
		if !told && !resumed {
			q.close()
		}
	}()
	server, ok := q.discover()
	if !ok {
		return
	}
	answer, err := server.Response()
	switch {
	case err != nil:
		q.fail(q.w, q.r, q.target.Endpoint, err)
		return
	case q.r.Context().Err() != nil:
		return
	}
	told = true
	q.w.Header().Set(SessionHeader, q.session.ID())
	q.guard.WriteJSON(q.w, http.StatusOK, answer)
}

func (q *request) close() {
	ctx, cancel := context.WithTimeout(q.context(), closeTime)
	defer cancel()
	_ = q.session.Close(ctx)
}

// discover asks the servers for their capabilities and lists. False means that the client has got
// an error response, or has gone.
func (q *request) discover() (s negotiation.Server, ok bool) {
	s.Rules = q.rules
	result, e := q.inquire("server/discover", nil)
	if e != nil {
		q.failed(q.w, e)
		return s, false
	}
	found, err := protocol.ParseDiscover(result)
	if err != nil {
		return s, false // no result: the client has gone
	}
	s.Info, s.Offered = found.Info, found.Capabilities
	if s.Offered.Has("tools") {
		s.Tools, e = q.names("tools/list", "tools", "name")
	}
	if e == nil && s.Offered.Has("resources") {
		s.Resources, e = q.names("resources/list", "resources", "uri")
	}
	if e != nil {
		q.failed(q.w, e)
	}
	return s, e == nil
}

// names reads one member of every item of a list, page by page.
func (q *request) names(method, list, member string) (names []string, e *jsonrpc.Error) {
	var params jsontext.Value
	var pages protocol.Pages
	for {
		result, e := q.inquire(method, params)
		if e != nil {
			return nil, e
		}
		items, _ := jsonedit.Get(result, list)
		for item := range jsonedit.Elements(items) {
			if name, ok := jsonedit.GetString(item, member); ok && len(names) < maxListed {
				names = append(names, name)
			}
		}
		cursor, _ := pages.Next(result, list)
		if cursor == nil || len(names) >= maxListed {
			return names, nil
		}
		params, _ = jsonedit.Set(nil, cursor, "cursor") // an empty value becomes an object
	}
}

// inquire sends a request to the session and waits for its outcome. If the client goes, it returns
// nothing.
func (q *request) inquire(method string, params jsontext.Value) (jsontext.Value, *jsonrpc.Error) {
	e := newExchange(params)
	if err := q.ask(method, e); err != nil {
		return nil, protocol.Translate(err, q.session.Version())
	}
	select {
	case <-e.wake:
	case <-q.r.Context().Done():
		q.session.Cancel(e)
		return nil, nil
	}
	_, outcome, _ := e.take()
	return outcome.Result, outcome.Error
}

// end ends a session at the request of its client.
func (q *request) end() {
	id, given := streamable.SessionID(q.r)
	switch {
	case !given:
		q.unknown(q.w, q.r, q.target.Endpoint, missingSession)
		return
	case !q.find(id):
		return
	}
	if err := q.session.Close(q.context()); err != nil {
		q.fail(q.w, q.r, q.target.Endpoint, err)
		return
	}
	q.guard.WriteJSON(q.w, http.StatusNoContent, nil)
}
