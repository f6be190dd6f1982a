package memory_test

import (
	"strings"
	"testing"
	"time"

	"mcpd/actors/internal/testrig"
	"mcpd/actors/memory"
	"mcpd/gateway/quota"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// The log names the tenants that are refused for their memory, at a bounded rate, and the tenant
// that keeps the most when the level changes. The status names the tenants refused lately, and no
// others.
func TestManagerNamesWhoKeepsTooMuch(t *testing.T) {
	run(t, func(h *host) {
		h.kept.Bound(quota.Bounds{Tenants: 2, Total: 400})
		h.kept.Account("initech").Add(quota.Lists, 20)
		acme := h.kept.Account("acme")
		acme.Add(quota.HeldCalls, 300)
		for range 40 {
			if _, full := acme.Reserve(quota.Requests, 50); full == nil {
				t.Fatal("it is not refused")
			}
			time.Sleep(300 * time.Millisecond)
		}
		h.has(900, time.Second)
		told := testrig.Of[telemetry.TenantRefused](&h.Events)
		if len(told) != 2 || told[0].Tenant != "acme" || told[0].Kept != 300 || told[0].Kinds == "" ||
			told[0].Count+told[1].Count < 30 {
			t.Errorf("the log was told %+v", told)
		}
		levels := testrig.Of[telemetry.MemoryLevel](&h.Events)
		if len(levels) != 1 || !strings.HasPrefix(levels[0].Most, "acme keeps ") {
			t.Errorf("levels: %+v", levels)
		}
		if s := h.status(); len(s.Refused) != 1 || s.Refused[0].Tenant != "acme" ||
			s.Largest.Tenant != "acme" {
			t.Errorf("the status is %+v", s)
		}
		if h.has(900, memory.LatelyRefused+time.Second); len(h.status().Refused) != 0 {
			t.Errorf("later it is %+v", h.status())
		}
	})
}

func (h *host) status() (found memory.Status) {
	for _, n := range h.System.Snapshot().Children {
		n.Walk(func(n otp.Node) bool {
			if s, ok := n.Extra.(memory.Status); ok {
				found = s
			}
			return true
		})
	}
	return found
}
