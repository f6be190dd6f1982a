package supervisor

import "sync"

// serverName identifies a server of a tenant.
type serverName struct{ tenant, server string }

// perServer keeps one value for each configured server, together with the server's latest
// declaration. Connections that were made under another declaration continue with the value that
// they have.
type perServer[D comparable, V any] struct {
	mu  sync.Mutex
	all map[serverName]declaration[D, V]
}

type declaration[D, V any] struct {
	how   D
	value V
}

// of returns the value for a server with this declaration. A new value is kept only if the server
// is configured, and the declaration is not older than the one that is kept.
func (d *perServer[D, V]) of(
	now func() *settings, name serverName, how D, older func(D, D) bool, fresh func() V,
) V {
	d.mu.Lock() // before reading the settings: keep may have read newer ones
	defer d.mu.Unlock()
	kept, ok := d.all[name]
	if ok && kept.how == how {
		return kept.value
	}
	value := fresh()
	if !now().servers[name] || ok && older(how, kept.how) {
		return value // for a connection that is about to end
	}
	if d.all == nil {
		d.all = map[serverName]declaration[D, V]{}
	}
	d.all[name] = declaration[D, V]{how, value}
	return value
}

// keep forgets the servers that are not configured any more.
func (d *perServer[D, V]) keep(now func() *settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	servers := now().servers
	for name := range d.all {
		if !servers[name] {
			delete(d.all, name)
		}
	}
}

// values returns all kept values.
func (d *perServer[D, V]) values() (all []V) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		all = append(all, one.value)
	}
	return all
}
