package negotiation

import (
	"strconv"
	"strings"
	"time"
)

// PathKind is a kind of path of the negotiation API, to which rules apply.
type PathKind uint8

// The places.
const (
	Tool PathKind = iota
	Resource
	Subscription

	placeCount = int(iota)
)

// Rules are an operator's settings for the negotiation API.
type Rules struct {
	Required bool             // a client must negotiate first
	Requires [placeCount]Need // capabilities that a client which negotiated must have declared
	// Anonymous lists the places that a client may use without negotiation, unless Required is set.
	Anonymous [placeCount]bool
	// Idle is the time after which an unused session ends.
	Idle time.Duration
}

// Allows reports whether a client may use a place. A nil client is one that did not negotiate. If
// the answer is false, need is the capability that the client has to declare. A zero need then
// means that the client has to negotiate.
func (r Rules) Allows(p PathKind, c *Client) (need Need, ok bool) {
	switch {
	case c == nil && r.Required:
		return Need{}, false
	case c == nil:
		return r.Requires[p], r.Anonymous[p]
	}
	return r.Requires[p], c.Meets(r.Requires[p])
}

// Need is a required capability with its minimum version. The zero Need requires nothing.
type Need struct {
	Capability string
	Version    string // "" for any version
}

// None is the configuration value for the zero Need.
const None = "none"

// ParseNeed reads "capability", "capability@version" or "none". It returns false for any other
// text.
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

// String returns the need in the form that ParseNeed reads.
func (n Need) String() string {
	switch {
	case n.Capability == "":
		return None
	case n.Version == "":
		return n.Capability
	}
	return n.Capability + "@" + n.Version
}

// maxVersionParts bounds the numbers in a version, as in 1.2.3.4.
const maxVersionParts = 4

// validVersion reports whether a version consists of numbers between dots.
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

// atLeast compares two valid versions number by number. A missing number is 0.
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
