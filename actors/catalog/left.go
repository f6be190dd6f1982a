package catalog

import (
	"mcpd/actors/client"
	"mcpd/gateway/quota"
	"mcpd/gateway/tenant"
)

// keepLeft keeps what a connection left behind, and counts it for the tenant.
func (c *Catalog) keepLeft(s *server, m *client.Left) {
	c.dropLeft(s, m.Key)
	s.left[m.Key] = m
	c.countLeft(m.Bytes)
}

// dropLeft forgets it: there is another connection, or nobody who used the last.
func (c *Catalog) dropLeft(s *server, key tenant.Key) {
	if m := s.left[key]; m != nil {
		delete(s.left, key)
		c.countLeft(-m.Bytes)
	}
}

// dropAllLeft forgets all of a server: no sessions use it as it was.
func (c *Catalog) dropAllLeft(s *server) {
	for key := range s.left {
		c.dropLeft(s, key)
	}
}

func (c *Catalog) countLeft(bytes int) {
	c.left += bytes
	c.o.Kept.Set(quota.Restorable, c.left)
}
