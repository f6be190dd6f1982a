package reconnect

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// question is a request of the host that the client has not answered. It has an id of the link's
// own, so that a late answer cannot match a question of the next host.
type question struct {
	id, theirs jsonrpc.ID
	related    jsonrpc.ID // the call that the question belongs to; zero for none
}

// said handles a notification or a question of the host.
func (l *Link) said(related jsonrpc.ID, m jsonrpc.Message) {
	switch {
	case m.Kind() == jsonrpc.KindRequest:
		m, related = l.ask(related, m)
	case m.Method == "notifications/cancelled":
		m = l.withdrawn(m)
	case m.Method == "notifications/subscriptions/acknowledged":
		if r := l.find(related); r != nil && r.confirmed {
			l.resubscribed(r, m)
			return
		} else if r != nil {
			r.confirmed, l.opened = true, true
		}
	}
	if m.Method != "" {
		l.do(Effect{Do: Deliver, ID: related, Message: m})
	}
}

// ask assigns an id to a question.
func (l *Link) ask(related jsonrpc.ID, m jsonrpc.Message) (jsonrpc.Message, jsonrpc.ID) {
	if len(l.questions) >= MaxQuestions {
		e := protocol.Translate(protocol.Overloaded("the client", 0), l.version)
		l.send(jsonrpc.Failure(m.ID, e))
		return jsonrpc.Message{}, related
	}
	l.asked++
	q := question{id: jsonrpc.IntID(l.asked), theirs: m.ID, related: related}
	l.questions = append(l.questions, q)
	return jsonrpc.Request(q.id, m.Method, m.Params), related
}

// withdrawn returns the cancellation of a question with the client's id. It returns the zero
// Message if the question is not open.
func (l *Link) withdrawn(m jsonrpc.Message) jsonrpc.Message {
	raw, _ := jsonedit.Get(m.Params, "requestId")
	for i, q := range l.questions {
		if q.theirs.Raw() == string(raw) {
			l.questions = slices.Delete(l.questions, i, i+1)
			params, _ := jsonedit.Set(m.Params, jsontext.Value(q.id.Raw()), "requestId")
			return jsonrpc.Notification(m.Method, params)
		}
	}
	return jsonrpc.Message{}
}

// reply handles the client's answer to a question. It ignores an answer to a withdrawn question.
func (l *Link) reply(m jsonrpc.Message) {
	for i, q := range l.questions {
		if q.id == m.ID {
			l.questions = slices.Delete(l.questions, i, i+1)
			m.ID = q.theirs
			l.send(m)
			return
		}
	}
}

// recall cancels questions at the client, because the host that asked was lost. A host that turns
// out to be present receives an error for each of them.
func (l *Link) recall(which func(question) bool) {
	l.questions = slices.DeleteFunc(l.questions, func(q question) bool {
		if !which(q) {
			return false
		}
		params := member("requestId", jsontext.Value(q.id.Raw()))
		params, _ = jsonedit.Set(params, jsonedit.Quote("the host that asked was lost"), "reason")
		l.push("notifications/cancelled", params)
		if l.session {
			l.pendingErrors = append(l.pendingErrors, q.theirs)
		}
		return true
	})
}

// resubscribed handles the confirmation of a subscription that was opened again. The client has
// received a confirmation before. It now receives a notification for each change that it may have
// missed.
func (l *Link) resubscribed(r *request, ack jsonrpc.Message) {
	tag := member(protocol.MetaSubscriptionID, jsontext.Value(r.id.Raw()))
	tell := func(method string, params jsontext.Value) {
		params, _ = jsonedit.Set(params, tag, "_meta")
		l.do(Effect{Do: Deliver, ID: r.id, Message: jsonrpc.Notification(method, params)})
	}
	for _, list := range []string{"tools", "prompts", "resources"} {
		if jsonedit.Kind(ack.Params, "notifications", list+"ListChanged") == 't' {
			tell("notifications/"+list+"/list_changed", nil)
		}
	}
	uris, _ := jsonedit.Get(ack.Params, "notifications", "resourceSubscriptions")
	for uri := range jsonedit.Elements(uris) {
		tell("notifications/resources/updated", member("uri", uri))
	}
}
