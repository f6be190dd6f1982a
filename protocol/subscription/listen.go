package subscription

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/splice"
)

// Params is the filter as params of the subscriptions/listen that this host sends; protocol.Meta.Set completes them.
func (f Filter) Params() jsontext.Value {
	return append(append(jsontext.Value(`{"notifications":`), f.Notifications()...), '}')
}

// Acknowledged confirms what will be told. It is the first message of the subscription, whose id is that of the listen.
func (f Filter) Acknowledged(listen jsonrpc.ID) jsonrpc.Message {
	return jsonrpc.Notification("notifications/subscriptions/acknowledged", Tag(f.Params(), listen))
}

// Tag puts the id of a subscription into the params of a notification: everything that is told on one carries it.
func Tag(params jsontext.Value, listen jsonrpc.ID) jsontext.Value {
	if params.Kind() != '{' {
		params = jsontext.Value("{}")
	}
	id := jsontext.Value(listen.Raw())
	tagged, err := splice.Set(params, id, "_meta", protocol.MetaSubscriptionID)
	if err != nil { // _meta is no object: it gives way to one
		params, _ = splice.Delete(params, "_meta")
		tagged, _ = splice.Set(params, id, "_meta", protocol.MetaSubscriptionID)
	}
	return tagged
}

// Ended is the result that ends a subscription politely. Who ends it need not say who he is.
func Ended(listen jsonrpc.ID, server protocol.Implementation) jsontext.Value {
	out := append(jsontext.Value(`{"resultType":"complete","_meta":{"`+protocol.MetaSubscriptionID+`":`), listen.Raw()...)
	if server.Name != "" {
		out = append(append(out, `,"`+protocol.MetaServerInfo+`":`...), server.Raw()...)
	}
	return append(out, "}}"...)
}

// EndedFor is Ended with the reason, which its client finds in _meta: in words, by the incident that
// the log calls it, and when to listen again.
func EndedFor(why *protocol.Error, listen jsonrpc.ID, server protocol.Implementation) jsontext.Value {
	result := Ended(listen, server)
	told := func(name string, value jsontext.Value) { result, _ = splice.Set(result, value, "_meta", name) } // both are objects
	told("mcpd/reason", splice.Quote(why.Message))
	if incident, _ := splice.GetString(why.Data, "incident"); incident != "" {
		told("mcpd/incident", splice.Quote(incident))
	}
	if why.RetryAfter > 0 {
		told("mcpd/retryAfterMs", strconv.AppendInt(nil, why.RetryAfter.Milliseconds(), 10))
	}
	return result
}

// Wants reports whether the filter names the change of a list, by the method that tells it.
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
