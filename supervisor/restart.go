//go:build !broken_catalogue

package supervisor

import "mcpd/supervisor/otp"

// restartOf returns the restart type of an actor: always Permanent. With the build tag
// broken_catalogue the catalogue is never restarted, as a defect that the simulation must find.
func restartOf(string) otp.Restart { return otp.Permanent }
