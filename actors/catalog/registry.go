package catalog

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/protocol/tasks"
)

// subscribed takes how the capability registry stands. A registry that has no room for another subscriber is done without.
func (c *Catalog) subscribed(m subscribed) {
	for _, name := range m.state.Disabled {
		c.disabled[name] = true
	}
	for _, e := range m.state.Experimental {
		c.experimental[e.Name] = e.Settings
	}
	c.views.outlive() // sessions that have one were offered what it says
}

// registered takes one change. It reaches new sessions: what an open one was offered stays (S4-29).
func (c *Catalog) registered(m capability.Changed) {
	switch {
	case len(m.Settings) > 0:
		c.experimental[m.Name] = m.Settings
	case m.Enabled == !c.disabled[m.Name]: // such as what some server declared
		return
	case m.Enabled:
		delete(c.disabled, m.Name)
	default:
		c.disabled[m.Name] = true
	}
	c.views.clear()
}

// Offer is what a client of revision version can be offered of these servers: what they declare, one of them alone or all as one, without
// what is disabled here and with the experimental features of the host. Tasks are offered in the client's dialect when any server has
// either: the host keeps those that are not the client's. It is put together once for all who see the same.
func (v *View) Offer(version protocol.Version) protocol.ServerCapabilities {
	v.mu.Lock()
	defer v.mu.Unlock()
	if offer, ok := v.offers[version]; ok {
		return offer
	}
	known := make([]protocol.ServerCapabilities, 0, len(v.Servers))
	for _, s := range v.Servers {
		known = append(known, s.Facts.Capabilities)
	}
	if !v.alone {
		known = append(known, v.Lists())
	}
	all := merge.Capabilities(known, len(v.Missing) == 0)
	if v.alone && len(known) == 1 {
		all = known[0]
		for _, list := range []string{"tools", "prompts", "resources"} {
			if !v.Answers && all.Has(list) { // what is shown may be another when the server is there
				all = all.With(list+".listChanged", jsontext.Value("true"))
			}
		}
	}
	all = all.Without("tasks", tasks.Extended)
	switch follow := slices.ContainsFunc(v.Servers, follows); {
	case follow && version.Has(protocol.Tasks):
		all = all.With("tasks", jsontext.Value(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`))
	case follow && version.Has(protocol.TasksExtension):
		all = all.With(tasks.Extended, jsontext.Value("{}"))
	}
	offer := all.Without(v.disabled...)
	for _, e := range v.experimental {
		offer = offer.With("experimental."+e.Name, e.Settings)
	}
	if v.offers == nil {
		v.offers = map[protocol.Version]protocol.ServerCapabilities{}
	}
	offer = offer.Shape(version)
	v.offers[version] = offer
	v.offered += len(offer.Raw())
	v.counted.Resize(v.size() + v.offered)
	return offer
}

// Withheld are the capabilities that are disabled here, whatever servers declare.
func (v *View) Withheld() []string { return v.disabled }

// follows reports whether a server has tasks of any kind.
func follows(s Known) bool {
	return tasks.DialectOf(s.Facts.Version, s.Facts.Capabilities) != tasks.None
}

// extras puts what the registry says into a view.
func (c *Catalog) extras(v *View) {
	v.disabled = slices.Sorted(maps.Keys(c.disabled))
	for _, name := range slices.Sorted(maps.Keys(c.experimental)) {
		v.experimental = append(v.experimental, capability.Experimental{Name: name, Settings: c.experimental[name]})
	}
}
