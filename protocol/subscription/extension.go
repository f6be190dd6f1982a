package subscription

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Mark begins the name of a filter of extensions where names of resources stand. No URI begins with it.
const Mark = "\x00"

// Name is what the filter asks for that is of extensions, as a name that stands where URIs do: it is
// subscribed to, counted and let go of like a resource. It is empty for nothing.
func (f Filter) Name() string {
	if len(f.Extensions) == 0 {
		return ""
	}
	return Mark + string(f.Extensions)
}

// Named is the filter that has such a name. It reports false for a URI.
func Named(name string) (Filter, bool) {
	raw, ok := strings.CutPrefix(name, Mark)
	return Filter{Extensions: jsontext.Value(raw)}, ok
}
