package telemetry

import (
	"strings"

	"mcpd/internal/fault"
)

// Faulted returns a function that passes the changes of a fault registry to emit as events.
func Faulted(emit func(Event)) func(fault.Change) {
	return func(c fault.Change) {
		if e := faultEvent(c); e != nil {
			emit(e)
		}
	}
}

func faultEvent(c fault.Change) Event {
	where := Where{Tenant: c.Point.Tenant, Server: c.Point.Server}
	switch c.Kind {
	case fault.Armed:
		return FaultArmed{
			Where: where, Fault: c.ID, Action: string(c.Action), Target: target(c.Point), Lease: c.Lease,
			Run: c.Run,
		}
	case fault.Renewed:
		return FaultRenewed{Where: where, Fault: c.ID, Lease: c.Lease}
	case fault.Struck:
		return FaultHit{Where: where, Fault: c.ID, Action: string(c.Action)}
	case fault.Disarmed, fault.UsedUp, fault.Expired:
		return FaultDisarmed{Where: where, Fault: c.ID, Cause: string(c.Kind), Hits: Count(c.Struck)}
	}
	return nil
}

// target describes where a fault strikes.
func target(p fault.Point) string {
	if p.Path != "" {
		return p.Path
	}
	words := []string{string(p.Place)}
	for _, w := range []struct{ key, value string }{{"tenant", p.Tenant}, {"server", p.Server},
		{"session", p.Session}} {
		if w.value != "" {
			words = append(words, w.key+"="+w.value)
		}
	}
	return strings.Join(words, " ")
}
