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

// Key is a secret under a name. The name is in each token that it seals, so it must not tell anything; it has letters, digits and "-".
// With random nonces one key is good for 2^32 tokens: replace it well before.
type Key struct {
	ID     string
	Secret [32]byte // AES-256
}

// maxKeyID bounds the name of a key, in bytes.
const maxKeyID = 16

// version begins each token; another layout gets another one.
const version = "v1."

// Ring is the keys of a host. It is made by NewRing, and safe for concurrent use if its source of randomness is.
type Ring struct {
	random io.Reader
	head   string // of the tokens that are made
	first  cipher.AEAD
	keys   map[string]cipher.AEAD
}

// NewRing is a ring that seals with the first key and opens with all of them. A key is replaced in two steps: first it is added behind
// the old one on every host, then put in front; the old one stays until what it sealed has expired.
func NewRing(random io.Reader, keys ...Key) (*Ring, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key to seal with")
	}
	r := &Ring{random: random, head: version + keys[0].ID + ".", keys: make(map[string]cipher.AEAD, len(keys))}
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

// Seal makes the token of a state that is good for b alone. It fails when the state is larger than the bounds, or randomness is not to
// be had.
func (r *Ring) Seal(b Binding, s State) (string, error) {
	plain, err := s.encode()
	if err != nil {
		return "", err
	}
	sealed := make([]byte, r.first.NonceSize(), r.first.NonceSize()+len(plain)+r.first.Overhead())
	if _, err := io.ReadFull(r.random, sealed); err != nil {
		return "", fmt.Errorf("no nonce: %w", err)
	}
	sealed = r.first.Seal(sealed, sealed, plain, b.authenticated(r.head))
	return r.head + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open is the state of a token that a client with that binding sent. A token that was changed, made by others, sealed with a key that is
// gone, bound to something else or expired gives protocol.StateInvalid (-32602), which does not say what of these it was.
func (r *Ring) Open(now time.Time, b Binding, token string) (State, error) {
	head, aead, sealed := r.split(token)
	n := aead.NonceSize()
	if len(sealed) < n {
		sealed = make([]byte, n) // refused below, after the same work
	}
	plain, err := aead.Open(nil, sealed[:n], sealed[n:], b.authenticated(head))
	if err != nil {
		return State{}, protocol.StateInvalid("requestState")
	}
	s, ok := decode(plain)
	if !ok || !now.Before(s.Expiry) {
		return State{}, protocol.StateInvalid("requestState")
	}
	return s, nil
}

// split takes a token apart. What has not the form of one is given the first key and nothing to open.
func (r *Ring) split(token string) (head string, aead cipher.AEAD, sealed []byte) {
	dot := strings.LastIndexByte(token, '.')
	if len(token) > MaxToken || !strings.HasPrefix(token, version) || dot < len(version) {
		return r.head, r.first, nil
	}
	aead, ok := r.keys[token[len(version):dot]]
	text := token[dot+1:]
	if !ok || strings.ContainsAny(text, "\r\n") { // line breaks are skipped by the decoder, and would make two tokens of one
		return r.head, r.first, nil
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return r.head, r.first, nil
	}
	return token[:dot+1], aead, sealed
}
