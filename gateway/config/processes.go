package config

import (
	"mcpd/gateway/auth"
	"mcpd/gateway/tenant"
)

// Processes is how many processes one server that is a program can come to. Children that such a
// process starts itself are not counted.
type Processes struct {
	Tenant, Server string
	Most           int
	Sharers        int    // who have processes of their own
	Of             string // what a sharer is: "tenant", "principal" or "session"
	Instances      int    // processes of one sharer at most
	Memory         int64  // bytes of all of them at most; 0 when it has no max_memory
}

// Estimate returns the processes that the servers of a configuration can come to when all of their
// clients call at once, in the order of the file.
func Estimate(c *Config) (all []Processes) {
	for _, t := range c.Tenants {
		for _, s := range t.Servers {
			if s.Link() != tenant.Stdio {
				continue
			}
			p := Processes{Tenant: t.Name, Server: s.Name, Instances: max(1, s.Instances)}
			switch s.Share.Applied(s.Link()) {
			case tenant.ByTenant:
				p.Sharers, p.Of = 1, "tenant"
			case tenant.ByPrincipal:
				p.Sharers, p.Of = principals(t.Keys), "principal"
			default:
				p.Sharers, p.Of = min(t.Limits.MaxSessions, c.MaxSessions), "session"
			}
			p.Most = p.Sharers * p.Instances
			p.Memory = s.Memory * int64(p.Most)
			all = append(all, p)
		}
	}
	return all
}

// principals is how many the keys of a tenant stand for. Without keys everybody is one.
func principals(keys []auth.Key) int {
	names := map[string]bool{}
	for _, k := range keys {
		names[k.Name] = true
	}
	return max(1, len(names))
}
