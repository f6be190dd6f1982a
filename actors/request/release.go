//go:build !broken_budget

package request

// release releases the bytes that an exchange has reserved. With the build tag broken_budget a
// cancelled exchange releases nothing: experiments must detect that.
func release(x *Exchange, _ Ending) { x.reservation.Load().Release() }
