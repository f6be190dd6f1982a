package terms

import (
	"strconv"
	"strings"
	"time"
)

// Place is what a path of the negotiation API is for, where rules apply.
type Place uint8

// The places.
const (
	Tool Place = iota
	Resource
	Subscription

	placeCount = int(iota)
)

// Rules are what an operator decides about the negotiation API.
type Rules struct {
	Required  bool             // a client has to negotiate first (S3-44)
	Needs     [placeCount]Need // what a client that negotiated must have declared
	Anonymous [placeCount]bool // where one may be that did not, unless Required
	Idle      time.Duration    // a session that is not used for so long ends (S3-38)
}

// Allows reports whether a client may be somewhere; nil is one that did not negotiate. If not, need is what it would have to declare; the
// zero Need says that it would have to negotiate.
func (r Rules) Allows(p Place, c *Client) (need Need, ok bool) {
	switch {
	case c == nil && r.Required:
		return Need{}, false
	case c == nil:
		return r.Needs[p], r.Anonymous[p]
	}
	return r.Needs[p], c.Meets(r.Needs[p])
}

// Need is a capability that is asked for, and the least version of it. The zero Need asks for nothing.
type Need struct {
	Capability string
	Version    string // "" for any
}

// None is how a configuration writes the zero Need.
const None = "none"

// ParseNeed reads "capability", "capability@version" or "none".
func ParseNeed(text string) (n Need, ok bool) {
	if text == None {
		return Need{}, true
	}
	n.Capability, n.Version, ok = strings.Cut(text, "@")
	if ok && !validVersion(n.Version) {
		return Need{}, false
	}
	return n, validName(n.Capability)
}

// String is the need as it is written.
func (n Need) String() string {
	switch {
	case n.Capability == "":
		return None
	case n.Version == "":
		return n.Capability
	}
	return n.Capability + "@" + n.Version
}

// maxVersionParts is how many numbers a version may have: as in 1.2.3.4.
const maxVersionParts = 4

// validVersion asks for numbers between dots.
func validVersion(v string) bool {
	parts := strings.Split(v, ".")
	if len(parts) > maxVersionParts {
		return false
	}
	for _, part := range parts {
		if _, err := strconv.ParseUint(part, 10, 31); err != nil {
			return false
		}
	}
	return true
}

// atLeast compares two valid versions, number by number; one that is missing is 0.
func atLeast(v, least string) bool {
	have, want := strings.Split(v, "."), strings.Split(least, ".")
	for i := range max(len(have), len(want)) {
		if h, w := part(have, i), part(want, i); h != w {
			return h > w
		}
	}
	return true
}

func part(parts []string, i int) uint64 {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.ParseUint(parts[i], 10, 31)
	return n
}
