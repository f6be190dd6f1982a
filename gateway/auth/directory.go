package auth

import (
	"crypto/subtle"
	"slices"
	"strings"
)

// Directory holds the key hashes of all tenants. It is immutable and safe for concurrent use.
type Directory struct {
	tenants map[string][]Key
	// decoys are keys of no principal. There are as many as the largest tenant has keys.
	decoys []Key
}

// NewDirectory returns the directory of these tenants. A tenant without keys accepts every caller
// as Anonymous. The configuration allows such a tenant only where no other machine can reach it.
func NewDirectory(tenants map[string][]Key) *Directory {
	d := &Directory{tenants: make(map[string][]Key, len(tenants))}
	most := 1
	for name, keys := range tenants {
		d.tenants[name] = append([]Key(nil), keys...)
		most = max(most, len(keys))
	}
	d.decoys = make([]Key, most) // No known key hashes to zero.
	return d
}

// Credentials are all values of a request's header fields Authorization and X-API-Key.
type Credentials struct{ Authorization, APIKey []string }

// Present reports whether a request carries a credential at all.
func (c Credentials) Present() bool { return present(c.Authorization) || present(c.APIKey) }

func present(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) != "" })
}

// token returns the key that a request carries, or an empty string. Two different keys are
// ambiguous. Two fields of the same name are ambiguous as well, because HTTP peers disagree about
// which of them counts.
func (c Credentials) token() (string, error) {
	if len(c.Authorization) > 1 || len(c.APIKey) > 1 {
		return "", ErrAmbiguous
	}
	token := ""
	if len(c.Authorization) == 1 {
		token = bearer(c.Authorization[0])
	}
	if !present(c.APIKey) {
		return token, nil
	}
	if key := strings.Trim(c.APIKey[0], " \t"); !present(c.Authorization) {
		token = key
	} else if key != token {
		return "", ErrAmbiguous
	}
	return token, nil
}

// Authenticate returns the principal of a request to a tenant. Its errors are ErrUnauthorized and
// ErrAmbiguous. Each refusal hashes one token and compares it with as many hashes as the largest
// tenant has, so neither the answer nor its time reveals which tenants exist.
func (d *Directory) Authenticate(tenant string, c Credentials) (Principal, error) {
	token, err := c.token()
	if err != nil {
		return Principal{}, err
	}
	keys, known := d.tenants[tenant]
	if known && len(keys) == 0 {
		return Principal{Tenant: tenant, Name: Anonymous}, nil
	}
	hash := HashKey(token)
	found := -1
	for i := range d.decoys {
		candidate := &d.decoys[i]
		if i < len(keys) {
			candidate = &keys[i]
		}
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], candidate.Hash[:]), i,
			found)
	}
	if token == "" || found < 0 || found >= len(keys) {
		return Principal{}, ErrUnauthorized
	}
	return Principal{Tenant: tenant, Name: keys[found].Name}, nil
}

// bearer returns the token of a Bearer credential (RFC 6750 §2.1, the scheme in any case), or "".
func bearer(header string) string {
	scheme, token, ok := strings.Cut(strings.Trim(header, " \t"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	token = strings.TrimLeft(token, " ")
	if strings.ContainsAny(token, " \t,") {
		return ""
	}
	return token
}
