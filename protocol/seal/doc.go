// Package seal creates and opens the requestState that mcpd gives to modern clients. A requestState
// is an encrypted token that only mcpd can read or change. It is valid for one principal, one
// request and a limited time (2026-07-28 §basic/patterns/mrtr, "security").
//
// The package does not know the principal, the purpose of the state, or an earlier use of the
// token. The owner of the call must ensure that each round is answered only once. [Ring.Open]
// returns the same error for every invalid token.
package seal

// The bounds of tokens.
const (
	// MaxUpstream bounds a server's own state within a token, in bytes: 256 KiB. It is the size that
	// package mrtr allows.
	MaxUpstream = 256 << 10
	// MaxInstance bounds the name of an instance, in bytes.
	MaxInstance = 64
	// MaxToken bounds a token to open, in bytes. It is the size of the largest token that Seal
	// creates: base64 with a head.
	MaxToken = (MaxUpstream+1<<10)*4/3 + 64
)
