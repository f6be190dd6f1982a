package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mcpd/protocol"
)

// Key is a secret with a name. Each token contains the name of its key, so the name must not reveal
// anything. It consists of letters, digits and "-". Nonces are random, so one key is safe for 2^32
// tokens; replace it well before.
type Key struct {
	ID     string
	Secret [32]byte // AES-256
}

// maxKeyID bounds the name of a key, in bytes.
const maxKeyID = 16

// version begins each token. A different layout needs a different version.
const version = "v1."

// Ring holds the keys of a host. Create it with NewRing. It is safe for concurrent use if its
// source of randomness is.
type Ring struct {
	random io.Reader
	head   string // of new tokens
	first  cipher.AEAD
	keys   map[string]cipher.AEAD
}

// NewRing returns a ring that seals with the first key and opens with all keys. Replace a key in
// two steps. First add the new key behind the old one on every host. Then put the new key in front,
// and keep the old one until the tokens that it sealed have expired. NewRing returns an error if
// there is no key, or if a name is invalid or duplicate.
func NewRing(random io.Reader, keys ...Key) (*Ring, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key to seal with")
	}
	r := &Ring{
		random: random, head: version + keys[0].ID + ".", keys: make(map[string]cipher.AEAD, len(keys)),
	}
	for _, k := range keys {
		if !validID(k.ID) {
			return nil, fmt.Errorf("key id %.32q is not of 1 to %d letters, digits and -", k.ID, maxKeyID)
		}
		if r.keys[k.ID] != nil {
			return nil, fmt.Errorf("two keys have the id %q", k.ID)
		}
		block, err := aes.NewCipher(k.Secret[:])
		if err != nil {
			return nil, err
		}
		if r.keys[k.ID], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
	}
	r.first = r.keys[keys[0].ID]
	return r, nil
}

func validID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return id != "" && len(id) <= maxKeyID
}

// Seal returns the token of a state that is valid only for b. It returns an error if the state
// exceeds the bounds or the source of randomness fails.
func (r *Ring) Seal(b Binding, s State) (string, error) {
	plain, err := s.encode()
	if err != nil {
		return "", err
	}
	sealed := make([]byte, r.first.NonceSize(), r.first.NonceSize()+len(plain)+r.first.Overhead())
	if _, err := io.ReadFull(r.random, sealed); err != nil {
		return "", fmt.Errorf("no nonce: %w", err)
	}
	sealed = r.first.Seal(sealed, sealed, plain, b.additionalData(r.head))
	return r.head + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open returns the state of a token that a client with binding b sent. The error for an invalid
// token is always protocol.StateInvalid (-32602). A token is invalid if it was changed, forged,
// sealed with an unknown key, bound to another client or request, or expired. The error does not
// reveal the reason.
func (r *Ring) Open(now time.Time, b Binding, token string) (State, error) {
	head, aead, sealed := r.split(token)
	n := aead.NonceSize()
	if len(sealed) < n {
		sealed = make([]byte, n) // refused below, after the same work
	}
	plain, err := aead.Open(nil, sealed[:n], sealed[n:], b.additionalData(head))
	if err != nil {
		return State{}, protocol.StateInvalid("requestState")
	}
	s, ok := decode(plain)
	if !ok || !now.Before(s.Expiry) {
		return State{}, protocol.StateInvalid("requestState")
	}
	return s, nil
}

// split separates the parts of a token. For a malformed token it returns the first key and an empty
// ciphertext.
func (r *Ring) split(token string) (head string, aead cipher.AEAD, sealed []byte) {
	dot := strings.LastIndexByte(token, '.')
	if len(token) > MaxToken || !strings.HasPrefix(token, version) || dot < len(version) {
		return r.head, r.first, nil
	}
	aead, ok := r.keys[token[len(version):dot]]
	text := token[dot+1:]
	// The decoder skips line breaks, so with them one token would have two spellings.
	if !ok || strings.ContainsAny(text, "\r\n") {
		return r.head, r.first, nil
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return r.head, r.first, nil
	}
	return token[:dot+1], aead, sealed
}
