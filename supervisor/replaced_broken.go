//go:build broken_restart

package supervisor

import "mcpd/supervisor/otp"

// replaced is broken on purpose: what crashes stays away.
func replaced(c otp.Child) otp.Child {
	c.Restart = otp.Temporary
	return c
}
