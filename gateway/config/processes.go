package config

import (
	"mcpd/gateway/auth"
	"mcpd/gateway/tenant"
)

// Processes says how many processes one server that is a program can have at most. Child
// processes that such a process starts itself are not counted.
type Processes struct {
	Tenant, Server string
	Max            int
	Sharers        int // number of callers with processes of their own
	// SharerKind is the kind of sharer: "tenant", "principal" or "session".
	SharerKind string
	Instances  int // at most, for one sharer
	// Memory bounds the bytes of all of them; 0 if there is no max_memory.
	Memory int64
}

// EstimateProcesses returns, for each server of a configuration, the number of processes when all
// of its clients call at once. The servers are in the order of the file.
func EstimateProcesses(c *Config) (all []Processes) {
	for _, t := range c.Tenants {
		for _, s := range t.Servers {
			if s.Link() != tenant.Stdio {
				continue
			}
			p := Processes{Tenant: t.Name, Server: s.Name, Instances: max(1, s.Instances)}
			switch s.Share.Applied(s.Link()) {
			case tenant.ByTenant:
				p.Sharers, p.SharerKind = 1, "tenant"
			case tenant.ByPrincipal:
				p.Sharers, p.SharerKind = principals(t.Keys), "principal"
			default:
				p.Sharers, p.SharerKind = min(t.Limits.MaxSessions, c.MaxSessions), "session"
			}
			p.Max = p.Sharers * p.Instances
			p.Memory = s.Memory * int64(p.Max)
			all = append(all, p)
		}
	}
	return all
}

// principals returns how many principals the keys of a tenant stand for. Without keys all callers
// are one principal.
func principals(keys []auth.Key) int {
	names := map[string]bool{}
	for _, k := range keys {
		names[k.Name] = true
	}
	return max(1, len(names))
}
