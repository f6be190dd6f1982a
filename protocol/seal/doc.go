// Package seal makes and opens the requestState that mcpd gives to modern clients: a token that nobody else can read or change, and that
// is good for one principal, one request and a limited time (2026-07-28 §basic/patterns/mrtr, "security").
//
// It does not know who the principal is, what the state is for, or whether it was used before: that a round is answered once is enforced
// by whoever keeps the call. Whatever is wrong with a token, [Ring.Open] says the same error.
package seal

const (
	// MaxUpstream bounds a server's own state within a token, in bytes: what mrtr lets a server send.
	MaxUpstream = 256 << 10
	// MaxInstance bounds the name of an instance, in bytes.
	MaxInstance = 64
	// MaxToken bounds a token that is opened, in bytes: the largest that is made, in base64, with its head.
	MaxToken = (MaxUpstream+1<<10)*4/3 + 64
)
