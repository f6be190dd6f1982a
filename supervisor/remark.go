package supervisor

import (
	"mcpd/telemetry"
	"mcpd/transport/stdio"
)

// reportProcess reports what happened to processes other than running servers.
func (h *host) reportProcess(r stdio.Remark) {
	count := telemetry.Count(r.Count)
	switch r.What {
	case stdio.Earlier:
		h.recorder.Emit(telemetry.OrphansEnded{Left: "an earlier mcpd", Count: count})
	case stdio.Escaped:
		h.recorder.Emit(telemetry.OrphansEnded{Left: "a server", Count: count})
	case stdio.Survived:
		h.recorder.Emit(telemetry.OrphansSurvived{Count: count})
	case stdio.GuardLost:
		h.recorder.Emit(telemetry.GuardLost{Reason: r.Err.Error()})
	}
}
