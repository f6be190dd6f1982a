//go:build !broken_catalogue

package supervisor

import "mcpd/supervisor/otp"

// restartOf is when an actor is restarted: always. With the tag broken_catalogue the catalogue never is: the simulation
// must find that out.
func restartOf(string) otp.Restart { return otp.Permanent }
