package client

import (
	"time"

	"mcpd/actors/request"
	"mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// lost settles every call that was written to a connection that is gone. A call that may be sent
// again is sent to the next connection, once, within the server's retry budget. Any other call is
// answered: it may have been executed.
func (c *carriedState) lost(server string, now time.Time) {
	withheld := withholding{}
	for _, x := range c.written.All() {
		c.written.Remove(x)
		if !x.Settled() && !x.Resent() && !c.full() && c.repeatable(x) && c.o.Known.retries.Take(now) {
			x.ResendAfterDeath()
			c.queue = append(c.queue, x)
			continue
		}
		complete(x, nil, withheld.lost(server, x, true, c.cause))
	}
	withheld.tell(c.o)
}

// repeatable reports whether a request does no harm a second time. That depends on its method, or
// on the hints of a tool if the operator believes them (2025-11-25 §schema, ToolAnnotations: hints
// of an untrusted server are nothing to go by).
func (c *carriedState) repeatable(x *request.Exchange) bool {
	if x.Method != "tools/call" ||
		c.o.Replay != tenant.ReplayReadOnly && c.o.Replay != tenant.ReplayIdempotent {
		return protocol.IsReadOnly(x.Method)
	}
	name, _ := jsonedit.GetString(x.Params, "name")
	for _, tool := range c.listing.lists[catalog.Tools] {
		if is, _ := jsonedit.GetString(tool, "name"); is != name {
			continue
		}
		hints, _ := jsonedit.Get(tool, "annotations")
		return holds(hints, "readOnlyHint") ||
			c.o.Replay == tenant.ReplayIdempotent && holds(hints, "idempotentHint")
	}
	return false
}

func holds(hints []byte, name string) bool {
	v, ok := jsonedit.Get(hints, name)
	return ok && v.Kind() == 't'
}
