package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Hash is the SHA-256 of a key. A key has 256 random bits, so a plain, fast hash is safe.
type Hash [sha256.Size]byte

// String returns the form that the configuration uses: hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// HashKey returns the hash of a key.
func HashKey(key string) Hash { return sha256.Sum256([]byte(key)) }

// ParseHash parses a hash of 64 hexadecimal digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return h, fmt.Errorf("a SHA-256 has %d hexadecimal digits, this has %d characters",
			2*len(h), len(s))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return h, errors.New("a SHA-256 is written in hexadecimal digits")
	}
	if h == HashKey("") {
		return h, errors.New("this is the SHA-256 of nothing")
	}
	return h, nil
}

// Prefix begins every key made here, so that scanners for leaked secrets can recognize a key.
const Prefix = "mcpd_"

// keyDigits is how many base-62 digits hold 256 bits: 62^43 > 2^256.
const keyDigits = 43

// NewKey generates a key of 256 random bits. The caller shows the key once and does not store it.
// The hash goes into the configuration.
func NewKey() (key string, hash Hash) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // It never fails: the runtime ends the program instead.
	digits := new(big.Int).SetBytes(random[:]).Text(62)
	key = Prefix + strings.Repeat("0", keyDigits-len(digits)) + digits
	return key, HashKey(key)
}
