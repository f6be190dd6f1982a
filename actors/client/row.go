package client

import (
	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Row is the id of a connection below the supervisor that it has for itself.
const Row = "connection"

// Supervised is a connection under a supervisor of its own. Whatever its clients make their server do is counted against this budget, and
// against nobody else's. When it runs out, and when the connection ends for good, the supervisor ends too; the one above does not count it.
func Supervised(key tenant.Key, budget tenant.Intensity, connection otp.Child) otp.Child {
	connection.ID, connection.Restart, connection.Significant = Row, otp.Transient, true
	return otp.Child{ID: key.String(), Label: telemetry.Passing, Restart: otp.Transient, Start: otp.Supervisor(otp.Spec{
		Intensity:    otp.Intensity{Restarts: budget.Restarts, Within: budget.Within},
		AutoShutdown: otp.AnySignificant,
		Children:     []otp.Child{connection},
	})}
}
