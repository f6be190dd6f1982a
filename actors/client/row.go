package client

import (
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Row is the id of a connection below its own supervisor.
const Row = "connection"

// Supervised puts a connection under a supervisor of its own, so that crashes which its clients
// cause in their server count against this budget and no other. The supervisor ends when the budget
// runs out and when the connection ends for good; the supervisor above does not count that.
func Supervised(key tenant.Key, budget tenant.Intensity, connection otp.Child) otp.Child {
	connection.ID, connection.Restart, connection.Significant = Row, otp.Transient, true
	return otp.Child{ID: key.String(), Label: telemetry.TransientLabel, Restart: otp.Transient,
		Start: otp.Supervisor(otp.Spec{
			Intensity:    otp.Intensity{Restarts: budget.Restarts, Within: budget.Within},
			AutoShutdown: otp.AnySignificant,
			Children:     []otp.Child{connection},
		})}
}
