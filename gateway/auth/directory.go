package auth

import (
	"crypto/subtle"
	"strings"
)

// Directory knows the keys of all tenants. It is never changed after it was made, and safe for concurrent use.
type Directory struct {
	tenants map[string][]Key
	decoys  []Key // nobody's; as many as the largest tenant has
}

// NewDirectory returns the directory of these tenants. One without keys accepts everyone as Anonymous: the configuration admits that
// only where nobody but this machine can reach it.
func NewDirectory(tenants map[string][]Key) *Directory {
	d := &Directory{tenants: make(map[string][]Key, len(tenants))}
	most := 1
	for name, keys := range tenants {
		d.tenants[name] = append([]Key(nil), keys...)
		most = max(most, len(keys))
	}
	d.decoys = make([]Key, most) // no key is known to hash to zero
	return d
}

// Authenticate returns the principal that a request to a tenant comes from; authorization are all values of its Authorization
// headers. Its errors are ErrUnauthorized and ErrAmbiguous. Each refusal hashes one token and compares it with as many hashes as the
// largest tenant has, so that neither the answer nor its time tells which tenants exist.
func (d *Directory) Authenticate(tenant string, authorization []string) (Principal, error) {
	if len(authorization) > 1 {
		return Principal{}, ErrAmbiguous
	}
	keys, known := d.tenants[tenant]
	if known && len(keys) == 0 {
		return Principal{Tenant: tenant, Name: Anonymous}, nil
	}
	token := ""
	if len(authorization) == 1 {
		token = bearer(authorization[0])
	}
	hash := HashKey(token)
	found := -1
	for i := range d.decoys {
		candidate := &d.decoys[i]
		if i < len(keys) {
			candidate = &keys[i]
		}
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], candidate.Hash[:]), i, found)
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
