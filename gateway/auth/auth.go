// Package auth decides who is calling: it turns the credentials of a request into a principal of one tenant, or refuses.
//
// It does not know HTTP beyond the values of two header fields, what a principal may do, or any key: it holds their hashes only.
package auth

import (
	"errors"
	"fmt"
)

// Anonymous is the name of every caller's principal in a tenant that has no keys.
const Anonymous = "anonymous"

// Principal is who a credential stands for, within one tenant. Comparable.
type Principal struct{ Tenant, Name string }

func (p Principal) String() string { return p.Tenant + "/" + p.Name }

// Challenge is the WWW-Authenticate header that goes with ErrUnauthorized.
const Challenge = `Bearer realm="mcpd"`

var (
	// ErrUnauthorized is the one answer to an unknown tenant, a missing key and a wrong key: 401, the same bytes for all.
	ErrUnauthorized = errors.New("a valid key is required")

	// ErrAmbiguous refuses a request with more than one credential: 400.
	ErrAmbiguous = errors.New("more than one credential: send one Authorization or one X-API-Key, or the same key in both")
)

// Key is one accepted credential: the hash of the key and the principal it stands for. Several keys of a tenant may stand for one
// principal, which is how a key is replaced without ending sessions.
type Key struct {
	Name string
	Hash Hash
}

// CheckName says why a name cannot be a principal's.
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
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' && c != '@' {
			return errors.New("it may have letters, digits and -_.@ only")
		}
	}
	return nil
}

// MaxName bounds the name of a key: it appears in logs and in the tree.
const MaxName = 64
