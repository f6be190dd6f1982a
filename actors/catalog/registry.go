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

// subscribed stores the state of the capability registry. If the registry has no room for another
// subscriber, the catalogue works without.
func (c *Catalog) subscribed(m subscribed) {
	for _, name := range m.state.Disabled {
		c.disabled[name] = true
	}
	for _, e := range m.state.Experimental {
		c.experimental[e.Name] = e.Settings
	}
	c.views.retainOld() // sessions with a view were offered what it says
}

// registered applies one change of the registry. It affects new sessions only: the offer to an open
// session stays (S4-29).
func (c *Catalog) registered(m capability.Changed) {
	switch {
	case len(m.Settings) > 0:
		c.experimental[m.Name] = m.Settings
	case m.Enabled == !c.disabled[m.Name]: // no change here, such as the declaration of a server
		return
	case m.Enabled:
		delete(c.disabled, m.Name)
	default:
		c.disabled[m.Name] = true
	}
	c.views.clear()
}

// Offer is the set of capabilities offered to a client of a revision: those of the one server or of
// all servers, without the disabled ones and with the host's experimental features. Tasks are
// offered in the client's dialect if any server has tasks, because the host keeps tasks of the
// other dialect itself. The offer is cached for all that see the same view.
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
	if !v.transparent {
		known = append(known, v.Lists())
	}
	all := merge.Capabilities(known, len(v.Missing) == 0)
	if v.transparent && len(known) == 1 {
		all = known[0]
		for _, list := range []string{"tools", "prompts", "resources"} {
			if !v.Reachable && all.Has(list) { // the lists may differ once the server runs
				all = all.With(list+".listChanged", jsontext.Value("true"))
			}
		}
	}
	all = all.Without("tasks", tasks.ExtensionCapability)
	switch follow := slices.ContainsFunc(v.Servers, follows); {
	case follow && version.Has(protocol.Tasks):
		all = all.With(
			"tasks", jsontext.Value(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`),
		)
	case follow && version.Has(protocol.TasksExtension):
		all = all.With(tasks.ExtensionCapability, jsontext.Value("{}"))
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

// Withheld are the capabilities that are disabled on this host, whatever servers declare.
func (v *View) Withheld() []string { return v.disabled }

// follows reports whether a server has tasks of any dialect.
func follows(s Known) bool {
	return tasks.DialectOf(s.Facts.Version, s.Facts.Capabilities) != tasks.None
}

// extras adds the registry's settings to a view.
func (c *Catalog) extras(v *View) {
	v.disabled = slices.Sorted(maps.Keys(c.disabled))
	for _, name := range slices.Sorted(maps.Keys(c.experimental)) {
		v.experimental = append(v.experimental, capability.Experimental{
			Name: name, Settings: c.experimental[name],
		})
	}
}
