package supervisor

import "sync"

// serverName is a server of a tenant.
type serverName struct{ tenant, server string }

// declared keeps one value for each configured server, of how it was declared last. Connections
// that were made under another declaration go on with the value they have.
type declared[D comparable, V any] struct {
	mu  sync.Mutex
	all map[serverName]declaration[D, V]
}

type declaration[D, V any] struct {
	how   D
	value V
}

// of is the value of a server that is declared so. It is kept if the server is configured, and if
// the declaration is not older than the one that is kept.
func (d *declared[D, V]) of(
	now func() *settings, name serverName, how D, older func(D, D) bool, fresh func() V,
) V {
	d.mu.Lock() // before a look at the settings: keep may have read newer ones
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
func (d *declared[D, V]) keep(now func() *settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	servers := now().servers
	for name := range d.all {
		if !servers[name] {
			delete(d.all, name)
		}
	}
}

// values are those that are kept.
func (d *declared[D, V]) values() (all []V) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		all = append(all, one.value)
	}
	return all
}
