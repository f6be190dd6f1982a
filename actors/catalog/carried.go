package catalog

import (
	"mcpd/actors/notification"
	merge "mcpd/gateway/catalog"
	"mcpd/gateway/tenant"
	"mcpd/internal/sortedmap"
	"mcpd/supervisor/otp"
)

// carriedState is the carried state: everything known of the servers, the connections to them, and
// the callers that wait for an answer.
type carriedState struct {
	servers map[string]*server
	waiting []*waiter
	views   *views
	// references are the URIs that servers have given to clients outside their lists.
	references *merge.References
	// changes are pending announcements for sessions on the aggregate endpoint.
	changes merge.Changes[notification.Source]
	// alone are pending announcements for sessions on the transparent endpoint of a server with
	// several instances.
	alone merge.Changes[change]
	// revisions counts the replaced declarations of servers.
	revisions uint32
}

// Abandon fails all waiting callers, because there will be no other catalogue.
func (k *carriedState) Abandon(reason error) {
	k.views.clear()
	k.references.Clear()
	for _, w := range k.waiting {
		w.call.Fail(reason)
	}
	for _, s := range sortedmap.Sorted(k.servers) {
		for _, waiting := range sortedmap.SortedBy(s.awaitingStart, tenant.Key.Compare) {
			for _, w := range waiting {
				w.reply(otp.Ref{}, reason)
			}
		}
	}
}
