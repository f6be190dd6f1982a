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

// Down returns the reason why the session's tenant is down, with the incident and the time to
// retry; nil while the tenant runs.
func (h *Handle) Down() *protocol.Error { return h.index.down(h.endpoint.Tenant) }

func (x *Index) down(tenant string) *protocol.Error {
	if x.Down == nil {
		return nil
	}
	return x.Down(tenant)
}

// Explain turns an error of the actor runtime into the error that the client is told. If the tenant
// is down, and that is the cause, the client is told so. Any other error stays as it is.
func (h *Handle) Explain(err error) error {
	var told *protocol.Error
	if err == nil || errors.As(err, &told) && told.Condition != protocol.ConditionUpstreamLost {
		return err
	}
	if down := h.Down(); down != nil && (told != nil || otp.IsGone(err)) {
		return down
	}
	if errors.Is(err, otp.ErrOriginRefused) {
		return Shunned(h.endpoint.Tenant, err)
	}
	return err
}

// Shunned returns the error for a client whose tenant's messages have crashed a component that all
// tenants share. The tenant is about to be paused. The argument err wraps the crash, and so has the
// incident.
func Shunned(tenant string, err error) *protocol.Error {
	e := protocol.TenantDown(tenant, string(ladder.Paused), "", time.Second)
	e.Cause = err
	return e
}

// notReady returns the error for a client whose session's actor cannot be started now, because its
// tenant is down, or is being stopped or started.
func notReady(h *Handle) error {
	if down := h.Down(); down != nil {
		return down
	}
	return protocol.Starting("tenant "+h.endpoint.Tenant, time.Second)
}

// ended returns the outcome of a message whose tenant is down. A subscription that the client knows
// of ends with a result, as the specification has a server end it (2026-07-28
// §basic/patterns/subscriptions).
func (d *Deliver) ended(down *protocol.Error, sent bool) jsonrpc.Message {
	if d.acknowledged {
		return jsonrpc.Response(d.Message.ID,
			subscription.EndedFor(down, d.Message.ID, d.handle.index.Self))
	}
	return jsonrpc.Failure(d.Message.ID,
		protocol.Translate(down.EndedBeforeAnswer(d.handle.endpoint.Server,
			sent).MarkRetryable(d.Message.Method),
			d.Version))
}
