package subscription

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ExtensionPrefix begins the name of an extension filter where names of resources stand. No URI
// begins with it.
const ExtensionPrefix = "\x00"

// Name returns the extension members of the filter as a name that can stand in place of a URI. The
// name is subscribed to, counted and dropped like a resource. It is empty if the filter has no
// extension members.
func (f Filter) Name() string {
	if len(f.Extensions) == 0 {
		return ""
	}
	return ExtensionPrefix + string(f.Extensions)
}

// FilterFromName returns the filter with such a name. It returns false for a URI.
func FilterFromName(name string) (Filter, bool) {
	raw, ok := strings.CutPrefix(name, ExtensionPrefix)
	return Filter{Extensions: jsontext.Value(raw)}, ok
}
