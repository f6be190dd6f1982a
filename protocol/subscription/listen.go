package subscription

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Params returns the params of a subscriptions/listen that the host sends. The caller completes
// them with protocol.Meta.Set.
func (f Filter) Params() jsontext.Value {
	return append(append(jsontext.Value(`{"notifications":`), f.Notifications()...), '}')
}

// Acknowledged returns the notification that confirms the granted filter. It is the first message
// of the subscription. Listen is the id of the subscriptions/listen request, which is also the id
// of the subscription (2026-07-28 §basic/patterns/subscriptions).
func (f Filter) Acknowledged(listen jsonrpc.ID) jsonrpc.Message {
	return jsonrpc.Notification("notifications/subscriptions/acknowledged", Tag(f.Params(), listen))
}

// Tag puts the id of a subscription into the params of a notification. Every notification of a
// subscription carries that id.
func Tag(params jsontext.Value, listen jsonrpc.ID) jsontext.Value {
	if params.Kind() != '{' {
		params = jsontext.Value("{}")
	}
	id := jsontext.Value(listen.Raw())
	tagged, err := jsonedit.Set(params, id, "_meta", protocol.MetaSubscriptionID)
	// _meta is not an object: an object replaces it.
	if err != nil {
		params, _ = jsonedit.Delete(params, "_meta")
		tagged, _ = jsonedit.Set(params, id, "_meta", protocol.MetaSubscriptionID)
	}
	return tagged
}

// Ended returns the result that ends a subscription normally. Server may be zero, because
// serverInfo is optional.
func Ended(listen jsonrpc.ID, server protocol.Implementation) jsontext.Value {
	out := append(jsontext.Value(`{"resultType":"complete","_meta":{"`+protocol.MetaSubscriptionID+
		`":`), listen.Raw()...)
	if server.Name != "" {
		out = append(append(out, `,"`+protocol.MetaServerInfo+`":`...), server.Raw()...)
	}
	return append(out, "}}"...)
}

// EndedFor is Ended with a reason for the client. The result's _meta holds the reason in words, the
// id of the incident in the log, and the time to wait before the next subscriptions/listen.
func EndedFor(refusal *protocol.Error, listen jsonrpc.ID,
	server protocol.Implementation) jsontext.Value {
	result := Ended(listen, server)
	// The result and its _meta are objects, so Set cannot fail.
	told := func(name string, value jsontext.Value) {
		result, _ = jsonedit.Set(result, value, "_meta", name)
	}
	told("mcpd/reason", jsonedit.Quote(refusal.Message))
	if incident, _ := jsonedit.GetString(refusal.Data, "incident"); incident != "" {
		told("mcpd/incident", jsonedit.Quote(incident))
	}
	if refusal.RetryAfter > 0 {
		told("mcpd/retryAfterMs", strconv.AppendInt(nil, refusal.RetryAfter.Milliseconds(), 10))
	}
	return result
}

// Wants reports whether the filter requests the list_changed notification with that method.
func (f Filter) Wants(method string) bool {
	switch method {
	case "notifications/tools/list_changed":
		return f.Tools
	case "notifications/prompts/list_changed":
		return f.Prompts
	case "notifications/resources/list_changed":
		return f.Resources
	}
	return false
}
