// Package auth authenticates callers: it turns the credentials of a request into a principal of
// one tenant, or refuses.
//
// Of a request it knows only the values of two HTTP header fields. It does not know what a
// principal may do, and it holds hashes of keys, never keys.
package auth

import (
	"errors"
	"fmt"
)

// Anonymous is the name of every caller's principal in a tenant that has no keys.
const Anonymous = "anonymous"

// Principal is the identity that a credential proves, within one tenant. It is comparable.
type Principal struct{ Tenant, Name string }

func (p Principal) String() string { return p.Tenant + "/" + p.Name }

var (
	// ErrUnauthorized is the only answer to an unknown tenant, a missing key and a wrong key: status
	// 401, the same bytes for all.
	ErrUnauthorized = errors.New("a valid key is required")

	// ErrAmbiguous refuses a request with more than one credential, with status 400.
	ErrAmbiguous = errors.New("more than one credential: send one Authorization or one X-API-Key, " +
		"or the same key in both")
)

// Key is one accepted credential: the hash of a key and the principal that the key proves.
// Several keys of a tenant may stand for one principal, so a key can be replaced without ending
// sessions.
type Key struct {
	Name string
	Hash Hash
}

// CheckName returns an error if a name cannot be the name of a principal.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case len(name) > MaxName:
		return fmt.Errorf("it is longer than %d bytes", MaxName)
	case name == Anonymous:
		return fmt.Errorf("%q is the principal of tenants without keys", Anonymous)
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' &&
			c != '.' && c != '@' {
			return errors.New("it may have letters, digits and -_.@ only")
		}
	}
	return nil
}

// MaxName bounds the name of a key in bytes, because the name appears in logs and in the tree.
const MaxName = 64
