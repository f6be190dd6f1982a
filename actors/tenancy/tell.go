package tenancy

import (
	"mcpd/gateway/ladder"
	"mcpd/telemetry"
)

// tell reports the new standing of a tenant.
func (m *Manager) tell(tenant string, x ladder.Effect, s ladder.Standing) {
	at := telemetry.Where{
		Tenant: tenant, Path: m.o.Supervisor().Path() + "/" + tenant, Incident: s.Incident,
	}
	calm := at // the end of a trouble opens no incident
	calm.Incident = ""
	retry := s.Wait(m.p.Now())
	if s.Operator {
		retry = 0
	}
	switch x {
	case ladder.TellPaused:
		m.o.Emit(telemetry.TenantPaused{
			Where: at, Times: telemetry.Count(s.Times), Retry: retry, Cause: s.Cause,
		})
	case ladder.TellQuarantined:
		m.o.Emit(telemetry.TenantQuarantined{
			Where: at, Times: telemetry.Count(s.Times), Retry: retry, Cause: s.Cause,
		})
	case ladder.TellResumed:
		m.o.Emit(telemetry.TenantResumed{Where: at, Probe: s.State == ladder.Probing})
	case ladder.TellReleased:
		m.o.Emit(telemetry.TenantReleased{Where: calm})
	case ladder.TellRestarted:
		m.o.Emit(telemetry.TenantRestarted{Where: calm})
	}
}
