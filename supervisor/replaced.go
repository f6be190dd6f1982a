//go:build !broken_restart

package supervisor

import "mcpd/supervisor/otp"

// replaced is a child that is started again whenever it crashes. With the tag broken_restart it is not: experiments must find that out.
func replaced(c otp.Child) otp.Child { return c }
