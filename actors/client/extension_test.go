package client_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/gateway/quota"
	"mcpd/protocol"
	"mcpd/telemetry"
)

// Notifications of an extension that wait until the server is ready are bounded and counted.
func TestNotificationsThatWaitAreBounded(t *testing.T) {
	run(t, nil, func(r *rig) {
		account := quota.NewLedger(nil).Account("acme")
		tell := func() {
			r.send(&client.ClientNotification{
				Method: "notifications/things", Params: jsontext.Value(`{}`), From: protocol.V20251125,
				Kept: account.Count(quota.Requests, 2),
			})
		}
		r.attach("one")
		for range client.MaxClientNotifications + 3 {
			tell()
		}
		r.WaitIdle()
		if n := account.Total(); n != 2*client.MaxClientNotifications {
			t.Errorf("%d bytes count", n)
		}
		p := r.ready(`{"tools":{}}`)
		for range client.MaxClientNotifications {
			p.Expect("notifications/things")
		}
		tell()
		p.Expect("notifications/things")
		r.WaitIdle()
		if n := account.Total(); n != 0 {
			t.Errorf("%d bytes count afterwards", n)
		}
		dropped := uint32(0)
		for _, e := range testrig.Of[telemetry.NotificationDropped](&r.Events) {
			dropped += e.Count
		}
		if dropped == 0 {
			t.Error("nothing is told of those beyond")
		}
	})
}
