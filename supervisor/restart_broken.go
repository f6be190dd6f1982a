//go:build broken_catalogue

package supervisor

import "mcpd/supervisor/otp"

// restartOf is broken on purpose: a catalogue that crashed is not restarted.
func restartOf(id string) otp.Restart {
	if id == "catalog" {
		return otp.Temporary
	}
	return otp.Permanent
}
