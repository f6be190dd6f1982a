package seal

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/go-json-experiment/json/jsontext"
)

// Digest stands for what a request asks for.
type Digest [sha256.Size]byte

// DigestOf is the digest of a request: its method and its params, without what differs between a request and its retry (_meta,
// inputResponses and requestState). The order of members, space between tokens and the spelling of strings do not matter. Numbers count
// as they are written, since rounding them would let two different requests pass for one. Params must be what jsonrpc.Decode accepts.
func DigestOf(method string, params jsontext.Value) (d Digest) {
	h := sha256.New()
	field(h, []byte("mcpd request"))
	field(h, []byte(method))
	canonical(h, params)
	h.Sum(d[:0])
	return d
}

// field writes one part so that no two lists of parts look alike.
func field(h hash.Hash, part []byte) {
	length(h, len(part))
	h.Write(part)
}

// length writes how long a part is.
func length(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// Binding is whom and what a token is good for. None of it is in the token.
type Binding struct {
	Tenant, Principal, Upstream string
	Method                      string
	Params                      Digest
}

// authenticated is what the seal covers beside the state: the head of the token and the binding.
func (b Binding) authenticated(head string) []byte {
	h := sha256.New()
	for _, part := range []string{"mcpd requestState", head, b.Tenant, b.Principal, b.Upstream, b.Method} {
		field(h, []byte(part))
	}
	field(h, b.Params[:])
	return h.Sum(nil)
}
