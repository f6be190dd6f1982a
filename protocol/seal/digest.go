package seal

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/go-json-experiment/json/jsontext"
)

// Digest is a hash of the content of a request.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a request: its method and its params, without the members that
// differ between a request and its retry (_meta, inputResponses and requestState). The order of
// members, the space between tokens and the escapes in strings do not matter. Numbers count as
// written, because rounding could make two different requests equal. Params must be input that
// jsonrpc.Decode accepts.
func DigestOf(method string, params jsontext.Value) (d Digest) {
	h := sha256.New()
	field(h, []byte("mcpd request"))
	field(h, []byte(method))
	canonical(h, params)
	h.Sum(d[:0])
	return d
}

// field writes one part with its length, so that different lists of parts have different hashes.
func field(h hash.Hash, part []byte) {
	length(h, len(part))
	h.Write(part)
}

// length writes the length of a part.
func length(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// Binding identifies the principal and the request that a token is valid for. The token itself
// contains none of it.
type Binding struct {
	Tenant, Principal, Upstream string
	Method                      string
	Params                      Digest
}

// additionalData returns the additional data of the encryption: a hash of the head of the token and
// the binding.
func (b Binding) additionalData(head string) []byte {
	h := sha256.New()
	for _, part := range []string{"mcpd requestState", head, b.Tenant, b.Principal,
		b.Upstream, b.Method} {
		field(h, []byte(part))
	}
	field(h, b.Params[:])
	return h.Sum(nil)
}
