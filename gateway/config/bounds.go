package config

import (
	"iter"
	"reflect"
	"strings"
)

// Bound is the value of one key below `limits`.
type Bound struct {
	// Tenant is empty for the default of all tenants.
	Tenant string
	Key    string // without `limits.`
	Value  any    // an int, an int64 of bytes, or a time.Duration
}

// Bounds yields the limits in force: each key at the top level, and those keys of tenants that
// differ from it.
func (c *Config) Bounds() iter.Seq[Bound] {
	shared, own := limitKeys(topLimits), limitKeys(ownLimits)
	return func(yield func(Bound) bool) {
		at := func(tenant string, k Key, s scope) bool {
			key, is := strings.CutPrefix(k.Path, "limits.")
			return !is || yield(Bound{tenant, key, reflect.ValueOf(k.at(s)).Elem().Interface()})
		}
		top := scope{config: c}
		for _, keys := range [][]Key{hostKeys, shared} {
			for _, k := range keys {
				if !at("", k, top) {
					return
				}
			}
		}
		for i := range c.Tenants {
			s := scope{config: c, tenant: &c.Tenants[i]}
			for j, k := range own {
				if !same(k, s, shared[j], top) && !at(c.Tenants[i].Name, k, s) {
					return
				}
			}
		}
	}
}
