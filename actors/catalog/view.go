package catalog

import (
	"slices"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
)

// view returns the caller's current view. It is made once for all callers of a group, and again
// after a change.
func (c *Catalog) view(caller Caller) *View {
	g := c.group(caller)
	v := c.views.get(g)
	if v != nil && v.edition == c.edition {
		return v
	}
	absent := c.absent(caller)
	switch {
	case v != nil && slices.Equal(v.absent, absent):
		v.edition = c.edition
		return v
	case v != nil: // its reasons for absent servers are outdated
		c.views.forget(func(other group) bool { return other == g })
	}
	v = &View{
		absent: absent, edition: c.edition, Reachable: g.answers, transparent: caller.Server != "",
		account: c.o.Account, References: c.references,
	}
	var words [client.Kinds]map[string]string // explanations of incomplete lists
	told := func(k merge.Kind, name, text string) {
		if words[k] == nil {
			words[k] = map[string]string{}
		}
		words[k][name] = text
	}
	var servers []merge.Server
	for _, name := range c.scope(caller) {
		l := c.listing(c.servers[name], c.servers[name].listed(caller))
		l.served = true
		item := merge.Server{Name: name, Pending: name == g.pending}
		if l.known {
			lists, short, shared := c.servers[name].seen(caller, l)
			item.Items = lists
			if shared && !v.transparent {
				item.Prepared = c.views.prepare(l)
			}
			for _, k := range merge.Kinds() {
				if c.withheld(caller, name, k) {
					item.Items[k] = nil
				}
			}
			v.Servers = append(v.Servers, Known{name, l.facts})
			for _, k := range merge.Kinds() {
				if short[k].State != client.Complete && !c.withheld(caller, name, k) {
					told(k, name, short[k].Words)
				}
			}
			if v.transparent {
				v.own, v.short = lists, short
				for k := range lists {
					v.added[k] = g.own == "" && len(lists[k]) > len(l.lists[k])
				}
			}
			if v.transparent && l.facts.Version.Era() == protocol.Modern {
				v.annotated = lists[merge.Tools]
			}
		} else {
			v.Missing = append(v.Missing, name)
		}
		servers = append(servers, item)
	}
	for _, a := range absent {
		for _, k := range merge.Kinds() {
			told(k, a.server, a.explanation())
		}
	}
	v.Catalog = merge.New(servers)
	c.views.keepPrepared(c.o.Account)
	for _, k := range merge.Kinds() {
		v.incomplete[k] = merge.Incomplete(words[k])
	}
	c.extras(v)
	c.views.put(g, v)
	return v
}
