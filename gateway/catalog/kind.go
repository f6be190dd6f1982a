// Package catalog merges the lists of many servers into one, and maps a name in the merged list
// back to its server. Items stay raw JSON; only the member with their name or URI is
// rewritten.
//
// It does not know how lists are fetched, which client requests them, or what a connection is.
package catalog

// Kind is one of the lists that a server has.
type Kind uint8

// Kinds of list.
const (
	Tools Kind = iota
	Prompts
	Resources
	Templates

	kindCount = int(iota)
)

// kinds has the protocol's words for each list: the method that requests it, the member of the
// result that holds it, the member that identifies its items, the capability that servers declare
// for it, and the notification of its change.
var kinds = [kindCount]struct{ method, name, key, capability, changed string }{
	Tools:   {"tools/list", "tools", "name", "tools", "notifications/tools/list_changed"},
	Prompts: {"prompts/list", "prompts", "name", "prompts", "notifications/prompts/list_changed"},
	Resources: {"resources/list", "resources", "uri", "resources",
		"notifications/resources/list_changed"},
	Templates: {"resources/templates/list", "resourceTemplates", "uriTemplate", "resources",
		"notifications/resources/list_changed"},
}

func (k Kind) String() string { return kinds[k].name }

// Method returns the method of the request for the list.
func (k Kind) Method() string { return kinds[k].method }

// Capability returns the capability that a server with the list declares.
func (k Kind) Capability() string { return kinds[k].capability }

// KindOfMethod returns the list that a method requests.
func KindOfMethod(method string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Method() == method {
			return k, true
		}
	}
	return 0, false
}

// Changed returns the notification that the list has changed. Resources and their templates share
// a notification.
func (k Kind) Changed() string { return kinds[k].changed }

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Tools, Prompts, Resources, Templates} }

// ChangedKinds returns the lists to fetch again after a notification from a server.
func ChangedKinds(notification string) (touched []Kind) {
	for _, k := range Kinds() {
		if k.Changed() == notification {
			touched = append(touched, k)
		}
	}
	return touched
}
