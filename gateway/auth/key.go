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

// Hash is the SHA-256 of a key. A key has 256 random bits, so that a plain, fast hash gives nothing away.
type Hash [sha256.Size]byte

// String is the form used in the configuration.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// HashKey returns the hash of a key.
func HashKey(key string) Hash { return sha256.Sum256([]byte(key)) }

// ParseHash reads 64 hexadecimal digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return h, fmt.Errorf("a SHA-256 has %d hexadecimal digits, this has %d characters", 2*len(h), len(s))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return h, errors.New("a SHA-256 is written in hexadecimal digits")
	}
	if h == HashKey("") {
		return h, errors.New("this is the SHA-256 of nothing")
	}
	return h, nil
}

// Prefix begins every key made here, so that scanners for leaked secrets can know one.
const Prefix = "mcpd_"

// keyDigits in base 62 hold 256 bits: 62^43 > 2^256.
const keyDigits = 43

// NewKey makes a key of 256 random bits. It is shown once and kept nowhere; the hash goes into the configuration.
func NewKey() (key string, hash Hash) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the program first
	digits := new(big.Int).SetBytes(random[:]).Text(62)
	key = Prefix + strings.Repeat("0", keyDigits-len(digits)) + digits
	return key, HashKey(key)
}
