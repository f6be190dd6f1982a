package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpd/actors/session"
	"mcpd/protocol"
	"mcpd/protocol/negotiation"
	"mcpd/supervisor/otp"
	"mcpd/transport/streamable"
)

func (r *rig) negotiated(idle time.Duration) *session.Handle {
	r.t.Helper()
	c, err := negotiation.ParseClient(
		[]byte(`{"client_name":"probe","client_version":"1","supported_capabilities":["sampling"]}`),
	)
	if err != nil {
		r.t.Fatal(err)
	}
	h, err := otp.Do[session.OpenRequest, *session.Handle](r.t.Context(), r.ref, session.OpenRequest{
		Endpoint: streamable.Endpoint{Tenant: "acme", Principal: "ci"}, Negotiated: c, Idle: idle,
		Peer: &session.Peer{Version: protocol.Latest, Capabilities: c.Capabilities(), Info: c.Info},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

// S3-18, S3-19, S3-23, S3-48: each negotiation makes a separate session, which is ready at once and
// knows what its client declared.
func TestNegotiatedSession(t *testing.T) {
	run(t, func(r *rig) {
		one, other := r.negotiated(time.Hour), r.negotiated(time.Hour)
		if one == other || one.ID() == other.ID() || len(one.ID()) < 52 {
			t.Errorf("two negotiations make %q and %q", one.ID(), other.ID())
		}
		record := one.Record()
		if record == nil || !record.Ready || record.Client.Name != "probe" ||
			!record.Capabilities.Has("sampling") || one.IsPeer() {
			t.Errorf("its record is %+v, shared %t", record, one.IsPeer())
		}
		if got := one.Negotiated(); got == nil || !got.Has("sampling") || r.open().Negotiated() != nil {
			t.Errorf("its terms are %v", got)
		}
		if one.Opened().IsZero() || !one.LastActive().Equal(one.Opened()) {
			t.Errorf("opened %v, last active %v", one.Opened(), one.LastActive())
		}
	})
}

// S3-38, S3-39: a negotiated session ends an hour after its last use, even if the tenant's limit is
// longer, and earlier if the tenant's limit is shorter.
func TestNegotiatedSessionEndsInItsOwnTime(t *testing.T) {
	for tenant, idle := range map[time.Duration]time.Duration{24 * time.Hour: time.Hour,
		time.Minute: time.Hour} {
		runIdle(t, tenant, func(r *rig) {
			h, lasts := r.negotiated(idle), min(tenant, idle)
			time.Sleep(lasts / 2)
			h.Touch()
			time.Sleep(lasts - time.Millisecond)
			synctest.Wait()
			if !r.there(h) {
				t.Errorf("after %v less a moment it is gone", lasts)
			}
			time.Sleep(max(lasts/30, 2*time.Second))
			synctest.Wait()
			if r.there(h) {
				t.Errorf("after %v it is still there", lasts)
			}
		})
	}
}
