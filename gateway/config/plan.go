package config

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
)

// These are the effects of a reload on things that are new in the file or missing from it.
const (
	Added   Reload = "added"
	Removed Reload = "removed" // its requests in flight may end
)

// Change is one difference between two configurations, and its effect in a reload.
type Change struct {
	Path string // as `config print` shows it: tenants.acme.servers.files.args
	Does Reload
}

func (c Change) String() string { return c.Path + ": " + string(c.Does) }

// Plan describes the effects of a reload.
type Plan struct {
	// Config is the configuration after the reload: the new file, except for keys that need a
	// restart, which keep their values.
	Config *Config
	// Changes are in the order of the documentation. Tenants and servers are in the order of the new
	// file.
	Changes []Change
	// Added and Removed name tenants. Servers names the tenants in which some server has changed.
	Added, Removed, Servers []string

	changesScheme bool // whether exactly one of the two has a certificate
}

// NewPlan compares the current configuration with the next. It fails if the result of the reload
// would not be valid in a file. For example, `listen` keeps its old value, so other machines may
// reach a tenant without a key.
func NewPlan(now, next *Config) (*Plan, error) {
	merged := *next
	p := &Plan{Config: &merged, changesScheme: (now.TLS.Cert == "") != (next.TLS.Cert == "")}
	p.keys("", hostKeys, scope{config: now}, scope{config: &merged}, nil)
	for _, keys := range inheritedKeys {
		p.keys("", keys.top, scope{config: now}, scope{config: &merged}, nil)
	}
	for i := range next.Tenants {
		p.tenant(now, &merged, &merged.Tenants[i])
	}
	for _, t := range now.Tenants {
		if merged.tenant(t.Name) == nil {
			p.add("tenants."+t.Name, Removed)
			p.Removed = append(p.Removed, t.Name)
		}
	}
	return p, reach(&merged)
}

func (p *Plan) add(path string, does Reload) { p.Changes = append(p.Changes, Change{path, does}) }

// keys compares the values of keys. A key that needs a restart keeps its value. Said reports
// whether a change is reported elsewhere.
func (p *Plan) keys(prefix string, keys []Key, was, is scope, said func(i int) bool) {
	for i, k := range keys {
		if strings.Contains(k.Path, "[]") { // a list of things is compared as a whole
			continue
		}
		old, value := reflect.ValueOf(k.at(was)).Elem(), reflect.ValueOf(k.at(is)).Elem()
		if reflect.DeepEqual(old.Interface(), value.Interface()) {
			continue
		}
		does := k.Reload
		// A listener cannot change its scheme while it serves.
		if p.changesScheme && strings.HasPrefix(k.Path, "tls.") {
			does = Restart
		}
		if does == Restart {
			value.Set(old)
		}
		if said == nil || !said(i) {
			p.add(prefix+k.Path, does)
		}
	}
}

// inheritedKeys are the keys that exist at the top and in a tenant.
var inheritedKeys = []struct{ top, own []Key }{
	{limitKeys(topLimits), limitKeys(ownLimits)},
	{negotiationKeys(topNegotiation), negotiationKeys(ownNegotiation)},
	{termsKeys(topRules), termsKeys(ownRules)},
}

func (p *Plan) tenant(now, next *Config, t *Tenant) {
	before, prefix := now.tenant(t.Name), "tenants."+t.Name+"."
	if before == nil {
		p.add("tenants."+t.Name, Added)
		p.Added = append(p.Added, t.Name)
		return
	}
	was, is := scope{config: now, tenant: before}, scope{config: next, tenant: t}
	p.keys(prefix, tenantKeys, was, is, nil)
	if !slices.Equal(before.Keys, t.Keys) {
		p.add(prefix+"auth.keys", AtOnce)
	}
	for _, keys := range inheritedKeys {
		// The change is reported at the top if the tenant only inherits it.
		p.keys(prefix, keys.own, was, is, func(i int) bool {
			return same(keys.own[i], was, keys.top[i], was) && same(keys.own[i], is, keys.top[i], is)
		})
	}
	told := len(p.Changes)
	for i := range t.Servers {
		s := &t.Servers[i]
		old, known := before.Server(s.Name)
		if !known {
			p.add(prefix+"servers."+s.Name, Added)
			continue
		}
		was.server, is.server = &old, s
		p.keys(prefix+"servers."+s.Name+".", serverKeys, was, is, nil)
	}
	for _, s := range before.Servers {
		if _, still := t.Server(s.Name); !still {
			p.add(prefix+"servers."+s.Name, Removed)
		}
	}
	if !slices.Equal(order(before, t), order(t, before)) {
		p.add(prefix+"servers", AtOnce)
	}
	if len(p.Changes) > told {
		p.Servers = append(p.Servers, t.Name)
	}
}

func same(a Key, as scope, b Key, bs scope) bool {
	return reflect.DeepEqual(reflect.ValueOf(a.at(as)).Elem().Interface(),
		reflect.ValueOf(b.at(bs)).Elem().Interface())
}

// order returns the names of the servers that both tenants have, in t's order. The order decides
// which server keeps a URI that two servers have.
func order(t, other *Tenant) (names []string) {
	for _, s := range t.Servers {
		if _, ok := other.Server(s.Name); ok {
			names = append(names, s.Name)
		}
	}
	return names
}

func (c *Config) tenant(name string) *Tenant {
	if i := slices.IndexFunc(c.Tenants, func(t Tenant) bool { return t.Name == name }); i >= 0 {
		return &c.Tenants[i]
	}
	return nil
}

// reach refuses a tenant without keys if other machines can reach the listener, as the loader
// does. It is needed because `listen` may have an old value.
func reach(c *Config) error {
	listen := exposedAddress(c.Listen)
	if listen == "" {
		return nil
	}
	for _, t := range c.Tenants {
		if len(t.Keys) == 0 {
			_, port, _ := net.SplitHostPort(listen)
			return fmt.Errorf("%s has no key, and listen is %s until mcpd restarts, which other machines "+
				"can reach: add auth.keys, or restart with listen 127.0.0.1:%s",
				quoted("tenant", t.Name), listen, port)
		}
	}
	return nil
}
