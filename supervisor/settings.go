package supervisor

import (
	"sync/atomic"
	"time"

	"mcpd/actors/configuration"
	"mcpd/gateway/auth"
	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// settings are a configuration as the running host reads it: one value that a reload replaces as a
// whole, so that no reader sees parts of two configurations. A value never changes.
type settings struct {
	id         uint64 // unique; 0 in tests
	config     *config.Config
	applied    configuration.Applied
	tenants    map[string]*tenant.Tenant
	keys       *auth.Directory
	servers    map[serverName]bool        // servers of all tenants
	principals map[string]map[string]bool // by tenant: the principals of its keys
	required   map[string][]string        // by tenant: capabilities that its policy requires, in order
	admission  *streamable.Admission
}

// settingsMade counts the values of settings made so far.
var settingsMade atomic.Uint64

func newSettings(c *config.Config, a configuration.Applied) *settings {
	s := &settings{
		id:     settingsMade.Add(1),
		config: c, applied: a, tenants: map[string]*tenant.Tenant{}, servers: map[serverName]bool{},
		principals: map[string]map[string]bool{}, required: map[string][]string{},
		admission: streamable.NewAdmission(hosts(c), c.Origins, bounds(c)),
	}
	keys := map[string][]auth.Key{}
	for i := range c.Tenants {
		t := &c.Tenants[i]
		s.tenants[t.Name], keys[t.Name] = &t.Tenant, t.Keys
		names := map[string]bool{}
		for _, k := range t.Keys {
			names[k.Name] = true
		}
		if len(names) == 0 {
			names[auth.Anonymous] = true
		}
		s.principals[t.Name] = names
		s.required[t.Name] = t.Requires()
		for _, server := range t.ServerNames() {
			s.servers[serverName{t.Name, server}] = true
		}
	}
	s.keys = auth.NewDirectory(keys)
	return s
}

// bounds returns the bounds of a request.
func bounds(c *config.Config) streamable.Bounds {
	e := &c.Edge
	return streamable.Bounds{Headers: e.Headers, URL: int(e.URL), BodyTime: e.BodyTime,
		Message: jsonrpc.Limits{
			Bytes: int(c.MaxBody), Depth: e.Depth, Tokens: e.Tokens, Keys: e.Members, Batch: e.Batch,
			ID: int(e.ID),
		}}
}

// serves reports whether the owner of a session at an endpoint may still use it.
func (s *settings) serves(ep streamable.Endpoint) bool {
	t := s.tenants[ep.Tenant]
	if t == nil || !s.principals[ep.Tenant][ep.Principal] {
		return false
	}
	_, known := t.Server(ep.Server)
	return ep.Server == "" || known
}

// now returns the current settings.
func (h *host) now() *settings { return h.settings.Load() }

// current returns a function for a tenant's current configuration. After a reload has removed the
// tenant, the function returns t, with which its rows were started.
func (h *host) current(t *tenant.Tenant) func() *tenant.Tenant {
	return func() *tenant.Tenant {
		if now := h.now().tenants[t.Name]; now != nil {
			return now
		}
		return t
	}
}

// limits returns the limits of a configured tenant, and zero limits for any other name.
func (s *settings) limits(name string) tenant.Limits {
	if t := s.tenants[name]; t != nil {
		return t.Limits
	}
	return tenant.Limits{}
}

// requestTimeout, listTimeout, questionWait, pending, ofPrincipal and inputTimeout return single
// limits of a tenant, for readers that need nothing else of it.
func (h *host) requestTimeout(t *tenant.Tenant) func() time.Duration {
	now := h.current(t)
	return func() time.Duration { return now().Limits.RequestTimeout }
}

func (h *host) listTimeout(t *tenant.Tenant) func() time.Duration {
	now := h.current(t)
	return func() time.Duration { return now().Limits.ListTimeout }
}

func (h *host) questionWait(t *tenant.Tenant) func() time.Duration {
	now := h.current(t)
	return func() time.Duration { return now().Limits.QuestionWait }
}

func (h *host) pending(t *tenant.Tenant) func() int {
	now := h.current(t)
	return func() int { return now().Limits.MaxPending }
}

func (h *host) ofPrincipal(t *tenant.Tenant) func() int {
	now := h.current(t)
	return func() int { return now().Limits.MaxPrincipalPending }
}

func (h *host) inputTimeout(t *tenant.Tenant) func() time.Duration {
	now := h.current(t)
	return func() time.Duration { return now().Limits.InputTimeout }
}
