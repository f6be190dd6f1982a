package supervisor

import "mcpd/gateway/quota"

// account counts one kind of bytes that a tenant keeps.
type account struct {
	*quota.Account
	kind quota.Kind
}

// Count implements transport.Account.
func (a account) Count(n int) { a.Add(a.kind, n) }

// queuedOf returns the function that counts bytes waiting for the servers of a tenant. The request
// that these bytes belong to also counts, until its outcome.
func (h *host) queuedOf(tenant string) func(bytes int) {
	return account{h.ledger.Account(tenant), quota.Outgoing}.Count
}

// unwritten returns the account for a tenant's unwritten changes of the state, nil for changes of
// the host itself.
func (h *host) unwritten(tenant string) *quota.Account {
	if tenant == "" {
		return nil
	}
	return h.ledger.Account(tenant)
}

// historiesOf is the account of a tenant's stream histories.
type historiesOf struct{ *quota.Account }

// Keep implements streamable.Account.
func (h historiesOf) Keep(bytes int) { h.Add(quota.Histories, bytes) }
