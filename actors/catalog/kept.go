package catalog

import (
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/internal/order"
	"mcpd/supervisor/otp"
)

// kept is the heir: what is known about every server, the connections to it, and who waits for an
// answer.
type kept struct {
	servers map[string]*server
	waiting []*waiter
	views   *views
	// references are the URIs that servers have given to clients beside their lists.
	references *merge.References
	// changes are what those are to hear who see all servers as one.
	changes merge.Changes[notification.Source]
	// alone are what those are to hear who see one server that has several instances.
	alone merge.Changes[change]
	// revisions counts the declarations of servers that took the place of another.
	revisions uint32
}

// Abandon answers everyone who waits: there will be no other catalogue.
func (k *kept) Abandon(reason error) {
	k.views.clear()
	k.references.Clear()
	for _, w := range k.waiting {
		w.call.Fail(reason)
	}
	for _, s := range order.Of(k.servers) {
		for _, waiting := range order.By(s.opening, tenant.Key.Compare) {
			for _, w := range waiting {
				w.reply(otp.Ref{}, reason)
			}
		}
	}
}
