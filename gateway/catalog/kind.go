// Package catalog makes one list of what many servers offer, and finds the way back from a name in that list to the server that has it.
// Items stay raw JSON; only the member that names them is rewritten.
//
// It does not know how lists are fetched, who asks for them, or what a connection is.
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

// kinds has what the protocol calls each list: the method that asks for it, the member of its result that holds it, the member that
// tells its items apart, the capability of servers that have it, and the notification that it changed.
var kinds = [kindCount]struct{ method, member, key, capability, changed string }{
	Tools:     {"tools/list", "tools", "name", "tools", "notifications/tools/list_changed"},
	Prompts:   {"prompts/list", "prompts", "name", "prompts", "notifications/prompts/list_changed"},
	Resources: {"resources/list", "resources", "uri", "resources", "notifications/resources/list_changed"},
	Templates: {"resources/templates/list", "resourceTemplates", "uriTemplate", "resources", "notifications/resources/list_changed"},
}

func (k Kind) String() string { return kinds[k].member }

// Method is the request that asks for the list.
func (k Kind) Method() string { return kinds[k].method }

// Capability is what a server declares that has the list.
func (k Kind) Capability() string { return kinds[k].capability }

// Listed returns the list that a request asks for.
func Listed(method string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Method() == method {
			return k, true
		}
	}
	return 0, false
}

// Changed is the notification that the list is another now. Resources and their templates share one.
func (k Kind) Changed() string { return kinds[k].changed }

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Tools, Prompts, Resources, Templates} }

// Touched returns the lists to fetch again after a notification from a server.
func Touched(notification string) (touched []Kind) {
	for _, k := range Kinds() {
		if k.Changed() == notification {
			touched = append(touched, k)
		}
	}
	return touched
}
