package session

import (
	"errors"
	"time"

	"mcpd/gateway/ladder"
	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/protocol/subscription"
	"mcpd/supervisor/otp"
)

// Down is why the session's tenant does not run, with the incident and the time to come back; nil
// while it runs.
func (h *Handle) Down() *protocol.Error { return h.index.down(h.endpoint.Tenant) }

func (x *Index) down(tenant string) *protocol.Error {
	if x.Down == nil {
		return nil
	}
	return x.Down(tenant)
}

// Explain says what the client is told of an error of the actor runtime: that its tenant is down,
// where that is the cause. Any other error stays as it is.
func (h *Handle) Explain(err error) error {
	var told *protocol.Error
	if err == nil || errors.As(err, &told) && told.Condition != protocol.ConditionUpstreamLost {
		return err
	}
	if down := h.Down(); down != nil && (told != nil || otp.IsGone(err)) {
		return down
	}
	if errors.Is(err, otp.ErrShunned) {
		return Shunned(h.endpoint.Tenant, err)
	}
	return err
}

// Shunned is what a client is told whose tenant's messages have crashed a component that all tenants
// share. The tenant is about to be paused; err knows the incident.
func Shunned(tenant string, err error) *protocol.Error {
	e := protocol.TenantDown(tenant, string(ladder.Paused), "", time.Second)
	e.Cause = err
	return e
}

// unready is what a client is told when its session's actor cannot be started now: its tenant is
// down, or is being stopped or started.
func unready(h *Handle) error {
	if down := h.Down(); down != nil {
		return down
	}
	return protocol.Unready("tenant "+h.endpoint.Tenant, time.Second)
}

// ended is the outcome of a message whose tenant is down. A subscription that its client knows of
// ends in the way in which the specification has a server end it (2026-07-28
// §basic/patterns/subscriptions): by a result.
func (d *Deliver) ended(down *protocol.Error, sent bool) jsonrpc.Message {
	if d.told {
		return jsonrpc.Response(d.Message.ID, subscription.EndedFor(down, d.Message.ID, d.handle.index.Self))
	}
	return jsonrpc.Failure(d.Message.ID, protocol.Translate(down.Cut(d.handle.endpoint.Server, sent).Repeating(d.Message.Method), d.Version))
}
