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
	case ladder.ReportPaused:
		m.o.Emit(telemetry.TenantPaused{
			Where: at, Times: telemetry.Count(s.Ends), Retry: retry, Cause: s.Cause,
		})
	case ladder.ReportQuarantined:
		m.o.Emit(telemetry.TenantQuarantined{
			Where: at, Times: telemetry.Count(s.Ends), Retry: retry, Cause: s.Cause,
		})
	case ladder.ReportResumed:
		m.o.Emit(telemetry.TenantResumed{Where: at, Probe: s.State == ladder.Probing})
	case ladder.ReportReleased:
		m.o.Emit(telemetry.TenantReleased{Where: calm})
	case ladder.ReportRestarted:
		m.o.Emit(telemetry.TenantRestarted{Where: calm})
	}
}
