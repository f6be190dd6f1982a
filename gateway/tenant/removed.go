package tenant

import "slices"

// MaxRemoved bounds the removed servers that a tenant remembers. The oldest are forgotten first.
const MaxRemoved = 256

// RemovedSince returns the servers to remember as removed after a reload has replaced the tenant
// before by t. Before is nil for a tenant that was not configured.
func (t *Tenant) RemovedSince(before *Tenant) (names []string) {
	if before == nil {
		return nil
	}
	for i := range before.Servers {
		names = append(names, before.Servers[i].Name)
	}
	names = append(names, before.Removed...)
	names = slices.DeleteFunc(names, func(name string) bool { return t.server(name) != nil })
	return slices.Clip(names[:min(len(names), MaxRemoved)])
}

// WasRemoved reports whether a reload has removed a server of that name.
func (t *Tenant) WasRemoved(name string) bool { return slices.Contains(t.Removed, name) }
