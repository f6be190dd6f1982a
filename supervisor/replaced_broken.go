//go:build broken_restart

package supervisor

import "mcpd/supervisor/otp"

// replaced is broken on purpose: a child that crashes is not restarted.
func replaced(c otp.Child) otp.Child {
	c.Restart = otp.Temporary
	return c
}
